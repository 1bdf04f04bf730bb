"""The scan: from the tokens of a block of rows to the hits of patterns.

In: the arrays of `arrays`. Out: hits, row by row. Always holds: a hit is an instance of its
pattern that touches nothing protected; under `EXTENT_FIRST` a pattern has one hit in a row, its
first in the order of the language. The work per token depends on the rules that can match there: a
token that can start nothing costs a few array reads.

What two neighbouring classes of tokens begin is remembered in `Heads` when the pair first comes:
the plain patterns that end with them and the nodes to go on from, just what walking the trie over
them would give. Natural text has few frequent pairs, so that most first steps become one look-up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    ANCHORS,
    ENTRY,
    EXTENT_ALL,
    EXTENT_FIRST,
    FOCUS,
    LEFT,
    NO_CHILD,
    NODE_SHIFT,
    ORDER,
    ORDER_BITS,
    ORDER_MASK,
    PATTERN,
    RANK,
    RANK_BITS,
    Classes,
    Heads,
    ProtectedPlaces,
    RulePatterns,
    Rules,
    asks_edges,
    find_child,
    first_slot,
    grown,
    is_protected,
)
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
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

    What was there is forgotten; ``following`` is -1 where the row ends.
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


@kernel
def _select(hits: Int64Array, low: Integer, high: Integer, patterns: RulePatterns) -> Any:
    """Of the sorted hits low up to high, keep per pattern the leftmost that do not overlap.

    Returns one past the last that is kept. An insertion closes its place.
    """
    end = low
    pattern = np.int64(-1)
    free = np.int64(0)
    for place in range(low, high):
        hit = hits[place]
        if hit >> RANK_BITS != pattern:
            pattern = hit >> RANK_BITS
            free = np.int64(0)
        start = (hit & RANK) >> ORDER_BITS
        if start >= free:
            variant = patterns.first_variant[pattern] + (hit & ORDER_MASK)
            free = start + max(np.int64(1), np.int64(patterns.variants[variant, FOCUS]))
            hits[end] = hit
            end += 1
    return end


@kernel
def choose(hits: Int64Array, offsets: Int64Array, extent: Integer, patterns: RulePatterns) -> Any:
    """Of all hits of rows those of an extent: (hits, offsets) as `collect` gives them otherwise."""
    chosen = hits.copy()
    bounds = np.zeros(offsets.shape[0], np.int64)
    total = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        begin = total
        for place in range(offsets[row], offsets[row + 1]):
            hit = hits[place]
            at = total
            if total - begin < _FEW:
                while at > begin and chosen[at - 1] > hit:
                    chosen[at] = chosen[at - 1]
                    at -= 1
            chosen[at] = hit
            total += 1
        if total - begin > _FEW:
            chosen[begin:total].sort()
        if extent == EXTENT_ALL:
            total = _select(chosen, begin, total, patterns)
        elif extent == EXTENT_FIRST:
            count = total
            total = begin
            for place in range(begin, count):
                if place == begin or chosen[place] >> RANK_BITS != chosen[total - 1] >> RANK_BITS:
                    chosen[total] = chosen[place]
                    total += 1
        bounds[row + 1] = total
    return chosen[:total], bounds


# One loop on purpose: a call for every row would cost as much as many rows do.
@kernel
def collect(  # noqa: PLR0915, PLR0917
    low: int, high: int, extent: Integer, row_offsets: Int32Array, type_ids: Int32Array,
    classes: Classes, rules: Rules, heads: Heads, protection: ProtectedPlaces,
) -> Any:  # fmt: skip
    """The (hits, offsets) of rows low up to high: hits[offsets[k]:offsets[k + 1]] of row low + k.

    Under `EXTENT_FIRST` a pattern has one, its smallest; else they are sorted, and under
    `EXTENT_EVERY` they may overlap. What a thread remembers, ``heads``, may be fresh.
    """
    protected = protection.covered.shape[0] > 0
    everywhere = rules.accept_offsets[1] > 0  # some variants test no token
    patterns = rules.patterns.rule_offsets.shape[0] - 1
    # Under `first`: (row - low + 1) << 37 | the smallest rank of the pattern in that row.
    best = np.zeros(patterns if extent == EXTENT_FIRST else 0, np.int64)
    touched = np.empty(patterns if extent == EXTENT_FIRST else 0, np.int32)
    # What is not written to costs nothing.
    hits = np.empty(1024 + 4 * (row_offsets[high] - row_offsets[low]), np.int64)
    offsets = np.zeros(high - low + 1, np.int64)
    total = np.int64(0)
    widest = 1
    for number in range(classes.offsets.shape[0] - 1):
        widest = max(widest, classes.offsets[number + 1] - classes.offsets[number])
    # What a pair begins is worth remembering, if it is not too much.
    most = 5 * (widest + 1) * (widest + 1) + ENTRY
    remembering = (
        extent == EXTENT_FIRST
        and not everywhere
        and not protected
        and most < heads.arena.shape[0] // 4
    )
    arena = heads.arena
    stack_size = (rules.deepest + 1) * widest + (most if remembering else 0)
    stack_nodes = np.empty(stack_size, np.int32)
    stack_places = np.empty(stack_size, np.int32)
    of_type, bits = classes.of_type, classes.bits
    one = np.uint64(1)

    for row in range(low, high):
        begin = row_offsets[row]
        end = row_offsets[row + 1]
        count = 0
        stamp = np.int64(row - low + 1)
        following = of_type[type_ids[begin]] if begin < end else np.int32(-1)
        for place in range(begin, end + 1):
            kind = following
            following = of_type[type_ids[place + 1]] if place + 1 < end else np.int32(-1)
            depth = 1
            if not everywhere:
                if kind < 0:
                    continue
                if not classes.ends[kind] and (
                    following < 0 or classes.first[kind] & bits[following] == 0
                ):
                    continue
            if remembering:
                pair = (np.int64(kind) << NODE_SHIFT) | np.int64(following + 1)
                slot = first_slot(kind, following + 1, heads.slots.shape[0])
                if heads.slots[slot, 0] != pair:
                    remember(slot, kind, following, classes, rules, heads)
                base = heads.slots[slot, 1]
                if base < 0:
                    continue
                rank = np.int64(place - begin) << ORDER_BITS
                nodes_at = base + ENTRY + arena[base]
                for at in range(base + ENTRY, nodes_at):
                    pattern = arena[at]
                    if best[pattern] >> RANK_BITS != stamp:
                        best[pattern] = (stamp << RANK_BITS) | rank
                        touched[count] = pattern
                        count += 1
                if arena[base + 1] + arena[base + 2] == 0:
                    continue
                third = np.uint64(0)
                third_kind = np.int32(-1)
                if place + 2 < end:
                    third_kind = of_type[type_ids[place + 2]]
                    third = bits[third_kind]
                if arena[base + 3] == 0:
                    mask = np.uint64(arena[base + 4]) | np.uint64(arena[base + 5]) << np.uint64(31)
                    if (mask | np.uint64(arena[base + 6]) << np.uint64(62)) & third == 0:
                        continue
                depth = 0
                edges_at = nodes_at
                nodes_at += 2 * arena[base + 1]
                if third_kind >= 0:
                    for at in range(edges_at, nodes_at, 2):
                        symbol = arena[at]
                        if (
                            classes.holds[third_kind, symbol >> 6] >> np.uint64(symbol & 63)
                        ) & one == 0:
                            continue
                        child = np.int64(arena[at + 1])
                        if child >= 0:
                            stack_nodes[depth] = child
                            stack_places[depth] = place + 3
                            depth += 1
                            continue
                        pattern = ~child
                        if best[pattern] >> RANK_BITS != stamp:
                            best[pattern] = (stamp << RANK_BITS) | rank
                            touched[count] = pattern
                            count += 1
                for at in range(nodes_at, nodes_at + 2 * arena[base + 2], 2):
                    node = arena[at]
                    if node >= 0 or rules.masks[~node] & third != 0:
                        stack_nodes[depth] = node
                        stack_places[depth] = place + arena[at + 1]
                        depth += 1
            else:
                stack_nodes[0] = 0
                stack_places[0] = place
            while depth > 0:
                depth -= 1
                node = stack_nodes[depth]
                after = stack_places[depth]
                accepted = node < 0  # what ends there is dealt with
                if accepted:
                    node = ~node
                for at in range(rules.accept_offsets[node], rules.accept_offsets[node + 1]):
                    if accepted:
                        break
                    code = rules.accepts[at]
                    start, stop, order = place, after, 0
                    pattern = code
                    if code < 0:
                        variant = ~code
                        anchors = rules.patterns.variants[variant, ANCHORS]
                        if (anchors & 1 and place != begin) or (anchors & 2 and after != end):
                            continue
                        pattern = rules.patterns.variants[variant, PATTERN]
                        order = rules.patterns.variants[variant, ORDER]
                        start = place + rules.patterns.variants[variant, LEFT]
                        stop = start + rules.patterns.variants[variant, FOCUS]
                    if protected and is_protected(
                        start, stop, row, protection.covered, protection.closed
                    ):
                        continue
                    rank = (np.int64(start - begin) << ORDER_BITS) | np.int64(order)
                    if extent != EXTENT_FIRST:
                        if total == hits.shape[0]:
                            hits = grown(hits, total + 1)
                        hits[total] = (np.int64(pattern) << RANK_BITS) | rank
                        total += 1
                    elif best[pattern] >> RANK_BITS != stamp:
                        best[pattern] = (stamp << RANK_BITS) | rank
                        touched[count] = pattern
                        count += 1
                    elif rank < best[pattern] & RANK:
                        best[pattern] = (stamp << RANK_BITS) | rank
                if after >= end:
                    continue
                kind = of_type[type_ids[after]]
                mask = rules.masks[node]
                if mask & bits[kind] == 0:
                    continue
                by_edges = asks_edges(node, kind, classes, rules)
                offsets_of = rules.edge_offsets if by_edges else classes.offsets
                group = node if by_edges else np.int64(kind)
                for at in range(offsets_of[group], offsets_of[group + 1]):
                    if by_edges:
                        symbol = rules.edge_symbols[at]
                        if (classes.holds[kind, symbol >> 6] >> np.uint64(symbol & 63)) & one == 0:
                            continue
                        child = np.int64(rules.edge_children[at])
                    else:
                        symbol = classes.symbols[at]
                        if (mask >> np.uint64(symbol & 63)) & one == 0:
                            continue
                        if node == 0:
                            child = np.int64(rules.root[symbol])
                        else:
                            child = find_child(node, symbol, rules.edges)
                    if child >= 0:
                        stack_nodes[depth] = child
                        stack_places[depth] = after + 1
                        depth += 1
                    elif child != NO_CHILD:
                        pattern = ~child
                        if protected and is_protected(
                            place, after + 1, row, protection.covered, protection.closed
                        ):
                            continue
                        rank = np.int64(place - begin) << ORDER_BITS
                        if extent != EXTENT_FIRST:
                            if total == hits.shape[0]:
                                hits = grown(hits, total + 1)
                            hits[total] = (pattern << RANK_BITS) | rank
                            total += 1
                        elif best[pattern] >> RANK_BITS != stamp:
                            # A plain pattern is found leftmost first.
                            best[pattern] = (stamp << RANK_BITS) | rank
                            touched[count] = pattern
                            count += 1
        if extent == EXTENT_FIRST:
            if total + count > hits.shape[0]:
                hits = grown(hits, total + count)
            for at in range(count):
                pattern = np.int64(touched[at])
                hits[total] = (pattern << RANK_BITS) | (best[pattern] & RANK)
                total += 1
        else:
            hits[offsets[row - low] : total].sort()
            if extent == EXTENT_ALL:
                total = _select(hits, offsets[row - low], total, rules.patterns)
        offsets[row - low + 1] = total
    return hits[:total], offsets
