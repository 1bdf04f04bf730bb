"""What a model under test is to the rest of the package, and when two answers are the same.

In: rows, each a mapping from column to text. Out: one label or answer a row, a string, or an
`Answer`, which also says how sure the model is. Always holds: nothing here knows what kind of model
it is; a row's key depends on its columns and their texts, never on their order; a confidence is
what the model itself gave, never a guess, and "not given" is None and never 0. Costs a microsecond
or two a row.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from sears_dsl.errors import ModelError

#: Column → text, what a model is asked about.
Row: TypeAlias = Mapping[str, str]

#: How a prediction is compared with the gold: labels exactly, answers as SQuAD does.
Comparison = Literal["exact", "squad"]

#: What becomes of a run when a model refuses a text.
OnError = Literal["stop", "skip"]

#: Stands for the answer to a text that the model refused and that is skipped; no label equals it.
REFUSED = "(refused by the model)"

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Answer(NamedTuple):
    """What a model says of a row: its label, and how sure it is of it, from 0 to 1, or None."""

    label: str
    confidence: float | None = None


@runtime_checkable
class Predictor(Protocol):
    """A model that gives one label, or one answer, for each row."""

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
class BatchPredictor(Predictor, Protocol):
    """A predictor that says how many rows it wants in a call."""

    @property
    def batch_size(self) -> int | None:
        """Rows of a call; None for all of them at once."""


@runtime_checkable
class ConfidentPredictor(Predictor, Protocol):
    """A predictor that may give a confidence with each label."""

    def predict_with_confidence(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """One answer for each row, in order; its confidence is None where the model gives none.

        Raises:
            ModelError: the model failed, or gave something else than an answer for each row.
        """


@runtime_checkable
class ConcurrentPredictor(Predictor, Protocol):
    """A predictor that can be asked by several threads at once."""

    @property
    def connections(self) -> int:
        """How many calls at the same time."""


@runtime_checkable
class RemarkingPredictor(Predictor, Protocol):
    """A predictor that tells what was out of the ordinary."""

    @property
    def remarks(self) -> Sequence[str]:
        """What was out of the ordinary so far, a sentence each."""


@runtime_checkable
class PricedPredictor(Predictor, Protocol):
    """A predictor each of whose answers costs money."""

    def forecast(self, rows: Sequence[Row]) -> str:
        """What it will cost to ask about rows, in words."""


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


def row_key(row: Row) -> str:
    """A name for the content of a row: 32 hex digits, the same on every machine.

    Example:
        >>> row_key({"question": "Who?", "context": "He."})
        '697f6fb8e7c0e878c5031a44b791c950'
        >>> row_key({"context": "He.", "question": "Who?"})
        '697f6fb8e7c0e878c5031a44b791c950'
    """
    content = json.dumps(dict(row), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def normalized_answer(answer: str) -> str:
    """An answer as SQuAD's evaluation compares it.

    Lower case, without ASCII punctuation, without the articles, single spaces.

    Example:
        >>> normalized_answer("The  Denver Broncos!")
        'denver broncos'
    """
    bare = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def answers_equal(
    prediction: str, gold: str | Sequence[str], *, comparison: Comparison = "exact"
) -> bool:
    """Whether a prediction is the gold label, or one of the gold answers.

    Args:
        prediction: what a model gave.
        gold: the right label or answer, or several that are equally right.
        comparison: ``exact`` for labels; ``squad`` for answers of question answering.

    Example:
        >>> answers_equal("the cat.", ["A cat", "cats"], comparison="squad")
        True
        >>> answers_equal("the cat.", "cat")
        False
    """
    golds = (gold,) if isinstance(gold, str) else gold
    if comparison == "exact":
        return prediction in golds
    own = normalized_answer(prediction)
    return any(own == normalized_answer(answer) for answer in golds)


def answer_f1(prediction: str, gold: str | Sequence[str]) -> float:
    """How far the words of an answer are those of the best gold answer, from 0 to 1.

    The harmonic mean of precision and recall over normalized words, as in SQuAD's evaluation.

    Example:
        >>> round(answer_f1("the Denver team", ["Denver Broncos", "Broncos"]), 2)
        0.5
    """
    golds = (gold,) if isinstance(gold, str) else gold
    own = normalized_answer(prediction).split()
    return max((_overlap(own, normalized_answer(answer).split()) for answer in golds), default=0.0)


def _overlap(own: list[str], gold: list[str]) -> float:
    if not own or not gold:
        return float(own == gold)
    common = (Counter(own) & Counter(gold)).total()
    return 2 * common / (len(own) + len(gold))
