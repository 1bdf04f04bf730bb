"""Where a model fails: the same numbers for parts of the rows, by label, length, question, column.

In: effects, and further columns of the data. Out: a `SliceResult` for each part. Always holds: a
slicing puts every row into exactly one part; parts beyond the largest are put together as
"(other)", never dropped; p compares the flip rate of a part with that of the rest of its slicing
(Fisher's exact test), and q controls false discoveries over all parts of all slicings, so that
looking at many parts finds no more than there is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.auditing.shares import Share, share_of
from sears_dsl.auditing.slicing.computed import Computed
from sears_dsl.auditing.slicing.parts import (
    MOST_PARTS,
    MOST_TEMPLATES,
    OTHER,
    as_words,
    in_order,
    largest,
    parts_of,
    quarters,
)
from sears_dsl.auditing.totals import keeping
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.rule_effects import Effects
from sears_dsl.errors import UsageError
from sears_dsl.generating.table import TEMPLATE
from sears_dsl.models.predictor import Answer
from sears_dsl.statistics import fisher_exact, q_values

_WH = ("what", "which", "who", "whom", "whose", "where", "when", "why")
_MANY = re.compile(r"how (many|much)\b")
_WH_PATTERN = re.compile(rf"\b({'|'.join(_WH)})\b|\bhow\b")
_YES_NO = re.compile(
    r"(is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|"
    r"must)(n't)?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    """A part of the rows.

    Attributes:
        slicing: by what: ``label``, ``length``, ``question type`` or the name of a column.
        value: which part.
        rows: how many rows it has.
        accuracy: rows that the model has right; None where the data has no labels.
        worst: rows that it has right against the worst rule for each; likewise.
        flipped: right rows that any rule flips, of those that any changes.
        p_value: whether the rest of the slicing has the same flip rate; None where nothing can be
            compared.
        q_value: after control of false discoveries over all parts.
    """

    slicing: str
    value: str
    rows: int
    accuracy: Share | None
    worst: Share | None
    flipped: Share
    p_value: float | None
    q_value: float | None


def slice_results(effects: Effects, parts: Mapping[str, Sequence[str]]) -> tuple[SliceResult, ...]:
    """The numbers of each part, slicing by slicing, the largest part first.

    Args:
        parts: slicing → the part of each row, as `slicings` gives them.
    """
    rules = keeping(effects)
    changed = effects.among_rows([(each, np.ones(len(each), np.bool_)) for each in rules])
    flipped = effects.among_rows([(each, each.flipped) for each in rules])
    tested = changed & effects.right
    slices: list[tuple[str, str, NDArray[np.bool_]]] = []
    for slicing, of_rows in parts.items():
        values = np.array(of_rows, object)
        slices += [(slicing, value, values == value) for value in in_order(of_rows)]
    counts = np.array(
        [[(flipped & here).sum(), (tested & here).sum()] for _, _, here in slices], np.int64
    ).reshape(len(slices), 2)
    rest = np.array([flipped.sum(), tested.sum()]) - counts
    p_values = fisher_exact(counts[:, 0], counts[:, 1], rest[:, 0], rest[:, 1])
    comparable = (counts[:, 1] > 0) & (rest[:, 1] > 0)
    adjusted = np.ones(len(slices))
    adjusted[comparable] = q_values(p_values[comparable])
    return tuple(
        SliceResult(
            slicing=slicing,
            value=value,
            rows=int(here.sum()),
            accuracy=_share(effects.right, here) if effects.labelled else None,
            worst=_share(effects.right & ~flipped, here) if effects.labelled else None,
            flipped=share_of(int(counts[place, 0]), int(counts[place, 1])),
            p_value=float(p_values[place]) if comparable[place] else None,
            q_value=float(adjusted[place]) if comparable[place] else None,
        )
        for place, (slicing, value, here) in enumerate(slices)
    )


def _share(flags: NDArray[np.bool_], here: NDArray[np.bool_]) -> Share:
    return share_of(int((flags & here).sum()), int(here.sum()))


def slicings(
    data: LabelledRows,
    columns: Mapping[str, Sequence[Any] | Computed],
    answers: Sequence[Answer] | None = None,
) -> dict[str, list[str]]:
    """The part of each row: by label, by length, by type of question, and by further columns.

    Args:
        data: the rows. Only where most of them are questions is there a type of question; only
            where they have labels, and not as many as rows, are there parts by label.
        columns: further columns, a value for each row, and what is computed.

    Raises:
        DataError: a column holds something that nothing can be computed of.

    Example:
        >>> rows = ({"text": "Who is it?"}, {"text": "Is it so very red?"})
        >>> parts = slicings(LabelledRows(rows, "text", None, "a.csv"), {"source": ["web", None]})
        >>> parts["question type"], parts["source"]
        (['who', 'yes or no'], ['web', '(empty)'])
    """
    texts = data.texts
    parts: dict[str, list[str]] = {}
    if data.labels is not None and len(set(data.labels)) <= max(MOST_PARTS, len(texts) // 20):
        parts["label"] = largest([of_row[0] for of_row in data.labels])
    parts["length"] = quarters([float(len(text.split())) for text in texts], unit=" words")
    if 2 * sum(text.rstrip().endswith("?") for text in texts) > len(texts):
        parts["question type"] = largest(list(map(question_type, texts)))
    if data.rewritten_columns is not None:
        parts["rewritten column"] = largest(list(map("+".join, data.rewritten_columns)))
    for name, values in columns.items():
        of_answers = isinstance(values, Computed) and values.cells is None
        if isinstance(values, Computed):
            of_rows = values.parts(answers)
        elif name == TEMPLATE:
            of_rows = largest(as_words(values), MOST_TEMPLATES)
        else:
            of_rows = parts_of(values)
        if data.numbers is not None and not of_answers and len(of_rows) >= max(data.numbers):
            of_rows = [of_rows[number - 1] for number in data.numbers]
        if len(of_rows) != len(texts):
            raise UsageError(
                f"the column {name} has {len(of_rows):,} values for {len(texts):,} rows",
                help="read it from the same file with the same options",
            )
        parts[name if name not in parts else f"column {name}"] = of_rows
    return parts


def question_type(text: str) -> str:
    """What a question asks for, by its words; ``(no question)`` of other texts.

    Example:
        >>> [question_type(text) for text in ("How many are red?", "In which city?", "Red.")]
        ['how many', 'which', '(no question)']
    """
    lower = text.strip().lower()
    if not lower.endswith("?"):
        return "(no question)"
    if _YES_NO.match(lower):
        return "yes or no"
    first = _WH_PATTERN.search(lower)
    if first is None:
        return OTHER
    return "how many" if _MANY.match(lower, first.start()) else first[0]
