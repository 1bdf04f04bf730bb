"""From audits to what predicts that the model fails: features, folds, and wrong answers by feature.

In: audits by name, the rows that were audited or none. Out: `ErrorsDocument`. Always holds: the
rows are those of the audits, by their hash, before anything is learned; what is computed of texts
is taken where rows are given, readability where textstat is installed, and what is left out is
said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.failures.document import (
    AuditName,
    ErrorsDocument,
    FeatureRecord,
    OverFolds,
    PartErrors,
)
from sears_dsl.auditing.failures.instances import Feature, LearningRows, instances, same_rows
from sears_dsl.auditing.failures.learning import Learned, fold_interval, learn
from sears_dsl.auditing.shares import share_of
from sears_dsl.auditing.slicing.computed import ANSWER, Computed, SliceValue, read_slicings
from sears_dsl.auditing.slicing.parts import in_order, largest, parts_of
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.array_types import Floats
from sears_dsl.runtime.extras import has_textstat

# Packages that decide the result, by the names under which they are imported.
_DECIDE = {"sears-dsl": "sears_dsl", "scikit-learn": "sklearn", "numpy": "numpy",
           "textstat": "textstat"}  # fmt: skip


def predict_errors(
    audits: Mapping[str, AuditDocument],
    *,
    data: object = None,
    features: Sequence[str] = (),
    format_name: str | None = None,
    seed: int = 0,
) -> ErrorsDocument:
    """What predicts that the model fails.

    Args:
        audits: of the same rows, by the names that tell them apart.
        data: the rows that were audited, as `open_rows` takes them; None where there are none.
        features: further ones, as `read_slicings` takes them: columns, ``agreement(answers)``.
        format_name: the format, where the file's name does not tell.
        seed: of the folds and of what is shuffled.

    Raises:
        UsageError: audits of other rows, too few answers or only one kind of them, features
            without rows, or scikit-learn is not installed.
        DataError: the rows cannot be read, or are others than those of the audits.
    """
    same_rows(audits)
    first = next(iter(audits.values()))
    notes = []
    of_rows: dict[str, Sequence[SliceValue]] = {}
    if data is not None:
        names = _default_features(_audited_rows(first, data, format_name))
        if not has_textstat():
            notes.append(
                "Readability is left out: textstat is not installed (sears-dsl[analysis])."
            )
        options = ReadOptions(limit=first.data.rows)
        columns = dict.fromkeys((*names, *features))
        slicings = read_slicings(data, list(columns), format_name=format_name, options=options)
        of_rows = {name: _values(name, cells) for name, cells in slicings.items()}
    elif features:
        raise UsageError(
            f"{features[0]} is a feature of rows, and the rows are not given",
            help="name the audited file with --data",
        )
    else:
        notes.append("Features of texts are left out: the audited file is not named (--data).")
    answers = instances(audits, of_rows)
    learned = learn(answers, seed=seed)
    known = {each.name for each in answers.features}
    if "confidence" not in known:
        notes.append("The model does not say how sure it is: confidence is no feature.")
    if len(np.unique(answers.rows)) < len(answers.rows):
        notes.append(
            "Several answers are to the same row; they stand in the same fold, so that no answer "
            "is told by another to the same text."
        )
    if not first.labelled:
        notes.append(
            "The data has no labels: an answer counts as wrong where it differs from that to the "
            "untouched row, and untouched rows are left out."
        )
    return _document(audits, answers, learned, seed=seed, notes=notes, with_data=data is not None)


def _audited_rows(audit: AuditDocument, data: object, format_name: str | None) -> LabelledRows:
    rows = read_labelled(
        data,
        column=audit.data.column,
        label=audit.data.label,
        also=audit.data.also,
        comparison=audit.comparison,
        format_name=format_name,
        options=ReadOptions(limit=audit.data.rows),
    )
    if rows.digest != audit.data.sha256:
        raise DataError(
            f"{rows.path} has other rows than were audited: SHA-256 {rows.digest[:12]}…, audited "
            f"{audit.data.sha256[:12]}…",
            help="name the file of the audits, as it was then",
        )
    return rows


def _default_features(rows: LabelledRows) -> list[str]:
    """What is computed of the columns that the model read."""
    columns = list(rows.rows[0])
    names = [f"first-word({column})" for column in columns if _asks(rows, column)]
    names += [f"words({column})" for column in columns]
    names += [f"grade({column})" for column in columns] if has_textstat() else []
    return names


def _asks(rows: LabelledRows, column: str) -> bool:
    """Whether most texts of a column are questions, be it the one that rules rewrite or not."""
    return 2 * sum(row[column].rstrip().endswith("?") for row in rows.rows) > len(rows.rows)


def _values(name: str, cells: Sequence[object] | Computed) -> Sequence[SliceValue]:
    if isinstance(cells, Computed):
        if cells.cells is None:
            raise UsageError(
                f"{name} is no feature of rows",
                help=f"words({ANSWER}) is among the features already",
            )
        return cells.values()
    numbers = all(each is None or isinstance(each, (int, float)) for each in cells)
    return [
        None if each is None or each == "" else float(str(each)) if numbers else str(each)
        for each in cells
    ]


# ---------------------------------------------------------------- the document


def _document(
    audits: Mapping[str, AuditDocument],
    answers: LearningRows,
    learned: Learned,
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
        own = instances({name: audit})
        wrong = share_of(int(own.wrong.sum()), len(own.wrong))
        names.append(AuditName(name=name, model=audit.model, answers=len(own.wrong), wrong=wrong))
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
        versions={each: version(each) for each in _DECIDE if find_spec(_DECIDE[each])},
    )


def over_folds(values: Floats) -> OverFolds:
    """A number of each fold with what it leaves open."""
    low, high = fold_interval(values)
    return OverFolds(
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)),
        low=low,
        high=high,
        folds=tuple(values.tolist()),
    )


def _parts(feature: Feature, answers: LearningRows) -> tuple[PartErrors, ...]:
    """Numbers in ranges, names as they are; those with numbers in their order."""
    if feature.kind == "number":
        of_instances = parts_of(feature.values)
    else:
        of_instances = largest([each if isinstance(each, str) else "(empty)"
                                for each in feature.values])  # fmt: skip
    values = np.array(of_instances, object)
    return tuple(
        PartErrors(
            value=value,
            wrong=share_of(int(answers.wrong[values == value].sum()), int((values == value).sum())),
        )
        for value in in_order(of_instances)
    )
