"""What arrays hold, as names for signatures; arrays that grow, and groups that lie in one array.

Always holds: a name says what one element is, shapes stand in docstrings.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
Int8Array: TypeAlias = NDArray[np.int8]
Int16Array: TypeAlias = NDArray[np.int16]
Int32Array: TypeAlias = NDArray[np.int32]
Int64Array: TypeAlias = NDArray[np.int64]
UInt8Array: TypeAlias = NDArray[np.uint8]
UInt16Array: TypeAlias = NDArray[np.uint16]
UInt32Array: TypeAlias = NDArray[np.uint32]
UInt64Array: TypeAlias = NDArray[np.uint64]

Integer: TypeAlias = int | np.integer[Any]
"""A number in a kernel: of Python, or an element of an array."""

_Kind = TypeVar("_Kind", bound=np.integer[Any])


def for_kernels(array: Int32Array) -> Int32Array:
    """An array that came from outside as kernels are compiled for it: contiguous and writable.

    That is the array itself where it is so; a part of another one or a mapped file is copied.

    Example:
        >>> for_kernels(np.arange(6)[::2]).flags.c_contiguous
        True
    """
    flags = array.flags
    if array.dtype == np.int32 and flags.c_contiguous and flags.writeable:
        return array
    return np.require(array, np.int32, ["C", "W"])


def offsets_of(counts: NDArray[Any], kind: type[_Kind]) -> NDArray[_Kind]:
    """Where each of some groups begins that lie one after another, and where the last one ends.

    Example:
        >>> offsets_of(np.array([2, 0, 1]), np.int64).tolist()
        [0, 2, 2, 3]
    """
    offsets = np.zeros(len(counts) + 1, kind)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def places_of(
    offsets: NDArray[np.integer], chosen: NDArray[np.integer]
) -> tuple[Int64Array, NDArray[np.int64]]:
    """Where the members of some groups begin when they are taken out; and their places before.

    Example:
        >>> begins, places = places_of(np.array([0, 2, 5, 6]), np.array([2, 1]))
        >>> begins.tolist(), places.tolist()
        ([0, 1, 4], [5, 2, 3, 4])
    """
    first = offsets[chosen].astype(np.int64)
    counts = offsets[chosen + 1] - first
    begins = offsets_of(counts, np.int64)
    return begins, np.repeat(first - begins[:-1], counts) + np.arange(begins[-1])


def with_room(array: Any, size: int) -> Any:
    """The array, or the same entries in one with room for so many, and zeros behind them.

    Example:
        >>> with_room(np.array([7, 8]), 3).tolist()
        [7, 8, 0, 0]
    """
    if size <= len(array):
        return array
    larger = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


class Growing:
    """Entries of one shape, appended in groups; the first ones tell shape and type.

    An array that was given out stays as it is, so that kernels may read it in one thread while more
    is appended in another. Costs a copy each time that the length has doubled: a few nanoseconds an
    entry, however many there are.

    Example:
        >>> squares = Growing(np.array([0, 1]))
        >>> squares.extend([4, 9])
        >>> len(squares), squares.array.tolist()
        (4, [0, 1, 4, 9])
    """

    def __init__(self, entries: Any) -> None:
        self._room = entries.copy()
        self._count = len(self._room)

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> Any:
        """All entries; not to be written to."""
        return self._room[: self._count]

    def extend(self, entries: Any) -> None:
        """Append entries."""
        count = self._count + len(entries)
        self._room = with_room(self._room, count)
        self._room[self._count : count] = entries
        self._count = count
