"""What is computed of a column, or of the model's own answers, to slice by.

In: how a slicing is named, and the rows. Out: a value for each row, and the parts that the values
fall into. Always holds: a name in parentheses is a column and ``answer`` there is what the model
says of the untouched row; a name that is a column stays that column, whatever it looks like; a row
without a value is in the part "(empty)". Costs a look at each text; `grade` some milliseconds a
paragraph, once for equal texts.

    words(COLUMN)        words between white space
    first-word(COLUMN)   who what which when where why how, else other
    agreement(COLUMN)    share of annotators with the most frequent answer, as SQuAD compares them
    grade(COLUMN)        Flesch-Kincaid grade, by textstat

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 5: question type, lengths, agreement and readability.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np

from sears_dsl.answers import normalized_answer
from sears_dsl.auditing.slicing.parts import EMPTY, largest, parts_of, quarters
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.dataset import require_column
from sears_dsl.data.sources import open_rows
from sears_dsl.errors import DataError, UsageError
from sears_dsl.models.predictor import REFUSED, Answer
from sears_dsl.runtime.extras import load_textstat

SliceValue: TypeAlias = float | str | None
"""What is computed of a row; None where the row has nothing to compute it of."""

#: In parentheses this is what the model says, not a column.
ANSWER = "answer"
_QUESTION_WORDS = frozenset(("who", "what", "which", "when", "where", "why", "how"))
_NAME = re.compile(r"([A-Za-z][\w-]*)\((.+)\)")
# Short texts, such as answers, are shown word by word up to here; so is what one paper prints.
_FEW_WORDS = 9


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A function of a column, or of the model's own answers.

    Attributes:
        function: its name.
        column: what stands in parentheses.
        cells: the cell of each row; None for the model's own answers.
    """

    function: str
    column: str
    cells: Sequence[Any] | None

    def values(self, answers: Sequence[Answer] | None = None) -> list[SliceValue]:
        """The value of each row.

        Args:
            answers: what the model says of each untouched row; wanted where there are no cells.

        Raises:
            DataError: a cell is of another kind than the function takes.
        """
        cells = self.cells
        if cells is None:
            if answers is None:
                raise UsageError(
                    f"{self.function}({ANSWER}) is about a model's answers, and there are none",
                    help="audit a model, or name a column in parentheses",
                )
            cells = [None if each.label == REFUSED else each.label for each in answers]
        where = f"{self.function}({self.column})"
        compute = _FUNCTIONS[self.function].compute
        known: dict[str, SliceValue] = {}
        values = []
        for number, cell in enumerate(cells, 1):
            key = repr(cell)
            if key not in known:
                known[key] = compute(cell, f"{where}: row {number}")
            values.append(known[key])
        return values

    def parts(self, answers: Sequence[Answer] | None = None) -> list[str]:
        """The part of each row; as `values`."""
        return _FUNCTIONS[self.function].parts(self.values(answers))


def computed(name: str) -> tuple[str, str] | None:
    """The function and the column that a name says, as in ``words(context)``; None of others.

    Example:
        >>> computed("words(context)"), computed("source")
        (('words', 'context'), None)
    """
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return None
    function, column = match[1], match[2].strip()
    if function not in _FUNCTIONS:
        near = get_close_matches(function, _FUNCTIONS, n=1)
        guess = f"did you mean {near[0]}({column})? " if near else ""
        raise UsageError(
            f"{name} names no column, and {function}(…) is not computed",
            help=f"{guess}{', '.join(_FUNCTIONS)} of a column in parentheses are",
        )
    if function == "agreement" and column == ANSWER:
        raise UsageError(
            f"{name}: a model gives one answer, so nobody agrees with it",
            help="agreement is of a column that holds several labels, as in agreement(answers)",
        )
    return function, column


def read_slicings(
    source: object,
    names: Sequence[str],
    *,
    format_name: str | None = None,
    options: ReadOptions | None = None,
) -> dict[str, Sequence[Any] | Computed]:
    """What to slice by: columns of the rows, and what is computed of columns and answers.

    The model does not see any of it.

    Args:
        source: the rows, as `open_rows` takes them.
        format_name: the format, where the file's name does not tell.
        options: how it is read; the same as for the rows.

    Example:
        >>> rows = [{"q": "Who is it?", "source": "web"}, {"q": "Is it red?", "source": ""}]
        >>> slicings = read_slicings(rows, ["source", "first-word(q)"])
        >>> slicings["source"], slicings["first-word(q)"].parts()
        (['web', ''], ['who', 'other'])
    """
    if not names:
        return {}
    dataset = open_rows(source, format_name=format_name, options=options)
    slicings = {name: None if name in dataset.names else computed(name) for name in names}
    columns: dict[str, list[Any]] = {}
    for name, of_columns in slicings.items():
        if of_columns is None:
            columns[require_column(dataset.names, name, where=dataset.path)] = []
            continue
        function, column = of_columns
        if function == "grade":
            load_textstat()
        if column != ANSWER:
            columns[require_column(dataset.names, column, where=dataset.path)] = []
    for batch in dataset.batches():
        for name, cells in columns.items():
            # Of JSON lines a later batch may lack a column, as a row may.
            cells.extend(batch.columns.get(name, [None] * batch.rows))
    return {
        name: columns[name]
        if of_columns is None
        else Computed(*of_columns, None if of_columns[1] == ANSWER else columns[of_columns[1]])
        for name, of_columns in slicings.items()
    }


# ---------------------------------------------------------------- the functions


def _text(cell: Any, where: str) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, (int, float)):
        return str(cell)
    raise DataError(
        f"{where}: a text is wanted, not {type(cell).__name__}",
        help="name a column of texts in parentheses",
    )


def _words(cell: Any, where: str) -> SliceValue:
    text = _text(cell, where)
    return None if text is None else float(len(text.split()))


def _first_word(cell: Any, where: str) -> SliceValue:
    text = _text(cell, where)
    if text is None or not text.split():
        return None
    first = text.split()[0].lower()
    return first if first in _QUESTION_WORDS else "other"


def _agreement(cell: Any, where: str) -> SliceValue:
    annotations = [normalized_answer(each) or each for each in _annotations(cell, where)]
    if not annotations:
        return None
    return Counter(annotations).most_common(1)[0][1] / len(annotations)


def _annotations(cell: Any, where: str) -> list[str]:
    """What each annotator said; equal answers stay as many as they are."""
    if isinstance(cell, Mapping):
        cell = cell.get("text")
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, (list, tuple)):
        return [text for each in cell for text in _annotations(each, where)]
    text = _text(cell, where)
    return [] if text is None or text == "" else [text]


def _grade(cell: Any, where: str) -> SliceValue:
    text = _text(cell, where)
    if text is None or not re.search(r"\w", text):
        return None
    return round(float(load_textstat().flesch_kincaid_grade(text)), 1)


def _word_parts(values: Sequence[SliceValue]) -> list[str]:
    """Most texts shorter than ten words: word by word. Else ranges."""
    known = [each for each in values if isinstance(each, float)]
    if not known or np.median(known) > _FEW_WORDS:
        return quarters([each if isinstance(each, float) else None for each in values], " words")
    return [
        EMPTY
        if not isinstance(each, float)
        else f"{_FEW_WORDS + 1} or more words"
        if each > _FEW_WORDS
        else f"{each:g} word{'' if each == 1 else 's'}"
        for each in values
    ]


def _agreement_parts(values: Sequence[SliceValue]) -> list[str]:
    """One share by itself, since few annotators leave few of them."""
    return largest([f"{100 * each:.0f}%" if isinstance(each, float) else EMPTY for each in values])


def _texts(values: Sequence[SliceValue]) -> list[str]:
    return largest([EMPTY if each is None else str(each) for each in values])


@dataclass(frozen=True, slots=True)
class _Function:
    """How a value comes from a cell, and parts from values."""

    compute: Callable[[Any, str], SliceValue]
    parts: Callable[[Sequence[SliceValue]], list[str]]


_FUNCTIONS: dict[str, _Function] = {
    "words": _Function(_words, _word_parts),
    "first-word": _Function(_first_word, _texts),
    "agreement": _Function(_agreement, _agreement_parts),
    "grade": _Function(_grade, parts_of),
}
