"""Delimited text: csv in the dialect of spreadsheets, tsv without any quoting.

In: the lines of a file. Out: `Batch`es of text columns, and parts of new files. Always holds: a
row without a change is written as it stood, its quoting and line end included; in a changed row
only the changed fields are written anew. A row that does not fit its file is a `DataError` with
its line. Costs the standard csv reader; where every line is a row, rows cost nothing of their own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sears_dsl.data.batches import Batch, JsonColumn, ReadOptions, Repeated
from sears_dsl.data.plain_text import (
    LineReader,
    TextFormat,
    encoded,
    json_text,
    line_body,
    lone_return,
)
from sears_dsl.errors import DataError

# A longer field is most likely a quote that is never closed; larger values break some C compilers.
_LONGEST_FIELD = 1 << 27
_EMPTY = '""'
# Joins texts for a moment; where one of them holds it, they are taken one by one.
_SEPARATOR = "\x1f"
_LONE_RETURN = re.compile(r"\r(?!\n|$)")
_FIELD = {
    ",": re.compile(r'"(?:[^"]|"")*"|[^,\r\n]*'),
    "\t": re.compile(r'"(?:[^"]|"")*"|[^\t\r\n]*'),
}


class Delimited(TextFormat):
    """Rows of fields: csv in the dialect of spreadsheets, tsv without any quoting.

    A lone quote in a tsv is a character like others; fields there hold no tabs and no line ends.
    """

    def __init__(self, name: str, delimiter: str, *, quoting: bool) -> None:
        self.name = name
        self.delimiter = delimiter
        self.quoting = quoting

    def read(self, path: str, options: ReadOptions) -> _DelimitedReader:
        """Open a file and read its header."""
        return _DelimitedReader(path, options, self)

    def fields(self, values: Sequence[Any]) -> str:
        """Values as a line without its end."""
        # A single empty field is quoted: a blank line is no row.
        empty = _EMPTY if self.quoting and len(values) else ""
        return self.delimiter.join(map(self.field, values)) or empty

    def field(self, value: Any) -> str:
        """A value as it stands in a line."""
        cell = value if isinstance(value, str) else _cell(value)
        if self.quoting:
            if '"' in cell:
                return '"' + cell.replace('"', '""') + '"'
            if self.delimiter in cell or "\n" in cell or "\r" in cell:
                return f'"{cell}"'
        elif self.delimiter in cell or "\n" in cell or "\r" in cell:
            raise DataError(
                f"{cell[:60]!r} holds a tab or a line end and is no tsv field",
                help="write csv or jsonl",
            )
        return cell

    def header(self, names: Sequence[str]) -> str:
        """The names of the columns."""
        return self.fields(names) + "\n"

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """A line a row."""
        fields = list(map(self._fields, columns.values()))
        if self.quoting and len(fields) == 1:
            fields = [[field or _EMPTY for field in fields[0]]]
        lines = map(self.delimiter.join, zip(*fields, strict=True))
        return encoded("\n".join([*lines, ""]), encoding)

    def _fields(self, column: Sequence[Any]) -> list[str]:
        """A column as fields, its texts taken together where that is sure to be the same."""
        if isinstance(column, JsonColumn):
            column = column.json_texts()
        elif isinstance(column, Repeated):
            fields = self._fields(column.values)
            return list(map(fields.__getitem__, column.places))
        kinds = set(map(type, column))
        if kinds <= {int, float}:
            return list(map(str, column))
        if not self.quoting or kinds != {str}:
            return list(map(self.field, column))
        joined = _SEPARATOR.join(column)
        marks = [mark for mark in ('"', self.delimiter, "\n", "\r") if mark in joined]
        if not marks:
            return list(column)
        if '"' in marks:
            doubled = joined.replace('"', '""').split(_SEPARATOR)
            if len(doubled) != len(column):
                return list(map(self.field, column))
            column = doubled
        if len(marks) == 1:
            [mark] = marks
            return [f'"{text}"' if mark in text else text for text in column]
        marked = re.compile(f"[{''.join(marks)}]").search
        return [f'"{text}"' if marked(text) else text for text in column]

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The row with the changed fields written anew, the others as they stood."""
        text = source.lstrip("\r\n")  # blank lines before the row
        blank = source[: len(source) - len(text)]
        if self.quoting and '"' in text:
            return blank + self._replaced_in_quotes(text, names, new)
        # A quoting format has carriage returns before the line feed only as part of the line end.
        body = text.rstrip("\r\n") if self.quoting else line_body(text)
        fields = body.split(self.delimiter)
        for name, value in new.items():
            fields[names.index(name)] = self.fields([value])
        return blank + self.delimiter.join(fields) + text[len(body) :]

    def _replaced_in_quotes(self, text: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        spans = self._field_spans(text)
        for name, value in sorted(new.items(), key=lambda item: -names.index(item[0])):
            start, end = spans[names.index(name)]
            field = self.fields([value])
            if text.startswith('"', start) and not field.startswith('"'):
                field = '"' + field + '"'
            text = text[:start] + field + text[end:]
        return text

    def _field_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the fields of a row stand; the strict reader has accepted it before."""
        spans = []
        at = 0
        pattern = _FIELD[self.delimiter]
        while True:
            match = pattern.match(text, at)
            start, end = match.span() if match else (at, at)
            spans.append((start, end))
            if not text.startswith(self.delimiter, end):
                return spans
            at = end + 1


class _DelimitedReader(LineReader):
    """Rows of fields, a chunk of lines at a time.

    Where every line of a chunk is a row, which is nearly always, the lines are the sources of the
    rows; where a field goes over several lines, or lines are blank, rows are read one by one.
    """

    def __init__(self, path: str, options: ReadOptions, form: Delimited) -> None:
        super().__init__(path, options)
        if csv.field_size_limit() < _LONGEST_FIELD:
            csv.field_size_limit(_LONGEST_FIELD)
        self._form = form
        self._width: int | None = None
        self._line = 0  # lines whose rows came before the present chunk
        self._blank = ""  # blank lines whose row is still to come
        self._chunks = self.chunks()
        self._blocks = self._parsed()
        self._names: list[str] = []
        self._ahead = next(self._blocks, None)
        if self._ahead is None:
            if options.header:
                raise DataError(
                    f"{self.name} is empty: it has not even a line with the names of its columns"
                )
        elif options.header:
            self._names = self._ahead[0].pop(0)
            self.prologue += self._ahead[1].pop(0)
            self._check_names()
        else:
            self._names = [str(number + 1) for number in range(len(self._ahead[0][0]))]

    def _check_names(self) -> None:
        without = "the file may have no header: --no-header names its columns 1, 2, …"
        for number, name in enumerate(self._names):
            if "\r" in name and not self._form.quoting:
                raise lone_return(f"{self.name}, line 1")
            if not name:
                raise DataError(f"{self.name}: column {number + 1} has no name", help=without)
            if name in self._names[:number]:
                raise DataError(
                    f"{self.name}: columns {self._names.index(name) + 1} and {number + 1} are both "
                    f"named {name!r}",
                    help=without,
                )

    def _parsed(self) -> Iterator[tuple[list[list[str]], list[str]]]:
        """Rows with their sources; blank lines are part of the source of the row after them."""
        line_count = 0
        for lines in self._chunks:
            rows = self._line_by_line(lines)
            if rows is None:
                rows, sources = self._quoted(lines) if self._form.quoting else self._split(lines)
            else:
                sources = lines
                if self._blank:
                    sources[0] = self._blank + sources[0]
                    self._blank = ""
            line_count += len(lines)
            if rows:
                self._check_widths(rows, sources)
                yield rows, sources
            self._line = line_count - self._blank.count("\n")

    def _line_by_line(self, lines: list[str]) -> list[list[str]] | None:
        """A row for every line; None where it is not as simple as that."""
        if not self._form.quoting:
            delimiter = self._form.delimiter
            rows = [line_body(line).split(delimiter) for line in lines]
            return None if [""] in rows and self._width != 1 else rows
        try:
            rows = list(csv.reader(lines, delimiter=self._form.delimiter, strict=True))
        except csv.Error:
            return None
        return rows if len(rows) == len(lines) and all(rows) else None

    def _quoted(self, lines: list[str]) -> tuple[list[list[str]], list[str]]:
        """Rows of a chunk one by one; the last may take lines of the next chunk."""
        position = 0

        def feed() -> Iterator[str]:
            nonlocal position
            while position < len(lines) or self._append_chunk(lines):
                position += 1
                yield lines[position - 1]

        reader = csv.reader(feed(), delimiter=self._form.delimiter, strict=True)
        rows: list[list[str]] = []
        sources: list[str] = []
        while position < len(lines):
            start = position
            try:
                row = next(reader)
            except csv.Error as error:
                if _LONE_RETURN.search("".join(lines[start:position])):
                    raise lone_return(f"{self.name}, line {self._line_of(sources) + 1}") from error
                raise DataError(
                    f"{self.name}, line {self._line_of(sources) + 1}: invalid csv: {error}",
                    help="a quote inside a quoted field is written twice; a file without quoting "
                    "is read with --format tsv if tabs part its columns",
                ) from error
            source = "".join(lines[start:position])
            if row:
                rows.append(row)
                sources.append(self._blank + source)
                self._blank = ""
            else:
                self._blank += source
        return rows, sources

    def _append_chunk(self, lines: list[str]) -> bool:
        more = next(self._chunks, None)
        lines.extend(more or ())
        return more is not None

    def _split(self, lines: list[str]) -> tuple[list[list[str]], list[str]]:
        """Rows of a chunk that has blank lines, which a file of several columns may have."""
        rows: list[list[str]] = []
        sources: list[str] = []
        for line in lines:
            if line_body(line):
                rows.append(line_body(line).split(self._form.delimiter))
                sources.append(self._blank + line)
                self._blank = ""
            else:
                self._blank += line
        return rows, sources

    def _line_of(self, sources: Sequence[str]) -> int:
        """Lines of the file up to and with these sources and the blank lines after them."""
        return self._line + sum(text.count("\n") for text in [*sources, self._blank])

    def _check_widths(self, rows: list[list[str]], sources: list[str]) -> None:
        width = self._width = self._width or len(rows[0])
        if set(map(len, rows)) == {width}:
            return
        at = next(index for index, row in enumerate(rows) if len(row) != width)
        blank = len(sources[at]) - len(sources[at].lstrip("\r\n"))
        line = self._line + sum(text.count("\n") for text in [*sources[:at], sources[at][:blank]])
        raise DataError(
            f"{self.name}, line {line + 1}: {len(rows[at])} fields in a file of {width} columns",
            help="a field that holds the separator must be quoted"
            if self._form.quoting
            else "a tsv field holds no tab; a quoted file is read with --format csv",
        )

    def batches(self) -> Iterator[Batch]:
        """Batches of whole rows, about as many as the options say."""
        first = 0
        limit = self.options.limit
        blocks = self._blocks if self._ahead is None else chain([self._ahead], self._blocks)
        while first != limit and (block := next(blocks, None)) is not None:
            left = None if limit is None else limit - first
            rows, sources = block[0][:left], block[1][:left]
            if rows:
                yield self._batch(first, rows, sources)
                first += len(rows)
        if not first:
            yield self._batch(0, [], [])
        if first != limit:
            self.epilogue = self._blank

    def _batch(self, first: int, rows: list[list[str]], sources: list[str]) -> Batch:
        values: Iterable[Sequence[str]] = (
            zip(*rows, strict=True) if rows else ([] for _ in self._names)
        )
        return Batch(first, len(rows), dict(zip(self._names, values, strict=True)), sources)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (list, dict, tuple, bool)):
        return json_text(value)
    return str(value)
