"""Makes the weights of the fast tagger and measures them; not part of the package."""
