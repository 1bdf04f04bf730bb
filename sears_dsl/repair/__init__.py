"""From accepted rules to a repaired model: augmented data, training again, error before and after.

    Table ──expand──▶ Expansion ──choose──▶ Choice ──augmented──▶ Table, with provenance
    Table, held-out rows, Trainer ──repair──▶ Repair ──▶ report

See `sears augment` and `sears fix`.
"""
