"""What a sentence encoder sees of a change: vectors of the changed words and of their context.

Always holds: a place has the same numbers alone and in any batch (to the rounding of float32). Of a
long text only the words around a change are read, which bounds the cost: for each distinct window
one pass of the encoder over at most some 30 words, 2 to 5 ms on one core. The last
``_MOST_WINDOWS`` windows of originals stay in memory, at some 200 KiB each.

The encoder is all-MiniLM-L6-v2 (Apache License 2.0): 6 layers of width 384, lower case. The vector
of some words is the mean of their pieces' vectors. Words that are put in or left out are judged
with their neighbours. `bert` computes the layers.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import readable
from sears_dsl.judge.bert import Bert
from sears_dsl.judge.changes import Change
from sears_dsl.judge.networks import batches
from sears_dsl.runtime.array_types import Float32Array

_LAYERS = 7
WIDTH = 384
"""The length of each vector."""
_NEAR = (1, 3, 6)
_OF_WORDS = (0, 1, 3, 6)
# The layers, rows of `_EncodedWindow.states`, whose means are compared with each other.
_COMPARED = (3, 6)
_COMPARED_OTHERS = (0, 3, 6)

VECTORS = (*(f"layer {layer}" for layer in _OF_WORDS), "without context")
"""Which vectors of the changed words are given; layer 0 knows the word and its place alone."""

# The means that are compared with each other, which are the rows of `_Pooled.related`: the name of
# each, its row in the weights of `Encoder._pooled`, and its layers.
_AROUND = (
    ("words", 0, range(_LAYERS)),
    ("word before", 1, _COMPARED),
    ("word after", 2, _COMPARED),
    ("all other words", 3, _COMPARED_OTHERS),
    ("all words", 4, _COMPARED),
)
_RELATED = tuple(f"{name}, layer {layer}" for name, _, layers in _AROUND for layer in layers)
_LAYERS_RELATED = np.array([layer for _, _, layers in _AROUND for layer in layers])
_MEANS_RELATED = np.array([row for _, row, layers in _AROUND for _ in layers])
# Words against their context, and words in two layers, for every combination of sides.
_FITTING = (
    *(
        (f"words, layer {layer}", f"{around}, layer {layer}")
        for layer in _COMPARED
        for around in ("word before", "word after", "all other words", "all words")
    ),
    ("words, layer 0", "all other words, layer 0"),
    *((f"words, layer {low}", f"words, layer {high}") for low, high in ((0, 6), (3, 6), (0, 3))),
)
_SIDES = ("old", "new")
_PAIRS_OF_RELATED = (
    *((f"{a} {one}", f"{b} {other}") for one, other in _FITTING for a in _SIDES for b in _SIDES),
    ("old all other words, layer 3", "new all other words, layer 3"),
    ("old all words, layer 3", "new all words, layer 3"),
)
_ROWS = [f"{side} {name}" for side in _SIDES for name in _RELATED]
_FIRST_RELATED, _SECOND_RELATED = (
    np.array([_ROWS.index(pair[at]) for pair in _PAIRS_OF_RELATED]) for at in (0, 1)
)

NUMBERS = (
    *(f"words, layer {layer}" for layer in range(_LAYERS)),
    "words without context",
    "sentence",
    *(f"word before, layer {layer}" for layer in _NEAR),
    *(f"word after, layer {layer}" for layer in _NEAR),
    "all other words",
    "closer to the context",
    "close to the context",
    *(f"longer vector, layer {layer}" for layer in range(_LAYERS)),
    "frequency of the new",
    "frequency of the old",
    "more frequent",
    "pieces of the new",
    "more pieces",
    *(f"{one}; {other}" for one, other in _PAIRS_OF_RELATED),
)
"""Cosines between original and rewrite, and of the words' own vectors with their context's; ratios
of lengths; logarithms of how often the rarest piece of the words is in English text; numbers of
pieces; cosines of the words with what is around them, also within the original, since how well a
word fits its own place says how well others may fit there."""

STATIC = ("unlike alone", "rarer alone", "rare alone")
"""What is known of changed words without reading them in their context: 1 − the cosine of their own
vectors, how much rarer the new ones are, and how rare."""

# A window begins and ends at a multiple of so many words, at least so many from the change; a short
# text is its own window.
_STEP = 6
_WHOLE = 24
_CHARACTERS = 8 * _WHOLE
# Pieces in a batch, small enough for the processor's cache, and the most of a window.
_PIECES_AT_ONCE = 512
_PIECES = 128
_UNKNOWN = 100
_MOST_WINDOWS = 1024
# Of so many places, what is pooled from their windows is compared at once; it takes 4 MB.
_PLACES_AT_ONCE = 32
# How many results are remembered; a vector takes 1.5 KiB.
_EXCHANGES, _OWN_VECTORS = 1 << 16, 1 << 12
# The logarithm of how often the most frequent piece occurs.
_MOST_FREQUENT = 14.0

_SPACED = re.compile(r"\S+")
_TOKEN = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]+")


class Place(NamedTuple):
    """A change, with the windows around it."""

    original: str  # the words around the change as the original has them
    start: int
    end: int
    rewrite: str  # the same place in the rewrite
    first: int
    last: int


class PlaceVectors(NamedTuple):
    """What the encoder sees of places."""

    old: Float32Array  # (N, VECTORS, 384), of the changed words, each of length 1
    new: Float32Array  # likewise of the new words
    numbers: Float32Array  # (N, NUMBERS)


class OwnVector(NamedTuple):
    """What is known of some words without their context."""

    vector: Float32Array  # (384,): the mean of their pieces' vectors, of length 1
    frequency: float  # the logarithm of how often the rarest piece is in English text
    pieces: int


def places_of(original: str, rewrite: str, changes: Sequence[Change]) -> list[Place]:
    """The changes of a pair in their windows; what is outside a window is not read."""
    whole = len(original) <= _CHARACTERS and len(rewrite) <= _CHARACTERS
    words = [] if whole else [match.span() for match in _SPACED.finditer(original)]
    places = []
    for change in changes:
        start, end, first, last = change.start, change.end, change.first, change.last
        if start == end or first == last:
            start, end = _with_neighbours(original, start, end)
            first, last = _with_neighbours(rewrite, first, last)
        if whole:
            places.append(Place(original, start, end, rewrite, first, last))
            continue
        low, high = _window(words, start, end, len(original))
        low_new = min(_moved(low, changes), first)
        high_new = max(min(_moved(high, changes), len(rewrite)), last)
        # A word as long as a book is cut.
        low, low_new = max(low, start - _CHARACTERS), max(low_new, first - _CHARACTERS)
        high, high_new = min(high, end + _CHARACTERS), min(high_new, last + _CHARACTERS)
        places.append(
            Place(
                original[low:high], start - low, end - low,
                rewrite[low_new:high_new], first - low_new, last - low_new,
            )
        )  # fmt: skip
    return places


def turn_angles(places: Sequence[Place], encoded: PlaceVectors) -> NDArray[np.float64]:
    """How far each change turns the vector of its window: in radians, times (words / 10)^¼.

    A change in a long sentence turns its vector less than the same change in a short one.
    """
    cosines = encoded.numbers[:, NUMBERS.index("sentence")].astype(np.float64)
    words = [max(1, len(f"{place.original} {place.rewrite}".split())) for place in places]
    return np.arccos(np.clip(cosines, -1, 1)) * (np.array(words) / 20) ** 0.25


def _with_neighbours(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the word before it and the word after it."""
    before = list(_TOKEN.finditer(text, max(0, start - 40), start))
    after = _TOKEN.search(text, end)
    return (before[-1].start() if before else start), (after.end() if after else end)


def _window(words: Sequence[tuple[int, int]], start: int, end: int, size: int) -> tuple[int, int]:
    """The span between words at multiples of the step, with at least a step on either side."""
    first = max(0, bisect_right(words, (start, size)) - 1)
    after = bisect_left(words, (end, 0))
    begin = max(0, first // _STEP * _STEP - _STEP)
    stop = min(len(words), -(-after // _STEP) * _STEP + _STEP)
    if not words or begin >= stop:
        return start, end
    return min(words[begin][0], start), max(words[stop - 1][1], end)


def _moved(place: int, changes: Sequence[Change]) -> int:
    """Where a place of the original is in the rewrite; inside a change, no later than its end."""
    moved = 0
    for change in changes:
        if change.start >= place:
            break
        if place < change.end:
            return min(change.first + place - change.start, change.last)
        moved = change.last - change.end
    return place + moved


class Encoder:
    """A sentence encoder that gives the vectors of words in their context.

    Args:
        frequencies: float32 (pieces,): the logarithm of how often each piece is in English text.
    """

    def __init__(
        self, folder: Path, frequencies: Float32Array, *, device: str | torch.device | None = None
    ) -> None:
        self._network = Bert(folder, longest=_PIECES, whole=True, device=device)
        self._static: Float32Array = self._network.words.cpu().numpy()
        self.frequencies = frequencies
        self._memory: OrderedDict[str, _EncodedWindow] = OrderedDict()
        self._exchange = lru_cache(_EXCHANGES)(self._exchange_numbers)
        self.own_vector = lru_cache(_OWN_VECTORS)(self._own_vector)

    def encode(self, places: Sequence[Place]) -> PlaceVectors:
        """Vectors and numbers of places; each distinct window is read once."""
        windows = self._windows(places)
        count = len(places)
        old = np.zeros((count, len(VECTORS), WIDTH), np.float32)
        new = np.zeros_like(old)
        numbers = np.zeros((count, len(NUMBERS)), np.float32)
        for begin in range(0, count, _PLACES_AT_ONCE):
            here = slice(begin, begin + _PLACES_AT_ONCE)
            one, other = _Pooled.of([
                self._pooled(windows[place.original], place.start, place.end)
                for place in places[here]
            ]), _Pooled.of([
                self._pooled(windows[place.rewrite], place.first, place.last)
                for place in places[here]
            ])  # fmt: skip
            old[here], new[here] = (_unit(each.words[:, list(_CHOSEN)]) for each in (one, other))
            numbers[here] = _numbers(one, other)
        return PlaceVectors(old, new, numbers)

    def static_numbers(self, changes: Sequence[Change]) -> tuple[float, ...]:
        """The ``STATIC`` numbers of a text, each that of its worst change."""
        rows = [self._exchange(change.old, change.new) for change in changes]
        return tuple(max(column) for column in zip(*rows, strict=True))

    def _own_vector(self, words: tuple[str, ...]) -> OwnVector:
        """What is known of some words without context; of no words it is nothing, and frequent."""
        if not words:
            return OwnVector(np.zeros(WIDTH, np.float32), _MOST_FREQUENT, 0)
        tokenizer = self._network.tokenizer
        text = readable(" ".join(words))
        pieces = tokenizer.encode(text, add_special_tokens=False).ids or [_UNKNOWN]
        frequency = float(self.frequencies[pieces].min())
        return OwnVector(_unit(self._static[pieces].mean(0)), frequency, len(pieces))

    def _exchange_numbers(self, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[float, ...]:
        """The ``STATIC`` numbers of one change; zeros where words are only put in or left out."""
        if not old or not new:
            return (0.0,) * len(STATIC)
        one, other = self.own_vector(old), self.own_vector(new)
        unlike = 1 - float(_cosines(one.vector, other.vector))
        rare, was = (_MOST_FREQUENT - each.frequency for each in (other, one))
        return (max(0.0, unlike), max(0.0, rare - was), max(0.0, rare))

    def _windows(self, places: Sequence[Place]) -> dict[str, _EncodedWindow]:
        """Every window of the places; those of originals come from memory where it has them."""
        originals = dict.fromkeys(place.original for place in places)
        windows = {text: self._memory[text] for text in originals if text in self._memory}
        distinct = dict.fromkeys(
            text for place in places for text in (place.original, place.rewrite)
        )
        missing = [text for text in distinct if text not in windows]
        windows.update(self._read(missing))
        for text in originals:
            self._memory[text] = windows[text]
            self._memory.move_to_end(text)
        while len(self._memory) > _MOST_WINDOWS:
            self._memory.popitem(last=False)
        return windows

    def _read(self, texts: Sequence[str]) -> Iterator[tuple[str, _EncodedWindow]]:
        """Texts with all layers of each, read in batches of like length."""
        encoded = self._network.tokenizer.encode_batch(list(map(readable, texts)))
        pieces = [np.array(each.ids) for each in encoded]
        offsets = [np.array(each.offsets) for each in encoded]
        order = sorted(range(len(texts)), key=lambda at: len(pieces[at]))
        for run in batches([len(pieces[at]) for at in order], _PIECES_AT_ONCE):
            batch = order[run]
            states = self._network.states([pieces[at].tolist() for at in batch])
            layers = [layer.cpu().numpy() for layer in states]
            ends = np.cumsum([len(pieces[at]) for at in batch]).tolist()
            for at, end in zip(batch, ends, strict=True):
                own = np.stack([layer[end - len(pieces[at]) : end] for layer in layers])
                yield texts[at], _EncodedWindow(pieces[at], offsets[at], own)

    def _pooled(self, window: _EncodedWindow, start: int, end: int) -> _Pooled:
        """Means over the pieces of a span, of its neighbours, of the others, and of all."""
        begins, ends = window.offsets[:, 0], window.offsets[:, 1]
        real = ends > begins
        inside = real & (begins < end) & (ends > start)
        if not inside.any():
            inside = real if real.any() else np.ones_like(real)
        chosen = np.flatnonzero(inside)
        others = np.flatnonzero(real & ~inside)
        size = len(real)
        weights = np.zeros((5, size), np.float32)
        weights[0, chosen] = 1 / len(chosen)
        # The marks of beginning and end are neighbours where there is no word.
        weights[1, max(0, int(chosen[0]) - 1)] = 1
        weights[2, min(size - 1, int(chosen[-1]) + 1)] = 1
        if len(others):
            weights[3, others] = 1 / len(others)
        else:
            weights[3, 0] = 1
        weights[4] = 1 / size
        means = np.matmul(weights, window.states)
        pieces = window.pieces[chosen]
        static = self._static[pieces].mean(0)
        around = self._static[window.pieces[others]].mean(0) if len(others) else static
        words = np.concatenate([means[:, 0], static[None]])
        frequency = float(self.frequencies[pieces].min())
        return _Pooled(means, words, around, frequency, len(pieces))


class _EncodedWindow(NamedTuple):
    """Pieces (T,), their characters (T, 2), and their vectors (layers, T, width)."""

    pieces: NDArray[np.int64]
    offsets: NDArray[np.int64]
    states: Float32Array


class _Pooled(NamedTuple):
    """What is known of some words in their window, or of those of N places, each an array of N."""

    means: Float32Array  # (layers, 5, width): the means that `_AROUND` numbers
    words: Float32Array  # (layers + 1, width): those of the words, at last without context
    around: Float32Array  # (width,): of all other words, without context
    frequency: float | NDArray[np.float64]
    pieces: int | NDArray[np.int64]

    @classmethod
    def of(cls, places: Sequence[_Pooled]) -> _Pooled:
        return cls(*map(np.array, zip(*places, strict=True)))


# Rows of `_Pooled.words` that `VECTORS` names.
_CHOSEN = (*_OF_WORDS, _LAYERS)


def _numbers(one: _Pooled, other: _Pooled) -> Float32Array:
    """The rows of ``NUMBERS`` of places, (N, NUMBERS)."""
    lengths_old, lengths_new = (
        np.linalg.norm(each.words[:, :_LAYERS], axis=2) for each in (one, other)
    )
    near = list(_NEAR)
    close_old = _cosines(one.words[:, _LAYERS], one.around)
    close_new = _cosines(other.words[:, _LAYERS], one.around)
    related = np.concatenate(
        [each.means[:, _LAYERS_RELATED, _MEANS_RELATED] for each in (one, other)], axis=1
    )
    products = related @ related.transpose(0, 2, 1)
    lengths = np.maximum(np.sqrt(products.diagonal(axis1=1, axis2=2)), 1e-9)
    single = (
        _cosines(one.means[:, -1, 3], other.means[:, -1, 3]), close_new - close_old, close_new,
    )  # fmt: skip
    known = (
        other.frequency, one.frequency, other.frequency - one.frequency,
        other.pieces, other.pieces - one.pieces,
    )  # fmt: skip
    return np.concatenate(
        [
            _cosines(one.words, other.words),
            _cosines(one.means[:, -1, 4], other.means[:, -1, 4])[:, None],
            *(_cosines(one.means[:, near, side], other.means[:, near, side]) for side in (1, 2)),
            np.stack(single, axis=1),
            lengths_new / lengths_old,
            np.stack(known, axis=1),
            products[:, _FIRST_RELATED, _SECOND_RELATED]
            / (lengths[:, _FIRST_RELATED] * lengths[:, _SECOND_RELATED]),
        ],
        axis=1,
    ).astype(np.float32)


def _cosines(one: Float32Array, other: Float32Array) -> NDArray[np.float64]:
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return np.asarray((one * other).sum(-1) / np.maximum(lengths, 1e-9), np.float64)


def _unit(vectors: Float32Array) -> Float32Array:
    return np.asarray(
        vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9), np.float32
    )
