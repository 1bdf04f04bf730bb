"""Labels that are written differently in the data and by the model, and columns that are others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sears_dsl.answers import joint_answer
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.asked_model import try_model
from sears_dsl.effects.label_names import never_answered
from sears_dsl.errors import DataError
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor


def data_of(labels: Sequence[str], texts: Sequence[str] = ()) -> LabelledRows:
    rows = tuple({"text": text} for text in texts or map(str, range(len(labels))))
    return LabelledRows(rows, "text", tuple((label,) for label in labels), "a.csv")


def note_on(labels: Sequence[str], answers: Sequence[str], comparison: str = "exact") -> str:
    return never_answered(data_of(labels), dict(enumerate(answers)), comparison=comparison)


def test_a_label_that_the_model_writes_differently_is_reported() -> None:
    note = note_on(["ok"] * 30 + ["REMOVE"] * 20, ["ok"] * 28 + ["remove"] * 20 + ["ok"] * 2)
    assert note.startswith(
        "the model never answers 'REMOVE', and its answer 'remove' is no label of the data: do"
    )
    assert note_on(["ok|BAD", "ok"] * 20, ["bad|ok", "ok"] * 20, "set").startswith(
        "the model never answers 'BAD', and its answer 'bad' is no label"
    )


def test_a_model_that_often_misses_that_label_is_reported_too() -> None:
    answers = ["ok"] * 98 + ["remove"] * 2 + ["remove"] * 30 + ["ok"] * 70
    assert note_on(["ok"] * 100 + ["REMOVE"] * 100, answers)


@pytest.mark.parametrize(
    ("labels", "answers"),
    [
        # It knows more labels than the data has.
        (["bad", "good"] * 20, ["bad", "good"] * 10 + ["bad", "so-so"] * 10),
        # It never answers a label, and no other.
        (["bad", "good"] * 20, ["bad"] * 40),
        # Of a label that it never answers there are too few rows.
        (["ok"] * 50 + ["REMOVE"] * 4, ["ok"] * 50 + ["remove"] * 4),
        # What is no label falls on all rows alike.
        (["ok", "ok", "ok", "sad"] * 20, (["new"] + ["ok"] * 4) * 16),
        # The model refuses rows.
        (["ok"] * 20 + ["bad"] * 20, ["ok"] * 20 + ["(refused by the model)"] * 20),
    ],
)
def test_what_chance_explains_gets_no_note(labels: list[str], answers: list[str]) -> None:
    assert note_on(labels, answers) == ""
    assert note_on(labels, answers, "squad") == ""


def test_of_several_models_the_one_with_other_names_is_named() -> None:
    labels = ["ok", "BAD"] * 20
    answers = [joint_answer([label, label.lower()]) for label in labels]
    models = ("one", "two")
    note = never_answered(data_of(labels), dict(enumerate(answers)), models=models)
    assert note.startswith("two: the model never answers 'BAD', and its answer 'bad'")


@pytest.mark.parametrize("labels", [("ok", "BAD"), ("ok", "no", "a", "b", "c", "d", "e", "BAD")])
def test_a_trial_of_a_few_rows_reports_other_names(labels: tuple[str, ...]) -> None:
    data = data_of(labels * 25)
    predictor = CallablePredictor(
        lambda texts: [labels[int(text) % len(labels)].lower() for text in texts], identity="m"
    )
    (note,) = try_model(data, CachedPredictor(predictor))
    tried = max(16, 5 * len(labels))
    assert f"never answers 'BAD' to the {tried} rows tried, and its answer 'bad'" in note


def test_columns_that_are_swapped_are_reported_after_a_few_rows() -> None:
    texts = ["ok", "bad"] * 20
    data = data_of([f"A comment of {each} words. {'word ' * 40}" for each in range(40)], texts)
    predictor = CallablePredictor(lambda texts: ["ok" for _ in texts], identity="m")
    with pytest.raises(DataError, match="of 16 rows tried") as caught:
        try_model(data, CachedPredictor(predictor))
    assert "are the two columns swapped?" in caught.value.help
    assert len(caught.value.help) < 500


def test_answers_to_questions_are_not_taken_for_another_column() -> None:
    data = data_of([f"an answer {each}" for each in range(40)])
    predictor = CallablePredictor(lambda texts: ["no answer" for _ in texts], identity="m")
    assert try_model(data, CachedPredictor(predictor), comparison="squad") == ()
    varied = CallablePredictor(lambda texts: [f"it is {text}" for text in texts], identity="v")
    assert try_model(data, CachedPredictor(varied)) == ()
