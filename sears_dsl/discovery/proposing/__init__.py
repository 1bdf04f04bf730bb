"""Paraphrases → candidate rules that explain what changed.

In: rows and their paraphrases. `changes` takes a paraphrase apart, one place at a time; `alignment`
finds the smallest run of tokens; `antecedents` generalizes it as far as it is frequent;
`consequents` writes the change. Out: candidates, by `proposal`, for `filtering`.
"""
