"""Flat arrays and tokens → instances of rules.

In: a program, which knows the classes of token types, and the tokens of a batch. `search` takes
blocks of rows, tells where no instance may be, has them scanned, and makes of the hits of patterns
the instances of rules. `bit_scan` follows 64 rules at once, and `scan` walks the trie from each
token where there are too many rules for bits, and in plain Python. Out: `matches.Matches` for
`rewrite`.
"""
