"""A reader's certainty of a span agrees with scipy's entropy, by definition and by a network."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from sears_dsl.errors import ModelError
from sears_dsl.models.certainty import from_distributions, from_top

WEIGHTS = st.lists(st.floats(0, 1), min_size=2, max_size=40).filter(lambda each: sum(each) > 0.01)


@given(st.data(), WEIGHTS)
def test_it_is_one_minus_the_mean_normalized_entropy(
    data: st.DataObject, starts: list[float]
) -> None:
    ends = data.draw(
        st.lists(st.floats(0, 1), min_size=len(starts), max_size=len(starts)).filter(
            lambda each: sum(each) > 0.01
        )
    )
    chances = [[value / sum(each) for value in each] for each in (starts, ends)]
    expected = 1 - sum(map(entropy, chances)) / (2 * math.log(len(starts)))
    assert from_distributions(*chances) == pytest.approx(min(1, max(0, expected)), abs=1e-12)


@pytest.mark.parametrize("words", [2, 7, 300])
def test_known_answers(words: int) -> None:
    assert from_distributions([1 / words] * words, [1 / words] * words) == pytest.approx(
        0, abs=1e-12
    )
    assert from_top(1 / words, 1 / words, words) == pytest.approx(0, abs=1e-12)
    assert from_top(1, 1, words) == 1
    point = [0.0] * (words - 1) + [1.0]
    assert from_distributions(point, point) == 1


def test_rounding_leads_neither_below_0_nor_above_1() -> None:
    even = [from_distributions([1 / words] * words, [1 / words] * words) for words in range(2, 99)]
    assert min(even) == 0
    assert from_distributions([0.5, 0.4995], [0.5, 0.5005]) <= 1, "as networks of float32 give them"


def test_one_word_leaves_no_doubt() -> None:
    assert from_distributions([1.0], [1.0]) == from_top(0.3, 0.2, 1) == 1


@pytest.mark.parametrize(
    ("starts", "ends", "message"),
    [
        ([0.5, 0.49], [0.5, 0.5], r"starts add up to 0\.99"),
        ([0.5, 0.5], [1.0], "2 words may begin the answer, but 1 may end it"),
        ([float("nan"), 1.0], [0.5, 0.5], "starts are not a list of probabilities"),
        ([], [], "starts are not a list of probabilities"),
        ([0.5, 0.5], [-1.0, 2.0], "ends are not a list of probabilities"),
    ],
)
def test_what_is_no_distribution_is_refused(
    starts: list[float], ends: list[float], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        from_distributions(starts, ends)


@pytest.mark.parametrize(
    ("start", "end", "words", "message"),
    [(1.2, 0, 5, "answer's start"), (0, -1, 5, "answer's end"), (0.5, 0.5, 0, "0 words")],
)
def test_what_is_no_probability_is_refused(
    start: float, end: float, words: int, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        from_top(start, end, words)
