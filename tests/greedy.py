"""Plain translation and scoring, for tests of code that uses translations."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sears_dsl.translation.network import DecoderState, Memory, TranslationModel
from sears_dsl.translation.pivots import Pivot


@torch.no_grad()
def step(
    model: TranslationModel, memory: Memory, state: DecoderState, last: torch.Tensor | None
) -> tuple[torch.Tensor, DecoderState]:
    """Log-probabilities (N, V) of the next piece after those in ``last``, and the next state."""
    hidden, state = model.advance(memory, state, last)
    return model.logits(hidden).log_softmax(-1), state


@torch.no_grad()
def score(
    model: TranslationModel,
    memory: Memory,
    rows: torch.Tensor,
    targets: Sequence[Sequence[int]],
) -> list[torch.Tensor]:
    """Teacher-forced log-probabilities of each piece of N targets, a tensor (T,) each."""
    way = model.follow(memory, rows, targets)
    scores = torch.zeros(len(targets), len(way.hidden))
    for position, (hidden, pieces) in enumerate(zip(way.hidden, way.pieces, strict=True)):
        here = model.piece_logits(hidden, pieces) - model.log_normalizers(hidden)
        scores[way.order[: len(here)], position] = here
    return [row[: len(target)] for row, target in zip(scores, targets, strict=True)]


@torch.no_grad()
def greedy_translations(pivot: Pivot, sentences: Sequence[str]) -> list[str]:
    """Take the likeliest piece at every position: cheaper, plainer and a little worse.

    An output that does not end is cut at twice the source's pieces and ten.
    """
    model = pivot.forward
    memory = model.encode(sentences)
    limits = [2 * len(model.source_pieces(sentence)) + 10 for sentence in sentences]
    written: list[list[int]] = [[] for _ in sentences]
    alive = list(range(len(sentences)))
    state = model.start(memory, torch.arange(len(sentences), device=model.device))
    last = None
    while alive:
        scores, state = step(model, memory, state, last)
        best = scores.argmax(1).tolist()
        going = []
        for at, (row, piece) in enumerate(zip(alive, best, strict=True)):
            if piece == model.end:
                continue
            written[row].append(piece)
            if len(written[row]) < limits[row]:
                going.append(at)
        state = state.select(torch.tensor(going, dtype=torch.long, device=model.device))
        last = torch.tensor([best[at] for at in going], dtype=torch.long, device=model.device)
        alive = [alive[at] for at in going]
    return [model.text(pieces) for pieces in written]
