"""Translation networks: their files, beam search, and pairs of them through a pivot language."""
