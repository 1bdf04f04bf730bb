"""How likely a language model would find a rewrite, estimated by a network that learned from one.

Always holds: a pair has the same numbers alone and in any batch, bit for bit. Of a long text only
what surrounds the changes is read, which bounds the cost.

The network is the sentence encoder with adapted layers (`bert`). It reads original and
rewrite, and compares the pieces that differ and those beside them. ``training.estimate`` trained
it to predict what some 33,000 rewrites that nobody had judged cost SmolLM2-135M-Instruct
(`likelihood`). It takes some 160 microseconds of one core for each word of a rewrite, and of an
original that was not read recently.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.errors import readable
from sears_dsl.judge.bert import AdaptedEncoder
from sears_dsl.judge.likelihood import window_of
from sears_dsl.judge.networks import batches, read_grammar_file
from sears_dsl.runtime.array_types import Float32Array, Floats

#: How many numbers a projected piece has, and how many the network sees of a pair.
WIDTH = 96
INPUTS = 8 * WIDTH + 2

FILE = Path(__file__).with_name("likelihood_en.npz")

PIECES = 128  # the most pieces of a text that are read
_PIECES_AT_ONCE, _MOST_TEXTS = 512, 1024


def changed_pieces(original: Sequence[int], rewrite: Sequence[int]) -> tuple[slice, slice]:
    """Where the pieces of two texts differ; a text without such pieces has the two neighbours."""
    first, behind = common_ends(original, rewrite)
    spans = []
    for pieces in (original, rewrite):
        low, high = min(first, len(pieces) - 1), len(pieces) - behind
        if high <= low:
            low, high = max(0, low - 1), min(len(pieces), low + 1)
        spans.append(slice(low, high))
    return spans[0], spans[1]


class LikelihoodEstimate:
    """The network of a file; its encoder is loaded, or proves missing, at the first question."""

    def __init__(self, file: Path = FILE) -> None:
        self._file = read_grammar_file(file)
        self.digest = self._file.digest
        self._memory: OrderedDict[str, Float32Array] = OrderedDict()

    @cached_property
    def _encoder(self) -> AdaptedEncoder:  # many runs ask for no estimate
        return AdaptedEncoder(self._file)

    def columns(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """For each pair a row of `LIKELIHOOD` and `LIKELIER`, no number below 0."""
        windows = [window_of(*pair) for pair in pairs]
        texts = list(dict.fromkeys(text for window in windows for text in window))
        encoded = self._encoder.tokenizer.encode_batch(list(map(readable, texts)))
        pieces = {text: each.ids[:PIECES] for text, each in zip(texts, encoded, strict=True)}
        projected = self._projected(pieces)
        inputs = np.zeros((len(pairs), INPUTS), np.float32)
        for row, (original, rewrite) in enumerate(windows):
            spans = changed_pieces(pieces[original], pieces[rewrite])
            old, new = (
                _around(projected[text], span)
                for text, span in zip((original, rewrite), spans, strict=True)
            )
            sizes = np.log1p([span.stop - span.start for span in spans]).astype(np.float32)
            inputs[row] = _inputs(old, new, sizes)
        estimates = self._file.output(inputs, "output")
        more = estimates[:, :1].astype(np.float64)
        columns: Floats = np.hstack([more, estimates[:, 1:], -more])
        return np.clip(columns, 0.0, None)

    def _projected(self, pieces: dict[str, list[int]]) -> dict[str, Float32Array]:
        """The projected pieces of each text, (pieces, WIDTH); recent ones come from memory."""
        new = [text for text in pieces if text not in self._memory]
        new.sort(key=lambda text: len(pieces[text]))
        for run in batches([len(pieces[text]) for text in new], _PIECES_AT_ONCE):
            states, layout = self._encoder.states([pieces[text] for text in new[run]])
            apart = layout.split_pieces(self._file.product(states, "project"))
            self._memory.update(zip(new[run], apart, strict=True))
        projected = {text: self._memory[text] for text in pieces}
        for text in pieces:
            self._memory.move_to_end(text)
        while len(self._memory) > _MOST_TEXTS:
            self._memory.popitem(last=False)
        return projected


def _around(projected: Float32Array, span: slice) -> NDArray[np.float32]:
    """The piece before the span, the mean of the span and the piece after it, (3, WIDTH)."""
    last = len(projected) - 1
    before, after = max(0, span.start - 1), min(last, span.stop)
    return np.stack([projected[before], projected[span].mean(0), projected[after]])


def _inputs(old: Float32Array, new: Float32Array, sizes: Float32Array) -> Float32Array:
    was, (before, words, after) = old[1], new
    compared = np.abs(was - words), was * words
    around = before, after, words * before, words * after
    return np.concatenate([was, words, *compared, *around, sizes])


@cache
def load_likelihood_estimate() -> LikelihoodEstimate:
    """The shipped network."""
    return LikelihoodEstimate()
