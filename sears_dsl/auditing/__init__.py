"""A ruleset and a model → a decision: what each rule does to the model, judged and told.

In: `effects.rule_effects`. `gates` says what a person demands and judges each rule by its own test,
`totals` and `slices` all of them together and by part of the rows, `audit` the model. Out:
`document`, one JSON file that `reports` shows and `comparison` sets beside another; `failures`
learns what predicts that the model is wrong.
"""
