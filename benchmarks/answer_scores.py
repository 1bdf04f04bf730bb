"""How well readers answer questions of SQuAD: exact match, F1, and intervals over paragraphs.

In: `Asked` rows and the answers to them. Out: a figure for each row; their mean in per cent with
its 95% interval. Questions about one paragraph are not independent of each other, so paragraphs are
drawn, not questions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.noisy_squad import Asked
from benchmarks.small_reader import answer_f1
from sears_dsl.answers import answers_equal

__all__ = [
    "RESAMPLED",
    "Floats",
    "cell",
    "exact_matches",
    "f1_scores",
    "over_paragraphs",
    "paragraphs",
]

Floats = NDArray[np.float64]
RESAMPLED = 2000
"""Draws of a bootstrap."""


def paragraphs(rows: Sequence[Asked]) -> NDArray[np.int64]:
    """The number of each row's paragraph."""
    return np.array([row.paragraph for row in rows])


def exact_matches(rows: Sequence[Asked], answers: Sequence[str]) -> Floats:
    """1 where an answer is one of the right ones, else 0."""
    return np.array(
        [
            answers_equal(answer, row.question.answers, comparison="squad")
            for answer, row in zip(answers, rows, strict=True)
        ],
        np.float64,
    )


def f1_scores(rows: Sequence[Asked], answers: Sequence[str]) -> Floats:
    """The F1 of each answer with the right one that is most like it."""
    pairs = zip(answers, rows, strict=True)
    return np.array([answer_f1(answer, row.question.answers) for answer, row in pairs])


def over_paragraphs(values: Floats, rows: Sequence[Asked]) -> tuple[float, float, float]:
    """The mean in per cent and its 95% interval, by a bootstrap over paragraphs; skips NaN."""
    known = ~np.isnan(values)
    of_rows = paragraphs(rows)[known]
    _, places = np.unique(of_rows, return_inverse=True)
    sums, counts = np.bincount(places, values[known]), np.bincount(places)
    if not len(sums):
        return (float("nan"),) * 3
    drawn = np.random.default_rng(0).integers(0, len(sums), (RESAMPLED, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return 100 * float(values[known].mean()), 100 * float(low), 100 * float(high)


def cell(values: Floats, rows: Sequence[Asked], *, signed: bool = False) -> str:
    """The mean and its interval, as tables show them."""
    mean, low, high = over_paragraphs(values, rows)
    sign = "+" if signed else ""
    return f"{mean:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
