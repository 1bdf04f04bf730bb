"""One number for how far the new words of a change mean what the old ones meant, there.

In: what the encoder sees of changes (`PlaceVectors`). Out: log-odds for each, before any other
evidence.
Always holds: a change has the same number alone and in any company. Costs microseconds a change.

A linear function of the ``NUMBERS`` and a small network over the words' vectors: each kind of
vector goes through a projection of its own; of old and new the distance and the product, number by
number, go through one hidden layer. Learned by `training.judge`.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import ModelError
from sears_dsl.judge.encoder import PlaceVectors
from sears_dsl.runtime.array_types import Float32Array


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The learned arrays.

    Attributes:
        frequencies: (pieces,): the logarithm of how often each piece is in English text.
        mean: (NUMBERS,): is taken from the numbers,
        scale: (NUMBERS,): which are divided by this,
        linear: (NUMBERS,): and weighed by this.
        bias: (1,): log-odds of a change whose numbers are average.
        projections: (VECTORS, 384, K).
        hidden: (VECTORS · 2 · K, H).
        hidden_bias: (H,).
        output: (H,).
    """

    frequencies: Float32Array
    mean: Float32Array
    scale: Float32Array
    linear: Float32Array
    bias: Float32Array
    projections: Float32Array
    hidden: Float32Array
    hidden_bias: Float32Array
    output: Float32Array

    def log_odds(self, encoded: PlaceVectors) -> NDArray[np.float64]:
        """Of each change (N,)."""
        # One at a time: of several rows of a product libraries compute some with other last bits.
        rows = (
            PlaceVectors(*(each[at : at + 1] for each in encoded))
            for at in range(len(encoded.numbers))
        )
        return np.array([self._log_odds(row)[0] for row in rows], np.float64)

    def _log_odds(self, encoded: PlaceVectors) -> NDArray[np.float64]:
        numbers = ((encoded.numbers - self.mean) / self.scale) @ self.linear + self.bias
        old, new = (
            # A matrix for each kind of vector; 4 is the length that vectors were learned with.
            np.matmul(vectors.transpose(1, 0, 2) * 4, self.projections).transpose(1, 0, 2)
            for vectors in (encoded.old, encoded.new)
        )
        count = len(numbers)
        both = np.concatenate(
            [np.abs(old - new).reshape(count, -1), (old * new).reshape(count, -1)], 1
        )
        hidden = np.maximum(both @ self.hidden + self.hidden_bias, 0)
        return np.asarray(numbers + hidden @ self.output, np.float64)

    def to_bytes(self) -> bytes:
        """The arrays as a file, in half precision."""
        file = io.BytesIO()
        arrays = {each.name: getattr(self, each.name).astype(np.float16) for each in fields(self)}
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()


def load_content(path: Path, sha256: str) -> Content:
    """The arrays of a file.

    Raises:
        ModelError: it cannot be read, or is another one than it should be.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror}", help="install the package again"
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(
            f"{path} is not the file that judge.json belongs to",
            help="install the package again, or fit both anew: python -m training.judge",
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {each.name: file[each.name].astype(np.float32) for each in fields(Content)}
    return Content(**arrays)
