"""Whether readers would accept a rewrite.

An original and its rewrite differ in a few words, which `changes` finds. `surface` compares these
words without any model: `english` says what differs between two words, from closed lists and
inflected forms, and `faults` what the rewrite has broken in their form. `forecast` rejects most
rewrites by their words alone, before any text is read. `encoder` compares what the words mean in
context. `estimate` predicts how likely a language model would find the rewrite; ``judge-lm`` asks
that model itself (`likelihood`). `grammar` says how English the text looks, by `mistakes` that are
certain and by two networks: a deep one, and the small one in `networks`, which also has what both
share. `bert` computes the layers of the encoder, of the estimate and of the deep network.
`readings` has what readers said of the same change elsewhere. `evidence` adds all this up, and
`judge` makes one number of it: the chance that most readers would accept the rewrite.
"""
