"""Translation networks: what all of them share.

Log-probabilities are natural logarithms in float32. Always holds: a hypothesis scores the same
stepped through or teacher-forced, alone or in a batch (to the rounding of float32). Models and the
global settings of torch are never changed. The output layer (width × vocabulary for each position)
is four fifths of the cost of a decoder step.

The networks are `bergamot` (models that a package carries) and `marian` (models of `transformers`);
`pivots` loads them.

Shapes are in these letters: B texts, L source pieces, N hypotheses, T positions, W width, H heads,
D = W / H, V pieces of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from sears_dsl.translation.weight_file import file_hash

# The output layer is computed in blocks of so many hypotheses and pieces: 4 MiB of logits, which
# stay in the cache of a core or two while they are summed.
_ROWS = 512
_PIECES = 2_000


@dataclass(frozen=True, slots=True)
class Memory:
    """What the decoder reads of a batch of B encoded texts."""

    keys: tuple[Tensor, ...]  # for each decoder layer the cross-attention keys, (B, H, L, D)
    values: tuple[Tensor, ...]
    mask: Tensor  # (B, 1, 1, L), True where there is a piece

    @staticmethod
    def join(memories: Sequence[Memory]) -> Memory:
        """Several memories as one, the shorter ones padded."""
        longest = max(memory.mask.shape[3] for memory in memories)

        def padded(parts: Sequence[Tensor]) -> Tensor:
            return torch.cat(
                [functional.pad(part, (0, 0, 0, longest - part.shape[2])) for part in parts]
            )

        return Memory(
            tuple(map(padded, zip(*(memory.keys for memory in memories), strict=True))),
            tuple(map(padded, zip(*(memory.values for memory in memories), strict=True))),
            torch.cat(
                [functional.pad(each.mask, (0, longest - each.mask.shape[3])) for each in memories]
            ),
        )


@dataclass(frozen=True, slots=True)
class DecoderState:
    """N hypotheses, all of them ``position`` pieces long."""

    rows: Tensor  # (N,), which text of the memory each hypothesis reads
    position: int
    # What the network remembers, one tensor or several a layer, each (N, …)
    cells: tuple[Tensor, ...]

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def select(self, index: Tensor) -> DecoderState:
        """The hypotheses at ``index`` (K,), in that order; repeats are allowed."""
        return DecoderState(
            self.rows[index], self.position, tuple(cell[index] for cell in self.cells)
        )

    @staticmethod
    def join(states: Sequence[DecoderState]) -> DecoderState:
        """Several states of the same position as one."""
        return DecoderState(
            torch.cat([state.rows for state in states]),
            states[0].position,
            tuple(torch.cat(cells) for cells in zip(*(s.cells for s in states), strict=True)),
        )


class DecoderPath(NamedTuple):
    """A decoder's path through targets, with what is alive at each position."""

    order: list[int]  # of the targets, the longest first
    states: list[DecoderState]
    hidden: list[Tensor]  # (alive, W), the hidden vectors
    pieces: list[Tensor]  # (alive,), the pieces of the targets


class TranslationModel:
    """A network that says how likely a text of one language is, given one of another.

    A subclass defines its characters and pieces, `encode`, `start` and `advance`, and sets the
    weights of its output layer, ``_output`` (V, W) and ``_output_bias`` (V,); pieces that it never
    writes have the bias −∞. The loop over positions and the output layer are computed here for all
    networks.
    """

    name: str  # for people, ``bergamot-enpt``
    identity: str  # the name and the first 16 hex digits of the SHA-256 of the weights
    end: int  # the id of ``</s>`` on the target side; every hypothesis ends with it
    device: torch.device  # where the tensors live
    _output: Tensor
    _output_bias: Tensor

    def __init__(
        self, name: str, weights: Path, *, device: str | torch.device | None = None
    ) -> None:
        self.name = name
        self.identity = f"{name}-{file_hash(weights)[:16]}"
        self.device = torch.device(device or "cpu")

    def source_pieces(self, text: str) -> list[int]:
        """Piece ids of a source text, ``</s>`` included."""
        raise NotImplementedError

    def target_pieces(self, text: str) -> list[int]:
        """Piece ids of a target text, ``</s>`` included."""
        raise NotImplementedError

    def reads(self, character: str) -> bool:
        """Whether the source vocabulary has a character; True unless overridden."""
        return True

    def writes(self, character: str) -> bool:
        """Whether the target vocabulary has a character; True unless overridden."""
        return True

    def text(self, pieces: Sequence[int]) -> str:
        """The target text of piece ids; ``</s>`` is dropped."""
        raise NotImplementedError

    def piece_strings(self) -> Sequence[str]:
        """The target vocabulary by id: ``▁film``, ``s``, ``</s>``."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str]) -> Memory:
        """Encode B source texts, all in one batch."""
        raise NotImplementedError

    def start(self, memory: Memory, rows: Tensor) -> DecoderState:
        """N empty hypotheses; ``rows`` (N,) says which text of the memory each reads."""
        raise NotImplementedError

    def advance(
        self, memory: Memory, state: DecoderState, last: Tensor | None
    ) -> tuple[Tensor, DecoderState]:
        """Go one piece further: the hidden vectors (N, W) and the next state.

        ``last`` (N,) are the preceding pieces, None at the start.
        """
        raise NotImplementedError

    def batch(self, texts: Sequence[str], *, filler: int) -> tuple[Tensor, Tensor]:
        """Source pieces (B, L), filled up at the end, and the mask (B, 1, 1, L) of a `Memory`."""
        rows = [self.source_pieces(text) for text in texts]
        length = max(map(len, rows), default=1)
        ids = torch.full((len(rows), length), filler)
        present = torch.zeros(len(rows), length, dtype=torch.bool)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.as_tensor(row)
            present[number, : len(row)] = True
        return ids.to(self.device), present[:, None, None].to(self.device)

    def logits(self, hidden: Tensor) -> Tensor:
        """The output layer: (N, W) → (N, V)."""
        return functional.linear(hidden, self._output, self._output_bias)

    def output_rows(self, pieces: Tensor | slice) -> tuple[Tensor, Tensor]:
        """The output layer of ``pieces`` (K,) alone: weights (K, W) and bias (K,)."""
        return self._output[pieces], self._output_bias[pieces]

    @torch.no_grad()
    def follow(self, memory: Memory, rows: Tensor, targets: Sequence[Sequence[int]]) -> DecoderPath:
        """Step through N targets, longest first, so that those alive at a position come first."""
        order = sorted(range(len(targets)), key=lambda n: -len(targets[n]))
        lengths = [len(targets[n]) for n in order]
        pieces = [torch.tensor(targets[n]) for n in order]
        padded = nn.utils.rnn.pad_sequence(pieces, batch_first=True).to(self.device)
        state = self.start(memory, rows[torch.as_tensor(order, device=rows.device)])
        way = DecoderPath(order, [], [], [])
        for position in range(lengths[0]):
            alive = sum(length > position for length in lengths)
            if alive < len(state):
                state = state.select(torch.arange(alive, device=self.device))
            last = padded[:alive, position - 1] if position else None
            vectors, state = self.advance(memory, state, last)
            way.states.append(state)
            way.hidden.append(vectors)
            way.pieces.append(padded[:alive, position])
        return way

    def piece_logits(self, hidden: Tensor, pieces: Tensor) -> Tensor:
        """Logits (N,), one piece of ``pieces`` (N,) for each hidden vector."""
        return (hidden * self._output[pieces]).sum(1) + self._output_bias[pieces]

    @torch.no_grad()
    def log_normalizers(self, hidden: Tensor) -> Tensor:
        """The logarithm (N,) of the sum of exp(logit) over the vocabulary.

        A piece's log-probability is its logit less this. The (N, V) logits are never held at once.
        """
        normalizers = []
        for rows in torch.split(hidden, _ROWS):
            block = rows.new_empty(len(rows), _PIECES)
            # The largest logit so far, which is subtracted to keep the sums in range.
            shift = rows.new_full((len(rows),), -math.inf)
            total = rows.new_zeros(len(rows))
            for begin in range(0, len(self._output), _PIECES):
                weights = self._output[begin : begin + _PIECES]
                bias = self._output_bias[begin : begin + _PIECES]
                logits = block[:, : len(weights)]
                torch.addmm(bias, rows, weights.T, out=logits)
                higher = torch.maximum(shift, logits.amax(1))
                total = total * (shift - higher).exp()
                shift = higher
                total = total + logits.sub_(shift[:, None]).exp_().sum(1)
            normalizers.append(shift + total.log())
        return torch.cat(normalizers)


def sinusoids(start: int, stop: int, rates: Tensor) -> Tensor:
    """Position vectors of the positions from ``start`` up to ``stop``, (stop − start, W).

    Sines in the first half, cosines in the second; ``rates`` (W / 2,) are radians a position.
    """
    angle = torch.arange(start, stop, device=rates.device)[:, None] * rates[None]
    return torch.cat([angle.sin(), angle.cos()], 1)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, L, W) → (B, H, L, D)."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def attend(query: Tensor, rows: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attention of N hypotheses (N, W) to the texts they read, keys and values (B, H, L, D).

    Hypotheses of the same text are laid side by side, so that keys are not copied for each.
    """
    count = len(rows)
    heads, depth = keys.shape[1], keys.shape[3]
    sizes = torch.bincount(rows, minlength=len(keys))
    used = sizes.nonzero()[:, 0]
    most = int(sizes.max())
    if len(used) * most > 2 * count:
        # A text with many hypotheses beside texts with few: padding would cost more than copies.
        side = query.view(count, heads, 1, depth)
        out = functional.scaled_dot_product_attention(
            side, keys[rows], values[rows], attn_mask=mask[rows]
        )
        return out.reshape(count, -1)
    if len(used) < len(keys):
        keys, values, mask, sizes = keys[used], values[used], mask[used], sizes[used]
    order = rows.argsort(stable=True)
    text = torch.arange(len(used), device=rows.device).repeat_interleave(sizes)
    first = sizes.cumsum(0) - sizes
    place = text * most + torch.arange(count, device=rows.device) - first[text]
    spread = query.new_zeros(len(used) * most, heads * depth)
    spread[place] = query[order]
    side = spread.view(len(used), most, heads, depth).transpose(1, 2)
    out = functional.scaled_dot_product_attention(side, keys, values, attn_mask=mask)
    context = torch.empty_like(query)
    context[order] = out.transpose(1, 2).reshape(len(used) * most, -1)[place]
    return context
