"""Paraphrases and listed changes → candidate rules.

`changes` takes a paraphrase apart, one place at a time, finds the smallest run of tokens that
changed and writes the consequent. `proposal` writes the antecedents that generalize the change and
are frequent, and keeps rules that write *n't* in full out of questions. `synonyms` adds changes of
words that readers accepted in other texts. The candidates go to `filtering`.
"""
