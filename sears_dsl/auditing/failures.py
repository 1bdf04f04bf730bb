"""What predicts that a model fails: features of its answers, folds, wrong answers by feature.

An instance is an answer to an untouched row or to a row after a rule. It is wrong if the model does
not do as the rule expects. Before anything is learned, hashes confirm that the rows are those of
the audits. Features of texts need the rows, and readability needs textstat; notes say what is left
out. A feature with one value for all is left out. Unknown values are None, never 0.

The folds are scikit-learn's KFold, shuffled with the seed, over the rows of the data, so that no
fold learns from answers to the rows that it judges. The importance of a feature is the micro F1
that is lost if its values are shuffled among the judged answers. As each answer has one of two
classes, micro F1 is the share of correct predictions. One thread learns, so the same seed gives the
same numbers on any number of cores. The document holds no date and no path, and the reports are
made of it alone. Costs ten times up to a hundred small trees: seconds for ten thousand answers.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 6, which takes XGBoost; the boosting here is scikit-learn's over histograms.
Intervals over folds: Nadeau and Bengio, 'Inference for the Generalization Error' (2003).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain, repeat
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.auditing import slices
from sears_dsl.auditing.document import (
    AuditDocument,
    DocumentRecord,
    per_row_numbers,
    require_same_rows,
)
from sears_dsl.auditing.robustness import points
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.discovery.result.manifest import DataIdentity
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.extras import has_textstat, need_learning
from sears_dsl.statistics import Share, mean_interval, share_of

FeatureKind: TypeAlias = Literal["number", "category"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldMean:
    """A number for each fold, with the 95% interval of the mean (Nadeau and Bengio)."""

    mean: float
    deviation: float
    low: float
    high: float
    folds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartErrors:
    """The answers with one value of a feature, or with values in one range."""

    value: str
    wrong: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRecord:
    """A feature, how many answers it is known for, and its importance: micro F1 lost by shuffling.

    Its parts are the wrong answers by its values, at most twelve.
    """

    name: str
    kind: FeatureKind
    known: int
    importance: FoldMean
    parts: tuple[PartErrors, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditName:
    """An audit that was learned from, by a name that distinguishes it from the others."""

    name: str
    model: str
    answers: int
    wrong: Share


class ErrorsDocument(DocumentRecord):
    """Everything about what predicts that a model fails; the most important features come first."""

    format: Literal["sears-errors"] = "sears-errors"
    version: Literal[1] = 1
    audits: tuple[AuditName, ...]
    data: DataIdentity
    with_data: bool
    wrong: Share
    seed: int
    majority: Literal["right", "wrong"]
    majority_f1: FoldMean
    f1: FoldMean
    over_majority: FoldMean
    features: tuple[FeatureRecord, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]

    @property
    def foretold(self) -> bool:
        """Whether errors are predicted better than by the majority class, beyond chance."""
        return self.over_majority.low > 0

    @property
    def conclusion(self) -> str:
        """The result in one sentence."""
        over = self.over_majority
        scores = (
            f"micro F1 {self.f1.mean:.3f}, against {self.majority_f1.mean:.3f} for always saying "
            f"“{self.majority}” ({points(over.mean)} points, 95% {points(over.low)} to "
            f"{points(over.high)})"
        )
        if not self.foretold:
            return f"No feature of an answer predicts whether it is wrong: {scores}."
        telling = [each.name for each in self.features if each.importance.low > 0][:3]
        by = f", best by {', '.join(telling)}" if telling else ""
        return f"Wrong answers can be predicted{by}: {scores}."


#: The value of the feature ``rule`` for rows as they are.
UNTOUCHED = "(untouched)"


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A feature with its value for each answer, None if it is not known."""

    name: str
    kind: FeatureKind
    values: Sequence[slices.SliceValue]


@dataclass(frozen=True, slots=True, eq=False)
class LearningRows:
    """Answers to learn from: which are wrong, their rows in the data, and their features."""

    wrong: NDArray[np.bool_]
    rows: NDArray[np.int64]
    features: tuple[Feature, ...]


class _JudgedAnswer(NamedTuple):
    """An answer to a row of the data as it is, or after one rule."""

    audit: str
    rule: str
    ruleset: str
    row: int
    wrong: bool
    words: float | None
    confidence: float | None


def collect_answers(
    audits: Mapping[str, AuditDocument],
    of_rows: Mapping[str, Sequence[slices.SliceValue]] | None = None,
) -> LearningRows:
    """Lay out the answers of audits of the same rows with their features, and those of the rows.

    ``of_rows`` are values of each row, by their names.
    """
    answers = [each for name, audit in audits.items() for each in _answers(name, audit)]
    features = [
        Feature("audit", "category", [each.audit for each in answers]),
        Feature("rule", "category", [each.rule for each in answers]),
        Feature("ruleset", "category", [each.ruleset for each in answers]),
        Feature("words(answer)", "number", [each.words for each in answers]),
        Feature("confidence", "number", [each.confidence for each in answers]),
    ]
    for name, values in (of_rows or {}).items():
        if len(values) != (total := next(iter(audits.values())).data.rows):
            raise UsageError(
                f"{name} has {len(values):,} values for {total:,} rows",
                help="name the file that was audited",
            )
        of_words = any(isinstance(each, str) for each in values)
        kind: FeatureKind = "category" if of_words else "number"
        feature = name
        while feature in {each.name for each in features}:
            feature = f"column {feature}"
        features.append(Feature(feature, kind, [values[each.row] for each in answers]))
    # A row of the file stands there once for each of the columns that rules may rewrite.
    identity = next(iter(audits.values())).data
    copies = identity.column_sets or 1 + identity.column.count(",")
    return LearningRows(
        wrong=np.array([each.wrong for each in answers], np.bool_),
        rows=np.array([each.row // copies for each in answers], np.int64),
        features=tuple(each for each in features if len(set(each.values)) > 1),
    )


def same_rows(audits: Mapping[str, AuditDocument]) -> None:
    """Raise an error unless all audits are of the same rows."""
    if not audits:
        raise UsageError("no audit is given", help="name folders that `sears audit` wrote")
    (first_name, first), *others = audits.items()
    for name, other in others:
        require_same_rows(first, other, called=f"{first_name} and {name} are audits")


def _answers(name: str, audit: AuditDocument) -> Iterator[_JudgedAnswer]:
    """The answers to untouched rows, if labels say which are right; then those after each rule."""
    if audit.labelled:
        total = audit.data.rows
        words = per_row_numbers(audit.answer_words, total)
        confidences = per_row_numbers(audit.confidences, total)
        for row, answer in enumerate(zip(audit.right_rows, words, confidences, strict=True)):
            yield _JudgedAnswer(name, UNTOUCHED, UNTOUCHED, row, answer[0] == "0", *answer[1:])
    rulesets = chain(*(repeat(each.name, each.rules) for each in audit.rulesets))
    for record, ruleset in zip(audit.rules, rulesets, strict=True):
        numbers = record.row_numbers
        words = per_row_numbers(record.answer_words, len(numbers))
        confidences = per_row_numbers(record.confidences, len(numbers))
        of_rows = zip(numbers, record.as_expected, words, confidences, strict=True)
        for number, right, *known in of_rows:
            yield _JudgedAnswer(name, record.id, ruleset, number - 1, not right, *known)


FOLDS = 10
#: With fewer answers, or fewer wrong or right ones, there is nothing to learn.
LEAST_INSTANCES = 100
LEAST_OF_A_CLASS = FOLDS
_SHUFFLES = 5
_TREES = 100
# Deeper trees do no better on the stored answers of two readers and cost twice the time. Without
# early stopping, trees fall behind the majority class if there is nothing to learn
# (`python -m benchmarks.readers --learners`).
_DEPTH = 3
# The highest number of a category in scikit-learn's histograms.
_MOST_CATEGORIES = 254


@dataclass(frozen=True, slots=True, eq=False)
class LearningOutcome:
    """The results of the folds: micro F1 of the majority class, and of gradient boosting.

    `importances`, float64 (features, folds), are what is lost by shuffling a feature.
    """

    majority: bool
    majority_f1: Floats
    f1: Floats
    importances: Floats


def learn_errors(answers: LearningRows, *, seed: int = 0) -> LearningOutcome:
    """Learn to tell wrong from right answers by their features, fold by fold."""
    _check(answers)
    need_learning()
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    table = np.column_stack([numbers_of(each) for each in answers.features])
    categories = [each.kind == "category" for each in answers.features]
    # Over all answers: near balance, the majority of nine folds is often the tenth's minority.
    majority = bool(2 * answers.wrong.sum() > len(answers.wrong))
    majority_f1, f1, importances = [], [], []
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_depth=_DEPTH,
        early_stopping=True,
        categorical_features=categories,
        random_state=seed % 2**32,
    )
    # If the cores have other work, threads on such small trees wait for each other longer than
    # they work. The rounding of sums also depends on how threads happen to share the rows.
    with threadpool_limits(limits=1, user_api="openmp"):
        for number, (learned, judged) in enumerate(_folds(answers.rows, seed)):
            trees.fit(table[learned], answers.wrong[learned])
            truth = answers.wrong[judged]
            majority_f1.append(float((truth == majority).mean()))
            score = float((trees.predict(table[judged]) == truth).mean())
            f1.append(score)
            draw = np.random.default_rng([seed % 2**64, number])
            importances.append(
                [
                    score - _shuffled_score(trees, table[judged], truth, column, draw)
                    for column in range(table.shape[1])
                ]
            )
    return LearningOutcome(
        majority=majority,
        majority_f1=np.array(majority_f1),
        f1=np.array(f1),
        importances=np.array(importances).T,
    )


def fold_interval(values: Sequence[float] | Floats) -> tuple[float, float]:
    """The 95% interval of a mean over folds, which share most of what they learn from.

    Student's, with the variance of Nadeau and Bengio: (1/k + 1/(k - 1)) instead of 1/k.
    """
    low, high = mean_interval(values)
    middle, folds = (low + high) / 2, len(values)
    half = (high - middle) * (1 + folds / (folds - 1)) ** 0.5
    return middle - half, middle + half


def _check(answers: LearningRows) -> None:
    total, wrong = len(answers.wrong), int(answers.wrong.sum())
    rows = len(np.unique(answers.rows))
    fewer, name = min((wrong, "wrong"), (total - wrong, "right"))
    if total < LEAST_INSTANCES:
        problem = f"{total} answers are too few to learn from: {LEAST_INSTANCES} are needed"
        advice = "audit more rows or rules"
    elif fewer < LEAST_OF_A_CLASS:
        subject = "answer is" if fewer == 1 else "answers are"
        problem = f"only {fewer} of {total:,} {subject} {name}, which is too few to learn from"
        advice = f"audit rows of which the model gets at least {LEAST_OF_A_CLASS} {name}"
    elif rows < FOLDS:
        problem = f"the answers are to only {rows} rows, and {FOLDS} folds need {FOLDS}"
        advice = "audit more rows"
    elif not answers.features:
        problem = "all answers have the same features, so there is nothing to learn from"
        advice = "name the audited file with --data, so that the texts are known"
    else:
        return
    raise UsageError(problem, help=advice)


def _folds(rows: NDArray[np.int64], seed: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The instances to learn from and to judge, fold by fold."""
    from sklearn.model_selection import KFold  # noqa: PLC0415 - an extra

    distinct, of_instances = np.unique(rows, return_inverse=True)
    splits = KFold(FOLDS, shuffle=True, random_state=seed % 2**32).split(distinct)
    for _, judged in splits:
        inside = np.isin(of_instances, judged)
        yield np.flatnonzero(~inside), np.flatnonzero(inside)


def _shuffled_score(
    trees: Any, table: Floats, truth: NDArray[np.bool_], column: int, draw: np.random.Generator
) -> float:
    """Micro F1 with the values of a column shuffled among the answers; the mean of a few times."""
    scores = []
    for _ in range(_SHUFFLES):
        shuffled = table.copy()
        shuffled[:, column] = draw.permutation(table[:, column])
        scores.append(float((trees.predict(shuffled) == truth).mean()))
    return float(np.mean(scores))


def numbers_of(feature: Feature) -> Floats:
    """A feature as numbers: categories by their rank in frequency, unknown values as NaN."""
    if feature.kind == "number":
        return np.array([np.nan if each is None else each for each in feature.values], np.float64)
    counts = Counter(each for each in feature.values if each is not None)
    ordered = sorted(counts, key=lambda each: (-counts[each], str(each)))
    # If there are too many, the rarest share the last rank.
    places = {each: min(place, _MOST_CATEGORIES) for place, each in enumerate(ordered)}
    return np.array(
        [np.nan if each is None else places[each] for each in feature.values], np.float64
    )


_AS_IT_IS = ReadOptions()
# Packages that affect the result → the names under which they are imported.
_PACKAGES = {"sears-dsl": "sears_dsl", "scikit-learn": "sklearn", "numpy": "numpy",
             "textstat": "textstat"}  # fmt: skip


def predict_errors(
    audits: Mapping[str, AuditDocument],
    *,
    data: object = None,
    features: Sequence[str] = (),
    format_name: str | None = None,
    reading: ReadOptions = _AS_IT_IS,
    seed: int = 0,
) -> ErrorsDocument:
    """Learn what predicts that the model fails, for `sears.predict_errors`."""
    same_rows(audits)
    first = next(iter(audits.values()))
    notes = []
    of_rows: dict[str, Sequence[slices.SliceValue]] = {}
    if data is not None:
        rows = _audited_rows(first, data, format_name, reading)
        names = _default_features(rows)
        if not has_textstat():
            notes.append(
                "Readability is left out: textstat is not installed (sears-dsl[analysis])."
            )
        columns = dict.fromkeys((*names, *features))
        slicings = slices.read_slicings(
            data, list(columns), format_name=format_name,
            options=replace(reading, limit=max(rows.numbers or (first.data.rows,))),
        )  # fmt: skip
        of_rows = {
            name: slices.for_rows(rows, _values(name, cells)) for name, cells in slicings.items()
        }
    elif features:
        raise UsageError(
            f"{features[0]} is a feature of the rows, which are not given",
            help="name the audited file with --data",
        )
    else:
        notes.append("Features of texts are left out: the audited file is not given (--data).")
    answers = collect_answers(audits, of_rows)
    learned = learn_errors(answers, seed=seed)
    known = {each.name for each in answers.features}
    if "confidence" not in known:
        notes.append("The model reports no confidence, so confidence is not a feature.")
    if len(np.unique(answers.rows)) < len(answers.rows):
        notes.append(
            "Several answers belong to the same row. They stay in one fold, so that no answer is "
            "predicted from another to the same text."
        )
    if not first.labelled:
        notes.append(
            "The data has no labels: an answer counts as wrong if it differs from the answer to "
            "the original row, and original rows are left out."
        )
    return _document(audits, answers, learned, seed=seed, notes=notes, with_data=data is not None)


def _audited_rows(
    audit: AuditDocument, data: object, format_name: str | None, reading: ReadOptions
) -> LabelledRows:
    identity = audit.data

    def read(limit: int) -> LabelledRows:
        return read_labelled(
            data, column=identity.column, label=identity.label, also=identity.also,
            image=identity.image, choices=identity.choices, comparison=audit.comparison,
            format_name=format_name, options=replace(reading, limit=limit),
        )  # fmt: skip

    rows = read(identity.last_row or identity.rows)
    columns = len(set(rows.rewritten_columns or ()))
    # The audit of an earlier version has each row of the file once for each set of columns.
    if columns > 1 and identity.last_row is None:
        rows = read(identity.rows // columns)
    if rows.digest != identity.sha256:
        raise DataError(
            f"{rows.path} has other rows than the audit: SHA-256 {rows.digest[:12]}…, not "
            f"{identity.sha256[:12]}…",
            help="name the file that was audited, unchanged since then",
        )
    return rows


def _default_features(rows: LabelledRows) -> list[str]:
    """The names of the features that are computed from the columns that the model reads."""
    columns = [name for name in rows.rows[0] if name not in (rows.image, rows.choices)]
    questions = {column: sum(row[column].rstrip().endswith("?") for row in rows.rows)
                 for column in columns}  # fmt: skip
    # Columns most of whose texts are questions, whether rules rewrite them or not.
    asking = [column for column in columns if 2 * questions[column] > len(rows.rows)]
    names = [f"first-word({column})" for column in asking]
    names += [f"words({column})" for column in columns]
    names += [f"grade({column})" for column in columns] if has_textstat() else []
    return names


def _values(name: str, cells: Sequence[object] | slices.Computed) -> Sequence[slices.SliceValue]:
    if isinstance(cells, slices.Computed):
        if cells.cells is None:
            raise UsageError(
                f"{name} is not a feature of the rows",
                help=f"leave it out: words({slices.ANSWER}) is a feature anyway",
            )
        return cells.values()
    numbers = slices.as_numbers(cells)
    if numbers is not None:
        return numbers
    return [None if slices.is_empty(each) else str(each) for each in cells]


def _document(
    audits: Mapping[str, AuditDocument],
    answers: LearningRows,
    learned: LearningOutcome,
    *,
    seed: int,
    notes: Sequence[str],
    with_data: bool,
) -> ErrorsDocument:
    records = [
        FeatureRecord(
            name=feature.name,
            kind=feature.kind,
            known=sum(each is not None for each in feature.values),
            importance=over_folds(importance),
            parts=_parts(feature, answers),
        )
        for feature, importance in zip(answers.features, learned.importances, strict=True)
    ]
    records.sort(key=lambda each: (-each.importance.mean, each.name))
    first = next(iter(audits.values()))
    names = []
    for name, audit in audits.items():
        own = [each.wrong for each in _answers(name, audit)]
        wrong = share_of(sum(own), len(own))
        names.append(AuditName(name=name, model=audit.model, answers=len(own), wrong=wrong))
    return ErrorsDocument(
        audits=tuple(names),
        data=first.data,
        with_data=with_data,
        wrong=share_of(int(answers.wrong.sum()), len(answers.wrong)),
        seed=seed,
        majority="wrong" if learned.majority else "right",
        majority_f1=over_folds(learned.majority_f1),
        f1=over_folds(learned.f1),
        over_majority=over_folds(learned.f1 - learned.majority_f1),
        features=tuple(records),
        notes=tuple(notes),
        versions={each: version(each) for each in _PACKAGES if find_spec(_PACKAGES[each])},
    )


def over_folds(values: Floats) -> FoldMean:
    """Numbers of the folds with their mean, their deviation and the interval of the mean."""
    low, high = fold_interval(values)
    return FoldMean(
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)),
        low=low,
        high=high,
        folds=tuple(values.tolist()),
    )


def _parts(feature: Feature, answers: LearningRows) -> tuple[PartErrors, ...]:
    """The parts of a feature: numbers in ranges, categories as they are; numbers in order."""
    if feature.kind == "number":
        of_instances = slices.parts_of(feature.values)
    else:
        names = [each if isinstance(each, str) else slices.EMPTY for each in feature.values]
        of_instances = slices.largest(names)
    values = np.array(of_instances, object)
    return tuple(
        PartErrors(
            value=value,
            wrong=share_of(int(answers.wrong[values == value].sum()), int((values == value).sum())),
        )
        for value in slices.sort_parts(of_instances)
    )
