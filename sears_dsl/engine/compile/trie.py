"""The trie of a program: sequences of predicates that share their beginnings, and a table of edges.

In: sequences of symbols in flat arrays. Out: the arrays that `arrays.find_child` reads. Costs one
step per symbol.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import NODE_SHIFT, first_slot
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel


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
