"""Kernels that find the chunks of a text and put their tokens together.

In: code points of rows that are joined by line breaks, and what is known about chunks. Out: numbers
of chunks; numbers of the words in new ones; the columns of a `Cut`. Always holds: chunks are what
`str.split` gives. Where a table is full a kernel returns how far it came, and is called again.
Costs a few nanoseconds a character.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Flags, Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.fast.chunk_kernels import COUNT, END, FIRST, WORD
from sears_dsl.tagging.fast.vocabulary import (
    HASH_FACTOR,
    HASH_MASK,
    HASH_START,
    STRINGS,
    WordTable,
    hash_of,
    intern,
    look_up,
)

_LAST_SPACE = 0x3000
SPACE: NDArray[np.bool_] = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 1)])
"""Whether a code point is white space; none beyond the last one here is."""


@kernel
def find_chunks(  # noqa: PLR0917
    text: Int32Array,
    position: Integer,
    space: Flags,
    chunks: WordTable,
    starts: Int32Array,
    numbers: Int32Array,
    count: Integer,
) -> Any:
    """Number the chunks of a text from a position on.

    Args:
        text: int32: code points.
        position: where to begin; not inside of a chunk.
        space: `SPACE`.
        chunks: `Table` of the chunks, to which new ones are added.
        starts: int32, written: where each chunk starts.
        numbers: int32, written: its number.
        count: chunks that were numbered before.

    Returns:
        How far it came, which is before the end only when the table is full, and all found so far.
    """
    length = len(text)
    codes, offsets, slots = chunks.codes, chunks.offsets, chunks.slots
    at = position
    while at < length:
        code = int(text[at])
        if code < len(space) and space[code]:
            at += 1
            continue
        start = at
        hashed = HASH_START
        while at < length:
            code = int(text[at])
            if code < len(space) and space[code]:
                break
            hashed = ((hashed ^ code) * HASH_FACTOR) & HASH_MASK
            at += 1
        number = look_up(text, start, at, hashed, codes, offsets, slots)
        if number < 0:
            number = intern(text, start, at, hashed, chunks)
            if number < 0:
                return start, count
        starts[count] = start
        numbers[count] = number
        count += 1
    return at, count


@kernel
def number_words(
    chunks: WordTable, first: Integer, known: Int32Array, entries: Int32Array, words: WordTable
) -> Any:
    """Number the texts of the tokens of new chunks.

    Args:
        chunks: `Table` of the chunks.
        first: the first one; those after it follow.
        known: as in `chunk_kernels.describe`.
        entries: as in `chunk_kernels.describe`; the words are written.
        words: `Table` of the words, to which new ones are added.

    Returns:
        The chunk that it came to: where the table is full, one to go on with.
    """
    for number in range(first, int(chunks.used[STRINGS])):
        start = int(chunks.offsets[number])
        low = start
        entry = int(known[number, FIRST])
        for _ in range(int(known[number, COUNT])):
            high = start + int(entries[entry, END])
            word = intern(chunks.codes, low, high, hash_of(chunks.codes, low, high), words)
            if word < 0:
                return number
            entries[entry, WORD] = word
            entry += 1
            low = high
    return int(chunks.used[STRINGS])


@kernel
def collect(  # noqa: PLR0917
    chunk_starts: Int32Array,
    numbers: Int32Array,
    row_starts: Int64Array,
    known: Int32Array,
    entries: Int32Array,
    row_offsets: Int32Array,
    columns: Int32Array,
) -> None:
    """Write the tokens of rows.

    Args:
        chunk_starts: int32: where the chunks start in the joined text.
        numbers: int32: their numbers.
        row_starts: int64 (rows + 1,): where the rows start in it.
        known: as in `chunk_kernels.describe`.
        entries: as in `chunk_kernels.describe`.
        row_offsets: int32 (rows + 1,), written.
        columns: int32 (3, tokens), written: starts and ends in the row, words.
    """
    row = 0
    row_offsets[0] = 0
    token = 0
    row_start = int(row_starts[0])
    row_end = int(row_starts[1]) if len(row_starts) > 1 else 0
    for chunk in range(len(numbers)):
        start = int(chunk_starts[chunk])
        while start >= row_end:
            row += 1
            row_offsets[row] = token
            row_start = row_end
            row_end = int(row_starts[row + 1])
        place = start - row_start
        first = int(known[numbers[chunk], FIRST])
        low = place
        for entry in range(first, first + int(known[numbers[chunk], COUNT])):
            high = place + int(entries[entry, END])
            columns[0, token] = low
            columns[1, token] = high
            columns[2, token] = entries[entry, WORD]
            token += 1
            low = high
    for later in range(row + 1, len(row_starts)):
        row_offsets[later] = token
