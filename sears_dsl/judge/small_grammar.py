"""The small network of the grammar: words and their casing, read by themselves.

Always holds: the logits of a piece are its own, bit for bit.

A vector a word (that of its ending where it is not known), a gated window of five words, then
recurrences from both ends, attention, a window of three, recurrences and attention again, each
added to what was before. `training.detector` is the same network, to be trained. Costs some 45
microseconds a word on one core.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sears_dsl.judge.grammar_file import GrammarFile
from sears_dsl.judge.networks import Layout, attention, batches, layout_of, normal, product, sigmoid
from sears_dsl.runtime.array_types import Float32Array

#: Rows of words that have none of their own, by their endings.
BUCKETS = 1024
HEADS = 4
SHAPES = 5

_GAP = 2  # empty rows between pieces: the wider window reaches so far
_WORDS_AT_ONCE = 8192
_DIGIT = re.compile(r"\d")
_LONG_DRAWN = re.compile(r"(\w)\1{2,}")


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
    """The row of the vector of a plain word.

    Its own, that of its plainer spelling or last part, or that of its ending, behind all words.
    """
    row = rows.get(word)
    if row is None:
        row = rows.get(_LONG_DRAWN.sub(r"\1", word))
    if row is None and "-" in word:
        row = rows.get(word.rpartition("-")[2])
    return ending_row(word, len(rows)) if row is None else row


def ending_row(word: str, words: int) -> int:
    """The row of a word that is not among so many known ones."""
    return words + zlib.crc32(word[-3:].encode("utf-8", "replace")) % BUCKETS


class SmallNetwork:
    """The network of a file."""

    def __init__(self, file: GrammarFile) -> None:
        self._rows = {word: row for row, word in enumerate(file.words)}
        self._weights = file.arrays

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """What it sees of each word: its row and its casing."""
        numbers = [row_of(plain_word(word), self._rows) * SHAPES + shape_of(word) for word in words]
        return np.array(numbers, np.int64)

    def logits(self, pieces: Sequence[NDArray[np.int64]]) -> list[Float32Array]:
        """Log odds of each word of each piece."""
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
        hidden = self._product(self._normal(x, "norm"), "hidden")
        hidden *= sigmoid(hidden)
        return layout.apart(self._product(hidden, "logit")[:, 0])

    def _normal(self, x: Float32Array, name: str) -> Float32Array:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return normal(x, weight, bias, least=1e-5)

    def _product(self, x: Float32Array, name: str) -> Float32Array:
        return product(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

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
        parts = self._product(x, f"{name}.into")
        mixed = attention(parts, layout, heads=HEADS, bias=self._weights[f"{name}.bias"])
        return self._product(mixed, f"{name}.out")
