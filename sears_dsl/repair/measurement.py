"""Error before and after, over several seeds, with intervals.

In: for each seed and each item (a held-out row, or a rewrite of one), whether a model is wrong and
whether the item counts. Out: `Estimate`s and `ErrorChange`s. An error is the number of wrong items
over the number of counted ones, over all seeds. The same outcomes give the same numbers.

Two things vary: the sample of rows, and the training. The interval of an error is Wilson's, with as
many trials as distinct rows count, since rewrites of one row are not independent. The interval over
seeds is Student's t for the mean of the errors of single seeds. The interval of a change resamples
rows and seeds together, 2,000 times (Owen 2007, "The pigeonhole bootstrap"): before and after are
compared on the same rows and seeds, and a row takes all of its rewrites along. If all samples agree
(no row changed, or no error is left), that shows a want of rows, not certainty. The interval is
then Bonett and Price's for paired shares, or Wilson's of the error that is left. If fewer than ten
rows changed, resampling knows little of what other rows would do, and the interval is widened to
hold Bonett and Price's as well, and the interval of the relative change reaches as far, as it does
if it excludes 0 and that of the difference does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import Comparison, is_right
from sears_dsl.errors import UsageError
from sears_dsl.statistics import mean_interval, paired_difference_interval, wilson_interval

Interval = tuple[float, float]

_SAMPLES = 2_000
_AT_ONCE = 100
#: Fewer rows than these know little of what other rows would do.
FEW_ROWS = 10


def differ(
    answers: Sequence[str], labels: Sequence[Sequence[str]], comparison: Comparison
) -> list[bool]:
    """Whether each answer is none of the labels that would be right."""
    return [
        not is_right(answer, right, comparison=comparison)
        for answer, right in zip(answers, labels, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Which items the models of one kind have wrong, and which items count."""

    wrong: NDArray[np.bool_]  # (seeds, items): the model of that seed is wrong about the item
    counted: NDArray[np.bool_]  # (seeds, items): the item counts
    rows: NDArray[np.integer]  # (items,): the held-out row that each item is, or is a rewrite of

    @cached_property
    def sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Wrong and counted items by seed and row: two of float64 (seeds, rows)."""
        shape = (len(self.wrong), int(self.rows.max(initial=-1)) + 1)
        wrong, counted = np.zeros(shape), np.zeros(shape)
        for seed, (is_wrong, counts) in enumerate(zip(self.wrong, self.counted, strict=True)):
            np.add.at(wrong[seed], self.rows[is_wrong & counts], 1)
            np.add.at(counted[seed], self.rows[counts], 1)
        return wrong, counted


@dataclass(frozen=True, slots=True)
class Estimate:
    """An error, wrong over counted items, over all seeds and of each; None if nothing counts.

    It has 95% intervals for another sample of rows and for the mean over other seeds, the latter
    None for fewer than two. `wrong` and `counted` items, and distinct counted `rows`, are means
    over seeds.
    """

    error: float | None
    interval: Interval
    over_seeds: Interval | None
    of_seeds: tuple[float | None, ...]
    wrong: float
    counted: float
    rows: float


@dataclass(frozen=True, slots=True)
class ErrorChange:
    """The change of an error: after minus before, and the share by which it fell.

    Both have 95% intervals. They are None if nothing counts; `fall` also if there was no error.
    """

    difference: float | None
    interval: Interval | None
    fall: float | None
    fall_interval: Interval | None


def estimate(outcomes: Outcomes) -> Estimate:
    """The error with its intervals."""
    wrong, counted = outcomes.sums
    seeds = len(wrong)
    rows = float((counted > 0).sum() / seeds)
    error = _share(wrong.sum(), counted.sum())
    of_seeds = tuple(map(_share, wrong.sum(axis=1), counted.sum(axis=1)))
    known = [each for each in of_seeds if each is not None]
    low, high = wilson_interval((error or 0.0) * rows, rows)
    ends = mean_interval(known) if len(known) > 1 else None
    return Estimate(
        error=error,
        interval=(float(low), float(high)),
        over_seeds=(max(0.0, ends[0]), min(1.0, ends[1])) if ends else None,
        of_seeds=of_seeds,
        wrong=float(wrong.sum() / seeds),
        counted=float(counted.sum() / seeds),
        rows=rows,
    )


def change(before: Outcomes, after: Outcomes) -> ErrorChange:
    """How the error changed between two kinds of models, for the same seeds and items."""
    if before.wrong.shape != after.wrong.shape or (before.rows != after.rows).any():
        raise UsageError(
            "before and after are outcomes of different seeds or items",
            help="give outcomes of the same items, in the same order",
        )
    error, left = (_share(*(each.sum() for each in one.sums)) for one in (before, after))
    if error is None or left is None:
        return ErrorChange(None, None, None, None)
    totals = _resampled((*before.sums, *after.sums), np.random.default_rng(0))
    # The shares are NaN where nothing counts.
    with np.errstate(divide="ignore", invalid="ignore"):
        was, now = totals[0] / totals[1], totals[2] / totals[3]
        falls = 1 - now / was
    rows = min(estimate(before).rows, estimate(after).rows)
    interval = drawn = _middle(now - was)
    if _is_point(interval):
        interval = _paired(left - error, rows)
    elif interval is not None:
        interval = _widened(interval, *_moved(before, after), rows)
    fall_interval = _middle(falls[np.isfinite(falls)]) if error else None
    if _is_point(fall_interval):
        low, high = (float(end) for end in wilson_interval(left * rows, rows))
        fall_interval = (1 - high / error, 1 - low / error)
    if error and fall_interval is not None and interval is not None:
        # A fall that excludes 0 beside a difference that does not would claim too much.
        claims = _holds_zero(interval) and not _holds_zero(fall_interval)
        if claims or interval != drawn:
            fall_interval = (
                min(fall_interval[0], -interval[1] / error),
                max(fall_interval[1], min(1.0, -interval[0] / error)),
            )
    return ErrorChange(
        difference=left - error,
        interval=interval,
        fall=1 - left / error if error else None,
        fall_interval=fall_interval,
    )


def _is_point(interval: Interval | None) -> bool:
    return interval is not None and isclose(*interval, abs_tol=1e-9)


def _holds_zero(interval: Interval) -> bool:
    return interval[0] <= 0 <= interval[1]


def _moved(before: Outcomes, after: Outcomes) -> tuple[float, float]:
    """How many rows got better, and how many worse; each counts by its share of items and seeds."""
    rates = []
    for outcomes in (before, after):
        wrong, counted = (each.sum(axis=0) for each in outcomes.sums)
        rates.append(np.divide(wrong, counted, out=np.full_like(wrong, np.nan), where=counted > 0))
    shift = np.nan_to_num(rates[1] - rates[0])
    return float(np.maximum(-shift, 0).sum()), float(np.maximum(shift, 0).sum())


def _widened(interval: Interval, better: float, worse: float, rows: float) -> Interval:
    """The interval, which takes in Bonett and Price's as well if few rows changed."""
    if better + worse >= FEW_ROWS:
        return interval
    # Where seeds count different rows, more of them may change than one seed counts.
    low, high = paired_difference_interval(better, worse, max(rows, better + worse))
    return min(interval[0], float(low)), max(interval[1], float(high))


def _paired(difference: float, rows: float) -> Interval:
    """The interval of a difference that is the same for all rows."""
    less, more = max(0.0, -difference) * rows, max(0.0, difference) * rows
    low, high = paired_difference_interval(less, more, rows)
    return float(low), float(high)


def _resampled(
    sums: tuple[NDArray[np.float64], ...], random: np.random.Generator
) -> list[NDArray[np.float64]]:
    """The total of each of the sums for resampled rows and seeds: each float64 (samples,)."""
    seeds, rows = sums[0].shape
    totals: list[list[NDArray[np.float64]]] = [[] for _ in sums]
    for _ in range(0, _SAMPLES, _AT_ONCE):
        of_rows = random.multinomial(rows, np.full(rows, 1 / rows), size=_AT_ONCE)
        of_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), size=_AT_ONCE)
        for place, each in enumerate(sums):
            totals[place].append(((of_rows @ each.T) * of_seeds).sum(axis=1))
    return [np.concatenate(each) for each in totals]


def _middle(values: NDArray[np.float64]) -> Interval | None:
    """The middle 95% of the values that are known."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
