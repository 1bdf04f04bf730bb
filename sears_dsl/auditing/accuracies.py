"""How far the accuracy of a model falls on rewrites of its rows, and what a constant answer scores.

In: which rows the model has right, and for each rewrite its row and whether the answer to it is
what the rule expects. Out: p, p′, their difference with an interval, the smallest tolerance, and
how many rows are robust at which tolerance. A row counts once, however many rewrites it has. Rates
are computed as fractions and rounded at the end, so that a gap of 15% holds at a tolerance of 15%.
The rate of nothing is None. Costs a few array operations and a bootstrap over kinds of rows.

After E. La Malfa and M. Kwiatkowska, "The King is Naked: on the Notion of Robustness for Natural
Language Processing" (AAAI 2022), definitions 5 and 6. A model with accuracy p on the rows is
τ-robust to a rule if its accuracy p′ on the rule's rewrites of them is at least p - τ, and bounded
invariant if p′ is also at most p + τ: robust is what does not get worse, invariant what does not
change. Locally this is about the rewrites of one row, globally about those of every row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from sears_dsl.auditing.gates import JudgeBy
from sears_dsl.runtime.array_types import Int64Array
from sears_dsl.statistics import Share, difference_interval, share_of

_DRAWS = 5_000
# How many numbers the bootstrap holds at once.
_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticRobustness:
    """How a model fares on rows and on their rewrites."""

    rows: int  # rows that have a rewrite
    rewrites: int  # all rewrites of them
    # p, the accuracy on these rows; None if there are none, as for all rates here.
    before: float | None
    after: float | None  # p′, the mean over rows of the mean over their rewrites
    pooled: float | None  # the share of all rewrites with the expected answer
    gap: float | None  # p′ - p
    # Lower end of its 95% interval (paired bootstrap over rows); -1 if there are no rows.
    low: float
    high: float  # upper end; 1 if there are no rows
    # The smallest tolerance at which the model is robust: p - p′, at least 0.
    smallest_tau: float | None
    # (tolerance, rows that are locally robust at it), ascending, where that number grows.
    curve: tuple[tuple[float, int], ...]

    def local(self, tolerance: float) -> Share:
        """Local robustness: the rows on whose rewrites the accuracy is at least p - τ."""
        reached = [count for tau, count in self.curve if tau <= tolerance]
        return share_of(reached[-1] if reached else 0, self.rows)

    @property
    def smallest_tau_everywhere(self) -> float | None:
        """The smallest tolerance at which every row is locally robust: global robustness."""
        return self.curve[-1][0] if self.curve else None


def semantic_robustness(
    right: ArrayLike, rows: ArrayLike, correct: ArrayLike, *, seed: int = 0
) -> SemanticRobustness:
    """How far accuracy falls from some rows to their rewrites (La Malfa and Kwiatkowska, Def. 5).

    Args:
        right: bool (rows of the data,): whether the model has each right.
        rows: int (rewrites,): the row of each rewrite.
        correct: bool (rewrites,): whether the answer to it is as expected.

    Example:
        >>> result = semantic_robustness([True, True, False], [0, 0, 1], [True, False, True])
        >>> result.rows, result.before, result.after, result.gap, result.smallest_tau
        (2, 1.0, 0.75, -0.25, 0.25)
    """
    before = np.asarray(right, np.bool_).ravel()
    good, count = _of_rows(len(before), rows, correct)
    numbers = np.stack([before, good, count], axis=1)[count > 0]
    kinds, times = np.unique(numbers, axis=0, return_counts=True)
    total = int(times.sum())
    if not total:
        return SemanticRobustness(
            rows=0, rewrites=0, before=None, after=None, pooled=None, gap=None, low=-1.0, high=1.0,
            smallest_tau=None, curve=(),
        )  # fmt: skip
    listed = [(int(b), Fraction(int(m), int(n)), int(k))
              for (b, m, n), k in zip(kinds.tolist(), times.tolist(), strict=True)]  # fmt: skip
    p = Fraction(sum(b * k for b, _, k in listed), total)
    after = sum((q * k for _, q, k in listed), Fraction(0)) / total
    interval = gap_interval([float(q - b) for b, q, _ in listed], times, seed=seed)
    rewrites = int(count.sum())
    return _measured(
        p, after, interval, [(q, k) for _, q, k in listed],
        rewrites=rewrites, pooled=int(good.sum()) / rewrites,
    )  # fmt: skip


def sentence_robustness(
    right: ArrayLike, before: tuple[int, int] | None = None
) -> SemanticRobustness:
    """How far accuracy falls from rows of data to sentences that have a phenomenon.

    As in the paper, p is the accuracy on a test set and p′ that on other sentences. The sentences
    are not made from the rows, so nothing is paired, and the interval of the gap is Newcombe's.

    Args:
        right: bool (sentences,): whether the model has each right.
        before: how many rows of data the model has right, and how many there are; None for a
            perfect model (p = 1), so that a tolerance says which accuracy is asked for.

    Example:
        >>> result = sentence_robustness([True, True, False, False], (9, 10))
        >>> result.before, result.after, result.gap, result.smallest_tau
        (0.9, 0.5, -0.4, 0.4)
        >>> sentence_robustness([True, False]).gap
        -0.5
    """
    flags = np.asarray(right, np.bool_).ravel()
    count, total = int(flags.sum()), len(flags)
    right_rows, rows = (1, 1) if before is None else before
    if not total or not rows:
        return semantic_robustness([], [], [])
    p, after = Fraction(right_rows, rows), Fraction(count, total)
    if before is None:
        share = share_of(count, total)
        low, high = share.low - 1, share.high - 1
    else:
        low, high = map(float, difference_interval(right_rows, rows, count, total))
    rows_of = [(q, k) for q, k in ((Fraction(1), count), (Fraction(0), total - count)) if k]
    return _measured(p, after, (low, high), rows_of, rewrites=total, pooled=float(after))


def _measured(
    p: Fraction,
    after: Fraction,
    interval: tuple[float, float],
    rows: Sequence[tuple[Fraction, int]],
    *,
    rewrites: int,
    pooled: float,
) -> SemanticRobustness:
    """The result from p, p′ and pairs in `rows`: an accuracy, and how many rows have it."""
    # Each tolerance that rows need, and how many rows need it.
    needed: Counter[Fraction] = Counter()
    for accuracy, times in rows:
        needed[max(Fraction(0), p - accuracy)] += times
    taus = sorted(needed)
    return SemanticRobustness(
        rows=needed.total(),
        rewrites=rewrites,
        before=float(p),
        after=float(after),
        pooled=pooled,
        gap=float(after - p),
        low=interval[0],
        high=interval[1],
        smallest_tau=float(max(Fraction(0), p - after)),
        curve=tuple(zip(map(float, taus), accumulate(needed[tau] for tau in taus), strict=True)),
    )


def _of_rows(total: int, rows: ArrayLike, correct: ArrayLike) -> tuple[Int64Array, Int64Array]:
    """For each row, how many of its rewrites are answered as expected, and how many it has."""
    places, good = np.asarray(rows, np.int64).ravel(), np.asarray(correct, np.bool_).ravel()
    return np.bincount(places[good], minlength=total), np.bincount(places, minlength=total)


def gap_interval(differences: ArrayLike, times: ArrayLike, *, seed: int = 0) -> tuple[float, float]:
    """A 95% interval for the mean difference of rows, by a bootstrap that draws whole rows.

    Drawing whole rows keeps before and after paired. Two rows are added, one that changes by -1 and
    one by 1, as `paired_difference_interval` does (Bonett and Price 2012). Otherwise twenty rows
    without a failure would prove that there are none. To draw how often each kind of row comes is
    the same as drawing rows, only faster.

    Args:
        differences: after minus before for each kind of row, in [-1, 1].
        times: how many rows there are of each kind.

    Returns:
        Lower and upper end, in [-1, 1]; (-1, 1) if there is no row.

    Example:
        >>> low, high = gap_interval([-1.0, 0.0], [30, 170])
        >>> round(low, 2), round(high, 2)
        (-0.2, -0.1)
    """
    values = np.asarray(differences, np.float64).ravel()
    counts = np.asarray(times, np.float64).ravel()
    if not counts.sum():
        return -1.0, 1.0
    values = np.concatenate([values, [-1.0, 1.0]])
    counts = np.concatenate([counts, [1.0, 1.0]])
    values, place = np.unique(values, return_inverse=True)
    mass = np.asarray(np.bincount(place, weights=counts), np.float64)
    size = round(float(mass.sum()))
    generator = np.random.default_rng(seed % 2**64)
    block = max(1, _AT_ONCE // len(values))
    means = np.concatenate(
        [
            generator.multinomial(size, mass / mass.sum(), min(block, _DRAWS - start)) @ values
            for start in range(0, _DRAWS, block)
        ]
    )
    low, high = np.quantile(means / size, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    return float(low), float(high)


def is_robust(
    accuracies: SemanticRobustness, tolerance: float, *, judge_by: JudgeBy = "rate"
) -> bool:
    """Whether p′ ≥ p - τ (Def. 5); `False` if there is no row.

    Args:
        judge_by: what decides. ``rate``: the observed gap. ``evidence``: it holds unless the whole
            interval of the gap lies below -τ. ``proof``: it holds only if no part of the interval
            lies below -τ.

    Example:
        >>> measured = semantic_robustness([True] * 20, range(20), [True] * 18 + [False] * 2)
        >>> is_robust(measured, 0.1), is_robust(measured, 0.09)
        (True, False)
        >>> is_robust(measured, 0.1, judge_by="proof")
        False
    """
    if accuracies.gap is None:
        return False
    below = {"rate": accuracies.gap, "evidence": accuracies.high, "proof": accuracies.low}[judge_by]
    return below >= -tolerance


def is_invariant(
    accuracies: SemanticRobustness, tolerance: float, *, judge_by: JudgeBy = "rate"
) -> bool:
    """Whether p - τ ≤ p′ ≤ p + τ: bounded invariance; `False` if there is no row.

    Example:
        >>> better = semantic_robustness([False] * 20, range(20), [True] * 20)
        >>> is_robust(better, 0.1), is_invariant(better, 0.1)
        (True, False)
    """
    if accuracies.gap is None:
        return False
    above = {"rate": accuracies.gap, "evidence": accuracies.low, "proof": accuracies.high}[judge_by]
    return is_robust(accuracies, tolerance, judge_by=judge_by) and above <= tolerance


def chance_corrected(rate: float | None, labels: int | None) -> float | None:
    """Accuracy with 0 for a guess and 1 for perfection, as definition 5 wants p; may be negative.

    Args:
        labels: how many labels there are; None if answers are free, so that nobody can guess.

    Returns:
        (rate - 1/labels) / (1 - 1/labels); None without a rate or with fewer than two labels.

    Example:
        >>> chance_corrected(0.75, 2), chance_corrected(0.5, 2), chance_corrected(0.9, None)
        (0.5, 0.0, None)
    """
    if rate is None or labels is None or labels < 2:
        return None
    return (rate * labels - 1) / (labels - 1)


def mean_of_groups(correct: ArrayLike, group: ArrayLike) -> float | None:
    """The mean of the accuracies on groups of rows, each of which counts the same.

    The sentences of a template are often right or wrong together, and one template may have half of
    all sentences. The mean over templates then says more than the accuracy on all sentences.

    Args:
        correct: bool (rows,): whether the model is right.
        group: int (rows,): the group of each, from 0.

    Example:
        >>> mean_of_groups([True, True, True, False], [0, 0, 0, 1])
        0.5
    """
    mean = _mean_over(group, correct)
    return None if mean is None else float(mean)


@dataclass(frozen=True, slots=True)
class ConstantAnswer:
    """What a model would score that always gives the same answer."""

    answer: str
    rate: float  # its accuracy, the mean over rows of the mean over their rewrites
    mean: float | None  # the mean over groups of its accuracy on each; None if there is none


def constant_answer(
    correct: Sequence[ArrayLike], answers: Sequence[str], rows: ArrayLike, group: ArrayLike
) -> ConstantAnswer | None:
    """The one answer that would score most if it were always given.

    A model that knows nothing passes a test suite in which all items want the same label.

    Args:
        correct: for each answer, bool (rewrites,): whether it would be right there.
        answers: the answers; of several that score the same the first one counts.
        rows: int (rewrites,): the row of each rewrite, from 0.
        group: int (rewrites,): the group of each, from 0.

    Example:
        >>> labels = np.array([0, 0, 0, 1])
        >>> best = constant_answer([labels == 0, labels == 1], ["bad", "good"], range(4),
        ...                        [0, 0, 0, 1])
        >>> best.answer, best.rate, best.mean
        ('bad', 0.75, 0.5)
    """
    best: tuple[Fraction, str, ArrayLike] | None = None
    for answer, flags in zip(answers, correct, strict=True):
        rate = _mean_over(rows, flags)
        if rate is not None and (best is None or rate > best[0]):
            best = (rate, answer, flags)
    if best is None:
        return None
    rate, answer, flags = best
    return ConstantAnswer(answer, float(rate), mean_of_groups(flags, group))


def _mean_over(rows: ArrayLike, correct: ArrayLike) -> Fraction | None:
    """The mean over rows, or groups, of the share that is right; None if there are none."""
    places = np.asarray(rows, np.int64).ravel()
    good, count = _of_rows(int(places.max(initial=-1)) + 1, places, correct)
    if not len(places):
        return None
    kinds, times = np.unique(np.stack([good, count], axis=1)[count > 0], axis=0, return_counts=True)
    parts = zip(kinds.tolist(), times.tolist(), strict=True)
    total = sum((Fraction(m, n) * k for (m, n), k in parts), Fraction(0))
    return total / int(times.sum())
