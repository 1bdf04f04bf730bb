"""Text: tokens and tags with character offsets, the tag cache, datasets."""
