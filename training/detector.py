"""The detectors of tampered words, as networks to train; `sears_dsl.judge` has the same for use.

In: padded rows of words (with their casing, or as word pieces). Out: a logit for each word: whether
it or its neighbour was tampered with. Always holds: a row's logits do not depend on other rows.
A forward pass costs 0.7 million multiplications a word in the small network, 7 million a word piece
in the deep one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from sears_dsl.judge.estimate import INPUTS, WIDTH
from sears_dsl.judge.likelihood import LIKELIHOOD
from sears_dsl.judge.networks import BUCKETS, HEADS, SHAPES
from sears_dsl.translation.model_files import carried_encoder


@numba.njit(cache=True, fastmath=True)
def _scan(gate: Any, value: Any, out: Any) -> None:
    """Running means of values, in half of the columns from the beginning, else from the end."""
    rows, length, width = gate.shape
    half = width // 2
    for row in range(rows):
        for step, first, stop in ((1, 0, half), (-1, half, width)):
            for count in range(length):
                at = count if step > 0 else length - 1 - count
                for k in range(first, stop):
                    last = out[row, at - step, k] if count else np.float32(0.0)
                    g = gate[row, at, k]
                    out[row, at, k] = g * last + (np.float32(1.0) - g) * value[row, at, k]


@numba.njit(cache=True, fastmath=True)
def _scan_back(  # noqa: PLR0917 - arrays
    gate: Any, value: Any, out: Any, slope: Any, slope_gate: Any, slope_value: Any
) -> None:
    """The slopes of gates and values, given those of the running means."""
    rows, length, width = gate.shape
    half = width // 2
    carry = np.zeros(width, np.float32)
    for row in range(rows):
        carry[:] = 0.0
        for step, first, stop in ((1, 0, half), (-1, half, width)):
            for left in range(length - 1, -1, -1):
                at = left if step > 0 else length - 1 - left
                for k in range(first, stop):
                    total = slope[row, at, k] + carry[k]
                    last = out[row, at - step, k] if left else np.float32(0.0)
                    g = gate[row, at, k]
                    slope_gate[row, at, k] = total * (last - value[row, at, k])
                    slope_value[row, at, k] = total * (np.float32(1.0) - g)
                    carry[k] = total * g


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, gate: Any, value: Any) -> Any:
        out = torch.empty_like(gate)
        _scan(gate.numpy(), value.numpy(), out.numpy())
        context.save_for_backward(gate, value, out)
        return out

    @staticmethod
    def backward(context: Any, slope: Any) -> Any:
        gate, value, out = context.saved_tensors
        first, second = torch.empty_like(gate), torch.empty_like(gate)
        _scan_back(
            gate.numpy(), value.numpy(), out.numpy(), slope.contiguous().numpy(),
            first.numpy(), second.numpy(),
        )  # fmt: skip
        return first, second


class _Recurrence(nn.Module):
    def __init__(self, width: int, state: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.into = nn.Linear(width, 4 * state)
        self.out = nn.Linear(2 * state, width)
        with torch.no_grad():
            self.into.bias[: 2 * state] = torch.linspace(-1.0, 2.0, state).repeat(2)

    def forward(self, x: Any, mask: Any) -> Any:
        gate, value = self.into(self.norm(x)).float().chunk(2, -1)
        gate = torch.sigmoid(gate)
        value = torch.tanh(value) * mask
        return x + self.out(_Scan.apply(gate.contiguous(), value.contiguous()))


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, size: int, reach: int) -> None:
        super().__init__()
        self.heads, self.reach = heads, reach
        self.norm = nn.LayerNorm(width)
        self.into = nn.Linear(width, 3 * heads * size)
        self.out = nn.Linear(heads * size, width)
        self.bias = nn.Parameter(torch.zeros(heads, 2 * reach + 1))

    def forward(self, x: Any, mask: Any) -> Any:
        rows, length, _ = x.shape
        parts = self.into(self.norm(x)).view(rows, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        at = torch.arange(length)
        near = (at[None, :] - at[:, None]).clamp(-self.reach, self.reach) + self.reach
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        scores = scores.float() + self.bias[:, near] + (1.0 - mask[:, None, None, :, 0]) * -1e9
        mixed = torch.softmax(scores, -1).to(value.dtype) @ value
        return x + self.out(mixed.transpose(1, 2).reshape(rows, length, -1))


class _Window(nn.Module):
    def __init__(self, width: int, reach: int, into: int | None = None) -> None:
        super().__init__()
        self.reach = reach
        self.first = into is not None
        self.norm = nn.LayerNorm(width) if into is None else nn.Identity()
        self.into = nn.Linear((into or width) * (2 * reach + 1), 2 * width)

    def forward(self, x: Any, mask: Any) -> Any:
        y = (self.norm(x) * mask).to(
            torch.bfloat16 if torch.is_autocast_enabled("cpu") else x.dtype
        )
        length = x.shape[1]
        padded = functional.pad(y, (0, 0, self.reach, self.reach))
        wide = torch.cat([padded[:, at : at + length] for at in range(2 * self.reach + 1)], -1)
        value, gate = self.into(wide).chunk(2, -1)
        new = value * torch.sigmoid(gate)
        return new if self.first else x + new


class Detector(nn.Module):
    """Word vectors, a window of five words, then recurrences, attention and a window of three.

    Args:
        features: float32 (words, features): what is known of words beforehand.
    """

    def __init__(self, features: Any) -> None:
        super().__init__()
        size, width, state, heads, head, reach = 96, 160, 96, HEADS, 32, 8
        words = len(features)
        self.words = words
        self.features: torch.Tensor
        self.register_buffer("features", torch.from_numpy(features), persistent=False)
        self.project = nn.Linear(features.shape[1], size, bias=False)
        nn.init.normal_(self.project.weight, std=features.shape[1] ** -0.5)
        self.own = nn.Embedding(words + BUCKETS, size)
        nn.init.normal_(self.own.weight, std=0.05)
        self.shape = nn.Embedding(SHAPES, size)
        nn.init.normal_(self.shape.weight, std=0.3)
        self.window = _Window(width, 2, size)
        self.blocks = nn.ModuleList(
            [
                _Recurrence(width, state),
                _Attention(width, heads, head, reach),
                _Window(width, 1),
                _Recurrence(width, state),
                _Attention(width, heads, head, reach),
            ]
        )
        self.dropout = nn.Dropout(0.05)
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, 96)
        self.logit = nn.Linear(96, 1)
        nn.init.constant_(self.logit.bias, -2.0)

    def table(self) -> Any:
        """The vectors of all words and buckets."""
        known = self.project(self.features) + self.own.weight[: self.words]
        return torch.cat([known, self.own.weight[self.words :]])

    def forward(self, words: Any, shapes: Any, mask: Any) -> Any:
        """Logits (rows, length) of rows of words; mask float32 (rows, length, 1)."""
        known = (words < self.words).unsqueeze(-1)
        features = self.features[words.clamp(max=self.words - 1)] * known
        x = self.own(words) + self.project(features) + self.shape(shapes)
        x = self.dropout(x) * mask
        x = self.window(x, mask)
        for block in self.blocks:
            x = block(x, mask)
        y = functional.silu(self.hidden(self.dropout(self.norm(x))))
        return self.logit(y).squeeze(-1).float()


# The width of the learned matrices.
_RANK = 16


def encoder_tokenizer() -> Tokenizer:
    """The tokenizer of the sentence encoder that a package carries; it cuts no text."""
    tokenizer = Tokenizer.from_file(str(carried_encoder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Rows of pieces as an array, (rows, longest), and which places hold one."""
    pieces = np.zeros((len(rows), max(map(len, rows))), np.int64)
    filled = np.zeros_like(pieces)
    for at, row in enumerate(rows):
        pieces[at, : len(row)] = row
        filled[at, : len(row)] = 1
    return pieces, filled


class _Adapted(nn.Module):
    """A fixed matrix plus a learned product of two narrow ones (LoRA)."""

    def __init__(self, stays: nn.Linear) -> None:
        super().__init__()
        self.lin = stays.to(torch.bfloat16)
        self.a = nn.Parameter(torch.randn(_RANK, stays.in_features) * stays.in_features**-0.5)
        self.b = nn.Parameter(torch.zeros(stays.out_features, _RANK))

    def forward(self, x: Any) -> Any:
        return self.lin(x) + functional.linear(functional.linear(x, self.a), self.b)


class AdaptedLayers(nn.Module):
    """The four lower layers of the sentence encoder, adapted."""

    layers = 4

    def __init__(self) -> None:
        super().__init__()
        from transformers import AutoModel  # noqa: PLC0415 - slow to load

        encoder: Any = AutoModel.from_pretrained(carried_encoder(), attn_implementation="sdpa")
        encoder.encoder.layer = encoder.encoder.layer[: self.layers]
        encoder.pooler = None
        for weight in encoder.parameters():
            weight.requires_grad = False
        for layer in encoder.encoder.layer:
            inside = layer.attention
            for part, name in (
                (inside.self, "query"), (inside.self, "key"), (inside.self, "value"),
                (inside.output, "dense"), (layer.intermediate, "dense"), (layer.output, "dense"),
            ):  # fmt: skip
                setattr(part, name, _Adapted(getattr(part, name)))
        for name, weight in encoder.named_parameters():
            if "LayerNorm" in name and "encoder" in name:
                weight.requires_grad = True
        self.encoder = encoder
        self.mix = nn.Parameter(torch.zeros(self.layers))

    def shares(self) -> Any:
        """How much each layer counts; at first the upper ones count more."""
        return torch.softmax(self.mix + torch.arange(self.layers) * 1.0, 0)

    def states(self, pieces: Any, filled: Any) -> Any:
        """The mean of the layers for rows of pieces; ``filled`` says which places hold one."""
        read = self.encoder(input_ids=pieces, attention_mask=filled, output_hidden_states=True)
        return sum(
            share * x for share, x in zip(self.shares(), read.hidden_states[1:], strict=True)
        )


class Adapted(AdaptedLayers):
    """The layers, and a logit for each piece."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(self.encoder.config.hidden_size, 128)
        self.logit = nn.Linear(128, 1)
        nn.init.constant_(self.logit.bias, -2.0)

    def forward(self, pieces: Any, filled: Any) -> Any:
        """Logits (rows, length) of rows of pieces; ``filled`` says which places hold one."""
        mixed = self.states(pieces, filled)
        return self.logit(functional.silu(self.hidden(mixed))).squeeze(-1).float()


class Estimator(AdaptedLayers):
    """The layers, and the numbers that `sears_dsl.judge.estimate` computes from them."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(self.encoder.config.hidden_size, WIDTH)
        self.hidden = nn.Linear(INPUTS, 192)
        self.output = nn.Linear(192, len(LIKELIHOOD))

    def forward(self, pieces: Any, filled: Any, pooled: Any, sizes: Any) -> Any:
        """Estimate N rewrites of B originals, (N, `LIKELIHOOD`).

        Args:
            pieces, filled: (rows, length), of originals and rewrites.
            pooled: (2 N · 3, rows · length): the shares of the pieces before, in and behind a
                change, of originals and then of rewrites.
            sizes: (N, 2): the logarithms of how many pieces change.
        """
        projected = self.project(self.states(pieces, filled)).float().flatten(0, 1)
        old, new = (pooled @ projected).view(2, -1, 3, WIDTH)
        return self.output(functional.silu(self.hidden(inputs_of(old, new, sizes))))


def inputs_of(old: Any, new: Any, sizes: Any) -> Any:
    """The inputs (N, `INPUTS`), as `sears_dsl.judge.estimate` has them."""
    before, words, after = new.unbind(1)
    was = old[:, 1]
    compared = (was - words).abs(), was * words
    around = before, after, words * before, words * after
    return torch.cat([was, words, *compared, *around, sizes], 1)


_TURNED = ("hidden.weight", "logit.weight", "project.weight", "output.weight")


def deep_weights(model: AdaptedLayers) -> dict[str, Any]:
    """The learned weights as half floats, with the names of `sears_dsl.judge.bert`."""
    weights = {
        name.removeprefix("encoder.").replace(".lin.", "."): weight.detach().numpy()
        for name, weight in model.named_parameters()
        if weight.requires_grad and name != "mix"
    }
    weights["shares"] = model.shares().detach().numpy()
    for name in _TURNED:
        if name in weights:
            weights[name] = weights[name].T
    return {name: np.ascontiguousarray(array).astype(np.float16) for name, array in weights.items()}


def set_deep_weights(
    model: AdaptedLayers, weights: Mapping[str, Any], *, heads: bool = True
) -> None:
    """Continue from the result of `deep_weights`; without ``heads``, from its layers alone."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            wanted = heads or name.startswith("encoder.")
            if weight.requires_grad and name != "mix" and wanted:
                array = weights[name.removeprefix("encoder.").replace(".lin.", ".")]
                turned = array.T if name in _TURNED else array
                weight.copy_(torch.from_numpy(np.ascontiguousarray(turned)))
        shares = torch.from_numpy(np.asarray(weights["shares"], np.float32))
        model.mix.copy_(torch.log(shares) - torch.arange(model.layers) * 1.0)


def small_weights(model: Detector) -> dict[str, Any]:
    """The weights in small types, with the names of `sears_dsl.judge.networks`.

    Vectors of words are bytes, each with a scale. Matrices are half floats, transposed so that they
    multiply from the left.
    """
    with torch.no_grad():
        table = model.table().numpy()
    scale = np.abs(table).max(1, keepdims=True) / 127
    arrays = {
        "table": np.rint(table / scale).astype(np.int8),
        "scale": scale.astype(np.float16),
    }
    turned = ("into.weight", "out.weight", "hidden.weight", "logit.weight")
    for name, tensor in model.state_dict().items():
        if not name.startswith(("own.", "project.")):
            value = tensor.numpy()
            arrays[name] = (value.T if name.endswith(turned) else value).astype(np.float16)
    return arrays
