"""Flat arrays and tokens → instances of rules.

In: a program, which knows the classes of token types, and the tokens of a batch. `search` takes
blocks of rows and tells where no instance may be; `scan` walks the trie from each token, and
`search` makes of the hits of patterns the instances of rules. Out: `matches.Matches` for `rewrite`.
"""
