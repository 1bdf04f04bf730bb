"""A ruleset and a model → a decision: what each rule does to the model, judged and told.

`running` goes through all stages. In: `effects.rule_effects`. `gates` says what a person demands
and judges each rule by its own test, `totals` and `slices` all of them together and by part of the
rows, `robustness` (the numbers are in `accuracies`) how far accuracy falls, `template_answers` what
the model says of sentences of templates; `audit` makes one of all this. Out: `document`, one JSON
file that `reports` shows; `comparison` sets it beside another or several; `failures` learns what
predicts that the model is wrong. A rate is a `Share` of `statistics`, with its interval.
"""
