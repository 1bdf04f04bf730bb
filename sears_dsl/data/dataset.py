"""Datasets: from the name of a file to batches of rows with known columns and ids.

In: a path and what the user says about it. Out: a `Dataset` whose first batch has been read. Always
holds: a column that is used exists; ids that come from a column are distinct. Costs the memory of
one batch, and 12 bytes a row to check ids. Ids that count up, as row numbers do, cost nothing.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from operator import ne
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data import batches, streams
from sears_dsl.data.batches import DRAW, Batch, Format, Frame, PlainText, ReadOptions, SourceRows
from sears_dsl.data.columnar import ArrowValues, Columnar, untyped_columns
from sears_dsl.data.csv_rows import CSV, Delimited
from sears_dsl.data.json_rows import JsonArray, JsonLines
from sears_dsl.data.squad import Squad
from sears_dsl.errors import HALF_CHARACTER, DataError, UsageError
from sears_dsl.runtime.files import is_file, is_there, write_atomically

_ALL_FORMATS: tuple[Format, ...] = (
    *CSV.values(),
    Delimited("tsv", "\t", quoting=False),
    JsonLines(),
    JsonArray(),
    Columnar("parquet"),
    Columnar("arrow"),
    PlainText(),
    Squad(),
)
_FORMATS: Mapping[str, Format] = {form.name: form for form in _ALL_FORMATS}
FORMAT_NAMES = tuple(_FORMATS)
# The formats of new rows: what else there is holds a single column, or rows that were read from it.
_TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow")
_ALIASES = {"ndjson": "jsonl", "feather": "arrow", "ipc": "arrow", "text": "txt", "tab": "tsv"}
PLAIN_STREAM = "standard input is plain text unless you name its format: --format csv"
"""The advice where plain text lacks columns."""
_USUAL_TEXT_COLUMNS = ("text", "sentence", "question", "review")
_ID_COLUMN = "id"
# A column name with so many spaces is most likely a text, in a file without a header.
_SPACES = 3
_MOST_DIGITS = 18


def format_named(name: str) -> Format:
    """A format by its name.

    Example:
        >>> format_named("ndjson").name
        'jsonl'
    """
    form = _FORMATS.get(_ALIASES.get(name.lower(), name.lower()))
    if form is None:
        raise UsageError(
            f"there is no format {name!r}", help=f"the formats are {', '.join(FORMAT_NAMES)}"
        )
    return form


def format_of(path: str, explicit: str | None = None, *, reading: bool = True) -> Format:
    """The format of a file by its name; ``-`` is plain text unless ``explicit`` names another.

    A ``.json`` file that is to be read and begins with an object is taken for SQuAD.

    Example:
        >>> format_of("reviews.csv.gz").name
        'csv'
    """
    if not path:
        raise UsageError(
            "the file name is empty",
            help="name a file, or - for a standard stream; perhaps a shell variable is not set",
        )
    if explicit is None and path == streams.STANDARD_STREAM:
        explicit = "txt"
    compression = streams.compression_of(path)
    if explicit is not None:
        form = format_named(explicit)
    else:
        suffix = _suffix_of(path)
        if suffix not in _FORMATS and reading and not is_there(path):
            raise streams.no_such_file(path)
        if suffix not in _FORMATS:
            raise UsageError(
                f"the name of {path} does not show its format",
                help=f"let it end in one of these formats: {', '.join(FORMAT_NAMES)}; or, in a "
                f"command, name one: `sears … {'--format' if reading else '--output-format'} csv`",
            )
        form = _FORMATS[suffix]
        if form.name == "json" and reading and is_file(path):
            form = _FORMATS["squad" if streams.begins_with_object(path) else "json"]
    if form.binary and compression:
        raise UsageError(
            f"{path}: a {form.name} file is compressed inside, not as a whole",
            help=f"decompress it first; to write one, leave {compression} out of its name",
        )
    return form


def _suffix_of(path: str) -> str:
    """The suffix by which a format is known, without that of a compression."""
    name = path[: len(path) - len(streams.compression_of(path))]
    suffix = Path(name).suffix.lower().removeprefix(".")
    return _ALIASES.get(suffix, suffix)


def table_format(path: str) -> Format:
    """The format to write rows of several columns in, which the file's name has to show.

    Example:
        >>> table_format("adversaries.tsv").name
        'tsv'
    """
    if _suffix_of(path) not in _TABLES:
        raise UsageError(
            f"the name of {path} shows no format that holds several columns",
            help=f"let it end in one of these formats: {', '.join(_TABLES)}",
        )
    return format_of(path, reading=False)


def with_delimiter(form: Format, name: str) -> Format:
    """The format itself, except that plain csv takes the delimiter of the csv format ``name``.

    Example:
        >>> with_delimiter(format_named("csv"), "csv-semicolon").name
        'csv-semicolon'
    """
    return format_named(name) if form is CSV[","] and format_named(name) in CSV.values() else form


def is_stream(path: str) -> bool:
    """Whether a path is standard output, a device or a pipe, which cannot be replaced whole."""
    if path == streams.STANDARD_STREAM:
        return True
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


class Dataset:
    r"""A file being read. ``names`` are its columns; of JSON lines, those of the first batch.

    DataError: it cannot be read, or is not what its format says. UsageError: options do not fit it.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.csv")
        ...     _ = path.write_text("id,text\n7,It is.\n")
        ...     dataset = Dataset(str(path))
        ...     [list(batch.columns["text"]) for batch in dataset.batches()]
        [['It is.']]
    """

    def __init__(
        self, path: str, *, format_name: str | None = None, options: ReadOptions | None = None
    ) -> None:
        self.path = path
        self.format = format_of(path, format_name)
        self._before = streams.state_of(path)
        options = options or ReadOptions()
        self._limit = options.limit
        self._reader = self.format.read(path, options)
        self._batches = self._reader.batches()
        self.first = next(self._batches)
        # The first line of a csv tells its delimiter.
        self.format = self._reader.form or self.format
        self.names: tuple[str, ...] = tuple(self.first.columns)

    @property
    def format_name(self) -> str:
        """The name of the format."""
        return self.format.name

    @property
    def encoding(self) -> str:
        """The encoding of the file's text."""
        return self._reader.encoding

    @property
    def where(self) -> str:
        """What messages about columns call it: objects of JSON may have more of them later."""
        rows = self.first.rows
        whole = rows in (self.expected_rows, self._limit)
        if whole or self.format.name not in ("jsonl", "json"):
            return self.path
        return f"{self.path}, in its first {rows} rows,"

    @property
    def around(self) -> tuple[str, str]:
        """The text before and after the rows; complete when all batches have been read."""
        return self._reader.prologue, self._reader.epilogue

    @property
    def expected_rows(self) -> int | None:
        """About how many rows there are, by the size of the file; None where that says nothing."""
        source = self.first.source
        if self._before is None or not isinstance(source, SourceRows):
            return None
        if streams.compression_of(self.path) or not source.content:
            return None
        rows = self._before[1] * self.first.rows // len(source.content)
        return rows if self._limit is None else min(rows, self._limit)

    def batches(self) -> Iterator[Batch]:
        """All batches, the first included; can be read once."""
        return chain([self.first], self._batches)

    def check_unchanged(self) -> None:
        """Raise a DataError if the file changed while it was read."""
        if streams.state_of(self.path) != self._before:
            raise DataError(
                f"{self.path} changed while it was read",
                help="run the command again when nothing writes to that file any more",
            )

    def format_to_write(
        self, path: str, explicit: str | None = None, *, chained: bool, draws: int = 1
    ) -> Format:
        """The format of an output, by its ``explicit`` name or by its path.

        If ``chained``, these rows go into it, with a column for the draw where there are several;
        else records of their rewrites. UsageError: the format cannot hold them.
        """
        stream, squad = is_stream(path), self.format.name == "squad"
        form_name = explicit
        if explicit is None and stream:
            form_name = self.format.name if chained and not self.format.binary else "jsonl"
        form = format_of(path, form_name, reading=False)
        if squad and chained and form_name is None and form.name == "json":
            form = _FORMATS["squad"]
        elif chained and form_name is None:
            form = with_delimiter(form, self.format.name)
        names = (*self.names, *((DRAW,) if draws > 1 else ()))
        if form.binary and stream:
            problem = f"{form.name} cannot be written to a stream"
            advice = "name a file with --output"
        elif form.name == "squad" and not (squad and chained):
            problem = "SQuAD can be written only from a SQuAD file and with --mode chain"
            advice = "write jsonl"
        elif form.name == "squad" and draws > 1:
            problem = "a SQuAD file has no place for the column draw, which numbers the draws"
            advice = "write jsonl, with a row for each question: --output-format jsonl"
        elif chained and form.name == "txt" and len(names) > 1:
            problem = f"plain text has only one column, not {', '.join(names)}"
            advice = "write csv, tsv or jsonl"
        else:
            return form
        raise UsageError(problem, help=advice)


def require_column(names: Sequence[str], column: str, *, where: str) -> str:
    """The column, if it exists; else a `DataError` lists those that do.

    Example:
        >>> require_column(["id", "text"], "txt", where="a.csv")
        Traceback (most recent call last):
        sears_dsl.errors.DataError: a.csv has no column 'txt'; its columns are id, text
          = help: did you mean 'text'?
    """
    if column in names:
        return column
    near = difflib.get_close_matches(column, names, n=1)
    several = [name.strip() for name in re.split("[,+]", column)]
    advice = ""
    if len(several) > 1 and set(several) <= set(names):
        advice = f"name each by itself: {', '.join(several)}"
    elif near:
        advice = f"did you mean {near[0]!r}?"
    elif where == "-" and list(names) == ["text"]:
        advice = PLAIN_STREAM
    elif names and all(name.isdigit() for name in names):
        advice = "without a header, the columns are called 1, 2, …"
    elif any(name.endswith((".", "!", "?")) or name.count(" ") >= _SPACES for name in names):
        advice = "if its first line is a row, add a line with the column names before it"
    raise DataError(
        f"{where} has no column {column!r}; its columns are {_quoted(names) or '(none)'}",
        help=advice,
    )


def require_characters(text: str, *, where: str) -> None:
    """Raise a DataError for half a character, which no file and no tokenizer takes."""
    half = None if text.isascii() else HALF_CHARACTER.search(text)
    if half is not None:
        raise DataError(
            f"{where} holds half of a character (U+{ord(half[0]):04X}) at position "
            f"{half.start() + 1}",
            help="fix the text or leave the row out: JSON writes such a character as two escapes, "
            "and one of them is missing",
        )


def _quoted(names: Sequence[str]) -> str:
    """Names of columns, joined; a name with blanks at its edges is quoted."""
    return ", ".join(name if name == name.strip() else repr(name) for name in names)


def default_column(batch: Batch, *, where: str, label: str | None = None) -> str:
    """The column to rewrite where the user names none; never that of labels.

    It is the only column named text, sentence, question or review, or else the only column of text
    (not the ids, and not all numbers).
    """
    names = [name for name in batch.columns if name not in (_ID_COLUMN, label)]
    usual = [name for name in names if name in _USUAL_TEXT_COLUMNS]
    if len(usual) == 1:
        return usual[0]
    texts = [name for name in names if _is_text(batch.columns[name])] if batch.rows else names
    if len(texts) == 1:
        return texts[0]
    hint = f"it may be {_quoted(texts)}" if texts else f"the columns are {_quoted(names)}"
    raise DataError(f"{where}: which column holds the text? {hint}", help="name it with --column")


def _is_text(values: Sequence[Any]) -> bool:
    if isinstance(values, ArrowValues) and not values.are_texts:
        return False
    present = [value for value in values if not batches.is_missing(value)]
    if not all(isinstance(value, str) for value in present):
        return False
    return any(not _is_number(value) for value in present)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return not value
    return True


def row_ids(batch: Batch, column: str | None, *, where: str = "the dataset") -> list[str]:
    """The ids of the rows: the values of a column as text, or the row numbers from 1."""
    if column is None:
        return [str(batch.row_number(row)) for row in range(batch.rows)]
    values = batch.columns.get(column, [None] * batch.rows)
    if None in values or "" in values or any(map(ne, values, values)):  # NaN differs from itself
        index = next(i for i, each in enumerate(values) if each in (None, "") or ne(each, each))
        raise DataError(
            f"{where}: row {batch.row_number(index)} has no {column}",
            help="give every row an id, or choose another column with --id-column",
        )
    return list(map(str, values))


def write_columns(
    columns: Mapping[str, Sequence[Any]], path: Path, form: Format | None = None
) -> None:
    """Write a file of new rows, whole or not at all.

    The file's name says the format, unless ``form`` is given, and the compression.
    """
    form = form or format_of(str(path), reading=False)
    frame = Frame(tuple(columns), untyped=untyped_columns(columns))
    write_parts([form.encode(columns, "utf-8")], frame, path, form)


def write_parts(parts: Iterable[bytes], frame: Frame, path: Path, form: Format) -> None:
    """Write encoded parts of new rows, as `write_columns` writes one part."""
    content = BytesIO()
    with streams.compressing_stream(content, str(path)) as stream:
        form.assemble(parts, stream, frame)
    if str(path) == streams.STANDARD_STREAM:
        sys.stdout.buffer.write(content.getvalue())
        sys.stdout.buffer.flush()
    else:
        write_atomically(path, content.getvalue())


class IdLedger:
    """All ids so far: numbers that count up from the first row, then sorted runs of 64-bit hashes.

    The chance that two different ids are taken for the same is under 1 in 10 million for a million
    rows, and 2.7% for a billion. Within a batch, ids are compared in full.

    Example:
        >>> ledger = IdLedger("a.csv")
        >>> ledger.add(["a", "b"], first=0)
        >>> ledger.add(["b"], first=2)
        Traceback (most recent call last):
        sears_dsl.errors.DataError: a.csv: rows 2 and 3 probably have the same id 'b'
          = help: make the ids distinct, or choose another column with --id-column
    """

    _LONGEST_RUN = 1 << 20

    def __init__(self, where: str) -> None:
        self._where = where
        self._counted = range(0)
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.uint32]]] = []

    def add(self, ids: Sequence[str], *, first: int) -> None:
        """Enter the ids of rows that follow ``first`` others; a DataError if one comes again."""
        if not self._runs and first == len(self._counted) and self._counts_on(ids):
            return
        if self._counted:
            for row, name in enumerate(ids, start=first):
                number = _number(name)
                if number in self._counted:
                    self._fail(ids, first, number - self._counted.start, row)
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        order = np.argsort(hashes, kind="stable")
        run = (hashes[order], (order + first).astype(np.uint32))
        for same in np.flatnonzero(run[0][1:] == run[0][:-1]).tolist():
            earlier, later = int(run[1][same]), int(run[1][same + 1])
            if ids[earlier - first] == ids[later - first]:
                self._fail(ids, first, earlier, later)
        for known, rows in self._runs:
            at = np.searchsorted(known, run[0])
            at[at == len(known)] = 0
            equal = np.flatnonzero(known[at] == run[0])
            if len(equal):
                self._fail(ids, first, int(rows[at[equal[0]]]), int(run[1][equal[0]]))
        if len(ids):
            self._merge(run)

    def _counts_on(self, ids: Sequence[str]) -> bool:
        """Whether the ids go on counting from those of all rows so far; if so, enter them."""
        begin = self._counted.stop if self._counted else _number(ids[0] if ids else "")
        if begin < 0 or ids != list(map(str, range(begin, begin + len(ids)))):
            return False
        self._counted = range(self._counted.start if self._counted else begin, begin + len(ids))
        return True

    def _merge(self, run: tuple[NDArray[np.int64], NDArray[np.uint32]]) -> None:
        """Join runs of similar length, so that there are few runs and each id is moved rarely."""
        while self._runs and len(self._runs[-1][0]) <= len(run[0]) < self._LONGEST_RUN:
            known, rows = self._runs.pop()
            hashes = np.concatenate([known, run[0]])
            order = np.argsort(hashes, kind="stable")
            run = (hashes[order], np.concatenate([rows, run[1]])[order])
        self._runs.append(run)

    def _fail(self, ids: Sequence[str], first: int, earlier: int, later: int) -> None:
        # Only the hash is left of an id in an earlier batch.
        most_likely = "" if earlier >= first else "probably "
        raise DataError(
            f"{self._where}: rows {earlier + 1} and {later + 1} {most_likely}have the same id "
            f"{ids[later - first]!r}",
            help="make the ids distinct, or choose another column with --id-column",
        )


def _number(name: str) -> int:
    """The number whose plain decimal form an id is; -1 for any other id."""
    is_number = name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS
    return int(name) if is_number and (name[0] != "0" or len(name) == 1) else -1
