"""S: how far a rewrite keeps the meaning of its original, and from which score on it does."""
