"""Rules → flat arrays that kernels follow, and what is wrong with rules that cannot be.

In: rules with their scopes, whose parts are looked at once (`rule_parts`). `predicates` numbers
tests on tokens and decides them (those that are made of others in `composites`), `program` writes
out choices and quantifiers. Out: its `Program` for `match`, in which rules share their beginnings
(a trie) and are bits beside each other; `token_classes` makes these bits, and sorts token types by
what they satisfy. `prefilter` tells from raw text which rows need a look; `requirements` says what
rules ask of a run, and what is wrong with them.
"""
