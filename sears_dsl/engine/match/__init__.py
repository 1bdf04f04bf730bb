"""Flat arrays and tokens → instances of rules.

In: a program, which knows the classes of token types, and the tokens of a batch. `search` marks
where no instance may be, has blocks of rows scanned, and expands the hits of patterns into
instances of rules. `scans` follows 64 variants at once, or walks the trie from each token. Out:
`matches.Matches` for `rewrite`.
"""
