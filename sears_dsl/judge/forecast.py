"""How far reading the texts will lower the chance of a rewrite, forecast from a few words.

Always holds: a pair has the same forecast alone and in any batch. A forecast costs some 60
microseconds, where reading both texts takes milliseconds.

The changed words and two words on either side are known by their own vectors, those that the
sentence encoder begins with, and by their frequency and casing. A small network compares them. It
learned from what the judge says of rewrites that nobody had judged (``training.forecast``). It only
rejects: what it takes for good is read all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from sears_dsl.judge.changes import Change, words_beside
from sears_dsl.judge.encoder import Encoder
from sears_dsl.judge.networks import read_arrays
from sears_dsl.runtime.array_types import Float32Array, Floats

FORECAST = "forecast"
"""The name of its column among evidence: what reading the texts will take from the log-odds."""

FILE = Path(__file__).with_name("forecast.npz")

LENGTH = 4
"""The length of the vectors that the network reads."""

Words: TypeAlias = tuple[str, ...]

NUMBERS = (
    "old words", "new words", "nothing lost", "nothing added", "frequency of the old",
    "frequency of the new", "more frequent", "pieces of the old", "pieces of the new",
    "only casing", "capital before", "capital after", "at the beginning", "at the end",
)  # fmt: skip

# The most words of one side that are counted.
_MANY = 5
# What stands beside the first and the last word of a text: marks that the tokenizer knows.
_BEGINNING, _END = "[CLS]", "[SEP]"
_WORDS_IN_MEMORY = 1 << 16


class Clues(NamedTuple):
    """What is known of a change without reading its text."""

    # The old and the new words, and two words before and two after them, one by one.
    words: tuple[Words, ...]
    numbers: Float32Array  # (NUMBERS,)


def clues_of(original: str, change: Change, encoder: Encoder) -> Clues:
    """What is known of a change in a text."""
    before, after = words_beside(original, change, 2)
    before = (_BEGINNING,) * (2 - len(before)) + before
    after = after + (_END,) * (2 - len(after))
    old, new = change.old, change.new
    one, other = encoder.own_vector(old), encoder.own_vector(new)
    numbers = (
        min(len(old), _MANY), min(len(new), _MANY), not old, not new,
        one.frequency, other.frequency, other.frequency - one.frequency, one.pieces, other.pieces,
        [word.lower() for word in old] == [word.lower() for word in new],
        bool(old) and old[0][:1].isupper(), bool(new) and new[0][:1].isupper(),
        before[1] == _BEGINNING, after[0] == _END,
    )  # fmt: skip
    beside = tuple((word,) for word in (*before, *after))
    return Clues((old, new, *beside), np.array(numbers, np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class ForecastWeights:
    """The learned arrays of the network; I is the number of inputs that `inputs` joins."""

    changed: Float32Array  # (384, P): for old and new words
    beside: Float32Array  # (384, Q): for the words beside, and for the changed ones as these fit
    mean: Float32Array  # (NUMBERS,): is subtracted from the numbers
    scale: Float32Array  # (NUMBERS,): divides the differences
    hidden: Float32Array  # (I, H)
    hidden_bias: Float32Array  # (H,)
    output: Float32Array  # (H,)
    linear: Float32Array  # (I,)
    bias: Float32Array  # (1,)


class Forecast:
    """Forecasts what evidence about the texts takes from the log-odds of a rewrite."""

    def __init__(self, weights: ForecastWeights, encoder: Encoder) -> None:
        self.weights, self._encoder = weights, encoder
        self._projected = lru_cache(_WORDS_IN_MEMORY)(self._project)

    def taken(
        self, pairs: Sequence[tuple[str, str]], changes: Sequence[Sequence[Change]]
    ) -> Floats:
        """What is taken at least, (N,); nothing is forecast of texts with several changes."""
        rows = (
            max(0.0, self._taken(clues_of(original, each[0], self._encoder)))
            if len(each) == 1
            else 0.0
            for (original, _), each in zip(pairs, changes, strict=True)
        )
        return np.fromiter(rows, np.float64, len(pairs))

    def _taken(self, clues: Clues) -> float:
        weights = self.weights
        (old, old_fit), (new, new_fit), *beside = map(self._projected, clues.words)
        second, before, after, last = (each for _, each in beside)
        inputs = np.concatenate(
            [
                np.abs(old - new), old * new, new - old, new, second, before, after, last,
                before * new_fit, after * new_fit, before * old_fit, after * old_fit,
                (clues.numbers - weights.mean) / weights.scale,
            ]
        )  # fmt: skip
        hidden = np.maximum(inputs @ weights.hidden + weights.hidden_bias, 0)
        return float(hidden @ weights.output + inputs @ weights.linear + weights.bias[0])

    def _project(self, words: Words) -> tuple[Float32Array, Float32Array]:
        vector = self._encoder.own_vector(words).vector * LENGTH
        return vector @ self.weights.changed, vector @ self.weights.beside


def load_forecast(encoder: Encoder, *, sha256: str) -> Forecast:
    """Load the shipped network.

    Raises:
        ModelError: its file is missing or damaged, or does not have this hash.
    """
    arrays = read_arrays(
        FILE, sha256=sha256, beside="the judge's file", advice="reinstall the package"
    )
    weights = {name: array.astype(np.float32) for name, array in arrays.items()}
    return Forecast(ForecastWeights(**weights), encoder)
