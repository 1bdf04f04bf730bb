"""Protected spans of characters as places between and in tokens.

In: flat arrays of tokens and of spans. Out: a `ProtectedPlaces`. Always holds: what `arrays` says
of it. Costs a few array operations over the tokens and a binary search for each span.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.arrays import ProtectedPlaces
from sears_dsl.runtime.array_types import Int32Array, Int64Array


def mark_protected(
    row_offsets: Int32Array,
    starts: Int32Array,
    ends: Int32Array,
    span_offsets: Int64Array,
    spans: Int64Array,
) -> ProtectedPlaces:
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
    return ProtectedPlaces(np.cumsum(units, dtype=np.int32), closed.astype(np.uint8))


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
