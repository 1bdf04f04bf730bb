"""The class of each token type, and rules as bits: which variants a class begins and continues.

In: the tests of variants; the distinct token types of batch after batch. Out: `Classes`, in which
types that satisfy the same symbols are one class; for `match.scans`, the `BitPlanes` of a
program and the `ClassPlanes` of its classes. Always holds: a class keeps its number as long as its
`_ClassMemory` lives; what a type satisfies does not depend on earlier batches. A type is decided
once, except in large batches where rules test words and tags alone: deciding is then as fast as
remembering. Beyond `most_types` types, all are forgotten.

A bit stands for a variant. A class has the bit among its entries if it satisfies the first test,
and in the cell of a later position if it satisfies the test there or the variant is shorter. Bits
are sorted by their first and second tests, so that those that a token begins are adjacent. Equal
blocks of eight cells are stored once, which keeps a thousand rules within a small cache. Costs a
dictionary look-up for each distinct type of a batch or token of a row, what `Predicates.satisfied`
costs for new types, and a few microseconds for each new class. Threads may share one.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from sears_dsl.engine import arrays as layout
from sears_dsl.engine.arrays import NO_CHILD, BitPlanes, Classes, ClassPlanes, Rules
from sears_dsl.engine.compile.predicates import Predicates
from sears_dsl.runtime.array_types import (
    Growing,
    Int32Array,
    Int64Array,
    Integer,
    UInt64Array,
    offsets_of,
    with_room,
)
from sears_dsl.runtime.kernels import expect, kernel, kernel_of_alike
from sears_dsl.tagging.tokens import TokenType, TokenTypes

# Types that are remembered at most, unless a single batch has more.
_MOST_TYPES = 100_000
# In batches of at most this many types, those of a few rows, types are looked up one by one.
_FEW_TYPES = 200
# In larger batches, at most this many new types are decided one by one.
_FEW_NEW = 30
# At most this many classes times words of 64 symbols: 64 MiB.
_MOST_WORDS = 1 << 23


class TokenClasses:
    """The classes of token types under some rules."""

    def __init__(
        self,
        predicates: Predicates,
        symbols: Int32Array,
        rules: Rules,
        *,
        most_types: int = _MOST_TYPES,
    ) -> None:
        self._predicates = predicates
        self._symbols = symbols  # (predicates,): the symbol of each, -1 where it has none
        self._rules = rules
        self._most_types = most_types  # that are remembered before all are forgotten
        self._words = (len(rules.root) + 63) >> 6
        # Where each test is one look-up, deciding a type is faster than remembering it.
        self._is_quick = all(
            key[0] in ("text", "lower", "coarse", "fine") for key in predicates.keys
        )
        self._lock = threading.Lock()
        self._known = _ClassMemory(self._words)

    def of(self, types: TokenTypes, *, described: bool = True) -> tuple[Classes, PlaneMemory]:
        """The classes of the types of a batch, and the memory of their bits.

        Unless ``described``, all but the first three fields of `Classes` may be too short.
        """
        with self._lock:
            if self._is_quick and len(types) > _FEW_TYPES:
                numbers = np.full(len(types), -1, np.int32)
            else:
                numbers = self._known.look_up(types)
            [new] = (numbers < 0).nonzero()
            if len(new):
                few = _FEW_NEW if len(types) > _FEW_TYPES else _FEW_TYPES
                unseen = types.take(new) if len(new) <= few else None
                learnt = None if unseen is None else self._learn_few(unseen.members())
                if unseen is None or learnt is None:
                    numbers = self._learn(types, numbers)
                else:
                    numbers[new] = learnt
                    self._known.remember(unseen, learnt)
            memory = self._known
            return Classes(numbers, *memory.arrays(self._rules, described=described)), memory.planes

    def of_row(self, types: Sequence[TokenType]) -> tuple[Classes, PlaneMemory] | None:
        """What `of` gives, not described, for the tokens of one row; None where there is no room.

        It uses dictionaries, which are faster than arrays for a dozen tokens.
        """
        with self._lock:
            memory = self._known
            numbers = list(map(memory.class_of_object.get, types))
            if None in numbers:
                new = [kind for kind, number in zip(types, numbers, strict=True) if number is None]
                learnt = self._learn_few(new)
                if learnt is None:
                    return None
                memory.class_of_object.update(zip(new, learnt, strict=True))
                numbers = list(map(memory.class_of_object.get, types))
            arrays = memory.arrays(self._rules, described=False)
            return Classes(np.array(numbers, np.int32), *arrays), memory.planes

    def _learn_few(self, types: Sequence[TokenType]) -> list[int] | None:
        """Decide a few new types and give their classes; None where there is no room."""
        memory = self._known
        if memory.types + len(types) > self._most_types or memory.is_full(len(types)):
            return None
        simple_ids = self._predicates.find_simple(types)
        class_of = memory.class_of_simple
        unseen = list(dict.fromkeys(each for each in simple_ids if each not in class_of))
        if unseen:
            offsets, ids = self._predicates.decided(unseen, self._symbols)
            class_of.update(zip(unseen, memory.add(offsets, ids), strict=True))
        return list(map(class_of.__getitem__, simple_ids))

    def _learn(self, types: TokenTypes, numbers: Int32Array) -> Int32Array:
        """The class of each type of a batch; ``numbers`` has -1 for those that are new."""
        new = np.flatnonzero(numbers < 0)
        if self._known.types + len(new) > self._most_types:
            self._known = _ClassMemory(self._words)
            new = np.arange(len(types))
        unseen = types if len(new) == len(types) else types.take(new)
        group_of, offsets, ids = self._predicates.satisfied(unseen, symbols=self._symbols)
        expect(len(ids))
        if self._known.is_full(len(offsets) - 1) and len(unseen) < len(types):
            self._known = _ClassMemory(self._words)
            return self._learn(types, np.full(len(types), -1, np.int32))
        for words in (self._words, 0):  # 0: this batch alone has too many
            if self._known.is_full(len(offsets) - 1):
                self._known = _ClassMemory(words)
        of_group = np.array(self._known.add(offsets, ids), np.int32)
        if len(types) <= _FEW_TYPES or not self._is_quick:
            self._known.remember(unseen, of_group[group_of].tolist())
        numbers[new] = of_group[group_of]
        return numbers


class _ClassMemory:
    """What is known about types, with a column for each field of `Classes` after the first."""

    def __init__(self, words: int) -> None:
        # Classes by the types themselves, and by their keys for each tagger that numbers types.
        self.class_of_object: dict[Hashable, int] = {}
        self._class_of: dict[object, dict[Hashable, int]] = {None: self.class_of_object}
        # The class by the simple predicates that hold, for a few new types at a time.
        self.class_of_simple: dict[tuple[int, ...], int] = {}
        # The classes of keys that are numbers and were looked up before, for many types at a time.
        self._by_code: dict[object, layout.CodeTable] = {}
        self.planes = PlaneMemory()  # the same classes as bits
        self._numbers: dict[bytes, int] = {}  # the symbols of a class → its number
        self._arrays: tuple[Any, ...] | None = None
        self.columns = (
            Growing(np.zeros(1, np.int32)),
            Growing(np.zeros(0, np.int32)),
            Growing(np.zeros(0, np.uint64)),
            Growing(np.zeros((0, words), np.uint64)),
            Growing(np.zeros(0, np.uint64)),
            Growing(np.zeros(0, np.bool_)),
        )

    def look_up(self, types: TokenTypes) -> Int32Array:
        """The class of each of some types, -1 where it is not known."""
        whose, keys = types.keys()
        class_of = self._class_of.setdefault(whose, {})
        codes = types.codes if len(types) > _FEW_TYPES else None
        if codes is None:
            return np.fromiter(map(class_of.get, keys, repeat(-1)), np.int32, len(types))
        table = self._by_code.setdefault(whose, layout.CodeTable())
        numbers = table.find(codes)
        rest = np.flatnonzero(numbers < 0)
        if len(rest):
            left = codes[rest]
            classes = np.fromiter(map(class_of.get, left.tolist(), repeat(-1)), np.int32, len(rest))
            numbers[rest] = classes
            table.put(left[classes >= 0], classes[classes >= 0])
        return numbers

    def remember(self, types: TokenTypes, classes: Sequence[int]) -> None:
        """Remember the classes of new types."""
        whose, keys = types.keys()
        self._class_of.setdefault(whose, {}).update(zip(keys, classes, strict=True))

    @property
    def types(self) -> int:
        """How many types are known."""
        return sum(map(len, self._class_of.values()))

    def arrays(self, rules: Rules, *, described: bool) -> tuple[Any, ...]:
        """The columns as they are now; the last four may be too short unless ``described``."""
        offsets, symbols, *looks = self.columns
        if described and len(looks[0]) < len(self._numbers):
            rest = (offsets.array[len(looks[0]) :], symbols.array, looks[1].array.shape[1], rules)
            for column, entries in zip(looks, _describe(*rest), strict=True):
                column.extend(entries)
            self._arrays = None
        if self._arrays is None:
            self._arrays = tuple(column.array for column in self.columns)
        return self._arrays

    def is_full(self, groups: int) -> bool:
        """Whether the bits of ``groups`` more classes would take too much room."""
        words: int = self.columns[3].array.shape[1]
        return (len(self._numbers) + groups) * words > _MOST_WORDS

    def add(self, offsets: Int32Array, ids: Int32Array) -> list[int]:
        """The class of each group of types, which satisfies ids[offsets[g]:offsets[g + 1]]."""
        symbols = [ids[low:high] for low, high in pairwise(offsets.tolist())]
        numbers = self._numbers
        before = len(numbers)
        of_group = [numbers.setdefault(each.tobytes(), len(numbers)) for each in symbols]
        if len(numbers) > before:
            if len(numbers) - before < len(symbols):
                symbols_of = dict(zip(reversed(of_group), reversed(symbols), strict=True))
                new = [symbols_of[number] for number in range(before, len(numbers))]
                offsets, ids = np.cumsum([0, *map(len, new)]), np.concatenate(new)
            self.columns[0].extend(len(self.columns[1]) + offsets[1:])
            self.columns[1].extend(ids)
            self._arrays = None
        return of_group


@kernel
def _describe(offsets: Int32Array, symbols: Int32Array, words: Integer, rules: Rules) -> Any:
    """What the scan needs to know of classes: `Classes.bits`, `holds`, `first` and `ends`.

    Class k satisfies symbols[offsets[k]:offsets[k + 1]].
    """
    classes = offsets.shape[0] - 1
    bits = np.zeros(classes, np.uint64)
    holds = np.zeros((classes, words), np.uint64)
    first = np.zeros(classes, np.uint64)
    ends = np.zeros(classes, np.bool_)
    for number in range(classes):
        for at in range(offsets[number], offsets[number + 1]):
            symbol = symbols[at]
            bits[number] |= np.uint64(1) << np.uint64(symbol & 63)
            if words > 0:
                holds[number, symbol >> 6] |= np.uint64(1) << np.uint64(symbol & 63)
            child = rules.root[symbol]
            if child >= 0:
                first[number] |= rules.masks[child]
                if rules.accept_offsets[child + 1] > rules.accept_offsets[child]:
                    ends[number] = True
            elif child != NO_CHILD:
                ends[number] = True
    return bits, holds, first, ends


# ---------------------------------------------------------------- rules as bits

_BLOCK = 8  # cells, as many as fit in a cache line
_BLOCK_BITS = 3
_NO_PATTERN = (1 << 25) - 1
# At most this many classes times blocks, four bytes each.
_MOST_BLOCKS = 1 << 24
# At most this many classes times words or blocks are added at once: room is made for all.
_MOST_AT_ONCE = 1 << 20
# With more words than this, a token begins variants in few of them.
_MOST_DENSE = 64


def bit_planes(
    symbols: Int32Array, offsets: Int64Array, variants: Int32Array, count: int
) -> BitPlanes:
    """The bits of variants: variant v tests symbols[offsets[v]:offsets[v + 1]], all below count."""
    lengths = np.diff(offsets)
    ends = (variants[:, layout.ANCHORS] & 2) != 0
    wholes = lengths + ends
    longest = int(max(wholes.max(initial=1), 1))
    tests = np.full((len(variants), longest), -1, np.int32)
    rows = np.repeat(np.arange(len(variants)), lengths)
    tests[rows, np.arange(len(symbols)) - np.repeat(offsets[:-1], lengths)] = symbols
    # The end of a row counts as a token, and a variant without tests begins with any token.
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
    anchored = np.flatnonzero(table[:, layout.ANCHORS] & 1)
    np.bitwise_or.at(starts, word_of[anchored], bits[anchored])
    seconds = np.zeros(words, np.uint64)
    shorter = wholes == 1
    seconds[word_of[shorter]] = ~np.uint64(0)
    if longest > 1:
        asks = np.uint64(1) << (tests[~shorter, 1] & 63).astype(np.uint64)
        np.bitwise_or.at(seconds, word_of[~shorter], asks)
    codes = (table[:, layout.PATTERN].astype(np.int64) << layout.RANK_BITS) | table[:, layout.ORDER]
    return BitPlanes(
        codes=codes + (table[:, layout.LEFT].astype(np.int64) << layout.ORDER_BITS),
        bases=bases.astype(np.uint32),
        depths=depths.astype(np.uint32),
        seconds=seconds,
        starts=starts if starts.any() else starts[:0],
        blank=blank,
        cell_offsets=starts_of(asked, count + 2),
        cells=cell_of[by_symbol].astype(np.int32),
        cell_bits=cell_bits[by_symbol],
        first_offsets=starts_of(tests[:, 0], count + 2),
        longest=longest,
        past=int(bool((lengths == 0).any())),
        several=int(
            variants[variants[:, layout.ORDER] > 0, layout.PATTERN].min(initial=_NO_PATTERN)
        ),
    )


def starts_of(values: Int32Array, count: int) -> Int32Array:
    """Where the group of each value 0 … count - 1 begins when values are sorted."""
    return offsets_of(np.bincount(values, minlength=count), np.int32)


class PlaneMemory:
    """The planes of classes, extended as classes become known; threads may share one.

    New entries go into spare room at the ends of the arrays, so that others may read the rest.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = 0  # how many numbers have planes: the end of a row, and classes
        self._room: ClassPlanes | None = None
        # The numbers of the pool's blocks by hash; how many entries and blocks there are.
        self._slots = np.full(1, -1, np.int32)
        self._used = np.zeros(2, np.int64)

    def of(self, classes: Classes, planes: BitPlanes) -> ClassPlanes | None:
        """The planes of all classes, None where too large; ``planes`` is always the same."""
        count = len(classes.offsets)  # the end of a row, and the classes
        words, blocks = len(planes.depths), len(planes.blank) >> _BLOCK_BITS
        if count * blocks > _MOST_BLOCKS:
            return None
        with self._lock:
            step = max(1, _MOST_AT_ONCE // max(words, blocks, 1))
            for low in range(self._known, count, step):
                high = min(low + step, count)
                room = self._with_room(high, high - low, words, blocks)
                own = classes.offsets, classes.symbols, planes, room, self._slots, self._used
                add_planes(low, high, *own)
                self._known = high
            return self._room

    def _with_room(self, count: int, added: int, words: int, blocks: int) -> ClassPlanes:
        """Arrays with room for ``count`` numbers, the last ``added`` of which are new."""
        room, (entries, used) = self._room, self._used.tolist()
        if room is None:
            dense = words if words <= _MOST_DENSE else 0
            numbers, masks = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
            table, cells = np.zeros((0, blocks), np.uint32), np.zeros((0, _BLOCK), np.uint64)
            each = np.zeros((0, dense), np.uint64)
            room = ClassPlanes(numbers, numbers, masks, masks, masks, table, each, each, cells)
        most = used + added * blocks
        held = entries + added * words
        has_room = count < len(room.offsets) and count <= len(room.bits)
        if not has_room or held > len(room.words) or most > len(room.pool):
            arrays: tuple[Any, ...] = room
            sizes = (count + 1, held, held, *[count] * 5, most)
            room = ClassPlanes._make(map(with_room, arrays, sizes))
        if 2 * most > len(self._slots):
            self._slots = _rehashed(room.pool, used, 1 << (2 * most).bit_length())
        self._room = room
        return room


@kernel
def _symbols_of(number: Integer, offsets: Int32Array, symbols: Int32Array, end: Integer) -> Any:
    """The symbols that hold of the end of a row (number 0) or of a class (its number plus one).

    Symbol ``end`` holds of the end alone, and the symbol after it of everything.
    """
    if number == 0:
        return np.array([end, end + 1], np.int32)
    begin, stop = offsets[number - 1], offsets[number]
    own = np.full(stop - begin + 1, end + 1, np.int32)
    own[: stop - begin] = symbols[begin:stop]
    return own


@kernel_of_alike
def add_planes(  # noqa: PLR0915, PLR0917 - one loop: calls with so many arrays would cost more
    low: int,
    high: int,
    offsets: Int32Array,
    symbols: Int32Array,
    planes: BitPlanes,
    room: ClassPlanes,
    slots: Int32Array,
    used: Int64Array,
) -> None:
    """Add the planes of numbers low up to high: 0 is the end of a row, k + 1 is class k.

    One call adds them all, since calling a compiled kernel with so many arrays costs as much as one
    class. ``used`` has the numbers of entries and blocks, and is updated. ``slots`` are the blocks
    of the pool by hash, -1 where a slot is free; their number is a power of two, more than twice
    that of the blocks. One symbol alone decides a bit of the entries or of a cell, so the planes of
    a class are those of the one before, with the bits flipped of the symbols in which they differ.
    """
    full, none = ~np.uint64(0), np.uint64(0)
    end = planes.first_offsets.shape[0] - 3
    count, dense = planes.depths.shape[0], room.firsts.shape[1]
    pool = room.pool
    begun = np.zeros(count, np.uint64)  # by word
    row = np.empty(planes.blank.shape[0], np.uint64)
    is_other = np.zeros(room.blocks.shape[1], np.bool_)  # blocks that differ from the class before
    before = np.empty(0, np.int32)
    if low > 0:
        before = _symbols_of(low - 1, offsets, symbols, end)
        for block in range(room.blocks.shape[1]):
            row[_BLOCK * block : _BLOCK * block + _BLOCK] = pool[room.blocks[low - 1, block]]
        for at in range(room.offsets[low - 1], room.offsets[low]):
            begun[room.words[at]] = room.masks[at]
    is_before = np.zeros(end + 2, np.bool_)  # symbols that only the class before has
    differing = np.empty(end + 2, np.int32)
    entries, blocks = used[0], used[1]
    for number in range(low, high):
        own = _symbols_of(number, offsets, symbols, end)
        for symbol in before:
            is_before[symbol] = True
        differences = 0
        for symbol in own:
            room.bits[number] |= np.uint64(1) << np.uint64(symbol & 63)
            differing[differences] = symbol
            differences += not is_before[symbol]
            is_before[symbol] = False
        for symbol in before:
            if is_before[symbol]:
                differing[differences] = symbol
                differences += 1
                is_before[symbol] = False
        before = own
        if differences >= own.shape[0]:  # faster from nothing
            row[:], begun[:], is_other[:] = planes.blank, none, True
        for symbol in differing[:differences] if differences < own.shape[0] else own:
            first = np.int64(planes.first_offsets[symbol])
            last = np.int64(planes.first_offsets[symbol + 1]) - 1
            for word in range(first >> 6, (last >> 6) + 1 if first <= last else 0):
                mask = full
                if word == first >> 6:
                    mask &= full << np.uint64(first & 63)
                if word == last >> 6:
                    mask &= full >> np.uint64(63 - (last & 63))
                begun[word] ^= mask
            for nth in range(planes.cell_offsets[symbol], planes.cell_offsets[symbol + 1]):
                row[planes.cells[nth]] ^= planes.cell_bits[nth]
                is_other[planes.cells[nth] >> _BLOCK_BITS] = True
        for word in range(dense):
            room.firsts[number, word] = begun[word]
            room.nexts[number, word] = row[planes.bases[word]] if planes.depths[word] > 1 else full
        for word in range(count):
            if begun[word] != none:
                room.words[entries] = word
                room.masks[entries] = begun[word]
                room.ahead[number] |= planes.seconds[word]
                entries += 1
        room.offsets[number + 1] = entries
        for block in range(room.blocks.shape[1]):
            if not is_other[block]:
                room.blocks[number, block] = room.blocks[number - 1, block]
                continue
            is_other[block] = False
            begin = _BLOCK * block
            slot = _hash_of(row, begin) & (slots.shape[0] - 1)
            while slots[slot] >= 0 and not _is_same(pool[slots[slot]], row, begin):
                slot = (slot + 1) & (slots.shape[0] - 1)
            if slots[slot] < 0:
                pool[blocks] = row[begin : begin + _BLOCK]
                slots[slot] = blocks
                blocks += 1
            room.blocks[number, block] = slots[slot]
    used[0], used[1] = entries, blocks


@kernel
def _is_same(cells: UInt64Array, row: UInt64Array, begin: Integer) -> Any:
    same = True
    for cell in range(_BLOCK):
        same &= cells[cell] == row[begin + cell]
    return same


@kernel
def _hash_of(cells: UInt64Array, begin: Integer) -> Any:
    """A hash of the block of cells that begins at ``begin``; products stay within 63 bits."""
    mixed = np.uint64(0)
    for cell in range(begin, begin + _BLOCK):
        mixed = ((mixed << np.uint64(9)) | (mixed >> np.uint64(55))) ^ cells[cell]
        mixed ^= np.uint64(np.int64(mixed & np.uint64(0x7FFFFFFF)) * np.int64(0x3C6EF373))
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(0x7FFFFFFF))


@kernel
def _rehashed(pool: UInt64Array, used: Integer, size: Integer) -> Any:
    """A new table of ``size`` slots with the first ``used`` blocks of the pool."""
    slots = np.full(size, -1, np.int32)
    for number in range(used):
        slot = _hash_of(pool[number], 0) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = number
    return slots
