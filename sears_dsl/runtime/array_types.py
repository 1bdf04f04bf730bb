"""What arrays hold, as names for signatures; and arrays that grow.

Always holds: a name says what one element is, shapes stand in docstrings.
"""

from __future__ import annotations

from typing import Any, TypeAlias

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
        if count > len(self._room):
            size = max(count, 2 * len(self._room))
            larger = np.empty((size, *self._room.shape[1:]), self._room.dtype)
            larger[: self._count] = self.array
            self._room = larger
        self._room[self._count : count] = entries
        self._count = count
