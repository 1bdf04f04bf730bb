"""JSON lines and arrays of JSON objects.

In: the text of a file. Out: `Batch`es of objects as columns, and parts of new files. Always holds:
an object without a change is written as it stood; of a changed one only the changed values are
written anew, so that numbers, spacing, escapes and the order of keys stay. Only Python's json
module decodes values. Costs one decoding of each row; an array is decoded row by row, never as a
whole. Where all lines have their keys as the first has them, compiled kernels find the values, and
these are decoded column by column, without an object for each row.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np

from sears_dsl.data import batches
from sears_dsl.data.batches import Batch, SourceRows, encoded, json_text
from sears_dsl.data.streams import JsonCursor, TextSource, line_ends, line_feeds
from sears_dsl.errors import DataError
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer, UInt8Array
from sears_dsl.runtime.files import parse_json
from sears_dsl.runtime.kernels import compiles, expect, kernel

# As `json.loads`, but without looking for white space before the object: hardly any line has it.
_DECODE = json.JSONDecoder().raw_decode
_ASCII_TEXT = json.JSONEncoder(default=batches.plain_value).encode
_SPACE = " \t\r\n"
_LINE_FEED = "\n"
# Bytes that are read in the time of one step of a kernel in plain Python.
_BYTES_A_STEP = 800
_LINE_ENDS = ("\n", "\r\n", "")


def _objects(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Columns of objects; a key that a row lacks is null there."""
    names = dict.fromkeys(chain.from_iterable(rows))
    if all(len(row) == len(names) for row in rows):
        return {name: list(map(itemgetter(name), rows)) for name in names}
    return {name: [row.get(name) for row in rows] for name in names}


def _at_once(text: str, count: int) -> list[dict[str, Any]] | None:
    """The objects of ``count`` lines; None where the lines have to be looked at one by one.

    The lines are decoded as one array, with a number between them that nobody can guess. If that
    number is every other value, each line has exactly one value.
    """
    mark = secrets.randbits(64)
    array = f"[{text.removesuffix(_LINE_FEED).replace(_LINE_FEED, f',{mark},')}]"
    try:
        values, end = _DECODE(array, 0)
    except (ValueError, RecursionError):
        return None
    rows, marks = values[::2], values[1::2]
    alike = end == len(array) and len(values) == 2 * count - 1 and set(marks) <= {mark}
    return rows if alike and set(map(type, rows)) == {dict} else None


def _objects_written(columns: Mapping[str, Sequence[Any]], around: str) -> Iterator[str]:
    """Each row as an object, with ``%s`` in `around` standing for it."""
    keys = [json_text(name).replace("%", "%%") for name in columns]
    form = around % ("{" + ", ".join(f"{key}: %s" for key in keys) + "}")
    values = [batches.cell_texts(column, json_text) for column in columns.values()]
    return map(form.__mod__, zip(*values, strict=True))


def with_values(source: str, new: Mapping[str, str]) -> str:
    """A JSON object with other values of some of its keys, given as JSON, all else as it stood.

    Example:
        >>> with_values('{"n": 1.50,  "text": "a"}', {"text": '"b"'})
        '{"n": 1.50,  "text": "b"}'
    """
    places = _value_places(source)
    for key in sorted(new.keys() & places, key=places.__getitem__, reverse=True):
        start, end = places[key]
        source = source[:start] + new[key] + source[end:]
    return source


def value_of(source: str, key: str) -> tuple[str, str, str]:
    """What stands before the value of a key of a JSON object, the value, and what stands after."""
    start, end = _value_places(source)[key]
    return source[:start], source[start:end], source[end:]


def values_of_array(text: str) -> list[str]:
    """The values of a JSON array as they stand, with the white space around them.

    Example:
        >>> values_of_array('[1.50, {"a": [2]} ]')
        ['1.50', ' {"a": [2]} ']
    """
    values, at = [], 1
    while at < len(text) and text[start := _after_space(text, at)] != "]":
        end = _after_space(text, _DECODE(text, start)[1])
        values.append(text[at:end])
        at = end + 1
    return values


def _value_places(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of a JSON object stand; for a key that comes again, the last value."""
    places: dict[str, tuple[int, int]] = {}
    at = text.index("{")
    while text[at] != "}":
        key, at = _DECODE(text, _after_space(text, at + 1))
        at = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODE(text, at)
        places[key] = (at, end)
        at = _after_space(text, end)
    return places


def _after_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


class _JsonFormat(batches.TextFormat):
    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The object with the changed values written anew, all else as it stood."""
        written = _ASCII_TEXT if source.isascii() else json_text
        return with_values(source, {key: written(value) for key, value in new.items()})


class JsonLines(_JsonFormat):
    """An object a line; values that are not text are kept as they are."""

    name = "jsonl"

    def read(self, path: str, options: batches.ReadOptions) -> _JsonLinesReader:
        """Open a file of objects."""
        return _JsonLinesReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """An object a line."""
        return encoded("".join(_objects_written(columns, "%s\n")), encoding)


class _JsonLinesReader(batches.LineReader):
    def batches(self) -> Iterator[Batch]:
        """Batches; the source of a row includes the blank lines before it."""
        first = line = 0
        blank = b""
        limit = self.options.limit
        for chunk in self.chunks():
            content = blank + chunk
            columns = self._columns(content) if limit is None and not blank else None
            source = SourceRows(content)
            if columns is None:
                most = None if limit is None else limit - first
                columns, source, blank = self._one_by_one(content, line, most)
            if source.content:
                yield Batch(first, len(source), columns, source)
                first += len(source)
                line += line_feeds(source.content)
            if first == limit:
                break
        if not first:
            yield Batch(0, 0, {}, SourceRows(b""))
        self.epilogue = blank.decode()

    def _columns(self, content: bytes) -> dict[str, list[Any]] | None:
        """The columns of lines that are all objects; None where one may be something else."""
        expect(len(content) // _BYTES_A_STEP)
        columns = columns_of_lines(content) if compiles() else None
        if columns is None:
            text = content.decode()
            rows = _at_once(text, line_feeds(content) + (not text.endswith(_LINE_FEED)))
            columns = _objects(rows) if rows else None
        return columns

    def _one_by_one(
        self, content: bytes, before: int, most: int | None
    ) -> tuple[dict[str, list[Any]], SourceRows, bytes]:
        """The columns of at most ``most`` rows, the rows as they stand, the blank lines after."""
        rows: list[dict[str, Any]] = []
        ends: list[int] = []
        end_of_blank = 0
        lines = StringIO(content.decode(), newline=_LINE_FEED)
        for line, (text, end) in enumerate(
            zip(lines, line_ends(content).tolist(), strict=True), start=before + 1
        ):
            if not text.isspace():
                if len(rows) == most:
                    break
                rows.append(self._row(text, line))
                ends.append(end)
            end_of_blank = end
        source = SourceRows.until(content, np.array(ends, np.int64))
        return _objects(rows), source, content[len(source.content) : end_of_blank]

    def _row(self, text: str, line: int) -> dict[str, Any]:
        try:
            value, end = _DECODE(text, 0)
        except (ValueError, RecursionError):
            value, end = None, 0
        if text[end:] not in _LINE_ENDS:
            value = self._decoded(text, line)
        return value if type(value) is dict else _object(value, f"{self.name}, line {line}")

    def _decoded(self, text: str, line: int) -> Any:
        try:
            return parse_json(text)
        except ValueError as error:
            if "}\r" in text.rstrip("\r\n"):
                raise batches.lone_return_error(f"{self.name}, line {line}") from error
            why = f"{error}"
            if isinstance(error, json.JSONDecodeError):
                why = f"{error.msg} at column {error.colno}"
            raise DataError(f"{self.name}, line {line}: invalid JSON: {why}") from error


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(
            f'{place}: a row is an object such as {{"text": "…"}}, not {json_text(value)[:40]}'
        )
    return value


class JsonArray(_JsonFormat):
    """One array of objects, read and written row by row."""

    name = "json"

    def read(self, path: str, options: batches.ReadOptions) -> _JsonArrayReader:
        """Open a file that holds an array."""
        return _JsonArrayReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """Objects, each after a comma; the first comma of the file goes when it is assembled."""
        return encoded("".join(_objects_written(columns, ",\n%s")), encoding)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: batches.Frame) -> None:
        """An array of the rows of all parts."""
        assemble_array(parts, output, frame, ("[", "\n]\n"))


def assemble_array(
    parts: Iterable[bytes], output: BinaryIO, frame: batches.Frame, new: tuple[str, str]
) -> None:
    """Write parts whose rows begin with commas, between prologue and epilogue."""
    around = frame.around or (lambda: new)
    output.write(encoded(around()[0], frame.encoding))
    first = True
    for part in parts:
        if part and first:
            text = part.decode(frame.encoding)
            part = encoded(re.sub(r"^\s*,", "", text), frame.encoding)  # noqa: PLW2901
            first = False
        output.write(part)
    output.write(encoded(around()[1], frame.encoding))


class JsonReader(batches.Reader):
    """A JSON file, read one value at a time; the text around its rows is kept as it is."""

    def __init__(self, path: str, options: batches.ReadOptions) -> None:
        source = TextSource(path, encoding=options.encoding, errors=options.errors)
        self.encoding = source.encoding
        self._options = options
        self._cursor = JsonCursor(source)


class _JsonArrayReader(JsonReader):
    def batches(self) -> Iterator[Batch]:
        """Batches; rows carry the comma before them in their source."""
        cursor = self._cursor
        options = self._options
        cursor.take("[")
        self.prologue = cursor.cut()
        rows: list[dict[str, Any]] = []
        sources: list[str] = []
        first = size = number = 0
        while cursor.peek() != "]" and first + len(rows) != options.limit:
            if first or rows:
                cursor.take(",")
            value = cursor.value()
            rows.append(_object(value, f"{cursor.name}, row {first + len(rows) + 1}"))
            sources.append(cursor.cut())
            size += len(sources[-1])
            most, characters = options.bounds(number)
            if len(rows) >= most or size >= characters:
                yield Batch(first, len(rows), _objects(rows), SourceRows.of(sources))
                first += len(rows)
                number += 1
                rows, sources, size = [], [], 0
        if rows or not first:
            yield Batch(first, len(rows), _objects(rows), SourceRows.of(sources))
        if cursor.peek() == "]":
            cursor.take("]")
            self.epilogue = cursor.cut() + cursor.rest()
        else:
            self.epilogue = "\n]\n"


_QUOTE, _BACKSLASH, _COMMA, _OPEN, _CLOSE = map(ord, '"\\,[]')
_BRACE_OPEN, _BRACE_CLOSE = map(ord, "{}")
_AFTER_SPACE = ord(" ")


def columns_of_lines(content: bytes) -> dict[str, list[Any]] | None:
    r"""The columns of lines of objects; None unless all have their keys as the first has them.

    Example:
        >>> columns_of_lines(b'{"n": 1, "text": "a"}\n{"n": [2], "text": null}\n')
        {'n': [1, [2]], 'text': ['a', None]}
    """
    if not content.endswith(b"\n"):
        content += b"\n"
    first = content[: content.index(b"\n") + 1].decode()
    try:
        if not isinstance(json.loads(first), dict):
            return None
        places = _value_places(first)
    except (ValueError, RecursionError):
        return None
    if not places or sorted(places.values()) != list(places.values()):
        return None
    # What stands around the values, and where these pieces end.
    starts, stops = zip(*places.values(), strict=True)
    between = [
        first[stop:start].encode()
        for stop, start in zip((0, *stops), (*starts, len(first)), strict=True)
    ]
    pieces = np.frombuffer(b"".join(between), np.uint8)
    piece_ends = np.cumsum(list(map(len, between)))
    data = np.frombuffer(content, np.uint8)
    count = line_feeds(content)
    bounds = np.empty((count, 2 * len(places)), np.int32)
    if find_values(data, pieces, piece_ends, bounds) != count:
        return None
    columns: dict[str, list[Any]] = {}
    joined = np.empty(len(data) + 2, np.uint8)
    for number, name in enumerate(places):
        size = join_values(data, bounds[:, 2 * number : 2 * number + 2], joined)
        array = joined[:size].tobytes().decode()
        try:
            columns[name], end = _DECODE(array, 0)
        except (ValueError, RecursionError):
            return None
        if end != len(array) or len(columns[name]) != count:
            return None
    return columns


@kernel
def find_values(
    data: UInt8Array, pieces: UInt8Array, piece_ends: Int64Array, bounds: Int32Array
) -> Any:
    """Find the values of lines; returns how many lines have all pieces, up to one that has not.

    ``pieces`` stand before, between and behind the values of a line, and end at ``piece_ends``.
    ``bounds``, (lines, 2 for a value), gets where the values begin and end; they are not checked.
    """
    length = len(data)
    at = 0
    for line in range(len(bounds)):
        begin = 0
        for piece in range(len(piece_ends)):
            if piece > 0:
                bounds[line, 2 * piece - 2] = at
                at = end_of_value(data, at)
                bounds[line, 2 * piece - 1] = at
            end = piece_ends[piece]
            if length - at < end - begin:
                return line
            piece_of_line = data[at : at + end - begin]
            same = True
            for place in range(len(piece_of_line)):
                same &= piece_of_line[place] == pieces[begin + place]
            if not same:
                return line
            at += end - begin
            begin = end
    return len(bounds)


@kernel
def end_of_value(data: UInt8Array, at: Integer) -> Any:
    """Where the value that begins at ``at`` ends, if there is one."""
    length = len(data)
    depth = 0
    while at < length:
        code = data[at]
        if code == _QUOTE:
            rest = data[at + 1 :]
            size = 0
            while size < len(rest) and rest[size] != _QUOTE:
                if rest[size] == _BACKSLASH:
                    size += 2
                while size < len(rest) and rest[size] != _QUOTE and rest[size] != _BACKSLASH:
                    size += 1
            at += size + 2
        elif code in (_OPEN, _BRACE_OPEN):
            depth += 1
            at += 1
        elif code in (_CLOSE, _BRACE_CLOSE):
            depth -= 1
            at += 1
        elif depth > 0:
            at += 1
            continue
        else:  # a number or a name
            while at < length and data[at] > _AFTER_SPACE:
                if data[at] == _COMMA or data[at] == _CLOSE or data[at] == _BRACE_CLOSE:
                    break
                at += 1
            return at
        if depth <= 0:
            return at
    return length


@kernel
def join_values(data: UInt8Array, bounds: Int32Array, joined: UInt8Array) -> Any:
    """Write values as a JSON array; returns its size in bytes."""
    size = 0
    for line in range(len(bounds)):
        joined[size] = _COMMA if line else _OPEN
        value = data[bounds[line, 0] : bounds[line, 1]]
        target = joined[size + 1 :]
        for place in range(len(value)):
            target[place] = value[place]
        size += 1 + len(value)
    joined[size] = _CLOSE
    return size + 1
