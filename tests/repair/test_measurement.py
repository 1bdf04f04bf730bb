"""Errors and their changes agree with SciPy and with what is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.repair.measurement import Outcomes, change, estimate
from sears_dsl.statistics import mean_interval, paired_difference_interval, wilson_interval


def outcomes(wrong: NDArray[np.bool_], *, times: int = 1) -> Outcomes:
    """A line for each seed; each row is one item or several."""
    repeated = np.repeat(wrong, times, axis=1)
    rows = np.repeat(np.arange(wrong.shape[1]), times)
    return Outcomes(repeated, np.ones_like(repeated), rows)


def drawn(seeds: int, rows: int, rate: float, *, seed: int) -> NDArray[np.bool_]:
    return np.random.default_rng(seed).random((seeds, rows)) < rate


@settings(deadline=None)  # the first example imports SciPy
@given(
    st.lists(
        st.integers(-5_000, 5_000).map(lambda n: n / 1_000), min_size=2, max_size=12, unique=True
    ),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_the_interval_of_a_mean_is_students(values: list[float], confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    low, high = mean_interval(values, confidence=confidence)
    wanted = stats.t.interval(
        confidence, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
    )
    assert (low, high) == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def test_one_value_has_no_interval() -> None:
    with pytest.raises(UsageError, match="one value"):
        mean_interval([0.2])


def test_an_error_is_wilsons_over_rows_and_students_over_seeds() -> None:
    wrong = drawn(4, 200, 0.2, seed=0)
    found = estimate(outcomes(wrong))
    assert found.error == pytest.approx(wrong.mean())
    assert found.of_seeds == pytest.approx(tuple(wrong.mean(axis=1)))
    low, high = wilson_interval(wrong.sum() / 4, 200)
    assert found.interval == pytest.approx((float(low), float(high)))
    assert found.over_seeds == pytest.approx(mean_interval(wrong.mean(axis=1)))
    assert estimate(outcomes(wrong[:1])).over_seeds is None
    two = np.zeros((2, 10), bool)
    two[1, :9] = True  # Student's interval of 0% and 90% goes far beyond what an error can be
    assert estimate(outcomes(two)).over_seeds == (0.0, 1.0)


def test_no_error_in_a_few_rows_is_no_certainty() -> None:
    found = estimate(outcomes(np.zeros((3, 26), np.bool_)))
    assert found.error == 0
    assert found.interval[0] == 0
    assert found.interval[1] > 0.1


def test_more_rewrites_of_the_same_rows_make_nothing_surer() -> None:
    before, after = drawn(3, 60, 0.3, seed=1), drawn(3, 60, 0.1, seed=2)
    assert estimate(outcomes(before, times=5)).interval == pytest.approx(
        estimate(outcomes(before)).interval
    )
    once = change(outcomes(before), outcomes(after))
    often = change(outcomes(before, times=5), outcomes(after, times=5))
    assert often.interval == pytest.approx(once.interval)


def test_a_change_within_one_seed_is_the_paired_bootstrap() -> None:
    stats = pytest.importorskip("scipy.stats")
    before, after = drawn(1, 300, 0.3, seed=3), drawn(1, 300, 0.1, seed=4)
    after[0, :100] = before[0, :100]
    found = change(outcomes(before), outcomes(after))
    differences = after[0].astype(float) - before[0]
    wanted = stats.bootstrap(
        (differences,), np.mean, method="percentile", n_resamples=5_000, rng=0
    ).confidence_interval
    assert found.difference == pytest.approx(differences.mean())
    assert found.interval == pytest.approx((wanted.low, wanted.high), abs=0.006)


def test_seeds_that_disagree_widen_the_interval() -> None:
    rows = np.arange(400)
    same = np.tile(rows < 40, (4, 1))
    torn = np.array([rows < 80, rows < 80, rows < 0, rows < 0])
    before = outcomes(np.tile(rows < 100, (4, 1)))
    alike, apart = change(before, outcomes(same)), change(before, outcomes(torn))
    assert alike.difference == apart.difference == pytest.approx(-0.15)
    assert alike.interval is not None
    assert apart.interval is not None
    assert apart.interval[1] - apart.interval[0] > 2 * (alike.interval[1] - alike.interval[0])


def test_seeds_that_disagree_about_a_few_rows_widen_the_interval_too() -> None:
    right, wrong = np.zeros((1, 8), np.bool_), np.ones((1, 8), np.bool_)
    pair = np.concatenate([right, wrong]), np.concatenate([wrong, right])
    assert change(*map(outcomes, pair)).interval == (-1, 1)


def test_the_interval_of_no_change_holds_zero_about_95_times_in_100() -> None:
    held = 0
    for seed in range(60):
        wrong = [drawn(3, 150, 0.2, seed=2 * seed + side) for side in (0, 1)]
        found = change(outcomes(wrong[0]), outcomes(wrong[1])).interval
        assert found is not None
        held += found[0] <= 0 <= found[1]
    assert held >= 52


def test_a_change_that_no_sample_varies_is_no_certainty() -> None:
    nothing, everything = np.zeros((2, 20), np.bool_), np.ones((2, 20), np.bool_)
    same = change(outcomes(nothing), outcomes(nothing)).interval
    assert same is not None
    assert -0.2 < same[0] < -0.05 < 0.05 < same[1] < 0.2
    gone = change(outcomes(everything), outcomes(nothing))
    assert gone.difference == -1
    assert gone.interval is not None
    assert gone.interval[0] == -1 < gone.interval[1] < -0.6
    # No error in 20 rows leaves 16% possible (Wilson), which is 32% of an error of one half.
    half = outcomes(np.tile(np.arange(20) < 10, (2, 1)))
    mended = change(half, outcomes(nothing))
    assert mended.fall == 1
    assert mended.fall_interval == pytest.approx((0.678, 1), abs=0.001)
    assert change(half, half).fall_interval == pytest.approx((-0.402, 0.402), abs=0.002)


@pytest.mark.parametrize(("before", "after"), [(5, 1), (4, 0)])
def test_a_relative_change_of_few_rows_claims_no_more_than_the_change(
    before: int, after: int
) -> None:
    """Four rows of forty got right: that may be chance, and so may be any part of the error."""
    rows = np.arange(40)
    found = change(*(outcomes(np.tile(rows < count, (2, 1))) for count in (before, after)))
    assert found.interval is not None
    assert found.fall_interval is not None
    assert found.interval[1] > 0 > found.fall_interval[0]
    assert found.fall_interval[1] == 1


def test_a_relative_change_of_nine_rows_reaches_as_far_as_the_change() -> None:
    rows = np.arange(40)
    found = change(*(outcomes(np.tile(rows < count, (2, 1))) for count in (12, 3)))
    assert found.interval is not None
    assert found.fall_interval is not None
    assert found.interval[1] < 0
    assert found.fall_interval[0] <= -found.interval[1] / 0.3 + 1e-9


def test_rows_that_count_on_one_side_alone_make_few_changed_rows_no_surer() -> None:
    rows = np.arange(40)
    before, after = (np.tile(rows < count, (2, 1)) for count in (5, 1))
    every = np.ones_like(before)
    for counted in ((every, every & (rows < 39)), (every & (rows < 39), every)):
        sides = zip((before, after), counted, strict=True)
        found = change(*(Outcomes(*side, rows) for side in sides)).interval
        assert found is not None
        assert found[0] < 0 < found[1]
    # Seeds that count different rows each: three rows of four got right.
    apart = np.array([[True, True, False, False], [False, False, True, True]])
    wrong = np.tile(rows[:4] < 3, (2, 1))
    none = np.zeros_like(apart)
    found = change(*(Outcomes(each, apart, rows[:4]) for each in (wrong, none))).interval
    assert found is not None
    assert found[0] < 0 < found[1]


def test_the_side_with_fewer_rows_says_how_sure_a_change_is() -> None:
    right, rows = np.zeros((2, 40), np.bool_), np.arange(40)
    many, few = (Outcomes(right, ~right & (rows < count), rows) for count in (40, 10))
    wanted = tuple(map(float, paired_difference_interval(0, 0, 10)))
    assert change(many, few).interval == change(few, many).interval == wanted


def test_a_relative_change_rules_out_no_change_only_where_the_change_does() -> None:
    """Some samples have no error before: a difference counts them, a share of the error cannot."""
    before = Outcomes(
        np.array([[True, False, False]]), np.array([[True, True, False]]), np.arange(3)
    )
    after = Outcomes(np.array([[False, False, True]]), np.ones((1, 3), np.bool_), np.arange(3))
    found = change(before, after)
    assert found.interval is not None
    assert found.fall_interval is not None
    assert found.interval[0] < 0 < found.interval[1]
    assert found.fall_interval[0] < 0 < found.fall_interval[1]


def test_only_counted_items_count() -> None:
    wrong = np.array([[True, True, False, False]])
    counted = np.array([[True, False, True, False]])
    found = estimate(Outcomes(wrong, counted, np.array([0, 0, 1, 1])))
    assert (found.error, found.wrong, found.counted, found.rows) == (0.5, 1, 2, 2)
    # Each of two seeds counts another row.
    assert estimate(Outcomes(np.eye(2) > 0, np.eye(2) > 0, np.arange(2))).rows == 1


def test_where_nothing_counts_nothing_is_claimed() -> None:
    nothing = Outcomes(np.ones((2, 3), np.bool_), np.zeros((2, 3), np.bool_), np.arange(3))
    found = estimate(nothing)
    assert found.error is None
    assert found.interval == (0, 1)
    assert change(nothing, nothing).difference is None


def test_no_error_before_cannot_fall() -> None:
    before, after = np.zeros((2, 50), np.bool_), drawn(2, 50, 0.5, seed=5)
    found = change(outcomes(before), outcomes(after))
    assert found.fall is None
    assert found.difference == pytest.approx(after.mean())


def test_outcomes_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(UsageError, match="different seeds or items"):
        change(outcomes(drawn(2, 30, 0.5, seed=0)), outcomes(drawn(1, 30, 0.5, seed=0)))
    with pytest.raises(UsageError, match="different seeds or items"):
        change(outcomes(drawn(2, 30, 0.5, seed=0)), outcomes(drawn(2, 15, 0.5, seed=0), times=2))
