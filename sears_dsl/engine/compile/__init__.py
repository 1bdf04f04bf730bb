"""Rules → flat arrays that kernels read, and the errors of rules that cannot be compiled.

In: rules with their scopes. `rule_parts` numbers their elements and pieces, so that each is
examined once. `predicates` numbers the tests on tokens and decides them (`composites` those built
from others), and `program` writes out choices and quantifiers. Out: a `Program` for `match`, which
has the rules as a trie and as bits. `token_classes` makes the bits and sorts token types by what
they satisfy. `prefilter` tells from raw text which rows may match; `requirements` says what rules
ask of a run, and what is wrong with them.
"""
