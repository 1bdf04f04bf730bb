"""Repeats the paper on semantic robustness: small nets, an encoder, bounds; see `__main__`."""
