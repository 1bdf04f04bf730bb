"""What both networks of the grammar compute with: products, norms and attention over packed rows.

Always holds: what comes out of a row, or of a piece, is the same bit for bit whatever else there
is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Float32Array

# Rows of one product of matrices, always, and they lie across it: of more rows, or of rows along
# it, libraries compute some with other last bits than others (OpenBLAS on AVX2 processors).
_ROWS = 16


def batches(lengths: Sequence[int], most: int) -> Iterator[slice]:
    """Runs of pieces; each ends with the piece by which it has so many rows."""
    begin, size = 0, 0
    for end, length in enumerate(lengths, start=1):
        size += length
        if size >= most or end == len(lengths):
            yield slice(begin, end)
            begin, size = end, 0


class Layout(NamedTuple):
    """Pieces end to end, the longest first, perhaps with empty rows between them.

    Attributes:
        starts: first row of each.
        lengths: rows of each, falling.
    """

    order: list[int]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    size: int

    def apart(self, rows: Float32Array) -> list[Float32Array]:
        """The rows of each piece."""
        pieces: list[Float32Array] = [rows] * len(self.order)
        for at, start, length in zip(*self[:3], strict=True):
            # A copy, so that a piece that is kept does not keep the others.
            pieces[at] = rows[start : start + length].copy()
        return pieces


def layout_of(lengths: Sequence[int], *, gap: int = 0) -> Layout:
    """Where pieces lie, with ``gap`` empty rows before, between and behind them."""
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    sizes = np.array([lengths[at] for at in order], np.int64)
    starts = gap + np.concatenate([[0], np.cumsum(sizes + gap)])
    return Layout(order, starts[:-1], sizes, int(starts[-1]))


def sigmoid(x: Float32Array) -> Float32Array:
    """1 / (1 + e^-x)."""
    with np.errstate(over="ignore"):
        return np.float32(1.0) / (np.float32(1.0) + np.exp(-x))


def product(x: Float32Array, weights: Float32Array, bias: Float32Array) -> Float32Array:
    """``x @ weights + bias``."""
    count = len(x)
    blocks = -(-count // _ROWS)
    padded = np.zeros((blocks * _ROWS, x.shape[1]), np.float32)
    padded[:count] = x
    across = padded.reshape(blocks, _ROWS, -1).transpose(0, 2, 1)
    products = np.ascontiguousarray(np.matmul(weights.T, across).transpose(0, 2, 1))
    return np.asarray(products.reshape(blocks * _ROWS, -1)[:count] + bias)


def normal(
    x: Float32Array, weights: Float32Array, bias: Float32Array, *, least: float
) -> Float32Array:
    """Layer norm, ``least`` being added to the variance."""
    centred = x - x.mean(1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(1, keepdims=True) + np.float32(least))
    return np.asarray(centred / spread * weights + bias)


def attention(
    parts: Float32Array, layout: Layout, *, heads: int, bias: Float32Array | None = None
) -> Float32Array:
    """Each row looks at all of its piece.

    Args:
        parts: queries, keys and values side by side.
        bias: (heads, 2 n + 1): by the distance, which counts up to n.
    """
    size = parts.shape[1] // (3 * heads)
    mixed = np.zeros((len(parts), heads * size), np.float32)
    changes = np.nonzero(np.diff(layout.lengths))[0] + 1
    for low, high in pairwise([0, *changes.tolist(), len(layout.lengths)]):
        length = int(layout.lengths[low])
        here = layout.starts[low:high, None] + np.arange(length)
        three = parts[here].reshape(high - low, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
        query, key, value = np.ascontiguousarray(three)
        scores = query @ np.ascontiguousarray(key.transpose(0, 1, 3, 2))
        scores /= np.float32(size**0.5)
        if bias is not None:
            near = bias.shape[1] // 2
            far = np.arange(length) - np.arange(length)[:, None]
            scores += bias[:, np.clip(far, -near, near) + near]
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed[here] = (scores @ value).transpose(0, 2, 1, 3).reshape(high - low, length, -1)
    return mixed
