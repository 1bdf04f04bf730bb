"""Rules → flat arrays that kernels follow, and what is wrong with rules that cannot be.

In: rules with their scopes. `predicates` numbers tests on tokens and decides them, `variants`
writes out choices and quantifiers. Out: a `program.Program` for `match`, in which rules share their
beginnings (a trie) and are bits beside each other (`bit_planes`); `prefilter` tells from raw text
which rows need a look; `diagnostics` says what no text could ever satisfy.
"""
