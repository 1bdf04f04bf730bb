"""What rules do to a model: rewrites, the answers to them, flips and what these are worth.

In: rules, rows, a model. `applications` is the table of rules × rows with each distinct rewrite
once, which discovery, audits, vetting, augmentation, repair and exports share; `flips` says which
rows the model has right, asks about the table, all at once or in rounds, counts flips and says what
they are worth; `lots` draws rows by what they say. `rule_effects` has all answers, before and
after, for audits. All questions go through `asked_model`, which counts them, and `models.cached`,
which keeps the answers. An `oracle` may reject rewrites before.
"""
