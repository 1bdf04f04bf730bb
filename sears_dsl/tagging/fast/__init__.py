"""English tokens and tags without spaCy: the same tokens, and tags by a compiled perceptron.

In: rows of text. `tokenizer` finds chunks between white space and cuts each distinct one once, in
kernels (`chunk_kernels`) or, where that is not certain, in plain Python (`cutting`), by spaCy's
rules, which are tables there; words and tokens get numbers (`vocabulary`).
`fast_tagger` tags rows from left to right by features of words and their neighbours, with what was
learned for these (`weights`). Out: `Tokens`; `sentences` says where sentences end.
"""
