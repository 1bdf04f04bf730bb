"""Delimited text: csv in the dialect of spreadsheets, tsv without any quoting.

In: the lines of a file. Out: `Batch`es of text columns, and parts of new files. Always holds: a
row without a change is written as it stood, its quoting and line end included; in a changed row
only the changed fields are written anew. The first line of a csv tells its delimiter: a comma or,
where none stands between the names, a semicolon, tab or vertical bar, which spreadsheets write in
many languages. A row that does not fit its file is a `DataError` with its line. Python's csv module
reads rows one by one, at a microsecond a row and column, and reports invalid ones; compiled kernels
(`csv_kernels`) read and write csv a batch at a time.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from typing import Any

import numpy as np

from sears_dsl.data import batches
from sears_dsl.data.batches import Batch, Repeated, SourceRows
from sears_dsl.data.csv_kernels import LONGEST_FIELD, FieldColumns, allow_long_fields, quoted_lines
from sears_dsl.data.streams import line_ends
from sears_dsl.errors import DataError
from sears_dsl.runtime.kernels import compiles, expect

_EMPTY = '""'
# How another delimiter stands between two names, in a first line without a comma.
_BETWEEN_NAMES = {
    "\t": re.compile(r"\t"),
    ";": re.compile(r"[^\s;]\s?;(?:\s?;)*\s?[^\s;]"),
    "|": re.compile(r"[^\s|]\s?\|(?:\s?\|)*\s?[^\s|]"),
}
_QUOTED = r'"(?:[^"]|"")*"'
_FIRST_ROW = re.compile(rf'[\r\n]*((?:{_QUOTED}|[^"\r\n])*)')
# Spreadsheets take the delimiter from a line before the header: ``sep=;``.
_DELIMITER_LINE = re.compile(r"sep=([,;|\t])\r?\n")
_SAYS_MORE = re.compile("sep=[,;|\t]$|\ufeff")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_NO_HEADER = (
    "add a first line with the column names, or let the option `--no-header` call them 1, 2, …"
)
_LONE_RETURN = re.compile(r"\r(?!\n|$)")
_PLAIN = (int, float, datetime.date, datetime.time, *batches.PLAIN_TEXTS)
_OPEN_FIELD = "unexpected end of data"  # as the csv module says it
# The fields of a row that the strict reader has accepted.
_FIELDS = {each: re.compile(rf"(?:^|[{each}])({_QUOTED}|[^{each}\r\n]*)") for each in ",;|\t"}
# Bytes that the csv module reads in the time of one step of a kernel in plain Python.
_BYTES_A_STEP = 800


class Delimited(batches.TextFormat):
    """Rows of fields: csv in the dialect of spreadsheets, tsv without any quoting.

    A lone quote in a tsv is a character like others; fields there hold no tabs and no line ends.
    """

    def __init__(self, name: str, delimiter: str, *, quoting: bool) -> None:
        self.name = name
        self.delimiter = delimiter
        self.quoting = quoting

    def read(self, path: str, options: batches.ReadOptions) -> _DelimitedReader:
        """Open a file and read its header."""
        return _DelimitedReader(path, options, self)

    def header(self, names: Sequence[str]) -> str:
        """The names of the columns."""
        line = self.delimiter.join(self._column(names))
        if self.quoting and not line and names:
            line = _EMPTY  # a blank line is no row
        # Without quotes, the names could be split at another delimiter when they are read, or be
        # taken for a line that tells the delimiter or begins with a byte order mark.
        if self.quoting and (_delimiter_of(line) != self.delimiter or _SAYS_MORE.match(line)):
            line = self.delimiter.join('"' + name.replace('"', '""') + '"' for name in names)
        return f"{line}\n"

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """A line a row."""
        if self.quoting and self.delimiter == "," and compiles():
            # Most columns are texts already; to check that first costs as much as to write them.
            lines = quoted_lines(list(columns.values()))
            if lines is None:
                lines = quoted_lines(list(map(_texts, columns.values())))
            if lines is not None:
                return lines if encoding == "utf-8" else batches.encoded(lines.decode(), encoding)
        fields = [self._column(_texts(column)) for column in columns.values()]
        if self.quoting and len(fields) == 1:
            fields = [list(map(_only_field, fields[0]))]
        rows = map(self.delimiter.join, zip(*fields, strict=True))
        return batches.encoded("\n".join([*rows, ""]), encoding)

    def _column(self, texts: Sequence[str]) -> Sequence[str]:
        """Texts as they stand in lines."""
        if isinstance(texts, Repeated):
            return Repeated(self._column(texts.values), texts.places)
        # One call for all texts: a call for each would take half as long again.
        return (_quoted if self.quoting else _unquoted)(texts, self.delimiter)

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The row with the changed fields written anew, the others as they stood."""
        blank_lines = self.quoting or len(names) > 1  # in a tsv of one column they are rows
        text = source.lstrip("\r\n") if blank_lines else source
        blank = source[: len(source) - len(text)]
        if not self.quoting:
            fields = batches.line_body(text).split(self.delimiter)
        elif '"' in text:
            fields = _FIELDS[self.delimiter].findall(text)
        else:  # carriage returns before the line feed stand only in the line end
            fields = text.rstrip("\r\n").split(self.delimiter)
        end = text[len(self.delimiter.join(fields)) :]
        for name, value in new.items():
            at = names.index(name)
            # An empty one is quoted: it may be alone, and a blank line is no row.
            field = self._column([_cell(value)])[0] or (_EMPTY if self.quoting else "")
            if self.quoting and fields[at].startswith('"') and not field.startswith('"'):
                field = f'"{field}"'
            fields[at] = field
        return blank + batches.as_row(self.delimiter.join(fields) + end)


#: The csv formats by their delimiters.
CSV = {
    delimiter: Delimited(name, delimiter, quoting=True)
    for delimiter, name in (
        (",", "csv"),
        (";", "csv-semicolon"),
        ("\t", "csv-tab"),
        ("|", "csv-bar"),
    )
}


def _delimiter_of(content: str) -> str:
    """The delimiter of a csv, by its first row."""
    row = _FIRST_ROW.match(content)
    names = re.sub(_QUOTED, '""', row[1]) if row else ""
    others = (each for each, between in _BETWEEN_NAMES.items() if between.search(names))
    return "," if "," in names else next(others, ",")


def _goes_on(content: str) -> bool:
    """Whether the first row, or the blank lines before it, may go on after this content."""
    row = _FIRST_ROW.match(content)
    end = row.end() if row else 0
    # Within a field, a quote that is not doubled opens nothing.
    is_open = content.startswith('"', end) and content[max(0, end - 1) : end] in '",;|\t\r\n'
    return is_open or end == len(content)


class _DelimitedReader(batches.LineReader):
    """Rows of fields, a chunk of lines at a time.

    A row that goes on in the next chunk is read with that chunk. So are the blank lines at the end
    of a chunk, since they belong to the row after them.
    """

    form: Delimited

    def __init__(self, path: str, options: batches.ReadOptions, form: Delimited) -> None:
        super().__init__(path, options)
        allow_long_fields()
        self.form = form
        self._width = 0  # not known before the first row
        self._line = 0  # lines before those that `_one_by_one` reads

    def batches(self) -> Iterator[Batch]:
        """Batches of whole rows, about as large as the options say."""
        first, limit = 0, self.options.limit
        names, content, of_file = self._header()
        chunks = chain([content] if content else [], of_file, [b""])
        content, least = b"", 0
        while first != limit and (chunk := next(chunks, None)) is not None:
            content += chunk
            if chunk and len(content) < least:
                continue
            most = None if limit is None else limit - first
            columns, source = self._rows(names, content, last=not chunk, most=most)
            if source.content:
                yield Batch(first, len(source), columns, source)
                first += len(source)
            # Wait for twice as much, so that a long row is not searched again with every chunk.
            least = 0 if source.content else 2 * len(content)
            content = content[len(source.content) :]
        if not first:
            yield Batch(0, 0, {name: [] for name in names}, SourceRows(b""))
        if first != limit:
            self.epilogue = content.decode()

    def _header(self) -> tuple[list[str], bytes, Iterator[bytes]]:
        """The names of the columns, the content read after them, and the chunks that follow."""
        chunks = self.chunks()
        content = b""
        parted = self.form is not CSV[","] or not self.options.header
        while True:
            chunk = next(chunks, b"")
            content += chunk
            if not parted:
                content, parted = self._take_delimiter(content)
                if chunk and not parted:
                    continue
            rows, source = self._one_by_one(content, last=not chunk, most=1)
            if rows or not chunk:
                break
        if not self.options.header:
            self._width = len(rows[0]) if rows else 0
            return [str(number + 1) for number in range(self._width)], content, chunks
        if not rows:
            raise DataError(f"{self.name} is empty: it has no line with column names and no rows")
        [names] = rows
        header = source.content
        self._check_names(names)
        self._width = len(names)
        self.prologue += header.decode()
        return names, content[len(header) :], chunks

    def _take_delimiter(self, content: bytes) -> tuple[bytes, bool]:
        """Find the delimiter; a line ``sep=…`` goes from the content to the prologue.

        False if it may turn out to be another one, since the first row goes on.
        """
        text = content.decode()
        line = _DELIMITER_LINE.match(text)
        if line:
            self.prologue += line[0]
            self.form = CSV[line[1]]
            return text[line.end() :].encode(), True
        self.form = CSV[_delimiter_of(text)]
        return content, not _goes_on(text)

    def _check_names(self, names: Sequence[str]) -> None:
        for number, name in enumerate(names):
            if "\r" in name and not self.form.quoting:
                raise batches.lone_return_error(f"{self.name}, line 1")
            if not name:
                # The index of a data frame is a first column without a name.
                index = not number and all(names[1:]) and len(names) > 1
                raise DataError(
                    f"{self.name}: column {number + 1} has no name",
                    help="name it in the first line; if it is the index of a data frame, leave it "
                    "out with to_csv(…, index=False)"
                    if index
                    else f"perhaps the file has no header: {_NO_HEADER}",
                )
            if name in names[:number]:
                raise DataError(
                    f"{self.name}: columns {names.index(name) + 1} and {number + 1} are both "
                    f"named {name!r}",
                    help="give each column a name of its own; if the file has no header, "
                    f"{_NO_HEADER}",
                )

    def _rows(
        self, names: Sequence[str], content: bytes, *, last: bool, most: int | None
    ) -> tuple[Mapping[str, Sequence[str]], SourceRows]:
        """The whole rows in some lines, at most ``most``, as columns and as they stand."""
        at_once = self.form is CSV[","] and names and most is None and not last
        if at_once and len(content) < LONGEST_FIELD:
            expect(len(content) // _BYTES_A_STEP)
            columns = FieldColumns.of(content, names) if compiles() else None
            if columns is not None:
                return columns, columns.source
        rows, source = self._one_by_one(content, last=last, most=most)
        values: Iterator[Sequence[str]] = zip(*rows, strict=True)
        return dict(zip(names, values, strict=True)) if rows else {}, source

    def _one_by_one(
        self, content: bytes, *, last: bool, most: int | None
    ) -> tuple[list[list[str]], SourceRows]:
        """The whole rows in some lines, read row by row; ``last``: no more lines follow."""
        lines = StringIO(content.decode(), newline="\n")
        delimiter = self.form.delimiter
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        numbered: Iterator[tuple[int, list[str]]] = (
            ((reader.line_num, row) for row in reader)
            if self.form.quoting
            else enumerate((batches.line_body(line).split(delimiter) for line in lines), start=1)
        )
        ends = line_ends(content)
        self._line = self.lines - len(ends)
        rows: list[list[str]] = []
        last_lines: list[int] = []
        before = 0
        try:
            for line, row in numbered:
                if row and (self.form.quoting or self._width == 1 or row != [""]):
                    self._check_width(row, before)
                    rows.append(row)
                    last_lines.append(line)
                    if len(rows) == most:
                        break
                before = line
        except csv.Error as error:
            if last or str(error) != _OPEN_FIELD:
                begin, end = (
                    int(ends[line - 1]) if line else 0 for line in (before, reader.line_num)
                )
                raise self._invalid(content[begin:end].decode(), before, error) from error
        return rows, SourceRows.until(content, ends[np.array(last_lines, np.int64) - 1])

    def _check_width(self, row: Sequence[str], before: int) -> None:
        width = self._width or len(row)
        if len(row) != width:
            delimiter = self.form.delimiter
            # Commands in backticks: the functions of Python have no such option.
            others = " or ".join(
                f"`sears … --format {each.name}`"
                for each in CSV.values()
                if each.delimiter not in {",", delimiter}
            )
            raise DataError(
                f"{self.name}, line {self._line + before + 1}: {len(row)} fields, but the file has "
                f"{width} columns",
                help=f"{_NAMES[delimiter]} separate columns, and a field that holds one is quoted; "
                f"with another separator: {others}; if the first line is a row: "
                f"{_NO_HEADER}"
                if self.form.quoting
                else "a tsv field cannot hold a tab; to read quoted fields, use --format csv-tab",
            )

    def _invalid(self, row: str, before: int, error: csv.Error) -> DataError:
        place = f"{self.name}, line {self._line + before + 1}"
        if _LONE_RETURN.search(row):
            return batches.lone_return_error(place)
        return DataError(
            f"{place}: invalid csv: {error}",
            help="write a quote in a quoted field twice; to read a tab-separated file without "
            "quoting, use --format tsv",
        )


def _quoted(texts: Sequence[str], delimiter: str) -> list[str]:
    """Texts, in quotes where they hold a quote, a delimiter or a line end."""
    return [
        '"' + text.replace('"', '""') + '"'
        if '"' in text or delimiter in text or "\n" in text or "\r" in text
        else text
        for text in texts
    ]


def _unquoted(texts: Sequence[str], delimiter: str) -> Sequence[str]:
    """Texts of tsv, none of which may hold what ends a field."""
    for text in texts:
        if delimiter in text or "\n" in text or "\r" in text:
            raise DataError(
                f"a tsv field cannot hold a tab or a line end: {text[:60]!r}",
                help="write csv or jsonl",
            )
    return texts


def _only_field(field: str) -> str:
    """The only field of a row: a blank line is no row, and a name alone tells no delimiter.

    So readers take it to be the comma.
    """
    return f'"{field}"' if not field or ("," in field and field[0] != '"') else field


def _texts(column: Sequence[Any]) -> Sequence[str]:
    """A column as texts."""
    if isinstance(column, batches.JsonColumn):
        return column.json_texts()
    if isinstance(column, Repeated):
        return Repeated(_texts(column.values), column.places)
    return column if set(map(type, column)) <= {str} else list(map(_cell, column))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # a plain text, even of a subclass
    if value is None:
        return ""
    if isinstance(value, _PLAIN) and not isinstance(value, bool):
        return str(value)
    return batches.json_text(value)  # which refuses bytes, for one
