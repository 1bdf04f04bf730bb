"""Text → tokens, tags and lemmas, with character offsets; tagged texts on disk.

In: rows of text. `tagger` makes a tagger by its name: `fast` (the default), `spacy_tagger`, or
`pinned` for tests; `cache` stores what a slow one gave. Out: `tokens.Tokens`, flat arrays of rows,
which `engine` reads after `cut_contractions`; `inflection` gives lemmas and forms of single words,
of which `accepted_forms` are those that rules may write.
"""
