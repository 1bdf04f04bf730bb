"""Question answering by a network that points at the answer's first and last token.

In: rows with the columns ``question`` and ``context``. Out: a span of each context, as it stands
there. Always holds: contexts that are too long are read in overlapping windows and the best
span of all is taken; the answer is never empty where the context has a word. Costs one pass of
the network over each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sears_dsl.errors import ModelError
from sears_dsl.models.labels import ask
from sears_dsl.models.predictor import Row

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
        for row in rows:
            if not set(_COLUMNS) <= set(row):
                raise ModelError(
                    f"{self._identity} answers questions and needs the columns question and "
                    f"context; the rows have {', '.join(row)}",
                    help="name both columns, renamed if need be",
                )
        return ask(self._identity, rows, lambda: self._answers(rows)) if rows else []

    def _answers(self, rows: Sequence[Row]) -> list[str]:
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
        for first in range(0, len(row_of), _WINDOWS_A_PASS):
            some = slice(first, first + _WINDOWS_A_PASS)
            inputs = {name: values[some].to(self._model.device) for name, values in windows.items()}
            with torch.inference_mode():
                given = self._model(**inputs)
            starts, ends = given.start_logits.cpu(), given.end_logits.cpu()
            for at, (start, end) in enumerate(zip(starts, ends, strict=True), first):
                score, low, high = _best_span(start, end, in_context[at])
                row = row_of[at]
                if score > best[row][0]:
                    span = slice(int(offsets[at][low][0]), int(offsets[at][high][1]))
                    best[row] = score, rows[row]["context"][span]
        return [answer for _, answer in best]


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
