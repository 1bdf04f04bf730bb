"""sears: search-and-replace rules over words and tags that find bugs in NLP models."""

__version__ = "0.1.0"
