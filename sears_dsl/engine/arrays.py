"""What the inner loops share: the layout of their arrays, edges, numbers of sequences and codes.

The kernels (see `runtime.kernels`) are in `token_classes` (once per type and class), in `bit_scan`
or `scan`, and in `search` (once per block of rows, in that order).

Three numbers stand for several things at once:

    hit     pattern << 37 | rank; a rank is the start of the replaced span in its row << 6 | the
            variant's place in the order of preference, so that smaller ranks come first
    child   where an edge leads: a node, or ~pattern where the path ends for good with one plain
            pattern, which most paths do (plain: one variant, without context or anchors)
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
    """What rules test, each pattern once, and the rules that test it."""

    variants: Int32Array  # (variants, 5): pattern, order, left, focus, anchors
    first_variant: Int32Array  # (patterns,): a pattern's variants follow one another from here
    rule_offsets: Int32Array  # (patterns + 1,): rules of a pattern, with rules_of
    rules_of: Int32Array  # (rules,)
    pattern_of: Int32Array  # (rules,)
    # (patterns, 2): the rule of a pattern with one rule and one variant, and the tokens that it
    # replaces, in one line of a cache; the rule is -1 for other patterns.
    single: Int32Array


class Rules(NamedTuple):
    """What a program gives to the kernels."""

    masks: UInt64Array  # (nodes,): the symbols, modulo 64, that a node has edges for
    root: Int32Array  # (symbols,): child of the root, `NO_CHILD` where there is none
    edges: Int64Array  # (size, 2): hashed edges, (node << 32 | symbol, child); -1 is free
    edge_offsets: Int32Array  # (nodes + 1,): the same edges by node, with the next two
    edge_symbols: Int32Array  # (edges,): what an edge asks for
    edge_children: Int32Array  # (edges,): where it leads
    accept_offsets: Int32Array  # (nodes + 1,): what ends at a node, with accepts
    accepts: Int32Array
    patterns: RulePatterns
    deepest: Integer  # tests of the longest variant


class Classes(NamedTuple):
    """Token types that satisfy the same predicates, as the scan sees them."""

    of_type: Int32Array  # (types,): class of each type
    offsets: Int32Array  # (classes + 1,): symbols that a class satisfies, with symbols
    symbols: Int32Array
    bits: UInt64Array  # (classes,): those symbols modulo 64
    # (classes, words): those symbols, a bit each; no words where that would be too much.
    holds: UInt64Array
    # (classes,): bits of one of which the next token must satisfy, if a path that begins here is to
    # go on; 0 where none does.
    first: UInt64Array
    ends: Flags  # (classes,): whether a path may end with the first token


class BitPlanes(NamedTuple):
    """Variants as bits, 64 to a word; see `compile.token_classes`.

    A word has a cell for each place behind the first that one of its variants tests. The end of a
    row is a token of its own there.
    """

    codes: Int64Array  # (variants,): what each bit stands for, as a hit at the start of a row
    bases: UInt32Array  # (words,): the first cell of each word
    depths: UInt32Array  # (words,): places that its longest variant tests
    # (words,): the symbols, modulo 64, that its variants ask of the second token; all where one is
    # shorter.
    seconds: UInt64Array
    starts: UInt64Array  # (words,): variants that begin with the row alone; empty where none does
    blank: UInt64Array  # (cells,): what a token that satisfies nothing lets go on: shorter variants
    # (symbols + 3,): where a symbol is asked for, with the next two. The last two symbols are the
    # end of a row, and any token or the end.
    cell_offsets: Int32Array
    cells: Int32Array  # the cell
    cell_bits: UInt64Array  # the bit
    first_offsets: Int32Array  # (symbols + 3,): the bits whose first test is a symbol
    longest: Integer  # places that the longest variant tests
    past: Integer  # 1 where something may begin at the end of a row, else 0
    # The first pattern that has more than one variant; with none, past all patterns.
    several: Integer


class ClassPlanes(NamedTuple):
    """The bits of classes of tokens; class k is number k + 1, and 0 is the end of a row."""

    # (numbers + 1,): the words that hold what a token begins, with the next two.
    offsets: UInt32Array
    words: UInt32Array
    masks: UInt64Array  # which bits of the word
    bits: UInt64Array  # (numbers,): the symbols, modulo 64, that hold
    # (numbers,): those of which the next token must satisfy one, if something is to begin here.
    ahead: UInt64Array
    blocks: UInt32Array  # (numbers, cells / 8): for each eight cells where in the pool they are
    # (numbers, words): the masks by their words; none where there are many words.
    firsts: UInt64Array
    nexts: UInt64Array  # (numbers, words): what a second token lets go on, likewise
    pool: UInt64Array  # (any, 8): cells: what a token lets go on


class ProtectedPlaces(NamedTuple):
    """Where no instance may be; both arrays are empty where nothing is protected."""

    # (2 tokens + 1,): a prefix sum over tokens and the gaps behind them; unit 2k is token k, unit
    # 2k + 1 the gap behind it.
    covered: Int32Array
    # (tokens + rows,): whether an insertion would be strictly inside a span; place k of row r is at
    # row_offsets[r] + r + k.
    closed: UInt8Array


# ---------------------------------------------------------------- edges and places


@kernel
def first_slot(node: Integer, symbol: Integer, size: Integer) -> Any:
    """Where the search for an edge begins; factors keep every product within 63 bits."""
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
    """Open-addressing table of edges; size: a power of two, more than the edges."""
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

    Sequence k is symbols[offsets[k]:offsets[k + 1]]; nodes are numbered from the root, 0, in the
    order of their making, and edge e leads to node e + 1. size: a power of two, more than the
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


@kernel
def asks_edges(node: Integer, kind: Integer, classes: Classes, rules: Rules) -> Any:
    """Whether a node has far fewer edges than a class has symbols, so that they are asked instead.

    Types satisfy few symbols where rules were mined (text and tags), and hundreds where many rules
    have negations.
    """
    symbols = classes.offsets[kind + 1] - classes.offsets[kind]
    if symbols < 8 or classes.holds.shape[1] == 0:
        return False
    return rules.edge_offsets[node + 1] - rules.edge_offsets[node] < symbols


@kernel
def is_protected(
    start: Integer, end: Integer, row: Integer, covered: Int32Array, closed: UInt8Array
) -> Any:
    """Whether an instance on tokens start up to end of the batch touches something protected."""
    if end == start:
        return closed[start + row] != 0
    return covered[2 * end - 1] > covered[2 * start]


# The place of a single bit by its remainder: no two of 64 powers of two have one in common.
BIT_OF = np.zeros(67, np.uint64)
for _bit in range(64):
    BIT_OF[(1 << _bit) % 67] = _bit


@kernel
def grown(array: NDArray[Any], size: Integer) -> Any:
    """The same entries in an array with room for so many, and for twice as many as before."""
    larger = np.empty(max(np.int64(size), 2 * array.shape[0]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


_HASH_BITS = 30


@kernel
def number_sequences(values: Int32Array | Int64Array, offsets: Int32Array | Int64Array) -> Any:
    """Number the sequences values[offsets[k]:offsets[k + 1]], equal ones alike.

    Returns:
        (numbers, examples): int32, the number of each sequence, and a sequence with each number.
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


def first_alike(*columns: Int32Array) -> Int32Array:
    """For each place the first one at which all columns hold the same.

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
def _find_codes(codes: NDArray[Any], slots: Int64Array) -> Any:
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
def _put_codes(codes: NDArray[Any], numbers: NDArray[Any], slots: Int64Array) -> None:
    """See `CodeTable.put`; there is room."""
    mask = np.int64(slots.shape[0] - 1)
    for place in range(codes.shape[0]):
        code = np.int64(codes[place])
        slot = (code ^ (code >> np.int64(15))) & mask
        while slots[slot, 0] >= 0:
            slot = (slot + 1) & mask
        slots[slot, 0] = code
        slots[slot, 1] = numbers[place]
