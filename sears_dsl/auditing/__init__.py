"""A ruleset and a model → a decision: what each rule does to the model, judged and reported.

`running` goes through all stages. In: `effects.rule_effects`. `gates` holds the user's demands and
judges each rule. `totals` and `slices` count all rules together, and by part of the rows.
`robustness` (its numbers come from `accuracies`) says how far accuracy falls, `template_answers`
how the model does on sentences of templates. `audit` combines all this. Out: `document`, one JSON
file that `reports` shows. `comparison` sets two audits side by side, `grids` several, and
`failures` learns what predicts that the model is wrong. A rate is a `Share` of `statistics`, with
its interval.
"""
