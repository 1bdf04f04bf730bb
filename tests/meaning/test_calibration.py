"""Thresholds and ROC figures agree with their definitions, computed the slow way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import DataError
from sears_dsl.meaning.calibration import (
    area_interval,
    calibrated,
    entropy_threshold,
    operating_curve,
)

Judged = list[tuple[float, bool]]


def both_kinds(judged: Judged) -> bool:
    return len({label for _, label in judged}) == 2


JUDGED = st.lists(
    st.tuples(st.sampled_from([0.0, 0.001, 0.2, 0.5, 0.51, 0.9, 1.0]), st.booleans()), min_size=2
).filter(both_kinds)


def columns(judged: Judged) -> tuple[list[float], list[bool]]:
    return [score for score, _ in judged], [label for _, label in judged]


def entropy(labels: list[bool]) -> float:
    share = sum(labels) / len(labels)
    return -sum(part * math.log2(part) for part in (share, 1 - share) if part)


def split_entropy(judged: Judged, tau: float) -> float:
    sides = [[s for v, s in judged if v >= tau], [s for v, s in judged if v < tau]]
    return sum(len(side) * entropy(side) for side in sides if side) / len(judged)


@given(JUDGED)
def test_area_is_the_chance_that_an_equivalent_pair_scores_higher(judged: Judged) -> None:
    same = [score for score, label in judged if label]
    other = [score for score, label in judged if not label]
    wins = sum((a > b) + (a == b) / 2 for a in same for b in other)
    assert operating_curve(*columns(judged)).area == pytest.approx(wins / len(same) / len(other))


@given(JUDGED)
def test_each_point_of_the_curve_counts_the_pairs_that_reach_it(judged: Judged) -> None:
    curve = operating_curve(*columns(judged))
    assert curve.thresholds[0] == np.inf
    assert (curve.false_rates[0], curve.true_rates[0]) == (0, 0)
    assert (curve.false_rates[-1], curve.true_rates[-1]) == (1, 1)
    for tau, false_rate, true_rate in zip(
        curve.thresholds, curve.false_rates, curve.true_rates, strict=True
    ):
        for label, rate in ((True, true_rate), (False, false_rate)):
            reaching = [score >= tau for score, kind in judged if kind is label]
            assert rate == pytest.approx(sum(reaching) / len(reaching))


@given(JUDGED)
def test_tau_leaves_the_least_entropy_of_all_thresholds(judged: Judged) -> None:
    try:
        tau = entropy_threshold(*columns(judged))
    except DataError:
        curve = operating_curve(*columns(judged))
        assert (curve.true_rates <= curve.false_rates + 1e-12).all()
        return
    left = calibrated(*columns(judged)).entropy
    assert left == pytest.approx(split_entropy(judged, tau), abs=1e-12)
    for other in {score for score, _ in judged} | {tau}:
        upper = [label for score, label in judged if score >= other]
        lower = [label for score, label in judged if score < other]
        if upper and lower and sum(upper) / len(upper) > sum(lower) / len(lower):
            assert split_entropy(judged, tau) <= split_entropy(judged, other) + 1e-9


@given(JUDGED, st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(judged: Judged, random: object) -> None:
    shuffled = judged.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    try:
        first = calibrated(*columns(judged))
    except DataError:
        with pytest.raises(DataError):
            calibrated(*columns(shuffled))
        return
    assert first.as_dict() == calibrated(*columns(shuffled)).as_dict()


def test_a_weight_of_two_is_a_pair_given_twice() -> None:
    scores, labels = [0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [False, True, False, False, True, True]
    doubled = entropy_threshold([*scores, 0.3, 0.4], [*labels, True, False])
    assert entropy_threshold(scores, labels, [1, 2, 2, 1, 1, 1]) == doubled


@pytest.mark.parametrize(("high", "low", "wanted"), [(1e-1, 1e-5, 1e-3), (1e-170, 1e-190, 1e-180)])
def test_tau_of_scores_over_many_powers_of_ten_lies_between_their_logarithms(
    high: float, low: float, wanted: float
) -> None:
    tau = entropy_threshold([low / 10, low, high, 1.0], [False, False, True, True])
    assert tau == pytest.approx(wanted, abs=0)


@pytest.mark.parametrize("low", [0.0, 1e-320, 0.3])
def test_tau_is_between_scores_that_are_next_to_each_other(low: float) -> None:
    high = math.nextafter(low, 1)
    assert low < entropy_threshold([low, high], [False, True]) <= high


@pytest.mark.parametrize(
    ("scores", "tau", "shown"),
    [
        ([0.99996, 0.99994, 0.99992], 0.99993, "0.99993"),
        ([0.9, 0.1], 1 / 3, "0.3333"),
        ([0.123456, 0.1], 0.123456, "0.1234"),  # 0.1235 is above the score
        ([1e-170, 1e-190], 1.00004e-180, "1e-180"),
        ([0.1 + 0.2, 0.3], 0.1 + 0.2, "0.30000000000000004"),  # no 16 digits lie between
    ],
)
def test_a_threshold_is_shown_with_the_digits_that_keep_its_meaning(
    scores: list[float], tau: float, shown: str
) -> None:
    curve = operating_curve(scores, [True, *[False] * (len(scores) - 1)])
    assert curve.shown(tau) == shown


@given(JUDGED, st.floats(0, 1))
def test_a_shown_threshold_lets_the_same_pairs_through(judged: Judged, tau: float) -> None:
    scores, labels = columns(judged)
    shown = float(operating_curve(scores, labels).shown(tau))
    assert [score >= shown for score in scores] == [score >= tau for score in scores]


def test_precision_and_recall_at_a_given_tau() -> None:
    found = calibrated([0.9, 0.8, 0.7, 0.2, 0.1], [True, False, True, True, False], tau=0.5)
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == pytest.approx(2 / 3)
    assert found.precision.low < 2 / 3 < found.precision.high
    assert found.tau == 0.5


def test_a_tau_that_lets_nothing_through_has_no_precision() -> None:
    found = calibrated([0.1, 0.2], [False, True], tau=0.9)
    assert found.as_dict()["precision"] == {"value": None, "low": 0.0, "high": 1.0}
    assert found.recall.value == 0


@given(st.floats(0, 1), st.integers(1, 200), st.integers(1, 200))
def test_the_interval_of_an_area_holds_it(area: float, same: int, other: int) -> None:
    low, high = area_interval(area, equivalent=same, different=other)
    assert 0 <= low <= area <= high <= 1
    assert high - low > 0
    narrow = area_interval(area, equivalent=4 * same, different=4 * other)
    assert narrow[1] - narrow[0] < high - low


@pytest.mark.parametrize("area", [0.6, 0.95])
def test_the_interval_of_an_area_ends_where_its_error_is_hanley_and_mcneils(area: float) -> None:
    for end in area_interval(area, equivalent=10, different=20):
        first, second = end / (2 - end), 2 * end**2 / (1 + end)
        # With the mean of 10 - 1 and 20 - 1 in the place of either, as Newcombe has it.
        spread = end * (1 - end) + 14 * (first + second - 2 * end**2)
        assert abs(area - end) == pytest.approx(1.959964 * math.sqrt(spread / 200), rel=1e-5)


def test_the_interval_of_an_area_covers_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    # Normal scores one standard deviation apart: the area is Φ(1 / √2).
    true, hits, rounds = 0.5 * (1 + math.erf(0.5)), 0, 400
    for _ in range(rounds):
        scores = np.concatenate([random.normal(1, 1, 30), random.normal(0, 1, 40)])
        area = operating_curve(scores, np.arange(70) < 30).area
        low, high = area_interval(area, equivalent=30, different=40)
        hits += low <= true <= high
    assert 0.92 <= hits / rounds <= 0.98


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        ([0.1, 0.2], [True, True], "all 2 pairs are judged equivalent"),
        ([0.1, 0.2], [False, False], "all 2 pairs are judged different"),
        ([], [], "all 0 pairs"),
        ([0.1], [True], "the only pair is judged equivalent"),
        ([0.1, float("nan")], [True, False], "score of pair 2 is nan"),
        ([float("inf"), 0.1], [True, False], "score of pair 1 is inf"),
        ([0.1], [True, False], "1 scores but 2 judgements"),
        ([0.9, 0.1], [False, True], "label 1 means the same meaning"),
        ([0.5, 0.5], [False, True], "no threshold separates"),
        ([0.9, 0.9, 0.1, 0.1], [False, True, False, True], "no threshold separates"),
    ],
)
def test_judgements_that_tell_nothing_are_refused(
    scores: list[float], labels: list[bool], words: str
) -> None:
    with pytest.raises(DataError) as error:
        calibrated(scores, labels)
    assert words in error.value.render()
