"""Paraphrases → candidate rules that explain what changed.

In: rows and their paraphrases. `changes` takes a paraphrase apart, one place at a time, finds the
smallest run of tokens that changed and writes the consequent; `proposal` generalizes what changed
as far as it is frequent, and keeps rules that write *n't* in full out of questions. Out: candidates
for `filtering`.
"""
