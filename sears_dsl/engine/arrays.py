"""What the inner loops share: array layouts, the trie's edges, and numbers for sequences and codes.

The kernels (see `runtime.kernels`) that read these arrays are in `token_classes`, which runs them
once for each new type and class, and in `scans` and `search`, once for each block of rows.

Three kinds of numbers pack several values into one:

    hit     pattern << 37 | rank, where a rank is the start of the replaced span in its row << 6 |
            the variant's place in the order of preference, so that smaller ranks come first
    child   where an edge leads: a node, or ~pattern where the path ends with one plain pattern and
            goes no further, as most paths do (plain: one variant, without context or anchors)
    accept  what ends at a node: a plain pattern, or ~variant
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import (
    Flags,
    Int32Array,
    Int64Array,
    Integer,
    UInt8Array,
    UInt32Array,
    UInt64Array,
    offsets_of,
)
from sears_dsl.runtime.kernels import kernel

EXTENT_FIRST = 0
EXTENT_ALL = 1
EXTENT_EVERY = 2

# Columns of the table of variants.
PATTERN = 0
ORDER = 1
LEFT = 2
FOCUS = 3
ANCHORS = 4

NO_CHILD = -(1 << 31)

ORDER_BITS = 6
RANK_BITS = 37  # 31 for a position in a row and 6 for the order
RANK = (1 << RANK_BITS) - 1
ORDER_MASK = (1 << ORDER_BITS) - 1
NODE_SHIFT = 32  # bits of a node in the key of an edge


class RulePatterns(NamedTuple):
    """The distinct patterns of the rules, and which rules have each of them."""

    variants: Int32Array  # (variants, 5): pattern, order, left, focus, anchors
    first_variant: Int32Array  # (patterns,): where the variants of a pattern begin
    rule_offsets: Int32Array  # (patterns + 1,): where the rules of a pattern begin in rules_of
    rules_of: Int32Array  # (rules,): sorted by pattern
    pattern_of: Int32Array  # (rules,)
    # (patterns, 2), so that one cache line has both: the rule of a pattern with one rule and one
    # variant, and how many tokens it replaces; the rule is -1 for other patterns.
    single: Int32Array


class Rules(NamedTuple):
    """The rules of a program as the kernels read them."""

    masks: UInt64Array  # (nodes,): a bit for each symbol, modulo 64, that a node has an edge for
    root: Int32Array  # (symbols,): the root's child, `NO_CHILD` where there is none
    edges: Int64Array  # (size, 2): hashed edges, (node << 32 | symbol, child); -1: a free slot
    edge_offsets: Int32Array  # (nodes + 1,): where a node's edges begin in the next two arrays
    edge_symbols: Int32Array  # (edges,): the symbol that an edge requires
    edge_children: Int32Array  # (edges,): where it leads
    accept_offsets: Int32Array  # (nodes + 1,): where what ends at a node begins in accepts
    accepts: Int32Array
    patterns: RulePatterns
    deepest: Integer  # how many tests the longest variant has


class Classes(NamedTuple):
    """Classes of token types that satisfy the same predicates, as the scan reads them."""

    of_type: Int32Array  # (types,): the class of each type
    offsets: Int32Array  # (classes + 1,): where the symbols that a class satisfies begin in symbols
    symbols: Int32Array
    bits: UInt64Array  # (classes,): a bit for each of those symbols, modulo 64
    # (classes, words): those symbols, a bit each; no words where that would take too much room.
    holds: UInt64Array
    # (classes,): symbols, modulo 64, of which the next token must satisfy one for a path that
    # begins here to go on; 0 where no path goes on.
    first: UInt64Array
    ends: Flags  # (classes,): whether a path that begins here may end with this token


class BitPlanes(NamedTuple):
    """Variants as bits, 64 to a word; see `compile.token_classes`.

    A word has a cell for each position after the first that any of its variants tests. The end of a
    row counts as a token of its own.
    """

    codes: Int64Array  # (variants,): the hit of each bit if its tests begin at the start of a row
    bases: UInt32Array  # (words,): the first cell of each word
    depths: UInt32Array  # (words,): how many positions its longest variant tests
    # (words,): a bit for each symbol, modulo 64, that its variants require of the second token; all
    # bits if a variant tests no second token.
    seconds: UInt64Array
    starts: UInt64Array  # (words,): the variants that begin only at a row's start; empty if none do
    blank: UInt64Array  # (cells,): what survives a token that satisfies nothing: shorter variants
    # (symbols + 3,): where the cells that require a symbol begin in the next two arrays. The last
    # two symbols are the end of a row, and any token or the end.
    cell_offsets: Int32Array
    cells: Int32Array  # the cell
    cell_bits: UInt64Array  # the variant's bit in it
    first_offsets: Int32Array  # (symbols + 3,): where the bits whose first test is a symbol begin
    longest: Integer  # how many positions the longest variant tests
    past: Integer  # 1 if a variant may begin at the end of a row, else 0
    # The first pattern that has more than one variant; if none has, it is past all patterns.
    several: Integer


class ClassPlanes(NamedTuple):
    """The bits of token classes: class k has number k + 1, and 0 is the end of a row."""

    # (numbers + 1,): where the words with variants that a token begins are in the next two arrays.
    offsets: UInt32Array
    words: UInt32Array
    masks: UInt64Array  # the bits of these variants in the word
    bits: UInt64Array  # (numbers,): a bit for each symbol, modulo 64, that holds
    # (numbers,): likewise those of which the next token must satisfy one if a variant begins here.
    ahead: UInt64Array
    blocks: UInt32Array  # (numbers, cells / 8): where in the pool each block of eight cells is
    # (numbers, words): the masks by word; without columns where there are many words.
    firsts: UInt64Array
    nexts: UInt64Array  # (numbers, words): the bits that survive this as a second token, likewise
    pool: UInt64Array  # (blocks, 8): cells, the bits that survive a token


class ProtectedPlaces(NamedTuple):
    """Where no instance may be; both arrays are empty where nothing is protected."""

    # (2 tokens + 1,): how many of the units before each unit are protected; unit 2k is token k,
    # unit 2k + 1 the gap behind it.
    covered: Int32Array
    # (tokens + rows,): whether an insertion would be strictly inside a span; place k of row r is at
    # row_offsets[r] + r + k.
    closed: UInt8Array


# ---------------------------------------------------------------- edges and places


@kernel
def first_slot(node: Integer, symbol: Integer, size: Integer) -> Any:
    """The slot where the search for an edge begins; the factors keep products within 63 bits."""
    mixed = (np.int64(node) * np.int64(0x3C6EF373)) ^ (np.int64(symbol) * np.int64(0x2545F491))
    return (mixed ^ (mixed >> np.int64(25)) ^ (mixed >> np.int64(41))) & np.int64(size - 1)


@kernel
def find_child(node: Integer, symbol: Integer, edges: Int64Array) -> Any:
    """The child of an inner node along a symbol, `NO_CHILD` where there is none."""
    edge_key = (np.int64(node) << NODE_SHIFT) | np.int64(symbol)
    size = edges.shape[0]
    slot = first_slot(node, symbol, size)
    while edges[slot, 0] != edge_key:
        if edges[slot, 0] == -1:
            return np.int64(NO_CHILD)
        slot = (slot + 1) & (size - 1)
    return edges[slot, 1]


@kernel
def build_table(
    parents: Int32Array, symbols: Int32Array, children: Int32Array, size: Integer
) -> Any:
    """An open-addressing table of edges; ``size`` is a power of two above the number of edges."""
    edges = np.full((size, 2), -1, np.int64)
    for edge in range(parents.shape[0]):
        slot = first_slot(parents[edge], symbols[edge], size)
        while edges[slot, 0] != -1:
            slot = (slot + 1) & (size - 1)
        edges[slot, 0] = (np.int64(parents[edge]) << NODE_SHIFT) | np.int64(symbols[edge])
        edges[slot, 1] = children[edge]
    return edges


@kernel
def build_trie(symbols: Int32Array, offsets: Int64Array, size: Integer) -> Any:
    """Insert sequences of symbols: (parents, edge symbols, node at which each sequence ends).

    Sequence k is symbols[offsets[k]:offsets[k + 1]]. Nodes are numbered in the order of their
    creation, from the root, 0, and edge e leads to node e + 1. ``size`` is a power of two above the
    number of symbols.
    """
    edges = np.full((size, 2), -1, np.int64)
    parents = np.empty(symbols.shape[0], np.int32)
    labels = np.empty(symbols.shape[0], np.int32)
    count = offsets.shape[0] - 1
    final = np.empty(count, np.int32)
    nodes = 1
    for sequence in range(count):
        node = np.int64(0)
        for place in range(offsets[sequence], offsets[sequence + 1]):
            symbol = symbols[place]
            edge_key = (node << NODE_SHIFT) | np.int64(symbol)
            slot = first_slot(node, symbol, size)
            while edges[slot, 0] != edge_key and edges[slot, 0] != -1:
                slot = (slot + 1) & (size - 1)
            if edges[slot, 0] == -1:
                edges[slot, 0] = edge_key
                edges[slot, 1] = nodes
                parents[nodes - 1] = node
                labels[nodes - 1] = symbol
                nodes += 1
            node = edges[slot, 1]
        final[sequence] = node
    return parents[: nodes - 1].copy(), labels[: nodes - 1].copy(), final


# So many edges of a node, side by side, are tried faster than symbols are looked up in a table.
_FEW_EDGES = 8


@kernel
def asks_edges(node: Integer, kind: Integer, classes: Classes, rules: Rules) -> Any:
    """Whether the scan tries the edges of a node, since they are few or fewer than the symbols.

    Types satisfy few symbols of mined rules (words and tags), and hundreds where many rules have
    negations.
    """
    if classes.holds.shape[1] == 0:
        return False
    symbols = classes.offsets[kind + 1] - classes.offsets[kind]
    return rules.edge_offsets[node + 1] - rules.edge_offsets[node] < max(symbols, _FEW_EDGES)


@kernel
def is_protected(
    start: Integer, end: Integer, row: Integer, covered: Int32Array, closed: UInt8Array
) -> Any:
    """Whether an instance on tokens start up to end of the batch touches something protected."""
    if end == start:
        return closed[start + row] != 0
    return covered[2 * end - 1] > covered[2 * start]


# The position of a single bit by its value modulo 67, which differs for the 64 powers of two.
BIT_OF = np.zeros(67, np.uint64)
for _bit in range(64):
    BIT_OF[(1 << _bit) % 67] = _bit


@kernel
def grown(array: NDArray[Any], size: Integer) -> Any:
    """The entries in a larger array, with room for ``size`` of them and at least twice as many."""
    larger = np.empty(max(np.int64(size), 2 * array.shape[0]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


_HASH_BITS = 30


@kernel
def number_sequences(values: Int32Array | Int64Array, offsets: Int32Array | Int64Array) -> Any:
    """Number the sequences values[offsets[k]:offsets[k + 1]]; equal ones get the same number.

    Returns:
        (numbers, examples): int32, the number of each sequence, and the first sequence of each.
    """
    count = offsets.shape[0] - 1
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int32)
    numbers = np.empty(count, np.int32)
    examples = np.empty(count, np.int32)
    distinct = 0
    low_bits = np.int64((1 << _HASH_BITS) - 1)
    for sequence in range(count):
        low, high = offsets[sequence], offsets[sequence + 1]
        mixed = np.int64(high - low)
        for at in range(low, high):
            mixed = first_slot(mixed, np.int64(values[at]) & low_bits, 1 << _HASH_BITS)
        slot = mixed & np.int64(size - 1)
        number = -1
        while number < 0:
            other = slots[slot]
            if other < 0:
                slots[slot] = distinct
                examples[distinct] = sequence
                number = distinct
                distinct += 1
                break
            begin = offsets[examples[other]]
            same = offsets[examples[other] + 1] - begin == high - low
            at = 0
            while same and at < high - low:
                same = values[begin + at] == values[low + at]
                at += 1
            if same:
                number = other
            slot = (slot + 1) & np.int64(size - 1)
        numbers[sequence] = number
    return numbers, examples[:distinct].copy()


def headed_sequences(
    heads: Int32Array, counts: NDArray[np.integer], *columns: Int32Array
) -> tuple[Int32Array, Int64Array]:
    """Sequences for `number_sequences`: a head each, then the columns of so many members.

    Example:
        >>> values, offsets = headed_sequences(np.array([7, 8]), np.array([2, 0]), np.array([1, 2]))
        >>> values.tolist(), offsets.tolist()
        ([7, 1, 2, 8], [0, 3, 4])
    """
    width = len(columns)
    offsets = offsets_of(1 + width * counts, np.int64)
    values = np.empty(offsets[-1], np.int32)
    values[offsets[:-1]] = heads
    # Before member k come k others, and the heads of its own and all earlier sequences.
    places = 1 + width * np.arange(counts.sum()) + np.repeat(np.arange(len(counts)), counts)
    for column, entries in enumerate(columns):
        values[places + column] = entries
    return values, offsets


def first_alike(*columns: Int32Array) -> Int32Array:
    """For each place, the first one at which all columns have the same values.

    Example:
        >>> first_alike(np.array([1, 2, 1]), np.array([0, 0, 0])).tolist()
        [0, 1, 0]
    """
    values = np.stack(columns, axis=1).astype(np.int32)
    offsets = np.arange(len(values) + 1, dtype=np.int64) * len(columns)
    numbers, examples = number_sequences(values.ravel(), offsets)
    first: Int32Array = examples[numbers]
    return first


class CodeTable:
    """A hash table from codes to numbers, for many codes at a time.

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
        """Add codes with their numbers; the codes are new and distinct."""
        self._count += len(codes)
        if 2 * self._count > len(self._slots):
            old = self._slots[self._slots[:, 0] >= 0]
            self._slots = np.full((1 << (4 * self._count).bit_length(), 2), -1, np.int64)
            _put_codes(old[:, 0].copy(), old[:, 1].astype(np.int32), self._slots)
        _put_codes(codes, numbers, self._slots)


@kernel
def _find_codes(codes: NDArray[Any], slots: Int64Array) -> Any:
    """See `CodeTable.find`; slots: int64 (a power of two, 2), code and number; -1: a free slot."""
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
def _put_codes(codes: NDArray[Any], numbers: NDArray[Any], slots: Int64Array) -> None:
    """See `CodeTable.put`; the slots have room."""
    mask = np.int64(slots.shape[0] - 1)
    for place in range(codes.shape[0]):
        code = np.int64(codes[place])
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot, 0] >= 0:
            slot = (slot + 1) & mask
        slots[slot, 0] = code
        slots[slot, 1] = numbers[place]
