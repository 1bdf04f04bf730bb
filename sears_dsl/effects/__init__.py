"""What rules do to a model: rewrites, the answers to them, flips and what these are worth.

In: rules, rows, a model. `right_rows` are those that the model has right; `applications` is the
table of rules × rows with each distinct rewrite once; `asking` asks the model about it in rounds;
`evidence` says what flips are worth. `rule_effects` has all answers, before and after, for audits.
"""
