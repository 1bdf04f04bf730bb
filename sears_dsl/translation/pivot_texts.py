"""From sentences to the pivot texts that their paraphrases are read from.

In: sentences, pivots. Out: for each pivot and sentence a translation, and how likely the pivot's
back model finds the sentence given it. Of the likeliest few outputs of the forward model the one
is taken that gives the sentence back best. Holds: the choice depends on the sentence alone, up to
the rounding of float32.
Costs: a beam search of a few prefixes, and scoring the sentence once for each output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from sears_dsl.translation.beam_search import FREE, DecoderInput, beam_search
from sears_dsl.translation.network import TranslationModel


class PivotModels(Protocol):
    """A pivot language: a model into it and a model back."""

    @property
    def forward(self) -> TranslationModel:
        """From the sentences' language."""

    @property
    def back(self) -> TranslationModel:
        """Into the sentences' language."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A sentence in the pivot language.

    Attributes:
        text: the translation.
        back: log-probability of the sentence given the translation.
    """

    text: str
    back: float


def translations(
    pivot: PivotModels, sentences: Sequence[str], *, candidates: int = 5
) -> list[Translation]:
    """The best translation of each sentence, all in one batch.

    Args:
        pivot: the models there and back.
        sentences: texts of like length, best; empty ones are translated to nothing.
        candidates: outputs of the forward model that are tried on the back model.
    """
    if not sentences:
        return []
    forward, back = pivot.forward, pivot.back
    outputs = beam_search(
        [DecoderInput(forward, forward.encode(sentences), torch.arange(len(sentences)))],
        [FREE] * len(sentences),
        beam=candidates,
        floors=[float("-inf")] * len(sentences),
        lengths=[2 * len(forward.source_pieces(sentence)) + 10 for sentence in sentences],
        limit=candidates,
    )
    tried: list[tuple[int, str]] = []
    for row, hypotheses in enumerate(outputs):
        texts = dict.fromkeys(forward.text(item.pieces) for item in hypotheses)
        tried.extend((row, text) for text in texts or [""])
    scores = back.score(
        back.encode([text for _, text in tried]),
        torch.arange(len(tried), device=back.device),
        [back.target_pieces(sentences[row]) for row, _ in tried],
    )
    best: dict[int, Translation] = {}
    for (row, text), score in zip(tried, scores, strict=True):
        total = float(score.double().sum())
        # A near tie goes to the likelier output, so that rounding does not choose.
        if row not in best or total > best[row].back + 1e-4:
            best[row] = Translation(text, total)
    return [best[row] for row in range(len(sentences))]
