"""Beam search over the decoders of one or several translation models, many sentences at once.

The input is readers (a decoder with the encoded texts that it reads) that share one target
vocabulary, and one guide a sentence, which says what may follow a prefix. The output is, for each
sentence, the finished hypotheses, best first. Always holds: the prefixes kept at a step are the
best that the guide admits among the exact best `WIDER * beam` continuations and those that it asks
for. A hypothesis under its sentence's floor is never kept, and one over it is lost only to the
beam's width. Ties are broken by the order of the prefix, then by the piece.

Several readers are combined linearly at every step, each weighted by how likely it finds the
prefix, so that a finished output has the mean of their probabilities. Each kept prefix costs the
output layer at every step. To find the best continuations, the vocabulary is cut into blocks, and
only blocks whose best piece is among the best of the sentence are opened.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import linear

from sears_dsl.translation.network import DecoderState, Memory, TranslationModel

# The guide chooses among so many continuations for each place in the beam.
WIDER = 3
# Pieces that stand for no text.
_CONTROL = frozenset({"<s>", "</s>", "<unk>", "<pad>"})


class Guide:
    """Says what may follow a prefix of one sentence; this one admits everything.

    Its states are whatever it makes them.
    """

    def start(self) -> Any:
        """The state of the empty prefix."""
        return ()

    def extend(self, state: Any, piece: int) -> Any | None:
        """The state after one more piece, or None where no wanted output begins so."""
        return state

    def complete(self, state: Any) -> bool:
        """Whether the prefix may end here."""
        return True

    def bank(self, state: Any) -> int:
        """The kind of the prefix; the kinds share the beam evenly."""
        return 0

    def extra_pieces(self, state: Any) -> Sequence[int]:
        """Pieces to consider even if they are unlikely."""
        return ()


FREE = Guide()


class DecoderInput(NamedTuple):
    """A decoder and what it reads; ``rows`` names the text of the memory for each sentence."""

    model: TranslationModel
    memory: Memory
    rows: torch.Tensor


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished output."""

    pieces: tuple[int, ...]  # ids without the end
    log_probability: float  # of the pieces and the end, natural logarithm


class _Prefix(NamedTuple):
    row: int
    pieces: tuple[int, ...]
    log_probability: float
    state: Any


class _BeamCandidate(NamedTuple):
    """A continuation; candidates sort by preference."""

    cost: float  # minus the log-probability
    parent: int
    piece: int


@torch.inference_mode()
def beam_search(
    readers: Sequence[DecoderInput],
    guides: Sequence[Guide],
    *,
    beam: int,
    floors: Sequence[float],
    lengths: Sequence[int],
    limit: int | None = None,
    pieces: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The likeliest outputs of each sentence, by falling log-probability, then by pieces.

    ``floors`` are the least log-probabilities that are wanted (-inf for any), ``lengths`` the most
    pieces. The search ends when no prefix can still be among the ``limit`` best outputs of its
    sentence. Only ``pieces`` are written, all if None: they are in rising order, include the end
    and all that guides ask for, and their probabilities are taken to sum to one.
    """
    model = readers[0].model
    states = [reader.model.start(reader.memory, reader.rows) for reader in readers]
    output_rows = slice(None) if pieces is None else torch.tensor(pieces, device=model.device)
    outputs = [reader.model.output_rows(output_rows) for reader in readers]
    size, control = _size_and_control(cast(Hashable, model))
    written = np.arange(size) if pieces is None else np.array(pieces)
    end = int(np.searchsorted(written, model.end))
    silent = np.flatnonzero(np.isin(written, [model.end, *control]))
    hypotheses: list[list[Hypothesis]] = [[] for _ in guides]
    search = _BeamSearch(guides, list(floors), lengths, written, beam, limit, hypotheses)
    prefixes = [_Prefix(row, (), 0.0, guide.start()) for row, guide in enumerate(guides)]
    weights = [
        torch.full((len(prefixes),), -math.log(len(readers)), device=model.device) for _ in readers
    ]
    last: torch.Tensor | None = None
    while prefixes:
        of_readers, states = _step(readers, outputs, states, last)
        scores = _mixture(of_readers, weights)
        search.finish(prefixes, scores[:, end].tolist())
        scores[:, torch.from_numpy(silent).to(model.device)] = -math.inf
        parents: list[int] = []
        following: list[_Prefix] = []
        for candidates in search.candidates(prefixes, scores):
            for candidate, state in search.admitted(prefixes, candidates):
                parent = prefixes[candidate.parent]
                parents.append(candidate.parent)
                pieces_so_far = (*parent.pieces, candidate.piece)
                following.append(_Prefix(parent.row, pieces_so_far, -candidate.cost, state))
        prefixes = following
        index = torch.tensor(parents, dtype=torch.long, device=model.device)
        last_pieces = [prefix.pieces[-1] for prefix in prefixes]
        last = torch.tensor(last_pieces, dtype=torch.long, device=model.device)
        states = [state.select(index) for state in states]
        if len(readers) > 1:
            column = torch.from_numpy(np.searchsorted(written, last_pieces)).to(model.device)
            share = scores[index, column]
            weights = [
                weight[index] + of_reader[index, column] - share
                for weight, of_reader in zip(weights, of_readers, strict=True)
            ]
    for of_one in hypotheses:
        of_one.sort(key=lambda item: (-item.log_probability, item.pieces))
    return [of_one[:limit] for of_one in hypotheses]


@lru_cache(maxsize=16)
def _size_and_control(model: Hashable) -> tuple[int, tuple[int, ...]]:
    """How many pieces a model has, and which stand for no text."""
    names = cast(TranslationModel, model).piece_strings()
    return len(names), tuple(piece for piece, name in enumerate(names) if name in _CONTROL)


def _step(
    readers: Sequence[DecoderInput],
    outputs: Sequence[tuple[torch.Tensor, torch.Tensor]],
    states: Sequence[DecoderState],
    last: torch.Tensor | None,
) -> tuple[list[torch.Tensor], list[DecoderState]]:
    """Log-probabilities (N, V) of the next piece by each reader, and its next state.

    ``outputs`` are the rows of the output layers to write with.
    """
    scores, following = [], []
    for reader, output, state in zip(readers, outputs, states, strict=True):
        hidden, after = reader.model.advance(reader.memory, state, last)
        scores.append(linear(hidden, *output).log_softmax(-1))
        following.append(after)
    return scores, following


def _mixture(scores: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """The readers' log-probabilities (N, V), mixed by their log-weights (N,)."""
    if len(scores) == 1:
        return scores[0]
    weighted = [score + weight[:, None] for score, weight in zip(scores, weights, strict=True)]
    return torch.logsumexp(torch.stack(weighted), 0)


@dataclass(slots=True, eq=False)
class _BeamSearch:
    """What is wanted of each sentence, its hypotheses, and the choice of the next prefixes."""

    _guides: Sequence[Guide]
    _floors: list[float]
    _lengths: Sequence[int]
    _written: NDArray[np.int64]
    _beam: int
    _limit: int | None
    hypotheses: list[list[Hypothesis]]

    def finish(self, prefixes: Sequence[_Prefix], ends: Sequence[float]) -> None:
        """Keep the prefixes that may end; with enough of them, raise the sentence's floor."""
        changed = set()
        for prefix, end in zip(prefixes, ends, strict=True):
            total = prefix.log_probability + end
            guide = self._guides[prefix.row]
            if total >= self._floors[prefix.row] and guide.complete(prefix.state):
                self.hypotheses[prefix.row].append(Hypothesis(prefix.pieces, total))
                changed.add(prefix.row)
        if self._limit is None:
            return
        for row in changed:
            totals = sorted(-item.log_probability for item in self.hypotheses[row])
            if len(totals) >= self._limit:
                self._floors[row] = max(self._floors[row], -totals[self._limit - 1])

    def candidates(
        self, prefixes: Sequence[_Prefix], scores: torch.Tensor
    ) -> list[list[_BeamCandidate]]:
        """The best continuations of each sentence that still has any, best first."""
        size = scores.shape[1]
        # The width of a block divides the number of pieces.
        width = next((each for each in range(256, 15, -1) if size % each == 0), size)
        blocks = scores.view(len(prefixes), -1, width)
        so_far = np.array([prefix.log_probability for prefix in prefixes])
        maxima = blocks.amax(-1).cpu().numpy().astype(np.float64) + so_far[:, None]
        places, bounds = self._opened(prefixes, maxima)
        values = blocks.reshape(-1, width)[torch.from_numpy(places).to(blocks.device)]
        count = maxima.shape[1]
        totals = values.cpu().numpy().astype(np.float64) + so_far[places // count, None]
        at, offset = np.nonzero((totals >= bounds[:, None]) & np.isfinite(totals))
        parent = places[at] // count
        piece = self._written[places[at] % count * width + offset]
        cost = -totals[at, offset]
        row = np.array([prefix.row for prefix in prefixes])[parent]
        order = np.lexsort((piece, parent, cost, row))
        row = row[order]
        # The place of each among those of its sentence.
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        order, row = order[rank < WIDER * self._beam], row[rank < WIDER * self._beam]
        chosen: dict[int, list[_BeamCandidate]] = {}
        for place, of_row in zip(order.tolist(), row.tolist(), strict=True):
            candidate = _BeamCandidate(float(cost[place]), int(parent[place]), int(piece[place]))
            chosen.setdefault(of_row, []).append(candidate)
        self._add_extras(chosen, prefixes, scores)
        return [chosen[row] for row in sorted(chosen)]

    def _opened(
        self, prefixes: Sequence[_Prefix], maxima: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The blocks that may hold one of the best, each with the least that its sentence takes."""
        count = maxima.shape[1]
        opened = [np.empty(0, np.int64)]
        bounds = [np.empty(0)]
        end = 0
        for row, same in groupby(prefixes, attrgetter("row")):  # those of a sentence stand together
            begin, end = end, end + sum(1 for _ in same)
            if len(prefixes[begin].pieces) >= self._lengths[row]:
                continue
            of_sentence = maxima[begin:end].ravel()
            bound = self._floors[row]
            wide = WIDER * self._beam
            if of_sentence.size > wide:
                bound = max(bound, float(np.partition(of_sentence, -wide)[-wide]))
            places = np.flatnonzero((of_sentence >= bound) & np.isfinite(of_sentence))
            opened.append(places + begin * count)
            bounds.append(np.full(len(places), bound))
        return np.concatenate(opened), np.concatenate(bounds)

    def _add_extras(
        self,
        chosen: dict[int, list[_BeamCandidate]],
        prefixes: Sequence[_Prefix],
        scores: torch.Tensor,
    ) -> None:
        """Add the pieces that guides ask for and that may still reach the floor."""
        extras = [
            (parent, piece)
            for parent, prefix in enumerate(prefixes)
            if len(prefix.pieces) < self._lengths[prefix.row]
            for piece in self._guides[prefix.row].extra_pieces(prefix.state)
        ]
        if not extras:
            return
        pairs = np.array(extras)
        columns = np.searchsorted(self._written, pairs[:, 1])
        places = torch.from_numpy(np.stack([pairs[:, 0], columns])).to(scores.device)
        values = scores[places[0], places[1]].tolist()
        added: dict[int, list[_BeamCandidate]] = {}
        for (parent, piece), value in zip(extras, values, strict=True):
            prefix = prefixes[parent]
            total = prefix.log_probability + value
            if total >= self._floors[prefix.row] and math.isfinite(total):
                added.setdefault(prefix.row, []).append(_BeamCandidate(-total, parent, piece))
        for row, candidates in added.items():
            chosen[row] = sorted({*chosen.get(row, ()), *candidates})

    def admitted(
        self, prefixes: Sequence[_Prefix], candidates: Sequence[_BeamCandidate]
    ) -> list[tuple[_BeamCandidate, Any]]:
        """The beam of one sentence: the best that its guide admits, shared evenly by the banks.

        Each bank that has candidates gets an even share; what a bank leaves goes to the best of
        the rest. With one bank this is the plain beam.
        """
        guide = self._guides[prefixes[candidates[0].parent].row]
        admitted: list[tuple[_BeamCandidate, Any]] = []
        for candidate in candidates:
            state = guide.extend(prefixes[candidate.parent].state, candidate.piece)
            if state is not None:
                admitted.append((candidate, state))
        if len(admitted) <= self._beam:
            return admitted
        banks = [guide.bank(state) for _, state in admitted]
        share = self._beam // len(set(banks))
        counts: dict[int, int] = {}
        first: list[int] = []
        rest: list[int] = []
        for place, bank in enumerate(banks):
            counts[bank] = counts.get(bank, 0) + 1
            (first if counts[bank] <= share else rest).append(place)
        return [admitted[place] for place in sorted(first + rest[: self._beam - len(first)])]
