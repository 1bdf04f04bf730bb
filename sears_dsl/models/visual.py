"""Questions about pictures, answered by a network that chooses from its own answers.

In: rows with the columns ``question`` and ``image`` (a path), and ``choices`` where an answer is to
be one of some. Out: the likeliest answer of the network, of the choices where there are any, with
its probability. Always holds: pictures are decoded here and sent nowhere. Costs what the network
costs, a batch of 16 at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sears_dsl.errors import ModelError
from sears_dsl.models.labels import ask_answers
from sears_dsl.models.predictor import Answer, Row
from sears_dsl.pictures import BETWEEN_CHOICES, decoded_picture

_BATCH_SIZE = 16
_NEEDED = ("question", "image")


class VisualPredictor:
    """A network such as ViLT, whose answers are classes.

    Args:
        model: of transformers, ``ViltForQuestionAnswering``.
        processor: makes numbers of pictures and questions.
        identity: how to know the model again.
    """

    def __init__(self, model: Any, processor: Any, *, identity: str) -> None:
        self._model = model
        self._processor = processor
        self._identity = identity
        names = model.config.id2label
        self._answers = [str(names[number]) for number in range(len(names))]

    @property
    def identity(self) -> str:
        """As given."""
        return self._identity

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The likeliest answer to each row."""
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The likeliest answer to each row, with its probability."""
        if not rows:
            return []
        missing = [name for name in _NEEDED if name not in rows[0]]
        if missing:
            raise ModelError(
                f"{self._identity} needs the column {missing[0]}, and the rows have "
                f"{', '.join(rows[0])}",
                help="name the columns so: --column question --image image",
            )
        return ask_answers(self._identity, rows, lambda: self._answered(rows))

    def _answered(self, rows: Sequence[Row]) -> list[tuple[str, float]]:
        answers: list[tuple[str, float]] = []
        for start in range(0, len(rows), _BATCH_SIZE):
            part = rows[start : start + _BATCH_SIZE]
            inputs = self._processor(
                [decoded_picture(row["image"]) for row in part],
                [row["question"] for row in part],
                return_tensors="pt",
                padding=True,
                truncation=True,
            ).to(self._model.device)
            with torch.no_grad():
                scores = self._model(**inputs).logits.sigmoid().cpu()
            answers += [self._best(row, own) for row, own in zip(part, scores, strict=True)]
        return answers

    def _best(self, row: Row, scores: torch.Tensor) -> tuple[str, float]:
        choices = set(row.get("choices", "").split(BETWEEN_CHOICES)) - {""}
        among = [
            place for place, answer in enumerate(self._answers) if not choices or answer in choices
        ]
        if not among:
            raise ModelError(
                f"{self._identity} knows none of the answers {', '.join(sorted(choices))}",
                help="leave out --choices: it then answers from all that it knows",
            )
        best = max(among, key=lambda place: float(scores[place]))
        return self._answers[best], float(scores[best])
