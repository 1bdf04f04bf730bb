"""What arrays hold, as names for signatures.

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
