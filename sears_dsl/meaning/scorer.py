"""What a scorer is: S of a pair of texts, and the threshold from which on they mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

PAPER_TAU = 0.0008
"""The threshold of the paper, of its score through its pivots."""


class Scorer(Protocol):
    """Says how far a rewrite still means what its original means.

    Attributes:
        name: ``judge``, ``meaning``, ``pivot``, ``minilm``, or of one's own.
        identity: what it is made of, for manifests and cache keys.
        tau: its shipped threshold.
    """

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
