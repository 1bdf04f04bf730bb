"""English tokens and tags without spaCy: the same tokens, and tags by a compiled perceptron.

In: rows of text. `tokenizer` finds chunks between white space and cuts each distinct
one once, in a kernel (`chunk_kernels`) or, where that is not certain, in plain Python (`cutting`),
by spaCy's rules (`tables`); words get numbers (`vocabulary`). `features` describes words and their
neighbours, `perceptron` tags rows from left to right with what `weights` read. Out: `Tokens`, by
`fast_tagger`; `plain` is the tagger again, to compare with.
"""
