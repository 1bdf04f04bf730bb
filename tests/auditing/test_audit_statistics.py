"""The tests and intervals of audits agree with SciPy and statsmodels, and hold their promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sears_dsl.errors import UsageError
from sears_dsl.statistics import (
    binomial_tail,
    difference_interval,
    excess_exact,
    fisher_exact,
    mcnemar_exact,
    paired_difference_interval,
    percent,
    q_values,
    share_of,
)

counts = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_test_is_that_of_statsmodels(first: int, second: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    wanted = tables.mcnemar([[5, first], [second, 7]], exact=True).pvalue
    assert float(mcnemar_exact(first, second)) == pytest.approx(min(1.0, wanted), rel=1e-9)


def test_mcnemars_test_of_nothing_finds_nothing() -> None:
    assert float(mcnemar_exact(0, 0)) == 1.0
    with pytest.raises(UsageError):
        mcnemar_exact(-1, 2)


@settings(deadline=None)
@given(counts, counts)
@example((6, 10), (0, 2))  # the other end of the tables is as likely, except for rounding
def test_fishers_test_is_that_of_scipy(one: tuple[int, int], other: tuple[int, int]) -> None:
    stats = pytest.importorskip("scipy.stats")
    table = [[one[0], one[1] - one[0]], [other[0], other[1] - other[0]]]
    wanted = stats.fisher_exact(table).pvalue
    assert float(fisher_exact(*one, *other)) == pytest.approx(wanted, rel=1e-7)


def test_fishers_test_takes_arrays() -> None:
    found = fisher_exact([8, 8], [10, 10], [1, 8], [10, 10])
    assert found.shape == (2,)
    assert found[0] < 0.01 < found[1]


@settings(deadline=None)
@given(counts, counts)
@example((0, 2), (2, 2))  # rounding would make it less than 1, and in the next more
@example((2, 194), (143, 213))
def test_the_test_for_an_excess_is_scipys(one: tuple[int, int], other: tuple[int, int]) -> None:
    stats = pytest.importorskip("scipy.stats")
    table = [[one[0], one[1] - one[0]], [other[0], other[1] - other[0]]]
    wanted = stats.fisher_exact(table, alternative="greater").pvalue
    found = float(excess_exact(*one, *other))
    assert found == pytest.approx(wanted, rel=1e-7)
    assert found == 1 if one[0] == 0 else found <= 1


def test_tables_of_many_rows_keep_a_p_value() -> None:
    stats = pytest.importorskip("scipy.stats")
    table = [[2_600, 2_400], [2_400, 2_600]]  # it has some 10^3000 arrangements
    wanted = stats.fisher_exact(table).pvalue
    assert float(fisher_exact(2_600, 5_000, 2_400, 5_000)) == pytest.approx(wanted, rel=1e-6)


@settings(deadline=None)
@given(counts, counts)
def test_the_interval_of_a_difference_is_newcombes(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    low, high = map(float, difference_interval(*one, *other))
    assert -1 <= low <= high <= 1
    # What has no rows may have any share.
    shares = [[k / n] if n else [0, 1] for k, n in (one, other)]
    assert all(low <= second - first <= high for first, second in product(*shares))
    if one[1] and other[1]:
        proportion = pytest.importorskip("statsmodels.stats.proportion")
        wanted = proportion.confint_proportions_2indep(*other, *one, method="newcomb")
        assert (low, high) == pytest.approx(wanted, abs=1e-9)


@settings(deadline=None)
@given(counts, st.floats(0.01, 0.99))
def test_the_test_against_a_limit_is_that_of_scipy(count: tuple[int, int], limit: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    if count[1]:
        wanted = stats.binomtest(*count, limit, alternative="greater").pvalue
        assert float(binomial_tail(*count, limit)) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 100))
def test_the_interval_of_a_paired_difference_is_walds_of_two_rows_more(
    first: int, second: int, same: int
) -> None:
    rows = first + second + same
    low, high = map(float, paired_difference_interval(first, second, rows))
    assert -1 <= low <= high <= 1
    mirrored = paired_difference_interval(second, first, rows)
    assert (-high, -low) == pytest.approx(tuple(map(float, mirrored)), abs=1e-12)
    if rows:
        # Wald's interval is that of the mean of -1, 0 and 1, with the variance over n.
        table = np.array([first + 1.0, same, second + 1.0])
        values = np.array([-1.0, 0.0, 1.0])
        mean = float((table * values).sum() / table.sum())
        spread = float((table * (values - mean) ** 2).sum() / table.sum())
        half = 1.959964 * (spread / table.sum()) ** 0.5
        assert low == pytest.approx(max(-1.0, mean - half), abs=1e-6)
        assert high == pytest.approx(min(1.0, mean + half), abs=1e-6)


def test_intervals_hold_what_they_promise() -> None:
    """For models with known flip rates about 95% of the intervals contain the rate."""
    draw = np.random.default_rng(7)
    for rate in (0.02, 0.1, 0.5):
        flips = draw.binomial(80, rate, 600)
        shares = [share_of(int(each), 80) for each in flips]
        assert np.mean([each.low <= rate <= each.high for each in shares]) > 0.92
    pairs = draw.multinomial(120, [0.08, 0.14, 0.78], 600)
    low, high = paired_difference_interval(pairs[:, 0], pairs[:, 1], 120)
    assert np.mean((low <= 0.06) & (high >= 0.06)) > 0.92


@pytest.mark.parametrize("rows", [5, 7, 10, 20, 60, 200])
def test_the_interval_of_a_paired_difference_covers_it_however_few_rows_differ(rows: int) -> None:
    """This is exact, over all possible tables of pairs."""
    stats = pytest.importorskip("scipy.stats")
    first, second = (each.ravel() for each in np.indices((rows + 1, rows + 1)))
    inside = first + second <= rows
    first, second = first[inside], second[inside]
    low, high = paired_difference_interval(first, second, rows)
    tables = np.stack([first, second, rows - first - second], axis=1)
    even = [(each, each) for each in (0.01, 0.05, 0.2, 0.25, 0.5)]
    uneven = product((0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.6, 0.97), (0.0, 0.01))
    for worse, better in [*even, *uneven]:
        chances = stats.multinomial.pmf(tables, rows, [worse, better, 1 - worse - better])
        gap = better - worse
        covered = chances[(low <= gap) & (gap <= high)].sum()
        # If all rows differ, their number adds no information.
        assert covered > (0.92 if worse + better < 1 else 0.87), (worse, better)


def test_false_discoveries_are_under_control() -> None:
    """Forty rules at the limit and ten far above: few of the forty are called failures."""
    draw = np.random.default_rng(11)
    false, missed = [], []
    for _ in range(100):
        rates = np.array([0.05] * 40 + [0.3] * 10)
        found = q_values(binomial_tail(draw.binomial(100, rates), 100, 0.05)) <= 0.05
        false.append(found[:40].sum() / max(1, found.sum()))
        missed.append((~found[40:]).sum())
    assert np.mean(false) <= 0.05
    assert np.mean(missed) < 0.5


@pytest.mark.parametrize(
    ("rate", "words"),
    [(None, "–"), (0.0, "0%"), (0.0004, "0.04%"), (0.0096, "1.0%"), (0.05, "5.0%"),
     (0.0994, "9.9%"), (0.0996, "10%"), (0.234, "23%"), (0.9902, "99%"), (0.992, "99.2%"),
     (0.999, "99.9%"), (0.99997, "99.9%"), (1.0, "100%")],
)  # fmt: skip
def test_rates_are_reported_with_the_digits_that_count(rate: float | None, words: str) -> None:
    assert percent(rate) == words
