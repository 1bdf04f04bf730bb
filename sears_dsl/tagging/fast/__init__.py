"""Tokens and tags without spaCy: the same tokens, and tags by a compiled perceptron.

In: rows of text. `tokenizer` finds chunks between white space and cuts each distinct one once, by
tables of spaCy's rules: in kernels (`chunk_kernels`) or, where these are not certain, in plain
Python (`cutting`). Words and tokens get numbers (`vocabulary`). `fast_tagger` tags rows from left
to right by features of words and their neighbours, whose weights were learned (`weights`). Out:
`Tokens`; `sentences` says where sentences end.
"""
