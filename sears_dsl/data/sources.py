"""Rows from wherever they are: a file by its name, or a dataset in memory.

In: a path or an object; a folder stands for all of its files, in the order of their names. Out: a
`RowSource`, the interface that all readers of rows use. Always holds: rows are in the order of the
data; the data is not changed; the first batch has been read, so that the columns are known. Costs
what reading costs; only what is looked at is copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from sears_dsl.data.batches import Batch, ReadOptions
from sears_dsl.data.columnar import RecordBatchColumns
from sears_dsl.data.dataset import Dataset, format_of
from sears_dsl.data.frames import MemoryFrame, memory_frame
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.files import is_file, is_there, names_folder
from sears_dsl.runtime.folders import Folder

#: What messages call a dataset that has no file.
IN_MEMORY = "the data"

_PAIR = 2


class RowSource(Protocol):
    """Rows that can be read once, in batches."""

    path: str  # what messages call it
    names: tuple[str, ...]  # its columns
    first: Batch  # the first batch; it may have no rows

    @property
    def format_name(self) -> str:
        """The format in which rows of this kind are written."""

    def batches(self) -> Iterator[Batch]:
        """All batches, the first included; can be read once."""


class MemoryRows:
    """A dataset in memory as a `RowSource`, at most ``limit`` rows of it."""

    path = IN_MEMORY
    format_name = "jsonl"

    def __init__(self, frame: MemoryFrame, *, limit: int | None = None) -> None:
        self.frame = frame
        self.limit = limit
        self.names = frame.names
        self.first = next(self.batches())

    def batches(self) -> Iterator[Batch]:
        """All batches, the first included; unlike those of a file, they can be read again."""
        for batch in self.frame.batches():
            left = batch.rows if self.limit is None else self.limit - batch.first
            if left <= 0 and batch.first:
                return
            if left < batch.rows:
                columns = (
                    batch.columns.at(range(left), {})  # with the names of classes
                    if isinstance(batch.columns, RecordBatchColumns)
                    else {name: values[:left] for name, values in batch.columns.items()}
                )
                batch = Batch(batch.first, left, columns)  # noqa: PLW2901
            yield batch


class FolderRows:
    r"""The files of a folder, one after another, as a `RowSource`; a limit counts the rows of all.

    A folder without files is a `DataError`, and so is a file that lacks a column of the first;
    objects of JSON may lack a key. Each file is read once.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as place:
        ...     for name in ("a", "b"):
        ...         _ = Path(place, f"{name}.csv").write_text(f"text\n{name}\n")
        ...     rows = FolderRows(Folder(place))
        ...     [(batch.first, list(batch.columns["text"])) for batch in rows.batches()]
        [(0, ['a']), (1, ['b'])]
    """

    def __init__(
        self, folder: Folder, *, format_name: str | None = None, options: ReadOptions | None = None
    ) -> None:
        self.path = str(folder)
        self._folder = folder
        self._parts = folder.parts()
        self._format_name = format_name
        self._options = options or ReadOptions()
        self.format_name = format_of(folder.name_of(self._parts[0].name), format_name).name
        self._batches = self._of_parts()
        self.first = next(self._batches)
        self.names = tuple(self.first.columns)

    def batches(self) -> Iterator[Batch]:
        """All batches, the first included; can be read once."""
        return chain([self.first], self._batches)

    def _of_parts(self) -> Iterator[Batch]:
        """The rows; one batch without rows, if the files have none or the limit is 0."""
        first = 0
        names: tuple[str, ...] = ()
        without_rows: Batch | None = None
        for part in self._parts:
            limit = self._options.limit
            left = None if limit is None else limit - first
            if left == 0 and (first or without_rows):
                break
            with self._folder.reading(part.name) as path:
                rows = Dataset(
                    path, format_name=self._format_name, options=replace(self._options, limit=left)
                )
                lacking = [name for name in names if name not in rows.names]
                if lacking and rows.format.name not in ("jsonl", "json"):
                    raise DataError(
                        f"{self._folder.name_of(part.name)} has not the same columns as "
                        f"{self._parts[0].name}: {lacking[0]!r} is missing",
                        help="give all files of the folder the same columns",
                    )
                names = names or rows.names
                before = first
                for batch in rows.batches():
                    if batch.rows:
                        yield replace(batch, first=before + batch.first)
                        first = before + batch.first + batch.rows
                    elif without_rows is None or not without_rows.columns:
                        without_rows = batch
        if not first and without_rows is not None:
            yield without_rows


def open_rows(
    data: object,
    *,
    pair: tuple[str, str] = ("text", "label"),
    format_name: str | None = None,
    options: ReadOptions | None = None,
) -> RowSource:
    """The rows of a file, of a folder of files, or of a dataset in memory.

    In memory it is a list or a generator of texts, of dictionaries or of pairs (whose columns
    ``pair`` names), a data frame of pandas or polars, a Hugging Face dataset, a table of Arrow or
    an array. It takes no format, and of the options only the limit. Rows that are open already
    are returned as they are; a format or options for them are a `UsageError`.

    Example:
        >>> open_rows([("A fun film.", "positive")]).names
        ('text', 'label')
    """
    if isinstance(data, Dataset | FolderRows | MemoryRows):
        if format_name is not None or options is not None:
            raise UsageError(
                f"{data.path} is open already, and a format or options would change nothing",
                help="give them where it is opened",
            )
        return data
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        if isinstance(data, str) and not is_there(path) and (" " in path or "\n" in path):
            raise UsageError(
                f"there is no file {path!r:.60}", help=f"pass texts in a list: [{path!r:.60}]"
            )
        if names_folder(path):
            folder = Folder(path)
            folder.require_one_dataset()
            return FolderRows(folder, format_name=format_name, options=options)
        return Dataset(path, format_name=format_name, options=options)
    if format_name is not None:
        raise UsageError(
            f"an object of type {type(data).__name__} has no file format",
            help="leave out the format",
        )
    if isinstance(data, list | tuple) and not data:
        raise DataError(f"{IN_MEMORY} has no rows", help="give at least one row")
    limit = None if options is None else options.limit
    return MemoryRows(frame_of(data, pair=pair), limit=limit)


def frame_of(data: object, *, pair: tuple[str, str] = ("text", "label")) -> MemoryFrame:
    """A dataset in memory, or a file read as a list, as a frame that makes results of that kind.

    Example:
        >>> from sears_dsl.data.frames import Copies
        >>> frame_of([("A fun film.", 1)]).extended(Copies([0], {"text": ["A film."]}, {}))[1]
        {'text': 'A film.', 'label': 1}
    """
    if not isinstance(data, str | os.PathLike):
        return memory_frame(_named(data, pair))
    source = open_rows(data)
    rows: list[dict[str, Any]] = []
    for batch in source.batches():
        values = zip(*batch.columns.values(), strict=True)
        rows += (dict(zip(batch.columns, row, strict=True)) for row in values)
    return memory_frame(rows, names=source.names)


def _named(data: object, pair: tuple[str, str]) -> object:
    """A list of pairs as a list of dictionaries, a generator as a list; all other data as it is."""
    # A reader of Arrow is an iterator too, but of batches.
    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        data = list(data)
    if not isinstance(data, list | tuple) or not all(is_pair(row) for row in islice(data, 1)):
        return data
    for number, row in enumerate(data, start=1):
        if not is_pair(row):
            raise DataError(
                f"row {number} is of type {type(row).__name__}, but the first row is a pair",
                help=f"make every row a pair: ({pair[0]}, {pair[1]})",
            )
    return [dict(zip(pair, row, strict=True)) for row in data]


def folder_of_paths(path: str) -> Path:
    """Where paths in the rows of a file begin: in its folder, or in the folder of files it is in.

    For rows in memory it is the current one.

    Example:
        >>> str(folder_of_paths(IN_MEMORY))
        '.'
    """
    if names_folder(path):
        return Path(path)
    return Path(path).parent if is_file(path) else Path()


def is_pair(row: object) -> bool:
    """Whether a row is a pair, such as (text, label)."""
    return isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) == _PAIR
