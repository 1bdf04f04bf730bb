"""The scan by bits, which follows 64 variants at once (bit-parallel matching).

In: the planes of `compile.token_classes`. Out: hits as `scan.collect` gives them. Always holds: the
hits are those of the walk along the trie. For a token that begins variants, the scan reads the
words with their bits, and masks each word with the cells of the following tokens: the bits that are
left match. Where there are few words and a token begins variants in many of them, it reads all
words together with the cells of the next token, without a branch, so that the processor takes
several at once. Where the first hit is enough, a variant that is hit is closed for the rest of the
row. Costs some 70 nanoseconds a token with a thousand mined rules, for which 190 KiB of cache lines
are read (`python -m benchmarks.misses`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sears_dsl.engine.arrays import (
    BIT_OF,
    EXTENT_FIRST,
    FOCUS,
    ORDER_BITS,
    ORDER_MASK,
    RANK,
    RANK_BITS,
    BitPlanes,
    ClassPlanes,
    ProtectedPlaces,
    RulePatterns,
    grown,
    is_protected,
)
from sears_dsl.engine.match.scan import choose
from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel


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
    if not closing:
        return choose(hits[: offsets[high - low]], offsets, extent, patterns)
    if planes.several < patterns.rule_offsets.shape[0] - 1:
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
