"""Flat arrays and tokens → instances of rules.

In: a program, which knows the classes of token types, and the tokens of a batch. `search` marks
where no instance may be, has blocks of rows scanned, and expands the hits of patterns into
instances of rules. `bit_scan` follows 64 variants at once; `scan` walks the trie from each token,
in plain Python and where there are too many rules for bits. Out: `matches.Matches` for `rewrite`.
"""
