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
from io import BytesIO, StringIO
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


class _TextPickler(pickle.Pickler):
    def __init__(self, file: BytesIO) -> None:
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
    content = BytesIO()
    try:
        _TextPickler(content).dump(texts)
    except pickle.PicklingError:
        return None
    written = content.getvalue()
    if b"\xed" in written and _HALF_A_PAIR.search(written):
        return None
    pickled = np.frombuffer(written, np.uint8)
    bounds = np.empty((len(texts), 2), np.int64)
    if not find_texts(pickled, bounds):
        return None
    most = 2 * (bounds[:, 1] - bounds[:, 0]) + len('"",')
    lines = np.empty(int(most[places].sum()), np.uint8)
    return lines[: write_lines(pickled, bounds, places, lines)].tobytes()


@kernel
def find_fields(data: UInt8Array, width: Integer, ends: Int32Array) -> Any:
    """Where the fields of whole rows of csv end; ``~end`` of a field with a quote that is doubled.

    There is room for as many ends as there can be. Returned is how many there are, those of a row
    that has no end left out; -1 where a row has not so many fields as the width, or is no csv.
    """
    length = len(data)
    at = count = whole = column = 0
    while at < length or column > 0:  # an empty field may be the last thing
        if column == 0:
            begin = at
            while at < length and (data[at] == _LINE_FEED or data[at] == _RETURN):
                at += 1
            if at > begin and data[at - 1] != _LINE_FEED:
                return -1
            if at == length:
                break
        doubled = False
        if at < length and data[at] == _QUOTE:
            at += 1
            while True:
                rest = data[at:]  # counted from 0, no place is looked at from behind
                size = 0
                while size < len(rest) and rest[size] != _QUOTE:
                    size += 1
                at += size + 1
                if at >= length or data[at] != _QUOTE:
                    break
                doubled = True
                at += 1
            if at > length:
                break
        else:
            rest = data[at:]
            size = 0
            while (
                size < len(rest)
                and rest[size] != _COMMA
                and rest[size] != _LINE_FEED
                and rest[size] != _RETURN
            ):
                size += 1
            at += size
        column += 1
        if at == length or data[at] != _COMMA:
            while at < length and data[at] == _RETURN:
                at += 1
            if column != width or (at < length and data[at] != _LINE_FEED):
                return -1
            column = 0
        elif column == width:
            return -1
        ends[count] = ~at if doubled else at
        count += 1
        at += 1
        if column == 0:
            whole = count
    return whole


@kernel
def pickle_column(
    data: UInt8Array, ends: Int32Array, width: Integer, column: Integer, pickled: UInt8Array
) -> Any:
    """A column of csv as a pickled list of texts; how many bytes it has."""
    pickled[0] = _MARK
    size = 1
    for field in range(column, len(ends), width):
        start = max(ends[field - 1], ~ends[field - 1]) + 1 if field else 0
        end = max(ends[field], ~ends[field])
        if column == 0:
            while data[start] == _LINE_FEED or data[start] == _RETURN:
                start += 1
        if column == width - 1:
            while end > start and data[end - 1] == _RETURN:
                end -= 1
        if end > start and data[start] == _QUOTE:
            start += 1
            end -= 1
        source = data[start:end]
        target = pickled[size + _HEAD :]
        length = 0
        if ends[field] < 0:
            second = False
            for code in source:
                target[length] = code
                second = code == _QUOTE and not second
                length += not second
        else:
            length = copied(source, target)
        pickled[size] = _TEXT
        for byte in range(4):
            pickled[size + 1 + byte] = (length >> 8 * byte) & 255
        size += _HEAD + length
    pickled[size] = _LIST
    pickled[size + 1] = _STOP
    return size + 2


@kernel
def copied(source: UInt8Array, target: UInt8Array) -> Any:
    """Copy bytes to where others begin; how many."""
    for place in range(len(source)):
        target[place] = source[place]
    return len(source)


@kernel
def find_texts(pickled: UInt8Array, bounds: Int64Array) -> Any:
    """Where the texts of a pickled list begin and end; whether it has nothing but texts."""
    at = _BEFORE_LIST
    for text in range(len(bounds)):
        while pickled[at] in (_MARK, _APPEND, _APPEND_ALL):
            at += 1
        if pickled[at] != _TEXT:
            return False
        length = 0
        for byte in range(4):
            length += int(pickled[at + 1 + byte]) << 8 * byte
        at += _HEAD
        bounds[text, 0] = at
        at += length
        bounds[text, 1] = at
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
    size = 0
    for row in range(rows):
        for column in range(columns):
            text = pickled[bounds[places[column, row], 0] : bounds[places[column, row], 1]]
            target = lines[size:]
            quotes = 0
            others = 0
            for code in text:
                quotes |= code == _QUOTE
                others |= (code == _COMMA) | (code == _LINE_FEED) | (code == _RETURN)
            length = 0
            if quotes:
                target[0] = _QUOTE
                length = 1
                for code in text:
                    target[length] = code
                    length += 1
                    target[length] = code  # the second one of two, if it stays
                    length += code == _QUOTE
                target[length] = _QUOTE
                length += 1
            elif others or (columns == 1 and len(text) == 0):
                target[0] = _QUOTE
                length = copied(text, target[1:]) + 2
                target[length - 1] = _QUOTE
            else:
                length = copied(text, target)
            target[length] = _COMMA if column < columns - 1 else _LINE_FEED
            size += length + 1
    return size
