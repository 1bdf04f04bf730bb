"""What a scan leaves for the next one of rows that have changed in between.

In: the classes of tokens of rows, and what begins with each. Out: where a row is as it was. Always
holds: what begins with a token depends on the classes of the tokens that were looked at from there,
and on whether it is the first of its row; so where these are the same it is the same. Costs sixteen
bytes a token and eight a hit, for as long as a chain of rules goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sears_dsl.runtime.array_types import Int32Array, Int64Array, Integer
from sears_dsl.runtime.kernels import kernel


class Scanned(NamedTuple):
    """What a scan found in rows, for the scan of what these become.

    Attributes:
        row_offsets: int32 (rows + 1,): tokens of each row.
        kinds: int32 (tokens,): the class of each token.
        reaches: int32 (tokens,): so many tokens were looked at for what begins with each one,
            itself and the end of the row counted.
        firsts: int64 (tokens,): where the hits that begin with each token are among the hits.
        hits: int64: all hits, overlapping ones too, in the order in which they begin.
        hit_offsets: int64 (rows + 1,): where the hits of each row are.
    """

    row_offsets: Int32Array
    kinds: Int32Array
    reaches: Int32Array
    firsts: Int64Array
    hits: Int64Array
    hit_offsets: Int64Array


NO_ROWS = np.zeros(0, np.int32)
UNSCANNED = Scanned(
    np.zeros(1, np.int32),
    NO_ROWS,
    NO_ROWS,
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    np.zeros(1, np.int64),
)


@kernel
def same_ends(kinds: Int32Array, begin: Integer, end: Integer, old: Scanned, was: Integer) -> Any:
    """Where a row is what it was, as far as what begins there goes.

    Returns:
        (left, right): the tokens before ``begin + left`` are as they were, and from ``end - right``
        on. The end of the row counts as one more where nothing changed; the first token of a row
        is not as it was where it was not the first one, or is no more.
    """
    low, high = np.int64(old.row_offsets[was]), np.int64(old.row_offsets[was + 1])
    shorter = min(end - begin, high - low)
    left = np.int64(0)
    while left < shorter and kinds[begin + left] == old.kinds[low + left]:
        left += 1
    right = np.int64(0)
    while right < shorter - left and kinds[end - 1 - right] == old.kinds[high - 1 - right]:
        right += 1
    if left == end - begin == high - low:
        left += 1
    elif (right == end - begin) != (right == high - low):
        right -= 1
    return left, right


class ScannedRows:
    """What scans left of rows that are scanned again when they have changed.

    Rows that have tags are told from those that have none, since they come apart.
    """

    def __init__(self) -> None:
        self._left: dict[bool, tuple[Int32Array, object, Scanned]] = {}

    def before(self, rows: Int32Array, *, tagged: bool, pool: object) -> tuple[Int32Array, Scanned]:
        """Which of the old rows some are, -1 where none, and what was found in these.

        Args:
            rows: int32: their numbers, ascending.
            pool: of the classes that the scan is about: of others nothing is known.
        """
        old_rows, old_pool, scanned = self._left.get(tagged, (NO_ROWS, None, UNSCANNED))
        if pool is not old_pool or not len(old_rows):
            return np.full(len(rows), -1, np.int32), UNSCANNED
        places = np.minimum(np.searchsorted(old_rows, rows), len(old_rows) - 1)
        return np.where(old_rows[places] == rows, places, -1).astype(np.int32), scanned

    def leave(self, rows: Int32Array, scanned: Scanned, *, tagged: bool, pool: object) -> None:
        """Keep what was found in rows, for the next time."""
        self._left[tagged] = rows, pool, scanned


class RowsAgain(NamedTuple):
    """Rows that come once more.

    Attributes:
        rows: int32: their numbers, ascending.
        scanned: what earlier scans left of them.
    """

    rows: Int32Array
    scanned: ScannedRows


def joined(row_offsets: Int32Array, parts: Sequence[Any]) -> Scanned:
    """What `collect` gave for blocks of rows, as one."""
    hits, offsets, firsts, reaches, kinds = zip(*parts, strict=True)
    before = np.cumsum([0, *map(len, hits[:-1])])
    return Scanned(
        row_offsets,
        np.concatenate(kinds),
        np.concatenate(reaches),
        np.concatenate(list(map(np.add, firsts, before))),
        np.concatenate(hits),
        np.append(
            np.concatenate([each[:-1] + n for each, n in zip(offsets, before, strict=True)]),
            sum(map(len, hits)),
        ),
    )
