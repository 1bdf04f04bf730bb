"""What is taken where nobody chooses; costs nothing to import."""

from __future__ import annotations

DEFAULT_TAGGER = "fast"
"""The name of the tagger. Chosen by how often the shipped rules fire where they should
(`python -m benchmarks.taggers`); ``spacy`` is the other one."""

SCORER_NAMES = ("judge", "judge-lm", "meaning", "pivot", "minilm")
"""The scores of meaning that there are, as `load_scorer` describes them."""

JUDGES = ("judge", "judge-lm")
"""Those whose S is the chance that readers accept a rewrite, and which take readings of one's
own."""

DEFAULT_SCORER = "judge"
"""The one that all commands and functions ask."""

ENGLISH_SCORERS = ("judge", "judge-lm", "meaning", "minilm")
"""Those that are calibrated for English alone; what replaces the default one in other languages
says `sears_dsl.discovery.parts.in_language`."""

INSTEAD_OF = {"strict": "judge", "combined": "meaning"}
"""Scorers that there were, and which one does now what each was for."""

PAPER_TAU = 0.0008
"""The threshold of the paper, of its score through its pivots."""
