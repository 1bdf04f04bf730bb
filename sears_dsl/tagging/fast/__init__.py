"""English tokens and tags without spaCy: the same tokens, and tags by a compiled perceptron."""
