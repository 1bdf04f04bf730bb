"""Question answering by a network that points at the answer's first and last token.

In: rows with the columns ``question`` and ``context``. Out: a span of each context, as it stands
there, and how sure the network is of it. Always holds: contexts that are too long are read in
overlapping windows and the best span of all is taken; the answer is never empty where the context
has a word; the confidence is `certainty.from_distributions` over the tokens of the whole context,
a token that two windows have by the one that thinks more of it. Costs one pass of the network over
each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sears_dsl.errors import ModelError
from sears_dsl.models.certainty import from_distributions
from sears_dsl.models.labels import ask_answers
from sears_dsl.models.predictor import Answer, Row

_COLUMNS = ("question", "context")
_LONGEST_ANSWER = 30  # tokens
_WINDOW = 384  # tokens of question and context together
_OVERLAP = 128
_WINDOWS_A_PASS = 32


class ExtractionPredictor:
    """An extractive question answering model of transformers.

    Args:
        model: an ``AutoModelForQuestionAnswering``, ready to be used.
        tokenizer: its tokenizer, one of the fast ones.
        identity: how to know the model again.
    """

    def __init__(self, model: Any, tokenizer: Any, *, identity: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._identity = identity

    @property
    def identity(self) -> str:
        """As given."""
        return self._identity

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The most probable answer to each row's question in its context.

        Raises:
            ModelError: the network failed, or a row has other columns.
        """
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The most probable answers, each with its confidence; None for a context without a token.

        Raises:
            ModelError: the network failed, or a row has other columns.
        """
        for row in rows:
            if not set(_COLUMNS) <= set(row):
                raise ModelError(
                    f"{self._identity} answers questions and needs the columns question and "
                    f"context; the rows have {', '.join(row)}",
                    help="name both columns, renamed if need be",
                )
        return ask_answers(self._identity, rows, lambda: self._answers(rows)) if rows else []

    def _answers(self, rows: Sequence[Row]) -> list[tuple[str, float] | str]:
        longest = min(_WINDOW, self._tokenizer.model_max_length)
        windows = self._tokenizer(
            [row["question"] for row in rows],
            [row["context"] for row in rows],
            truncation="only_second",
            max_length=longest,
            stride=min(_OVERLAP, longest // 3),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        row_of = windows.pop("overflow_to_sample_mapping").tolist()
        offsets = windows.pop("offset_mapping")
        in_context = torch.tensor(
            [[part == 1 for part in windows.sequence_ids(at)] for at in range(len(row_of))]
        )
        best = [(float("-inf"), "")] * len(rows)
        # Of each row: where a token begins in the context → what it scores as first and as last.
        scores: list[dict[int, tuple[float, float]]] = [{} for _ in rows]
        for first in range(0, len(row_of), _WINDOWS_A_PASS):
            some = slice(first, first + _WINDOWS_A_PASS)
            inputs = {name: values[some].to(self._model.device) for name, values in windows.items()}
            with torch.inference_mode():
                outputs = self._model(**inputs)
            starts, ends = outputs.start_logits.cpu(), outputs.end_logits.cpu()
            for at, (start, end) in enumerate(zip(starts, ends, strict=True), first):
                score, low, high = _best_span(start, end, in_context[at])
                row = row_of[at]
                if score > best[row][0]:
                    span = slice(int(offsets[at][low][0]), int(offsets[at][high][1]))
                    best[row] = score, rows[row]["context"][span]
                _keep_best(scores[row], offsets[at], in_context[at], start, end)
        return [
            (answer, _confidence(of_row)) if of_row else answer
            for (_, answer), of_row in zip(best, scores, strict=True)
        ]


def _keep_best(
    scores: dict[int, tuple[float, float]],
    offsets: torch.Tensor,
    in_context: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
) -> None:
    """Add a window's tokens to those of its row; of a token that is there already the best."""
    places = offsets[in_context, 0].tolist()
    for place, start, end in zip(
        places, starts[in_context].tolist(), ends[in_context].tolist(), strict=True
    ):
        before = scores.get(place, (start, end))
        scores[place] = max(start, before[0]), max(end, before[1])


def _confidence(scores: dict[int, tuple[float, float]]) -> float:
    chances = torch.tensor(list(scores.values()), dtype=torch.float64).softmax(0)
    return from_distributions(chances[:, 0].numpy(), chances[:, 1].numpy())


def _best_span(
    starts: torch.Tensor, ends: torch.Tensor, allowed: torch.Tensor
) -> tuple[float, int, int]:
    """Score, first and last token of the best span within the context."""
    tokens = len(starts)
    # (first token, last token): a last one before the first, or too far behind, is no answer.
    possible = torch.ones(tokens, tokens, dtype=torch.bool).triu().tril(_LONGEST_ANSWER - 1)
    possible &= allowed[:, None] & allowed[None, :]
    scores = (starts[:, None] + ends[None, :]).masked_fill(~possible, float("-inf"))
    place = int(scores.argmax())
    return float(scores.flatten()[place]), place // tokens, place % tokens
