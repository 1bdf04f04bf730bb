"""What readers give and writers take: rows in batches, as columns.

In: nothing but values. Always holds: all columns of a batch are equally long; the first batch of
a file is always there, with no rows where the file has none; of a text format, a file's prologue,
the rows of all batches as they stand (`source`) and its epilogue joined are the text of the file,
so that a row which nothing changed is written back as it stood. Bounded in rows and in characters.
Columns that know more about themselves (`Repeated`, `JsonColumn`) are sequences of their very
values to whoever knows nothing of it; a row that ten rules rewrite is quoted once, not ten times.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol, TypeAlias, overload

#: The column that tells the copies of a row apart, where rules draw anew for each of them.
DRAW = "draw"
#: Row in the batch → column → new value.
Changes: TypeAlias = Mapping[int, Mapping[str, Any]]

# How the bounds of a batch grow, and so many batches after the first they have grown enough.
_GROWTH, _GROWN = 1.25, 40


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some consecutive rows of a dataset."""

    first: int  # how many rows stand before the batch
    rows: int  # how many rows it has
    # Column name → the values of the rows; files without types give strings.
    columns: Mapping[str, Sequence[Any]]
    source: Any = None  # what the format that read the batch needs to write it back unchanged
    # Text column → for each row, which of the batch's distinct texts it shares (the paragraphs of
    # SQuAD, asked by many questions); columns without are not shared.
    groups: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # So many rows of the batch, one after another, are the same row of the dataset: row ``i`` is of
    # draw ``i % copies``
    copies: int = 1

    def row_number(self, index: int) -> int:
        """The number of a row in the dataset, from 1, as messages tell it."""
        return self.first + index // self.copies + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a file is read.

    Batches begin small and grow by a quarter, so that the first rows are written soon, and none
    takes longer than all before it took; where they are cut depends on the file alone.

    Attributes:
        encoding: of text formats.
        errors: what bytes that are no such text mean: ``strict`` (an error), ``replace`` (U+FFFD)
            or ``ignore``.
        header: whether csv and tsv begin with the names of the columns; without, the columns are
            named "1", "2", ….
        rows: most rows of a batch.
        characters: a batch ends when it has about so many; lines come in mebibytes at most.
        first_rows, first_characters: the same of the first batch.
        limit: read so many rows and no more; None for all.
    """

    encoding: str = "utf-8"
    errors: str = "strict"
    header: bool = True
    rows: int = 10_000
    characters: int = 1 << 20
    first_rows: int = 200
    first_characters: int = 1 << 15
    limit: int | None = None

    def bounds(self, number: int) -> tuple[int, int]:
        """Most rows of a batch, and from how many characters on it ends, by its number from 0.

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


class Reader(Protocol):
    """A file being read. ``epilogue`` is known when `batches` has ended."""

    encoding: str
    prologue: str
    epilogue: str

    def batches(self) -> Iterator[Batch]:
        """The rows; can be read once."""
        ...


class Format(Protocol):
    """A file format: reading, and writing in parts that are made apart and assembled in order."""

    name: str
    binary: bool

    def read(self, path: str, options: ReadOptions) -> Reader:
        """Open a file; text formats take ``-`` for standard input."""
        ...

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """New rows as a part."""
        ...

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The rows of a batch that this format read, changed, as a part."""
        ...

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: Frame) -> None:
        """Write a file of parts."""
        ...


class Repeated(Sequence[Any]):
    """A column whose values repeat.

    Attributes:
        values: each once.
        places: for each row the place of its value among them.

    Example:
        >>> list(Repeated(["a", "b"], [1, 0, 1]))
        ['b', 'a', 'b']
    """

    def __init__(self, values: Sequence[Any], places: Sequence[int]) -> None:
        self.values = values
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Repeated(self.values, self.places[index])
        return self.values[self.places[index]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.places)


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
    """Those of the columns that are named; names that there are not are passed over."""
    present = [name for name in columns if name in set(names)]
    if isinstance(columns, LazyColumns):
        return columns.named(present)
    return {name: columns[name] for name in present}


class JsonColumn(Sequence[Any]):
    """A column that knows its values as JSON without making them first."""

    @abstractmethod
    def json_texts(self) -> list[str]:
        """Each value as JSON; its members are what these texts decode to."""

    def objects(self) -> tuple[Sequence[int], Mapping[str, Any]] | None:
        """The values as lists of objects, where they are that: offsets, and the fields flat.

        Fields are lists of texts or arrays of numbers. Tables hold them as such; None where there
        is only JSON.
        """
        return None


def cells(column: Sequence[Any], text_of: Callable[[Any], str]) -> list[str]:
    """The text of each value of a column; of values that repeat, each is made once.

    Example:
        >>> cells(Repeated(["a", "b"], [1, 0, 1]), str.upper)
        ['B', 'A', 'B']
    """
    if isinstance(column, Repeated):
        texts = list(map(text_of, column.values))
        return list(map(texts.__getitem__, column.places))
    return list(map(text_of, column))
