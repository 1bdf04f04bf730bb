"""The paper on semantic robustness again: small nets, an encoder, bounds; see `__main__`."""
