"""Kernels that remember what pairs of neighbouring tokens begin.

In: two classes of tokens. Out: an entry in `Heads`: the plain patterns that end with them, and the
nodes to go on from. Always holds: an entry says what walking the trie over the two tokens would
give; it is made when the pair first comes and serves until the arena is full. Natural text has few
frequent pairs, so that most first steps of the scan become one look-up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    ENTRY,
    NO_CHILD,
    NODE_SHIFT,
    Classes,
    Heads,
    Rules,
    asks_edges,
    find_child,
)
from sears_dsl.runtime.array_types import Integer
from sears_dsl.runtime.kernels import kernel

# A class with so few symbols is asked for each of them, and a node with so few edges for each.
_FEW = 8


@kernel
def _accepts_more(node: Integer, rules: Rules) -> Any:
    """Whether something ends at a node that is no plain pattern."""
    for at in range(rules.accept_offsets[node], rules.accept_offsets[node + 1]):
        if rules.accepts[at] < 0:
            return True
    return False


@kernel
def _work_out_follows(following: Integer, classes: Classes, rules: Rules, heads: Heads) -> None:
    """For a class of second tokens: which children of the root it lets go on."""
    one = np.uint64(1)
    for symbol in range(rules.root.shape[0]):
        child = rules.root[symbol]
        if child < 0:
            continue
        for at in range(rules.edge_offsets[child], rules.edge_offsets[child + 1]):
            label = rules.edge_symbols[at]
            if (classes.holds[following, label >> 6] >> np.uint64(label & 63)) & one != 0:
                heads.follows[following, symbol >> 6] |= one << np.uint64(symbol & 63)
                break
    heads.known[following] = True


@kernel
def _candidates(
    kind: Integer, following: Integer, classes: Classes, rules: Rules, heads: Heads
) -> Any:
    """Put the symbols of a class that may begin something before another one into the room.

    Returns how many they are. Where types satisfy hundreds of symbols, nearly all of them are
    ruled out by a few words of bits.
    """
    begin, end = classes.offsets[kind], classes.offsets[kind + 1]
    words = heads.follows.shape[1]
    if words == 0 or end - begin < _FEW:
        heads.candidates[: end - begin] = classes.symbols[begin:end]
        return np.int64(end - begin)
    if following >= 0 and not heads.known[following]:
        _work_out_follows(following, classes, rules, heads)
    one = np.uint64(1)
    count = np.int64(0)
    for word in range(words):
        bits = rules.opens[word]
        if following >= 0:
            bits |= heads.follows[following, word]
        bits &= classes.holds[kind, word]
        if bits == 0:
            continue
        for bit in range(64):
            if (bits >> np.uint64(bit)) & one != 0:
                heads.candidates[count] = 64 * word + bit
                count += 1
    return count


@kernel
def remember(  # noqa: PLR0915, PLR0917 - two steps of the walk, written out
    slot: Integer, kind: Integer, following: Integer, classes: Classes, rules: Rules, heads: Heads
) -> None:
    """Work out what a pair of classes begins, and keep it in a slot of the heads.

    Args:
        slot: where to keep it; what was there is forgotten.
        kind: class of the first token.
        following: class of the second one, -1 where the row ends.
        classes: see `Classes`.
        rules: see `Rules`.
        heads: written to.
    """
    arena = heads.arena
    one = np.uint64(1)
    words = classes.holds.shape[1]
    count = classes.offsets[kind + 1] - classes.offsets[kind]
    other = np.int32(0)
    if following >= 0:
        other = classes.offsets[following + 1] - classes.offsets[following]
    most = np.int64(count + 1) * (other + 1)
    if heads.used[0] + ENTRY + 5 * most > arena.shape[0]:
        heads.slots[:, 0] = -1
        heads.used[0] = 0
    base = heads.used[0]
    patterns = np.int64(0)
    # Edges, then nodes, are put behind the room for what there can be, then moved up.
    behind = base + ENTRY + most
    room = behind + 2 * most
    edges = np.int64(0)
    nodes = np.int64(0)
    always = False
    mask = np.uint64(0)
    for at in range(_candidates(kind, following, classes, rules, heads)):
        child = np.int64(rules.root[heads.candidates[at]])
        if child == NO_CHILD:
            continue
        if child < 0:
            arena[base + ENTRY + patterns] = ~child
            patterns += 1
            continue
        if _accepts_more(child, rules):
            arena[room + 2 * nodes] = child
            arena[room + 2 * nodes + 1] = 1
            nodes += 1
            always = True
            continue
        for of in range(rules.accept_offsets[child], rules.accept_offsets[child + 1]):
            arena[base + ENTRY + patterns] = rules.accepts[of]
            patterns += 1
        if following < 0:
            continue
        if rules.masks[child] & classes.bits[following] == 0:
            continue
        by_edges = asks_edges(child, following, classes, rules)
        offsets_of = rules.edge_offsets if by_edges else classes.offsets
        group = child if by_edges else np.int64(following)
        for then in range(offsets_of[group], offsets_of[group + 1]):
            if by_edges:
                symbol = rules.edge_symbols[then]
                if (classes.holds[following, symbol >> 6] >> np.uint64(symbol & 63)) & one == 0:
                    continue
                grandchild = np.int64(rules.edge_children[then])
            else:
                symbol = classes.symbols[then]
                if (rules.masks[child] >> np.uint64(symbol & 63)) & one == 0:
                    continue
                grandchild = find_child(child, symbol, rules.edges)
                if grandchild == NO_CHILD:
                    continue
            if grandchild < 0:
                arena[base + ENTRY + patterns] = ~grandchild
                patterns += 1
                continue
            more = _accepts_more(grandchild, rules)
            if not more:
                for of in range(
                    rules.accept_offsets[grandchild], rules.accept_offsets[grandchild + 1]
                ):
                    arena[base + ENTRY + patterns] = rules.accepts[of]
                    patterns += 1
            if not more and rules.masks[grandchild] == 0:
                continue
            mask |= rules.masks[grandchild]
            low, high = rules.edge_offsets[grandchild], rules.edge_offsets[grandchild + 1]
            if not more and words > 0 and high - low <= _FEW and edges + high - low <= most:
                for of in range(low, high):
                    arena[behind + 2 * edges] = rules.edge_symbols[of]
                    arena[behind + 2 * edges + 1] = rules.edge_children[of]
                    edges += 1
                continue
            arena[room + 2 * nodes] = grandchild if more else ~grandchild
            arena[room + 2 * nodes + 1] = 2
            nodes += 1
            always |= more
    heads.slots[slot, 0] = (np.int64(kind) << NODE_SHIFT) | np.int64(following + 1)
    if patterns + edges + nodes == 0:
        heads.slots[slot, 1] = -1
        return
    heads.slots[slot, 1] = base
    arena[base] = patterns
    arena[base + 1] = edges
    arena[base + 2] = nodes
    arena[base + 3] = always
    arena[base + 4] = np.int64(mask & np.uint64(0x7FFFFFFF))
    arena[base + 5] = np.int64((mask >> np.uint64(31)) & np.uint64(0x7FFFFFFF))
    arena[base + 6] = np.int64(mask >> np.uint64(62))
    end = base + ENTRY + patterns
    for at in range(2 * edges):
        arena[end + at] = arena[behind + at]
    end += 2 * edges
    for at in range(2 * nodes):
        arena[end + at] = arena[room + at]
    heads.used[0] = end + 2 * nodes
