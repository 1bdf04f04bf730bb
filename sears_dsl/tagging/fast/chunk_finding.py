"""Kernels that find the chunks of rows.

In: code points of rows that are joined by line breaks. Out: where their chunks start, and their
numbers. Always holds: chunks are what `str.split` gives, whatever rows were looked at before; where
the table is full the kernel returns how far it came, and is called again.
Costs a few nanoseconds a character; of a row that is looked at again, a character that changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Flags, Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.fast.vocabulary import (
    HASH_FACTOR,
    HASH_MASK,
    HASH_START,
    WordTable,
    intern,
    look_up,
    row_before,
)

_LAST_SPACE = 0x3000
SPACE: NDArray[np.bool_] = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 1)])
"""Whether a code point is white space; none beyond the last one here is."""


class ChunkedRows(NamedTuple):
    """The chunks of rows."""

    codes: Int32Array  # int32: code points of the rows, a line break between them
    row_starts: Int64Array  # int64 (rows + 1,): where each row starts in there
    # int32 (rows + 1,): chunks of row r are offsets[r] up to, not including, offsets[r + 1]
    offsets: Int32Array
    starts: Int32Array  # int32 (chunks,): where they start among the code points
    numbers: Int32Array  # int32 (chunks,)


NO_CHUNKS = ChunkedRows(
    np.zeros(0, np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
)


@kernel
def find_chunks(  # noqa: PLR0915, PLR0917 - one loop: calls would cost more
    chunked: ChunkedRows,
    row: Integer,
    space: Flags,
    chunks: WordTable,
    old: ChunkedRows,
    was: Integer,
) -> Any:
    """Write the chunks of rows from ``row`` on, where those of the rows before are there.

    What a row shares at its start and its end with one of the old rows, in the same order but some
    gone, has the chunks that it had there: up to the last one that starts within, and from the
    first one behind white space. ``was`` is the first that the row can be. Gives back the row that
    it came to, which is one of them only where the table is full, and which of the old ones this
    can be.
    """
    text, starts, numbers = chunked.codes, chunked.starts, chunked.numbers
    codes, offsets, slots = chunks.codes, chunks.offsets, chunks.slots
    next_old = int(was)
    for place in range(row, len(chunked.offsets) - 1):
        low, high = int(chunked.row_starts[place]), int(chunked.row_starts[place + 1]) - 1
        count = int(chunked.offsets[place])
        before, left, right = row_before(text, low, high, old.codes, old.row_starts, 1, next_old)
        at = low
        tail = high + 1  # from here on chunks are the old ones
        chunk = past = ahead = 0
        if before >= 0:
            begin = int(old.row_starts[before])
            ahead = int(old.row_starts[before + 1]) - 1 - high
            chunk, past = int(old.offsets[before]), int(old.offsets[before + 1])
            while chunk + 1 < past and old.starts[chunk + 1] - begin <= left:
                starts[count] = old.starts[chunk] - begin + low
                numbers[count] = old.numbers[chunk]
                count += 1
                chunk += 1
            if chunk < past and old.starts[chunk] - begin <= left:
                at = low + int(old.starts[chunk]) - begin
            tail = high - right + 1
        while at < high:
            code = int(text[at])
            if code < len(space) and space[code]:
                at += 1
                continue
            if at >= tail:
                for rest in range(chunk, past):
                    if old.starts[rest] - ahead >= at:
                        starts[count] = old.starts[rest] - ahead
                        numbers[count] = old.numbers[rest]
                        count += 1
                break
            start = at
            hashed = HASH_START
            while at < high:
                code = int(text[at])
                if code < len(space) and space[code]:
                    break
                hashed = ((hashed ^ code) * HASH_FACTOR) & HASH_MASK
                at += 1
            number = look_up(text, start, at, hashed, codes, offsets, slots)
            if number < 0:
                number = intern(text, start, at, hashed, chunks)
                if number < 0:
                    return place, next_old
            starts[count] = start
            numbers[count] = number
            count += 1
        chunked.offsets[place + 1] = count
        if before >= 0:
            next_old = before + 1
    return len(chunked.offsets) - 1, next_old
