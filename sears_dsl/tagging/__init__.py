"""Text → tokens, tags and lemmas, with character offsets; tagged texts on disk."""
