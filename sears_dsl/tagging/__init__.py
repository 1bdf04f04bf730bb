"""Text → tokens, tags and lemmas, with character offsets; tagged texts on disk.

In: rows of text. `loading` makes a tagger of a name: `fast` (the default), `spacy`, or `pinned` for
tests; `cache` keeps what a slow one gave. Out: `tokens.Tokens`, flat arrays over many rows, which
`engine` reads through `contractions`; `inflection` gives lemmas and forms of single words.
"""
