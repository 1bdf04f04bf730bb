"""What a model under test is to the rest of the package.

Rows are mappings from column to text. Always holds: nothing here knows what kind of model it is; a
row's key depends on its columns and their texts, never on their order; a confidence is what the
model itself gave, never a guess, and "not given" is None and never 0.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from sears_dsl.errors import ModelError

#: Column → text, what a model is asked about.
Row: TypeAlias = Mapping[str, str]

#: What becomes of a run when a model refuses a text.
OnError = Literal["stop", "skip"]

#: Stands for the answer to a text that the model refused and that is skipped; no label equals it.
REFUSED = "(refused by the model)"
_CONTENT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Answer(NamedTuple):
    """What a model says of a row: its label, and how sure it is of it, from 0 to 1, or None."""

    label: str
    confidence: float | None = None


@runtime_checkable
class Predictor(Protocol):
    """A model that gives one label, or one answer, for each row.

    It may have more: ``batch_size``, the rows that it wants in a call, None for all of them at
    once; ``connections``, how many threads may ask at the same time; ``remarks``, what was out of
    the ordinary so far, a sentence each.
    """

    @property
    def identity(self) -> str:
        """What was asked, enough to know the same model again: for manifests and cache keys."""

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """One label or answer for each row, in order.

        Raises:
            ModelError: the model failed, or gave something else than a label for each row.
        """


class RowsRefused(ModelError):  # noqa: N818 - others of its rows may be answered
    """A model will not answer some of the rows it was given, and would not when asked again."""


@runtime_checkable
class ConfidentPredictor(Predictor, Protocol):
    """A predictor that may give a confidence with each label."""

    def predict_with_confidence(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """One answer for each row, in order; its confidence is None where the model gives none.

        Raises:
            ModelError: the model failed, or gave something else than an answer for each row.
        """


class AnsweringPredictor(ABC):
    """Base of models that give answers; their labels are those of the answers."""

    _identity: str

    @property
    def identity(self) -> str:
        """As given, or the model's name."""
        return self._identity

    @abstractmethod
    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """One answer for each row, in order."""

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The labels of the answers."""
        return [answer.label for answer in self.predict_with_confidence(rows)]


@runtime_checkable
class PricedPredictor(Predictor, Protocol):
    """A predictor each of whose answers costs money."""

    def forecast(self, rows: Sequence[Row]) -> str:
        """What it will cost to ask about rows, in words."""


def answers_to(predictor: Predictor, rows: Sequence[Row]) -> list[Answer]:
    """What a model says of rows, with confidences where it can give them."""
    if isinstance(predictor, ConfidentPredictor):
        return list(predictor.predict_with_confidence(rows))
    return [Answer(label) for label in predictor.predict(rows)]


def row_key(row: Row) -> str:
    """A name for the content of a row: 32 hex digits, the same on every machine."""
    content = _CONTENT.encode(dict(row))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
