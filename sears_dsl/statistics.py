"""Intervals, exact tests and false-discovery control, in NumPy alone.

In: counts, or p-values, as arrays of any shape (or plain numbers). Out: float64 arrays of that
shape. Always holds: intervals lie in [0, 1] and contain the observed share; q-values are never
below their p-values and keep their order. Costs a few array operations; the binomial tail costs
one sum a distinct pair of counts.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sears_dsl.errors import UsageError

__all__ = ["Dependence", "binomial_tail", "q_values", "wilson_interval"]

Floats: TypeAlias = NDArray[np.float64]

Dependence: TypeAlias = Literal["positive", "any"]
"""How tests may depend on each other: see `q_values`."""


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's score interval for a share: honest for small counts and for shares near 0 and 1.

    Args:
        successes: how often it happened.
        trials: out of how many; where there were none the interval is (0, 1).
        confidence: between 0 and 1.

    Returns:
        Lower and upper ends.

    Raises:
        UsageError: counts that cannot be, or a confidence outside (0, 1).

    Example:
        >>> low, high = wilson_interval(6, 26)
        >>> round(float(low), 2), round(float(high), 2)
        (0.11, 0.42)
    """
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}", help="give a number between 0 and 1")
    some, all_ = _counts(successes, trials)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    count = np.maximum(all_, 1)
    share = some / count
    scale = 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    half = z / scale * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    # The ends of a share of 0 or 1 are exactly these; rounding would put them beside.
    low = np.where(some == 0, 0.0, np.minimum(middle - half, share))
    high = np.where(some == all_, 1.0, np.maximum(middle + half, share))
    return np.asarray(low), np.asarray(high)


def binomial_tail(successes: ArrayLike, trials: ArrayLike, rate: float) -> Floats:
    """P(X ≥ successes) for X ~ Binomial(trials, rate): the exact one-sided test.

    Args:
        successes: how often it happened.
        trials: out of how many.
        rate: the probability under the null hypothesis, between 0 and 1.

    Raises:
        UsageError: counts that cannot be, or a rate outside [0, 1].

    Example:
        >>> float(binomial_tail(2, 2, 0.5)), float(binomial_tail(0, 7, 0.1))
        (0.25, 1.0)
    """
    if not 0 <= rate <= 1:
        raise UsageError(f"the rate is {rate}", help="a probability lies between 0 and 1")
    some, all_ = np.broadcast_arrays(*_counts(successes, trials))
    pairs = np.stack([some.ravel(), all_.ravel()], axis=1)
    distinct, places = np.unique(pairs, axis=0, return_inverse=True)
    tails = [_tail(int(least), int(count), rate) for least, count in distinct.tolist()]
    return np.array(tails, np.float64)[places.ravel()].reshape(some.shape)


def _tail(least: int, count: int, rate: float) -> float:
    """One tail, summed from its largest term, so that small ones keep their digits."""
    if least <= 0 or rate == 1:
        return 1.0
    if rate == 0:
        return 0.0
    if least <= count * rate:  # the other side is the smaller one
        return max(0.0, 1 - _sum(least - 1, count, rate, step=-1))
    return min(1.0, _sum(least, count, rate, step=1))


def _sum(start: int, count: int, rate: float, *, step: int) -> float:
    """The probabilities of start, start + step, … down to 0 or up to count; they fall."""
    chosen = lgamma(count + 1) - lgamma(start + 1) - lgamma(count - start + 1)
    term = exp(chosen + start * log(rate) + (count - start) * log1p(-rate))
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


def q_values(
    p_values: ArrayLike, *, tests: int | None = None, dependence: Dependence = "positive"
) -> Floats:
    """The false-discovery rate at which each test would just be called a discovery.

    Args:
        p_values: one a test.
        tests: how many tests there were, where only the smallest p-values are given; those left
            out count as never discovered.
        dependence: ``positive`` (Benjamini and Hochberg 1995; valid for independent tests and
            for those that rise together), or ``any`` (Benjamini and Yekutieli 2001), which costs
            a factor of about the logarithm of the number of tests.

    Raises:
        UsageError: p-values outside [0, 1], fewer tests than p-values, an unknown dependence.

    Example:
        >>> q_values([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.04, 0.04]
    """
    found = np.asarray(p_values, np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise UsageError("a p-value is outside [0, 1]", help="give probabilities")
    count = found.size if tests is None else tests
    if count < found.size:
        raise UsageError(
            f"there are {found.size} p-values of {count} tests",
            help="tests is the number of all tests, at least that of the p-values",
        )
    if dependence not in ("positive", "any"):
        raise UsageError(f"there is no dependence {dependence!r}", help="choose positive or any")
    if not found.size:
        return found
    factor = float(count)
    if dependence == "any":
        factor *= float((1 / np.arange(1, count + 1)).sum())
    order = np.argsort(found.ravel(), kind="stable")[::-1]
    ranks = np.arange(found.size, 0, -1)
    scaled = np.minimum.accumulate(found.ravel()[order] * (factor / ranks))
    adjusted = np.empty(found.size)
    adjusted[order] = np.minimum(scaled, 1.0)
    return adjusted.reshape(found.shape)


def _counts(successes: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    some, all_ = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    if (some < 0).any() or (some > all_).any():
        raise UsageError(
            "there are counts below 0, or more successes than trials",
            help="give how often it happened, and out of how many",
        )
    return some, all_
