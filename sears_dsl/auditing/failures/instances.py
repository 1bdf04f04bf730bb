"""Answers of audits as instances to learn from: is the answer wrong, and what is known of it.

In: audits of the same rows by name, and what is computed of the rows. Out: `LearningRows`. Always
holds: an instance is an answer to an untouched row or to a row after a rule, in the order of the
audits, their rules and rows; it is wrong where the model does not do as the rule expects; a feature
that says the same of all instances is left out; what is not known is None, never 0. Costs an entry
an answer and feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.auditing.document import AuditDocument, RuleRecord, per_row_numbers
from sears_dsl.auditing.slicing.computed import SliceValue
from sears_dsl.errors import UsageError

#: The value of the feature ``rule`` for rows as they are.
UNTOUCHED = "(untouched)"


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """Something that is known of each answer.

    Attributes:
        name: such as ``rule`` or ``words(context)``.
        kind: whether its values are numbers or names.
        values: one an instance; None where it is not known.
    """

    name: str
    kind: Literal["number", "category"]
    values: Sequence[SliceValue]


@dataclass(frozen=True, slots=True, eq=False)
class LearningRows:
    """Answers to learn from.

    Attributes:
        wrong: bool (instances,): whether the model does not do as expected.
        rows: int64 (instances,): the row of the data, from 0.
        features: what is known; none of them says the same of all.
    """

    wrong: NDArray[np.bool_]
    rows: NDArray[np.int64]
    features: tuple[Feature, ...]


class _AuditAnswers(NamedTuple):
    """The answers of one audit to its rows as they are, or after one rule."""

    audit: str
    rule: str
    ruleset: str
    rows: list[int]
    wrong: list[bool]
    words: Sequence[float | None]
    confidences: Sequence[float | None]


def instances(
    audits: Mapping[str, AuditDocument], of_rows: Mapping[str, Sequence[SliceValue]] | None = None
) -> LearningRows:
    """Lay out the answers of audits with what is known of them.

    Args:
        audits: by the names that tell them apart.
        of_rows: further features, a value for each row of the data, such as ``words(context)``.
    """
    same_rows(audits)
    parts = [part for name, audit in audits.items() for part in _parts(name, audit)]
    rows = np.array([row for part in parts for row in part.rows], np.int64)
    counts = [len(part.rows) for part in parts]
    named: list[tuple[str, list[str]]] = [
        ("audit", [part.audit for part in parts]),
        ("rule", [part.rule for part in parts]),
        ("ruleset", [part.ruleset for part in parts]),
    ]
    features = [
        Feature(name, "category", list(chain(*map(repeat, values, counts))))
        for name, values in named
    ]
    features.append(Feature("words(answer)", "number", _joined(part.words for part in parts)))
    features.append(Feature("confidence", "number", _joined(part.confidences for part in parts)))
    for name, values in (of_rows or {}).items():
        if len(values) != (total := next(iter(audits.values())).data.rows):
            raise UsageError(
                f"{name} has {len(values):,} values for {total:,} rows",
                help="name the file that was audited",
            )
        kind: Literal["number", "category"] = (
            "category" if any(isinstance(each, str) for each in values) else "number"
        )
        features.append(Feature(name, kind, [values[row] for row in rows.tolist()]))
    return LearningRows(
        wrong=np.array([wrong for part in parts for wrong in part.wrong], np.bool_),
        rows=rows,
        features=tuple(each for each in features if len(set(each.values)) > 1),
    )


def same_rows(audits: Mapping[str, AuditDocument]) -> None:
    """Audits can be looked at together only if they are of the same rows."""
    if not audits:
        raise UsageError("no audit is named", help="name folders that `sears audit` wrote")
    (first_name, first), *others = audits.items()
    for name, other in others:
        if other.data.sha256 != first.data.sha256:
            raise UsageError(
                f"{first_name} and {name} are audits of other rows: {first.data.rows:,} rows "
                f"{first.data.sha256[:12]}… and {other.data.rows:,} rows "
                f"{other.data.sha256[:12]}…",
                help="audit the models on the same file, columns and labels",
            )


def _joined(parts: Iterator[Sequence[float | None]]) -> list[SliceValue]:
    return list(chain(*parts))


def _parts(name: str, audit: AuditDocument) -> Iterator[_AuditAnswers]:
    """Rows as they are, where labels say which of them are right; then each rule's."""
    rulesets = list(
        chain(*(repeat(each.name, each.rules) for each in audit.rulesets)),
    )
    if audit.labelled:
        total = audit.data.rows
        yield _AuditAnswers(
            name, UNTOUCHED, UNTOUCHED, list(range(total)),
            [mark == "0" for mark in audit.right_rows],
            per_row_numbers(audit.answer_words, total), per_row_numbers(audit.confidences, total),
        )  # fmt: skip
    for record, ruleset in zip(audit.rules, rulesets, strict=True):
        yield _of_rule(name, ruleset, record)


def _of_rule(name: str, ruleset: str, record: RuleRecord) -> _AuditAnswers:
    """A rule that expects ``flip`` is tested only where the row was right before."""
    flip = record.expect == "flip"
    counted, failing = ("kf", "k") if flip else ("kfgw", "fw")
    rows = [int(row) - 1 for row in record.rows.split()]
    places = [place for place, letter in enumerate(record.outcomes) if letter in counted]
    words = per_row_numbers(record.answer_words, len(rows))
    confidences = per_row_numbers(record.confidences, len(rows))
    return _AuditAnswers(
        name, record.id, ruleset, [rows[place] for place in places],
        [record.outcomes[place] in failing for place in places],
        [words[place] for place in places], [confidences[place] for place in places],
    )  # fmt: skip
