"""The scans: the tokens of a block of rows → the hits of patterns, by bits or along the trie.

In: the planes of `compile.token_classes`, or the trie in `arrays`. Out: hits, row by row, the same
from both. Always holds: a hit is an instance of its pattern that touches nothing protected; under
`EXTENT_FIRST` a pattern has at most one hit in a row, its first in the order of the language.

`collect_by_bits` follows 64 variants at once (bit-parallel matching). For a token that begins
variants, it reads the words with their bits, and masks each word with the cells of the following
tokens: the bits that are left match. Where there are few words and a token begins variants in many
of them, it reads all words together with the cells of the next token, without a branch, so that the
processor takes several at once. Where the first hit is enough, a variant that is hit is closed for
the rest of the row. Costs some 70 nanoseconds a token with a thousand mined rules, for which 190
KiB of cache lines are read (`python -m benchmarks.misses`).

`collect` walks the trie from each token, in plain Python and where there are too many rules for
bits. The work for a token depends on the rules that can match there: a token that can start nothing
costs a few array reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    ANCHORS,
    BIT_OF,
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
    BitPlanes,
    Classes,
    ClassPlanes,
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
def sort_hits(
    hits: Int64Array, offsets: Int64Array, extent: Integer, patterns: RulePatterns
) -> None:
    """Sort the hits of each row; under `EXTENT_ALL` keep, of each pattern, those that fit.

    From the left, a hit fits if it overlaps none before it. An insertion excludes others at its
    place.
    """
    end = np.int64(0)
    begin = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        hits[begin : offsets[row + 1]].sort()
        pattern = np.int64(-1)
        free = np.int64(0)
        for at in range(begin, offsets[row + 1]):
            hit = hits[at]
            if hit >> RANK_BITS != pattern:
                pattern = hit >> RANK_BITS
                free = np.int64(0)
            start = (hit & RANK) >> ORDER_BITS
            if start < free:
                continue
            if extent == EXTENT_ALL:
                variant = patterns.first_variant[pattern] + (hit & ORDER_MASK)
                free = start + max(np.int64(1), np.int64(patterns.variants[variant, FOCUS]))
            hits[end] = hit
            end += 1
        begin = offsets[row + 1]
        offsets[row + 1] = end


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
        offsets[row - low + 1] = total
    if extent != EXTENT_FIRST:
        sort_hits(hits, offsets, extent, rules.patterns)
    return hits[: offsets[high - low]], offsets


# ---------------------------------------------------------------- by bits


@kernel
def scan_rows(  # noqa: PLR0915, PLR0917 - one loop on purpose, as below
    low: int, high: int, closing: bool, row_offsets: Int32Array, type_ids: Int32Array,
    of_type: Int32Array, planes: BitPlanes, of_class: ClassPlanes, hits: Int64Array,
    offsets: Int64Array,
) -> Any:  # fmt: skip
    """Append the hits of rows low up to high; return the first row without room, else ``high``.

    The loops call nothing and create no array, since either makes them several times as slow.
    ``closing`` takes only the first hit of a variant in a row. offsets[k] is where the hits of row
    k begin; the caller gives that of row low, and room behind it for more hits than there are
    variants.
    """
    # Local names, since a field of a tuple is looked up each time.
    codes, bases, depths, starts = planes.codes, planes.bases, planes.depths, planes.starts
    entry_offsets, entry_words, masks = of_class.offsets, of_class.words, of_class.masks
    blocks, pool = of_class.blocks, of_class.pool
    seconds, bits, ahead = planes.seconds, of_class.bits, of_class.ahead
    firsts, nexts = of_class.firsts, of_class.nexts
    longest, past = np.int64(planes.longest), np.int64(planes.past)
    # Unsigned indices, since signed ones are checked each time for counting from the end.
    none, one, two, three, six, seven = (
        np.uint64(0),
        np.uint64(1),
        np.uint64(2),
        np.uint64(3),
        np.uint64(6),
        np.uint64(7),
    )
    room = hits.shape[0] - codes.shape[0]
    words = depths.shape[0]
    still_open = np.empty(words, np.uint64)
    # The words in which a token begins variants; the bits that are left of each word.
    begun = np.empty(words + 1, np.uint32)
    left = np.empty(words, np.uint64)
    dense = np.uint64(firsts.shape[1])
    longest_row = np.int64(0)
    for row in range(low, high):
        longest_row = max(longest_row, np.int64(row_offsets[row + 1]) - row_offsets[row])
    kinds = np.zeros(longest_row + longest + 1, np.uint32)
    begins = np.empty(longest_row + 2, np.uint32)
    anchored = starts.shape[0] > 0
    for row in range(low, high):
        begin = np.int64(row_offsets[row])
        count = np.int64(row_offsets[row + 1]) - begin
        total = np.uint64(offsets[row])
        for at in range(count):
            kinds[at] = of_type[type_ids[begin + at]] + 1
        for at in range(count, count + longest + 1):
            kinds[at] = 0
        for at in range(words):
            still_open[at] = ~none
        # The places where a variant may begin, collected without a branch that would be guessed.
        waiting = 0
        for at in range(count + past):
            begins[waiting] = at
            waiting += (ahead[kinds[at]] & bits[kinds[at + 1]]) != none
        for nth in range(waiting):
            place = np.uint64(begins[nth])
            kind = np.uint64(kinds[place])
            rank = np.int64(place << six)
            if np.int64(total) > room:
                return row
            then_kind = np.uint64(kinds[place + one])
            first, stop = np.uint64(entry_offsets[kind]), np.uint64(entry_offsets[kind + one])
            number = none
            if dense == none or (stop - first) << two < dense:
                following = bits[then_kind]
                for at in range(first, stop):
                    word = np.uint64(entry_words[at])
                    if seconds[word] & following != none:
                        left[word] = masks[at] & still_open[word]
                        begun[number] = word
                        number += one
            else:
                for at in range(dense):
                    left[at] = firsts[kind, at] & nexts[then_kind, at] & still_open[at]
                for at in range(dense):
                    begun[number] = at
                    number += np.uint64(left[at] != none)
            for at in range(number):
                word = np.uint64(begun[at])
                mask = left[word]
                if anchored and place > none:
                    mask &= ~starts[word]
                if mask == none:
                    continue
                cell = np.uint64(bases[word])
                for then in range(place + one, place + np.uint64(depths[word])):
                    block = np.uint64(blocks[np.uint64(kinds[then]), cell >> three])
                    mask &= pool[block, cell & seven]
                    if mask == none:
                        break
                    cell += one
                if closing:
                    still_open[word] ^= mask
                while mask != none:
                    lowest = mask & (~mask + one)
                    mask ^= lowest
                    bit = BIT_OF[lowest % np.uint64(67)]
                    hits[total] = codes[(word << six) + bit] + rank
                    total += one
        offsets[row + 1] = np.int64(total)
    return high


@kernel
def collect_by_bits(  # noqa: PLR0917 - arrays in the order in which they are made
    low: int, high: int, extent: Integer, row_offsets: Int32Array, type_ids: Int32Array,
    of_type: Int32Array, planes: BitPlanes, of_class: ClassPlanes, patterns: RulePatterns,
    protection: ProtectedPlaces,
) -> Any:  # fmt: skip
    """What `collect` returns, by bits."""
    protected = protection.covered.shape[0] > 0
    closing = extent == EXTENT_FIRST and not protected
    more = planes.codes.shape[0] + 1
    own_offsets = row_offsets[low : high + 1]
    hits = np.empty(more + 8 * (np.int64(row_offsets[high]) - row_offsets[low]), np.int64)
    offsets = np.zeros(high - low + 1, np.int64)
    row = 0
    while row < high - low:
        row = scan_rows(
            row,
            high - low,
            closing,
            own_offsets,
            type_ids,
            of_type,
            planes,
            of_class,
            hits,
            offsets,
        )
        if row < high - low:
            hits = grown(hits, hits.shape[0] + more)
    if protected:
        drop_protected(low, hits, offsets, own_offsets, patterns, protection)
    if extent != EXTENT_FIRST:
        sort_hits(hits, offsets, extent, patterns)
    elif protected:
        keep_smallest(hits, offsets, 0)
    elif planes.several < patterns.rule_offsets.shape[0] - 1:
        keep_smallest(hits, offsets, np.int64(planes.several) << RANK_BITS)
    return hits[: offsets[high - low]], offsets


@kernel
def keep_smallest(hits: Int64Array, offsets: Int64Array, least: Integer) -> None:
    """Keep the smallest hit of each pattern in a row; each variant of a pattern may have one.

    Only hits from ``least`` on may be of a pattern with several variants.
    """
    end = np.int64(0)
    begin = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        several = 0
        for at in range(begin, offsets[row + 1]):
            several += hits[at] >= least
        if several > 1:
            hits[begin : offsets[row + 1]].sort()
        pattern = np.int64(-1)
        for at in range(begin, offsets[row + 1]):
            if several < 2 or hits[at] >> RANK_BITS != pattern:
                pattern = hits[at] >> RANK_BITS
                hits[end] = hits[at]
                end += 1
        begin = offsets[row + 1]
        offsets[row + 1] = end


@kernel
def drop_protected(  # noqa: PLR0917 - arrays in the order in which they are made
    low: int,
    hits: Int64Array,
    offsets: Int64Array,
    row_offsets: Int32Array,
    patterns: RulePatterns,
    protection: ProtectedPlaces,
) -> None:
    """Keep the hits that touch nothing protected; the rows of the offsets begin with row low."""
    end = np.int64(0)
    begin = np.int64(0)
    for row in range(offsets.shape[0] - 1):
        for at in range(begin, offsets[row + 1]):
            hit = hits[at]
            start = row_offsets[row] + ((hit & RANK) >> ORDER_BITS)
            variant = patterns.first_variant[hit >> RANK_BITS] + (hit & ORDER_MASK)
            stop = start + patterns.variants[variant, FOCUS]
            if not is_protected(start, stop, low + row, protection.covered, protection.closed):
                hits[end] = hit
                end += 1
        begin = offsets[row + 1]
        offsets[row + 1] = end
