"""How well the features of an answer tell that it is wrong, and which of them do.

In: `LearningRows`, a seed. Out: `Learned`: the micro F1 of gradient boosting in ten folds, that of
the majority class in the same folds, and what each feature is worth. Always holds: the folds are
scikit-learn's KFold, shuffled with the seed, over the rows of the data, so that the answers to one
row are never learned from and judged at once; a feature is worth what micro F1 loses where its
values are shuffled among the judged answers; the same seed gives the same numbers on any number of
cores, since one thread learns. Costs ten times up to a hundred small trees: some seconds for ten
thousand answers.

For two classes of which each answer has one, micro F1 is the share of answers told rightly.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 6, which takes XGBoost; the boosting here is scikit-learn's over histograms.
Intervals over folds: Nadeau and Bengio, 'Inference for the Generalization Error' (2003).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.auditing.failures.instances import Feature, LearningRows
from sears_dsl.errors import UsageError
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.extras import need_learning
from sears_dsl.statistics import mean_interval

FOLDS = 10
#: With fewer answers, or fewer wrong or right ones, there is nothing to learn.
LEAST_INSTANCES = 100
LEAST_OF_A_CLASS = FOLDS
_SHUFFLES = 5
_TREES = 100
# Deeper trees do no better on the stored answers of two readers and cost twice the time; without
# stopping early they fall behind the majority class where there is nothing to learn
# (`python -m benchmarks.readers --learners`).
_DEPTH = 3
# scikit-learn's histograms tell so many categories apart.
_MOST_CATEGORIES = 254


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What came of the folds.

    Attributes:
        majority: whether most answers are wrong.
        majority_f1: float64 (folds,): micro F1 of always saying what most learned answers are.
        f1: float64 (folds,): micro F1 of gradient boosting.
        importances: float64 (features, folds): what is lost by shuffling a feature.
    """

    majority: bool
    majority_f1: Floats
    f1: Floats
    importances: Floats


def learn(answers: LearningRows, *, seed: int = 0) -> Learned:
    """Tell wrong from right answers by their features.

    Raises:
        UsageError: too few answers, only one kind of them, no feature, or no scikit-learn.
    """
    _check(answers)
    need_learning()
    from threadpoolctl import (  # type: ignore[import-untyped]  # noqa: PLC0415 - comes with scikit-learn
        threadpool_limits,
    )

    table = np.column_stack([numbers_of(each) for each in answers.features])
    categories = [each.kind == "category" for each in answers.features]
    majority_f1, f1, importances = [], [], []
    trees = _boosting(categories, seed)
    # Trees this small wait for each other's threads longer than they grow where the cores have
    # other work, and sums over threads are rounded as these happen to share the rows.
    with threadpool_limits(limits=1, user_api="openmp"):
        for number, (learned, judged) in enumerate(_folds(answers.rows, seed)):
            trees.fit(table[learned], answers.wrong[learned])
            truth = answers.wrong[judged]
            majority_f1.append(
                float((truth == (2 * answers.wrong[learned].sum() > len(learned))).mean())
            )
            score = float((trees.predict(table[judged]) == truth).mean())
            f1.append(score)
            draw = np.random.default_rng([seed % 2**64, number])
            importances.append(
                [
                    score - _shuffled_score(trees, table[judged], truth, column, draw)
                    for column in range(table.shape[1])
                ]
            )
    return Learned(
        majority=bool(2 * answers.wrong.sum() > len(answers.wrong)),
        majority_f1=np.array(majority_f1),
        f1=np.array(f1),
        importances=np.array(importances).T,
    )


def fold_interval(values: Sequence[float] | Floats) -> tuple[float, float]:
    """The 95% interval of a mean over folds, which share most of what they learn from.

    Student's, with the variance of Nadeau and Bengio: (1/k + 1/(k - 1)) instead of 1/k.

    Example:
        >>> low, high = fold_interval([0.7, 0.72, 0.71])
        >>> round(low, 3), round(high, 3)
        (0.671, 0.749)
    """
    low, high = mean_interval(values)
    middle, folds = (low + high) / 2, len(values)
    half = (high - middle) * (1 + folds / (folds - 1)) ** 0.5
    return middle - half, middle + half


def _check(answers: LearningRows) -> None:
    total, wrong = len(answers.wrong), int(answers.wrong.sum())
    if total < LEAST_INSTANCES:
        raise UsageError(
            f"{total} answers are too few to learn from: {LEAST_INSTANCES} are needed",
            help="audit more rows or rules",
        )
    for count, name in ((wrong, "wrong"), (total - wrong, "right")):
        if count < LEAST_OF_A_CLASS:
            subject = "answer is" if count == 1 else "answers are"
            raise UsageError(
                f"only {count} of {total:,} {subject} {name}: nothing can be learned of them",
                help=f"audit rows of which the model has at least {LEAST_OF_A_CLASS} {name}",
            )
    rows = len(np.unique(answers.rows))
    if rows < FOLDS:
        raise UsageError(
            f"the answers are to {rows} rows of the data: {FOLDS} folds need as many",
            help="audit more rows",
        )
    if not answers.features:
        raise UsageError(
            "nothing that is known of the answers differs between them",
            help="name the audited file with --data, so that the texts are known",
        )


def _folds(rows: NDArray[np.int64], seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The instances to learn from and to judge, fold by fold."""
    from sklearn.model_selection import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        KFold,
    )

    distinct, of_instances = np.unique(rows, return_inverse=True)
    splits = KFold(FOLDS, shuffle=True, random_state=seed % 2**32).split(distinct)
    for _, judged in splits:
        inside = np.isin(of_instances, judged)
        yield np.flatnonzero(~inside), np.flatnonzero(inside)


def _boosting(categories: Sequence[bool], seed: int) -> Any:
    from sklearn.ensemble import (  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        HistGradientBoostingClassifier,
    )

    return HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_depth=_DEPTH,
        early_stopping=True,
        categorical_features=list(categories),
        random_state=seed % 2**32,
    )


def _shuffled_score(
    trees: Any, table: Floats, truth: NDArray[np.bool_], column: int, draw: np.random.Generator
) -> float:
    """Micro F1 where the values of a column stand at other answers, the mean of a few shuffles."""
    scores = []
    for _ in range(_SHUFFLES):
        shuffled = table.copy()
        shuffled[:, column] = draw.permutation(table[:, column])
        scores.append(float((trees.predict(shuffled) == truth).mean()))
    return float(np.mean(scores))


def numbers_of(feature: Feature) -> Floats:
    """A column of numbers; names by their place among the most frequent, what is unknown as NaN."""
    if feature.kind == "number":
        return np.array([np.nan if each is None else each for each in feature.values], np.float64)
    counts = Counter(each for each in feature.values if each is not None)
    ordered = sorted(counts, key=lambda each: (-counts[each], str(each)))
    # The rarest share the last place where there are too many.
    places = {each: min(place, _MOST_CATEGORIES) for place, each in enumerate(ordered)}
    return np.array(
        [np.nan if each is None else places[each] for each in feature.values], np.float64
    )
