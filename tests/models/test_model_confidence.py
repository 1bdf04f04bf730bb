"""Confidence accompanies labels through every kind of model; it is never invented."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from chat_endpoint import Endpoint, Reply

from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.http.endpoint import HttpPredictor, RequestMap, ResponseMap, resolve_pointer
from sears_dsl.models.prediction_file import FilePredictor
from sears_dsl.models.predictor import Answer, Row, answers_of, row_key
from sears_dsl.models.scikit import EstimatorPredictor

ROWS: list[Row] = [{"text": "Good."}, {"text": "Bad."}]


def test_pairs_of_a_label_and_a_fraction_are_answers() -> None:
    given = [("pos", np.float32(0.5)), [0, 1.0]]
    assert answers_of("m", ROWS, given) == [Answer("pos", 0.5), Answer("0", 1.0)]
    given = [("pos", 1), ["neg", None]]
    assert answers_of("m", ROWS, given) == [Answer("pos", 1.0), Answer("neg", None)]
    assert answers_of("m", ROWS, [["pos", 1]] * 2, comparison="set")[0] == Answer("1|pos")
    assert answers_of("m", ROWS, [(["pos"], None)] * 2, comparison="set")[0] == Answer("pos")
    with pytest.raises(ModelError, match="as the label of"):
        answers_of("m", ROWS, [["pos", None]] * 2, comparison="set")


@pytest.mark.parametrize(
    "given",
    [[("pos", each)] * 2 for each in (1.5, -0.1, float("nan"), 7, True)],
)
def test_a_confidence_that_is_no_probability_is_refused(given: Any) -> None:
    with pytest.raises(ModelError, match=r"from 0\.0 to 1\.0"):
        answers_of("m", ROWS, given)


@pytest.mark.parametrize("given", [[("pos", "0.9")] * 2, [(0.1, 0.9)] * 2, [(0, 1)] * 2])
def test_other_pairs_are_no_answers(given: Any) -> None:
    with pytest.raises(ModelError, match="as the label of"):
        answers_of("m", ROWS, given)


def test_a_function_may_give_some_confidences_and_some_not() -> None:
    model = CallablePredictor(
        lambda texts: [("pos", 0.75) if "G" in text else "neg" for text in texts]
    )
    assert model.predict_with_confidence(ROWS) == [Answer("pos", 0.75), Answer("neg", None)]
    assert model.predict(ROWS) == ["pos", "neg"]


class Estimator:
    """Gives a label that is not the most probable one, as some scikit-learn estimators do."""

    classes_ = np.array([0, 1])

    def predict(self, texts: Sequence[str]) -> Any:
        return np.array([1 for _ in texts])

    def predict_proba(self, texts: Sequence[str]) -> Any:
        return np.array([[0.75, 0.25] for _ in texts])


def test_an_estimators_confidence_is_that_of_the_label_it_gives() -> None:
    assert EstimatorPredictor(Estimator()).predict_with_confidence(ROWS) == [Answer("1", 0.25)] * 2


def test_an_estimator_without_probabilities_gives_none() -> None:
    class Plain:
        def predict(self, texts: Sequence[str]) -> Any:
            return np.array(["pos" for _ in texts])

    assert EstimatorPredictor(Plain()).predict_with_confidence(ROWS) == [Answer("pos", None)] * 2


def test_probabilities_of_unknown_classes_are_not_given() -> None:
    class Unnamed:
        """An estimator with probabilities that does not say whose they are."""

        def predict(self, texts: Sequence[str]) -> list[str]:
            return ["pos", "other"][: len(texts)]

        def predict_proba(self, texts: Sequence[str]) -> list[list[float]]:
            return [[0.25, 0.75] for _ in texts]

    class Listed(Unnamed):
        classes_: ClassVar = [np.int64(0), "pos"]

    answers = EstimatorPredictor(Unnamed()).predict_with_confidence(ROWS)
    assert answers == [Answer("pos"), Answer("other")]
    answers = EstimatorPredictor(Listed()).predict_with_confidence(ROWS)
    assert answers == [Answer("pos", 0.75), Answer("other")]


def test_a_file_of_predictions_may_have_a_column_of_confidences(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(
        f"id,prediction,confidence\n{row_key(ROWS[0])},pos,0.5\n{row_key(ROWS[1])},neg,\n"
    )
    assert FilePredictor(path).predict_with_confidence(ROWS) == [
        Answer("pos", 0.5),
        Answer("neg", None),
    ]
    path.write_text(f"id,prediction,confidence\n{row_key(ROWS[0])},pos,sure\n")
    with pytest.raises(DataError, match="row 1: 'sure' is not a confidence"):
        FilePredictor(path).predict(ROWS[:1])


def test_the_response_map_finds_confidences() -> None:
    response = ResponseMap.read('{"labels": "/found/*/label", "confidences": "/found/*/score"}')
    document = {"found": [{"label": "pos", "score": 0.5}, {"label": "neg", "score": 1}]}
    assert resolve_pointer(document, response.labels) == ["pos", "neg"]
    assert resolve_pointer(document, response.confidences) == [0.5, 1]
    with pytest.raises(ModelError, match="/found/\\*/score"):
        resolve_pointer({"found": [{"label": "pos"}]}, response.confidences)
    with pytest.raises(UsageError, match="not a JSON pointer"):
        ResponseMap.read('{"confidences": "score"}')
    with pytest.raises(UsageError, match="looks for many labels"):
        HttpPredictor(
            "http://localhost:1",
            request=RequestMap.read('{"body": {"q": "$text"}}'),
            response=ResponseMap("/label", confidences="/scores/*"),
        )


class Recorder:
    """A model that records its questions and answers with probabilities of one half."""

    identity = "recorder"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def predict(self, rows: Sequence[Row]) -> list[str]:
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Row]) -> list[Answer]:
        texts = [row["text"] for row in rows]
        if "fail" in texts:
            raise ModelError("the model failed")
        self.asked += texts
        return [Answer("pos", 0.5 if text == "Good." else None) for text in texts]


def test_confidences_are_remembered_on_disk_also_that_there_is_none(tmp_path: Path) -> None:
    first = Recorder()
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        model = CachedPredictor(first, store=store, batch_size=1)
        with pytest.raises(ModelError, match="failed"):
            model.predict_with_confidence([*ROWS, {"text": "fail"}])
    again = Recorder()
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        model = CachedPredictor(again, store=store)
        found = model.predict_with_confidence([*ROWS, {"text": "More."}])
    assert found == [Answer("pos", 0.5), Answer("pos", None), Answer("pos", None)]
    assert (first.asked, again.asked) == (["Good.", "Bad."], ["More."])


def test_labels_that_were_asked_for_alone_say_nothing_of_confidence(tmp_path: Path) -> None:
    recorder = Recorder()
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        model = CachedPredictor(recorder, store=store)
        assert model.predict(ROWS) == ["pos", "pos"]
        assert model.predict_with_confidence(ROWS)[0] == Answer("pos", 0.5)
        assert model.predict(ROWS) == ["pos", "pos"]
    assert recorder.asked == ["Good.", "Bad.", "Good.", "Bad."]


def test_a_model_without_confidences_is_asked_once() -> None:
    class Plain:
        identity = "plain"
        calls = 0

        def predict(self, rows: Sequence[Row]) -> list[str]:
            self.calls += 1
            return ["pos" for _ in rows]

    plain = Plain()
    model = CachedPredictor(plain)
    assert model.predict_with_confidence(ROWS) == model.predict_with_confidence(ROWS)
    assert model.predict_with_confidence(ROWS)[0].confidence is None
    assert plain.calls == 1


def test_answers_of_an_endpoint_come_with_their_confidences() -> None:
    def answer(_: int, body: Any) -> Reply:
        count = len(body["inputs"])
        return Reply({"labels": ["1"] * count, "scores": [1] + [0.5] * (count - 1)})

    response = ResponseMap("/labels", {"1": "pos"}, "/scores")
    with closing(Endpoint(answer)) as endpoint:
        model = HttpPredictor(endpoint.url, response=response)
        assert model.predict_with_confidence(ROWS) == [Answer("pos", 1.0), Answer("pos", 0.5)]
        assert model.predict(ROWS) == ["pos", "pos"]


@pytest.mark.parametrize("written", ["true", '"nan"', '"much"', "1.5", "-0.5"])
def test_a_confidence_in_a_file_is_a_number_from_0_to_1(tmp_path: Path, written: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f'{{"id": "1", "prediction": "pos", "confidence": {written}}}\n')
    with pytest.raises(DataError, match=r"row 1: .* is not a confidence"):
        FilePredictor(path).predict(ROWS)


def test_a_probability_that_is_no_number_is_not_given() -> None:
    class Unsure:
        """An estimator that has no probability for some rows."""

        classes_ = np.array(["bad", "good"])

        def predict(self, texts: list[str]) -> list[str]:
            return ["good" for _ in texts]

        def predict_proba(self, texts: list[str]) -> list[list[float]]:
            rounded = {"?": float("nan"), "!": 1 + 1e-9}
            return [[0.25, rounded.get(text, 0.75)] for text in texts]

    model = EstimatorPredictor(Unsure())
    rows = [{"text": text} for text in ("?", "A film.", "!")]
    assert model.predict_with_confidence(rows) == [
        Answer("good", None), Answer("good", 0.75), Answer("good", 1.0),
    ]  # fmt: skip
