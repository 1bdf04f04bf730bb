"""Batches of rows as columns, which readers give and writers take; and plain text, a row a line.

In: a path and `ReadOptions`, or columns. Out: `Batch`es, or parts of new files. Always holds: all
columns of a batch are equally long. A file has a first batch even if it has no rows. The prologue
of a file in a text format, the `source` of all its batches and its epilogue, joined, are its text;
so a row without a change is written back as it stood, its line end included. Such rows are copied
together and not parsed again. A batch is bounded in rows and in characters. Columns that know more
about themselves (`Repeated`, `JsonColumn`) look like plain sequences of their values; a writer that
knows them saves work: it quotes a row that ten rules rewrite once, not ten times.
"""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.streams import TextSource, line_ends
from sears_dsl.errors import DataError

#: The column that tells the copies of a row apart, where rules draw anew for each of them.
DRAW = "draw"
#: Row in the batch → column → new value.
Changes: TypeAlias = Mapping[int, Mapping[str, Any]]

# From one batch to the next, bounds grow by this factor, until so many batches have followed.
_GROWTH, _GROWN = 1.25, 40
_MARK = "\ufeff".encode()


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some consecutive rows of a dataset."""

    first: int  # how many rows stand before the batch
    rows: int  # how many rows it has
    # Column name → the values of the rows; files without types give strings.
    columns: Mapping[str, Sequence[Any]]
    source: Any = None  # what the format that read the batch needs to write it back unchanged
    # Text column → for each row the number of its text, if rows share texts, as the questions on a
    # paragraph of SQuAD do; in other columns each row has a text of its own.
    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # How many consecutive rows stand for one row of the dataset: row ``i`` is draw ``i % copies``.
    copies: int = 1

    def row_number(self, index: int) -> int:
        """The number of a row in the dataset, from 1, as messages tell it."""
        return self.first + index // self.copies + 1

    def value(self, name: str, row: int) -> Any:
        """What a row has in a column; None where all objects of the batch lack the key."""
        column = self.columns.get(name)
        return None if column is None else column[row]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a file is read.

    Batches begin small and grow by a quarter, so that the first rows are written soon and no batch
    takes longer than all before it. Where they are cut depends on the file alone.
    """

    encoding: str = "utf-8"  # of text formats
    # What becomes of bytes that are no text in that encoding: ``strict`` (an error), ``replace``
    # (U+FFFD) or ``ignore``.
    errors: str = "strict"
    # Whether csv and tsv begin with the names of the columns; else these are "1", "2", ….
    header: bool = True
    rows: int = 10_000  # most rows of a batch
    # A batch ends when it has about so many; lines are read by at most a mebibyte.
    characters: int = 1 << 20
    first_rows: int = 200  # the same for the first batch
    first_characters: int = 1 << 15
    limit: int | None = None  # read so many rows and no more; None for all

    def bounds(self, number: int) -> tuple[int, int]:
        """The most rows of batch ``number``, from 0, and how many characters end it.

        Example:
            >>> ReadOptions().bounds(0), ReadOptions().bounds(99)
            ((200, 32768), (10000, 1048576))
        """
        growth = _GROWTH ** min(number, _GROWN)
        rows, characters = int(self.first_rows * growth), int(self.first_characters * growth)
        return min(self.rows, rows), min(self.characters, characters)


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the rows in a file."""

    names: Sequence[str]  # the columns
    encoding: str = "utf-8"  # of the text
    # Prologue and epilogue of the file that was read; None for a file of new rows. A function,
    # since the epilogue is known only when all rows have been read.
    around: Callable[[], tuple[str, str]] | None = None
    # Columns that had no type where they were read, only nulls, and so get none.
    untyped: AbstractSet[str] = frozenset()


class Reader(ABC):
    """A file being read. ``epilogue`` is known when `batches` has ended.

    ``form`` is the exact format where only the first row tells it, as the delimiter of a csv.
    """

    form: Format | None = None
    encoding = "utf-8"
    prologue = ""
    epilogue = ""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows; can be read once."""


class Format(Protocol):
    """A file format: reads a file, and writes one in parts, which are assembled in order."""

    name: str
    binary: bool

    def read(self, path: str, options: ReadOptions) -> Reader:
        """Open a file; text formats take ``-`` for standard input."""

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """New rows as a part."""

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The rows of a batch that this format read, some changed or dropped, as a part."""

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """Write a file of parts."""


class Repeated(Sequence[Any]):
    """A column whose values repeat: row ``i`` has ``values[places[i]]``.

    Example:
        >>> list(Repeated(["a", "b"], [1, 0, 1]))
        ['b', 'a', 'b']
    """

    def __init__(self, values: Sequence[Any], places: Sequence[int]) -> None:
        self.values = values
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Repeated(self.values, self.places[index])
        return self.values[self.places[index]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.places)


def is_missing(value: object) -> bool:
    """Whether a cell holds nothing: None (a null of JSON) or NaN."""
    return value is None or (isinstance(value, float) and value != value)  # noqa: PLR0124


class LazyColumns(Mapping[str, Sequence[Any]]):
    """Columns that become Python values when they are first asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._columns: dict[str, Sequence[Any]] = {}

    @abstractmethod
    def _values(self, name: str) -> Sequence[Any]:
        """The values of one of the columns."""

    @abstractmethod
    def named(self, names: Sequence[str]) -> LazyColumns:
        """Some of the columns."""

    def __getitem__(self, name: str) -> Sequence[Any]:
        column = self._columns.get(name)
        if column is None:
            if name not in self._names:
                raise KeyError(name)
            column = self._columns[name] = self._values(name)
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def columns_named(
    columns: Mapping[str, Sequence[Any]], names: Iterable[str]
) -> Mapping[str, Sequence[Any]]:
    """The columns with these names; names without a column are skipped."""
    present = [name for name in columns if name in set(names)]
    if isinstance(columns, LazyColumns):
        return columns.named(present)
    return {name: columns[name] for name in present}


class JsonColumn(Sequence[Any]):
    """A column that can give its values as JSON without making the values first."""

    @abstractmethod
    def json_texts(self) -> list[str]:
        """Each value as JSON; the members of the column are these texts decoded."""

    def objects(self) -> tuple[Sequence[int], Mapping[str, Any]] | None:
        """The values as lists of objects: offsets and flat fields; None if there is only JSON.

        A field is a list of texts or an array of numbers. Arrow tables hold values in this form.
        """
        return None


def cell_texts(column: Sequence[Any], text_of: Callable[[Any], str]) -> list[str]:
    """The text of each value: its JSON where a column has that, made once where it repeats."""
    if isinstance(column, JsonColumn):
        return column.json_texts()
    if isinstance(column, Repeated):
        texts = list(map(text_of, column.values))
        return list(map(texts.__getitem__, column.places))
    return list(map(text_of, column))


def encoded(text: str, encoding: str) -> bytes:
    """Text as bytes."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        around = text[max(0, error.start - 20) : error.start + 20]
        raise DataError(
            f"{encoding} cannot encode the character U+{ord(character):04X}, near {around!r}",
            help="write another format, or UTF-8 if the encoding lacks the character",
        ) from error


def lone_return_error(place: str) -> DataError:
    """The error for a carriage return without a line feed, which ended lines on old Macs."""
    return DataError(
        f"{place}: a carriage return without a line feed",
        help="lines have to end with a line feed; convert a file of an old Mac with "
        "tr '\\r' '\\n' < old > new",
    )


def line_body(line: str) -> str:
    """A line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


def as_row(line: str) -> str:
    """A line of a row; an empty last line gets a line end, since without one it is no row."""
    return line or "\n"


def _as_line(text: str, end: str) -> str:
    """A line that is read as this text."""
    line = as_row(text + end)
    if "\n" in text or line_body(line) != text:
        raise DataError(
            f"a text with line ends is not one line of plain text: {text!r}", help="write jsonl"
        )
    return line


class TextFormat:
    """What text formats share: parts are text in the file's encoding, joined in order."""

    name = ""
    binary = False

    def header(self, names: Sequence[str]) -> str:
        """What a new file begins with."""
        return ""

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The source of a row with new values."""
        raise NotImplementedError

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The rows of a batch with some changed and some left out."""
        rows: SourceRows = batch.source
        names = list(batch.columns)
        pieces: list[bytes] = []
        at = 0
        for row in sorted({*changes, *dropped}):
            start, end = rows.bounds(row)
            pieces.append(rows.content[at:start])
            at = end
            if row in dropped:
                continue
            try:
                new = self.replaced(rows.content[start:end].decode(), names, changes[row])
            except DataError as error:
                raise error.at(f"row {batch.row_number(row)}: ") from error
            pieces.append(encoded(new, "utf-8"))
        content = b"".join([*pieces, rows.content[at:]])
        return content if encoding == "utf-8" else encoded(content.decode(), encoding)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """Prologue, parts and epilogue, one after another."""
        prologue = frame.around()[0] if frame.around else self.header(frame.names)
        output.write(encoded(prologue, frame.encoding))
        for part in parts:
            output.write(part)
        if frame.around:
            output.write(encoded(frame.around()[1], frame.encoding))


class SourceRows:
    r"""The rows of a batch as they stand in the file, in UTF-8; without ``ends``, a row a line.

    Example:
        >>> SourceRows(b"one\ntwo\n").bounds(1)
        (4, 8)
    """

    def __init__(self, content: bytes, ends: NDArray[np.integer[Any]] | None = None) -> None:
        self.content = content
        self._ends = ends

    @property
    def ends(self) -> NDArray[np.integer[Any]]:
        """One past the last byte of each row."""
        if self._ends is None:
            self._ends = line_ends(self.content)
        return self._ends

    @classmethod
    def of(cls, sources: Iterable[str]) -> SourceRows:
        """Rows given as texts."""
        pieces = [encoded(source, "utf-8") for source in sources]
        return cls(b"".join(pieces), np.cumsum(list(map(len, pieces)), dtype=np.int64))

    @classmethod
    def until(cls, content: bytes, ends: NDArray[np.integer[Any]]) -> SourceRows:
        """The rows that end at ``ends``, without the content after the last of them."""
        return cls(content[: int(ends[-1]) if len(ends) else 0], ends)

    def __len__(self) -> int:
        return len(self.ends)

    def bounds(self, row: int) -> tuple[int, int]:
        """The first byte of a row and one past its last, with blank lines, commas and line end."""
        return int(self.ends[row - 1]) if row else 0, int(self.ends[row])


class LineReader(Reader):
    """A reader over lines; subclasses say what the lines mean."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.source = TextSource(path, encoding=options.encoding, errors=options.errors)
        self.name = self.source.name
        self.encoding = self.source.encoding
        self.options = options
        self.lines = 0  # in all chunks so far

    def chunks(self) -> Iterator[bytes]:
        """Whole lines within the bounds of a batch; a byte order mark moves to the prologue."""
        number = 0
        limit = self.options.limit
        for block, ends in self.source.line_blocks():
            mean = max(1, len(block) // len(ends))
            taken = begin = 0
            while left := len(ends) - taken:
                most, characters = self.options.bounds(number)
                if characters < self.options.characters:  # a block has about a mebibyte
                    most = max(1, min(most, characters // mean))
                # A small rest would cost nearly what a whole batch costs. With a limit, lines far
                # beyond it are not looked at: they may be invalid.
                most = -(-left // -(-left // most)) if limit is None else min(most, limit + 1, left)
                self.lines += most
                taken += most
                end = int(ends[taken - 1])
                content = block[begin:end]
                begin = end
                if number == 0 and content.startswith(_MARK):
                    self.prologue = _MARK.decode()
                    content = content.removeprefix(_MARK)
                if content:
                    yield content
                number += 1


class PlainText(TextFormat):
    """A row a line, in one column named ``text``; line ends are not part of the text.

    A new row is written as its text and a line feed; a record, as its rewritten text alone.
    """

    name = "txt"

    def read(self, path: str, options: ReadOptions) -> _PlainReader:
        """Open a file of lines."""
        return _PlainReader(path, options)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """The column ``rewritten``, or else the only column, as one line a row."""
        if "rewritten" not in columns and len(columns) != 1:
            raise DataError(
                f"plain text has only one column, not {len(columns)} ({', '.join(columns)})",
                help="choose csv, tsv or jsonl, by the file's name or with --output-format",
            )
        texts = columns["rewritten"] if "rewritten" in columns else next(iter(columns.values()))
        content = "".join(f"{'' if text is None else text}\n" for text in texts)
        if content.count("\n") != len(texts) or "\r\n" in content:
            for text in texts:
                _as_line("" if text is None else str(text), "\n")
        return encoded(content, encoding)

    def replaced(self, source: str, names: Sequence[str], new: Mapping[str, Any]) -> str:
        """The new text with the line end of the old."""
        return _as_line(str(new["text"]), source[len(line_body(source)) :])


class _PlainReader(LineReader):
    def batches(self) -> Iterator[Batch]:
        """One row a line, blank lines included."""
        first = 0
        limit = self.options.limit
        for content in self.chunks():
            text = content.decode()
            if not first and "\r" in text and "\n" not in text:
                # Without a single line feed this is hardly one row with a return in it.
                raise lone_return_error(f"{self.name}, line 1")
            texts = text.removesuffix("\n").split("\n")
            if "\r" in text:
                texts = [each.removesuffix("\r") for each in texts]
            rows = SourceRows(content)
            if limit is not None and limit - first < len(texts):
                del texts[limit - first :]
                rows = SourceRows(content[: rows.bounds(len(texts) - 1)[1]] if texts else b"")
            if texts:
                yield Batch(first, len(texts), {"text": texts}, rows)
                first += len(texts)
            if first == limit:
                break
        if not first:
            yield Batch(0, 0, {"text": []}, SourceRows(b""))


#: Types whose values have one usual form as text.
PLAIN_TEXTS = (decimal.Decimal, datetime.timedelta, uuid.UUID, PurePath)


def plain_value(value: Any) -> Any:
    """The JSON form of a value that the json module cannot write itself."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, PLAIN_TEXTS):
        return str(value)
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return value.tolist()
    raise DataError(
        f"a value of type {type(value).__name__} cannot be written as text",
        help="leave that column out, or write parquet",
    )


#: A value as JSON; dates, durations, decimals, UUIDs and paths as text, arrays as lists. Raises
#: DataError where there is no such form.
json_text: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, default=plain_value).encode
