"""From accepted rules to a repaired model: augmented data, training again, error before and after.

    Table ──expand──▶ Expansion ──`augmentation`──▶ Table of chosen rewrites, with provenance
    Table, held-out rows, Trainer ──`experiment`──▶ Repair ──▶ report

`trainers` has the built-in trainer and adapters for a user's own. `measurement` compares errors,
and `amounts` does so by how much was rewritten. `report` draws conclusions. `running` joins the
stages and checks whether rules were found on the same rows. See `sears augment` and `sears fix`.
"""
