"""Runs a program over tokens: the one place where Python meets the kernels.

In: a program, a batch of tokens, protected spans. Out: `Matches`, sorted by row, rule and start.
Always holds: the result does not depend on the number of jobs, on how rows are batched, or on which
scan ran; each hit of a pattern stands for one instance of every rule with that pattern. One kernel
scans a block of rows and expands its hits: calling a compiled kernel with so many arrays takes
longer than scanning a short row. Costs a look-up of the class of each distinct token type, one scan
of the token ids, and a few nanoseconds for each instance. With several jobs, threads scan blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any, TypeAlias, TypeVar
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import (
    BIT_OF,
    EXTENT_ALL,
    EXTENT_EVERY,
    EXTENT_FIRST,
    FOCUS,
    ORDER_BITS,
    ORDER_MASK,
    RANK,
    RANK_BITS,
    BitPlanes,
    Classes,
    ClassPlanes,
    ProtectedPlaces,
    RulePatterns,
    Rules,
)
from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.match.scans import collect, collect_by_bits
from sears_dsl.engine.matches import Instance, Matches, check_rows
from sears_dsl.errors import UsageError
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer, for_kernels, offsets_of
from sears_dsl.runtime.kernels import compiles, expect, kernel, kernel_of_alike
from sears_dsl.tagging.tokens import ListedTokens, Tokens

# ---------------------------------------------------------------- from hits to instances

_DIGIT_BITS = 6
_SHORT = 24  # up to here insertion sorts faster


@kernel
def _sort_by_rule(
    keys: Int64Array, scratch: Int64Array, count: Integer, counters: Int64Array, digits: int
) -> None:
    """Sort keys (rule << 37 | rank) by rule, stably: insertion if short, else radix."""
    if count <= _SHORT:
        for place in range(1, count):
            key = keys[place]
            rule = key >> RANK_BITS
            at = place
            while at > 0 and keys[at - 1] >> RANK_BITS > rule:
                keys[at] = keys[at - 1]
                at -= 1
            keys[at] = key
        return
    for digit in range(digits):
        shift = RANK_BITS + digit * _DIGIT_BITS
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
def count_instances(hits: Int64Array, patterns: RulePatterns) -> np.int64:
    """How many instances of rules the hits of patterns stand for."""
    if patterns.rules_of.shape[0] == patterns.rule_offsets.shape[0] - 1:
        return np.int64(hits.shape[0])  # each pattern has at least one rule, so each has just one
    total = np.int64(0)
    for hit in hits:
        pattern = hit >> RANK_BITS
        total += patterns.rule_offsets[pattern + 1] - patterns.rule_offsets[pattern]
    return total


@kernel
def expand_hits(
    hits: Int64Array, offsets: Int64Array, low: Integer, patterns: RulePatterns
) -> Int32Array:
    """The instances of rules for the hits of patterns, in the form of `find_instances`."""
    instances = np.empty((5, count_instances(hits, patterns)), np.int32)
    if len(hits) == 0:
        return instances
    place = np.int64(0)
    most = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        most = max(most, count_instances(hits[offsets[row] : offsets[row + 1]], patterns))
    keys = np.empty(most, np.int64)
    scratch = np.empty(most, np.int64)
    counters = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
    digits = 1
    while patterns.pattern_of.shape[0] >> (digits * _DIGIT_BITS) > 0:
        digits += 1
    for row in range(offsets.shape[0] - 1):
        count = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            pattern = hits[at] >> RANK_BITS
            rank = hits[at] & RANK
            for nth in range(patterns.rule_offsets[pattern], patterns.rule_offsets[pattern + 1]):
                keys[count] = (np.int64(patterns.rules_of[nth]) << RANK_BITS) | rank
                count += 1
        _sort_by_rule(keys, scratch, count, counters, digits)
        for at in range(count):
            rule = keys[at] >> RANK_BITS
            order = keys[at] & ORDER_MASK
            start = (keys[at] & RANK) >> ORDER_BITS
            variant = patterns.first_variant[patterns.pattern_of[rule]] + order
            instances[0, place] = rule
            instances[1, place] = low + row
            instances[2, place] = start
            instances[3, place] = start + patterns.variants[variant, FOCUS]
            instances[4, place] = order
            place += 1
    return instances


# An instance that waits packs its start, how many tokens it replaces, and its order.
_START_SHIFT = 32
_TOKENS = (1 << _START_SHIFT) - 1


@kernel
def expand_first(  # noqa: PLR0917 - arrays in the order in which they are made
    hits: Int64Array,
    offsets: Int64Array,
    low: Integer,
    patterns: RulePatterns,
    instances: Int32Array,
    place: Integer,
) -> None:
    """Write what `expand_hits` returns, where each rule has at most one instance in a row.

    The rules of a row are bits, so that they come in their order without being sorted. The first
    hits are of row low, and their instances are written from ``place`` on.
    """
    rule_offsets, rules_of = patterns.rule_offsets, patterns.rules_of
    first_variant, variants, single = patterns.first_variant, patterns.variants, patterns.single
    count = rules_of.shape[0]
    none, one, six, last = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
    words = (count + 63) >> 6
    present = np.zeros(words, np.uint64)
    waiting = np.empty(count, np.int64)
    # Columns and unsigned indices, so that nothing is looked up or checked each time.
    of_rules, of_rows, of_starts = instances[0], instances[1], instances[2]
    of_ends, of_orders = instances[3], instances[4]
    at_place = np.uint64(place)
    at_row = np.int64(low)
    for row in range(offsets.shape[0] - 1):
        for at in range(offsets[row], offsets[row + 1]):
            hit = hits[at]
            pattern = np.uint64(hit >> RANK_BITS)
            start = (hit & RANK) >> ORDER_BITS
            order = hit & ORDER_MASK
            value = (start << _START_SHIFT) | order
            only = single[pattern, 0]
            if only >= 0:
                rule = np.uint64(only)
                waiting[rule] = value | (np.int64(single[pattern, 1]) << ORDER_BITS)
                present[rule >> six] |= one << (rule & last)
                continue
            variant = np.uint64(first_variant[pattern]) + np.uint64(order)
            value |= np.int64(variants[variant, FOCUS]) << ORDER_BITS
            for nth in range(rule_offsets[pattern], rule_offsets[pattern + one]):
                rule = np.uint64(rules_of[nth])
                present[rule >> six] |= one << (rule & last)
                waiting[rule] = value
        for word in range(words):
            mask = present[word]
            present[word] = none
            first = np.uint64(word << 6)
            while mask != none:
                lowest = mask & (~mask + one)
                mask ^= lowest
                rule = first + BIT_OF[lowest % np.uint64(67)]
                value = waiting[rule]
                start = value >> _START_SHIFT
                of_rules[at_place] = rule
                of_rows[at_place] = at_row
                of_starts[at_place] = start
                of_ends[at_place] = start + ((value & _TOKENS) >> ORDER_BITS)
                of_orders[at_place] = value & ORDER_MASK
                at_place += one
        at_row += 1


@kernel
def find_instances(  # noqa: PLR0917 - arrays in the order in which they are made
    low: int, high: int, extent: Integer, row_offsets: Int32Array, type_ids: Int32Array,
    classes: Classes, rules: Rules, protection: ProtectedPlaces,
) -> Int32Array:  # fmt: skip
    """The instances in rows low up to high; the arguments are those of `collect`.

    They are int32 (5, instances): rules, rows, starts, ends and orders; sorted by row, rule, start.
    """
    hits, offsets = collect(low, high, extent, row_offsets, type_ids, classes, rules, protection)
    return _expanded(hits, offsets, low, extent, rules.patterns)


@kernel_of_alike
def find_instances_by_bits(  # noqa: PLR0917 - arrays in the order in which they are made
    low: int, high: int, extent: Integer, row_offsets: Int32Array, type_ids: Int32Array,
    of_type: Int32Array, planes: BitPlanes, of_class: ClassPlanes, patterns: RulePatterns,
    protection: ProtectedPlaces,
) -> Int32Array:  # fmt: skip
    """What `find_instances` returns; the arguments are those of `collect_by_bits`."""
    hits, offsets = collect_by_bits(
        low, high, extent, row_offsets, type_ids, of_type, planes, of_class, patterns, protection
    )
    return _expanded(hits, offsets, low, extent, patterns)


@kernel
def _expanded(
    hits: Int64Array, offsets: Int64Array, low: Integer, extent: Integer, patterns: RulePatterns
) -> Int32Array:
    """The instances for the hits of an extent."""
    rows, rule_count = offsets.shape[0] - 1, patterns.pattern_of.shape[0]
    if extent != EXTENT_FIRST or 512 * hits.shape[0] < rule_count * rows:
        return expand_hits(hits, offsets, low, patterns)
    instances = np.empty((5, count_instances(hits, patterns)), np.int32)
    expand_first(hits, offsets, low, patterns, instances, 0)
    return instances


Extent: TypeAlias = OneOf["first", "all", "every"]
"""``first`` instance of a rule in a row, ``all`` that do not overlap, or ``every`` one."""

Protected: TypeAlias = Sequence[Sequence[tuple[int, int]]]
"""For each row the spans, in characters, in which no rule may fire."""

_EXTENTS = {"first": EXTENT_FIRST, "all": EXTENT_ALL, "every": EXTENT_EVERY}
_UNPROTECTED = ProtectedPlaces(np.zeros(0, np.int32), np.zeros(0, np.uint8))
# Tokens in a block of rows, which one thread scans at a time.
_BLOCK = 1 << 17
_SMALL_BLOCK = 1 << 13  # no thread is started for less
_FEW_INSTANCES = 1 << 15  # likewise

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def search(
    program: Program,
    tokens: Tokens,
    *,
    extent: Extent = "first",
    protected: Protected | None = None,
    jobs: int = 1,
) -> Matches:
    """Find the instances of all rules in all rows, outside of protected spans of characters.

    For rules with a rate, ``first`` means ``all``.
    """
    if extent not in _EXTENTS:
        raise UsageError(
            f"there is no scope {extent!r}", help=f"choose one of {', '.join(_EXTENTS)}"
        )
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}", help="give the number of threads, 1 or more")
    check_rows(protected, len(tokens), name="protected")
    matches = _searched(
        program,
        tokens,
        extent="all" if extent == "first" and len(program.rated) else extent,
        protected=protected,
        jobs=jobs,
    )
    if extent == "first" and len(program.rated):
        heads = (np.diff(matches.rules, prepend=-1) != 0) | (np.diff(matches.rows, prepend=-1) != 0)
        matches = matches.select(heads | program.rated[matches.rules])
    return _with_units(matches, program, tokens, protected) if len(program.units) else matches


def searches_rows(program: Program) -> bool:
    """Whether `search_row` may be called: not in plain Python, nor with rates or whole units."""
    by_bits = program.planes is not None and compiles()
    return by_bits and not (len(program.rated) or len(program.units))


def search_row(program: Program, tokens: ListedTokens, extent: Extent) -> list[Instance] | None:
    """The instances of all rules in one row; None where `search` has to be called."""
    known, planes = program.classes.of_row(tokens.types), program.planes
    if known is None or planes is None:
        return None
    classes, memory = known
    of_class = memory.of(classes, planes)
    if of_class is None:
        return None
    count = len(tokens)
    rules, _, starts, ends, orders = find_instances_by_bits(
        0,
        1,
        _EXTENTS[extent],
        np.array((0, count), np.int32),
        np.arange(count, dtype=np.int32),
        classes.of_type,
        planes,
        of_class,
        program.rules.patterns,
        _UNPROTECTED,
    ).tolist()
    return list(zip(rules, starts, ends, orders, strict=True))


def _with_units(
    matches: Matches, program: Program, tokens: Tokens, protected: Protected | None
) -> Matches:
    """The matches and those of rules about whole units: one for each unprotected row of tokens."""
    lengths = np.diff(tokens.row_offsets)
    free = lengths > 0
    if protected is not None:
        for row in np.flatnonzero(free).tolist():
            first, last = tokens.row_offsets[row], tokens.row_offsets[row + 1] - 1
            start, end = tokens.starts[first], tokens.ends[last]
            free[row] = not any(low < end and start < high for low, high in protected[row])
    rows = np.flatnonzero(free)
    whole = (
        np.tile(program.units, len(rows)),
        np.repeat(rows, len(program.units)),
        np.zeros(len(rows) * len(program.units), np.int32),
        np.repeat(lengths[rows], len(program.units)),
        np.zeros(len(rows) * len(program.units), np.int32),
    )
    columns = (matches.rules, matches.rows, matches.starts, matches.ends, matches.variants)
    both = [
        np.concatenate([one, other]).astype(np.int32)
        for one, other in zip(columns, whole, strict=True)
    ]
    return Matches(*both).select(np.lexsort((both[2], both[0], both[1])))


def _searched(
    program: Program, tokens: Tokens, *, extent: Extent, protected: Protected | None, jobs: int
) -> Matches:
    """The instances of the rules that are in the trie."""
    row_offsets = for_kernels(tokens.row_offsets)
    type_ids = for_kernels(tokens.type_ids)
    planes, of_class = program.planes, None
    described = planes is None or not compiles()
    classes, memory = program.classes.of(tokens.types, described=described)
    expect(len(type_ids))
    protection = _protection(tokens, row_offsets, protected)
    if planes is not None and compiles():
        of_class = memory.of(classes, planes)
    if of_class is None and not described:
        classes, _ = program.classes.of(tokens.types)
    blocks = _blocks(row_offsets, jobs)
    if of_class is not None:
        as_bits = (row_offsets, type_ids, classes.of_type, planes, of_class)
        shared = (_EXTENTS[extent], *as_bits, program.rules.patterns, protection)
        return Matches(*_by_bits(blocks, shared, jobs))

    def scan(block: tuple[int, int]) -> Int32Array:
        rows = (*block, _EXTENTS[extent], row_offsets, type_ids)
        instances: Int32Array = find_instances(*rows, classes, program.rules, protection)
        return instances

    scans = _in_threads(scan, blocks, jobs)
    return Matches(*(scans[0] if len(scans) == 1 else np.concatenate(scans, axis=1)))


def _by_bits(blocks: Sequence[tuple[int, int]], shared: Any, jobs: int) -> Int32Array:
    """The instances in all blocks; ``shared`` has the other arguments of `collect_by_bits`."""
    if len(blocks) == 1:
        return find_instances_by_bits(*blocks[0], *shared)
    patterns, lows = shared[-2], [low for low, _ in blocks]
    scans = _in_threads(lambda block: collect_by_bits(*block, *shared), blocks, jobs)
    if shared[0] != EXTENT_FIRST:
        parts = zip(scans, lows, strict=True)
        expanded = [expand_hits(hits, offsets, low, patterns) for (hits, offsets), low in parts]
        return np.concatenate(expanded, axis=1)
    # All write into one array: putting parts together would take as long as writing them.
    counts = [count_instances(hits, patterns) for hits, _ in scans]
    instances = np.empty((5, sum(counts)), np.int32)
    places = np.cumsum([0, *counts[:-1]]).tolist()

    def expand(block: tuple[int, tuple[Int64Array, Int64Array], int]) -> None:
        low, (hits, offsets), place = block
        expand_first(hits, offsets, low, patterns, instances, place)

    threads = jobs if instances.shape[1] > _FEW_INSTANCES else 1
    _in_threads(expand, list(zip(lows, scans, places, strict=True)), threads)
    return instances


def _in_threads(
    work: Callable[[_Part], _Result], parts: Sequence[_Part], jobs: int
) -> list[_Result]:
    """What ``work`` returns for each part, in order."""
    if len(parts) == 1 or jobs == 1:
        return list(map(work, parts))
    with ThreadPoolExecutor(min(jobs, len(parts))) as threads:
        return list(threads.map(work, parts))


def _blocks(row_offsets: Int32Array, jobs: int) -> list[tuple[int, int]]:
    """Blocks of rows (low, high), of about `_BLOCK` tokens each: small enough for the cache.

    Several threads get blocks of their own where there are enough tokens.
    """
    rows, tokens = len(row_offsets) - 1, int(row_offsets[-1])
    size = min(_BLOCK, max(_SMALL_BLOCK, -(-tokens // jobs)))
    if tokens <= size:
        return [(0, rows)]
    cuts = np.searchsorted(row_offsets, np.arange(size, tokens, size))
    bounds = sorted({0, rows, *cuts.tolist()})
    return list(pairwise(bounds))


def _protection(
    tokens: Tokens, row_offsets: Int32Array, protected: Protected | None
) -> ProtectedPlaces:
    if protected is None or not any(protected):
        return _UNPROTECTED
    counts = np.fromiter(map(len, protected), np.int64, len(protected))
    offsets = offsets_of(counts, np.int64)
    spans = np.array(list(chain.from_iterable(protected)), np.int64).reshape(-1, 2)
    return mark_protected(row_offsets, tokens.starts, tokens.ends, offsets, spans)


def mark_protected(
    row_offsets: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    span_offsets: Int64Array,
    spans: Int64Array,
) -> ProtectedPlaces:
    """Where no instance may be, from the characters of tokens and of the spans, (spans, 2).

    This is not a kernel, since NumPy does it in a few passes.
    """
    rows, tokens = len(row_offsets) - 1, len(starts)
    row_of = np.repeat(np.arange(rows), np.diff(row_offsets))
    # The characters of all rows in one order, with gaps so that spans of two rows never meet.
    longest = int(ends.max(initial=0))
    row_starts = np.arange(rows) * (longest + 3) + 1
    token_starts, token_ends = row_starts[row_of] + starts, row_starts[row_of] + ends
    clipped = np.clip(spans, -1, longest + 1).T
    lows, highs = clipped + np.repeat(row_starts, np.diff(span_offsets))

    gap_starts, gap_ends = token_ends[:-1], token_starts[1:]
    inside = _between(gap_ends, lows, gap_starts, highs) & (gap_starts < gap_ends)
    # An empty protected span lies inside a gap even where the two tokens touch.
    empty = lows[lows == highs]
    inside |= _between(gap_ends, empty - 1, gap_starts, empty + 1)
    units = np.zeros(2 * tokens + 1, np.int32)
    units[1::2] = _between(token_ends, lows, token_starts, highs)
    units[2:-1:2] = inside & (row_of[:-1] == row_of[1:])

    last_ends = np.zeros(rows, np.int32)
    full = np.flatnonzero(np.diff(row_offsets))
    last_ends[full] = ends[row_offsets[full + 1] - 1]
    places = np.empty(tokens + rows, np.int64)
    places[np.arange(tokens) + row_of] = token_starts
    places[row_offsets[1:] + np.arange(rows)] = row_starts + last_ends
    closed = _between(places, lows, places, highs)
    return ProtectedPlaces(np.cumsum(units, dtype=np.int32), closed.astype(np.uint8))


def _between(
    after: Int64Array, lows: Int64Array, before: Int64Array, highs: Int64Array
) -> NDArray[np.bool_]:
    """For each k whether some span has low < after[k] and before[k] < high; both are sorted."""
    begins = np.searchsorted(after, lows, side="right")
    stops = np.searchsorted(before, highs, side="left")
    some = begins < stops
    room = len(after) + 1
    depth = np.bincount(begins[some], minlength=room) - np.bincount(stops[some], minlength=room)
    open_spans: NDArray[np.bool_] = np.cumsum(depth)[:-1] > 0
    return open_spans
