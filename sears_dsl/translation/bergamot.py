"""The Bergamot tiny model of Firefox Translations, dequantized to float32.

It is read from a weight file of Marian's binary format and its SentencePiece model. It computes in
float32 with the numbers of the file, without a lexical shortlist. It loads in about 0.1 s and 70
MB. The state of a hypothesis is a vector of 256 numbers a decoder layer, so that duplicating
hypotheses is nearly free.

The network is a transformer of width 256 with 8 heads and a feed-forward width of 1,536. It has 6
encoder layers, and 2 decoder layers whose self-attention is an SSRU, f = σ(x·Wf + bf), c ← f·c +
(1 − f)·(x·W), output relu(c). Every sublayer is followed by add and layer norm. All embeddings are
tied, times 16, plus sinusoids. The decoder starts from a zero vector. Shapes are written as in
`sears_dsl.translation.network`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count, takewhile
from pathlib import Path

import sentencepiece
import torch
from torch import Tensor
from torch.nn import functional

from sears_dsl.errors import ModelError, readable
from sears_dsl.translation.network import (
    DecoderState,
    Memory,
    TranslationModel,
    attend,
    sinusoids,
    split_heads,
)
from sears_dsl.translation.weight_file import read_weights

_HEADS = 8
_EPSILON = 1e-9


class Bergamot(TranslationModel):
    """A tiny model of Firefox Translations, dequantized to float32; ModelError where it is none."""

    def __init__(
        self,
        name: str,
        weights: Path,
        vocabulary: Path,
        *,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__(name, weights, device=device)
        self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        self.end = int(self._pieces.eos_id())
        self._w = {
            name: torch.from_numpy(array).to(self.device)
            for name, array in read_weights(weights).items()
        }
        try:
            self._embeddings = self._w["Wemb"]
            self._output = self._embeddings
            self._output_bias = self._w["decoder_ff_logit_out_b"][0]
        except KeyError as error:
            raise ModelError(
                f"{weights} is not a Bergamot tiny model: it has no tensor {error}"
            ) from error
        self._width = int(self._embeddings.shape[1])
        half = self._width // 2
        exponent = torch.arange(half, device=self.device) / (half - 1)
        self._rates = torch.exp(-math.log(10_000.0) * exponent)
        self._encoders = self._layers("encoder", "self_Wq")
        self._decoders = self._layers("decoder", "rnn_W")

    def _layers(self, side: str, mark: str) -> list[str]:
        """The names of the layers, recognized by a tensor that each of them has."""
        names = (f"{side}_l{number}" for number in count(1))
        return list(takewhile(lambda name: f"{name}_{mark}" in self._w, names))

    def reads(self, character: str) -> bool:
        """Whether the vocabulary has a character."""
        return self._pieces.unk_id() not in self._pieces.encode(character)

    def writes(self, character: str) -> bool:
        """Whether the vocabulary has a character; both sides share one."""
        return self.reads(character)

    def source_pieces(self, text: str) -> list[int]:
        """Piece ids of a source text, ``</s>`` included."""
        return [*self._pieces.encode(readable(text)), self.end]

    def target_pieces(self, text: str) -> list[int]:
        """Piece ids of a target text, ``</s>`` included; both sides share one vocabulary."""
        return self.source_pieces(text)

    def text(self, pieces: Sequence[int]) -> str:
        """The target text of piece ids; ``</s>`` is dropped."""
        return str(self._pieces.decode([piece for piece in pieces if piece != self.end]))

    def piece_strings(self) -> Sequence[str]:
        """The vocabulary by id."""
        return [self._pieces.id_to_piece(piece) for piece in range(len(self._embeddings))]

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> Memory:
        """Encode B source texts, all in one batch."""
        ids, mask = self.batch(texts, filler=self.end)
        places = mask.flatten().nonzero()[:, 0]

        def heads(x: Tensor) -> Tensor:
            """A row for each piece → (B, H, L, D), with zeros where a text is over."""
            padded = x.new_zeros(ids.numel(), self._width)
            padded[places] = x
            return split_heads(padded.view(*ids.shape, self._width), _HEADS)

        # Padding, a fifth of the rows, is computed in the attention alone.
        positions = sinusoids(0, ids.shape[1], self._rates)
        x = self._embed(ids.flatten()[places]) + positions[places % ids.shape[1]]
        for layer in self._encoders:
            name = f"{layer}_self"
            query, keys, values = (heads(self._affine(x, name, letter)) for letter in "qkv")
            context = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
            context = context.transpose(1, 2).reshape(-1, self._width)[places]
            x = self._add(x, self._affine(context, name, "o"), name)
            x = self._feed_forward(x, layer)
        names = [f"{layer}_context" for layer in self._decoders]
        return Memory(
            tuple(heads(self._affine(x, name, "k")).contiguous() for name in names),
            tuple(heads(self._affine(x, name, "v")).contiguous() for name in names),
            mask,
        )

    @torch.no_grad()
    def start(self, memory: Memory, rows: Tensor) -> DecoderState:
        """N empty hypotheses; ``rows`` (N,) says which text of the memory each reads."""
        cell = torch.zeros(len(rows), self._width, device=self.device)
        return DecoderState(rows.to(self.device), 0, (cell,) * len(self._decoders))

    @torch.no_grad()
    def advance(
        self, memory: Memory, state: DecoderState, last: Tensor | None
    ) -> tuple[Tensor, DecoderState]:
        """Hidden vectors (N, W) after one more piece, and the next state."""
        at = state.position
        x = sinusoids(at, at + 1, self._rates).expand(len(state), -1)
        if last is not None:
            x = x + self._embed(last)
        cells = []
        for number, layer in enumerate(self._decoders):
            name = f"{layer}_rnn"
            forget = torch.addmm(self._w[f"{name}_bf"], x, self._w[f"{name}_Wf"]).sigmoid_()
            cell = torch.lerp(x @ self._w[f"{name}_W"], state.cells[number], forget)
            cells.append(cell)
            x = self._norm(x + cell.relu(), f"{name}_ffn_ln")
            name = f"{layer}_context"
            query = self._affine(x, name, "q")
            keys, values = memory.keys[number], memory.values[number]
            context = attend(query, state.rows, keys, values, memory.mask)
            x = self._add(x, self._affine(context, name, "o"), name)
            x = self._feed_forward(x, layer)
        return x, DecoderState(state.rows, at + 1, tuple(cells))

    def _embed(self, ids: Tensor) -> Tensor:
        return self._embeddings[ids] * math.sqrt(self._width)

    def _affine(self, x: Tensor, name: str, letter: str) -> Tensor:
        weights, bias = self._w[f"{name}_W{letter}"], self._w[f"{name}_b{letter}"]
        return torch.addmm(bias, x, weights)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        scale, bias = self._w[f"{name}_scale"][0], self._w[f"{name}_bias"][0]
        return functional.layer_norm(x, (self._width,), scale, bias, _EPSILON)

    def _add(self, x: Tensor, change: Tensor, name: str) -> Tensor:
        return self._norm(change.add_(x), f"{name}_Wo_ln")

    def _feed_forward(self, x: Tensor, layer: str) -> Tensor:
        name = f"{layer}_ffn"
        hidden = self._affine(x, name, "1").relu_()
        return self._norm(self._affine(hidden, name, "2").add_(x), f"{name}_ffn_ln")
