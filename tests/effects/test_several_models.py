"""Several models as one: a refusal is no flip, and which of them fails is exact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sears_dsl.answers import REFUSED
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.effects.flips import RightRows
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import Predictor, Row, RowsRefused
from sears_dsl.models.vote import VotingPredictor


class Refusing:
    """Refuses films, and says of all else that it is good."""

    identity = "refusing"

    def predict(self, rows: Sequence[Row]) -> list[str]:
        if any("film" in row["text"] for row in rows):
            raise RowsRefused("no films", help="")
        return ["good"] * len(rows)


def by_word(word: str, answer: str, otherwise: str) -> Predictor:
    return CallablePredictor(lambda texts: [answer if word in t else otherwise for t in texts])


def labelled(*pairs: tuple[str, str], comparison: str = "exact") -> LabelledRows:
    rows = [{"text": text, "label": label} for text, label in pairs]
    return read_labelled(rows, column="text", label="label", comparison=comparison)


def test_what_one_of_several_models_refuses_is_no_flip_and_is_not_stored(tmp_path: Path) -> None:
    skipping = CachedPredictor(Refusing(), on_error="skip")
    together = VotingPredictor([skipping, by_word("play", "bad", "good")], alike=True)
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        model = CachedPredictor(together, store=store)
        right = RightRows(labelled(("A movie.", "good"), ("A show.", "good")), model)
        texts = ["A film.", "A play.", "A book."]
        answers = right.ask([0, 0, 1], texts)
        assert answers[0] == REFUSED
        assert right.flips([0, 0, 1], answers).tolist() == [False, True, False]
        fails = right.fails_of_each([0, 0, 1], texts)
        assert fails.tolist() == [[False, False], [False, True], [False, False]]
        again = CachedPredictor(together, store=store)
        again.predict([{"text": text} for text in texts])
        assert again.asked == 1
    assert model.remarks == ["the model refused 1 text, left out and not counted as flips"]


@pytest.mark.parametrize("has_labels", [True, False])
def test_nearness_is_counted_of_each_model_by_itself(*, has_labels: bool) -> None:
    models = [by_word("film", "1.8", "1.4"), by_word("film", "0.9", "0.6")]
    pairs = [("A movie.", "1.0"), ("A show.", "1.1")]
    data = labelled(*pairs, comparison="within:0.5")
    if not has_labels:
        data = LabelledRows(data.rows, data.column, None, data.path)
    together = VotingPredictor(models, comparison="within:0.5", alike=True)
    right = RightRows(data, together, comparison="within:0.5")
    assert right.positions == [0, 1]
    answers = right.ask([0, 1], ["A film.", "A book."])
    # 1.8 is near 1.4, which the first model says of the row, and far from the label 1.0.
    assert right.flips([0, 1], answers).tolist() == [has_labels, False]
    assert right.fails_of_each([0, 1], ["A film.", "A book."]).tolist() == (
        [[has_labels, False], [False, False]]
    )
    assert np.array(right.predictions).tolist() == ['(the models say ["1.4", "0.6"])'] * 2
