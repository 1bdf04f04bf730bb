"""English (or another language's) tokens and tags by spaCy."""
