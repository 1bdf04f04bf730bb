"""Intervals, shares, exact tests and false-discovery control, in NumPy alone.

In: counts or p-values, as arrays of any shape or as plain numbers. Out: float64 arrays of that
shape, or a `Share` for a single share. Always holds: the interval of a share lies in [0, 1] and
contains the observed share. Without trials the rate is None, never 0, and the interval covers all
that is possible. q-values are never below their p-values and keep their order. Costs a few array
operations; an exact test costs one sum for each distinct set of counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import cos, exp, lgamma, log, log1p, pi, sin, sqrt, tan
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from sears_dsl.errors import UsageError
from sears_dsl.runtime.array_types import Floats

#: How far apart equal numbers may be after some arithmetic.
ROUNDING = 1e-9


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's score interval for a share: honest for small counts and for shares near 0 and 1.

    Without trials it is (0, 1). Impossible counts raise a `UsageError`.

    Example:
        >>> low, high = wilson_interval(6, 26)
        >>> round(float(low), 2), round(float(high), 2)
        (0.11, 0.42)
    """
    z = _deviations(confidence)
    some, all_ = _counts(successes, trials)
    count = np.maximum(all_, 1)
    share = some / count
    scale = 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    half = z / scale * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # A share of 0 or 1 has exactly this end, which rounding would miss.
    low = np.where(some == 0, 0.0, middle - half)
    high = np.where(some == all_, 1.0, middle + half)
    return low, high


def mean_interval(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of two values or more, such as the errors of several seeds.

    Example:
        >>> low, high = mean_interval([0.2, 0.22, 0.24])
        >>> round(low, 3), round(high, 3)
        (0.17, 0.27)
    """
    _deviations(confidence)  # checks the confidence
    numbers = np.asarray(values, np.float64).ravel()
    if numbers.size < 2:
        raise UsageError("one value has no interval", help="give at least two, from other seeds")
    half = _student(numbers.size - 1, confidence) * float(numbers.std(ddof=1)) / numbers.size**0.5
    middle = float(numbers.mean())
    return middle - half, middle + half


# From this many degrees of freedom on, the expansion has 8 right digits up to confidence 0.999.
_MANY_FREE = 100


@cache
def _student(freedom: int, confidence: float) -> float:
    """The t with P(|T| ≤ t) = confidence, by bisection over the angle atan(t/√freedom).

    With many degrees of freedom the bisection would take long, and the expansion around the normal
    distribution is as good (Abramowitz and Stegun 26.7.5).
    """
    if freedom >= _MANY_FREE:
        return _student_expanded(freedom, _deviations(confidence))
    low, high = 0.0, pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if _central_probability(freedom, middle) < confidence:
            low = middle
        else:
            high = middle
    return tan(low) * sqrt(freedom)


def _student_expanded(freedom: int, z: float) -> float:
    """The quantile of Student's t that corresponds to the quantile z of the normal distribution."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return z + float(sum(term / freedom**power for power, term in enumerate(terms, 1)))


def _central_probability(freedom: int, angle: float) -> float:
    """P(|T| ≤ √freedom·tan(angle)): a finite series (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for power in range(1 + odd, freedom, 2):
        total += term
        term *= cos(angle) ** 2 * power / (power + 1)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def binomial_tail(successes: ArrayLike, trials: ArrayLike, rate: float) -> Floats:
    """P(X ≥ successes) for X ~ Binomial(trials, rate): the exact one-sided test of a null rate.

    Example:
        >>> float(binomial_tail(2, 2, 0.5)), float(binomial_tail(0, 7, 0.1))
        (0.25, 1.0)
    """
    if not 0 <= rate <= 1:
        raise UsageError(f"the rate is {rate}", help="it has to be between 0 and 1")
    some, all_ = np.broadcast_arrays(*_counts(successes, trials))
    pairs = np.stack([some.ravel(), all_.ravel()], axis=1)
    distinct, places = np.unique(pairs, axis=0, return_inverse=True)
    tails = [_tail(int(least), int(count), rate) for least, count in distinct.tolist()]
    return np.array(tails, np.float64)[places.ravel()].reshape(some.shape)


def _tail(least: int, count: int, rate: float) -> float:
    """One tail, summed from its largest term, so that a small tail keeps its digits."""
    if least <= 0 or rate == 1:
        return 1.0
    if rate == 0:
        return 0.0
    if least <= count * rate:  # the other side is the smaller one
        return 1 - _sum(least - 1, count, rate, step=-1)
    return _sum(least, count, rate, step=1)


def _sum(start: int, count: int, rate: float, *, step: int) -> float:
    """The sum of the probabilities of start, start + step, … to 0 or count, which decrease."""
    term = exp(_log_choose(count, start) + start * log(rate) + (count - start) * log1p(-rate))
    odds = rate / (1 - rate)
    total, place = term, start
    while 0 <= place + step <= count and term > total * 1e-17:
        if step > 0:
            term *= (count - place) / (place + 1) * odds
        else:
            term *= place / (count - place + 1) / odds
        place += step
        total += term
    return total


def mcnemar_exact(only_first: ArrayLike, only_second: ArrayLike) -> Floats:
    """McNemar's exact test, two-sided: did two things happen equally often to the same rows?

    Rows to which both or neither happened say nothing. Under the null hypothesis each of the others
    has the same chance to be of one kind or of the other.

    Example:
        >>> round(float(mcnemar_exact(1, 9)), 4), float(mcnemar_exact(0, 0))
        (0.0215, 1.0)
    """
    first, second = np.asarray(only_first, np.float64), np.asarray(only_second, np.float64)
    tail = binomial_tail(np.maximum(first, second), first + second, 0.5)
    return np.asarray(np.minimum(1.0, 2 * tail))


def paired_difference_interval(
    only_first: ArrayLike, only_second: ArrayLike, trials: ArrayLike
) -> tuple[Floats, Floats]:
    """The 95% interval of the second share minus the first, where both are of the same rows.

    Wald's interval after two rows are added, one to each count (Bonett and Price 2012); (-1, 1)
    without rows. Added halves (Agresti and Min 2005) would miss one true difference in seven where
    hardly a row differs. Counts are of rows to which one thing alone happened (`mcnemar_exact`).

    Example:
        >>> low, high = paired_difference_interval(1, 9, 50)
        >>> round(float(low), 2), round(float(high), 2)
        (0.03, 0.28)
    """
    z = _deviations(0.95)
    first, second = np.asarray(only_first, np.float64), np.asarray(only_second, np.float64)
    count = _counts(first + second, trials)[1]
    more, less, rows = second + 1, first + 1, count + 2
    middle = (more - less) / rows
    half = z * np.sqrt((more + less) - (more - less) ** 2 / rows) / rows
    return np.asarray(np.maximum(-1.0, middle - half)), np.asarray(np.minimum(1.0, middle + half))


def difference_interval(
    first: ArrayLike, first_trials: ArrayLike, second: ArrayLike, second_trials: ArrayLike
) -> tuple[Floats, Floats]:
    """The 95% interval of the second share minus the first, where they are of different rows.

    Newcombe's hybrid of two Wilson intervals (1998, method 10), honest for small counts and for
    shares near 0 and 1. A share without rows may be anything from 0 to 1.

    Example:
        >>> low, high = difference_interval(56, 70, 48, 80)
        >>> round(float(low), 4), round(float(high), 4)
        (-0.3339, -0.0524)
    """
    ends = []
    for some, trials in ((first, first_trials), (second, second_trials)):
        low, high = wilson_interval(some, trials)
        successes, count = _counts(some, trials)
        ends.append((successes / np.maximum(count, 1), low, high))
    (p, p_low, p_high), (q, q_low, q_high) = ends
    low = q - p - np.sqrt((q - q_low) ** 2 + (p_high - p) ** 2)
    high = q - p + np.sqrt((q_high - q) ** 2 + (p - p_low) ** 2)
    return np.asarray(low), np.asarray(high)


def fisher_exact(
    some: ArrayLike, trials: ArrayLike, others: ArrayLike, other_trials: ArrayLike
) -> Floats:
    """Fisher's exact test, two-sided: are two shares of different rows equal?

    Example:
        >>> round(float(fisher_exact(8, 10, 1, 10)), 4)
        0.0055
    """
    return _table_p_values(_fisher, some, trials, others, other_trials)


def excess_exact(
    some: ArrayLike, trials: ArrayLike, others: ArrayLike, other_trials: ArrayLike
) -> Floats:
    """Fisher's exact test, one-sided: is the first share larger than that of other rows?

    The p-value is the probability, given how often it happened in all, that it happened to at least
    ``some`` of the first rows. `binomial_tail` takes a rate as known; this test takes the other
    share for what it is, a count of finitely many rows.

    Example:
        >>> round(float(excess_exact(3, 4, 10, 100)), 4), float(excess_exact(3, 4, 0, 0))
        (0.0058, 1.0)
    """
    return _table_p_values(_excess, some, trials, others, other_trials)


def _table_p_values(
    p_value: Callable[[int, int, int, int], float],
    some: ArrayLike,
    trials: ArrayLike,
    others: ArrayLike,
    other_trials: ArrayLike,
) -> Floats:
    """The p-value of each table of two shares, computed once for each distinct table."""
    counts = np.broadcast_arrays(*_counts(some, trials), *_counts(others, other_trials))
    tables = np.stack([each.ravel() for each in counts], axis=1).astype(np.int64)
    distinct, places = np.unique(tables, axis=0, return_inverse=True)
    p_values = [p_value(*table) for table in distinct.tolist()]
    return np.array(p_values, np.float64)[places.ravel()].reshape(counts[0].shape)


def _excess(some: int, trials: int, others: int, other_trials: int) -> float:
    """The probability of tables with these margins and at least ``some`` on the first side."""
    happened = some + others
    least = max(0, happened - other_trials)
    if some <= least:
        return 1.0
    logs = _log_tables(trials, other_trials, happened)[some - least :]
    whole = _log_choose(trials + other_trials, happened)
    return min(1.0, float(np.exp(logs - whole).sum()))


def _fisher(some: int, trials: int, others: int, other_trials: int) -> float:
    """The probability of all tables with these margins that are at most as likely as this one."""
    happened = some + others
    least = max(0, happened - other_trials)
    logs = _log_tables(trials, other_trials, happened)
    terms = np.exp(logs - logs.max())
    # Equally likely tables may differ by rounding.
    as_unlikely = terms <= terms[some - least] * (1 + 1e-9)
    return float(terms[as_unlikely].sum() / terms.sum())


def _log_tables(trials: int, other_trials: int, happened: int) -> Floats:
    """Logarithms of how many tables have these margins, for each count on the first side."""
    least, most = max(0, happened - other_trials), min(trials, happened)
    return np.array(
        [
            _log_choose(trials, each) + _log_choose(other_trials, happened - each)
            for each in range(least, most + 1)
        ]
    )


def _log_choose(count: int, chosen: int) -> float:
    return lgamma(count + 1) - lgamma(chosen + 1) - lgamma(count - chosen + 1)


def q_values(p_values: ArrayLike) -> Floats:
    """The false-discovery rate at which each test would just be called a discovery.

    After Benjamini and Hochberg (1995), valid for independent and positively dependent tests.

    Example:
        >>> q_values([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.04, 0.04]
    """
    count = np.size(p_values)
    factors = count / np.arange(1, count + 1)
    return _adjusted(p_values, factors, lambda each: np.minimum.accumulate(each[::-1])[::-1])


def holm_values(p_values: ArrayLike) -> Floats:
    """P-values after Holm (1979): the level at which each null hypothesis would just be rejected.

    However the tests depend on each other, and however many of the null hypotheses are true, the
    chance that any of these is rejected by mistake at 0.05 is at most 5%.

    Example:
        >>> holm_values([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    return _adjusted(p_values, np.arange(np.size(p_values), 0.0, -1), np.maximum.accumulate)


def _adjusted(p_values: ArrayLike, factors: Floats, in_order: Callable[[Floats], Floats]) -> Floats:
    """P-values times the factors of their ranks, smallest first, then made monotone, at most 1."""
    numbers = np.asarray(p_values, np.float64)
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise UsageError("a p-value is outside [0, 1]", help="give probabilities")
    order = np.argsort(numbers, axis=None)
    adjusted = np.empty(numbers.size)
    adjusted[order] = np.minimum(in_order(numbers.ravel()[order] * factors), 1.0)
    return adjusted.reshape(numbers.shape)


def _deviations(confidence: float) -> float:
    """How many standard deviations a two-sided interval of this confidence reaches."""
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}", help="it has to be between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    some, all_ = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    if (some < 0).any() or (some > all_).any():
        raise UsageError(
            "there are counts below 0, or more successes than trials",
            help="pass how often it happened, and out of how many",
        )
    return some, all_


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total, with its rate (None out of 0) and its 95% interval (Wilson)."""

    count: int
    total: int
    rate: float | None
    low: float
    high: float


def share_of(count: int, total: int) -> Share:
    """The share with its interval.

    Example:
        >>> share_of(6, 26).rate == 6 / 26, share_of(0, 0).rate
        (True, None)
    """
    low, high = wilson_interval(count, total)
    return Share(count, total, count / total if total else None, float(low), float(high))


def percent(rate: float | None) -> str:
    """A rate for people: whole per cents, with tenths near 0 and 1; a dash for None.

    Example:
        >>> [percent(each) for each in (0.237, 0.004, 0.0004, 0.0, None)]
        ['24%', '0.4%', '0.04%', '0%', '–']
    """
    if rate is None:
        return "–"
    if 0 < rate < 0.001:
        return f"{100 * rate:.1g}%"
    near_an_end = 0 < rate < 0.0995 or 0.9905 < rate < 1
    # A rate below 1 is never shown as 100%.
    return f"{100 * min(rate, 0.999):.1f}%" if near_an_end else f"{100 * rate:.0f}%"
