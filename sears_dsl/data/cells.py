"""Columns as writers take them, and the cells that stand for their values in text formats.

In: columns: lists of values, or one of the two kinds here that know more about themselves. Out:
the text of each value. Always holds: a column of either kind is a sequence of the very values that
it stands for, so whoever knows nothing of it reads them one by one. Costs one text for each
distinct value: a row that ten rules rewrite is quoted once, not ten times.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload


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
