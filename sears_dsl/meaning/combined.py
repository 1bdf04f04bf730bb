"""One score out of four kinds of evidence, calibrated: the chance that people call a pair the same.

In: pairs (original, rewrite). Out: S in [0, 1] for each. What always holds: S(x, x) = 1; more of
any kind of evidence against a pair never raises S; `CombinedScorer.at_least` takes the decisions of
`CombinedScorer.scores` (to the rounding of float32). Cost: encoding each distinct text, and the
pivot score of each pair; `at_least` saves whatever cannot change the answer.

The evidence, each a number from 0 for no difference upwards:

    content    the angle between the sentence vectors (radians) times (words / 10)^¼: a change in
               a long sentence turns its vector less than the same change in a short one
    order      log(1 + pairs of content words that changed their order): embeddings hardly see it
    negation   1 where one text has more negations than the other
    wording    log(1 − log S) of the paper's score S through a pivot language: knows antonyms,
               grammar and what is said in English, and punishes rare words

    S = 1 / (1 + exp(content·w₁ + order·w₂ + negation·w₃ + wording·w₄ − intercept))

Weights are at least 0 and fitted on judgements; `sears_dsl.meaning.scorers` has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.meaning.sentence_encoder import Embedder, encoded_pairs
from sears_dsl.meaning.word_changes import exchanged_words, negation_differs, word_count
from sears_dsl.translation.long_texts import differing_parts

Pair = tuple[str, str]
Floats = NDArray[np.float64]

EVIDENCE = ("order", "negation", "content", "wording")
"""The kinds of evidence, the cheapest first."""


class PivotRatios(Protocol):
    """What is asked of the paper's score."""

    @property
    def identity(self) -> str:
        """What it is made of."""

    def log_ratios(self, pairs: Sequence[Pair]) -> Floats:
        """Log P(rewrite | original) − log P(original | original), which may be above 0."""

    def above(self, pairs: Sequence[Pair], floors: Floats) -> NDArray[np.bool_]:
        """Whether min(0, log ratio) of each pair is at least its floor."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each kind of evidence counts against a pair.

    Attributes:
        intercept: log-odds of a pair without any.
        order, negation, content, wording: log-odds for each unit of evidence, at least 0.

    Raises:
        UsageError: a weight is below 0, so that evidence would speak for a pair.
    """

    intercept: float
    order: float
    negation: float
    content: float
    wording: float

    def __post_init__(self) -> None:
        for name in EVIDENCE:
            if not getattr(self, name) >= 0:
                raise UsageError(
                    f"the weight of {name} is {getattr(self, name)}",
                    help="evidence against a pair must not raise its score: give 0 or more",
                )


class CombinedScorer:
    """The calibrated combination of the paper's score, a sentence encoder and word order.

    Args:
        pivot: the paper's score, as `PivotScorer` has it.
        embedder: the sentence encoder.
        weights: how much each kind of evidence counts.
        tau: the threshold to ship with it.

    Example:
        >>> from sears_dsl.meaning.scorers import load_scorer
        >>> scorer = load_scorer("combined")
        >>> pairs = [("Good movie!", "Good film!"), ("Good movie!", "Good book!")]
        >>> film, book = scorer.scores(pairs)
        >>> bool(film > 0.8 > book)
        True
    """

    name = "combined"

    def __init__(
        self, pivot: PivotRatios, embedder: Embedder, *, weights: Weights, tau: float
    ) -> None:
        self.pivot = pivot
        self.embedder = embedder
        self.weights = weights
        self.tau = tau

    @property
    def identity(self) -> str:
        """Both models and the weights."""
        numbers = ",".join(f"{getattr(self.weights, name):g}" for name in ("intercept", *EVIDENCE))
        return f"combined({self.pivot.identity},{self.embedder.identity},{numbers})"

    def evidence(self, pairs: Sequence[Pair]) -> Floats:
        """The evidence against each pair, (N, 4), in the order of `EVIDENCE`."""
        found = np.zeros((len(pairs), len(EVIDENCE)))
        found[:, :2] = _cheap(pairs)
        found[:, 2] = self._content(pairs)
        found[:, 3] = self._wording(pairs)
        return found

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """S of each pair, in [0, 1]."""
        odds = self._odds(self.evidence(pairs))
        return _chances(odds, pairs)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: the cheap evidence first, the rest for pairs that it leaves open."""
        if tau <= 0:
            return np.ones(len(pairs), bool)
        found = np.zeros((len(pairs), len(EVIDENCE)))
        found[:, :2] = _cheap(pairs)
        # Evidence only lowers S, so that a pair under τ without the rest is under it with it.
        open_ = np.flatnonzero(_chances(self._odds(found), pairs) >= tau)
        found[open_, 2] = self._content([pairs[number] for number in open_.tolist()])
        decisions = _chances(self._odds(found), pairs) >= tau
        open_ = np.flatnonzero(decisions)
        decisions[open_] = self._worded(
            found[open_], [pairs[number] for number in open_.tolist()], tau
        )
        return decisions

    def _worded(self, found: Floats, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """The decision of pairs that only their wording can bring under τ."""
        same = np.array([original == rewrite for original, rewrite in pairs], bool)
        if self.weights.wording == 0 or tau >= 1:
            return same if tau >= 1 else np.ones(len(pairs), bool)
        # How much evidence of wording leaves the odds where τ asks them to be.
        room = np.maximum(0.0, self._odds(found) - math.log(tau / (1 - tau)))
        floors = -np.expm1(np.minimum(room / self.weights.wording, 700))
        decisions = same.copy()
        asked = np.flatnonzero(~same)
        decisions[asked] = self.pivot.above(
            [pairs[number] for number in asked.tolist()], floors[asked]
        )
        return decisions

    def _odds(self, evidence: Floats) -> Floats:
        """Log-odds; summed in a fixed order, so that a bound stays one after rounding."""
        odds = np.full(len(evidence), self.weights.intercept)
        for place, name in enumerate(EVIDENCE):
            odds = odds - evidence[:, place] * getattr(self.weights, name)
        return odds

    def _content(self, pairs: Sequence[Pair]) -> Floats:
        pairs = differing_parts(pairs)
        originals, rewrites = encoded_pairs(self.embedder, pairs)
        # By the distance of the vectors the angle is exact where it is small.
        chords = np.linalg.norm(originals - rewrites, axis=1)
        angles = 2 * np.arcsin(np.minimum(1.0, chords / 2))
        words = np.array([(word_count(one) + word_count(other)) / 2 for one, other in pairs])
        return np.asarray(angles * (words / 10) ** 0.25)

    def _wording(self, pairs: Sequence[Pair]) -> Floats:
        if not pairs:
            return np.zeros(0)
        return np.log1p(np.maximum(0.0, -self.pivot.log_ratios(pairs)))


def _cheap(pairs: Sequence[Pair]) -> Floats:
    order = [exchanged_words(*pair) for pair in pairs]
    negation = [negation_differs(*pair) for pair in pairs]
    return np.stack([np.log1p(np.array(order, np.float64)), np.array(negation, np.float64)], 1)


def _chances(odds: Floats, pairs: Sequence[Pair]) -> Floats:
    same = np.array([original == rewrite for original, rewrite in pairs], bool)
    # exp of −700 is the smallest that float64 holds well.
    return np.where(same, 1.0, 1 / (1 + np.exp(-np.clip(odds, -700, 700))))
