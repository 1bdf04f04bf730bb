"""The strict score: the combined score with the paper's score as a floor under it."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.meaning.combined import CombinedScorer, Weights
from sears_dsl.meaning.strict import StrictScorer

Pair = tuple[str, str]

TEXTS = st.lists(st.sampled_from(["dogs", "cats", "not", "chase", "the"]), max_size=5).map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=10)
WEIGHTS = Weights(3.5, order=1.0, negation=2.5, content=4.0, wording=0.7)


def number(*texts: str) -> float:
    return crc32("\0".join(texts).encode()) / 2**32


class Clock:
    """Vectors on a circle."""

    identity = "clock"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        turn = np.array([number(text) for text in texts]).reshape(-1, 1)
        return np.concatenate([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)


class Ratios:
    """Gives each pair some ratio."""

    identity = "ratios"

    def log_ratios(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        return np.array([1 - 12 * number(*pair) if pair[0] != pair[1] else 0.0 for pair in pairs])

    def above(self, pairs: Sequence[Pair], floors: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.minimum(0.0, self.log_ratios(pairs)) >= floors


def scorer(floor: float = 0.01) -> StrictScorer:
    return StrictScorer(CombinedScorer(Ratios(), Clock(), weights=WEIGHTS, tau=0.6), floor=floor)


@given(PAIRS)
def test_a_pair_reaches_tau_if_both_scores_say_so(pairs: list[Pair]) -> None:
    strict = scorer()
    combined = strict.combined.scores(pairs) >= strict.tau
    paper = np.exp(np.minimum(0.0, Ratios().log_ratios(pairs))) >= strict.floor
    assert (strict.scores(pairs) >= strict.tau).tolist() == (combined & paper).tolist()


@given(PAIRS, st.floats(0, 1.1))
def test_decisions_are_those_of_scores(pairs: list[Pair], tau: float) -> None:
    assert scorer().at_least(pairs, tau).tolist() == (scorer().scores(pairs) >= tau).tolist()


@given(PAIRS)
def test_scores_are_shares_and_one_for_the_same_text(pairs: list[Pair]) -> None:
    scores = scorer().scores(pairs)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert all(
        score == 1 for score, (one, other) in zip(scores, pairs, strict=True) if one == other
    )


@given(PAIRS, st.floats(1e-9, 1))
def test_no_threshold_lets_a_pair_below_the_floor_through(pairs: list[Pair], tau: float) -> None:
    strict = scorer()
    paper = np.exp(np.minimum(0.0, Ratios().log_ratios(pairs))) >= strict.floor
    assert not strict.at_least(pairs, tau)[~paper].any()
    assert (strict.scores(pairs)[~paper] == 0).all()
