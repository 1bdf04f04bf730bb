"""Models and data of every supported kind give the same answers; others get a clear error."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from brittle_model import NOUNS, ROWS, close, predict, reword

import sears_dsl as sears
from sears_dsl.auditing.slices import read_slicings
from sears_dsl.data.labelled import read_labelled
from sears_dsl.effects.asked_model import with_labels_of
from sears_dsl.engine.compile import requirements
from sears_dsl.errors import DataError, ModelError, RuleSyntaxError, UsageError
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import RowsRefused


class Estimator:
    """Looks like an estimator of scikit-learn."""

    classes_ = ("bad", "good")

    def fit(self, texts: Any, labels: Any) -> Estimator:
        return self

    def predict(self, texts: list[str]) -> list[str]:
        return predict(texts)


def as_frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(ROWS, columns=["text", "label"], index=range(5000, 5000 + len(ROWS)))


def as_dataset() -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list([{"text": text, "label": label} for text, label in ROWS])


def as_polars() -> Any:
    return pytest.importorskip("polars").DataFrame(ROWS, schema=["text", "label"], orient="row")


def as_table() -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table({"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]})


KINDS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: ROWS,
    "dictionaries": lambda: [{"text": text, "label": label} for text, label in ROWS],
    "a generator": lambda: ({"text": text, "label": label} for text, label in ROWS),
    "a file": lambda: "rows.csv",
    "a path": lambda: Path("rows.csv"),
    "pandas": as_frame,
    "polars": as_polars,
    "datasets": as_dataset,
    "arrow": as_table,
}


def flips(model: object, data: object, rules: sears.Ruleset, **options: Any) -> int:
    found = sears.audit(model, data, rules, label="label", scorer=None, **options)
    return found.rules[0].flips.count


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind(kind: str, folder: Path, rules: sears.Ruleset) -> None:
    assert flips(predict, KINDS[kind](), rules) == len(NOUNS)


def by_number(texts: list[str]) -> list[int]:
    return [int(label == "good") for label in predict(texts)]


def numbered(*, several: bool = False) -> Any:
    """The rows as a Hugging Face dataset whose labels, one or several a row, are numbers."""
    datasets = pytest.importorskip("datasets")
    label = datasets.ClassLabel(names=["bad", "good"])
    features = {"text": datasets.Value("string"), "label": [label] if several else label}
    rows = [
        {"text": text, "label": [mood == "good"] if several else int(mood == "good")}
        for text, mood in ROWS
    ]
    return datasets.Dataset.from_list(rows, features=datasets.Features(features))


@pytest.mark.parametrize("model", [predict, by_number, {"a": predict, "b": predict}])
def test_names_or_numbers_of_classes_are_labels_as_the_model_answers(
    model: object, rules: sears.Ruleset
) -> None:
    assert flips(sears.load_predictor(model), numbered(), rules) == len(NOUNS)


def test_models_that_name_and_that_number_classes_are_audited_together(
    rules: sears.Ruleset,
) -> None:
    both = sears.audit({"names": predict, "numbers": by_number}, numbered(), rules, label="label",
                       scorer=None)  # fmt: skip
    assert [each.rules[0].flips.count for each in both.audits.values()] == [len(NOUNS)] * 2


@pytest.mark.parametrize("model", [predict, by_number])
def test_files_of_a_dataset_say_what_their_numbers_are_called(
    model: object, folder: Path, rules: sears.Ruleset
) -> None:
    numbered().to_parquet(folder / "rows.parquet")
    numbered().save_to_disk(folder / "saved")
    for data in ("rows.parquet", "saved"):
        assert flips(model, data, rules) == len(NOUNS)


@pytest.mark.parametrize("seen", [3, 4, 5])
def test_names_of_classes_that_are_digits_are_read_as_names_whichever_occur(seen: int) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"text": f"A movie of {n % seen + 1} stars.", "stars": n % seen} for n in range(20)]
    stars = datasets.ClassLabel(names=["1", "2", "3", "4", "5"])
    data = datasets.Dataset.from_list(rows).cast_column("stars", stars)
    rules = sears.parse("movie -> film")
    by_name = lambda texts: [text.split()[3] for text in texts]  # noqa: E731
    document = sears.audit(by_name, data, rules, label="stars", scorer=None).document
    assert document.together.accuracy is not None
    assert document.together.accuracy.before.rate == 1
    assert any("answers are read as names" in each for each in document.notes)
    numbers = lambda texts: [int(each) - 1 for each in by_name(texts)]  # noqa: E731
    with pytest.raises(ModelError, match="answers '0', the number of a class") as wrong:
        sears.audit(numbers, data, rules, label="stars", scorer=None)
    assert "cast_column" in wrong.value.help
    # Also where another model, asked together with this one, names them.
    both = sears.load_predictor({"names": by_name, "numbers": numbers})
    with pytest.raises(ModelError, match="answers '0', the number of a class"):
        sears.audit(both, data, rules, label="stars", scorer=None)


def test_models_asked_together_that_name_classes_in_different_ways_get_names_as_labels(
    rules: sears.Ruleset,
) -> None:
    swapped = lambda texts: [{"good": "bad", "bad": "good"}[each] for each in predict(texts)]  # noqa: E731
    both = sears.load_predictor({"swapped": swapped, "right": predict})
    data = with_labels_of(read_labelled(numbered(), label="label"), both)
    assert data.labels is not None
    assert {label for of_row in data.labels for label in of_row} <= {"good", "bad"}


def test_a_folder_of_several_datasets_is_refused_like_the_datasets(
    folder: Path, rules: sears.Ruleset
) -> None:
    datasets = pytest.importorskip("datasets")
    parts = datasets.DatasetDict(train=numbered(), test=numbered().select([0]))
    parts.save_to_disk(folder / "saved")
    for data in (parts, "saved"):
        with pytest.raises(DataError, match="holds several datasets: train, test"):
            sears.audit(predict, data, rules, label="label", scorer=None)
    with pytest.raises(DataError, match="several datasets") as wrong:
        sears.augment("saved", rules)
    assert "saved/train" in wrong.value.help
    assert flips(predict, "saved/train", rules) == len(NOUNS)
    datasets.DatasetDict(train=numbered()).save_to_disk(folder / "one")
    assert flips(predict, "one", rules) == len(NOUNS)


def test_a_part_of_a_dataset_keeps_the_names_of_its_classes(rules: sears.Ruleset) -> None:
    assert flips(predict, numbered(), rules, limit=4) > 0


def test_columns_to_slice_by_show_the_names_of_classes(folder: Path, rules: sears.Ruleset) -> None:
    numbered().to_parquet(folder / "rows.parquet")
    for data in (numbered(), "rows.parquet"):
        found = sears.audit(predict, data, rules, label="label", slices=["label"], scorer=None)
        values = {each.value for each in found.document.slices if each.slicing == "column label"}
        assert values == {"bad", "good"}
    several = numbered(several=True)
    assert set(read_slicings(several, ["label"])["label"][0]) <= {0, 1}


def test_rules_may_expect_a_class_by_its_name(folder: Path) -> None:
    rules = sears.parse("movie -> bad movie\n  expect: label bad")
    for data in (numbered(), "rows.parquet"):
        numbered().to_parquet(folder / "rows.parquet")
        new = sears.augment(data, rules, label="label", only_new=True)
        assert {row["label"] for row in new} == {0}
    with pytest.raises(UsageError, match="the labels are 'bad', 'good', ") as wrong:
        sears.augment(
            numbered(), sears.parse("movie -> bad movie\n  expect: label Bad"), label="label"
        )
    assert "'Bad', which no row has" in wrong.value.message


def test_the_names_of_several_classes_a_row_are_labels(rules: sears.Ruleset) -> None:
    def names(texts: list[str]) -> list[list[str]]:
        return [[label] for label in predict(texts)]

    assert flips(names, numbered(several=True), rules, comparison="set") == len(NOUNS)


@pytest.mark.parametrize("bad", ["0", "bad"])
def test_a_trained_model_and_rules_may_name_what_labels_number(bad: str) -> None:
    trained_on: set[str] = set()

    def train(texts: list[str], labels: list[str], seed: int) -> object:
        trained_on.update(labels)
        robust = any("film" in text for text in texts)
        return lambda texts: predict([each.replace("film", "movie") for each in texts]
                                     if robust else texts)  # fmt: skip

    held_out = numbered().map(lambda row: {"text": row["text"].replace("This", "That")})
    inputs: Any = {"label": "label", "train": train, "seeds": 1}
    rules = sears.parse(f"movie -> film\n\nmovie -> bad movie\n  expect: label {bad}")
    repaired = sears.fix(numbered(), held_out, rules, **inputs).repair
    errors = [repaired.validation.original, *(rule.original for rule in repaired.rules)]
    assert [each.error for each in errors] == [0.0, 0.5, 0.0]
    assert trained_on == {"0", "1"}
    amounts = sears.fix_by_amount(numbered(), held_out, sears.parse("movie -> film"),
                                  amounts="none,full", **inputs)  # fmt: skip
    assert amounts.columns["clean"] == [0.0, 0.0]
    assert amounts.columns["perturbed"] == [0.5, 0.0]


def test_searches_and_pages_know_the_names_of_classes(folder: Path) -> None:
    parts: Any = {"paraphraser": reword, "scorer": close, "label": "label"}
    found = sears.discover(predict, numbered(), with_shipped=False, **parts)
    assert found.columns["flips"] == [len(NOUNS)]
    reworded = sears.adversaries(predict, numbered(), **parts)
    assert set(reworded.columns["label"]) == {"good"}
    with sears.vet(predict, numbered(), "rules.sear", label="label", reviewers=["ana"],
                   scorer=None) as page:  # fmt: skip
        overview = json.loads(urlopen(f"{page.address}api/overview").read())  # noqa: S310 - ours
    assert overview["data"]["right"] == len(ROWS)


@pytest.mark.parametrize("model", [predict, Estimator(), "brittle_words:predict",
                                   sears.load_predictor(predict)])  # fmt: skip
def test_models_of_every_kind(model: object, folder: Path, rules: sears.Ruleset) -> None:
    assert flips(model, ROWS, rules) == len(NOUNS)


def test_a_model_that_remembers_is_not_asked_twice(rules: sears.Ruleset) -> None:
    asked = 0

    def counting(texts: list[str]) -> list[str]:
        nonlocal asked
        asked += len(texts)
        return predict(texts)

    model = sears.load_predictor(counting)
    flips(model, ROWS, rules)
    first = asked
    flips(model, ROWS, rules)
    assert asked == first


def test_labels_of_pairs_need_no_name_and_texts_need_none() -> None:
    rules = sears.parse("movie -> film")
    assert sears.audit(predict, ROWS, rules, scorer=None).document.labelled
    unlabelled = sears.audit(predict, [text for text, _ in ROWS], rules, scorer=None)
    assert not unlabelled.document.labelled
    assert unlabelled.rules[0].flips.count == len(NOUNS)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((predict, 7), "an object of type int is not a dataset"),
        ((predict, "no such file.csv"), "pass texts in a list"),
        ((predict, "absent.csv"), "absent.csv"),
        ((predict, {"text": ["a"]}), "an object of type dict is not a dataset"),
        ((predict, []), "at least one row"),
        ((predict, [("a", "b"), "c"]), "row 2 is of type str"),
        ((None, ROWS), "is not a model"),
        (("predict", ROWS), "'predict' does not name a model"),
        ((Estimator, ROWS), "is a class, not a model"),
    ],
)
def test_models_and_data_of_no_kind_are_reported(
    arguments: tuple[object, object], why: str, rules: sears.Ruleset
) -> None:
    with pytest.raises((UsageError, DataError)) as caught:
        sears.audit(*arguments, rules, scorer=None)
    assert why in caught.value.render()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"label": "lable"}, "did you mean 'label'"),
        ({"text": 3}, "text=3 does not name a column"),
        ({"text": ["text"]}, "text=['text'] does not name a column"),
        ({"label": 1}, "pass the name of a column, a string: label='1'"),
        ({"label": "label", "also": [0]}, "also=(0,) does not name a column"),
        ({"label": "label", "slices": 7}, "slices=(7,) does not name a column"),
        ({"label": "label", "also": "absent"}, "no column 'absent'"),
        ({"tagger": 3}, "type int is not a tagger"),
        ({"max_flip_rate": "a lot"}, "max_flip_rate='a lot' is not a rate"),
        ({"gates": ["tag:absent=1%"]}, "the gate tag:absent matches no rule"),
        ({"scorer": "absent"}, "there is no scorer 'absent'"),
        ({"scorer": lambda pairs: [1.0] * len(pairs)}, "tau="),
        ({"gates": "tag:absent=1%"}, "the gate tag:absent matches no rule"),
        ({"rates": [0.05]}, "'0.05' is not a rate of noise"),
        ({"limit": -1}, "limit=-1"),
        ({"limit": "3"}, "limit='3'"),
        ({"draws": 0}, "a whole number, 1 or more"),
        ({"examples": -1}, "a whole number, 0 or more"),
        ({"seed": "x"}, "seed='x'"),
        ({"jobs": 0}, "jobs=0"),
        ({"batch_size": "x"}, "batch_size='x'"),
        ({"sure_from": 3}, "a number from 0 to 1"),
        ({"tau": "half"}, "tau='half'"),
        ({"judge_by": "proofs"}, "choose rate or evidence or proof"),
        ({"comparison": None}, "None is not a comparison of answers"),
        ({"seed": None}, "seed=None is not valid"),
        ({"draws": None}, "draws=None is not valid"),
        ({"sure_from": None}, "sure_from=None is not valid"),
        ({"label": ["label"]}, "label=['label'] does not name a column"),
        ({"on_progress": 3}, "on_progress=3 is not a function"),
        ({"scorer": "judge", "device": "gpu"}, "device='gpu' is not valid"),
    ],
)
def test_arguments_that_mean_nothing_are_reported(
    options: dict[str, Any], why: str, rules: sears.Ruleset
) -> None:
    with pytest.raises((UsageError, DataError)) as caught:
        sears.audit(predict, ROWS, rules, **{"scorer": None, **options})
    told = caught.value.render()
    assert why in told
    assert "--" not in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"known": "absent"}, "no rule file, folder or shipped ruleset is called absent"),
        ({"readings": "absent.jsonl"}, "the journal absent.jsonl"),
        ({"rules": "3"}, "rules='3'"),
        ({"sample": -1}, "sample=-1"),
        ({"holdout": "x"}, "holdout='x'"),
        ({"propose_from": "rows"}, "choose paraphrases or adversaries"),
        ({"across": "shard"}, "choose any or shared or apart"),
        ({"across": "shared"}, "across='shared' needs several models"),
        ({"across": "shared"}, "model='every:SPEC,SPEC'"),
        ({"delta": 1}, "delta=1 is not valid"),
        ({"delta": None}, "delta=None is not valid"),
        ({"delta": 1.0}, "give a number from 0 up to, not including, 1"),
        ({"budget_seconds": "x"}, "budget_seconds='x' is not valid"),
        ({"budget_seconds": -1}, "give more than 0 seconds"),
        ({"budget_seconds": float("nan")}, "budget_seconds=nan is not valid"),
    ],
)
def test_choices_of_a_search_that_mean_nothing_are_reported(
    options: dict[str, Any], why: str
) -> None:
    own: dict[str, Any] = {
        "paraphraser": {text: [text.upper()] for text, _ in ROWS},
        "scorer": lambda pairs: [1.0] * len(pairs),
    }
    with pytest.raises((UsageError, DataError)) as caught:
        sears.discover(predict, ROWS, with_shipped=False, tau=0.5, **own, **options)
    assert why in caught.value.render()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"unit": "word"}, "choose text or sentence"),
        ({"every": True}, "every=True is for rewordings of sentences"),
        ({"every": True}, "add unit='sentence' or avoid_important=5"),
        ({"unit": "sentence", "top": 2}, "top=2 is for rewordings of whole texts"),
        ({"unit": "sentence", "budget_seconds": 2.5}, "budget_seconds=2.5 is for"),
    ],
)
def test_choices_of_rewordings_that_mean_nothing_are_told(
    options: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError) as caught:
        sears.adversaries(predict, ROWS, paraphraser={}, scorer=lambda pairs: [1.0 for _ in pairs],
                          tau=0.5, **options)  # fmt: skip
    assert why in caught.value.render()


def test_what_is_given_in_the_wrong_place_is_told(rules: sears.Ruleset) -> None:
    found = sears.discover(predict, ROWS, paraphraser=reword, scorer=close, with_shipped=False)
    for call, why in (
        (lambda: sears.audit(predict, rules, ROWS, scorer=None), "rules come after the model"),
        (lambda: sears.audit(predict, None, rules, scorer=None), "data=None is for templates"),
        (lambda: sears.audit(predict, ROWS, [], scorer=None), "the list of rules is empty"),
        (lambda: sears.apply(["A movie."], []), "the list of rules is empty"),
        (lambda: sears.apply(["A movie."], rules, on_touched="skip"), "on_touched='skip'"),
        (lambda: sears.apply(["A movie."], rules, share="half"), "'half' is not a share"),
        (lambda: found.save(None), "NoneType is not a file"),
        (lambda: sears.fix(ROWS, ROWS, found, seeds=1), "give same_rows=True"),
        (lambda: sears.apply(["A movie."], rules, mode="chain", keep="label"),
         "leave out keep=, or choose mode='each'"),
        (lambda: sears.fix_by_amount(ROWS, ROWS, rules, amounts=None), "give one or more of none"),
        (lambda: sears.paraphrase(["a"], most=0, paraphraser=reword), "most=0 is not valid"),
        (lambda: sears.apply(["A movie."], "movie -> film"), "is a rule"),
        (lambda: sears.apply(["A movie."], "movie -> film"), "sears.parse('movie -> film')"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            call()
        assert why in caught.value.render()
    with pytest.raises(IndexError, match="there is no rule 7 among 2 rules"):
        rules[7]
    with pytest.raises(KeyError, match="did you mean 'review-film-movie'"):
        sears.load("synonyms/reviews")["review-film-movi"]


def test_one_name_or_number_is_as_good_as_a_list_or_a_text(tmp_path: Path) -> None:
    rules = sears.parse("movie -> film")
    row = {"text": "A movie.", "answer": "movie", "id": "a"}
    arrow = pytest.importorskip("pyarrow")
    rewriter = sears.arrow_rewriter(rules, column="text", protect="answer")
    assert rewriter(arrow.Table.from_pylist([row])).num_rows == 0
    for odd in ("mode", "scope", "on_touched"):
        with pytest.raises(UsageError, match=f"{odd}='x' is not valid"):
            sears.arrow_rewriter(rules, column="text", **{odd: "x"})  # type: ignore[arg-type]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.jsonl").write_text(json.dumps(row))
    report = sears.apply_folder(str(tmp_path / "in"), rules, str(tmp_path / "out"), column="text",
                                protect="answer")  # fmt: skip
    assert (report.tally.rows, report.tally.changed) == (1, 0)
    texts = [f"Movie {number}." for number in range(40)]
    assert sears.apply(texts, rules, share=0.25) == sears.apply(texts, rules, share="25%")
    for share in (2, 50, 0, -0.5, 1e-9, float("nan"), None):
        with pytest.raises(UsageError, match=f"share={share}") as refusal:
            sears.apply(texts, rules, share=share)  # type: ignore[arg-type]
        assert refusal.value.help == ("pass a number from 0.000001 to 1, or a string such as '50%'")
    with pytest.raises(UsageError, match="vectors=3 is not valid"):
        sears.apply(texts, rules, vectors=3)  # type: ignore[arg-type]


def test_folders_are_for_the_function_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    rules = sears.parse("movie -> film")
    for folder in ("rows", Path("rows")):
        with pytest.raises(UsageError, match="rows is a folder") as caught:
            sears.apply(folder, rules)
        assert "sears.apply_folder" in caught.value.help
    with pytest.raises(DataError, match="there is no folder nofold"):
        sears.apply_folder("nofold", rules, "new")
    with pytest.raises(DataError, match="rows has no files"):
        sears.apply_folder("rows", rules, "new")


def test_columns_that_could_be_meant_are_asked_for_by_their_argument() -> None:
    rows = [{"one": "A movie.", "two": "A play."}]
    with pytest.raises(DataError, match="text="):
        sears.audit(predict, rows, sears.parse("movie -> film"), scorer=None)


def test_a_model_that_fails_is_reported_with_its_own_words(rules: sears.Ruleset) -> None:
    def failing(texts: list[str]) -> list[str]:
        raise ValueError("no such layer: 12")

    with pytest.raises(ModelError, match="no such layer: 12"):
        sears.audit(failing, ROWS, rules, scorer=None)


def test_where_nothing_is_right_the_error_says_what_the_model_answers(rules: sears.Ruleset) -> None:
    """Also in a notebook, where the table has no room for it."""
    with pytest.warns(UserWarning, match="It answers '0', '1'; the labels are 'bad', 'good'"):
        sears.audit(lambda texts: [int("good" in text) for text in texts], ROWS, rules, scorer=None)


def test_a_label_that_the_model_never_answers_is_a_warning(rules: sears.Ruleset) -> None:
    rows = [(f"A {each} {word} day.", word) for each in range(20) for word in ("BAD", "good")]
    with pytest.warns(UserWarning, match="^The model never answers 'BAD', and its answer 'bad'"):
        sears.audit(
            lambda texts: ["good" if "good" in text else "bad" for text in texts], rows, rules,
            scorer=None,
        )  # fmt: skip


def test_of_several_models_the_one_that_is_never_right_is_named(rules: sears.Ruleset) -> None:
    models = {"mine": predict, "other": lambda texts: ["0"] * len(texts)}
    with pytest.warns(UserWarning, match="^other: The model gets no row right"):
        sears.audit(models, ROWS, rules, scorer=None)


def test_what_an_endpoint_refuses_is_reported_with_arguments(rules: sears.Ruleset) -> None:
    def refusing(texts: list[str]) -> list[str]:
        raise RowsRefused("no", help="--on-error skip leaves them out")

    with pytest.raises(RowsRefused) as caught:
        sears.audit(refusing, ROWS, rules, scorer=None)
    assert caught.value.help == "on_error='skip' leaves them out"


class OfMineError(UsageError):
    code = 0


def test_an_error_of_ones_own_keeps_what_it_holds() -> None:
    def reword_none(texts: list[str]) -> list[list[str]]:
        error = OfMineError("no", help="give --tau")
        error.code = 7
        raise error

    with pytest.raises(OfMineError) as caught:
        sears.paraphrase(["A good movie."], paraphraser=reword_none)
    assert (caught.value.help, caught.value.code) == ("give tau=", 7)


def test_a_column_of_numbers_is_an_error_that_says_how_to_make_it_text(
    rules: sears.Ruleset,
) -> None:
    rows = [{"text": "A good movie.", "length": 13, "label": "good"}]
    with pytest.raises(DataError, match="length is 13, which is not text") as caught:
        sears.audit(predict, rows, rules, label="label", also="length", scorer=None)
    assert "data.astype({'length': str})" in caught.value.help


def test_progress_is_reported(rules: sears.Ruleset) -> None:
    stages: list[str] = []
    sears.audit(predict, ROWS, rules, scorer=None,
                on_progress=lambda stage, done, total: stages.append(stage))  # fmt: skip
    assert "asking about rows" in stages
    sears.discover(predict, ROWS, paraphraser=reword, scorer=close, with_shipped=False,
                   on_progress=lambda stage, done, total: stages.append(stage))  # fmt: skip
    [ahead] = [stage for stage in stages if stage.startswith("the search will take about ")]
    assert ahead.startswith("the search will take about a minute on an idle machine")
    assert ahead.endswith(" questions")


def test_rows_that_contradict_each_other_are_reported(rules: sears.Ruleset) -> None:
    rows = [("A good movie.", "good"), ("A good movie.", "bad")]
    with pytest.warns(UserWarning, match=r"rows 1 and 2 \('good' and 'bad'\)"):
        sears.audit(predict, rows, rules, scorer=None)


def test_all_that_keeps_rules_from_running_together_is_reported_with_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requirements, "vectors_installed", lambda name=None: False)
    for run in (
        lambda: sears.apply(["A fun film."], "noise"),
        lambda: sears.audit(predict, ROWS, "noise", scorer=None),
        lambda: sears.augment(ROWS, "noise"),
        lambda: sears.fix(ROWS, ROWS, "noise"),
    ):
        with pytest.raises(RuleSyntaxError) as refusal:
            run()
        codes = [finding.code for finding in refusal.value.diagnostics]
        assert codes[:2] == ["E410", "E352"]
        # Processes pass errors on like this.
        passed = copy.copy(refusal.value)
        assert passed.help == refusal.value.help
        assert passed.help == "these run together: ['noise/look-alikes', 'noise/typing']"


RULES = sears.parse("movie -> film")
CALLS: dict[str, Callable[[Any], object]] = {
    "parse": sears.parse,
    "load": sears.load,
    "load_tagger": sears.load_tagger,
    "load_predictor": sears.load_predictor,
    "compile_rules": lambda given: sears.compile_rules([given]),
    "compile_rules, several": lambda given: sears.compile_rules(given or None),
    "compile_rules, tagger": lambda given: sears.compile_rules([RULES], tagger=given or 3),
    "run_tests": sears.run_tests,
    "generate": sears.generate,
    "TagCache": lambda given: sears.TagCache(3 if isinstance(given, str | None) else given),
    "apply": lambda given: sears.apply(given or 3, RULES),
    "apply, rules": lambda given: sears.apply(["A movie."], given or 3),
    "apply_folder": lambda given: sears.apply_folder(given, RULES, "new"),
    "apply_folder, output": lambda given: sears.apply_folder(".", RULES, given or 3),
    "arrow_rewriter": lambda given: sears.arrow_rewriter(given or 3, column="text"),
    "arrow_rewriter, column": lambda given: sears.arrow_rewriter(
        RULES, column=3 if isinstance(given, str) else given
    ),
    "audit": lambda given: sears.audit(given, ROWS, RULES, scorer=None),
    "audit, data": lambda given: sears.audit(predict, given, RULES, scorer=None),
    "augment": lambda given: sears.augment(given, RULES),
    "augment, rules": lambda given: sears.augment(ROWS, given),
    "compare": lambda given: sears.compare(given, given),
    "predict_errors": sears.predict_errors,
    "discover": lambda given: sears.discover(given, ROWS),
    "discover, data": lambda given: sears.discover(predict, given),
    "adversaries": lambda given: sears.adversaries(given, ROWS),
    "adversaries, data": lambda given: sears.adversaries(predict, given),
    "score": sears.score,
    "paraphrase": sears.paraphrase,
    "vet": lambda given: sears.vet(given, ROWS, RULES),
    "vet, rules": lambda given: sears.vet(predict, ROWS, given),
    "fix": lambda given: sears.fix(given, ROWS, RULES, label="label"),
    "fix, held out": lambda given: sears.fix(ROWS, given, RULES, label="label"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_a_function_cannot_take_is_reported_with_what_to_give(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (None, 3, b"movie -> film", [], "absent/film.sear"):
        with pytest.raises(sears.SearsError) as caught:
            CALLS[name](given)
        assert caught.value.help or isinstance(caught.value, RuleSyntaxError | DataError), given


def test_texts_of_a_matcher_stand_in_a_list() -> None:
    matcher = RULES.compile()
    for given in (None, 3, iter(["A movie."]), {"A movie."}, {"A movie.": 1}, b"A movie."):
        with pytest.raises(UsageError, match="of type") as caught:
            matcher.apply(given)  # type: ignore[arg-type]
        assert caught.value.help
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(["A movie.", "A show."], index=[7, 0])
    for texts in (column, list(column), column.to_numpy()):
        assert [(each.row, each.text) for each in matcher.apply(texts)] == [(0, "A film.")]
        assert [each.text for each in matcher.chain(texts)] == ["A film.", "A show."]
    with pytest.raises(UsageError, match="type DataFrame is not a list of texts"):
        matcher.apply(column.to_frame())


def test_a_text_where_a_name_is_wanted_is_reported_however_long_it_is(tmp_path: Path) -> None:
    """The system cannot have a file with such a name, and refuses to look for one."""
    long = "A movie that I saw. " * 40
    calls: list[Callable[[], object]] = [
        lambda: sears.apply(long, RULES),
        lambda: sears.apply(["A movie."], long),
        lambda: sears.load(long),
        lambda: sears.audit(predict, long, RULES, scorer=None),
        lambda: sears.audit(f"hf:{long}", ROWS, RULES, scorer=None),
        lambda: sears.compare(long, long),
        lambda: sears.load_tagger(f"spacy:{long}"),
    ]
    for call in calls:
        with pytest.raises(sears.SearsError):
            call()


def test_a_warning_points_at_the_line_of_the_user() -> None:
    rows = [("A fun movie.", "good"), ("A play.", "good")]
    with pytest.warns(UserWarning, match="1 of 2 rows has no paraphrase") as caught:
        sears.adversaries(
            lambda texts: ["good" for _ in texts], rows, tau=0.5,
            paraphraser={"A fun movie.": ["A fun film."]},
            scorer=lambda pairs: [1.0 for _ in pairs],
        )  # fmt: skip
    assert [each.filename for each in caught] == [__file__]


def test_a_loaded_model_is_asked_as_it_was_loaded(rules: sears.Ruleset) -> None:
    def refusing(texts: list[str]) -> list[str]:
        if any("film" in text for text in texts):
            raise RowsRefused("no", help="")
        return predict(texts)

    movies = sum("movie" in text for text, _ in ROWS)
    loaded = CachedPredictor(CallablePredictor(refusing), on_error="skip")
    for batch_size in (None, 4):
        with pytest.warns(UserWarning, match=f"refused {movies} texts, left out"):
            found = sears.audit(
                loaded, ROWS, rules, label="label", scorer=None, batch_size=batch_size
            )
        assert (found.rules[0].flips.count, found.rules[0].refused) == (0, movies)
    with pytest.raises(UsageError, match="compared as exact, not as set") as caught:
        sears.audit(sears.load_predictor(predict), ROWS, rules, comparison="set", scorer=None)
    assert "load it with comparison='set'" in caught.value.help
