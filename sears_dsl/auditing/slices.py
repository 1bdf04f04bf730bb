"""Where a model fails: the same numbers for parts of the rows, by label, length, question, column.

A slicing is a column, or is computed from a column or from the model's own answers:

    words(COLUMN)        words between white space
    first-word(COLUMN)   who what which when where why how, else other
    agreement(COLUMN)    share of annotators with the most frequent answer, as SQuAD compares them
    grade(COLUMN)        Flesch-Kincaid grade, by textstat

A slicing puts every row into exactly one part. A row without a value is in the part "(empty)", and
parts beyond the largest are put together as "(other)", never dropped. ``answer`` in parentheses is
the model's answer to the untouched row, anything else a column. A name that is a column stays that
column, whatever it looks like. p compares the flip rate of a part with that of the rest of its
slicing (Fisher's exact test). q controls false discoveries over all parts of all slicings, so that
looking at many parts finds no more than there is. Costs a pass over the texts; `grade` costs some
milliseconds a paragraph, once for equal texts.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 5: question type, lengths, agreement and readability.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import REFUSED, label_text, normalized_answer
from sears_dsl.auditing.totals import label_keeping
from sears_dsl.data.batches import ReadOptions, is_missing
from sears_dsl.data.columnar import class_names
from sears_dsl.data.dataset import require_column
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.sources import open_rows
from sears_dsl.effects.rule_effects import Effects
from sears_dsl.errors import DataError, UsageError
from sears_dsl.generating.table import TEMPLATE
from sears_dsl.models.predictor import Answer
from sears_dsl.runtime.extras import load_textstat
from sears_dsl.statistics import Share, fisher_exact, q_values, share_of

_Value = TypeVar("_Value")
_WH = ("what", "which", "who", "whom", "whose", "where", "when", "why")
_MANY = re.compile(r"how (many|much)\b")
_WH_PATTERN = re.compile(rf"\b({'|'.join(_WH)})\b|\bhow\b")
_YES_NO = re.compile(
    r"(is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|"
    r"must)(n't)?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    """A part of the rows, by label, length, question type or a column.

    `accuracy`, and `worst`, that against the worst rule for each row, are None without labels.
    `flipped` is the share of right rows that any rule flips, of those that any changes. p and q are
    None if nothing can be compared.
    """

    slicing: str
    value: str
    rows: int
    accuracy: Share | None
    worst: Share | None = None
    flipped: Share
    p_value: float | None = None
    q_value: float | None = None


def slice_results(effects: Effects, parts: Mapping[str, Sequence[str]]) -> tuple[SliceResult, ...]:
    """The numbers of each part, slicing by slicing, the largest part first."""
    rules = label_keeping(effects)
    changed = effects.among_rows([(each, np.ones(len(each), np.bool_)) for each in rules])
    flipped = effects.among_rows([(each, each.flipped) for each in rules])
    tested = changed & effects.right
    slices: list[tuple[str, str, NDArray[np.bool_]]] = []
    for slicing, of_rows in parts.items():
        values = np.array(of_rows, object)
        slices += [(slicing, value, values == value) for value in sort_parts(of_rows)]
    counts = np.array(
        [[(flipped & part).sum(), (tested & part).sum()] for _, _, part in slices], np.int64
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
            rows=int(part.sum()),
            accuracy=_share(effects.right, part) if effects.labelled else None,
            worst=_share(effects.right & ~flipped, part) if effects.labelled else None,
            flipped=share_of(int(counts[place, 0]), int(counts[place, 1])),
            p_value=float(p_values[place]) if comparable[place] else None,
            q_value=float(adjusted[place]) if comparable[place] else None,
        )
        for place, (slicing, value, part) in enumerate(slices)
    )


def _share(flags: NDArray[np.bool_], part: NDArray[np.bool_]) -> Share:
    return share_of(int((flags & part).sum()), int(part.sum()))


def slicings(
    data: LabelledRows,
    columns: Mapping[str, Sequence[Any] | Computed],
    answers: Sequence[Answer] | None = None,
) -> dict[str, list[str]]:
    """The part of each row: by label, by length, by type of question, and by further columns.

    There are types of questions only if most rows are questions, and parts by label only if there
    are labels and not too many of them.
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
            of_rows = largest(cell_words(values), MOST_TEMPLATES)
        else:
            of_rows = parts_of(values)
        of_rows = of_rows if of_answers else list(for_rows(data, of_rows))
        if len(of_rows) != len(texts):
            raise UsageError(
                f"the column {name} has {len(of_rows):,} values for {len(texts):,} rows",
                help="read it from the same file with the same options",
            )
        slicing = name
        while slicing in parts:
            slicing = f"column {slicing}"
        parts[slicing] = of_rows
    return parts


def for_rows(data: LabelledRows, values: Sequence[_Value]) -> Sequence[_Value]:
    """The value of each row, of values for the rows of the file: it may have rows more than once.

    Other values, such as those of too few rows, are returned as they are.
    """
    if data.numbers is None or len(values) < max(data.numbers, default=0):
        return values
    return [values[number - 1] for number in data.numbers]


def question_type(text: str) -> str:
    """What a question asks for, by its words; ``(no question)`` for other texts."""
    lower = text.strip().lower()
    if not lower.endswith("?"):
        return "(no question)"
    if _YES_NO.match(lower):
        return "yes or no"
    first = _WH_PATTERN.search(lower)
    if first is None:
        return OTHER
    return "how many" if _MANY.match(lower, first.start()) else first[0]


#: The part of values that are too rare to stand alone.
OTHER = "(other)"
#: The part of rows without a value.
EMPTY = "(empty)"
#: If there are more values than this, the rarest are put together.
MOST_PARTS = 12
#: Up to this many templates are listed one by one; nobody reads a longer list.
MOST_TEMPLATES = 200
_QUARTERS = (0.25, 0.5, 0.75)
# A column of numbers is cut into quarters if it has more values than this.
_FEW_VALUES = 8
# Whole numbers from here on are written with an exponent.
_LONGEST_WHOLE = 1e15


def parts_of(values: Sequence[Any]) -> list[str]:
    """The part of each value: many numbers become ranges, other values stay as they are."""
    if len({str(value) for value in values if not is_empty(value)}) > _FEW_VALUES:
        numbers = as_numbers(values)
        if numbers is not None:
            return quarters(numbers)
    return largest(cell_words(values))


def cell_words(values: Sequence[Any]) -> list[str]:
    """The values as text; 3.0 is written as 3."""
    return [EMPTY if is_empty(value) else label_text(value) or str(value) for value in values]


def is_empty(value: object) -> bool:
    """Whether a cell holds nothing."""
    return value == "" or is_missing(value)


def as_numbers(values: Sequence[Any]) -> list[float | None] | None:
    """The values as numbers, None for empty ones; None if one is no number, such as a truth value.

    A whole number that no float can hold is none either. A number may be written as text, since a
    file of text holds nothing else.

    Example:
        >>> as_numbers(["1", 2.5, ""]), as_numbers(["1", "one"]), as_numbers([True])
        ([1.0, 2.5, None], None, None)
    """
    numbers: list[float | None] = []
    for value in values:
        if is_empty(value):
            numbers.append(None)
            continue
        try:
            number = float("nan" if isinstance(value, bool) else value)
        except (TypeError, ValueError, OverflowError):
            return None
        if not np.isfinite(number):
            return None
        numbers.append(number)
    return numbers


def largest(values: Sequence[str], most: int = MOST_PARTS) -> list[str]:
    """The values; if there are more than `most`, the rarer ones become one part."""
    counts = Counter(values)
    if len(counts) <= most:
        return list(values)
    frequent = {value for value, _ in counts.most_common(most - 1)}
    return [value if value in frequent else OTHER for value in values]


def quarters(values: Sequence[float | None], unit: str = "") -> list[str]:
    """The range of each number, out of at most four ranges with about equally many rows."""
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return [EMPTY] * len(values)
    cuts = np.unique(np.quantile(known, _QUARTERS, method="inverted_cdf"))
    cuts = cuts[cuts < known.max()]
    place = np.searchsorted(cuts, known)
    parts = [known[place == each] for each in range(len(cuts) + 1)]
    ends = [(float(part.min()), float(part.max())) for part in parts]
    written = _written({number for pair in ends for number in pair})
    names = [
        f"{written[low]}{unit}" if low == high else f"{written[low]} to {written[high]}{unit}"
        for low, high in ends
    ]
    return [
        EMPTY if value is None else names[int(np.searchsorted(cuts, value))] for value in values
    ]


def _written(numbers: Collection[float]) -> dict[float, str]:
    """The numbers as text, with as many digits as keep them apart: six or more."""
    names: dict[float, str] = {}
    for digits in range(6, 18):
        names = {
            each: f"{each:.0f}"
            if each.is_integer() and abs(each) < _LONGEST_WHOLE
            else f"{each:.{digits}g}"
            for each in numbers
        }
        if len(set(names.values())) == len(names):
            break
    return names


def sort_parts(of_rows: Sequence[str]) -> list[str]:
    """The parts, by their leading numbers, then the most frequent first; leftovers come last."""
    counts = Counter(of_rows)
    return sorted(counts, key=lambda value: (value in (OTHER, EMPTY), *_rank(value, counts)))


def _rank(value: str, counts: Mapping[str, int]) -> tuple[float, int, str]:
    number = re.match(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", value)
    return (float(number[0]) if number else np.inf, -counts[value], value)


SliceValue: TypeAlias = float | str | None
"""What is computed from a row; None if the row has nothing to compute it from."""

#: In parentheses this name means the model's answer, not a column.
ANSWER = "answer"
_QUESTION_WORDS = frozenset(("who", "what", "which", "when", "where", "why", "how"))
_NAME = re.compile(r"([A-Za-z][\w-]*)\((.+)\)")
# Up to here short texts, such as answers, have a part for each number of words, as in the paper.
_FEW_WORDS = 9


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A function of the cells of a column or, without cells, of the model's own answers."""

    function: str
    column: str
    cells: Sequence[Any] | None

    def values(self, answers: Sequence[Answer] | None = None) -> list[SliceValue]:
        """The value of each row; without cells it is computed from the model's answers."""
        cells = self.cells
        if cells is None:
            if answers is None:
                raise UsageError(
                    f"{self.function}({ANSWER}) needs a model's answers, and there are none",
                    help="audit a model, or name a column in parentheses",
                )
            cells = [None if each.label == REFUSED else each.label for each in answers]
        where = f"{self.function}({self.column})"
        compute, _ = _FUNCTIONS[self.function]
        known: dict[str, SliceValue] = {}
        values = []
        for number, cell in enumerate(cells, 1):
            key = repr(cell)
            if key not in known:
                known[key] = compute(cell, f"{where}: row {number}")
            values.append(known[key])
        return values

    def parts(self, answers: Sequence[Answer] | None = None) -> list[str]:
        """The part of each row, by its value."""
        return _FUNCTIONS[self.function][1](self.values(answers))


def parse_computed(name: str) -> tuple[str, str] | None:
    """Split a name such as ``words(context)`` into function and column; None for other names."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return None
    function, column = match[1], match[2].strip()
    if function not in _FUNCTIONS:
        near = get_close_matches(function, _FUNCTIONS, n=1)
        guess = f"did you mean {near[0]}({column})? " if near else ""
        raise UsageError(
            f"{name} is neither a column nor a known function of one",
            help=f"{guess}the functions are {', '.join(_FUNCTIONS)}, as in words(COLUMN)",
        )
    if function == "agreement" and column == ANSWER:
        raise UsageError(
            f"{name}: a model gives a single answer, so there is no agreement to measure",
            help="name a column that holds several labels, as in agreement(answers)",
        )
    return function, column


def read_slicings(
    source: object,
    names: Sequence[str],
    *,
    format_name: str | None = None,
    options: ReadOptions | None = None,
) -> dict[str, Sequence[Any] | Computed]:
    """Read what to slice by: columns, and what is computed from columns and answers.

    The model sees none of it. The options have to be those that the rows were read with.
    """
    if not names:
        return {}
    dataset = open_rows(source, format_name=format_name, options=options)
    slicings = {name: None if name in dataset.names else parse_computed(name) for name in names}
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
            # A later batch of JSON lines may lack a column, as a row may.
            classes = dict(enumerate(class_names(batch.columns, name)))
            values = batch.columns.get(name, [None] * batch.rows)
            cells.extend(classes.get(v, v) if isinstance(v, int) else v for v in values)
    return {
        name: columns[name]
        if of_columns is None
        else Computed(*of_columns, None if of_columns[1] == ANSWER else columns[of_columns[1]])
        for name, of_columns in slicings.items()
    }


def _text(cell: Any, where: str) -> str | None:
    if isinstance(cell, str):
        return cell
    if is_missing(cell):
        return None
    if isinstance(cell, (int, float)):
        return str(cell)
    raise DataError(
        f"{where}: expected a text, not {type(cell).__name__}",
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
    """The answer of each annotator; equal answers are not merged."""
    if isinstance(cell, Mapping):
        cell = cell.get("text", cell.get("answer"))
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
    """A part for each number of words if most texts are shorter than ten words, else ranges."""
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
    """A part for each share, since few annotators allow only few shares."""
    return largest([f"{100 * each:.0f}%" if isinstance(each, float) else EMPTY for each in values])


_Parts: TypeAlias = Callable[[Sequence[SliceValue]], list[str]]
# Name of a function → how it computes a value from a cell, and parts from values.
_FUNCTIONS: dict[str, tuple[Callable[[Any, str], SliceValue], _Parts]] = {
    "words": (_words, _word_parts),
    "first-word": (_first_word, parts_of),
    "agreement": (_agreement, _agreement_parts),
    "grade": (_grade, parts_of),
}
