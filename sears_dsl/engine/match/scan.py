"""The scan along the trie: the tokens of a block of rows → the hits of patterns.

In: the arrays of `arrays`. Out: hits, row by row. Always holds: a hit is an instance of its
pattern that touches nothing protected; under `EXTENT_FIRST` a pattern has at most one hit in a row,
its first in the order of the language. The work for a token depends on the rules that can match
there: a token that can start nothing costs a few array reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    ANCHORS,
    EXTENT_ALL,
    EXTENT_FIRST,
    FOCUS,
    LEFT,
    NO_CHILD,
    ORDER,
    ORDER_BITS,
    ORDER_MASK,
    PATTERN,
    RANK,
    RANK_BITS,
    Classes,
    ProtectedPlaces,
    RulePatterns,
    Rules,
    asks_edges,
    find_child,
    grown,
    is_protected,
)
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel


@kernel
def _select(hits: Int64Array, low: Integer, high: Integer, patterns: RulePatterns) -> Any:
    """Keep, of the sorted hits low up to high, the leftmost of each pattern that do not overlap.

    Return one past the last that is kept. An insertion excludes other hits at its place.
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
    """Of all hits of rows, those of an extent: (hits, offsets) as `collect` returns them."""
    chosen = hits.copy()
    bounds = np.zeros(offsets.shape[0], np.int64)
    total = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        begin = total
        for place in range(offsets[row], offsets[row + 1]):
            chosen[total] = hits[place]
            total += 1
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


# One loop on purpose: a call for each row would cost as much as scanning many rows.
@kernel
def collect(  # noqa: PLR0915, PLR0917
    low: int, high: int, extent: Integer, row_offsets: Int32Array, type_ids: Int32Array,
    classes: Classes, rules: Rules, protection: ProtectedPlaces,
) -> Any:  # fmt: skip
    """The (hits, offsets) of rows low up to high: hits[offsets[k]:offsets[k + 1]] of row low + k.

    Under `EXTENT_FIRST` a pattern has at most one hit in a row, its smallest; else the hits of a
    row are sorted, and under `EXTENT_EVERY` they may overlap.
    """
    protected = protection.covered.shape[0] > 0
    everywhere = rules.accept_offsets[1] > 0  # some variants test no token
    patterns = rules.patterns.rule_offsets.shape[0] - 1
    # Under `first`: (row - low + 1) << 37 | the smallest rank of the pattern in that row.
    best = np.zeros(patterns if extent == EXTENT_FIRST else 0, np.int64)
    touched = np.empty(patterns if extent == EXTENT_FIRST else 0, np.int32)
    # Memory that is not written to costs nothing.
    hits = np.empty(1024 + 4 * (row_offsets[high] - row_offsets[low]), np.int64)
    offsets = np.zeros(high - low + 1, np.int64)
    total = np.int64(0)
    widest = 1
    for number in range(classes.offsets.shape[0] - 1):
        widest = max(widest, classes.offsets[number + 1] - classes.offsets[number])
    stack_size = (rules.deepest + 1) * widest
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
            if not everywhere:
                if kind < 0:
                    continue
                if not classes.ends[kind] and (
                    following < 0 or classes.first[kind] & bits[following] == 0
                ):
                    continue
            stack_nodes[0] = 0
            stack_places[0] = place
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack_nodes[depth]
                after = stack_places[depth]
                for at in range(rules.accept_offsets[node], rules.accept_offsets[node + 1]):
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
                ahead = bits[of_type[type_ids[after + 1]]] if after + 1 < end else np.uint64(0)
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
                        # Skip a node where nothing ends and the next token leads nowhere.
                        if (
                            rules.masks[child] & ahead == 0
                            and rules.accept_offsets[child] == rules.accept_offsets[child + 1]
                        ):
                            continue
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
