"""Whether readers would accept a rewrite.

In: an original and its rewrite, which differ in a few words. `changes` says which. `surface`
compares these words without any model: `english` has closed lists and the forms of words, and says
what one word for another is, `faults` what the rewrite has broken in their form. `grammar` says how
English the words around them look, by `mistakes` that are sure and by two networks: the small one
(in `networks`, with what both compute with and read their weights by) and `deep_grammar`. `encoder`
compares what words mean in their contexts; `estimate` says how likely a language model would find
them, and `likelihood`, which ``judge-lm`` asks instead, how likely it does (its weights by
`gguf_file`); `readings` is what readers said of the same change elsewhere; `evidence` adds all this
up. Out: by `judge` one number, the share of readers that would accept the rewrite.
"""
