"""Columns that point into a text: answers, entities. Read as character spans, written back moved.

In: the values of one row. Out: spans, and after a rewrite the new values. Always holds: the
caller's values are never changed in place; the text of a span that has one must stand at its place.
These forms are known, and each is written back in the form that it had:

    [[3, 8], [12, 15]]                                      pairs of start and end
    [[3, 8, "LOC"]]                                         entities, as the models under test
    [{"start": 3, "end": 8, "label": "LOC"}]                entities; other keys are kept
    [{"text": "Paris", "answer_start": 3}]                  answers of a SQuAD file
    {"text": ["Paris"], "answer_start": [3]}                answers of SQuAD as published on hubs
    any of these as JSON in a string                        in csv and tsv
    two columns: start and end, or start and the text       flat files
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sears_dsl.data.batches import is_missing
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.files import parse_json

#: Where characters start:end of a text stand after its rewrite; None if they were touched.
CharacterMap: TypeAlias = Callable[[int, int], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class SpanColumn:
    """Which columns hold spans of which text column.

    Example:
        >>> SpanColumn.parse("context=answers")
        SpanColumn(text_column='context', column='answers', start=None, end=None, text=None)
        >>> SpanColumn.parse("context=from:to").end
        'to'
        >>> SpanColumn.parse("context=answer_start+answer").text
        'answer'
    """

    text_column: str  # the column that the spans point into
    # A column of structured spans; None where flat columns hold one span a row.
    column: str | None = None
    start: str | None = None  # flat: the column of the first character, counted from 0
    end: str | None = None  # flat: the column of one past the last character
    text: str | None = None  # flat, instead of ``end``: the column of the span's text

    @classmethod
    def parse(cls, written: str) -> SpanColumn:
        """Read ``TEXT=COLUMN``, ``TEXT=START:END`` or ``TEXT=START+SPANTEXT``."""
        text_column, equals, rest = written.partition("=")
        if not (text_column and equals and rest):
            raise UsageError(
                f"{written!r} does not name a text column and its spans",
                help="write TEXT=COLUMN, TEXT=START:END or TEXT=START+SPANTEXT, such as "
                "context=answer_start+answer",
            )
        for sign, role in ((":", "end"), ("+", "text")):
            start, separator, other = rest.partition(sign)
            if separator and start and other:
                return cls(text_column, start=start, **{role: other})
        return cls(text_column, column=rest)

    def __str__(self) -> str:
        """As `parse` reads it."""
        if self.column is not None:
            return f"{self.text_column}={self.column}"
        beside = f":{self.end}" if self.text is None else f"+{self.text}"
        return f"{self.text_column}={self.start}{beside}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold the spans."""
        names = (self.column, self.start, self.end, self.text)
        return tuple(name for name in names if name is not None)


@dataclass(frozen=True, slots=True)
class _SpanPlace:
    """Where one span is kept: ``holder[start_key]``, and either an end or a text."""

    holder: MutableMapping[Any, Any] | MutableSequence[Any]
    start_key: Any
    end_key: Any
    text: str | None

    def span(self) -> tuple[int, int]:
        start = _position(self.holder[self.start_key])
        if self.text is not None:
            return start, start + len(self.text)
        return start, _position(self.holder[self.end_key])

    def move(self, start: int, end: int) -> None:
        as_text = isinstance(self.holder[self.start_key], str)
        self.holder[self.start_key] = str(start) if as_text else start
        if self.text is None:
            self.holder[self.end_key] = str(end) if as_text else end


def _position(value: Any) -> int:
    try:
        position = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{value!r} is not a position in a text") from error
    if isinstance(value, float) and value != position:
        raise DataError(f"{value!r} is not a position in a text")
    return position


def _structure(value: Any) -> Any:
    """A copy in lists and dictionaries that may be changed."""
    if not isinstance(value, str):
        return _plain(value)
    try:
        return parse_json(value)
    except ValueError as error:
        raise DataError(f"{value[:60]!r} is not a list of spans: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _places(value: Any) -> Iterator[_SpanPlace]:
    if isinstance(value, dict):
        starts = value.get("answer_start")
        if isinstance(starts, list) and isinstance(texts := value.get("text"), list):
            if len(texts) != len(starts) or not all(isinstance(text, str) for text in texts):
                raise DataError(
                    f"{str(value)[:60]!r} has not a text for each answer_start",
                    help='write {"text": ["Paris"], "answer_start": [3]}',
                )
            for index, text in enumerate(texts):
                yield _SpanPlace(starts, index, None, text)
            return
        value = [value]
    if not isinstance(value, list):
        raise DataError(f"{str(value)[:60]!r} is not a list of spans", help="write [[start, end]]")
    for item in value:
        if isinstance(item, dict) and {"answer_start", "text"} <= item.keys():
            yield _SpanPlace(item, "answer_start", None, str(item["text"]))
        elif isinstance(item, dict) and {"start", "end"} <= item.keys():
            yield _SpanPlace(item, "start", "end", None)
        elif isinstance(item, list) and len(item) in (2, 3):
            yield _SpanPlace(item, 0, 1, None)
        else:
            raise DataError(
                f"{str(item)[:60]!r} is not a span",
                help="a span is [start, end], [start, end, label], or an object with start and "
                "end, or with answer_start and text",
            )


def _of_row(spec: SpanColumn, row: Mapping[str, Any]) -> tuple[Any, list[_SpanPlace]]:
    if spec.column is not None:
        value = row[spec.column]
        if is_missing(value) or value == "":
            return None, []
        structure = _structure(value)
        return structure, list(_places(structure))
    values = {name: row[name] for name in spec.columns}
    if is_missing(values[str(spec.start)]) or values[str(spec.start)] == "":
        return None, []
    text = None
    if spec.text is not None:
        text = "" if is_missing(values[spec.text]) else str(values[spec.text])
    return values, [_SpanPlace(values, spec.start, spec.end, text)]


def placed_spans(
    spec: SpanColumn, row: Mapping[str, Any], text: str
) -> tuple[list[tuple[int, int]], str, str]:
    """The spans of one row that stand in its text, and why others do not: two sentences.

    The first tells of the first span that starts at -1 (nowhere), the second of the first other
    span that is misplaced. A sentence is empty where there is no such span.

    Example:
        >>> placed_spans(SpanColumn("text", "spans"), {"spans": [[0, 2], [5, 9]]}, "is red")
        ([(0, 2)], '', 'the span 5:9 is outside of the text, which has 6 characters')
    """
    standing: list[tuple[int, int]] = []
    nowhere = misplaced = ""
    for place in _of_row(spec, row)[1]:
        problem, span = _problem(place, text), place.span()
        if not problem:
            standing.append(span)
        elif span[0] < 0:
            nowhere = nowhere or problem
        else:
            misplaced = misplaced or problem
    return standing, nowhere, misplaced


def _problem(place: _SpanPlace, text: str) -> str:
    """Why a span does not stand in a text; empty if it does."""
    start, end = place.span()
    if start < 0 or end > len(text) or start > end:
        return f"the span {start}:{end} is outside of the text, which has {len(text)} characters"
    if place.text is not None and text[start:end] != place.text:
        return f"the text at position {start} is not {place.text!r}"
    return ""


def moved_spans(
    spec: SpanColumn, row: Mapping[str, Any], original: str, carry: CharacterMap
) -> dict[str, Any] | str:
    """The new values of the span columns after a rewrite, or why there are none.

    Example:
        >>> row = {"start": "3", "answer": "red"}
        >>> spec = SpanColumn.parse("text=start+answer")
        >>> moved_spans(spec, row, "is red", lambda start, end: (start + 2, end + 2))
        {'start': '5', 'answer': 'red'}
        >>> moved_spans(spec, row, "is red", lambda start, end: None)
        "the span 'red' was touched"
    """
    structure, places = _of_row(spec, row)
    for place in places:
        if problem := _problem(place, original):
            return problem
        start, end = place.span()
        moved = carry(start, end)
        if moved is None:
            return f"the span {original[start:end]!r} was touched"
        place.move(*moved)
    if not places:
        return {}
    if spec.column is None:
        return dict(structure)
    as_text = isinstance(row[spec.column], str)
    return {spec.column: json.dumps(structure, ensure_ascii=False) if as_text else structure}


def occurrences(text: str, value: str) -> list[tuple[int, int]]:
    """Every place of ``value`` in ``text``, overlapping ones too.

    Example:
        >>> occurrences("banana", "ana")
        [(1, 4), (3, 6)]
    """
    spans = []
    at = text.find(value) if value else -1
    while at >= 0:
        spans.append((at, at + len(value)))
        at = text.find(value, at + 1)
    return spans
