"""Kernels that find the chunks of rows, cut the new ones, and put the tokens of rows together.

In: code points of rows that are joined by line breaks; the tokenizer's tables as arrays. Out: where
chunks start, and their numbers; where the tokens of new ones end; the columns of a `Cut`. Always
holds: chunks are what `str.split` gives, whatever rows were looked at before; a chunk is cut
exactly as `cutting.Cutter` does, or left to it; where a table is full, a kernel returns how far it
came, and is called again. Left to it are chunks with other characters than `Marks.classes` has,
those that may be a URL (a dot, and letters or three dots), and those with tokens that the second
pass may join. The infixes and the longer affixes of spaCy's English are written out here; tests
hold them to the patterns. Costs a few nanoseconds a character, some ten in a new chunk; in a row
that comes again, only changed characters count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Flags, Int32Array, Int64Array, Integer, UInt8Array
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.fast.cutting import TokenizerTables
from sears_dsl.tagging.fast.vocabulary import (
    HASH_FACTOR,
    HASH_MASK,
    HASH_START,
    STRINGS,
    Words,
    WordTable,
    hash_of,
    intern,
    look_up,
    row_before,
)

_LAST_SPACE = 0x3000
SPACE: NDArray[np.bool_] = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 1)])
"""Whether a code point is white space; none beyond the last one here is."""

# Columns of what is known about a chunk. Its tokens are entries, one after another.
FIRST = 0
COUNT = 1
# Columns of an entry.
END = 0
WORD = 1

# Classes of a character, see training/tokenizer_tables.py.
_NAMES = ("known", "prefix", "suffix", "alpha", "before", "after", "closes", "capital")
KNOWN, PREFIX, SUFFIX, ALPHA, BEFORE, AFTER, CLOSES, CAPITAL = (1 << bit for bit in range(8))

# What a string of the tables is.
SPECIAL = 1
UNIT = 2

_DOT, _COMMA, _PLUS, _HYPHEN, _TILDE, _STAR, _CARET, _COLON = map(ord, ".,+-~*^:")
_LESS, _GREATER, _EQUALS, _SLASH, _DOLLAR, _QUOTE, _ZERO, _NINE = map(ord, "<>=/$'09")
_EN_DASH, _EM_DASH, _APOSTROPHE, _ELLIPSIS = map(ord, "–—’…")
_SMALL_S, _LARGE_S, _LARGE_U, _LARGE_C, _LARGE_A = map(ord, "sSUCA")


class ChunkedRows(NamedTuple):
    """The chunks of rows."""

    codes: Int32Array  # code points of the rows, a line break between them
    row_starts: Int64Array  # (rows + 1,): where each row starts in there
    offsets: Int32Array  # (rows + 1,): chunks of row r are offsets[r]:offsets[r + 1]
    starts: Int32Array  # (chunks,): where they start among the code points
    numbers: Int32Array  # (chunks,)


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
    """Write the chunks of rows from ``row`` on; those of the rows before are there.

    Where a row begins or ends like the old row that it was, it has the chunks of that: up to the
    last one that starts within the same beginning, and from the first one behind white space in the
    same end. Old rows stand in the same order; some may be gone. ``was`` is the first old row that
    the row can be. Returns the row that it came to, which is one of the rows only if the table is
    full, and the first old row that this can be.
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


class Marks(NamedTuple):
    """The tables of the tokenizer as arrays, for `describe`."""

    classes: UInt8Array  # what affixes do with a character, bits by code point
    strings: WordTable  # the tokens that the second pass looks for, special cases and units
    kinds: UInt8Array  # what a string is, bits SPECIAL and UNIT
    offsets: Int32Array  # of each string: its tokens among ends, if it is a special case
    ends: Int32Array  # where the tokens of special cases end
    # (n, n): whether the second pass looks for a run that begins with two tokens, which are
    # the first n of the strings
    pairs: Flags
    longest: int  # characters of the longest string


def marks_of(tables: TokenizerTables) -> Marks:
    """Tables in the form of arrays."""
    classes = np.zeros(max(map(ord, tables.classes["known"])) + 1, np.uint8)
    for bit, name in enumerate(_NAMES):
        classes[[ord(mark) for mark in tables.classes[name]]] |= np.uint8(1 << bit)
    strings = Words(word for run in tables.joined.values() for word in run[:2])
    pairs = np.zeros((len(strings), len(strings)), np.bool_)
    runs = [run for run in tables.joined.values() if len(run) > 1]
    first, second = (strings.numbers([run[place] for run in runs]) for place in (0, 1))
    pairs[first, second] = True
    units = set(strings.numbers(tables.units))
    special_numbers = strings.numbers(list(tables.specials))
    specials = dict(zip(special_numbers, tables.specials.values(), strict=True))
    kinds = np.zeros(len(strings), np.uint8)
    kinds[list(units)] |= np.uint8(UNIT)
    kinds[list(specials)] |= np.uint8(SPECIAL)
    ends: list[int] = []
    offsets = [0]
    for number in range(len(strings)):
        place = 0
        for token in specials.get(number, ()):
            place += len(token)
            ends.append(place)
        offsets.append(len(ends))
    return Marks(
        classes=classes,
        strings=strings.table,
        kinds=kinds,
        offsets=np.array(offsets, np.int32),
        ends=np.array(ends, np.int32),
        pairs=pairs,
        longest=max(map(len, strings.texts(range(len(strings))))),
    )


@kernel
def _class(code: Integer, marks: Marks) -> Any:
    return int(marks.classes[code]) if code < len(marks.classes) else 0


@kernel
def _number_of(codes: Int32Array, start: Integer, end: Integer, marks: Marks) -> Any:
    """Number of a string of the tables, or -1."""
    if end - start > marks.longest or end <= start:
        return -1
    strings = marks.strings
    hashed = hash_of(codes, start, end)
    slots = strings.slots
    return max(-1, look_up(codes, start, end, hashed, strings.codes, strings.offsets, slots))


@kernel
def _special(codes: Int32Array, start: Integer, end: Integer, marks: Marks) -> Any:
    """Number of a special case, or -1."""
    number = _number_of(codes, start, end, marks)
    return number if number >= 0 and marks.kinds[number] & SPECIAL else -1


@kernel
def _is_digit(code: Integer) -> Any:
    return _ZERO <= code <= _NINE


@kernel
def _prefix(codes: Int32Array, low: Integer, high: Integer, marks: Marks) -> Any:
    """Where the prefix of a string ends, its start if it has none."""
    code = int(codes[low])
    if _class(code, marks) & PREFIX:
        return low + 1
    following = int(codes[low + 1]) if low + 1 < high else 0
    if code == _PLUS:
        return low if _is_digit(following) else low + 1
    if code == _DOT and following == _DOT:
        after = low + 2
        while after < high and codes[after] == _DOT:
            after += 1
        return after
    if following == _DOLLAR and code in (_LARGE_C, _LARGE_A):
        return low + 2
    if code == _LARGE_U and following == _LARGE_S and low + 2 < high and codes[low + 2] == _DOLLAR:
        return low + 3
    return low


@kernel
def _suffix(codes: Int32Array, low: Integer, high: Integer, digits: Integer, marks: Marks) -> Any:
    """Where the suffix of a string starts, its end if it has none."""
    if low >= high:
        return high
    code = int(codes[high - 1])
    before = int(codes[high - 2]) if high - 2 >= low else 0
    if code == _DOT:
        if before == _DOT:
            first = high - 2
            while first > low and codes[first - 1] == _DOT:
                first -= 1
            return first
        if before == 0:
            return high
        kind = _class(before, marks)
        if kind & CLOSES:
            return high - 1
        if kind & CAPITAL and high - 3 >= low and _class(int(codes[high - 3]), marks) & CAPITAL:
            return high - 1
        return high
    # A unit after a digit begins further left than anything else that may end here.
    if digits and not _is_digit(code):
        first = high - 1
        while first > low and high - first < marks.longest and not _is_digit(int(codes[first - 1])):
            first -= 1
        if first > low and _is_digit(int(codes[first - 1])):
            number = _number_of(codes, first, high, marks)
            if number >= 0 and marks.kinds[number] & UNIT:
                return first
    if code in (_SMALL_S, _LARGE_S) and before in (_QUOTE, _APOSTROPHE):
        return high - 2
    if code == _ELLIPSIS and before == _ELLIPSIS:
        return high - 2
    return high - 1 if _class(code, marks) & SUFFIX else high


@kernel
def _infix(codes: Int32Array, at: Integer, low: Integer, high: Integer, marks: Marks) -> Any:
    """Where an infix that starts at a place ends; that place if none does."""
    code = int(codes[at])
    if (_class(code, marks) & ALPHA) or _is_digit(code):
        return at  # most characters are letters or digits
    if code == _ELLIPSIS:
        return at + 1
    after = int(codes[at + 1]) if at + 1 < high else 0
    if code == _DOT and after == _DOT:
        end = at + 2
        while end < high and codes[end] == _DOT:
            end += 1
        return end
    if at == low:
        return at
    before = int(codes[at - 1])
    left = _class(before, marks)
    right = _class(after, marks)
    if code == _DOT:
        return at + 1 if left & BEFORE and right & AFTER else at
    if (
        code in (_PLUS, _HYPHEN, _STAR, _CARET)
        and _is_digit(before)
        and (_is_digit(after) or after == _HYPHEN)
    ):
        return at + 1
    if code == _COMMA:
        return at + 1 if left & ALPHA and right & ALPHA else at
    if code in (_HYPHEN, _EM_DASH):
        if not (left & ALPHA or _is_digit(before)):
            return at
        most = 3 if code == _HYPHEN else 2
        end = at + 1
        while end < high and end - at < most and codes[end] == code:
            end += 1
        return end if end < high and _class(int(codes[end]), marks) & ALPHA else at
    if code in (_EN_DASH, _TILDE, _COLON, _LESS, _GREATER, _EQUALS, _SLASH):
        return at + 1 if (left & ALPHA or _is_digit(before)) and right & ALPHA else at
    return at


@kernel
def _may_be_url(codes: Int32Array, low: Integer, high: Integer, marks: Marks) -> Any:
    """Whether a string has what no URL is without: a dot, and small letters or three dots."""
    dots = 0
    small = False
    for at in range(low, high):
        code = int(codes[at])
        if code == _DOT:
            dots += 1
        elif _class(code, marks) & BEFORE:
            small = True
    return dots > 2 or (dots > 0 and small)


@kernel
def _cut(  # noqa: PLR0915, PLR0917 - one loop
    codes: Int32Array,
    start: int,
    end: int,
    marks: Marks,
    stack: Int32Array,
    entries: Int32Array,
    entry: Integer,
) -> Any:
    """Write the ends of the tokens of a chunk, counted from its start; returns the next free entry.

    -1 where the chunk is left to `cutting.Cutter`.
    """
    digits = False
    common = KNOWN | ALPHA
    for at in range(start, end):
        code = int(codes[at])
        common &= _class(code, marks)
        if not common:
            return -1
        digits = digits or _is_digit(code)
    if common & ALPHA and _special(codes, start, end, marks) < 0:
        # No affix is made of plain letters.
        entries[entry, END] = end - start
        return entry + 1
    low, high = start, end
    suffixes = 0
    special = -1
    while low < high:
        special = _special(codes, low, high, marks)
        if special >= 0:
            break
        after = _prefix(codes, low, high, marks)
        if low < after < high and _special(codes, after, high, marks) >= 0:
            entries[entry, END] = after - start
            entry += 1
            low = after
            continue
        before = _suffix(codes, after, high, digits, marks)
        if low < before < high and _special(codes, low, before, marks) >= 0:
            stack[suffixes] = high - start
            suffixes += 1
            high = before
            continue
        if after == low and before == high:
            break
        if after > low:
            entries[entry, END] = after - start
            entry += 1
            low = after
        if before < high:
            stack[suffixes] = high - start
            suffixes += 1
            high = before
    if low < high and special >= 0:
        for place in range(marks.offsets[special], marks.offsets[special + 1]):
            entries[entry, END] = low - start + marks.ends[place]
            entry += 1
    elif low < high:
        if _may_be_url(codes, low, high, marks):
            return -1
        last = low
        at = low
        while at < high:
            after = _infix(codes, at, low, high, marks)
            if after == at:
                at += 1
                continue
            if at > low:
                if at > last:
                    entries[entry, END] = at - start
                    entry += 1
                entries[entry, END] = after - start
                entry += 1
                last = after
            at = after
        if last < high:
            entries[entry, END] = high - start
            entry += 1
    while suffixes > 0:
        suffixes -= 1
        entries[entry, END] = stack[suffixes]
        entry += 1
    return entry


@kernel
def _may_be_joined(  # noqa: PLR0917
    codes: Int32Array,
    start: Integer,
    marks: Marks,
    entries: Int32Array,
    first: Integer,
    after: Integer,
) -> Any:
    """Whether the second pass may find something in the tokens of a chunk."""
    left = -1
    low = start
    for entry in range(first, after):
        high = start + int(entries[entry, END])
        number = _number_of(codes, low, high, marks)
        if number >= len(marks.pairs):
            number = -1
        if left >= 0 and number >= 0 and marks.pairs[left, number]:
            return True
        left = number
        low = high
    return False


@kernel
def describe(  # noqa: PLR0917
    chunks: WordTable,
    first: Integer,
    marks: Marks,
    stack: Int32Array,
    known: Int32Array,
    entries: Int32Array,
    entry: Integer,
) -> Any:
    """Cut the chunks from the first new one on; returns the next free entry.

    ``known``, (chunks, 2), gets the first entry and the number of tokens of each, -1 where the
    chunk is left to `cutting.Cutter`; ``entries``, (entries, 2), the ends of tokens, and has room
    for one a character; ``stack`` has room for as many numbers as the longest chunk has characters.
    """
    for number in range(first, int(chunks.used[STRINGS])):
        start = int(chunks.offsets[number])
        end = int(chunks.offsets[number + 1])
        known[number, FIRST] = entry
        known[number, COUNT] = -1
        after = _cut(chunks.codes, start, end, marks, stack, entries, entry)
        if after >= 0 and not _may_be_joined(chunks.codes, start, marks, entries, entry, after):
            known[number, COUNT] = after - entry
            entry = after
    return entry


@kernel
def number_words(
    chunks: WordTable, first: Integer, known: Int32Array, entries: Int32Array, words: WordTable
) -> Any:
    """Number the words of chunks, from the first new one on, whose tokens `describe` wrote.

    Returns the chunk that it came to, which is one of the chunks only if the table is full.
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
    """Write the tokens of rows, from their chunks and what `describe` wrote of these.

    ``chunk_starts`` and ``row_starts`` are places in the joined text; ``row_offsets``, (rows + 1,),
    and ``columns``, (3, tokens): starts and ends in the row, words, are written.
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
