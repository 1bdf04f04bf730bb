"""A model that is a Python function, an object with a method ``predict``, or an estimator.

A function sees a list of texts where the rows have one column, and a list of dictionaries (column →
text) where they have several. So does an estimator of scikit-learn, unless it was fitted on a data
frame: then it gets one. Only the module that the user named is imported, and only the file that the
user named, which joblib or pickle wrote, is unpickled: reading a pickle runs code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from sears_dsl.answers import Comparison
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.objects import load_object, object_name
from sears_dsl.models.predictor import Answer, AnsweringPredictor, Row, ask_answers
from sears_dsl.runtime.extras import need_estimators


class CallablePredictor(AnsweringPredictor):
    """A batched function as a predictor, or an object with such a method ``predict``.

    It takes a list of texts (of dictionaries, where rows have several columns) and gives a label
    for each, or a pair of a label and a confidence between 0.0 and 1.0. Its name is enough of an
    identity as long as predictions are not kept on disk.
    """

    def __init__(
        self, model: object, *, identity: str | None = None, comparison: Comparison = "exact"
    ) -> None:
        self._function = _function(model)
        self._comparison = comparison
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


def _function(model: object) -> Callable[[Any], object]:
    method = getattr(model, "predict", None)
    if isinstance(model, type):
        raise UsageError(
            f"{model.__name__} is a class, not a model",
            help=f"give an instance of it: {model.__name__}(…)",
        )
    if callable(method):
        return method  # type: ignore[no-any-return]
    if callable(model):
        return model
    raise UsageError(
        f"an object of type {type(model).__name__} is not a model: it is not callable and has no "
        "method predict",
        help="pass a function that takes a list of texts and returns a list of labels, or an "
        "object with such a method `predict`",
    )


class EstimatorPredictor(AnsweringPredictor):
    """A fitted estimator, most often a pipeline that begins with a vectorizer."""

    def __init__(
        self, estimator: Any, *, identity: str | None = None, comparison: Comparison = "exact"
    ) -> None:
        kind = type(estimator)
        if not callable(getattr(estimator, "predict", None)):
            raise UsageError(
                f"an object of type {kind.__name__} is not an estimator: it has no method predict",
                help="save the whole pipeline, with vectorizer and classifier",
            )
        self._estimator = estimator
        self._comparison = comparison
        self._identity = identity or f"{kind.__module__}:{kind.__qualname__}"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        """The estimator's labels."""
        answers = ask_answers(
            self._identity,
            rows,
            lambda: self._estimator.predict(self._inputs(rows)),
            comparison=self._comparison,
            advice="give the whole fitted pipeline, from text to label; if it reads other columns, "
            "name them with --also",
        )
        return [answer.label for answer in answers]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels, each with its probability where the estimator has ``predict_proba``."""
        labels = self.predict(rows)
        # Some estimators have the method only under some settings; scikit-learn hides it then.
        if self._comparison != "exact" or not hasattr(self._estimator, "predict_proba"):
            return [Answer(label) for label in labels]
        return ask_answers(self._identity, rows, lambda: self._with_probabilities(rows, labels))

    def _with_probabilities(
        self, rows: Sequence[Row], labels: Sequence[str]
    ) -> list[tuple[str, float]]:
        """Each predicted label, which need not be the most probable one, with its probability."""
        probabilities = self._estimator.predict_proba(self._inputs(rows))
        place = {str(each): at for at, each in enumerate(self._estimator.classes_.tolist())}
        return [
            (label, min(1.0, max(0.0, float(of_row[place[label]]))))
            for label, of_row in zip(labels, probabilities, strict=True)
        ]

    def _inputs(self, rows: Sequence[Row]) -> Any:
        # Set by estimators that were fitted on a data frame, which look columns up by name.
        if getattr(self._estimator, "feature_names_in_", None) is None:
            return inputs_of(rows)
        from pandas import DataFrame  # noqa: PLC0415 - only those who fitted on a frame need it

        return DataFrame([dict(row) for row in rows])


def load_estimator(path: Path, *, comparison: Comparison = "exact") -> EstimatorPredictor:
    """The estimator in a file; naming the file is the permission to unpickle it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the model {path} cannot be read: {error.strerror}",
            help="`sklearn:` takes a file that joblib.dump or pickle.dump wrote",
        ) from error
    need_estimators()
    import joblib  # noqa: PLC0415 - a dependency of those models alone

    try:
        estimator = joblib.load(path)
    # Unpickling runs code, which may raise anything.
    except Exception as error:
        raise ModelError(
            f"{path} could not be unpickled: {type(error).__name__}: {error}",
            help="check that it is a joblib or pickle file, and that what it needs is installed in "
            "the same versions",
        ) from error
    return EstimatorPredictor(
        estimator,
        identity=f"sklearn:{path} ({sha256(content).hexdigest()[:12]})",
        comparison=comparison,
    )
