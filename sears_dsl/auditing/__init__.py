"""A ruleset and a model → a decision: what each rule does to the model, judged and told."""
