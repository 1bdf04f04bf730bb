"""Which class each token type is in: types that satisfy the same symbols are one class.

In: the distinct token types of batch after batch. Out: `Classes`, and `Heads` to remember pairs of
them in. Always holds: a class keeps its number as long as its `_ClassMemory` lives; what is told of
a type does not depend on what came before. A type is decided once, however many batches have it,
but where rules ask for words and tags alone, which takes no longer than to remember it; beyond
`most_types` all is forgotten. Costs a dictionary look-up for each distinct type of a batch, and
what `Predicates.satisfied` costs for those that are new. Threads may share one.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import NO_CHILD, Classes, Heads, Rules
from sears_dsl.engine.compile.bit_planes import PlaneMemory
from sears_dsl.engine.compile.predicates import Predicates
from sears_dsl.runtime.array_types import Growing, Int32Array, Integer
from sears_dsl.runtime.kernels import expect, kernel
from sears_dsl.tagging.tokens import TokenTypes

# So many types are remembered; a batch may go beyond it.
_MOST_TYPES = 100_000
# So many types of a batch are looked up one by one: those of a few rows.
_FEW_TYPES = 200
# Likewise of a larger batch, where so few are new.
_FEW_NEW = 30
# Classes times words of symbols, 64 to a word: 64 MiB.
_MOST_WORDS = 1 << 23
# Pairs of classes that a thread remembers, and the numbers that it keeps about them.
_PAIRS = 1 << 17
_FEWEST_PAIRS = 1 << 12  # what one row began is there for the next one
_ARENA = 1 << 22
# With more edges under the root (rules that were mined) types satisfy few symbols: those are asked.
_MOST_ROOT_EDGES = 1 << 14


class TokenClasses:
    """The classes of token types under some rules.

    Args:
        symbols: int32 (predicates,): the symbol of each predicate, -1 where it has none.
        most_types: how many types are remembered before all are forgotten.
    """

    def __init__(
        self,
        predicates: Predicates,
        symbols: Int32Array,
        rules: Rules,
        *,
        most_types: int = _MOST_TYPES,
    ) -> None:
        self._predicates = predicates
        self._symbols = symbols
        self._rules = rules
        self._most_types = most_types
        self._words = (len(rules.root) + 63) >> 6
        # Where each test is one look-up, a type is decided sooner than it is remembered.
        self._is_quick = all(
            key[0] in ("text", "lower", "coarse", "fine") for key in predicates.keys
        )
        self._alone = threading.Lock()
        self._known = _ClassMemory(self._words)

    def of(self, types: TokenTypes) -> tuple[Classes, HeadsPool]:
        """The classes of the types of a batch, and what is remembered of pairs of them."""
        with self._alone:
            if self._is_quick and len(types) > _FEW_TYPES:
                numbers = np.full(len(types), -1, np.int32)
            else:
                numbers = self._known.look_up(types)
            if numbers.min(initial=0) < 0:
                few = _FEW_NEW if len(types) > _FEW_TYPES else _FEW_TYPES
                new = np.flatnonzero(numbers < 0)
                if len(new) > few or not self._add_few(types.take(new), new, numbers):
                    numbers = self._learn(types, numbers)
            return Classes(numbers, *self._known.arrays()), self._known.heads

    def _add_few(self, types: TokenTypes, places: NDArray[np.int64], numbers: Int32Array) -> bool:
        """Write the classes of the few types that are new; False where there is no room."""
        known = self._known
        if known.types + len(types) > self._most_types or known.is_full(len(types)):
            return False
        members = map(types.__getitem__, range(len(types)))  # sooner made than columns of a few
        simple_ids = list(map(self._predicates.find_simple, members))
        unseen = {each: None for each in simple_ids if each not in known.class_of_simple}
        if unseen:
            offsets, ids = self._predicates.decided(list(unseen), self._symbols)
            classes = known.add(offsets, ids, self._rules).tolist()
            known.class_of_simple.update(zip(unseen, classes, strict=True))
        numbers[places] = list(map(known.class_of_simple.__getitem__, simple_ids))
        known.remember(types, numbers[places])
        return True

    def _learn(self, types: TokenTypes, numbers: Int32Array) -> Int32Array:
        """The class of each type of a batch, of which some, or all, are new: -1."""
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
        if self._known.is_full(len(offsets) - 1):  # of this batch alone
            self._known = _ClassMemory(0)
        of_group = self._known.add(offsets, ids, self._rules)
        if len(types) <= _FEW_TYPES or not self._is_quick:
            self._known.remember(unseen, of_group[group_of])
        numbers[new] = of_group[group_of]
        return numbers


class _ClassMemory:
    """What was learnt about types; a column for each field of `Classes` behind the first."""

    def __init__(self, words: int) -> None:
        # By who numbers types, and by the type itself for all who do not.
        self._class_of: dict[object, dict[Hashable, int]] = {}
        # By what simple tests say of them, for few new types at a time.
        self.class_of_simple: dict[tuple[int, ...], int] = {}
        # Of those that are numbered what was asked before, for many types at a time.
        self._by_code: dict[object, CodeTable] = {}
        self.heads = HeadsPool()
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
        table = self._by_code.setdefault(whose, CodeTable())
        numbers = table.find(codes)
        rest = np.flatnonzero(numbers < 0)
        if len(rest):
            left = codes[rest]
            known = np.fromiter(map(class_of.get, left.tolist(), repeat(-1)), np.int32, len(rest))
            numbers[rest] = known
            table.put(left[known >= 0], known[known >= 0])
        return numbers

    def remember(self, types: TokenTypes, classes: Int32Array) -> None:
        """The classes of types that are new."""
        whose, keys = types.keys()
        class_of = self._class_of.setdefault(whose, {})
        class_of.update(zip(keys, classes.tolist(), strict=True))

    @property
    def types(self) -> int:
        """How many are known."""
        return sum(map(len, self._class_of.values()))

    def arrays(self) -> tuple[Any, ...]:
        """The columns as they are now."""
        if self._arrays is None:
            self._arrays = tuple(column.array for column in self.columns)
        return self._arrays

    def is_full(self, groups: int) -> bool:
        """Whether the bits of so many more classes would be too much."""
        words: int = self.columns[3].array.shape[1]
        return (len(self._numbers) + groups) * words > _MOST_WORDS

    def add(self, offsets: Int32Array, ids: Int32Array, rules: Rules) -> Int32Array:
        """The class of each group of types, which satisfies ids[offsets[g]:offsets[g + 1]]."""
        symbols = [ids[low:high] for low, high in pairwise(offsets.tolist())]
        numbers = self._numbers
        known = len(numbers)
        of_group = [numbers.setdefault(each.tobytes(), len(numbers)) for each in symbols]
        if len(numbers) > known:
            symbols_of = dict(zip(reversed(of_group), reversed(symbols), strict=True))
            new = [symbols_of[number] for number in range(known, len(numbers))]
            own = np.zeros(len(new) + 1, np.int32)
            np.cumsum(list(map(len, new)), out=own[1:])
            flat = np.concatenate(new)
            words = self.columns[3].array.shape[1]
            added = (own[1:] + len(self.columns[1]), flat, *_describe(own, flat, words, rules))
            for column, entries in zip(self.columns, added, strict=True):
                column.extend(entries)
            self._arrays = None
        return np.array(of_group, np.int32)


class CodeTable:
    """Numbers by codes, for many codes at a time.

    Example:
        >>> table = CodeTable()
        >>> table.put(np.array([70, 7]), np.array([1, 2], np.int32))
        >>> table.find(np.array([7, 8, 70])).tolist()
        [2, -1, 1]
    """

    def __init__(self) -> None:
        self._slots = np.full((1 << 10, 2), -1, np.int64)
        self._count = 0

    def find(self, codes: NDArray[np.int64]) -> Int32Array:
        """The number of each code, -1 where there is none."""
        numbers: Int32Array = _find_codes(codes, self._slots)
        return numbers

    def put(self, codes: NDArray[np.int64], numbers: Int32Array) -> None:
        """Add codes, each of which is new and there once, with their numbers."""
        self._count += len(codes)
        if 2 * self._count > len(self._slots):
            old = self._slots[self._slots[:, 0] >= 0]
            self._slots = np.full((1 << (4 * self._count).bit_length(), 2), -1, np.int64)
            _put_codes(old[:, 0].copy(), old[:, 1].astype(np.int32), self._slots)
        _put_codes(codes, numbers, self._slots)


@kernel
def _find_codes(codes: Any, slots: Any) -> Any:
    """See `CodeTable.find`; slots: int64 (a power of two, 2), codes with their numbers, or -1."""
    numbers = np.empty(codes.shape[0], np.int32)
    mask = np.int64(slots.shape[0] - 1)
    for place in range(codes.shape[0]):
        code = np.int64(codes[place])
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot, 0] >= 0 and slots[slot, 0] != code:
            slot = (slot + 1) & mask
        numbers[place] = slots[slot, 1]
    return numbers


@kernel
def _put_codes(codes: Any, numbers: Any, slots: Any) -> None:
    """See `CodeTable.put`; there is room."""
    mask = np.int64(slots.shape[0] - 1)
    for place in range(codes.shape[0]):
        code = np.int64(codes[place])
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot, 0] >= 0:
            slot = (slot + 1) & mask
        slots[slot, 0] = code
        slots[slot, 1] = numbers[place]


class HeadsPool:
    """Heads that no thread uses now; they serve the classes of one `_ClassMemory`.

    Attributes:
        planes: the same classes as bits.
    """

    def __init__(self) -> None:
        self._idle: list[Heads] = []
        self.planes = PlaneMemory()

    def take(self, tokens: int, classes: Classes, rules: Rules) -> Heads:
        """Heads for a scan of so many tokens; to be given back."""
        count, words = classes.holds.shape
        # Room for each pair that there may be, and for it to stand alone.
        most = min(_PAIRS, max(_FEWEST_PAIRS, 1 << tokens.bit_length()))
        pairs = min(most, 1 << (count * (count + 1)).bit_length())
        if rules.root_edges > _MOST_ROOT_EDGES:
            words = 0
        try:
            heads = self._idle.pop()  # one thread alone gets it
        except IndexError:
            heads = None
        if heads is None or len(heads.slots) < pairs:
            heads = Heads(
                slots=np.full((pairs, 2), -1, np.int64),
                arena=np.empty(_ARENA, np.int32),
                used=np.zeros(1, np.int64),
                follows=np.zeros((count, words), np.uint64),
                known=np.zeros(count, np.bool_),
                candidates=np.empty(len(rules.root), np.int32),
            )
        if len(heads.known) < count:
            follows = np.zeros((2 * count, words), np.uint64)
            known = np.zeros(2 * count, np.bool_)
            follows[: len(heads.known)] = heads.follows
            known[: len(heads.known)] = heads.known
            heads = heads._replace(follows=follows, known=known)
        return heads

    def give_back(self, heads: Heads) -> None:
        """Let the next scan have them."""
        self._idle.append(heads)


@kernel
def _describe(offsets: Int32Array, symbols: Int32Array, words: Integer, rules: Rules) -> Any:
    """What the scan is to know of classes: `Classes.bits`, `holds`, `first` and `ends`.

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
