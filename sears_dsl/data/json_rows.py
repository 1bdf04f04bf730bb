"""JSON lines and arrays of JSON objects.

In: the text of a file. Out: `Batch`es of objects as columns, and parts of new files. Always holds:
an object without a change is written as it stood; of a changed one only the changed values are
written anew, so that numbers, spacing, escapes and the order of keys stay. Costs one decoding of
each row; an array is decoded row by row, never as a whole.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO

from sears_dsl.data.batches import Batch, Frame, JsonColumn, ReadOptions, cells
from sears_dsl.data.plain_text import (
    LineReader,
    TextFormat,
    encoded,
    json_text,
    lone_return,
    plain_value,
)
from sears_dsl.data.streams import JsonCursor, TextSource
from sears_dsl.errors import DataError

# `json.loads` without its looks for what hardly any line has: white space before the object.
_DECODE = json.JSONDecoder().raw_decode
_ASCII_TEXT = json.JSONEncoder(default=plain_value).encode
_SPACE = " \t\r\n"
_LINE_ENDS = ("\n", "\r\n", "")


def _objects(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Columns of objects; a key that a row lacks is null there."""
    names = dict.fromkeys(chain.from_iterable(rows))
    if all(len(row) == len(names) for row in rows):
        return {name: list(map(itemgetter(name), rows)) for name in names}
    return {name: [row.get(name) for row in rows] for name in names}


def _at_once(lines: list[str]) -> list[dict[str, Any]] | None:
    """The object of each line; None where it takes a look at each line to tell what it is.

    Between the lines stands a number that nobody can guess: where it is every other value, no line
    has more or less than one value.
    """
    mark = secrets.randbits(64)
    try:
        values = _DECODE(f"[{f',{mark},'.join(lines)}]", 0)[0]
    except (ValueError, RecursionError):
        return None
    rows, marks = values[::2], values[1::2]
    alike = len(values) == 2 * len(lines) - 1 and set(marks) <= {mark}
    return rows if alike and set(map(type, rows)) == {dict} else None


def _objects_written(columns: Mapping[str, Sequence[Any]], around: str) -> Iterator[str]:
    """Each row as an object, with ``%s`` in `around` standing for it."""
    keys = [json_text(name).replace("%", "%%") for name in columns]
    form = around % ("{" + ", ".join(f"{key}: %s" for key in keys) + "}")
    values = [
        column.json_texts() if isinstance(column, JsonColumn) else cells(column, json_text)
        for column in columns.values()
    ]
    return map(form.__mod__, zip(*values, strict=True))


def _spliced(text: str, new: Mapping[str, Any]) -> str:
    """A JSON object with the values of some keys written anew, all else as it stood."""
    written = _ASCII_TEXT if text.isascii() else json_text
    places: dict[str, tuple[int, int]] = {}
    at = text.index("{")
    while text[at] != "}":
        key, at = _DECODE(text, _after_space(text, at + 1))
        at = _after_space(text, _after_space(text, at) + 1)
        _, end = _DECODE(text, at)
        places[key] = (at, end)
        at = _after_space(text, end)
    for key in sorted(new.keys() & places, key=places.__getitem__, reverse=True):
        start, end = places[key]
        text = text[:start] + written(new[key]) + text[end:]
    return text


def _after_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


class _JsonFormat(TextFormat):
    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The object with the changed values written anew."""
        return _spliced(source, new)


class JsonLines(_JsonFormat):
    """An object a line; values that are no text are kept as they are."""

    name = "jsonl"

    def read(self, path: str, options: ReadOptions) -> _JsonLinesReader:
        """Open a file of objects."""
        return _JsonLinesReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """An object a line."""
        return encoded("".join(_objects_written(columns, "%s\n")), encoding)


class _JsonLinesReader(LineReader):
    def batches(self) -> Iterator[Batch]:
        """Batches; blank lines are part of the source of the row after them."""
        first = line = 0
        blank = ""
        limit = self.options.limit
        for lines in self.chunks():
            whole = _at_once(lines) if limit is None and not blank else None
            rows: list[dict[str, Any]] = whole or []
            sources: list[str] = lines if whole else []
            line += len(sources)
            for text in lines[len(sources) :]:
                line += 1
                if text.isspace():
                    blank += text
                    continue
                if first + len(rows) == limit:
                    break
                rows.append(self._row(text, line))
                sources.append(blank + text)
                blank = ""
            if rows:
                yield Batch(first, len(rows), _objects(rows), sources)
                first += len(rows)
            if first == limit:
                break
        if not first:
            yield Batch(0, 0, {}, [])
        self.epilogue = blank

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
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            if "}\r" in text.rstrip("\r\n"):
                raise lone_return(f"{self.name}, line {line}") from error
            raise DataError(f"{self.name}, line {line}: invalid JSON: {error}") from error


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(
            f'{place}: a row is an object such as {{"text": "…"}}, not {json_text(value)[:40]}'
        )
    return value


class JsonArray(_JsonFormat):
    """One array of objects, read and written row by row."""

    name = "json"

    def read(self, path: str, options: ReadOptions) -> _JsonArrayReader:
        """Open a file that holds an array."""
        return _JsonArrayReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """Objects, each after a comma; the first comma of the file goes when it is assembled."""
        return encoded("".join(_objects_written(columns, ",\n%s")), encoding)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """An array of the rows of all parts."""
        assemble_array(parts, output, frame, ("[", "\n]\n"))


def assemble_array(
    parts: Iterable[bytes], output: BinaryIO, frame: Frame, new: tuple[str, str]
) -> None:
    """Parts whose rows begin with commas, between prologue and epilogue."""
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


class JsonReader:
    """A JSON file that is read from one value to the next; its ends are kept as they are."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        source = TextSource(path, encoding=options.encoding, errors=options.errors)
        self.encoding = source.encoding
        self.prologue = ""
        self.epilogue = ""
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
                yield Batch(first, len(rows), _objects(rows), sources)
                first += len(rows)
                number += 1
                rows, sources, size = [], [], 0
        if rows or not first:
            yield Batch(first, len(rows), _objects(rows), sources)
        if cursor.peek() == "]":
            cursor.take("]")
            self.epilogue = cursor.cut() + cursor.rest()
        else:
            self.epilogue = "\n]\n"
