"""What prepares a scan: the classes of a batch, protected places.

In: flat arrays of the types of a batch, of spans. Out: the arrays that `arrays` reads. Always
holds: what `arrays` says of its functions. Costs one step per predicate that a type satisfies;
where something is protected, a few array operations over the tokens and a binary search for each
span.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import NO_CHILD, Classes, Protection
from sears_dsl.engine.hashing import number_sequences
from sears_dsl.runtime.kernels import kernel
from sears_dsl.tagging.tokens import Int32Array

Int64Array: TypeAlias = NDArray[np.int64]

# Classes times words of symbols, 64 to a word: 64 MiB.
_MOST_WORDS = 1 << 23

# ---------------------------------------------------------------- types of a batch


@kernel
def classify(type_offsets: Any, type_symbols: Any, rules: Any) -> Any:
    """Put types that satisfy the same symbols into one class: a `Classes`.

    Type t satisfies type_symbols[type_offsets[t]:type_offsets[t + 1]].
    """
    of_type, example = number_sequences(type_symbols, type_offsets)
    classes = example.shape[0]
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


def mark_protected(
    row_offsets: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    span_offsets: Int64Array,
    spans: Int64Array,
) -> Protection:
    """Where no instance may be; no kernel, since NumPy does it in a few passes.

    Args:
        row_offsets: tokens of each row.
        starts: first character of each token.
        ends: one past its last character.
        span_offsets: protected spans of each row, in any order.
        spans: (spans, 2) characters start and end.
    """
    rows, tokens = len(row_offsets) - 1, len(starts)
    row_of = np.repeat(np.arange(rows), np.diff(row_offsets))
    # Characters of all rows in one order: those of two rows never meet.
    longest = int(ends.max(initial=0))
    row_starts = np.arange(rows) * (longest + 3) + 1
    token_starts, token_ends = row_starts[row_of] + starts, row_starts[row_of] + ends
    clipped = np.clip(spans, -1, longest + 1).T
    lows, highs = clipped + np.repeat(row_starts, np.diff(span_offsets))

    gap_starts, gap_ends = token_ends[:-1], token_starts[1:]
    inside = _between(gap_ends, lows, gap_starts, highs) & (gap_starts < gap_ends)
    # A protected place without a character is inside where tokens meet, too.
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
    return Protection(np.cumsum(units, dtype=np.int32), closed.astype(np.uint8))


def _between(
    after: Int64Array, lows: Int64Array, before: Int64Array, highs: Int64Array
) -> NDArray[np.bool_]:
    """For each k whether some span has low < after[k] and before[k] < high; both are in order."""
    begins = np.searchsorted(after, lows, side="right")
    stops = np.searchsorted(before, highs, side="left")
    some = begins < stops
    room = len(after) + 1
    depth = np.bincount(begins[some], minlength=room) - np.bincount(stops[some], minlength=room)
    open_spans: NDArray[np.bool_] = np.cumsum(depth)[:-1] > 0
    return open_spans
