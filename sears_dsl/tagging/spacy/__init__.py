"""English (or another language's) tokens and tags by spaCy.

In: rows of text. spaCy cuts and tags them (`spacy_tagger`, in several processes where wanted),
`coarse_tags` remembers coarse tags by word and fine tag. Out: `Tokens`.
"""
