"""Defaults for the tagger and the scorers, and the scorers' names; costs nothing to import."""

from __future__ import annotations

DEFAULT_TAGGER = "fast"
"""The name of the default tagger; ``spacy`` is the other one. It was chosen by how often the
shipped rules fire where they should (`python -m benchmarks.taggers`)."""

SCORER_NAMES = ("judge", "judge-lm", "meaning", "pivot", "minilm")
"""All scorers of meaning; `load_scorer` describes them."""

JUDGES = ("judge", "judge-lm")
"""The scorers whose S is the chance that readers accept a rewrite. They also take the user's own
readings into account."""

DEFAULT_SCORER = "judge"
"""The scorer that all commands and functions use by default."""

ENGLISH_SCORERS = ("judge", "judge-lm", "meaning", "minilm")
"""The scorers that are calibrated for English alone. `discovery.parts.scorer_in_language` says
which one replaces the default in other languages."""

NO_SCORER = "none"
"""The name to give in the place of a scorer's where nothing is scored."""

INSTEAD_OF = {"strict": "judge", "combined": "meaning"}
"""Scorers of earlier versions, each with the one that took its place."""

BEAM_WIDTH = 30
"""The default number of prefixes that the search for paraphrases keeps."""

PAPER_TAU = 0.0008
"""The paper's τ, a threshold of its score through its pivot languages."""
