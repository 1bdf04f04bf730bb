"""What is taken where nobody chooses; costs nothing to import."""

from __future__ import annotations

__all__ = ["DEFAULT_TAGGER"]

DEFAULT_TAGGER = "fast"
"""The name of the tagger. Chosen by how often the shipped rules fire where they should
(`python -m benchmarks.taggers`); ``spacy`` is the other one."""
