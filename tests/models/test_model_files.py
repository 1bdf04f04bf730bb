"""Models that live elsewhere, and models in files: round trips, and messages on the way."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import DataError, ModelError, UsageError
from sears_dsl.models.cached import PredictionStore
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.prediction_file import FilePredictor, PredictionsNeeded
from sears_dsl.models.predictor import Row, row_key
from sears_dsl.models.scikit import EstimatorPredictor

ROWS: list[Row] = [{"text": "Good."}, {"text": "Bad."}, {"text": "Good."}]


def asked(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def answer(inputs: Path, predictions: Path) -> None:
    """Act as a team's own program: write a label for every row of the input file."""
    with predictions.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "prediction"])
        writer.writeheader()
        for row in asked(inputs):
            writer.writerow({"id": row["id"], "prediction": "good" in row["text"].lower()})


def test_the_round_trip(tmp_path: Path) -> None:
    predictions = tmp_path / "labels.csv"
    model = load_predictor(f"file:{predictions}")
    with pytest.raises(PredictionsNeeded) as needed:
        model.predict(ROWS)
    assert needed.value.missing == 2
    assert needed.value.inputs == tmp_path / "labels.inputs.jsonl"
    assert "run the same command again" in str(needed.value)
    assert [row["text"] for row in asked(needed.value.inputs)] == ["Good.", "Bad."]
    answer(needed.value.inputs, predictions)
    assert load_predictor(f"file:{predictions}").predict(ROWS) == ["True", "False", "True"]


def test_later_rounds_ask_for_all_rows_so_that_a_program_may_overwrite_its_output(
    tmp_path: Path,
) -> None:
    predictions, inputs = tmp_path / "labels.csv", tmp_path / "to do.jsonl"
    stages: list[list[Row]] = [ROWS, [{"text": "A good film."}], [*ROWS, {"text": "A bad one."}]]
    for stage in stages:
        with pytest.raises(PredictionsNeeded):
            load_predictor(f"file:{predictions}", inputs=inputs).predict(stage)
        answer(inputs, predictions)
    model = load_predictor(f"file:{predictions}", inputs=inputs)
    assert [model.predict(stage)[-1] for stage in stages] == ["True", "True", "False"]
    assert len(asked(inputs)) == 4


def test_only_what_is_missing_is_counted(tmp_path: Path) -> None:
    predictions = tmp_path / "labels.jsonl"
    model = FilePredictor(predictions)
    with pytest.raises(PredictionsNeeded, match=r"2 rows need predictions.*\(2 rows in all\)"):
        model.predict(ROWS)
    first = asked(model.inputs)[0]["id"]
    predictions.write_text(json.dumps({"id": first, "prediction": 1}) + "\n")
    with pytest.raises(PredictionsNeeded, match=r"1 row needs a prediction.*\(2 rows in all\)"):
        model.predict(ROWS)
    assert model.predict(ROWS[:1]) == ["1"]


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), st.text(), min_size=1), max_size=4))
def test_any_text_survives_the_file_of_inputs(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    predictions = tmp_path_factory.mktemp("round") / "labels.jsonl"
    model = FilePredictor(predictions)
    for _ in range(2):  # the second time over the rows of the first
        if rows:
            with pytest.raises(PredictionsNeeded):
                model.predict(rows)
            written = asked(model.inputs)
            assert all(row.pop("id") for row in written)
            assert written == [row for at, row in enumerate(rows) if row not in rows[:at]]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("id,label\n1,x\n", "has no column 'prediction', only id, label"),
        ("id,prediction\n1,\n", "row 1: '' is not a prediction"),
        ("id,prediction\n1,a\n1,b\n",
         "row 2: the id 1 has the prediction 'b', but had the prediction 'a' before"),
        ("id,prediction,confidence\n1,a,0.2\n1,a,0.9\n",
         "row 2: the id 1 has the prediction 'a' with confidence 0.9, but had the prediction 'a' "
         "with confidence 0.2 before"),
        ("id,prediction,confidence\n1,a,0.2\n1,a,\n", "has the prediction 'a', but had"),
    ],
)  # fmt: skip
def test_files_of_predictions_that_are_none(tmp_path: Path, content: str, told: str) -> None:
    predictions = tmp_path / "labels.csv"
    predictions.write_text(content)
    with pytest.raises(DataError) as failure:
        FilePredictor(predictions).predict(ROWS)
    assert told in str(failure.value)


VALUES: list[tuple[str, Any, str]] = [
    ("within:0.5", 3.2, "3.2"), ("within:10%", 3, "3"), ("set", ["b", "a"], "a|b"), ("set", [], ""),
    ("entities", [[0, 2, "LOC"]], '[[0, 2, "LOC"]]'), ("entities", [], "[]"), ("squad", "", ""),
    ("vqa", "two", "two"), ("exact", True, "True"),
]  # fmt: skip


@pytest.mark.parametrize(("comparison", "value", "label"), VALUES)
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_file_may_say_what_a_function_may_say(
    tmp_path: Path, suffix: str, comparison: str, value: Any, label: str
) -> None:
    predictions = tmp_path / f"labels.{suffix}"
    entry = {"id": row_key(ROWS[0]), "prediction": value}
    if suffix == "jsonl":
        predictions.write_text(json.dumps(entry) + "\n")
    elif suffix == "csv":
        entry["prediction"] = label if isinstance(value, list) else value
        with predictions.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([entry.keys(), entry.values()])
    else:  # a column holds values of one type, so entities are a text of JSON
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        cell = label if comparison == "entities" else value
        column = arrow.array([cell], arrow.list_(arrow.string()) if comparison == "set" else None)
        table = arrow.table({"id": [entry["id"]], "prediction": column})
        parquet.write_table(table, predictions)
    model = load_predictor(f"file:{predictions}", comparison=comparison)
    assert model.predict(ROWS[:1]) == [label]
    function = load_predictor(lambda texts: [value for _ in texts], comparison=comparison)
    assert function.predict(ROWS[:1]) == [label]


@pytest.mark.parametrize(
    ("comparison", "value", "told"),
    [*[("within:1", value, "write one number") for value in ('"many"', str(10**400))],
     ("set", "[[1]]", "write the labels of a row"),
     ("entities", '"LOC"', "write [start, end, label]"), ("squad", "null", "give every row"),
     *[("exact", value, "give every row") for value in ('""', "0.5", "null", "[1]")]],
)  # fmt: skip
def test_a_prediction_that_cannot_be_compared_is_an_error_that_says_how_to_write_it(
    tmp_path: Path, comparison: str, value: str, told: str
) -> None:
    predictions = tmp_path / "labels.jsonl"
    predictions.write_text(f'{{"id": "1", "prediction": {value}}}\n')
    with pytest.raises(DataError, match="is not a prediction") as caught:
        FilePredictor(predictions, comparison=comparison).predict(ROWS)
    assert caught.value.help.startswith(told)


def test_no_row_of_the_inputs_is_lost_without_the_last_line_break(tmp_path: Path) -> None:
    model = FilePredictor(tmp_path / "labels.csv")
    with pytest.raises(PredictionsNeeded):
        model.predict([{"text": "One.\u2028 More."}, {"text": "Two."}])
    model.inputs.write_bytes(model.inputs.read_bytes().removesuffix(b"\n"))
    with pytest.raises(PredictionsNeeded, match="3 rows in all"):
        model.predict([{"text": "Three."}])
    texts = [row["text"] for row in asked(model.inputs)]
    assert texts == ["One.\u2028 More.", "Two.", "Three."]


@pytest.mark.parametrize(
    "notes", [b"my notes\n", b"my notes", b"\n", b"\xff\xfe\n", b"\xe9t\xe9\n"]
)
def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path, notes: bytes) -> None:
    inputs = tmp_path / "mine.jsonl"
    inputs.write_bytes(notes)
    with pytest.raises(DataError, match=r"mine\.jsonl, line 1: this is not a file of inputs"):
        FilePredictor(tmp_path / "labels.csv", inputs=inputs).predict(ROWS)
    assert inputs.read_bytes() == notes


def test_what_cannot_be_a_round_trip_is_reported_before(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        FilePredictor(tmp_path / "labels.unknown")
    with pytest.raises(UsageError, match="named both for the inputs"):
        FilePredictor(tmp_path / "a.csv", inputs=tmp_path / "a.csv")
    with pytest.raises(UsageError, match="a column 'id'"):
        FilePredictor(tmp_path / "a.csv").predict([{"id": "1", "text": "x"}])
    with pytest.raises(DataError, match="cannot write"):
        FilePredictor(tmp_path / "absent" / "a.csv").predict(ROWS)


def test_predictions_of_a_file_are_not_kept_elsewhere(tmp_path: Path) -> None:
    predictions = tmp_path / "labels.csv"
    for label in ("first", "second"):
        with PredictionStore(tmp_path / "store.sqlite3") as store:
            model = load_predictor(f"file:{predictions}", store=store)
            if not predictions.exists():
                with pytest.raises(PredictionsNeeded) as needed:
                    model.predict(ROWS[:1])
                key = asked(needed.value.inputs)[0]["id"]
            predictions.write_text(f"id,prediction\n{key},{label}\n")
            assert model.predict(ROWS[:1]) == [label]


def text_model() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression())
    return model.fit(["good", "good film", "bad", "bad film"], [1, 1, 0, 0])


@pytest.mark.parametrize("name", ["model.joblib", "model.pkl"])
def test_an_estimator_in_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("pkl"):
        path.write_bytes(pickle.dumps(text_model()))
    else:
        joblib.dump(text_model(), path)
    model = load_predictor(f"sklearn:{path}")
    assert model.predict(ROWS) == ["1", "0", "1"]
    assert model.identity == load_predictor(f"sklearn:{path}").identity
    joblib.dump(text_model().set_params(logisticregression__C=9.0), path)
    assert model.identity != load_predictor(f"sklearn:{path}").identity


def test_an_estimator_that_was_fitted_on_a_frame_gets_one() -> None:
    import pandas
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = [{"title": "good", "body": "x y"}, {"title": "bad", "body": "y z"}]
    columns = make_column_transformer((CountVectorizer(), "title"))
    model = make_pipeline(columns, LogisticRegression())
    model.fit(pandas.DataFrame(rows), ["pos", "neg"])
    assert EstimatorPredictor(model).predict(rows) == ["pos", "neg"]


def test_an_estimator_of_several_columns_gets_dictionaries() -> None:
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rows = [{"title": "good", "body": "x"}, {"title": "bad", "body": "x"}]
    model = make_pipeline(DictVectorizer(), LogisticRegression()).fit(rows, ["pos", "neg"])
    assert EstimatorPredictor(model).predict(rows) == ["pos", "neg"]


def test_estimators_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_predictor(f"sklearn:{tmp_path / 'absent.joblib'}")
    broken = tmp_path / "broken.joblib"
    broken.write_bytes(b"no pickle")
    with pytest.raises(ModelError, match="could not be unpickled"):
        load_predictor(f"sklearn:{broken}")
    joblib.dump({"a": 1}, broken)
    with pytest.raises(UsageError, match="type dict is not an estimator"):
        load_predictor(f"sklearn:{broken}")


class Dangerous:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_nothing_is_unpickled_that_was_not_named_as_a_model(tmp_path: Path) -> None:
    trace = tmp_path / "unpickled"
    path = tmp_path / "model.csv"
    path.write_bytes(pickle.dumps(Dangerous(trace)))
    for spec in (f"file:{path}", f"hf:{tmp_path}", f"{path}:predict"):
        with pytest.raises((UsageError, DataError, ModelError)):
            load_predictor(spec).predict(ROWS)
    assert not trace.exists()
    with pytest.raises(UsageError):
        load_predictor(f"sklearn:{path}")
    assert trace.exists()


@pytest.mark.parametrize(
    ("spec", "options", "told"),
    [
        ("builtins:sorted", {"request_map": "{}"}, "takes no request map"),
        ("builtins:sorted", {"timeout": 3.0}, "takes no time-out"),
        ("builtins:sorted", {"inputs": Path("a.jsonl")}, "takes no file of inputs"),
        ("builtins:sorted", {"download": True}, "takes no download"),
        ("file:a.csv", {"batch_size": 3}, "takes no batch size"),
        ("http://localhost", {"inputs": Path("a.jsonl")}, "takes no file of inputs"),
        ("http://localhost", {"timeout": 0.0}, "a finite time-out above 0"),
        ("http://localhost", {"timeout": float("nan")}, "a finite time-out above 0"),
        ("http://localhost", {"timeout": float("inf")}, "a finite time-out above 0"),
        ("http://localhost", {"timeout": "3"}, "a finite time-out above 0"),
        ("http://localhost", {"retries": 1.5}, "both whole numbers"),
        ("http://localhost", {"connections": 1.5}, "both whole numbers"),
        ("HTTP://localhost", {"retries": 1}, "for an endpoint, write http://localhost"),
        ("file:a.txt", {}, "a.txt is plain text, which has no columns"),
        ("file:a", {}, "help: predictions stand in a csv, tsv, jsonl or parquet file"),
        ("file:a.csv", {"inputs": Path()}, ". is a folder"),
    ],
)
def test_options_of_another_kind_are_refused(spec: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as failure:
        load_predictor(spec, **options)
    assert told in str(failure.value)


def test_predictions_in_another_encoding_get_no_advice_about_the_data(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(f"id,prediction\n{row_key(ROWS[0])},caf\xe9\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not utf-8 text") as caught:
        load_predictor(f"file:{path}").predict(ROWS[:1])
    assert "in UTF-8" in caught.value.help
    assert "--" not in caught.value.help


@pytest.mark.parametrize("kind", ["vote", "every"])
def test_predictions_of_several_files_are_not_kept_elsewhere(tmp_path: Path, kind: str) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    spec = f"{kind}:" + ",".join(f"file:{file}" for file in files)
    with pytest.raises(ModelError, match=r"(?s)a\.inputs\.jsonl.*b\.inputs\.jsonl") as needed:
        load_predictor(spec).predict(ROWS)
    assert all(str(file) in needed.value.help for file in files)
    with PredictionStore(tmp_path / "store.sqlite3") as store:
        for label in ("old", "new"):
            for file in files:
                file.write_text(f"id,prediction\n{row_key(ROWS[0])},{label}\n")
            assert load_predictor(spec, store=store).predict(ROWS[:1]) == [label]
