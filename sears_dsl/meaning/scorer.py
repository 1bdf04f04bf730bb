"""What a scorer is: S of a pair of texts, and the threshold from which on they mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

PAPER_TAU = 0.0008
"""The threshold of the paper, of its score through its pivots."""


class Scorer(Protocol):
    """Says how far a rewrite still means what its original means."""

    @property
    def name(self) -> str:
        """``judge``, ``meaning``, ``pivot``, ``minilm``, or of one's own."""

    @property
    def identity(self) -> str:
        """What it is made of, for manifests and cache keys."""

    @property
    def tau(self) -> float:
        """Its shipped threshold."""

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """S of each pair (original, rewrite), in [0, 1]."""

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``, for each pair; may give up early where the answer is certain."""


def scores_from(
    scorer: Scorer, pairs: Sequence[tuple[str, str]], least: float
) -> NDArray[np.float64]:
    """S of each pair that has so much, and 0 of the others, of which scorers tell that sooner.

    A scorer that finds both at once has a method of this name.
    """
    at_once: Any = getattr(scorer, "scores_from", None)
    if at_once is not None:
        return np.asarray(at_once(pairs, least), np.float64)
    scores = np.zeros(len(pairs))
    passing = np.flatnonzero(scorer.at_least(pairs, least))
    if len(passing):
        scores[passing] = scorer.scores([pairs[each] for each in passing.tolist()])
    return scores
