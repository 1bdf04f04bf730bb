"""Names for the types of arrays, arrays that grow, and groups that lie one after another.

A name says the type of one element; docstrings say the shape.
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
"""An integer in a kernel: one of Python's, or an element of an array."""

_Kind = TypeVar("_Kind", bound=np.integer[Any])


def for_kernels(array: Int32Array) -> Int32Array:
    """The array in the form that kernels are compiled for: int32, contiguous and writable.

    An array that has this form is returned itself; a slice or a mapped file is copied.

    Example:
        >>> for_kernels(np.arange(6)[::2]).flags.c_contiguous
        True
    """
    flags = array.flags
    if array.dtype == np.int32 and flags.c_contiguous and flags.writeable:
        return array
    return np.require(array, np.int32, ["C", "W"])


def offsets_of(counts: NDArray[Any], kind: type[_Kind]) -> NDArray[_Kind]:
    """Where groups of these sizes begin that lie one after another, and where the last one ends.

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
    """Where the chosen groups begin when they are taken out, and the old places of their members.

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
    """The array if it has room for ``size`` entries, else a larger copy filled up with zeros.

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
    """An array that grows by groups of entries; the first ones set the shape and type.

    An array that was handed out never changes, so kernels may read it in one thread while another
    thread appends. Costs a copy each time the length has doubled, which is a few nanoseconds an
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
        """Append entries; the first ones are not copied, so nobody may write to them later."""
        count = self._count + len(entries)
        if self._count:
            self._room = with_room(self._room, count)
            self._room[self._count : count] = entries
        else:
            self._room = np.require(entries, self._room.dtype, ["C", "W"])
        self._count = count
