"""Log-probabilities of many rewrites of a few texts, as far as they are needed.

Always holds: a returned number is the full float32 sum of the log-softmax values of teacher
forcing. A rewrite is given up only when what it has lost already puts it under its floor.

Rewrites of one text form a tree of prefixes that grows out of the original's path, which saves
work: the encoder, the original and every shared prefix are computed once, and the piece in which a
rewrite first differs is read off the original's own distribution. The tree is walked level by
level, all texts together. With floors, each level first computes an upper bound: the normalizer
over the few pieces that were likely anywhere in the originals is less than the one over the whole
vocabulary, and the log-probabilities still to come are at most 0. The whole output layer is
computed only for rewrites that this bound does not rule out.

Each distinct prefix costs a decoder step and, unless it is given up, an output layer.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.translation.network import DecoderState, Memory, TranslationModel

# Pieces at least so likely at some position of an original make up the bound's vocabulary.
_LIKELY = 1e-3
# Rounding of float32 sums; a rewrite this close to its floor is not given up by a bound.
_SLACK = 1e-3
# Originals that stay in memory, at some 200 kB each: a filter comes back to them again and again.
_READ = 1024
# The rows of the output layer at a time while an original's likely pieces are looked for.
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Originals:
    """The targets whose rewrites are scored, with the decoder's path through them."""

    memory: Memory  # the encoded sources, text by text
    pieces: Sequence[Sequence[int]]  # of each original, ``</s>`` included
    # The state after each position; the hypotheses are the originals of that length or longer, in
    # the order of ``places``
    states: Sequence[DecoderState]
    places: NDArray[np.int64]  # (B,), where an original is among the hypotheses of a state
    hidden: Tensor  # (B, T, W), hidden vectors
    normalizers: Tensor  # (B, T), log-normalizers
    so_far: NDArray[np.float64]  # (B, T + 1), log-probability of each prefix, float64
    likely: Sequence[Tensor]  # (K,), pieces that are likely somewhere in each original

    @property
    def totals(self) -> NDArray[np.float64]:
        """The log-probability (B,) of each original."""
        lengths = [len(pieces) for pieces in self.pieces]
        return self.so_far[np.arange(len(lengths)), lengths]


@torch.no_grad()
def read_originals(
    model: TranslationModel,
    sources: Sequence[str],
    targets: Sequence[Sequence[int]],
    *,
    likely: float = _LIKELY,
) -> Originals:
    """Encode the sources and follow their originals, the piece ids of each with ``</s>``.

    Pieces of this probability or more at some position are the ``likely`` ones.
    """
    memory = model.encode(sources)
    count = len(targets)
    way = model.follow(memory, torch.arange(count, device=model.device), targets)
    places = np.empty(count, np.int64)
    places[way.order] = np.arange(count)
    longest = len(way.hidden)
    hidden = way.hidden[0].new_zeros(count, longest, way.hidden[0].shape[1])
    for position, here in enumerate(way.hidden):
        hidden[way.order[: len(here)], position] = here
    normalizers = hidden.new_zeros(count, longest)
    by_position = np.zeros((count, longest + 1))
    above = []
    for row, target in enumerate(targets):
        vectors = hidden[row, : len(target)]
        own, likely_here = _normalizers_and_likely(model, vectors, math.log(likely))
        scores = model.piece_logits(vectors, torch.tensor(list(target), device=model.device)) - own
        normalizers[row, : len(target)] = own
        by_position[row, 1 : len(target) + 1] = scores.double().cpu().numpy()
        above.append(likely_here)
    so_far = by_position.cumsum(1)
    return Originals(memory, targets, way.states, places, hidden, normalizers, so_far, above)


def join_originals(parts: Sequence[Originals]) -> Originals:
    """Join originals that were read one by one into a batch, unchanged to the last bit."""
    order = sorted(range(len(parts)), key=lambda number: -len(parts[number].pieces[0]))
    places = np.empty(len(parts), np.int64)
    places[order] = np.arange(len(parts))
    longest = len(parts[order[0]].states)
    states = []
    for position in range(longest):
        alive = [number for number in order if len(parts[number].states) > position]
        state = DecoderState.join([parts[number].states[position] for number in alive])
        rows = torch.tensor(alive, device=state.rows.device)
        states.append(DecoderState(rows, state.position, state.cells))
    so_far = np.zeros((len(parts), longest + 1))
    for number, part in enumerate(parts):
        so_far[number, : part.so_far.shape[1]] = part.so_far[0]
    return Originals(
        memory=Memory.join([part.memory for part in parts]),
        pieces=[part.pieces[0] for part in parts],
        states=states,
        places=places,
        hidden=nn.utils.rnn.pad_sequence([part.hidden[0] for part in parts], batch_first=True),
        normalizers=nn.utils.rnn.pad_sequence(
            [part.normalizers[0] for part in parts], batch_first=True
        ),
        so_far=so_far,
        likely=[part.likely[0] for part in parts],
    )


class ForcedScorer:
    """Scores texts through one model, and remembers the latest originals that it has read."""

    def __init__(self, model: TranslationModel) -> None:
        self._model = model
        self._known: OrderedDict[tuple[str, str], Originals] = OrderedDict()

    def read(self, sources: Sequence[str], targets: Sequence[str]) -> Originals:
        """Read the targets, each with its source; those in memory are not read again.

        Each is read by itself, so that numbers do not depend on what was read before or beside it.
        """
        originals = []
        for source, target in zip(sources, targets, strict=True):
            original = self._known.pop((source, target), None)
            if original is None:
                original = self.read_together([source], [target])
            self._known[source, target] = original
            originals.append(original)
        while len(self._known) > _READ:
            self._known.popitem(last=False)
        return join_originals(originals)

    def read_together(self, sources: Sequence[str], targets: Sequence[str]) -> Originals:
        """Read the targets as one batch, in half the time and with nothing remembered."""
        return read_originals(self._model, sources, list(map(self._model.target_pieces, targets)))

    def totals(
        self,
        originals: Originals,
        rows: Sequence[int] | NDArray[np.int64],
        rewrites: Sequence[str],
        *,
        floors: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """`total_log_probabilities` of rewrites, each of the original in its row."""
        pieces = list(map(self._model.target_pieces, rewrites))
        return total_log_probabilities(self._model, originals, rows, pieces, floors=floors)


@torch.no_grad()
def source_totals(
    model: TranslationModel,
    sources: Sequence[str],
    rows: Sequence[int],
    targets: Sequence[Sequence[int]],
) -> NDArray[np.float64]:
    """Natural log P(target | source) of each source, for the target that its row names.

    It is −inf where another source of the target is certainly better. ``rows`` rise.
    """
    row_of = np.asarray(rows, np.int64)
    each = torch.arange(len(sources), device=model.device)
    way = model.follow(model.encode(sources), each, [targets[row] for row in rows])
    hidden = torch.cat(way.hidden)
    logits = model.piece_logits(hidden, torch.cat(way.pieces))
    source_of = np.concatenate([way.order[: len(states)] for states in way.hidden])

    def summed(scores: Tensor, of: NDArray[np.int64]) -> NDArray[np.float64]:
        weights = scores.double().cpu().numpy()
        return np.asarray(np.bincount(of, weights, minlength=len(sources)), np.float64)

    chosen = np.unique(row_of, return_index=True)[1]
    totals = np.full(len(sources), -np.inf)
    is_open = np.ones(len(sources), np.bool_)
    bounds = np.full(len(sources), np.inf)
    while len(chosen):
        places = np.flatnonzero(np.isin(source_of, chosen))
        at = torch.from_numpy(places).to(model.device)
        if np.isinf(bounds).all():
            normalizers, likely = _normalizers_and_likely(model, hidden[at], math.log(_LIKELY))
            partial = functional.linear(hidden, *model.output_rows(likely)).logsumexp(1)
            bounds = summed((logits - partial).clamp(max=0), source_of)
        else:
            normalizers = model.log_normalizers(hidden[at])
        totals[chosen] = summed(logits[at] - normalizers, source_of[places])[chosen]
        is_open[chosen] = False
        best = np.full(len(targets), -np.inf)
        np.maximum.at(best, row_of, totals)
        # For each target, of the sources that may still be better, the most promising one.
        left_over = np.flatnonzero(is_open & (bounds >= best[row_of] - _SLACK))
        left_over = left_over[np.lexsort((-bounds[left_over], row_of[left_over]))]
        chosen = left_over[np.unique(row_of[left_over], return_index=True)[1]]
    return totals


def _normalizers_and_likely(
    model: TranslationModel, hidden: Tensor, least: float
) -> tuple[Tensor, Tensor]:
    """Log-normalizers (N,), and the pieces whose log-probability exceeds ``least`` somewhere."""
    normalizers, likely = [], []
    for block in torch.split(hidden, _BLOCK):
        logits = model.logits(block)
        normalizers.append(logits.logsumexp(1))
        likely.append((logits > normalizers[-1][:, None] + least).any(0))
    return torch.cat(normalizers), torch.stack(likely).any(0).nonzero()[:, 0]


@torch.no_grad()
def total_log_probabilities(
    model: TranslationModel,
    originals: Originals,
    rows: Sequence[int] | NDArray[np.int64],
    rewrites: Sequence[Sequence[int]],
    *,
    floors: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Natural log P(rewrite | source) of C rewrites, piece ids with ``</s>``.

    With ``floors`` (C,), it is −inf for rewrites under their floor, whose number is not wanted.
    """
    if not rewrites:
        return np.zeros(0)
    device = model.device
    padded = nn.utils.rnn.pad_sequence(list(map(torch.tensor, rewrites)), batch_first=True)
    pieces: NDArray[np.int64] = padded.numpy()
    lengths = np.array([len(rewrite) for rewrite in rewrites])
    row_of = np.asarray(rows, np.int64)
    branch = np.array(
        [
            common_ends(originals.pieces[row], rewrite)[0]
            for row, rewrite in zip(rows, rewrites, strict=True)
        ]
    )
    totals = originals.so_far[row_of, branch]
    # Where a rewrite equals its original to the last piece, nothing is left to do.
    differs = np.flatnonzero(branch < lengths)
    if len(differs):
        at_row = torch.from_numpy(row_of[differs]).to(device)
        at_place = torch.from_numpy(branch[differs]).to(device)
        first = torch.from_numpy(pieces[differs, branch[differs]]).to(device)
        scores = model.piece_logits(originals.hidden[at_row, at_place], first)
        scores = scores - originals.normalizers[at_row, at_place]
        totals[differs] += scores.double().cpu().numpy()
    walk = _TreeWalk(model, originals, pieces, lengths, originals.places[row_of], branch)
    return walk.run(totals, floors)


@dataclass(slots=True)
class _TreeWalk:
    """The tree of prefixes of C rewrites, level by level."""

    model: TranslationModel
    originals: Originals
    pieces: NDArray[np.int64]  # (C, T), padded
    lengths: NDArray[np.int64]  # (C,), without the padding
    # (C,), where each one's original is among the hypotheses of the originals' states
    places: NDArray[np.int64]
    branch: NDArray[np.int64]  # (C,), the first position in which each differs from its original
    node: NDArray[np.int64] = field(init=False)  # (C,), the prefix of each at the level last walked
    # Of the prefixes of that level; None before the first
    state: DecoderState | None = field(init=False, default=None)

    def run(
        self, totals: NDArray[np.float64], floors: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """The log-probabilities, given those up to the first piece in which a rewrite differs."""
        self.node = np.zeros(len(totals), np.int64)
        bounds = totals.copy()
        alive = np.ones(len(totals), bool) if floors is None else bounds >= floors - _SLACK
        hidden: list[Tensor] = []
        logits: list[Tensor] = []
        of_rewrite: list[NDArray[np.int64]] = []
        of_node: list[NDArray[np.int64]] = []
        nodes = 0
        likely = self.model.output_rows(torch.unique(torch.cat(list(self.originals.likely))))
        for position in range(1, self.pieces.shape[1]):
            active = np.flatnonzero(alive & (self.branch < position) & (self.lengths > position))
            if not len(active):
                self.state = None
                continue
            vectors = self._step(active, position)
            node = torch.from_numpy(self.node[active]).to(vectors.device)
            pieces = torch.from_numpy(self.pieces[active, position]).to(vectors.device)
            logit = self.model.piece_logits(vectors[node], pieces)
            hidden.append(vectors)
            logits.append(logit)
            of_rewrite.append(active)
            of_node.append(self.node[active] + nodes)
            nodes += len(vectors)
            if floors is not None:
                partial = functional.linear(vectors, *likely).logsumexp(1)
                bounds[active] += (logit - partial[node]).clamp(max=0).double().cpu().numpy()
                alive[active] = bounds[active] >= floors[active] - _SLACK
        totals = np.where(alive, totals, -np.inf)
        if hidden:
            entries = np.concatenate(of_rewrite)
            alive_entries = np.flatnonzero(alive[entries])
            needed, which = np.unique(np.concatenate(of_node)[alive_entries], return_inverse=True)
            index = torch.from_numpy(needed).to(self.model.device)
            normalizers = self.model.log_normalizers(torch.cat(hidden)[index])
            chosen = torch.from_numpy(alive_entries).to(index)
            scores = torch.cat(logits)[chosen] - normalizers[torch.from_numpy(which).to(index)]
            np.add.at(totals, entries[alive_entries], scores.double().cpu().numpy())
        if floors is not None:
            totals[totals < floors] = -np.inf
        return totals

    def _step(self, active: NDArray[np.int64], position: int) -> Tensor:
        """Hidden vectors of the distinct prefixes of this level; notes the node of each rewrite."""
        before = 0 if self.state is None else len(self.state)
        fresh = self.branch[active] == position - 1
        parents = np.where(fresh, before + self.places[active], self.node[active])
        # Two rewrites are at the same node if they come from the same one by the same piece.
        pairs = np.stack([parents, self.pieces[active, position - 1]], 1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        self.node[active] = which.reshape(-1)
        device = self.model.device
        from_tree = torch.from_numpy(distinct[distinct[:, 0] < before, 0]).to(device)
        from_original = torch.from_numpy(distinct[distinct[:, 0] >= before, 0] - before).to(device)
        parts = []
        if self.state is not None and len(from_tree):
            parts.append(self.state.select(from_tree))
        if len(from_original):
            parts.append(self.originals.states[position - 1].select(from_original))
        state = parts[0] if len(parts) == 1 else DecoderState.join(parts)
        last = torch.from_numpy(distinct[:, 1]).to(device)
        hidden, self.state = self.model.advance(self.originals.memory, state, last)
        return hidden
