"""Csv a batch at a time: kernels find fields and write lines, as the csv module does row by row.

In: whole lines in UTF-8, or columns of texts. Out: columns that become texts when they are asked
for, or lines. Always holds: the rows are those of the csv module; what it would refuse is left to
it, and says so. Texts go between Python and kernels as pickles, since nothing else makes a list of
texts, or takes one, in a single call. Costs half a nanosecond a byte, and some 90 ns for each text
that Python gets; memory for the bytes, and four bytes a field.
"""

from __future__ import annotations

import csv
import pickle
import re
from collections.abc import Sequence
from io import StringIO
from typing import Any

import numpy as np

from sears_dsl.data.batches import JsonColumn, LazyColumns, Repeated, SourceRows
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer, UInt8Array
from sears_dsl.runtime.kernels import compiles, kernel

_QUOTE, _COMMA, _RETURN, _LINE_FEED = map(ord, '",\r\n')
# A list of texts as a pickle: its mark; of each text a code, four bytes that say how long it is,
# and its UTF-8; what makes a list of them, and what ends it. Python's own begins with an empty list
# (three bytes with the protocol), to which a text is appended, or all after a mark.
_MARK, _TEXT, _LIST, _STOP, _APPEND, _APPEND_ALL = map(ord, "(Xl.ae")
_HEAD = 5
_BEFORE_LIST = 3
_HALF_A_PAIR = re.compile(rb"\xed[\xa0-\xbf]")
# Places in bytes are numbers without a sign: none is looked at from behind, and to slice an array
# for each field would cost more than the field.
_FIRST, _ONE = np.uint64(0), np.uint64(1)


class FieldColumns(LazyColumns):
    r"""Columns of csv, made of its bytes, the rows as they stand, when they are asked for.

    Example:
        >>> columns = FieldColumns.of(b'1,"a ""b"" c"\n2,d\n', ["id", "text"])
        >>> list(columns["text"]), columns.source.bounds(1)
        (['a "b" c', 'd'], (14, 18))
    """

    def __init__(
        self, names: Sequence[str], of_file: Sequence[str], source: SourceRows, ends: Int32Array
    ) -> None:
        super().__init__(names)
        self._of_file = of_file
        self.source = source
        self._ends = ends

    @classmethod
    def of(cls, content: bytes, names: Sequence[str]) -> FieldColumns | None:
        """The columns of rows that end in whole lines; None where one is not as it should be."""
        ends = np.empty(len(content) + 1, np.int32)
        count = find_fields(np.frombuffer(content, np.uint8), len(names), ends)
        if count < 0:
            return None
        ends = ends[:count].copy()
        last = ends[len(names) - 1 :: len(names)]
        row_ends = np.minimum(np.maximum(last, ~last) + 1, len(content))
        return cls(names, names, SourceRows.until(content, row_ends), ends)

    def named(self, names: Sequence[str]) -> FieldColumns:
        """Some of the columns."""
        return FieldColumns(names, self._of_file, self.source, self._ends)

    def _values(self, name: str) -> list[str]:
        content, column = self.source.content, self._of_file.index(name)
        if compiles():
            return column_of(content, self._ends, len(self._of_file), column)
        # In another process, which has not got its kernels yet.
        rows = csv.reader(StringIO(content.decode(), newline="\n"), strict=True)
        return [row[column] for row in rows if row]

    def __reduce__(self) -> tuple[Any, ...]:
        return FieldColumns, (self._names, self._of_file, self.source, self._ends)


def column_of(content: bytes, ends: Int32Array, width: int, column: int) -> list[str]:
    """A column, from 0, of rows of csv, whose fields end as `find_fields` tells it."""
    data = np.frombuffer(content, np.uint8)
    pickled = np.empty(len(data) + _HEAD * (len(ends) // width) + 3, np.uint8)
    size = pickle_column(data, ends, width, column, pickled)
    values: list[str] = pickle.loads(pickled[:size].data)  # noqa: S301 - written a line before
    return values


class _Pieces(list[bytes]):
    """What a pickler writes: all texts in one piece, but for very long ones."""

    write = list.append


class _TextPickler(pickle.Pickler):
    def __init__(self, file: _Pieces) -> None:
        super().__init__(file, 3)
        self.fast = True  # a text that comes again is written again

    def reducer_override(self, value: object) -> Any:
        """What is not of a type of Python's own is not text."""
        raise pickle.PicklingError


def quoted_lines(columns: Sequence[Sequence[Any]]) -> bytes | None:
    r"""Rows as csv; None where a value is no text, or has no UTF-8.

    Example:
        >>> quoted_lines([["1", "2"], Repeated(["a, b"], [0, 0])])
        b'1,"a, b"\n2,"a, b"\n'
    """
    texts: list[Any] = []
    places = np.empty((len(columns), len(columns[0]) if columns else 0), np.int64)
    for number, column in enumerate(columns):
        own, of_row = column, np.arange(len(column))
        if isinstance(column, JsonColumn):
            own = column.json_texts()
        elif isinstance(column, Repeated):
            own, of_row = column.values, np.asarray(column.places, np.int64)
        places[number] = of_row + len(texts)
        texts += own
    pieces = _Pieces()
    try:
        _TextPickler(pieces).dump(texts)
    except pickle.PicklingError:
        return None
    pickled = np.frombuffer(b"".join(pieces), np.uint8)
    bounds = np.empty((2, len(texts)), np.int64)
    if not find_texts(pickled, bounds):
        return None
    most = 2 * (bounds[1] - bounds[0]) + len('"",')
    room = np.empty(int(most[places].sum()), np.uint8)
    lines = room[: int(write_lines(pickled, bounds, places, room))].tobytes()
    return None if b"\xed" in lines and _HALF_A_PAIR.search(lines) else lines


@kernel
def find_fields(data: UInt8Array, width: Integer, ends: Int32Array) -> Any:
    """Where the fields of whole rows of csv end; ``~end`` of a field with a quote that is doubled.

    There is room for as many ends as there can be. Returned is how many there are, those of a row
    that has no end left out; -1 where a row has not so many fields as the width, or is no csv.
    """
    length = np.uint64(len(data))
    at = _FIRST
    count = whole = column = 0
    while at < length or column > 0:  # an empty field may be the last thing
        if column == 0:
            begin = at
            while at < length and (data[at] == _LINE_FEED or data[at] == _RETURN):
                at += _ONE
            if at > begin and data[at - _ONE] != _LINE_FEED:
                return -1
            if at == length:
                break
        doubled = False
        if at < length and data[at] == _QUOTE:
            at += _ONE
            while True:
                while at < length and data[at] != _QUOTE:
                    at += _ONE
                at += _ONE
                if at >= length or data[at] != _QUOTE:
                    break
                doubled = True
                at += _ONE
            if at > length:
                break
        else:
            while (
                at < length
                and data[at] != _COMMA
                and data[at] != _LINE_FEED
                and data[at] != _RETURN
            ):
                at += _ONE
        column += 1
        if at == length or data[at] != _COMMA:
            while at < length and data[at] == _RETURN:
                at += _ONE
            if column != width or (at < length and data[at] != _LINE_FEED):
                return -1
            column = 0
        elif column == width:
            return -1
        end = np.int64(at)
        ends[count] = ~end if doubled else end
        count += 1
        at += _ONE
        if column == 0:
            whole = count
    return whole


@kernel
def pickle_column(
    data: UInt8Array, ends: Int32Array, width: Integer, column: Integer, pickled: UInt8Array
) -> Any:
    """A column of csv as a pickled list of texts; how many bytes it has."""
    pickled[0] = _MARK
    size = _ONE
    for field in range(column, len(ends), width):
        start = np.uint64(max(ends[field - 1], ~ends[field - 1]) + 1) if field else _FIRST
        end = np.uint64(max(ends[field], ~ends[field]))
        if column == 0:
            while data[start] == _LINE_FEED or data[start] == _RETURN:
                start += _ONE
        if column == width - 1:
            while end > start and data[end - _ONE] == _RETURN:
                end -= _ONE
        if end > start and data[start] == _QUOTE:
            start += _ONE
            end -= _ONE
        first = size + np.uint64(_HEAD)
        past = first
        if ends[field] < 0:
            second = False
            for place in range(end - start):
                code = data[start + place]
                pickled[past] = code
                second = code == _QUOTE and not second
                past += np.uint64(not second)
        else:
            past = copied(data, start, end, pickled, first)
        length = np.int64(past - first)
        pickled[size] = _TEXT
        for byte in range(4):
            pickled[size + np.uint64(1 + byte)] = (length >> 8 * byte) & 255
        size = past
    pickled[size] = _LIST
    pickled[size + _ONE] = _STOP
    return np.int64(size) + 2


@kernel
def copied(
    source: UInt8Array, start: np.uint64, end: np.uint64, target: UInt8Array, at: np.uint64
) -> Any:
    """Copy bytes to some place of others; one past the last there."""
    for place in range(end - start):
        target[at + place] = source[start + place]
    return at + end - start


@kernel
def find_texts(pickled: UInt8Array, bounds: Int64Array) -> Any:
    """Where the texts of a pickled list begin and end; whether it has nothing but texts."""
    at = _BEFORE_LIST
    for text in range(bounds.shape[1]):
        while pickled[at] in (_MARK, _APPEND, _APPEND_ALL):
            at += 1
        if pickled[at] != _TEXT:
            return False
        length = 0
        for byte in range(4):
            length += int(pickled[at + 1 + byte]) << 8 * byte
        at += _HEAD
        bounds[0, text] = at
        at += length
        bounds[1, text] = at
    return len(pickled) - at <= 2  # the last one is appended, and that is all


@kernel
def write_lines(
    pickled: UInt8Array,
    bounds: Int64Array,
    places: Int64Array,
    lines: UInt8Array,
) -> Any:
    """Texts (see `find_texts`) as rows of csv; how many bytes of the room for lines they take.

    ``places`` (columns, rows) are the numbers of the texts.
    """
    columns, rows = places.shape
    size = _FIRST
    for row in range(rows):
        for column in range(columns):
            text = places[column, row]
            start, end = np.uint64(bounds[0, text]), np.uint64(bounds[1, text])
            quotes = False
            others = columns == 1 and start == end
            for place in range(end - start):
                code = pickled[start + place]
                quotes |= code == _QUOTE
                others |= (code == _COMMA) | (code == _LINE_FEED) | (code == _RETURN)
            if quotes or others:
                lines[size] = _QUOTE
                size += _ONE
            if quotes:
                for place in range(end - start):
                    code = pickled[start + place]
                    lines[size] = code
                    size += _ONE
                    if code == _QUOTE:
                        lines[size] = code
                        size += _ONE
            else:
                size = copied(pickled, start, end, lines, size)
            if quotes or others:
                lines[size] = _QUOTE
                size += _ONE
            lines[size] = _COMMA if column < columns - 1 else _LINE_FEED
            size += _ONE
    return size
