"""Unusual tables: no rows, missing values, an index with a name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brittle_model import ROWS, close, predict, reword

import sears_dsl as sears
from sears_dsl.api.arguments import in_python
from sears_dsl.errors import DataError, UsageError

MOVIES = [{"id": "a", "text": "A movie."}, {"id": "b", "text": "A book."}]


def no_rows(library: str) -> Any:
    """A table of a library that has columns and no row."""
    columns: dict[str, list[str]] = {"text": [], "label": []}
    module = pytest.importorskip(library)
    if library == "datasets":
        return module.Dataset.from_dict(columns)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


CALLS: dict[str, Callable[[Any, sears.Ruleset], Any]] = {
    "audit": lambda rows, rules: sears.audit(predict, rows, rules, label="label", scorer=None),
    "discover": lambda rows, _: sears.discover(
        predict, rows, label="label", paraphraser=reword, scorer=close
    ),
    "adversaries": lambda rows, _: sears.adversaries(
        predict, rows, label="label", paraphraser=reword, scorer=close
    ),
    "augment": lambda rows, rules: sears.augment(rows, rules, label="label"),
    "fix": lambda rows, rules: sears.fix(rows, ROWS, rules, label="label"),
    "score": lambda rows, _: sears.score(rows, original="text", rewrite="label", scorer=close),
    "paraphrase": lambda rows, _: sears.paraphrase(rows, text="text", paraphraser=reword),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "datasets", "pyarrow"])
@pytest.mark.parametrize("name", CALLS)
def test_a_table_without_rows_is_reported_as_a_list_without_rows_is(
    name: str, library: str, rules: sears.Ruleset
) -> None:
    with pytest.raises(DataError, match="the data has no rows"):
        CALLS[name](no_rows(library), rules)


@pytest.mark.parametrize("options", [{}, {"keep": ["id"]}, {"id_column": "id"}, {"draws": 2}])
def test_records_of_polars(options: dict[str, Any], rules: sears.Ruleset) -> None:
    polars = pytest.importorskip("polars")
    records = sears.apply(polars.DataFrame(MOVIES), rules, column="text", **options)
    assert isinstance(records, polars.DataFrame)
    assert records["rewritten"].to_list() == [
        each["rewritten"] for each in sears.apply(MOVIES, rules, column="text", **options)
    ]


def test_rows_of_a_file_of_polars_are_copied(folder: Path, rules: sears.Ruleset) -> None:
    polars = pytest.importorskip("polars")
    (folder / "in").mkdir()
    polars.DataFrame(MOVIES).write_ipc(folder / "in" / "rows.arrow", compat_level=None)
    sears.apply_folder(folder / "in", rules, folder / "out", column="text", draws=2, keep=["id"])
    assert polars.read_ipc(folder / "out" / "rows.arrow")["id"].to_list() == ["a", "a"]


def test_a_frame_is_what_the_file_is_that_it_was_read_from(
    folder: Path, rules: sears.Ruleset
) -> None:
    pandas = pytest.importorskip("pandas")
    path = folder / "gaps.csv"
    path.write_text("text,label\nA movie.,good\n,good\nA movie ends.,good\n", "utf-8")
    frame = pandas.read_csv(path)
    results = []
    for rows in (path, frame, frame.astype(object), frame.to_dict("records")):
        with pytest.warns(UserWarning, match="1 row has an empty text; the first is row 2"):
            found = sears.audit(predict, rows, rules, text="text", label="label", scorer=None)
        results.append((found.document.data.sha256, found.columns["failures"]))
        assert len(sears.augment(rows, rules, text="text", label="label")) == 5
    assert results == results[:1] * 4


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "list", "jsonl", "parquet", "csv"])
def test_a_row_without_a_text_is_the_same_everywhere(
    kind: str, folder: Path, rules: sears.Ruleset
) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"text": [None, "A movie."], "label": ["good", "good"]}
    frame = polars.DataFrame(columns)
    data: Any = folder / f"gaps.{kind}"
    if kind == "csv":
        frame.write_csv(data)
    elif kind == "parquet":
        frame.write_parquet(data)
    elif kind == "jsonl":
        frame.write_ndjson(data)
    else:
        data = {"pandas": pandas.DataFrame(columns), "polars": frame, "pyarrow": frame.to_arrow(),
                "list": frame.to_dicts()}[kind]  # fmt: skip
    with pytest.warns(UserWarning, match="1 row has an empty text; the first is row 1"):
        found = sears.audit(predict, data, rules, text="text", label="label", scorer=None)
    assert found.rules[0].flips.count == 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "list", "numbers that lack", "missing"])
def test_a_missing_value_is_no_text_nan(kind: str, rules: sears.Ruleset) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame(
        {"text": ["A movie.", "One movie.", "My movie."], "g": ["nan", None, None]}
    )
    data: Any = {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "list": frame.to_dict("records"),
        "numbers that lack": frame.assign(g=["nan", float("nan"), None]).astype(object),
        "missing": frame.astype("string").to_dict("records"),  # pandas.NA
    }[kind]
    found = sears.audit(predict, data, rules, text="text", slices="g", scorer=None)
    parts = {each.value: each.rows for each in found.document.slices if each.slicing == "g"}
    assert parts == {"nan": 1, "(empty)": 2}


def test_columns_whose_names_are_written_alike_are_refused(rules: sears.Ruleset) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({1: ["A movie."], "1": ["A play."]})
    for call in (sears.apply, sears.augment):
        with pytest.raises(DataError, match="two columns of the data frame have the same name, 1"):
            call(frame, rules)


def test_audits_whose_names_are_written_alike_are_refused(rules: sears.Ruleset) -> None:
    audit = sears.audit(predict, ROWS, rules, scorer=None)
    with pytest.raises(UsageError, match="two audits have the same name"):
        sears.predict_errors({1: audit, "1": audit}, ROWS)  # type: ignore[dict-item]


@pytest.mark.usefixtures("folder")
def test_a_file_that_several_names_stand_for_counts_once(rules: sears.Ruleset) -> None:
    Path("template.sear").write_text('template so: "So."\n  label: 1\n', "utf-8")
    names = [".", "rules.sear", Path("template.sear").absolute()]
    assert len(sears.apply(["A movie."], names)) == 1
    assert sears.generate(names).columns["text"] == ["So."]
    loaded = sears.load("rules.sear")
    for twice in (["rules.sear", loaded], [loaded, sears.load("rules.sear")]):
        assert len(sears.apply(["A movie."], twice)) == 1
    # Parts of one ruleset are not the same.
    assert len(sears.apply(["A movie, a play."], [rules[:1], rules[1:]])) == 2


@pytest.mark.parametrize("option", ["also", "image", "choices"])
def test_columns_that_the_built_in_model_does_not_read_are_refused(
    option: str, rules: sears.Ruleset
) -> None:
    rows = [{"text": f"{text} {label}", "more": "x", "label": label} for text, label in ROWS]
    with pytest.raises(UsageError, match="the built-in model reads one column, so not more"):
        sears.fix(rows, rows, rules, label="label", seeds=1, **{option: "more"})  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])
@pytest.mark.parametrize("kind", ["int", "float", "date", "uint8"])
def test_ids_whose_type_holds_no_new_ones_are_reported(
    kind: str, library: str, rules: sears.Ruleset
) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    days = pandas.to_datetime(["2020-01-01", "2020-01-02"])
    ids: Any = {"int": [1, 2], "float": [1.0, 2.0], "date": days, "uint8": [254, 255]}[kind]
    frame = pandas.DataFrame({"id": ids, "text": ["A movie.", "A play."]})
    frame = frame.astype({"id": "uint8"}) if kind == "uint8" else frame
    data = {
        "pandas": lambda: frame,
        "polars": lambda: polars.from_pandas(frame),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "datasets": lambda: pytest.importorskip("datasets").Dataset.from_pandas(frame),
    }[library]()
    message = "column id is of type .*, which cannot hold the new values"
    with pytest.raises(DataError, match=message) as caught:
        sears.apply(data, rules, column="text", mode="chain", with_originals=True)
    assert "another type first, such as text" in caught.value.help
    if kind != "int":
        with pytest.raises(DataError, match=message):
            sears.augment(data, rules, text="text")


def test_lists_in_cells_are_read_wherever_they_come_from(
    folder: Path, rules: sears.Ruleset
) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    whole = {"text": "Bob saw a movie.", "label": ["good", "fine"], "spans": [[0, 3]],
             "start": 0, "end": 3, "answer": "Bob"}  # fmt: skip
    bare = {"text": "A movie.", "label": ["bad"]}
    pandas.DataFrame([whole, bare]).to_parquet(folder / "cells.parquet", index=False)
    frame = pandas.read_parquet(folder / "cells.parquet")
    assert type(frame["label"][0]).__name__ == "ndarray"
    for spans in ("text=spans", "text=start:end", "text=start+answer"):
        for data in (
            "cells.parquet",
            frame,
            frame.to_dict("records"),
            polars.read_parquet(folder / "cells.parquet"),
        ):
            found = sears.audit(
                predict, data, rules, text="text", label="label", spans=spans, scorer=None
            )
            assert found.rules[0].right == 1
            assert len(sears.apply(data, rules, column="text", spans=spans)) == 2
            assert len(sears.augment(data, rules, text="text", spans=spans)) == 4
    kept = sears.apply(frame, rules, column="text", keep="label")["label"]
    assert kept[0] is frame["label"][0]


@pytest.mark.parametrize("allowed", [None, ["A movie.", "A film.", "x"]])
def test_categories_of_polars_stay(allowed: list[str] | None, rules: sears.Ruleset) -> None:
    polars = pytest.importorskip("polars")
    kind = polars.Categorical if allowed is None else polars.Enum(allowed)
    frame = polars.DataFrame({"text": ["A movie.", None, "x"]}, schema={"text": kind})
    chained = sears.apply(frame, rules, mode="chain")
    assert (chained["text"].to_list(), chained.schema) == (["A film.", None, "x"], frame.schema)
    more = sears.augment(frame, rules)
    assert (more["text"].to_list()[-1], more.schema["text"]) == ("A film.", frame.schema["text"])
    kept = sears.apply(frame.with_columns(rule="text", t=polars.lit("A movie.")), rules,
                       column="t", keep="text")  # fmt: skip
    assert (kept["text"].to_list(), kept.schema["text"]) == (frame["text"].to_list(), kind)
    assert kept["rule"].to_list() == ["film"] * 3


def test_an_enum_of_polars_that_does_not_allow_a_new_text_is_reported(
    rules: sears.Ruleset,
) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": ["A movie."]}, schema={"text": polars.Enum(["A movie."])})
    for call in (sears.augment, lambda data, rules: sears.apply(data, rules, mode="chain")):
        with pytest.raises(DataError, match=r"column text is of type Enum.*A film"):
            call(frame, rules)


@pytest.mark.parametrize("kind", ["int64", "float64", "bool_"])
def test_labels_of_numpy_are_labels_in_pairs_too(kind: str, rules: sears.Ruleset) -> None:
    numpy = pytest.importorskip("numpy")
    labels = numpy.ones(3, getattr(numpy, kind))
    pairs = list(zip(["A movie.", "My movie.", "One movie."], labels, strict=True))
    found = sears.audit(lambda texts: labels[[0] * len(texts)], pairs, rules, scorer=None)
    assert found.rules[0].right == 3


def test_an_index_with_a_name_does_not_count_rows(rules: sears.Ruleset) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["A movie.", "A play."]}, index=pandas.RangeIndex(10, 12))
    named = frame.rename_axis("id")
    assert list(sears.augment(named, rules).index) == [10, 11, 10, 11]
    both = sears.apply(named, rules, mode="chain", with_originals=True)
    assert list(both.index) == [10, 11, 10, 11]
    assert list(sears.augment(frame, rules).index) == [10, 11, 12, 13]


def test_labels_that_lack_are_reported_alike_and_counted_by_augment(
    folder: Path, rules: sears.Ruleset
) -> None:
    pandas = pytest.importorskip("pandas")
    path = folder / "gaps.csv"
    path.write_text("text,label\nA movie.,1\nA movie ends.,\n", "utf-8")
    frame = pandas.read_csv(path)
    for rows in (path, frame, frame.to_dict("records")):
        with pytest.raises(DataError, match="row 2: label is empty, which is not a label"):
            sears.audit(predict, rows, rules, label="label", scorer=None)
        with pytest.warns(UserWarning, match="1 row has no label and no labelled rewrites"):
            sears.augment(rows, rules, label="label")


def test_kept_columns_of_a_frame_keep_what_they_lack(rules: sears.Ruleset) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["A movie."] * 2, "note": [float("nan"), "x"]}, dtype=object)
    kept = sears.apply(frame, rules, column="text", keep=["note"])
    pandas.testing.assert_series_equal(kept["note"], frame["note"])


def test_an_index_called_as_a_column_of_records_gives_ids_and_no_second_column(
    rules: sears.Ruleset,
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MOVIES[::-1])
    records = sears.apply(frame.set_index("id"), rules, column="text")
    assert (list(records["id"]), list(records.index)) == (["a"], ["a"])
    assert list(records.reset_index()["id"]) == ["a"]
    renamed = sears.apply(frame.set_index("id").rename_axis("rule"), rules, column="text")
    assert list(renamed.reset_index()["id"]) == ["2"]


def test_known_rules_are_given_as_rules_of_an_audit_are(folder: Path) -> None:
    rules = sears.parse("rule film: movie -> film\n")
    options: dict[str, Any] = {
        "paraphraser": {text: [text.upper()] for text, _ in ROWS},
        "scorer": close,
        "with_shipped": False,
    }
    sources = []
    for known in (rules, [rules], "rules.sear", ["rules.sear", rules]):
        found = sears.discover(predict, ROWS, known=known, **options)
        assert found.rules[0].text == "movie -> film"
        sources.append(found.rules[0].source)
    assert sources == ["<rules>", "<rules>", "rules.sear", "rules.sear"]
    assert sears.discover(predict, ROWS, known=found, **options).rules[0].source == "found"
    with pytest.raises(UsageError, match="rules are a Ruleset, a name of rules"):
        sears.discover(predict, ROWS, known=3, **options)


def test_warnings_speak_of_arguments() -> None:
    from sears_dsl.api.arguments import remark

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        remark("note: find them anew, or choose --scorer judge; if yours: --scorer own.words:close")
    assert str(caught[0].message) == (
        "find them anew, or choose scorer='judge'; if yours: scorer='own.words:close'"
    )


def test_paraphrases_are_of_the_texts_that_have_some() -> None:
    some = sears.paraphrase(["A film.", "-"], paraphraser={"A film.": ["A movie."], "-": []})
    assert some.summary == "1 paraphrase of 1 of 2 texts"


def test_half_a_character_is_reworded_like_any_other() -> None:
    half = sears.paraphrase(["\ud800 film"], paraphraser={"\ud800 film": ["\ud800 movie"]})
    assert half[0] == ["\ud800 movie"]


@pytest.mark.parametrize(
    ("advice", "in_words_of_python"),
    [
        ("pip install --no-deps llm==0.1.2 --force-reinstall; or --scorer none",
         "pip install --no-deps llm==0.1.2 --force-reinstall; or scorer=None"),
        ("pip install 'sears-dsl[judge]' --force-reinstall, or choose --scorer pivot",
         "pip install 'sears-dsl[judge]' --force-reinstall, or choose scorer='pivot'"),
        ("start one with `ray start --head`, or leave out --address",
         "start one with `ray start --head`, or leave out address="),
        ("write --compare within:0.5, or --tagger fast:pt, or --model every:a:f,b:f.",
         "write comparison='within:0.5', or tagger='fast:pt', or model='every:a:f,b:f'."),
        ("use --format csv-tab or --format tsv", "use format='csv-tab' or format='tsv'"),
        ("write --gate robust:all=10% and --max-flip-rate 5%",
         "write gates='robust:all=10%' and max_flip_rate='5%'"),
        ("choose --on-touched keep, or --response-map /predictions/*/label; or none",
         "choose on_touched='keep', or response_map='/predictions/*/label'; or none"),
    ],
)  # fmt: skip
def test_advice_names_arguments_and_leaves_commands_alone(
    advice: str, in_words_of_python: str
) -> None:
    with pytest.raises(UsageError) as error, in_python():
        raise UsageError("no", help=advice)
    assert error.value.help == in_words_of_python
