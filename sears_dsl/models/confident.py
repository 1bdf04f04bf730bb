"""Models that also say how sure they are.

In: rows. Out: `Answer`s, a label with a confidence between 0 and 1, or with None where the model
gave none. Always holds: a confidence is what the model itself gave, never a guess, and "not given"
is None and never 0; the label is the one that `predict` gives. Costs what the model costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from sears_dsl.models.predictor import Predictor, Row


class Answer(NamedTuple):
    """What a model says of a row: its label, and how sure it is of it, from 0 to 1, or None."""

    label: str
    confidence: float | None = None


@runtime_checkable
class ConfidentPredictor(Predictor, Protocol):
    """A predictor that may give a confidence with each label."""

    def predict_with_confidence(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """One answer for each row, in order; its confidence is None where the model gives none.

        Raises:
            ModelError: the model failed, or gave something else than an answer for each row.
        """


def answers_to(predictor: Predictor, rows: Sequence[Row]) -> list[Answer]:
    """What a model says of rows, with confidences where it can give them.

    Raises:
        ModelError: the model failed.

    Example:
        >>> from sears_dsl.models.function import CallablePredictor
        >>> sure = CallablePredictor(lambda texts: [("positive", 0.75) for _ in texts])
        >>> answers_to(sure, [{"text": "Good."}])
        [Answer(label='positive', confidence=0.75)]
        >>> plain = CallablePredictor(lambda texts: ["positive" for _ in texts])
        >>> answers_to(plain, [{"text": "Good."}])
        [Answer(label='positive', confidence=None)]
    """
    if isinstance(predictor, ConfidentPredictor):
        return list(predictor.predict_with_confidence(rows))
    return [Answer(label) for label in predictor.predict(rows)]
