"""The engine: compiled rules over tagged text, and the naive reference that defines it."""
