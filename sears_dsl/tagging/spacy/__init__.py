"""English (or another language's) tokens and tags by spaCy.

In: rows of text. `chunk_tokenizer` asks spaCy's tokenizer about each distinct chunk once, its
networks tag (`spacy_tagger`, in several processes where wanted), `coarse_tags` remembers coarse
tags by word and fine tag. Out: `Tokens`.
"""
