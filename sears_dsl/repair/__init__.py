"""From accepted rules to a repaired model: augmented data, training again, error before and after.

    Table ──expand──▶ Expansion ──`augmented`──▶ Table of chosen rewrites, with provenance
    Table, held-out rows, Trainer ──`experiment`──▶ Repair ──▶ report

`trainers` has the built-in trainer and a person's own; `measurement` compares errors, `amounts` by
how much was rewritten; `report` says what to think of it, `running` also whether rules were found
on the same rows. See `sears augment` and `sears fix`.
"""
