"""Csv a batch at a time: kernels find fields and write lines, as the csv module does row by row.

In: whole lines in UTF-8, or columns of texts. Out: columns that become texts when they are asked
for, or lines. Always holds: the rows are those of the csv module; content that it would refuse is
left to it, so that it reports the error. Texts pass between Python and kernels as pickles, since
nothing else makes or reads a list of texts in one call. Reading takes a third of a nanosecond a
byte, and some 80 ns for each text that Python gets; memory for the bytes, as much for their marks,
and four bytes a field. A third of the time of writing goes into the pickle, and a third into
looking for quotes and copying.
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
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer, UInt8Array, UInt64Array
from sears_dsl.runtime.kernels import compiles, kernel

#: A longer field is most likely a quote that is never closed; larger values break some C compilers.
LONGEST_FIELD = 1 << 27
_QUOTE, _COMMA, _RETURN, _LINE_FEED = map(ord, '",\r\n')
# The codes of a pickled list of texts. One that is made here has a mark; for each text a code, its
# length in four bytes and its UTF-8; then the codes for a list and for the end. One of Python's
# begins with the protocol and an empty list (three bytes), to which texts are appended.
_MARK, _TEXT, _LIST, _STOP, _APPEND, _APPEND_ALL, _EMPTY_LIST = map(ord, "(Xl.ae]")
_HEAD = 5
_BEFORE_LIST = 3
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
# Places in bytes are unsigned, so that numba need not check for negative ones. To slice an array
# for each field would cost more than the field.
_FIRST, _ONE = np.uint64(0), np.uint64(1)
# How many bytes are searched or copied at once.
_WORD = 8
_BYTES_OF_BLOCK = 128
_BLOCK, _TWO_WORDS = np.uint64(_BYTES_OF_BLOCK), np.uint64(2 * _WORD)
# From place n on: which bytes of a block belong to a text that is n bytes shorter than a block.
_INSIDE = np.arange(2 * _BYTES_OF_BLOCK) < _BYTES_OF_BLOCK
# A last text, so that a block can be read from any place in the others; its size, up to the end.
_PADDING = " " * _BYTES_OF_BLOCK
_PADDING_SIZE = _HEAD + _BYTES_OF_BLOCK + len("e.")
_NEXT_WORD = np.uint64(_WORD)
# Masks of each of the two marks (see `mark_ends`) in eight bytes.
_ENDS, _QUOTES = np.uint64(0x0101010101010101), np.uint64(0x0202020202020202)
_HALF, _QUARTER, _COUNT = np.uint64(32), np.uint64(16), np.uint64(15)


class FieldColumns(LazyColumns):
    r"""Columns of csv, each made from the bytes of the rows when it is asked for.

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
        """The columns of the whole rows in ``content``; None where one is not as it should be."""
        data = np.frombuffer(content, np.uint8)
        marks = np.empty(len(data) + _WORD, np.uint8)
        mark_ends(data, marks)
        ends = np.empty(len(data) + 1, np.int32)
        count = find_fields(data, words_of(marks), len(names), ends)
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
        # Another process, which has no compiled kernels yet, may ask for a column.
        allow_long_fields()
        rows = csv.reader(StringIO(content.decode(), newline="\n"), strict=True)
        return [row[column] for row in rows if row]

    def __reduce__(self) -> tuple[Any, ...]:
        return FieldColumns, (self._names, self._of_file, self.source, self._ends)


def allow_long_fields() -> None:
    """Let the csv module read long fields in this process, in which it may have read none yet."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))


def column_of(content: bytes, ends: Int32Array, width: int, column: int) -> list[str]:
    """The texts of a column, counted from 0; ``ends`` and ``width`` are those of `find_fields`."""
    data = np.frombuffer(content, np.uint8)
    longer = content if len(content) > _WORD else content + bytes(2 * _WORD)
    words = words_of(np.frombuffer(longer, np.uint8))
    pickled = np.empty(len(data) + _HEAD * (len(ends) // width) + 3 + _BYTES_OF_BLOCK, np.uint8)
    size = pickle_column(data, words, ends, width, column, pickled, words_of(pickled))
    values: list[str] = pickle.loads(pickled[:size].data)  # noqa: S301 - written a line before
    return values


def words_of(data: UInt8Array) -> UInt64Array:
    """For each place, the eight bytes from there on as one number; a view of nine bytes or more."""
    return np.ndarray((len(data) - _WORD + 1,), np.uint64, data, strides=(1,))


class _Pieces(list[bytes]):
    """A file for a pickler, as a list of what it writes: one piece, but for very long texts."""

    write = list.append


class _TextPickler(pickle.Pickler):
    def __init__(self, file: _Pieces) -> None:
        super().__init__(file, 3)
        self.fast = True  # a text that comes again is written again

    def reducer_override(self, value: object) -> Any:
        """Refuse objects of other types than Python's own, which are no texts."""
        raise pickle.PicklingError


def quoted_lines(columns: Sequence[Sequence[Any]]) -> bytes | None:
    """Rows as csv; None where a value is no text, or has no UTF-8."""
    texts: list[list[Any]] = []
    for column in columns:
        values = column
        if isinstance(column, JsonColumn):
            values = column.json_texts()
        elif isinstance(column, Repeated):
            values = column.values
        texts.append(values if type(values) is list else list(values))
    pieces = _Pieces()
    try:
        _TextPickler(pieces).dump([*texts, _PADDING])
    except pickle.PicklingError:
        return None
    pickled = np.frombuffer(b"".join(pieces), np.uint8)
    counts = np.array(list(map(len, texts)), np.int64)
    bounds = np.empty((2, int(counts.sum())), np.int64)
    needs = np.empty(bounds.shape[1], np.uint8)
    if not find_texts(pickled, counts, bounds, needs):
        return None
    places: Int64Array = np.arange(bounds.shape[1])
    most = 2 * len(pickled)  # the quotes around a text, and its end, take less than its head
    if any(isinstance(column, Repeated) for column in columns):
        of_rows = [getattr(column, "places", range(len(column))) for column in columns]
        firsts = np.cumsum(counts) - counts
        places = np.stack([np.asarray(own, np.int64) for own in of_rows]) + firsts[:, np.newaxis]
        most = int((2 * (bounds[1] - bounds[0]) + len('"",'))[places].sum()) + 2 * _BYTES_OF_BLOCK
    places = places.reshape(len(columns), len(columns[0]) if columns else 0)
    room = np.empty(most, np.uint8)
    size = write_lines(pickled, words_of(pickled), bounds, needs, places, room, words_of(room))
    lines = room[: int(size)].tobytes()
    return None if b"\xed" in lines and _SURROGATE.search(lines) else lines


@kernel
def mark_ends(data: UInt8Array, marks: UInt8Array) -> Any:
    """Mark the bytes that end a field: 1 a plain one, 2 a quoted one, 3 (behind all bytes) both."""
    for place in range(len(data)):
        code = data[place]
        ends = (code == _COMMA) | (code == _LINE_FEED) | (code == _RETURN)
        marks[place] = ends + 2 * (code == _QUOTE)
    for place in range(len(data), len(marks)):
        marks[place] = 3


@kernel
def unmarked(marks: np.uint64) -> Any:
    """How many of eight bytes stand before the first one whose lowest bit is set."""
    before = (marks - _ONE) & ~marks & _ENDS
    before += before >> _HALF
    before += before >> _QUARTER
    before += before >> _NEXT_WORD
    return before & _COUNT


@kernel
def find_fields(data: UInt8Array, words: UInt64Array, width: Integer, ends: Int32Array) -> Any:
    """Write where the fields of whole rows of csv end; ``~end`` for one with a doubled quote.

    ``words`` has for each byte the marks (see `mark_ends`) of the eight bytes from there on, and
    ``ends`` has room for all ends that there can be. Returns how many there are, without those of a
    last row that is not whole; -1 where a row is no csv, or has not ``width`` fields.
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
                marks = words[at] & _QUOTES
                while marks == _FIRST:
                    at += _NEXT_WORD
                    marks = words[at] & _QUOTES
                at += unmarked(marks >> _ONE) + _ONE
                if at >= length or data[at] != _QUOTE:
                    break
                doubled = True
                at += _ONE
            if at > length:
                break
        else:
            marks = words[at] & _ENDS
            while marks == _FIRST:
                at += _NEXT_WORD
                marks = words[at] & _ENDS
            at += unmarked(marks)
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
def pickle_column(  # noqa: PLR0917 - what there is, then what is made of it
    data: UInt8Array,
    words: UInt64Array,
    ends: Int32Array,
    width: Integer,
    column: Integer,
    pickled: UInt8Array,
    pickled_words: UInt64Array,
) -> Any:
    """Write a column of csv as a pickled list of texts; returns its size in bytes.

    ``words`` and ``pickled_words`` are views as `words_of` gives them.
    """
    length = np.uint64(len(data))
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
        quoted = np.uint64(end > start and data[start] == _QUOTE)
        start += quoted
        end -= quoted
        first = size + np.uint64(_HEAD)
        past = first
        if ends[field] < 0:
            second = False
            for place in range(end - start):
                code = data[start + place]
                pickled[past] = code
                second = code == _QUOTE and not second
                past += np.uint64(not second)
        elif end + _BLOCK > length:
            past = first + end - start
            for place in range(end - start):
                pickled[first + place] = data[start + place]
        elif end - start <= _TWO_WORDS:
            past = first + end - start
            pickled_words[first] = words[start]
            pickled_words[first + _NEXT_WORD] = words[start + _NEXT_WORD]
        else:
            past = copy_bytes(data, start, end, pickled, first)
        taken = np.int64(past - first)
        pickled[size] = _TEXT
        for byte in range(4):
            pickled[size + np.uint64(1 + byte)] = (taken >> 8 * byte) & 255
        size = past
    pickled[size] = _LIST
    pickled[size + _ONE] = _STOP
    return np.int64(size) + 2


@kernel
def copy_bytes(
    source: UInt8Array, start: np.uint64, end: np.uint64, target: UInt8Array, at: np.uint64
) -> Any:
    """Copy bytes to ``at`` in another array, a block at a time; returns one past the last there.

    Up to a block behind the copy is read and overwritten as well. A processor cannot predict how
    long a text is, and a wrong prediction costs as much as to copy a block.
    """
    past = at + end - start
    while at < past:
        for place in range(_BYTES_OF_BLOCK):
            target[at + np.uint64(place)] = source[start + np.uint64(place)]
        at += _BLOCK
        start += _BLOCK
    return past


@kernel
def find_texts(
    pickled: UInt8Array, counts: Int64Array, bounds: Int64Array, needs: UInt8Array
) -> Any:
    """Write where the texts of pickled lists begin and end; returns whether there is nothing else.

    The lists have ``counts`` texts, and stand in one list with a last text behind them. ``needs``
    gets 2 for a text with a quote, 1 for one with something else that needs quotes, else 0. The
    search costs little here, while the processor waits for the place of the next text.
    """
    at = _BEFORE_LIST
    text = 0
    for number in range(len(counts)):
        at = after_marks(pickled, at)
        if pickled[at] != _EMPTY_LIST:
            return False
        at += 1
        for _ in range(counts[number]):
            at = after_marks(pickled, at)
            if pickled[at] != _TEXT:
                return False
            length = 0
            for byte in range(4):
                length += int(pickled[at + 1 + byte]) << 8 * byte
            at += _HEAD
            bounds[0, text] = at
            bounds[1, text] = at + length
            quotes = others = False
            start, end = np.uint64(at), np.uint64(at + length)
            while start < end:
                outside = _BLOCK - min(end - start, _BLOCK)
                for place in range(_BYTES_OF_BLOCK):
                    code = pickled[start + np.uint64(place)]
                    inside = _INSIDE[outside + np.uint64(place)]
                    quotes |= (code == _QUOTE) & inside
                    others |= ((code == _COMMA) | (code == _LINE_FEED) | (code == _RETURN)) & inside
                start += _BLOCK
            needs[text] = 2 if quotes else others
            at += length
            text += 1
    at = after_marks(pickled, at)  # behind texts in a tuple stands the code that makes it
    return pickled[at] == _TEXT and len(pickled) - at == _PADDING_SIZE


@kernel
def after_marks(pickled: UInt8Array, at: Integer) -> Any:
    """The first place from ``at`` on that has no code for making a list."""
    while pickled[at] in (_MARK, _APPEND, _APPEND_ALL):
        at += 1
    return at


@kernel
def write_lines(  # noqa: PLR0917 - what there is, then what is made of it
    pickled: UInt8Array,
    words: UInt64Array,
    bounds: Int64Array,
    needs: UInt8Array,
    places: Int64Array,
    lines: UInt8Array,
    line_words: UInt64Array,
) -> Any:
    """Write texts (see `find_texts`) as rows of csv; returns how many bytes of ``lines`` they take.

    ``places`` (columns, rows) are the numbers of the texts; for words see `words_of`.
    """
    columns, rows = places.shape
    size = _FIRST
    for row in range(rows):
        for column in range(columns):
            text = places[column, row]
            start, end = np.uint64(bounds[0, text]), np.uint64(bounds[1, text])
            quotes = needs[text] > 1
            # Without a branch, which would be mispredicted as often as not.
            quoted = (needs[text] > 0) | ((columns == 1) & (start == end))
            lines[size] = _QUOTE
            size += np.uint64(quoted)
            if quotes:
                for place in range(end - start):
                    code = pickled[start + place]
                    lines[size] = code
                    size += _ONE
                    lines[size] = code
                    size += np.uint64(code == _QUOTE)
            elif end - start <= _TWO_WORDS:
                line_words[size] = words[start]
                line_words[size + _NEXT_WORD] = words[start + _NEXT_WORD]
                size += end - start
            else:
                size = copy_bytes(pickled, start, end, lines, size)
            lines[size] = _QUOTE
            size += np.uint64(quoted)
            lines[size] = _COMMA if column < columns - 1 else _LINE_FEED
            size += _ONE
    return size
