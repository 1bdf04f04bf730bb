"""What explains the errors of two stored readers of SQuAD, compared with published figures.

The answers of a logistic regression and of a Match-LSTM to the development set are stored; nothing
is trained or asked here. Errors are counted by question type, answer length, agreement of the
annotators and readability, as `sears audit --slice` does, and compared with the figures that a
third party counted from the same answers. Then gradient boosting tells wrong from right answers by
question type, lengths and readability, in ten folds, as `sears errors` does. Beside it stands Table
6 of 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', with other readers, noises and amounts of training: its figures are of BERT and BiDAF with
ELMo on noisy text, ours of other readers on clean text.

    python -m benchmarks.readers
    python -m benchmarks.readers --learners    # other settings of the trees; minutes
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.record import Row, data_file, read_options, write_record
from sears_dsl.answers import answers_equal
from sears_dsl.auditing.failures import Feature, LearningRows, fold_interval, learn_errors
from sears_dsl.auditing.slices import Computed, SliceValue, read_slicings, sort_parts
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.models.predictor import Answer
from sears_dsl.statistics import wilson_interval

SOURCE = "squad/dev-v1.1.json"
TYPE, LENGTH, AGREEMENT = "first-word(question)", "words(answer)", "agreement(answers)"
GRADE = "grade(context)"
FEATURES = (TYPE, "words(question)", "words(context)", GRADE)

# How questions are sliced: columns, and what is computed from these and from answers.
Columns = dict[str, Sequence[Any] | Computed]

# Counted by others from the same files: exact match in per cent, errors in hundredths.
COUNTED: dict[str, tuple[float, dict[str, dict[str, int] | list[int]]]] = {
    "match-lstm": (
        67.63,
        {
            TYPE: {"when": 16, "who": 24, "which": 31, "how": 34, "what": 36, "where": 37,
                   "why": 60, "other": 29},
            LENGTH: [23, 28, 31, 36, 44, 52, 55, 62, 63, 75],
            AGREEMENT: {"100%": 28, "33%": 48},
        },
    ),
    "logistic-regression": (
        40.14,
        {LENGTH: [47, 57, 62, 69, 71, 77, 79, 80, 79, 93]},
    ),
}  # fmt: skip
# Table 6 of the paper: micro F1 of always saying the majority class, and of XGBoost.
PRINTED = (
    "ELMo char .58 → .70, word .54 → .56, paraphrase .65 → .65; BERT char .76 → .77, word .72 → "
    ".73, paraphrase .82 → .82"
)
# Table 5: median Flesch-Kincaid grade of the contexts of right and of wrong answers on SQuAD.
GRADES = "12.9 right, 13.0 wrong"


@dataclass(frozen=True, slots=True)
class Reader:
    """A stored reader: its name, its answers, and which of them are wrong."""

    name: str
    answers: tuple[Answer, ...]
    wrong: np.ndarray


def main() -> None:
    """Count, compare, learn."""
    options = read_options(__doc__, "--learners")
    source = str(data_file(SOURCE))
    rows = read_labelled(source, column="question", label="answers")
    columns = read_slicings(source, ["id", TYPE, LENGTH, AGREEMENT, *FEATURES])
    counted: list[Row] = []
    for name in COUNTED:
        reader = _reader(name, rows, columns["id"])
        if options.learners:
            _learners(reader, columns)
            continue
        counted += [*_counted(reader, columns), _graded(reader, columns), _learned(reader, columns)]
    if counted:
        write_record("readers", counted)


def _reader(name: str, rows: LabelledRows, ids: Any) -> Reader:
    stored = json.loads(data_file(f"squad/predictions/{name}.json").read_text("utf-8"))
    # A few questions have no stored answer; an empty answer is wrong.
    answers = tuple(Answer(stored.get(each, "")) for each in ids)
    wrong = np.array(
        [
            not answers_equal(answer.label, golds, comparison="squad")
            for answer, golds in zip(answers, rows.labels or (), strict=True)
        ]
    )
    return Reader(name, answers, wrong)


def _counted(reader: Reader, columns: Columns) -> list[Row]:
    """Errors by part, in hundredths, compared with those that others counted."""
    exact, by_slicing = COUNTED[reader.name]
    own = round(100 * float(1 - reader.wrong.mean()), 2)
    rows = [
        Row(f"{reader.name}: exact match", {"per cent": own, "counted by others": exact},
            at_least=f"{exact}", reached=own == exact)
    ]  # fmt: skip
    for slicing, wanted in by_slicing.items():
        parts = np.array(_computed(columns[slicing]).parts(reader.answers), object)
        errors = {
            part: round(100 * float(reader.wrong[parts == part].mean()))
            for part in sort_parts(parts.tolist())
            if part != "0 words"
        }
        known = list(errors.values()) if isinstance(wanted, list) else {
            part: errors[part] for part in wanted
        }  # fmt: skip
        rows.append(
            Row(
                f"{reader.name}: wrong of 100 by {slicing}",
                {part: _with_interval(reader.wrong[parts == part]) for part in errors},
                at_least=", ".join(map(str, wanted if isinstance(wanted, list)
                                       else wanted.values())),
                aim="as counted by others",
                reached=known == wanted,
            )
        )  # fmt: skip
    return rows


def _graded(reader: Reader, columns: Columns) -> Row:
    """Medians as the paper prints them, and ours for right and wrong answers of a reader."""
    grades = np.array(_computed(columns[GRADE]).values(), np.float64)
    return Row(
        f"{reader.name}: median Flesch-Kincaid grade of contexts",
        {
            "right": _median(grades[~reader.wrong]),
            "wrong": _median(grades[reader.wrong]),
            "printed for SQuAD": GRADES,
        },
    )


def _with_interval(wrong: NDArray[np.bool_]) -> str:
    """Errors in hundredths with Wilson's 95% interval, and the number of answers."""
    low, high = wilson_interval(int(wrong.sum()), len(wrong))
    return (
        f"{100 * wrong.mean():.0f} ({100 * float(low):.1f} to {100 * float(high):.1f}; "
        f"n {len(wrong):,})"
    )


def _median(values: NDArray[np.float64]) -> str:
    """The median with the 95% interval of its ranks, and the number of values."""
    ordered, half = np.sort(values), len(values) / 2
    low, high = (ordered[int(half + side * 0.98 * len(values) ** 0.5)] for side in (-1, 1))
    return f"{np.median(ordered):.1f} ({low:.1f} to {high:.1f}; n {len(values):,})"


def _learned(reader: Reader, columns: Columns) -> Row:
    """Predict errors from those features of the paper that clean text has."""
    started = time.perf_counter()
    table = _instances(reader, columns)
    learned = learn_errors(table)
    low, high = fold_interval(learned.f1 - learned.majority_f1)
    worth = {
        each.name: round(100 * float(importance.mean()), 2)
        for each, importance in zip(table.features, learned.importances, strict=True)
    }
    return Row(
        f"{reader.name}: micro F1 of error prediction, ten folds, clean text",
        {
            "answers": len(reader.wrong),
            "majority": round(float(learned.majority_f1.mean()), 3),
            "learned": round(float(learned.f1.mean()), 3),
            "± sd": round(float(learned.f1.std(ddof=1)), 3),
            "points more": f"{100 * float((learned.f1 - learned.majority_f1).mean()):+.1f} "
            f"({100 * low:+.1f} to {100 * high:+.1f})",
            **{f"points lost without {name}": value for name, value in worth.items()},
            "printed, other readers on noise": PRINTED,
            "s": round(time.perf_counter() - started, 1),
        },
    )


def _instances(reader: Reader, columns: Columns) -> LearningRows:
    values: dict[str, Sequence[SliceValue]] = {
        name: _computed(columns[name]).values() for name in FEATURES
    }
    values[LENGTH] = _computed(columns[LENGTH]).values(reader.answers)
    return LearningRows(
        wrong=reader.wrong,
        rows=np.arange(len(reader.wrong)),
        features=tuple(
            Feature(name, "category" if name == TYPE else "number", each)
            for name, each in values.items()
        ),
    )


def _computed(column: object) -> Computed:
    assert isinstance(column, Computed)
    return column


def _learners(reader: Reader, columns: Columns) -> None:
    """Print micro F1 of other trees on the same folds, on answers and on random labels."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
    from sklearn.model_selection import KFold

    from sears_dsl.auditing.failures import numbers_of

    def histogram(**more: object) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(random_state=0, **more)

    learners = {
        "as in the package": lambda: histogram(max_depth=3, early_stopping=True),
        "without stopping early": lambda: histogram(max_depth=3, early_stopping=False),
        "deep": lambda: histogram(early_stopping=False),
        "not over histograms": lambda: GradientBoostingClassifier(random_state=0),
    }
    instances = _instances(reader, columns)
    table = np.column_stack([numbers_of(each) for each in instances.features])
    chance = np.random.default_rng(0).random(len(table)) < instances.wrong.mean()
    for name, learner in learners.items():
        for what, wrong in (("answers", instances.wrong), ("labels at random", chance)):
            started = time.perf_counter()
            scores = [
                float((learner().fit(table[one], wrong[one]).predict(table[other])
                       == wrong[other]).mean())
                for one, other in KFold(10, shuffle=True, random_state=0).split(table)
            ]  # fmt: skip
            print(
                f"{reader.name}, {what}, {name}: micro F1 {np.mean(scores):.4f} ± "
                f"{np.std(scores, ddof=1):.4f}, majority "
                f"{max(wrong.mean(), 1 - wrong.mean()):.4f}, {time.perf_counter() - started:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
