"""A model that is a Python function, or an object with a method ``predict``.

A function sees a list of texts where the rows have one column, and a list of dictionaries (column →
text) where they have several. Only the module that the user named is imported.
"""

from __future__ import annotations

from collections.abc import Sequence

from sears_dsl.answers import Comparison
from sears_dsl.errors import UsageError
from sears_dsl.models.objects import function_of, load_object, object_name
from sears_dsl.models.predictor import Answer, AnsweringPredictor, Row, ask_answers


class CallablePredictor(AnsweringPredictor):
    """A batched function as a predictor, or an object with such a method ``predict``.

    It takes a list of texts (of dictionaries, where rows have several columns) and gives a label
    for each, or a pair of a label and a confidence between 0.0 and 1.0. Its name is enough of an
    identity as long as predictions are not kept on disk.
    """

    def __init__(
        self, model: object, *, identity: str | None = None, comparison: Comparison = "exact"
    ) -> None:
        takes = "a list of texts and returns a list of labels"
        self._function = function_of(model, "predict", kind="model", takes=takes)
        self._comparison = comparison
        self.has_identity = identity is not None
        self._identity = identity or object_name(model)

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels with their confidences, where the function gives pairs."""
        # Messages show the name without the hash of the code, which follows it in brackets.
        return ask_answers(
            self._identity.partition(" (")[0],
            rows,
            lambda: self._function(inputs_of(rows)),
            comparison=self._comparison,
        )


def inputs_of(rows: Sequence[Row]) -> list[str] | list[dict[str, str]]:
    """Rows as a function gets them: texts where each has one column, else dictionaries."""
    if all(len(row) == 1 for row in rows):
        return [text for row in rows for text in row.values()]
    return [dict(row) for row in rows]


def load_callable(spec: str, *, comparison: Comparison = "exact") -> CallablePredictor:
    """The predictor of ``module:object``, where the object may be dotted."""
    model, identity = load_object(spec, kind="model")
    try:
        return CallablePredictor(model, identity=identity, comparison=comparison)
    except UsageError as error:
        raise UsageError(f"{spec}: {error.message}", help=error.help) from None
