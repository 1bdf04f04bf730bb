"""Rules as bits: which variants a class of tokens lets begin, and which it lets go on.

In: what variants test, then the classes of tokens as they become known. Out: `BitPlanes` of a
program and `ClassPlanes` of its classes, for `match.bit_scan`. Always holds: a bit stands for a
variant; it is in the entries of a class if that satisfies the first test, and in the cell of a
later place if it satisfies the test there or the variant is shorter. Bits are in the order of
their first and second tests, so that those that a token begins stand together. Costs a few
microseconds for each class that is new; equal blocks of eight cells are there once, which keeps a
thousand rules within a small cache.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    ANCHORS,
    LEFT,
    ORDER,
    ORDER_BITS,
    PATTERN,
    RANK_BITS,
    BitPlanes,
    Classes,
    ClassPlanes,
    grown,
)
from sears_dsl.runtime.array_types import Growing, Int32Array, Int64Array, Integer, UInt64Array
from sears_dsl.runtime.kernels import kernel

_BLOCK = 8  # cells, as many as are in a line of a cache
_BLOCK_BITS = 3
_NO_PATTERN = (1 << 25) - 1
# Classes times blocks, four bytes each.
_MOST_BLOCKS = 1 << 24


def bit_planes(
    symbols: Int32Array, offsets: Int64Array, variants: Int32Array, count: int
) -> BitPlanes:
    """The bits of variants.

    Args:
        symbols: what they test, one variant after another.
        offsets: int64 (variants + 1,): where each is among the symbols.
        variants: see `arrays.Rules`.
        count: how many symbols there are.
    """
    lengths = np.diff(offsets)
    ends = (variants[:, ANCHORS] & 2) != 0
    wholes = lengths + ends
    longest = int(max(wholes.max(initial=1), 1))
    tests = np.full((len(variants), longest), -1, np.int32)
    rows = np.repeat(np.arange(len(variants)), lengths)
    tests[rows, np.arange(len(symbols)) - np.repeat(offsets[:-1], lengths)] = symbols
    # The end of a row is a token of its own, and what tests nothing begins with any token.
    tests[np.flatnonzero(ends), lengths[ends]] = count
    tests[wholes == 0, 0] = count + 1
    second = tests[:, 1].astype(np.int64) + 1 if longest > 1 else 0
    order = np.argsort((tests[:, 0].astype(np.int64) << 32) + second, kind="stable")
    tests, wholes, table = tests[order], np.maximum(wholes[order], 1), variants[order]

    words = (len(order) + 63) >> 6
    word_of = np.arange(len(order)) >> 6
    bits = np.uint64(1) << (np.arange(len(order)) & 63).astype(np.uint64)
    depths = np.ones(words, np.int32)
    np.maximum.at(depths, word_of, wholes.astype(np.int32))
    bases = np.cumsum(depths - 1) - (depths - 1)
    cells = int((depths - 1).sum())
    blank = np.zeros(-(-cells // _BLOCK) * _BLOCK, np.uint64)
    parts = [(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint64))]
    for place in range(1, longest):
        deep = depths[word_of] > place
        over = np.flatnonzero(deep & (wholes <= place))
        np.bitwise_or.at(blank, bases[word_of[over]] + place - 1, bits[over])
        on = np.flatnonzero(wholes > place)
        parts.append((tests[on, place], bases[word_of[on]] + place - 1, bits[on]))
    asked, cell_of, cell_bits = map(np.concatenate, zip(*parts, strict=True))
    by_symbol = np.argsort(asked, kind="stable")
    starts = np.zeros(words, np.uint64)
    anchored = np.flatnonzero(table[:, ANCHORS] & 1)
    np.bitwise_or.at(starts, word_of[anchored], bits[anchored])
    seconds = np.zeros(words, np.uint64)
    shorter = wholes == 1
    seconds[word_of[shorter]] = ~np.uint64(0)
    if longest > 1:
        asks = np.uint64(1) << (tests[~shorter, 1] & 63).astype(np.uint64)
        np.bitwise_or.at(seconds, word_of[~shorter], asks)
    codes = (table[:, PATTERN].astype(np.int64) << RANK_BITS) | table[:, ORDER]
    return BitPlanes(
        codes=codes + (table[:, LEFT].astype(np.int64) << ORDER_BITS),
        bases=bases.astype(np.uint32),
        depths=depths.astype(np.uint32),
        seconds=seconds,
        starts=starts if starts.any() else starts[:0],
        blank=blank,
        cell_offsets=_starts_of(asked, count + 2),
        cells=cell_of[by_symbol].astype(np.int32),
        cell_bits=cell_bits[by_symbol],
        first_offsets=_starts_of(tests[:, 0], count + 2),
        longest=longest,
        past=int(bool((lengths == 0).any())),
        several=int(variants[variants[:, ORDER] > 0, PATTERN].min(initial=_NO_PATTERN)),
    )


def _starts_of(values: Int32Array, count: int) -> Int32Array:
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(values, minlength=count), out=offsets[1:])
    return offsets


class PlaneMemory:
    """The planes of classes, as they become known; threads may share one."""

    def __init__(self) -> None:
        self._alone = threading.Lock()
        self._columns: tuple[Growing, ...] = ()
        self._pool = np.zeros((64, _BLOCK), np.uint64)
        self._slots = np.full(256, -1, np.int32)
        self._used = 0

    def of(self, classes: Classes, planes: BitPlanes) -> ClassPlanes | None:
        """The planes of all classes; None where they would be too large.

        Args:
            planes: always the same ones.
        """
        count = len(classes.offsets)  # the end of a row is one more, the first one
        blocks = len(planes.blank) >> _BLOCK_BITS
        if count * blocks > _MOST_BLOCKS:
            return None
        with self._alone:
            if not self._columns:
                self._columns = (
                    Growing(np.zeros(1, np.uint32)),
                    Growing(np.zeros(0, np.uint32)),
                    Growing(np.zeros(0, np.uint64)),
                    Growing(np.zeros(0, np.uint64)),
                    Growing(np.zeros(0, np.uint64)),
                    Growing(np.zeros((0, blocks), np.uint32)),
                )
            known = len(self._columns[0]) - 1
            if known < count:
                own = (known, count, classes.offsets, classes.symbols, planes)
                added = list(plane_entries(*own))
                added[0] = added[0][1:] + np.uint32(len(self._columns[1]))
                numbers, self._pool, self._slots, self._used = plane_blocks(
                    *own, self._pool, self._slots, self._used
                )
                for column, entries in zip(self._columns, (*added, numbers), strict=True):
                    column.extend(entries)
            return ClassPlanes._make([*(column.array for column in self._columns), self._pool])


@kernel
def _symbols_of(number: Integer, offsets: Int32Array, symbols: Int32Array, end: Integer) -> Any:
    """The symbols that hold of the end of a row, 0, or of a class, its number plus one.

    Args:
        end: what holds of the end alone; the next one holds of all.
    """
    if number == 0:
        return np.array([end, end + 1], np.int32)
    begin, stop = offsets[number - 1], offsets[number]
    own = np.empty(stop - begin + 1, np.int32)
    own[: stop - begin] = symbols[begin:stop]
    own[stop - begin] = end + 1
    return own


@kernel
def plane_entries(
    low: int, high: int, offsets: Int32Array, symbols: Int32Array, planes: BitPlanes
) -> Any:
    """What the end of a row, 0, and classes, by their numbers plus one, begin.

    Args:
        low: the first that is wanted.
        high: one past the last.
        offsets: see `Classes`.
        symbols: see `Classes`.

    Returns:
        (offsets, words, masks, bits, ahead) as in `ClassPlanes`.
    """
    full = ~np.uint64(0)
    end = planes.first_offsets.shape[0] - 3
    entry_offsets = np.zeros(high - low + 1, np.uint32)
    words = np.empty(64, np.uint32)
    masks = np.empty(64, np.uint64)
    bits = np.zeros(high - low, np.uint64)
    ahead = np.zeros(high - low, np.uint64)
    entries = np.int64(0)
    for number in range(low, high):
        for symbol in _symbols_of(number, offsets, symbols, end):
            bits[number - low] |= np.uint64(1) << np.uint64(symbol & 63)
            first = np.int64(planes.first_offsets[symbol])
            last = np.int64(planes.first_offsets[symbol + 1]) - 1
            if first > last:
                continue
            most = entries + (last >> 6) - (first >> 6) + 1
            if most > words.shape[0]:
                words, masks = grown(words, most), grown(masks, most)
            for word in range(first >> 6, (last >> 6) + 1):
                mask = full
                if word == first >> 6:
                    mask &= full << np.uint64(first & 63)
                if word == last >> 6:
                    mask &= full >> np.uint64(63 - (last & 63))
                if entries > entry_offsets[number - low] and words[entries - 1] == word:
                    masks[entries - 1] |= mask
                else:
                    words[entries] = word
                    masks[entries] = mask
                    entries += 1
                ahead[number - low] |= planes.seconds[word]
        entry_offsets[number - low + 1] = entries
    return entry_offsets, words[:entries], masks[:entries], bits, ahead


@kernel
def plane_blocks(  # noqa: PLR0917 - arrays in the order in which they are made
    low: int,
    high: int,
    offsets: Int32Array,
    symbols: Int32Array,
    planes: BitPlanes,
    pool: Any,
    slots: Int32Array,
    used: Integer,
) -> Any:
    """What the same let go on; the first arguments are those of `plane_entries`.

    Args:
        pool: uint64 (room, 8): blocks of cells, of which ``used`` are there.
        slots: int32 (a power of two,): their numbers by hash, -1 where a slot is free.

    Returns:
        (blocks, pool, slots, used): the first as in `ClassPlanes`, the others as they are then.
    """
    blocks = planes.blank.shape[0] >> _BLOCK_BITS
    end = planes.first_offsets.shape[0] - 3
    numbers = np.empty((high - low, blocks), np.uint32)
    row = np.empty(planes.blank.shape[0], np.uint64)
    for number in range(low, high):
        row[:] = planes.blank
        for symbol in _symbols_of(number, offsets, symbols, end):
            for of in range(planes.cell_offsets[symbol], planes.cell_offsets[symbol + 1]):
                row[planes.cells[of]] |= planes.cell_bits[of]
        for block in range(blocks):
            begin = _BLOCK * block
            slot = _hash_of(row, begin) & (slots.shape[0] - 1)
            while slots[slot] >= 0 and not _is_same(pool[slots[slot]], row, begin):
                slot = (slot + 1) & (slots.shape[0] - 1)
            if slots[slot] >= 0:
                numbers[number - low, block] = slots[slot]
                continue
            if used == pool.shape[0]:
                larger = np.empty((2 * used, _BLOCK), np.uint64)
                larger[:used] = pool
                pool = larger
            pool[used] = row[begin : begin + _BLOCK]
            slots[slot] = used
            numbers[number - low, block] = used
            used += 1
            if 2 * used > slots.shape[0]:
                slots = _rehashed(pool, used, 4 * slots.shape[0])
    return numbers, pool, slots, used


@kernel
def _is_same(cells: Any, row: UInt64Array, begin: Integer) -> Any:
    same = True
    for cell in range(_BLOCK):
        same &= cells[cell] == row[begin + cell]
    return same


@kernel
def _hash_of(cells: Any, begin: Integer) -> Any:
    """A hash of the block of cells that begins there; every product is within 63 bits."""
    mixed = np.uint64(0)
    for cell in range(begin, begin + _BLOCK):
        mixed = ((mixed << np.uint64(9)) | (mixed >> np.uint64(55))) ^ cells[cell]
        mixed ^= np.uint64(np.int64(mixed & np.uint64(0x7FFFFFFF)) * np.int64(0x3C6EF373))
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(0x7FFFFFFF))


@kernel
def _rehashed(pool: Any, used: Integer, size: Integer) -> Any:
    """The slots of blocks that are there, more of them."""
    slots = np.full(size, -1, np.int32)
    for number in range(used):
        slot = _hash_of(pool[number], 0) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    return slots
