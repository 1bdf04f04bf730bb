"""What rules do to a model: rewrites, the answers to them, flips and what these are worth.

`applications` is the table of rules × rows, with each distinct rewrite once; discovery, audits,
vetting, augmentation, repair and exports share it. `flips` says which rows the model has right,
asks about the rewrites, all at once or in rounds, counts flips and tests what they prove. `lots`
draws rows by a hash of their text. `rule_effects` has all answers before and after, for audits.
All questions go through `asked_model`, which counts them, and `models.cached`, which keeps the
answers; `label_names` says where these do not go together with the labels. An `oracle` may reject
rewrites before the model is asked.
"""
