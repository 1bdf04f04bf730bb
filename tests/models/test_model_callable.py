"""Models that are functions or objects: how they are found and asked, and their errors."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sears_dsl as sears
from sears_dsl.answers import REFUSED
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.function import CallablePredictor, load_callable
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.predictor import RowsRefused, row_key
from sears_dsl.models.vote import VotingPredictor

SOURCE = """
from collections.abc import Sequence

def predict(texts):
    return ["positive" if "good" in text else "negative" for text in texts]

def answer(rows):
    return [row["context"].split()[0] for row in rows]

def failing(texts):
    raise ValueError("a text is too long")

def leaving(texts):
    raise SystemExit(3)

def lazy(texts):
    for text in texts:
        yield 1 / 0

class Model:
    def __init__(self, name):
        self.name = name
    def predict(self, texts):
        return [self.name for _ in texts]

class Versioned(Model):
    identity = "weights 7"

model = Model("first")
versioned = Versioned("v")
threshold = 0.5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module in a package; imports are undone afterwards."""
    package = tmp_path / "reviewing"
    package.mkdir()
    (package / "sentiment.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.split(".")[0] in ("reviewing", "broken", "needy", "neighbour"):
            del sys.modules[name]


def test_a_function_gets_texts_where_there_is_one_column() -> None:
    seen: list[object] = []

    def predict(texts: list[str]) -> list[str]:
        seen.append(texts)
        return ["x"] * len(texts)

    CallablePredictor(predict).predict([{"text": "Good."}, {"text": ""}])
    CallablePredictor(predict).predict([{"question": "Who?", "context": "He."}])
    assert seen == [["Good.", ""], [{"question": "Who?", "context": "He."}]]


def test_no_rows_do_not_trouble_the_model() -> None:
    def predict(texts: list[str]) -> list[str]:
        raise AssertionError("asked for nothing")

    assert CallablePredictor(predict).predict([]) == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("reviewing.sentiment:predict", ["positive"]),
        ("reviewing.sentiment:model", ["first"]),
        ("reviewing.sentiment:model.predict", ["first"]),
    ],
)
def test_a_model_is_found_in_the_current_folder(spec: str, labels: list[str]) -> None:
    assert load_predictor(spec).predict([{"text": "a good film"}]) == labels


@pytest.mark.usefixtures("folder")
def test_rows_with_several_columns_reach_the_function_as_dictionaries() -> None:
    model = load_predictor("reviewing.sentiment:answer")
    assert model.predict([{"question": "Who?", "context": "He did."}]) == ["He"]


def test_a_module_finds_its_neighbours_and_hides_no_installed_one(folder: Path) -> None:
    (folder / "neighbour.py").write_text("LABEL = 'found'")
    (folder / "needy.py").write_text(
        "def predict(texts):\n    from neighbour import LABEL\n    return [LABEL for _ in texts]\n"
    )
    assert load_predictor("needy:predict").predict([{"text": "x"}]) == ["found"]
    assert sys.path.index(str(folder)) == len(sys.path) - 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("reviewing.nothing", "write one of module:object"),
        ("reviewing.sentiment", "such as reviewing.sentiment:predict"),
        ("reviewing/sentiment.py", "such as reviewing.sentiment:predict"),
        ("reviewing.sentiment.ask", "such as reviewing.sentiment:ask"),
        ("reviewing/sentiment.py:predict", "write reviewing.sentiment:predict"),
        ("nowhere.py:predict", "write nowhere:predict"),
        ("./reviewing/sentiment.py", "such as reviewing.sentiment:predict"),
        ("localhost:8000/predict", "for an endpoint, write http://localhost:8000/predict"),
        ("10.0.0.7:8000", "for an endpoint, write http://10.0.0.7:8000"),
        ("reviewing.sentiment:predct", "reviewing.sentiment has no 'predct'"),
        ("reviewing.sentiment:modle", "did you mean model?"),
        ("reviewing.sentiment:model.ask", "Model has no 'ask'"),
        ("reviewing.nothing:predict", "there is no module 'reviewing.nothing'"),
        ("nowhere:predict", "there is no module 'nowhere'"),
        ("reviewing.sentiment:Model", "Model is a class"),
        ("reviewing.sentiment:threshold", "has no method predict"),
        ("reviewing.sentiment:threshold", "reviewing.sentiment:threshold: an object of type"),
        ("reviewing.sentiment:predict()", "is not a model"),
        (":predict", "does not name a model"),
    ],
)
def test_what_is_no_model_is_reported(spec: str, told: str) -> None:
    with pytest.raises(UsageError) as failure:
        load_predictor(spec)
    assert told in str(failure.value)


def test_a_module_that_fails_is_reported_with_its_error(folder: Path) -> None:
    (folder / "broken.py").write_text("raise RuntimeError('no weights here')")
    with pytest.raises(ModelError, match="importing broken raised RuntimeError: no weights here"):
        load_callable("broken:predict")
    (folder / "needy.py").write_text("import not_installed_anywhere")
    with pytest.raises(ModelError, match="needs 'not_installed_anywhere'"):
        load_callable("needy:predict")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "told", "cause"),
    [
        ("failing", "ValueError: a text is too long", ValueError),
        ("leaving", "SystemExit: 3", SystemExit),
        ("lazy", "ZeroDivisionError: division by zero", ZeroDivisionError),
    ],
)
def test_a_model_that_raises_is_reported_with_place_and_text(
    name: str, told: str, cause: type[BaseException]
) -> None:
    model = load_predictor(f"reviewing.sentiment:{name}")
    with pytest.raises(ModelError) as failure:
        model.predict([{"text": "It is so " + "very " * 50 + "good."}, {"text": "Bad."}])
    message = str(failure.value)
    # The place in the model's own code comes first, wherever the error was raised.
    assert re.search(rf"{re.escape(told)} at \S*sentiment\.py:\d+", message)
    assert "the batch has 2 rows and begins with 'It is so very" in message
    assert isinstance(failure.value.__cause__, cause)


def test_the_identity_changes_with_the_source_and_with_a_stated_version(folder: Path) -> None:
    def identity(name: str) -> str:
        # A process of its own, like the next run of the command.
        code = (
            "from sears_dsl.models.function import load_callable;"
            f"print(load_callable('reviewing.sentiment:{name}').identity)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        return done.stdout.decode()

    before = identity("predict")
    assert before == identity("predict")
    assert before.startswith("reviewing.sentiment:predict (")
    assert "weights 7" in identity("versioned")
    path = folder / "reviewing" / "sentiment.py"
    path.write_text(SOURCE.replace("good", "fine"))
    assert identity("predict") != before


def test_a_file_that_was_edited_counts_as_it_was_imported(folder: Path) -> None:
    path = folder / "edited.py"
    path.write_text("def predict(texts): return ['old' for _ in texts]\n")
    before = load_predictor("edited:predict")
    path.write_text("def predict(texts): return ['newer' for _ in texts]\n")
    again = load_predictor("edited:predict")
    assert again.predict(GOOD[:1]) == ["old"]
    assert again.identity == before.identity
    importlib.reload(sys.modules["edited"])
    reloaded = load_predictor("edited:predict")
    assert reloaded.predict(GOOD[:1]) == ["newer"]
    assert reloaded.identity != before.identity


def test_a_module_that_was_edited_after_its_import_is_not_taken_for_the_edited_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(folder))
    path = folder / "imported_before.py"
    path.write_text("def predict(texts): return ['old' for _ in texts]\n")
    importlib.import_module("imported_before")
    path.write_text("def predict(texts): return ['newer' for _ in texts]\n")
    stale = load_predictor("imported_before:predict")
    assert stale.predict(GOOD[:1]) == ["old"]
    del sys.modules["imported_before"]
    fresh = load_predictor("imported_before:predict")
    assert fresh.predict(GOOD[:1]) == ["newer"]
    assert fresh.identity != stale.identity


# ---------------------------------------------------------------- objects of Python


class Fixed:
    """An object with ``predict``, as from any library."""

    def __init__(self, label: str) -> None:
        self.label = label

    def predict(self, texts: list[str]) -> list[str]:
        return [self.label for _ in texts]


GOOD = [{"text": "good"}, {"text": "bad"}]


def test_functions_and_objects_are_taken_as_they_are() -> None:
    assert load_predictor(lambda texts: texts).predict(GOOD) == ["good", "bad"]
    assert load_predictor(Fixed("a").predict).predict(GOOD) == ["a", "a"]
    assert load_predictor(Fixed("a")).predict(GOOD) == ["a", "a"]
    assert load_predictor(CallablePredictor(Fixed("b"))).predict(GOOD) == ["b", "b"]
    assert load_predictor(load_predictor(Fixed("b"))).predict(GOOD) == ["b", "b"]
    pairs = [{"question": "who ?", "context": "he"}]
    assert load_predictor(lambda rows: [row["context"] for row in rows]).predict(pairs) == ["he"]


def test_an_estimator_is_taken_with_its_probabilities() -> None:
    feature = pytest.importorskip("sklearn.feature_extraction.text")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(feature.CountVectorizer(), LogisticRegression())
    model = load_predictor(pipeline.fit(["good", "bad"], ["yes", "no"]))
    assert model.predict(GOOD) == ["yes", "no"]
    assert model.predict_with_confidence(GOOD)[0].confidence > 0.5
    numbered = load_predictor(pipeline.fit(["good", "bad"], [1.0, 0.0]))
    assert [answer.label for answer in numbered.predict_with_confidence(GOOD)] == ["1", "0"]


def test_a_text_is_no_row() -> None:
    with pytest.raises(UsageError, match=r"'Good\.' is not a row") as caught:
        load_predictor(Fixed("b")).predict(["Good."])
    assert "predict([{'text': 'A film.'}])" in caught.value.help


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (5, "is not a model"),
        (None, "is not a model"),
        (["positive"], "there is only one model"),
        (Path("model.joblib"), "is not a model"),
        (Fixed, "Fixed is a class, not a model"),
        ("", "'' does not name a model"),
        ("model.joblib", "'model.joblib' does not name a model"),
    ],
)
def test_what_is_no_model_is_reported_in_a_sentence(model: object, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        load_predictor(model)
    assert caught.value.help


def test_options_of_other_kinds_are_refused_for_objects() -> None:
    with pytest.raises(UsageError, match="an object of type Fixed takes no time-out"):
        load_predictor(Fixed("a"), timeout=3)
    with pytest.raises(UsageError, match="takes no file of inputs"):
        load_predictor(Fixed("a"), inputs=Path("inputs.jsonl"))


def test_predictions_of_an_object_are_kept_under_its_identity_alone(tmp_path: Path) -> None:
    with PredictionStore(tmp_path / "kept.sqlite3") as store:
        with pytest.raises(UsageError, match="nothing distinguishes it from another one") as caught:
            load_predictor(Fixed("a"), store=store)
        assert "attribute `identity`" in caught.value.help
        with pytest.raises(UsageError, match="nothing distinguishes it from another one"):
            load_predictor(CallablePredictor(Fixed("a")), store=store)
        own = CallablePredictor(Fixed("c"), identity="version c")
        assert load_predictor(own, store=store).predict(GOOD) == ["c", "c"]
        for label in ("a", "b"):
            model = Fixed(label)
            model.identity = f"version {label}"  # type: ignore[attr-defined]
            kept = load_predictor(model, store=store)
            assert (kept.identity, kept.predict(GOOD)) == (f"version {label}", [label, label])


@pytest.mark.parametrize("together", [list, lambda models: dict(zip("xy", models, strict=True))])
def test_several_objects_are_stored_one_by_one_by_their_identities(
    tmp_path: Path, together: Callable[[list[Any]], Any]
) -> None:
    class Named(Fixed):
        def __init__(self, label: str) -> None:
            super().__init__(label)
            self.identity = f"version {label}"

    class Other(Named):
        """Has another name in a list."""

    with PredictionStore(tmp_path / "kept.sqlite3") as store:
        with pytest.raises(UsageError, match="nothing distinguishes it from another one"):
            load_predictor(together([Fixed("a"), Named("a")]), store=store)
        for label in ("a", "b"):
            model = load_predictor(together([Named(label), Other(label)]), store=store)
            assert model.predict(GOOD) == [label, label]
        assert set(store.get("version b", [row_key(row) for row in GOOD]).values()) == {"b"}


class Refusing:
    """Refuses what is bad, and records its batches."""

    identity = "refusing"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, texts: list[str]) -> list[str]:
        self.batches.append(len(texts))
        if "Bad." in texts:
            raise RowsRefused("no", help="")
        return ["a"] * len(texts)


def test_a_loaded_model_keeps_its_store_its_memory_and_what_it_does_on_an_error(
    tmp_path: Path,
) -> None:
    rows = [{"text": "Good."}, {"text": "Bad."}]
    refusing = Refusing()
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        own = CallablePredictor(refusing, identity="mine")
        loaded = CachedPredictor(own, store=store, on_error="skip")
        assert load_predictor(loaded) is loaded
        assert load_predictor(loaded, batch_size=1).predict(rows) == ["a", REFUSED]
        assert refusing.batches == [1, 1]
        assert load_predictor(loaded, batch_size=2).predict(rows) == ["a", REFUSED]
        both = load_predictor([loaded, Fixed("a")])
        assert both.predict(rows) == ["a", REFUSED]
        assert refusing.batches == [1, 1], "it remembers what it said"
        assert list(store.get("mine", [row_key(row) for row in rows]).values()) == ["a"]
        with pytest.raises(UsageError, match="the batch size is 0"):
            load_predictor(loaded, batch_size=0)
    with (
        PredictionStore(tmp_path / "q.sqlite3") as other,
        pytest.raises(UsageError, match=r"mine is loaded, and does not keep .*q\.sqlite3"),
    ):
        load_predictor(loaded, store=other)


def test_a_model_that_was_loaded_for_other_answers_is_refused() -> None:
    loaded = load_predictor(lambda texts: [["a", "b"] for _ in texts], comparison="set")
    assert load_predictor(loaded, comparison="set") is loaded
    with pytest.raises(UsageError, match="compared as set, not as exact") as caught:
        load_predictor(loaded)
    assert caught.value.help == (
        "load it with comparison='exact', or pass the function or object that you loaded"
    )
    near = load_predictor(lambda texts: [0.5 for _ in texts], comparison="within:0.5")
    assert load_predictor(near, comparison="within:1") is near


@pytest.mark.parametrize("comparison", ["squad", "vqa"])
def test_a_model_that_gives_texts_is_loaded_once_for_labels_and_free_answers(
    comparison: str,
) -> None:
    loaded = load_predictor(lambda texts: ["The red car." for _ in texts])
    rows = [{"text": f"Which car is number {n}?", "label": "red car"} for n in range(4)]
    rules = sears.parse("which car -> what car")
    audit = sears.audit(loaded, rows, rules, label="label", comparison=comparison, scorer=None)
    assert audit.document.together.accuracy is not None
    assert audit.document.together.accuracy.before.rate == 1


def test_a_vote_on_labels_is_no_vote_on_words() -> None:
    red = lambda texts: ["a red car" for _ in texts]  # noqa: E731
    vote = CachedPredictor(VotingPredictor([load_predictor(red)] * 2), comparison="exact")
    with pytest.raises(UsageError, match="compared as exact, not as squad"):
        load_predictor(vote, comparison="squad")
