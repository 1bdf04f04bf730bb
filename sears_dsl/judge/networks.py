"""What both grammar networks share (weight files, products), and the small network.

Always holds: a weight file is read as it was written, since it ends with the SHA-256 of the rest,
which is checked before anything else is read. Nothing in it is code. `training.weight_files` writes
it. The logits of a piece of text are the same, bit for bit, whatever other pieces are read with it.

The small network sees only words and their casing. Each word has a vector, that of its ending where
it is not known. These go through a gated window of five words, then recurrences from both ends,
attention, a window of three, recurrences and attention again, each added to its input.
`training.detector` is the same network, to be trained. A word takes some 45 microseconds on a core.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import DataError, ModelError
from sears_dsl.runtime.array_types import Float32Array

#: Version of the files: of their arrays, of the networks and of what these read of a word.
FORMAT = 1

_DIGEST = 64  # hex digits of the hash
_REINSTALL = "reinstall sears-dsl; in a checkout, python -m training.grammar makes the file"
_TEXTS = ("about", "words", "listed")


@dataclass(frozen=True, slots=True, eq=False)
class GrammarFile:
    """What a weight file holds."""

    about: Mapping[str, Any]  # what it says of itself: what the weights were trained on, licence
    words: Sequence[str]  # words with a row of their own in the table, the most frequent first
    listed: Sequence[str]  # further words that are known to exist
    arrays: Mapping[str, NDArray[np.float32]]
    digest: str

    def product(self, x: Float32Array, name: str) -> Float32Array:
        """``x @ weights + bias`` by the arrays with this name."""
        return product(x, self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"])

    def output(self, x: Float32Array, name: str) -> Float32Array:
        """The output with this name, behind the hidden layer."""
        hidden = self.product(x, "hidden")
        return self.product(hidden * sigmoid(hidden), name)


def read_arrays(file: Path, *, sha256: str, beside: str, advice: str) -> dict[str, Any]:
    """The arrays of a file that comes with the package and has this hash, by name.

    Raises:
        ModelError: it cannot be read, or does not belong to what lies beside it.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}", help=advice) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(
            f"{file} does not belong to {beside}: the two are of different versions, or it is "
            "damaged",
            help=advice,
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def read_grammar_file(path: Path) -> GrammarFile:
    """Read a weight file; a `DataError` where it is damaged or of another version."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"the grammar's weights, {path}, cannot be read: {error.strerror or error}",
            help=_REINSTALL,
        ) from error
    digest = hashlib.sha256(content[: -2 - _DIGEST]).hexdigest()
    if content[-_DIGEST:] != digest.encode("ascii"):
        raise DataError(
            f"{path} is damaged or not a file of grammar weights: its hash does not match",
            help=_REINSTALL,
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]))
            if about["format"] == FORMAT:
                return GrammarFile(
                    about,
                    bytes(file["words"]).decode().split("\n"),
                    bytes(file["listed"]).decode().split("\n"),
                    {
                        name: np.ascontiguousarray(file[name], np.float32)
                        for name in file.files
                        if name not in _TEXTS
                    },
                    digest,
                )
    # The hash agrees, but anybody can write a hash.
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} has no grammar weights: {error}", help=_REINSTALL) from error
    raise DataError(
        f"{path} has weights of version {about['format']}, but this version of sears reads "
        f"{FORMAT}",
        help=_REINSTALL,
    )


# ---------------------------------------------------------------- what both networks compute with

# Every product of matrices has so many rows, laid across it. With more rows, or with rows along it,
# libraries compute some of them with other last bits (OpenBLAS on AVX2 processors).
_ROWS = 16
# Of a product with up to so many multiplications OpenBLAS makes one thread's work. With more
# threads, last bits would depend on their number, and on a busy machine they wait for each other.
_ONE_THREAD = 1 << 18


def batches(lengths: Sequence[int], most: int) -> Iterator[slice]:
    """Runs of pieces; each ends with the piece that brings it to ``most`` rows."""
    begin, size = 0, 0
    for end, length in enumerate(lengths, start=1):
        size += length
        if size >= most or end == len(lengths):
            yield slice(begin, end)
            begin, size = end, 0


class Layout(NamedTuple):
    """Pieces end to end, the longest first, perhaps with empty rows between them."""

    order: list[int]
    starts: NDArray[np.int64]  # first row of each
    lengths: NDArray[np.int64]  # rows of each, falling
    size: int

    def split_pieces(self, rows: Float32Array) -> list[Float32Array]:
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
    """``x @ weights + bias``, in blocks of rows that do not depend on each other."""
    count = len(x)
    blocks = -(-count // _ROWS)
    padded = np.zeros((blocks * _ROWS, x.shape[1]), np.float32)
    padded[:count] = x
    across = padded.reshape(blocks, 1, _ROWS, -1).transpose(0, 1, 3, 2)
    inputs, outputs = weights.shape
    most = max(1, _ONE_THREAD // (_ROWS * max(1, inputs)))
    few = math.gcd(outputs, 2 ** (most.bit_length() - 1))
    parts = np.matmul(weights.T.reshape(outputs // few, few, inputs), across)
    products = np.ascontiguousarray(parts.transpose(0, 3, 1, 2))
    return np.asarray(products.reshape(blocks * _ROWS, outputs)[:count] + bias)


# ---------------------------------------------------------------- the small network

#: Rows of the table for words that have none of their own, by their endings.
BUCKETS = 1024
HEADS = 4
SHAPES = 5

_LEAST_VARIANCE = np.float32(1e-5)
_GAP = 2  # empty rows between pieces: the wider window reaches so far
_WORDS_AT_ONCE = 8192
_DIGIT = re.compile(r"\d")
LONG_DRAWN = re.compile(r"(\w)\1{2,}")


def plain_word(text: str) -> str:
    """A word as the networks read it: lower case, straight apostrophe, digits all alike.

    Example:
        >>> plain_word("They’re"), plain_word("2,016")
        ("they're", '0,000')
    """
    return _DIGIT.sub("0", text.lower().replace("’", "'"))


def shape_of(text: str) -> int:
    """The casing of a word: 0 lower, 1 a capital and lower, 2 capitals, 3 mixed, 4 no letters.

    Example:
        >>> [shape_of(word) for word in ("a", "A", "OK", "iPad", "!")]
        [0, 1, 2, 3, 4]
    """
    lower, upper = text.lower(), text.upper()
    if lower == upper:
        return 4
    if text == lower:
        return 0
    if text[0] == upper[0] and text[1:] == lower[1:]:
        return 1
    return 2 if text == upper else 3


def row_of(word: str, rows: Mapping[str, int]) -> int:
    """The row of a plain word in the table of vectors.

    This is its own row, that of its plainer spelling or last part, or else that of its ending.
    """
    row = rows.get(word)
    if row is None:
        row = rows.get(LONG_DRAWN.sub(r"\1", word))
    if row is None and "-" in word:
        row = rows.get(word.rpartition("-")[2])
    return ending_row(word, len(rows)) if row is None else row


def ending_row(word: str, words: int) -> int:
    """The row of an unknown word by its ending, behind the rows of so many known words."""
    return words + zlib.crc32(word[-3:].encode("utf-8", "replace")) % BUCKETS


class SmallNetwork:
    """The small network, with the weights of a file."""

    def __init__(self, file: GrammarFile) -> None:
        self._rows = {word: row for row, word in enumerate(file.words)}
        self._weights, self._product = file.arrays, file.product
        self._output = file.output

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """What the network sees of each word, its row and its casing, as one number."""
        numbers = [row_of(plain_word(word), self._rows) * SHAPES + shape_of(word) for word in words]
        return np.array(numbers, np.int64)

    def logits(self, pieces: Sequence[NDArray[np.int64]]) -> list[Float32Array]:
        """The log-odds, for each word of each piece, that it was tampered with."""
        runs = batches([len(piece) for piece in pieces], _WORDS_AT_ONCE)
        return [odds for run in runs for odds in self._forward(pieces[run])]

    def _forward(self, pieces: Sequence[NDArray[np.int64]]) -> list[Float32Array]:
        weights = self._weights
        layout = layout_of([len(piece) for piece in pieces], gap=_GAP)
        filled = np.zeros(layout.size, np.bool_)
        numbers = np.zeros(layout.size, np.int64)
        for at, start in zip(layout.order, layout.starts.tolist(), strict=True):
            here = slice(start, start + len(pieces[at]))
            filled[here] = True
            numbers[here] = pieces[at]
        rows, shapes = np.divmod(numbers, SHAPES)
        x = weights["table"][rows] * weights["scale"][rows] + weights["shape.weight"][shapes]
        x[~filled] = 0.0
        x = self._window(x, layout, "window")
        blocks = (self._recurrence, self._attention, self._window)
        for number, kind in enumerate((0, 1, 2, 0, 1)):
            y = self._normal(x, f"blocks.{number}.norm")
            y[~filled] = 0.0
            x += blocks[kind](y, layout, f"blocks.{number}")
        return layout.split_pieces(self._output(self._normal(x, "norm"), "logit")[:, 0])

    def _normal(self, x: Float32Array, name: str) -> Float32Array:
        """Layer norm."""
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        centred = x - x.mean(1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(1, keepdims=True) + _LEAST_VARIANCE)
        return np.asarray(centred / spread * weight + bias)

    def _window(self, x: Float32Array, _: Layout, name: str) -> Float32Array:
        """A gated product of each word and those beside it."""
        reach = len(self._weights[f"{name}.into.weight"]) // x.shape[1] // 2
        padded = np.zeros((len(x) + 2 * reach, x.shape[1]), np.float32)
        padded[reach : len(padded) - reach] = x
        wide = np.concatenate([padded[at : at + len(x)] for at in range(2 * reach + 1)], axis=1)
        value, gate = np.split(self._product(wide, f"{name}.into"), 2, axis=1)
        return np.asarray(value * sigmoid(gate))

    def _recurrence(self, x: Float32Array, layout: Layout, name: str) -> Float32Array:
        """Two running means whose weights are gates, one from each end."""
        gate, value = np.split(self._product(x, f"{name}.into"), 2, axis=1)
        gate = sigmoid(gate)
        value = np.tanh(value) * (np.float32(1.0) - gate)
        out = np.zeros_like(value)
        half = gate.shape[1] // 2
        steps = np.arange(int(layout.lengths[0]))
        # How many pieces have a word at each step.
        going = np.searchsorted(-layout.lengths, -steps, side="left")
        last = layout.starts + layout.lengths - 1
        for side, first, step in ((slice(half), layout.starts, 1), (slice(half, None), last, -1)):
            state = np.zeros((len(first), half), np.float32)
            for at, count in enumerate(going.tolist()):
                here = first[:count] + step * at
                state = gate[here, side] * state[:count] + value[here, side]
                out[here, side] = state
        return self._product(out, f"{name}.out")

    def _attention(self, x: Float32Array, layout: Layout, name: str) -> Float32Array:
        """Let each row attend to all rows of its piece.

        The bias, (HEADS, 2 n + 1), goes by the distance of two rows, which counts up to n.
        """
        parts, bias = self._product(x, f"{name}.into"), self._weights[f"{name}.bias"]
        size, near = parts.shape[1] // (3 * HEADS), bias.shape[1] // 2
        mixed = np.zeros((len(parts), HEADS * size), np.float32)
        changes = np.nonzero(np.diff(layout.lengths))[0] + 1
        for low, high in pairwise([0, *changes.tolist(), len(layout.lengths)]):
            count, length = high - low, int(layout.lengths[low])
            here = layout.starts[low:high, None] + np.arange(length)
            three = parts[here].reshape(count, length, 3, HEADS, size).transpose(2, 0, 3, 1, 4)
            query, key, value = np.ascontiguousarray(three)
            scores = query @ np.ascontiguousarray(key.transpose(0, 1, 3, 2))
            scores /= np.float32(size**0.5)
            far = np.arange(length) - np.arange(length)[:, None]
            scores += bias[:, np.clip(far, -near, near) + near]
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed[here] = (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, -1)
        return self._product(mixed, f"{name}.out")
