"""Intervals and tests agree with their definitions, and with SciPy if it is installed."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import UsageError
from sears_dsl.statistics import (
    binomial_tail,
    holm_values,
    mean_interval,
    q_values,
    wilson_interval,
)

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def exact_tail(some: int, count: int, rate: Fraction) -> Fraction:
    terms = (comb(count, k) * rate**k * (1 - rate) ** (count - k) for k in range(some, count + 1))
    return sum(terms, Fraction(0))


@given(counts, st.integers(0, 20))
def test_the_binomial_tail_is_exact(count: tuple[int, int], twentieths: int) -> None:
    rate = Fraction(twentieths, 20)
    found = binomial_tail(*count, float(rate))
    assert float(found) == pytest.approx(float(exact_tail(*count, rate)), rel=1e-11, abs=1e-300)


def test_small_tails_keep_their_digits() -> None:
    found = binomial_tail([40, 400], [100, 1_000], 0.01)
    rate = Fraction(1, 100)
    wanted = [float(exact_tail(40, 100, rate)), float(exact_tail(400, 1_000, rate))]
    assert found == pytest.approx(wanted, rel=1e-9, abs=0)


def test_tails_have_the_shape_of_the_counts() -> None:
    found = binomial_tail([[0, 1], [2, 2]], [2, 2], 0.5)
    assert found.tolist() == [[1.0, 0.75], [0.25, 0.25]]


@given(counts, st.floats(0.5, 0.999))
def test_wilsons_interval_holds_the_share(count: tuple[int, int], confidence: float) -> None:
    low, high = wilson_interval(*count, confidence=confidence)
    some, all_ = count
    assert 0 <= low <= high <= 1
    if all_:
        assert low <= some / all_ <= high
    else:
        assert (low, high) == (0, 1)


def test_wilsons_interval_is_where_the_score_test_turns() -> None:
    """Its ends are the last rates that the test at that confidence does not reject."""
    low, high = wilson_interval(6, 26)
    for end in (low, high):
        z = (6 / 26 - end) / np.sqrt(end * (1 - end) / 26)
        assert abs(z) == pytest.approx(1.959963984540054, rel=1e-9)


def test_wilsons_interval_of_nothing_and_of_everything() -> None:
    low, high = wilson_interval([0, 10], [10, 10])
    assert low[0] == 0
    assert high[1] == 1
    assert high[0] == pytest.approx(1 - low[1])


@given(probabilities)
def test_q_values_are_the_least_rates_that_discover(p_values: list[float]) -> None:
    for p_value, q_value in zip(p_values, q_values(p_values), strict=True):
        # Benjamini and Hochberg: some threshold at or above p has that estimated rate.
        rates = [
            threshold * len(p_values) / sum(each <= threshold for each in p_values)
            for threshold in p_values
            if threshold >= p_value
        ]
        assert q_value == pytest.approx(min(1.0, *rates), rel=1e-12)


@given(probabilities)
def test_q_values_keep_the_order_and_are_not_below(p_values: list[float]) -> None:
    found = q_values(p_values)
    assert (found >= np.array(p_values)).all()
    order = np.argsort(p_values)
    assert (np.diff(found[order]) >= 0).all()


def test_against_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    some, count = np.array([0, 3, 9, 50]), np.array([7, 40, 9, 700])
    assert binomial_tail(some, count, 0.04) == pytest.approx(scipy.binom.sf(some - 1, count, 0.04))
    low, high = wilson_interval(3, 40)
    theirs = scipy.binomtest(3, 40).proportion_ci(method="wilson")
    assert (low, high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    p_values = [0.01, 0.2, 0.03, 0.9, 0.03]
    assert q_values(p_values) == pytest.approx(scipy.false_discovery_control(p_values))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="more successes than trials"):
        wilson_interval(3, 2)
    with pytest.raises(UsageError, match="confidence"):
        wilson_interval(1, 2, confidence=95)
    with pytest.raises(UsageError, match="confidence"):
        mean_interval([1, 2], confidence=95)
    with pytest.raises(UsageError, match="counts below 0"):
        wilson_interval(-1, 2)
    with pytest.raises(UsageError, match="the rate is 5"):
        binomial_tail(1, 2, 5)
    for impossible in (float("nan"), -0.1, 1.1):
        with pytest.raises(UsageError, match=r"outside \[0, 1\]"):
            q_values([0.5, impossible])
    assert q_values([]).tolist() == []
    assert q_values([[0.5], [1]]).tolist() == [[1], [1]]  # the shape stays


def test_students_quantiles_are_scipys_and_quick() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    for freedom in (1, 2, 7, 30, 99, 100, 101, 1_000, 100_000):
        for confidence in (0.5, 0.9, 0.95, 0.99, 0.999):
            wanted = scipy.t.ppf((1 + confidence) / 2, freedom)
            values = np.array([0.0, 1.0] + [0.5] * (freedom - 1))
            low, high = mean_interval(values, confidence=confidence)
            half = wanted * values.std(ddof=1) / (freedom + 1) ** 0.5
            assert (high - low) / 2 == pytest.approx(half, rel=1e-8)
    many = np.random.default_rng(0).random((300, 3_000))
    begun = process_time()
    for place, values in enumerate(many):
        mean_interval(values[: 2_500 + place])  # 80 · 1,250 terms each were half a minute
    assert process_time() - begun < 2


@settings(deadline=None)
@given(probabilities)
def test_holms_values_are_those_of_the_definition(p_values: list[float]) -> None:
    # The smallest of m is multiplied by m, the next one by m - 1, and the values never fall.
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    wanted = dict.fromkeys(order, 0.0)
    least = 0.0
    for rank, place in enumerate(order):
        least = wanted[place] = max(least, min(1.0, (len(order) - rank) * p_values[place]))
    assert holm_values(p_values) == pytest.approx([wanted[k] for k in range(len(p_values))])
