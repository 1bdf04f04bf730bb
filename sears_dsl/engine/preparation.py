"""Kernels that prepare a scan: the trie of a program, the classes of a batch, protected places.

In: flat arrays of predicates, of the types of a batch, of spans. Out: the arrays that `kernels`
reads. Always holds: what `kernels` says of its functions. Costs one step per predicate of a
program, per predicate that a type satisfies, and per protected span and token of its row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl._compiled import kernel
from sears_dsl.engine.kernels import NO_CHILD, NODE_SHIFT, Classes, first_slot

# Classes times words of symbols, 64 to a word: 64 MiB.
_MOST_WORDS = 1 << 23

__all__ = ["build_table", "build_trie", "classify", "mark_protected"]

# ---------------------------------------------------------------- the trie


@kernel
def build_table(parents: Any, symbols: Any, children: Any, size: Any) -> Any:
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
def build_trie(symbols: Any, offsets: Any, size: Any) -> Any:
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
            wanted = (node << NODE_SHIFT) | np.int64(symbol)
            slot = first_slot(node, symbol, size)
            while edges[slot, 0] != wanted and edges[slot, 0] != -1:
                slot = (slot + 1) & (size - 1)
            if edges[slot, 0] == -1:
                edges[slot, 0] = wanted
                edges[slot, 1] = nodes
                parents[nodes - 1] = node
                labels[nodes - 1] = symbol
                nodes += 1
            node = edges[slot, 1]
        final[sequence] = node
    return parents[: nodes - 1].copy(), labels[: nodes - 1].copy(), final


# ---------------------------------------------------------------- types of a batch


@kernel
def classify(  # noqa: PLR0915 - one pass to find the classes, one to describe them
    type_offsets: Any, type_symbols: Any, rules: Any
) -> Any:
    """Put types that satisfy the same symbols into one class: a `Classes`.

    Type t satisfies type_symbols[type_offsets[t]:type_offsets[t + 1]].
    """
    types = type_offsets.shape[0] - 1
    size = 16
    while size < 2 * types:
        size *= 2
    slots = np.full(size, -1, np.int32)
    of_type = np.empty(types, np.int32)
    example = np.empty(types, np.int32)  # a type of each class
    classes = 0
    for kind in range(types):
        low, high = type_offsets[kind], type_offsets[kind + 1]
        mixed = np.int64(high - low)
        for at in range(low, high):
            mixed = first_slot(mixed & np.int64(0x3FFFFFFF), type_symbols[at], 1 << 30)
        slot = mixed & np.int64(size - 1)
        found = -1
        while found < 0:
            other = slots[slot]
            if other < 0:
                slots[slot] = classes
                example[classes] = kind
                found = classes
                classes += 1
                break
            begin = type_offsets[example[other]]
            same = type_offsets[example[other] + 1] - begin == high - low
            at = 0
            while same and at < high - low:
                same = type_symbols[begin + at] == type_symbols[low + at]
                at += 1
            if same:
                found = other
            slot = (slot + 1) & np.int64(size - 1)
        of_type[kind] = found
    offsets = np.zeros(classes + 1, np.int32)
    for number in range(classes):
        kind = example[number]
        offsets[number + 1] = offsets[number] + type_offsets[kind + 1] - type_offsets[kind]
    symbols = np.empty(offsets[classes], np.int32)
    bits = np.zeros(classes, np.uint64)
    words = (rules.root.shape[0] + 63) >> 6
    holds = np.zeros((classes, words if classes * words <= _MOST_WORDS else 0), np.uint64)
    first = np.zeros(classes, np.uint64)
    ends = np.zeros(classes, np.bool_)
    for number in range(classes):
        base = type_offsets[example[number]]
        for at in range(offsets[number], offsets[number + 1]):
            symbol = type_symbols[base + at - offsets[number]]
            symbols[at] = symbol
            bits[number] |= np.uint64(1) << np.uint64(symbol & 63)
            if holds.shape[1] > 0:
                holds[number, symbol >> 6] |= np.uint64(1) << np.uint64(symbol & 63)
            child = rules.root[symbol]
            if child >= 0:
                first[number] |= rules.masks[child]
                if rules.accept_offsets[child + 1] > rules.accept_offsets[child]:
                    ends[number] = True
            elif child != NO_CHILD:
                ends[number] = True
    return Classes(of_type, offsets, symbols, bits, holds, first, ends)


# ---------------------------------------------------------------- protected spans


@kernel
def mark_protected(row_offsets: Any, starts: Any, ends: Any, span_offsets: Any, spans: Any) -> Any:
    """Where no instance may be.

    Args:
        row_offsets: tokens of each row.
        starts: first character of each token.
        ends: one past its last character.
        span_offsets: protected spans of each row.
        spans: (spans, 2) characters start and end.

    Returns:
        (covered, closed): covered is a prefix sum over tokens and the gaps after them (unit 2k is
        token k, unit 2k + 1 the gap behind it); closed says of each place for an insertion (place
        k of row r is at row_offsets[r] + r + k) whether it is strictly inside a span.
    """
    rows = row_offsets.shape[0] - 1
    tokens = row_offsets[rows]
    covered = np.zeros(2 * tokens + 1, np.int32)
    closed = np.zeros(tokens + rows, np.uint8)
    for row in range(rows):
        begin, end = row_offsets[row], row_offsets[row + 1]
        for span in range(span_offsets[row], span_offsets[row + 1]):
            low, high = spans[span, 0], spans[span, 1]
            for token in range(begin, end):
                if starts[token] < high and low < ends[token]:
                    covered[2 * token + 1] = 1
                if token + 1 < end:
                    gap_low, gap_high = ends[token], starts[token + 1]
                    inside = gap_low < gap_high and gap_low < high and low < gap_high
                    # A protected place without a character is inside where tokens meet, too.
                    if inside or (low == high and gap_low <= low <= gap_high):
                        covered[2 * token + 2] = 1
                if low < starts[token] < high:
                    closed[token + row] = 1
            place = ends[end - 1] if end > begin else np.int32(0)
            if low < place < high:
                closed[end + row] = 1
    for unit in range(2 * tokens):
        covered[unit + 1] += covered[unit]
    return covered, closed
