"""Rules → flat arrays that kernels follow, and what is wrong with rules that cannot be."""
