"""Two opinions at once: the combined score, and the paper's score as a floor under it.

In: pairs (original, rewrite). Out: S in [0, 1] for each. Always holds: S(x, x) = 1; S is the
combined score where the paper's score reaches the floor, and 0 where it does not, so that no τ
above 0 lets such a pair through. Cost: that of the combined score; decisions are cheaper, since the
floor ends them sooner.

People who judge pairs of sentences forgive a lost article; a rule that loses it everywhere is
broken. The combined score, fitted on such judgements, hardly sees grammar ("in the seat" → "on the
seat", "is a film" → "is film"), and a translation model does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sears_dsl.meaning.combined import CombinedScorer, PivotRatios

Pair = tuple[str, str]


class StrictScorer:
    """The combined score where the paper's score reaches a floor.

    Args:
        combined: the calibrated combination.
        floor: the least S of the paper's score.

    Example:
        >>> from sears_dsl.meaning.scorers import load_scorer
        >>> scorer = load_scorer("strict")
        >>> pairs = [("Good movie!", "Good film!"), ("Good movie!", "Good movies!")]
        >>> [bool(same) for same in scorer.at_least(pairs, scorer.tau)]
        [True, False]
    """

    name = "strict"

    def __init__(self, combined: CombinedScorer, *, floor: float) -> None:
        self.combined = combined
        self.floor = floor
        self.tau = combined.tau

    @property
    def identity(self) -> str:
        """The combination and the floor."""
        return f"strict({self.combined.identity},{self.floor:g})"

    @property
    def pivot(self) -> PivotRatios:
        """The paper's score."""
        return self.combined.pivot

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """S of each pair."""
        ratios = np.minimum(0.0, self.pivot.log_ratios(pairs))
        return np.where(ratios >= math.log(self.floor), self.combined.scores(pairs), 0.0)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: the decisions of `scores`."""
        if tau <= 0:
            return np.ones(len(pairs), bool)
        # The floor first: most rewrites that a search tries lie far below it, which shows in their
        # first changed word, and the sentence encoder need not read them.
        kept = self.pivot.above(pairs, np.full(len(pairs), math.log(self.floor)))
        asked = np.flatnonzero(kept)
        kept[asked] = self.combined.at_least([pairs[number] for number in asked.tolist()], tau)
        return kept
