"""What a model under test is to the rest of the package, and how labels are made of what it gives.

Rows are mappings from column to text. Always holds: nothing here knows what kind of model it is. A
row's key depends on its columns and their texts, never on their order. A confidence is what the
model itself gave, never a guess; "not given" is None, never 0. A label is a string, a whole number
(1.0 is the same as 1) or a truth value of Python, NumPy or torch, written with ``str``. A pair of a
label and a fraction from 0.0 to 1.0 is a label with its confidence, None where it is not given.
Anything else is an error that says where, never a guess. A row takes a microsecond.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from math import isfinite
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from sears_dsl.answers import COMPARISON_FORMS, Comparison, answer_text
from sears_dsl.errors import ModelError, UsageError, counted, shortened
from sears_dsl.models.objects import foreign_code, python_values

#: Column → text, what a model is asked about.
Row: TypeAlias = Mapping[str, str]

#: What becomes of a run when a model refuses a text.
OnError = Literal["stop", "skip"]

#: What to do where a model has other names for the labels of its data.
WRITE_ALIKE = (
    "Then make them the same: in the data, in a function around the model, with names in the "
    "--response-map of an endpoint, or with id2label in the config.json of a transformers folder"
)
_CONTENT = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Answer(NamedTuple):
    """What a model says of a row: its label, and how sure it is of it, from 0 to 1, or None."""

    label: str
    confidence: float | None = None


@runtime_checkable
class Predictor(Protocol):
    """A model that gives one label, or one answer, for each row.

    It may also have ``batch_size``, the rows that it wants in a call, None for all of them at once;
    ``connections``, how many threads may ask at the same time; ``remarks``, what was out of the
    ordinary so far, a sentence each; and ``predict_with_confidence``, which gives an `Answer` for
    each row, with None as the confidence where the model gives none.
    """

    @property
    def identity(self) -> str:
        """A name by which the same model is known again, for manifests and cache keys."""

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """One label or answer for each row, in order; a `ModelError` where it cannot."""


class RowsRefused(ModelError):  # noqa: N818 - others of its rows may be answered
    """A model will not answer some of the rows it was given, and would not when asked again."""


class AnsweringPredictor(ABC):
    """Base of models that give answers; their labels are those of the answers."""

    _identity: str
    #: Whether its identity distinguishes it from other models of the same name.
    has_identity = True

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


def row_key(row: Row) -> str:
    """A name for the content of a row: 32 hex digits, the same on every machine."""
    if not isinstance(row, Mapping):
        raise UsageError(
            f"{row!r:.60} is not a row, which has a text for each column",
            help="ask about rows: predict([{'text': 'A film.'}])",
        )
    content = _CONTENT.encode(dict(row))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_SHOWN = 80
# Advice where a model raises: most often it was written for a single text.
_ADVICE = (
    "call it on a list of just that text, or of dictionaries if --also or --image names another "
    "column; if it takes a single text, write lambda texts: [f(text) for text in texts]"
)


def ask_answers(
    model: str, rows: Sequence[Row], call: Callable[[], object], *,
    comparison: Comparison = "exact", advice: str = _ADVICE,
) -> list[Answer]:  # fmt: skip
    """Call a model about rows, if any, and check what it gives: labels, or pairs."""
    if not rows:
        return []
    with foreign_code(model, help=advice, about=f"\n  {_batch(rows)}", passing=ModelError):
        # Generators run the model while they are read, so they are read here.
        answered = call()
        predictions = python_values(answered)
    is_table = getattr(answered, "ndim", 1) > 1
    if comparison == "set" and is_table and not _holds_names(predictions):
        raise ModelError(
            f"{model} returned a table of numbers, not a list of labels for each text",
            help="return the names of the labels that are 1, as binarizer.inverse_transform(…) of "
            "a MultiLabelBinarizer does",
        )
    return answers_of(model, rows, predictions, comparison=comparison)


def answers_of(
    model: str, rows: Sequence[Row], predictions: object, *, comparison: Comparison = "exact"
) -> list[Answer]:
    """The answers to rows, checked, from what a model gave for them: labels or pairs."""
    values = python_values(predictions)
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise ModelError(
            f"{model} returned {_kind(values)} for {counted(len(rows), 'row')}, not a label list",
            help="return one label for each text, in order",
        )
    if len(values) != len(rows):
        asked = counted(len(rows), "prediction")
        raise ModelError(
            f"{model} was asked for {asked} and returned {len(values):,}\n  {_batch(rows)}",
            help="return one label for each text, in order, also for empty texts",
        )
    return [_answer(model, row, value, comparison) for row, value in zip(rows, values, strict=True)]


def excerpt(row: Row) -> str:
    """The text of a row for a message: its first column, shortened and quoted."""
    return quoted(next(iter(row.values()), ""))


def quoted(text: str, *, most: int = _SHOWN) -> str:
    """A text for a message, shortened and quoted."""
    return repr(shortened(text, most + 1))


def _answer(model: str, row: Row, value: Any, comparison: Comparison) -> Answer:
    answer = _answer_of(model, row, value, comparison)
    try:
        answer.label.encode()
    except UnicodeEncodeError as error:
        raise ModelError(
            f"{model} returned half a character in {answer.label!a:.81} as the label of "
            f"{excerpt(row)}",
            help="return whole characters: no file can hold half of one, as in '\\ud83d'",
        ) from error
    return answer


def _answer_of(model: str, row: Row, value: Any, comparison: Comparison) -> Answer:
    """A label, or a pair of a label and a fraction; two fractions are probabilities and no pair."""
    if isinstance(value, list | tuple) and len(value) == 2:
        raw_label, confidence = map(_plain, value)
        label = answer_text(raw_label, comparison)
        probabilities = isinstance(raw_label, float) and not comparison.startswith("within:")
        is_pair = _may_stand_beside(raw_label, confidence, comparison) and not probabilities
        if label is not None and is_pair:
            return Answer(label, checked_confidence(model, row, confidence))
    return Answer(_label(model, row, value, comparison))


def _may_stand_beside(raw_label: Any, confidence: Any, comparison: Comparison) -> bool:
    """Whether the second of two values is meant as a confidence, and not as another label."""
    if isinstance(confidence, float):
        return True
    if comparison in ("set", "entities"):
        return confidence is None and isinstance(raw_label, list)
    # Beside a text, 1 is 1.0; two whole numbers may be probabilities.
    return confidence is None or (isinstance(confidence, int) and isinstance(raw_label, str))


def checked_confidence(model: str, row: Row, value: Any) -> float | None:
    """A confidence that a model gave for a row, None where it gave none; else an error."""
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and 0 <= value <= 1:
        return float(value)
    raise ModelError(
        f"{model} returned {shortened(repr(value), _SHOWN + 1)} as its confidence for "
        f"{excerpt(row)}",
        help="a confidence is a number from 0.0 to 1.0, or None where there is none",
    )


def _plain(value: Any) -> Any:
    """A value with scalars of NumPy and torch as those of Python, also in lists and mappings."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    item = getattr(value, "item", None)
    return item() if callable(item) and getattr(value, "shape", None) == () else value


def _label(model: str, row: Row, value: Any, comparison: Comparison) -> str:
    plain = _plain(value)
    label = answer_text(plain, comparison)
    if label is not None:
        return label
    kind = comparison.partition(":")[0]
    if kind in COMPARISON_FORMS:
        advice = COMPARISON_FORMS[kind].replace("write", "return")
    elif plain is None:
        advice = "return a label for every text; for an empty answer, the empty string"
    elif isinstance(plain, float) and not isfinite(plain):
        advice = "return a label for every text; this stands for a missing number"
    elif isinstance(plain, float):
        advice = (
            "numbers with a fraction are not labels: return the most probable label, whole numbers "
            "as int, or compare numbers with --compare within:0.5"
        )
    elif isinstance(plain, Mapping):
        advice = (
            "return the label itself: for an endpoint, say where it is with --response-map "
            "/predictions/*/label; in a function, return [each['label'] for each in …]"
        )
    elif isinstance(plain, Sequence) and not isinstance(plain, bytes):
        advice = (
            "return the label itself: of probabilities, the name of the most probable one; for "
            "several labels per text, use --compare set; a confidence beside a label is a number"
        )
    else:
        advice = "return strings, whole numbers or booleans"
    raise ModelError(
        f"{model} returned {shortened(repr(plain), _SHOWN + 1)} ({type(plain).__name__}) as the "
        f"label of {excerpt(row)}",
        help=advice,
    )


def _holds_names(table: object) -> bool:
    rows = table if isinstance(table, list) else []
    return any(isinstance(each, str) for row in rows if isinstance(row, list) for each in row)


def _batch(rows: Sequence[Row]) -> str:
    return f"the batch has {counted(len(rows), 'row')} and begins with {excerpt(rows[0])}"


def _kind(value: object) -> str:
    if isinstance(value, str):
        return f"one string, {value[:_SHOWN]!r},"
    return "nothing (None)" if value is None else f"a value of type {type(value).__name__}"
