"""Flat arrays and tokens → instances of rules.

In: a program and the tokens of a batch. `search` takes blocks of rows: `preparation` puts token
types into classes, `scan` walks the trie from each token (`pairs` remembers what two neighbours
begin), `instances` makes of the hits of patterns the instances of rules. Out: `matches.Matches`
for `rewrite`.
"""
