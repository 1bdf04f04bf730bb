"""How far reviewers agree, beyond what chance would give: Cohen's, Fleiss' and a κ of choices.

In: the categories that reviewers gave to the same items. Out: `Kappa`. Always holds: κ is 1 where
all agree on items of more than one category, and is None where chance alone would give full
agreement (there is one category) or there are no items; it is never made up.

Sources: Cohen, "A Coefficient of Agreement for Nominal Scales", 1960; Fleiss, "Measuring Nominal
Scale Agreement Among Many Raters", 1971; the interval of Cohen's κ: Fleiss, Cohen, Everitt, "Large
Sample Standard Errors of Kappa and Weighted Kappa", 1969; chance that is known and not estimated:
Brennan, Prediger, "Coefficient Kappa: Some Uses, Misuses, and Alternatives", 1981.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.statistics import wilson_interval

_Z = NormalDist().inv_cdf(0.975)
_NO_ERROR = 1e-7


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement of reviewers.

    Attributes:
        items: that all of them judged.
        observed: the share of agreement (of pairs of reviewers); None without items.
        value: κ; None where it is not defined.
        interval: 95%: of Cohen's κ by its large-sample error, of two reviewers' choices by
            Wilson's of the observed share; None for more reviewers, where κ is not defined, and
            where the large-sample error comes out as 0 (all agree, or one reviewer gave one
            category only): that is no certainty, it says nothing.
    """

    items: int
    observed: float | None
    value: float | None
    interval: tuple[float, float] | None = None


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> Kappa:
    """Agreement of two reviewers on the same items.

    Args:
        first: the categories that one gave.
        second: those of the other, of the same items in the same order.

    Raises:
        UsageError: they judged different numbers of items.

    Example:
        >>> kappa = cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
        >>> kappa.observed, kappa.value
        (0.75, 0.5)
    """
    if len(first) != len(second):
        raise UsageError(
            f"one reviewer judged {len(first)} items and the other {len(second)}",
            help="give what both judged, in the same order",
        )
    count = len(first)
    if not count:
        return Kappa(0, None, None)
    names = sorted({*first, *second})
    places = {name: place for place, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for one, other in zip(first, second, strict=True):
        table[places[one], places[other]] += 1
    shares = table / count
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float(np.trace(shares)), float(rows @ columns)
    if len(names) == 1:
        return Kappa(count, observed, None)
    value = (observed - expected) / (1 - expected)
    error = _cohen_error(shares, kappa=value, count=count)
    if error < _NO_ERROR:
        return Kappa(count, observed, value)
    return Kappa(
        count, observed, value, (max(-1.0, value - _Z * error), min(1.0, value + _Z * error))
    )


def _cohen_error(shares: NDArray[np.float64], *, kappa: float, count: int) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ columns)
    diagonal = np.diag(shares)
    agreed = float((diagonal * (1 - (rows + columns) * (1 - kappa)) ** 2).sum())
    across = shares * (columns[:, None] + rows[None, :]) ** 2
    apart = (1 - kappa) ** 2 * float(across.sum() - np.trace(across))
    chance = (kappa - expected * (1 - kappa)) ** 2
    return sqrt(max(0.0, agreed + apart - chance) / count) / (1 - expected)


def fleiss_kappa(ratings: Sequence[Sequence[str]]) -> Kappa:
    """Agreement of any number of reviewers.

    Args:
        ratings: for each item the categories that the reviewers gave it; as many for each.

    Raises:
        UsageError: items with different numbers of ratings, or with fewer than two.

    Example:
        >>> kappa = fleiss_kappa([["yes", "yes", "yes"], ["no", "no", "yes"], ["no", "no", "no"]])
        >>> round(kappa.value, 3)
        0.55
    """
    if not ratings:
        return Kappa(0, None, None)
    raters = len(ratings[0])
    if raters < 2 or any(len(of_item) != raters for of_item in ratings):
        raise UsageError(
            "the items have different numbers of ratings, or fewer than two",
            help="give items that all reviewers judged",
        )
    names = sorted({category for of_item in ratings for category in of_item})
    counts = np.array([[list(of_item).count(name) for name in names] for of_item in ratings])
    shares = counts.sum(axis=0) / counts.sum()
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    observed, expected = float(agreeing.mean()), float((shares**2).sum())
    value = None if len(names) == 1 else (observed - expected) / (1 - expected)
    return Kappa(len(ratings), observed, value)


def choice_kappa(choices: Sequence[Sequence[str]], options: Sequence[int]) -> Kappa:
    """Agreement of reviewers who choose among options that are others for each item.

    Categories that stand for an item alone have no shares from which chance could be estimated:
    two who choose blindly agree on an item of n options with probability 1/n, and that is what
    counts as chance here.

    Args:
        choices: for each item what each reviewer chose; as many for each.
        options: for each item how many options there were, "none of these" included.

    Raises:
        UsageError: items with different numbers of choices or fewer than two, or as many options.

    Example:
        >>> kappa = choice_kappa([["a film", "a film"], ["", "a show"]], [4, 4])
        >>> kappa.observed, round(kappa.value, 3)
        (0.5, 0.333)
    """
    if len(choices) != len(options):
        raise UsageError(
            f"there are {len(choices)} items and {len(options)} numbers of options",
            help="give both for the same items in the same order",
        )
    if not choices:
        return Kappa(0, None, None)
    raters = len(choices[0])
    if raters < 2 or any(len(of_item) != raters for of_item in choices) or min(options) < 2:
        raise UsageError(
            "the items have different numbers of choices, or fewer than two choices or options",
            help="give items that all reviewers judged, with two options at least",
        )
    agreeing = [
        sum(of_item.count(one) - 1 for one in of_item) / (raters * (raters - 1))
        for of_item in map(list, choices)
    ]
    observed = sum(agreeing) / len(agreeing)
    chance = sum(1 / count for count in options) / len(options)

    def kappa(share: float) -> float:
        return (share - chance) / (1 - chance)

    interval = None
    if raters == 2:
        low, high = wilson_interval(sum(agreeing), len(agreeing))
        interval = (kappa(float(low)), kappa(float(high)))
    return Kappa(len(choices), observed, kappa(observed), interval)
