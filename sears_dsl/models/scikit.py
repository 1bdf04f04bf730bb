"""A scikit-learn estimator in a file, written by joblib or pickle.

Only the file that the user named is unpickled, since reading a pickle runs code. An estimator that
was fitted on a data frame gets one; any other gets what a function gets (texts, or dictionaries
where rows have several columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import Any

from sears_dsl.answers import Comparison, label_text
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.function import inputs_of
from sears_dsl.models.predictor import Answer, AnsweringPredictor, Row, ask_answers
from sears_dsl.runtime.extras import need_estimators


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
    ) -> list[tuple[str, float] | str]:
        """Each predicted label, which need not be the most probable one, with its probability.

        One without a number as its probability stands alone.
        """
        probabilities = self._estimator.predict_proba(self._inputs(rows))
        classes = self._estimator.classes_.tolist()
        place = {label_text(each): at for at, each in enumerate(classes)}
        sure = [
            float(of_row[place[label]]) for label, of_row in zip(labels, probabilities, strict=True)
        ]
        return [
            label if isnan(each) else (label, min(1.0, max(0.0, each)))
            for label, each in zip(labels, sure, strict=True)
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
