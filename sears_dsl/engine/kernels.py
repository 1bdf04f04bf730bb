"""The compiled inner loops: arrays in, arrays out, no Python objects.

Every function that numba compiles is here or, where it runs once per program or batch, in
`preparation`. In: the flat arrays of `program` and of `Tokens`. Out: flat arrays. Always holds:
what a kernel gives depends on its arguments alone; nothing is shared between calls, so that
blocks of rows may run in threads (the GIL is not held); with NUMBA_DISABLE_JIT=1 the same code
runs as plain Python, slowly, with the same result. The work per token depends on the rules that
can match there: a token that can start nothing costs a few array reads.

Three numbers stand for several things at once:

    hit     pattern << 37 | rank; a rank is the start of the replaced span in its row << 6 | the
            variant's place in the order of preference, so that smaller ranks come first
    child   where an edge leads: a node, or ~pattern where the path ends for good with one plain
            pattern, which most paths do (plain: one variant, without context or anchors)
    accept  what ends at a node: a plain pattern, or ~variant
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

__all__ = [
    "ANCHORS",
    "EXTENT_ALL",
    "EXTENT_EVERY",
    "EXTENT_FIRST",
    "FOCUS",
    "LEFT",
    "NODE_SHIFT",
    "NO_CHILD",
    "ORDER",
    "PATTERN",
    "Classes",
    "Heads",
    "Protection",
    "Rules",
    "collect",
    "count_instances",
    "expand_hits",
    "first_slot",
    "kernel",
]

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

_ORDER_BITS = 6
_RANK_BITS = 37  # 31 for a position in a row and 6 for the order
_RANK = (1 << _RANK_BITS) - 1
_ORDER = (1 << _ORDER_BITS) - 1
_DIGIT_BITS = 11
_SHORT = 48  # up to here insertion sorts faster
NODE_SHIFT = 32  # bits of a node in the key of an edge

F = TypeVar("F")


def kernel(function: F) -> F:
    """Compile a function: cached on disk, without the GIL."""
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    return cast(F, compiled)


class Rules(NamedTuple):
    """What a program gives to the kernels.

    Attributes:
        masks: uint64 (nodes,): the symbols, modulo 64, that a node has edges for.
        root: int32 (symbols,): child of the root, `NO_CHILD` where there is none.
        edges: int64 (size, 2): hashed edges, (node << 32 | symbol, child); -1 is free.
        accept_offsets: int32 (nodes + 1,): what ends at a node, with accepts.
        accepts: int32.
        variants: int32 (variants, 5): pattern, order, left, focus, anchors.
        first_variant: int32 (patterns,): a pattern's variants follow one another from here.
        rule_offsets: int32 (patterns + 1,): rules of a pattern, with rules_of.
        rules_of: int32 (rules,).
        pattern_of: int32 (rules,).
        deepest: tests of the longest variant.
    """

    masks: Any
    root: Any
    edges: Any
    accept_offsets: Any
    accepts: Any
    variants: Any
    first_variant: Any
    rule_offsets: Any
    rules_of: Any
    pattern_of: Any
    deepest: Any


class Classes(NamedTuple):
    """Token types that satisfy the same predicates, as the scan sees them.

    Attributes:
        of_type: int32 (types,): class of each type.
        offsets: int32 (classes + 1,): symbols that a class satisfies, with symbols.
        symbols: int32.
        bits: uint64 (classes,): those symbols modulo 64.
        first: uint64 (classes,): bits of one of which the next token must satisfy, if a path that
            begins here is to go on; 0 where none does.
        ends: bool (classes,): whether a path may end with the first token.
    """

    of_type: Any
    offsets: Any
    symbols: Any
    bits: Any
    first: Any
    ends: Any


class Heads(NamedTuple):
    """What two tokens in a row begin, remembered for pairs of classes that come often.

    One of them serves one thread. An entry of the arena holds the numbers of plain patterns that
    end there, of nodes to go on from, and whether these accept anything by themselves; then the
    patterns; then for each node (its number, ~number where what it accepts is among the patterns;
    how many tokens are behind). The arena is emptied when it is full.

    Attributes:
        keys: int64 (slots,): first class << 32 | second class + 1; -1 where the slot is free.
        places: int32 (slots,): where the entry is in the arena, -1 where nothing begins.
        masks: uint64 (slots,): the symbols, modulo 64, that nodes of the entry have edges for.
        arena: int32.
        used: int64 (1,): how much of the arena.
    """

    keys: Any
    places: Any
    masks: Any
    arena: Any
    used: Any


class Protection(NamedTuple):
    """Where no instance may be; both arrays are empty where nothing is protected.

    Attributes:
        covered: int32 (2 tokens + 1,): a prefix sum over tokens and the gaps behind them; unit 2k
            is token k, unit 2k + 1 the gap behind it.
        closed: uint8 (tokens + rows,): whether an insertion would be strictly inside a span;
            place k of row r is at row_offsets[r] + r + k.
    """

    covered: Any
    closed: Any


# ---------------------------------------------------------------- edges and places


@kernel
def first_slot(node: Any, symbol: Any, size: Any) -> Any:
    """Where the search for an edge begins; factors keep every product within 63 bits."""
    mixed = (np.int64(node) * np.int64(0x3C6EF373)) ^ (np.int64(symbol) * np.int64(0x2545F491))
    return (mixed ^ (mixed >> np.int64(25)) ^ (mixed >> np.int64(41))) & np.int64(size - 1)


@kernel
def _find_child(node: Any, symbol: Any, edges: Any) -> Any:
    wanted = (np.int64(node) << NODE_SHIFT) | np.int64(symbol)
    size = edges.shape[0]
    slot = first_slot(node, symbol, size)
    while edges[slot, 0] != wanted:
        if edges[slot, 0] == -1:
            return np.int64(NO_CHILD)
        slot = (slot + 1) & (size - 1)
    return edges[slot, 1]


@kernel
def _is_protected(start: Any, end: Any, row: Any, covered: Any, closed: Any) -> Any:
    """start, end: tokens of the batch."""
    if end == start:
        return closed[start + row] != 0
    return covered[2 * end - 1] > covered[2 * start]


# ---------------------------------------------------------------- the scan


@kernel
def _grown(array: Any, size: Any) -> Any:
    larger = np.empty(max(np.int64(size), 2 * array.shape[0]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def _select(hits: Any, low: Any, high: Any, rules: Any) -> Any:
    """Of the sorted hits low up to high, keep per pattern the leftmost that do not overlap.

    Returns one past the last that is kept. An insertion closes its place.
    """
    kept = low
    pattern = np.int64(-1)
    free = np.int64(0)
    for place in range(low, high):
        hit = hits[place]
        if hit >> _RANK_BITS != pattern:
            pattern = hit >> _RANK_BITS
            free = np.int64(0)
        start = (hit & _RANK) >> _ORDER_BITS
        if start >= free:
            variant = rules.first_variant[pattern] + (hit & _ORDER)
            free = start + max(np.int64(1), np.int64(rules.variants[variant, FOCUS]))
            hits[kept] = hit
            kept += 1
    return kept


@kernel
def _accepts_more(node: Any, rules: Any) -> Any:
    """Whether something ends at a node that is no plain pattern."""
    for at in range(rules.accept_offsets[node], rules.accept_offsets[node + 1]):
        if rules.accepts[at] < 0:
            return True
    return False


@kernel
def _remember(slot: Any, kind: Any, following: Any, classes: Any, rules: Any, heads: Any) -> None:
    """Work out what a pair of classes begins, and keep it in a slot of the heads."""
    arena = heads.arena
    one = np.uint64(1)
    count = classes.offsets[kind + 1] - classes.offsets[kind]
    other = np.int32(0)
    if following >= 0:
        other = classes.offsets[following + 1] - classes.offsets[following]
    if heads.used[0] + 3 + 3 * (count + 1) * (other + 1) > arena.shape[0]:
        heads.keys[:] = -1
        heads.used[0] = 0
    base = heads.used[0]
    patterns = np.int64(0)
    # Nodes are put behind the room for all patterns that there can be, then moved up.
    room = base + 3 + (count + 1) * (other + 1)
    nodes = np.int64(0)
    always = False
    mask = np.uint64(0)
    for at in range(classes.offsets[kind], classes.offsets[kind + 1]):
        child = np.int64(rules.root[classes.symbols[at]])
        if child == NO_CHILD:
            continue
        if child < 0:
            arena[base + 3 + patterns] = ~child
            patterns += 1
            continue
        if _accepts_more(child, rules):
            arena[room + 2 * nodes] = child
            arena[room + 2 * nodes + 1] = 1
            nodes += 1
            always = True
            continue
        for of in range(rules.accept_offsets[child], rules.accept_offsets[child + 1]):
            arena[base + 3 + patterns] = rules.accepts[of]
            patterns += 1
        if following < 0:
            continue
        for then in range(classes.offsets[following], classes.offsets[following + 1]):
            symbol = classes.symbols[then]
            if (rules.masks[child] >> np.uint64(symbol & 63)) & one == 0:
                continue
            grandchild = _find_child(child, symbol, rules.edges)
            if grandchild == NO_CHILD:
                continue
            if grandchild < 0:
                arena[base + 3 + patterns] = ~grandchild
                patterns += 1
                continue
            more = _accepts_more(grandchild, rules)
            if not more:
                for of in range(
                    rules.accept_offsets[grandchild], rules.accept_offsets[grandchild + 1]
                ):
                    arena[base + 3 + patterns] = rules.accepts[of]
                    patterns += 1
            if more or rules.masks[grandchild] != 0:
                arena[room + 2 * nodes] = grandchild if more else ~grandchild
                arena[room + 2 * nodes + 1] = 2
                nodes += 1
                always |= more
                mask |= rules.masks[grandchild]
    heads.keys[slot] = (np.int64(kind) << NODE_SHIFT) | np.int64(following + 1)
    heads.masks[slot] = mask
    if patterns + nodes == 0:
        heads.places[slot] = -1
        return
    heads.places[slot] = base
    arena[base] = patterns
    arena[base + 1] = nodes
    arena[base + 2] = always
    for at in range(2 * nodes):
        arena[base + 3 + patterns + at] = arena[room + at]
    heads.used[0] = base + 3 + patterns + 2 * nodes


# One loop on purpose: a call for every row would cost as much as many rows do.
@kernel
def collect(  # noqa: PLR0915, PLR0917
    low: Any,
    high: Any,
    extent: Any,
    row_offsets: Any,
    type_ids: Any,
    classes: Any,
    rules: Any,
    heads: Any,
    protection: Any,
) -> Any:
    """Find the hits in rows low up to high.

    Args:
        low: first row.
        high: one past the last row.
        extent: `EXTENT_FIRST`, `EXTENT_ALL` or `EXTENT_EVERY` (overlapping ones too).
        row_offsets: int32 (rows + 1,): tokens of each row of the batch.
        type_ids: int32 (tokens,): type of each token.
        classes: of the types.
        rules: what to look for.
        heads: what this thread remembers; it may be fresh.
        protection: where not to.

    Returns:
        (hits, offsets): the hits of row low + k are hits[offsets[k]:offsets[k + 1]]. Under
        `EXTENT_FIRST` a pattern has one, its smallest; else they are sorted.
    """
    protected = protection.covered.shape[0] > 0
    everywhere = rules.accept_offsets[1] > 0  # some variants test no token
    patterns = rules.rule_offsets.shape[0] - 1
    # Under `first`: (row - low + 1) << 37 | the smallest rank of the pattern in that row.
    best = np.zeros(patterns if extent == 0 else 0, np.int64)
    touched = np.empty(patterns if extent == 0 else 0, np.int32)
    hits = np.empty(1024, np.int64)
    offsets = np.zeros(high - low + 1, np.int64)
    total = np.int64(0)
    widest = 1
    for number in range(classes.offsets.shape[0] - 1):
        widest = max(widest, classes.offsets[number + 1] - classes.offsets[number])
    # What a pair begins is worth remembering, if it is not too much.
    most = 3 * (widest + 1) * (widest + 1) + 3
    remembering = (
        extent == 0 and not everywhere and not protected and most < heads.arena.shape[0] // 4
    )
    arena = heads.arena
    stack_size = (rules.deepest + 1) * widest + most
    stack_nodes = np.empty(stack_size, np.int32)
    stack_places = np.empty(stack_size, np.int32)
    of_type, bits = classes.of_type, classes.bits
    one = np.uint64(1)

    for row in range(low, high):
        begin = row_offsets[row]
        end = row_offsets[row + 1]
        found = 0
        stamp = np.int64(row - low + 1)
        following = of_type[type_ids[begin]] if begin < end else np.int32(-1)
        for place in range(begin, end + 1):
            kind = following
            following = of_type[type_ids[place + 1]] if place + 1 < end else np.int32(-1)
            depth = 1
            if not everywhere:
                if kind < 0 or not (
                    classes.ends[kind]
                    or (following >= 0 and classes.first[kind] & bits[following] != 0)
                ):
                    continue
            if remembering:
                pair = (np.int64(kind) << NODE_SHIFT) | np.int64(following + 1)
                slot = first_slot(kind, following + 1, heads.keys.shape[0])
                if heads.keys[slot] != pair:
                    _remember(slot, kind, following, classes, rules, heads)
                base = heads.places[slot]
                if base < 0:
                    continue
                rank = np.int64(place - begin) << _ORDER_BITS
                nodes_at = base + 3 + arena[base]
                for at in range(base + 3, nodes_at):
                    pattern = arena[at]
                    if best[pattern] >> _RANK_BITS != stamp:
                        best[pattern] = (stamp << _RANK_BITS) | rank
                        touched[found] = pattern
                        found += 1
                if arena[base + 1] == 0 or not (
                    arena[base + 2] != 0
                    or (
                        place + 2 < end
                        and heads.masks[slot] & bits[of_type[type_ids[place + 2]]] != 0
                    )
                ):
                    continue
                depth = arena[base + 1]
                for at in range(depth):
                    stack_nodes[at] = arena[nodes_at + 2 * at]
                    stack_places[at] = place + arena[nodes_at + 2 * at + 1]
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
                        anchors = rules.variants[variant, ANCHORS]
                        if (anchors & 1 and place != begin) or (anchors & 2 and after != end):
                            continue
                        pattern = rules.variants[variant, PATTERN]
                        order = rules.variants[variant, ORDER]
                        start = place + rules.variants[variant, LEFT]
                        stop = start + rules.variants[variant, FOCUS]
                    if protected and _is_protected(
                        start, stop, row, protection.covered, protection.closed
                    ):
                        continue
                    rank = (np.int64(start - begin) << _ORDER_BITS) | np.int64(order)
                    if extent != 0:
                        if total == hits.shape[0]:
                            hits = _grown(hits, total + 1)
                        hits[total] = (np.int64(pattern) << _RANK_BITS) | rank
                        total += 1
                    elif best[pattern] >> _RANK_BITS != stamp:
                        best[pattern] = (stamp << _RANK_BITS) | rank
                        touched[found] = pattern
                        found += 1
                    elif rank < best[pattern] & _RANK:
                        best[pattern] = (stamp << _RANK_BITS) | rank
                if after >= end:
                    continue
                kind = of_type[type_ids[after]]
                mask = rules.masks[node]
                if mask & bits[kind] == 0:
                    continue
                for at in range(classes.offsets[kind], classes.offsets[kind + 1]):
                    symbol = classes.symbols[at]
                    if (mask >> np.uint64(symbol & 63)) & one == 0:
                        continue
                    if node == 0:
                        child = np.int64(rules.root[symbol])
                    else:
                        child = _find_child(node, symbol, rules.edges)
                    if child >= 0:
                        stack_nodes[depth] = child
                        stack_places[depth] = after + 1
                        depth += 1
                    elif child != NO_CHILD:
                        pattern = ~child
                        if protected and _is_protected(
                            place, after + 1, row, protection.covered, protection.closed
                        ):
                            continue
                        rank = np.int64(place - begin) << _ORDER_BITS
                        if extent != 0:
                            if total == hits.shape[0]:
                                hits = _grown(hits, total + 1)
                            hits[total] = (pattern << _RANK_BITS) | rank
                            total += 1
                        elif best[pattern] >> _RANK_BITS != stamp:
                            # A plain pattern is found leftmost first.
                            best[pattern] = (stamp << _RANK_BITS) | rank
                            touched[found] = pattern
                            found += 1
        if extent == 0:
            if total + found > hits.shape[0]:
                hits = _grown(hits, total + found)
            for at in range(found):
                pattern = np.int64(touched[at])
                hits[total] = (pattern << _RANK_BITS) | (best[pattern] & _RANK)
                total += 1
        else:
            hits[offsets[row - low] : total].sort()
            if extent == 1:
                total = _select(hits, offsets[row - low], total, rules)
        offsets[row - low + 1] = total
    return hits[:total].copy(), offsets


# ---------------------------------------------------------------- from patterns to rules


@kernel
def _sort_by_rule(keys: Any, scratch: Any, count: Any, counters: Any, digits: Any) -> None:
    """Sort keys (rule << 37 | rank) by rule, stably: insertion if short, else radix."""
    if count <= _SHORT:
        for place in range(1, count):
            key = keys[place]
            rule = key >> _RANK_BITS
            at = place
            while at > 0 and keys[at - 1] >> _RANK_BITS > rule:
                keys[at] = keys[at - 1]
                at -= 1
            keys[at] = key
        return
    for digit in range(digits):
        shift = _RANK_BITS + digit * _DIGIT_BITS
        counters[:] = 0
        for place in range(count):
            counters[((keys[place] >> shift) & ((1 << _DIGIT_BITS) - 1)) + 1] += 1
        for value in range(counters.shape[0] - 1):
            counters[value + 1] += counters[value]
        for place in range(count):
            value = (keys[place] >> shift) & ((1 << _DIGIT_BITS) - 1)
            scratch[counters[value]] = keys[place]
            counters[value] += 1
        keys[:count] = scratch[:count]


@kernel
def count_instances(hits: Any, rules: Any) -> Any:
    """How many instances of rules the hits of patterns stand for."""
    total = np.int64(0)
    for hit in hits:
        pattern = hit >> _RANK_BITS
        total += rules.rule_offsets[pattern + 1] - rules.rule_offsets[pattern]
    return total


@kernel
def expand_hits(  # noqa: PLR0917 - arrays in the order in which they are made
    hits: Any, offsets: Any, low: Any, rules: Any, instances: Any, place: Any
) -> None:
    """From the hits of patterns to the instances of rules, sorted by row, rule and start.

    Args:
        hits: see `collect`.
        offsets: the hits of each row.
        low: the first row.
        rules: see `Rules`.
        instances: int32 (5, any), written to: rules, rows, starts, ends and orders.
        place: where to begin in it; `count_instances` are written.
    """
    most = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        most = max(most, count_instances(hits[offsets[row] : offsets[row + 1]], rules))
    keys = np.empty(most, np.int64)
    scratch = np.empty(most, np.int64)
    counters = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
    digits = 1
    while rules.pattern_of.shape[0] >> (digits * _DIGIT_BITS) > 0:
        digits += 1
    for row in range(offsets.shape[0] - 1):
        count = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            pattern = hits[at] >> _RANK_BITS
            rank = hits[at] & _RANK
            for of in range(rules.rule_offsets[pattern], rules.rule_offsets[pattern + 1]):
                keys[count] = (np.int64(rules.rules_of[of]) << _RANK_BITS) | rank
                count += 1
        _sort_by_rule(keys, scratch, count, counters, digits)
        for at in range(count):
            rule = keys[at] >> _RANK_BITS
            order = keys[at] & _ORDER
            start = (keys[at] & _RANK) >> _ORDER_BITS
            variant = rules.first_variant[rules.pattern_of[rule]] + order
            instances[0, place] = rule
            instances[1, place] = low + row
            instances[2, place] = start
            instances[3, place] = start + rules.variants[variant, FOCUS]
            instances[4, place] = order
            place += 1
