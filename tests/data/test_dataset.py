"""Columns, ids and spans of datasets, in files and in memory."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_matcher import FILM, WordMatcher

from sears_dsl.batch.in_memory import apply_to
from sears_dsl.batch.plan import Tally
from sears_dsl.data.batches import Batch, ReadOptions
from sears_dsl.data.dataset import (
    Dataset,
    IdLedger,
    default_column,
    format_of,
    require_column,
    row_ids,
    write_columns,
)
from sears_dsl.data.labelled import read_labelled
from sears_dsl.data.protection import Protection
from sears_dsl.data.sources import open_rows
from sears_dsl.data.span_columns import SpanColumn, moved_spans, placed_spans
from sears_dsl.errors import DataError, SearsError, UsageError

MATCHER = WordMatcher(FILM)


def batch(**columns: list[Any]) -> Batch:
    return Batch(0, len(next(iter(columns.values()))), columns)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"1": ["0", "1"], "2": ["good", "10"]}, "2"),
        ({"id": ["a"], "label": ["0"], "review": ["fine"], "title": ["x"]}, "review"),
        ({"id": ["a"], "body": ["fine"]}, "body"),
        ({"score": [1, 2], "body": ["fine", None]}, "body"),
    ],
)
def test_the_only_text_is_taken(columns: dict[str, list[Any]], expected: str) -> None:
    assert default_column(batch(**columns), where="a.csv") == expected


def test_a_choice_is_left_to_the_user() -> None:
    with pytest.raises(DataError, match=r"it may be title, body") as caught:
        default_column(batch(title=["x"], body=["y"], n=["1"]), where="a.csv")
    assert "--column" in caught.value.help
    with pytest.raises(DataError, match="which column holds the text"):
        default_column(batch(question=["x"], text=["y"]), where="a.csv")
    with pytest.raises(DataError, match=r"'sentense'.*columns are id, sentence") as caught:
        require_column(["id", "sentence"], "sentense", where="a.csv")
    assert caught.value.help == "did you mean 'sentence'?"


def test_a_file_whose_first_line_is_a_row_is_reported() -> None:
    """This happens when a column is looked up, since such a file has no other fault."""
    for names in (["A film.", "good"], ["what color is the tray", "red"]):
        with pytest.raises(DataError) as told:
            require_column(names, "text", where="a.csv")
        assert "if its first line is a row" in told.value.help
    with pytest.raises(DataError) as told:
        require_column(["review text", "label"], "txt", where="a.csv")
    assert "first line" not in told.value.help


def test_rows_piped_in_without_a_format_are_reported() -> None:
    """Standard input has no name that shows its format, so a csv is read as lines of text."""
    with pytest.raises(DataError) as told:
        require_column(["text"], "label", where="-")
    assert "--format csv" in told.value.help
    with pytest.raises(DataError) as told:
        require_column(["text"], "label", where="a.txt")
    assert "--format" not in told.value.help


@pytest.mark.parametrize("written", ["premise,hypothesis", "premise + hypothesis"])
def test_columns_that_are_named_together_are_named_one_by_one(written: str) -> None:
    with pytest.raises(DataError) as told:
        require_column(["id", "premise", "hypothesis"], written, where="a.csv")
    assert told.value.help == "name each by itself: premise, hypothesis"
    with pytest.raises(DataError) as told:
        require_column(["id", "premise", "hypothesis"], "premise,hypotheses", where="a.csv")
    assert "by itself" not in told.value.help


def test_ids_are_the_column_or_the_row_numbers() -> None:
    rows = Batch(10, 2, {"id": [7, "x"]})
    assert row_ids(rows, "id") == ["7", "x"]
    assert row_ids(rows, None) == ["11", "12"]
    with pytest.raises(DataError, match=r"row 1 has no id"):
        row_ids(batch(id=[float("nan"), 1.5]), "id")
    IdLedger("a.csv").add(["9" * 5_000], first=0)  # Python makes no number of so many digits
    with pytest.raises(DataError, match=r"^a\.csv: row 12 has no id") as told:
        row_ids(Batch(10, 2, {"id": [7, None]}), "id", where="a.csv")
    assert told.value.help


@given(
    counted=st.builds(range, st.integers(0, 9), st.integers(0, 60)),
    ids=st.lists(
        st.integers(0, 400).map(str) | st.sampled_from(["00", "07", "a", "²"]), max_size=120
    ),
    cuts=st.lists(st.integers(0, 180), max_size=5),
)
def test_the_first_id_that_is_there_twice_is_reported_with_both_rows(
    counted: range, ids: list[str], cuts: list[int]
) -> None:
    ids = [*map(str, counted), *ids]
    ledger = IdLedger("a.csv")
    places = sorted({0, len(ids), *(cut for cut in cuts if cut < len(ids))})
    message = ""
    try:
        for start, end in pairwise(places):
            ledger.add(ids[start:end], first=start)
    except DataError as error:
        message = error.message
    assert bool(message) == (len(set(ids)) < len(ids))
    if message:
        words = message.split()
        earlier, later = int(words[2]) - 1, int(words[4]) - 1
        assert earlier < later
        assert ids[earlier] == ids[later]
        assert repr(ids[later]) in message


def test_a_json_file_of_an_object_is_taken_for_squad(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(' {"data": []}')
    assert format_of(str(path)).name == "squad"
    path.write_text("[]")
    assert format_of(str(path)).name == "json"
    assert Dataset(str(path)).first.rows == 0


# ---------------------------------------------------------------- spans


@pytest.mark.parametrize(
    "value",
    [
        [[3, 6]],
        [{"start": 3, "end": 6, "label": "COLOR"}],
        {"start": 3, "end": 6},
        [{"text": "red", "answer_start": 3}],
        {"text": ["red"], "answer_start": [3]},
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_spans_move_in_the_form_that_they_have(value: Any, as_text: bool) -> None:
    written = json.dumps(value) if as_text else value
    before = json.dumps(written)
    spec = SpanColumn.parse("text=spans")
    moved = moved_spans(spec, {"spans": written}, "is red", lambda s, e: (s + 100, e + 100))
    assert isinstance(moved, dict)
    assert json.dumps(written) == before
    assert type(moved["spans"]) is type(written)
    there = "." * 103 + "red"
    assert placed_spans(spec, moved, there) == ([(103, 106)], "", "")
    text = moved["spans"] if as_text else json.dumps(moved["spans"])
    assert text.replace("10", "").replace("3", "").replace("6", "") == json.dumps(value).replace(
        "3", ""
    ).replace("6", "")


def test_what_stands_beside_a_span_in_json_stays_readable() -> None:
    row = {"spans": '[[3, 6, "é"]]'}
    spec = SpanColumn.parse("text=spans")
    assert moved_spans(spec, row, "is red", lambda s, e: (s + 1, e + 1)) == {
        "spans": '[[4, 7, "é"]]'
    }


def test_a_span_that_is_not_at_its_place_is_reported() -> None:
    spec = SpanColumn.parse("text=start+answer")

    def carry(start: int, end: int) -> tuple[int, int]:
        return start, end

    row = {"start": 4, "answer": "red"}
    assert moved_spans(spec, row, "is red", carry) == (
        "the span 4:7 is outside of the text, which has 6 characters"
    )
    assert (
        moved_spans(spec, {**row, "start": 2}, "is red", carry)
        == "the text at position 2 is not 'red'"
    )
    assert moved_spans(spec, {**row, "start": None}, "is red", carry) == {}
    _, _, why = placed_spans(SpanColumn("text", "spans"), {"spans": [[4, 2]]}, "is red")
    assert why.startswith("the span 4:2 is outside of the text")
    with pytest.raises(DataError, match="'x' is not a position"):
        moved_spans(spec, {**row, "start": "x"}, "is red", carry)


@pytest.mark.parametrize("written", ["context", "=answers", "context="])
def test_a_span_column_that_says_too_little_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="does not name a text column and its spans"):
        SpanColumn.parse(written)


@pytest.mark.parametrize("value", ["no json", [["a"]], [3], 7, [{"start": 1}], [[0.5, 2]]])
def test_what_is_no_span_is_refused(value: Any) -> None:
    with pytest.raises(DataError):
        placed_spans(SpanColumn("text", "spans"), {"spans": value}, "is red")


@pytest.mark.parametrize(
    ("texts", "starts"),
    [(["red", "is"], [3]), (["red"], [3, 0]), ([None], [3]), ([5], [3]), (["red"], [])],
)
def test_answers_as_on_hubs_have_a_text_for_each_start(texts: list[Any], starts: Any) -> None:
    row = {"text": "is red", "answers": {"text": texts, "answer_start": starts}}
    with pytest.raises(DataError, match="has not a text for each answer_start"):
        placed_spans(SpanColumn("text", "answers"), row, "is red")
    with pytest.raises(DataError, match=r"row 1, column answers: .* has not a text for each"):
        read_labelled(
            [row], column="text", protection=Protection((), (SpanColumn("text", "answers"),))
        )


# ---------------------------------------------------------------- in memory

TEXTS = ["What a movie", "It is", "movie and movie"]
CHAINED = ["Which a film", "It is", "film and movie"]
RECORDS = [
    ("1", "film", "What a film"),
    ("1", "which", "Which a movie"),
    ("3", "film", "film and movie"),
]


def triples(records: Any) -> list[tuple[str, str, str]]:
    return [(record["id"], record["rule"], record["rewritten"]) for record in records]


def test_lists_of_texts() -> None:
    tally = Tally()
    records = apply_to(TEXTS, MATCHER, tally=tally)
    assert triples(records) == RECORDS
    assert records[2]["edits"] == [[0, 5, "movie", "film"]]
    assert set(records[0]) == {"id", "rule", "original", "rewritten", "edits"}
    assert (tally.rows, tally.changed, tally.records) == (3, 2, 3)
    assert tally.rules["film"].rows == 2
    assert tally.rules["film"].examples[0].original == "What a movie"
    assert apply_to(TEXTS, MATCHER, mode="chain") == CHAINED
    assert apply_to(TEXTS, MATCHER, mode="chain", scope="all")[2] == "film and film"
    assert apply_to([], MATCHER) == []
    assert apply_to([], MATCHER, mode="chain") == []
    assert TEXTS[0] == "What a movie"


def test_lists_of_dictionaries_keep_everything_else() -> None:
    rows = [{"id": i, "q": text, "more": [i]} for i, text in enumerate(TEXTS, start=1)]
    rows.append({"id": 9, "q": None})
    with_numbers = [(int(name), *others) for name, *others in RECORDS]
    assert triples(apply_to(rows, MATCHER, column="q")) == with_numbers  # ids are those of the rows
    chained = apply_to(rows, MATCHER, column="q", mode="chain")
    assert chained == [
        *({**row, "q": text} for row, text in zip(rows, CHAINED, strict=False)),
        rows[3],
    ]
    assert chained[1] is rows[1]
    assert rows[0]["q"] == TEXTS[0]


def test_pandas_keeps_index_types_and_order() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "text": [*TEXTS, None],
            "kind": pandas.Categorical(["movie", "x", "x", "x"], ordered=True),
            "n": pandas.array([1, 2, None, 4], "Int64"),
        },
        index=[5, 3, 9, 1],
    )
    before = frame.copy(deep=True)
    records = apply_to(frame, MATCHER, column="text")
    assert triples(records.to_dict("records")) == RECORDS
    assert records.index.tolist() == [5, 5, 9]
    assert records["edits"].iloc[0] == [[7, 12, "movie", "film"]]
    chained = apply_to(frame, MATCHER, column=["text", "kind"], mode="chain")
    assert chained["text"].tolist()[:3] == CHAINED
    assert chained["kind"].tolist() == ["film", "x", "x", "x"]
    assert chained["kind"].cat.ordered
    assert chained.index.tolist() == [5, 3, 9, 1]
    assert chained["n"].equals(frame["n"])
    assert chained.dtypes["text"] == frame.dtypes["text"]
    pandas.testing.assert_frame_equal(frame, before)
    series = apply_to(frame["text"], MATCHER, mode="chain")
    assert series.name == "text"
    assert series.index.tolist() == [5, 3, 9, 1]
    assert series.tolist()[:3] == CHAINED
    records = apply_to(frame["text"], MATCHER)
    assert triples(records.to_dict("records")) == RECORDS
    assert records.index.tolist() == [5, 5, 9]
    records = apply_to(frame["text"].rename_axis("rule"), MATCHER)
    assert triples(records.reset_index().to_dict("records")) == RECORDS
    tens = pandas.DataFrame({"text": TEXTS}, index=pandas.RangeIndex(0, 30, 10))
    both = apply_to(tens, MATCHER, mode="chain", with_originals=True)
    assert both.index.tolist() == [0, 10, 20, 30, 40, 50]


def test_arrow_tables_and_batches_keep_their_schema() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"n": arrow.array([1, 2, 3], arrow.int8()), "text": TEXTS})
    table = arrow.concat_tables([table.slice(0, 1), table.slice(1)])
    for data in (table, table.combine_chunks().to_batches()[0]):
        records = apply_to(data, MATCHER)
        assert type(records) is type(data)
        assert triples(records.to_pylist()) == RECORDS
        chained = apply_to(data, MATCHER, mode="chain")
        assert type(chained) is type(data)
        assert chained.schema.equals(data.schema)
        assert chained.column("text").to_pylist() == CHAINED
    empty = apply_to(table.slice(0, 0), MATCHER, column="text")
    assert empty.num_rows == 0


def test_columns_of_one_name_stay_beside_a_rewritten_one() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table([arrow.array(TEXTS), [1, 2, 3], [4, 5, 6]], names=["text", "q", "q"])
    chained = apply_to(table, MATCHER, column="text", mode="chain")
    assert chained.column_names == ["text", "q", "q"]
    assert [column.to_pylist() for column in chained.columns] == [CHAINED, [1, 2, 3], [4, 5, 6]]
    for options in ({"column": "q"}, {"id_column": "q"}, {"keep": ["q"]}):
        with pytest.raises(DataError, match="two columns are named 'q'"):
            apply_to(table, MATCHER, **{"column": "text", **options})


def test_hugging_face_datasets_keep_features_and_selections() -> None:
    datasets = pytest.importorskip("datasets")
    info = datasets.DatasetInfo(description="Films.")
    columns = {"text": [*TEXTS, "skip"], "label": [0, 1, 0, 1]}
    data = datasets.Dataset.from_dict(columns, info=info, split="train")
    data = data.cast_column("label", datasets.ClassLabel(names=["neg", "pos"]))
    chosen = data.select([2, 0])
    chained = apply_to(chosen, MATCHER, mode="chain")
    assert chained.features == data.features
    assert (chained.info.description, str(chained.split)) == ("Films.", "train")
    assert list(chained["text"]) == [CHAINED[2], CHAINED[0]]
    assert list(chained["label"]) == [0, 0]
    records = apply_to(chosen, MATCHER)
    assert isinstance(records, datasets.Dataset)
    assert list(records["id"]) == ["1", "2", "2"]
    with pytest.raises(DataError, match="several datasets: train") as told:
        apply_to(datasets.DatasetDict(train=data), MATCHER)
    assert "data['train']" in told.value.help


def test_pairs_are_rows_of_a_text_and_a_label() -> None:
    pairs = list(zip(TEXTS, range(len(TEXTS)), strict=True))
    assert triples(apply_to(pairs, MATCHER)) == RECORDS
    chained = apply_to(pairs, MATCHER, mode="chain")
    assert [row["text"] for row in chained] == CHAINED
    assert [row["label"] for row in chained] == list(range(len(TEXTS)))
    assert apply_to([], MATCHER) == apply_to((), MATCHER, mode="chain") == []
    with pytest.raises(DataError, match="row 2 is of type str, but the first row is a pair"):
        apply_to([("A movie.", 1), "A movie."], MATCHER)


def test_paths_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(TEXTS, start=1)))
    assert triples(apply_to(path, MATCHER)) == RECORDS
    chained = apply_to(str(path), MATCHER, mode="chain")
    assert [row["text"] for row in chained] == CHAINED


def test_mistakes_in_memory_are_reported() -> None:
    with pytest.raises(DataError, match="an object of type dict is not a dataset"):
        apply_to({"text": TEXTS}, MATCHER)
    with pytest.raises(DataError, match="row 2 is of type str"):
        apply_to([{"text": "a"}, "b"], MATCHER)
    for mode in ("each", "chain"):
        with pytest.raises(DataError, match="row 2 has the key 1, which is not text"):
            apply_to([{"text": "a"}, {1: "b"}], MATCHER, column="text", mode=mode)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="rows 1 and 3 have the same id '4'"):
        apply_to([{"id": i, "text": "a"} for i in (4, 5, 4)], MATCHER)
    with pytest.raises(DataError, match=r"row 2: column text holds 3, of type int, not text"):
        apply_to([{"text": "a"}, {"text": 3}], MATCHER, column="text")
    with pytest.raises(DataError, match="row 1: column text has half of a surrogate pair"):
        apply_to(["a \ud800"], MATCHER)
    with pytest.raises(UsageError, match="there is no mode 'both'"):
        apply_to(["a"], MATCHER, mode="both")  # type: ignore[arg-type]
    # Options that do not go together are reported before a row is read.
    with pytest.raises(UsageError, match="there is no mode 'both'"):
        apply_to([], MATCHER, mode="both")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--mode each writes the original beside"):
        apply_to([{"text": 3}], MATCHER, with_originals=True)
    with pytest.raises(UsageError, match="nothing to rewrite: text is protected"):
        apply_to(["a"], MATCHER, protect=["text"])


# ---------------------------------------------------------------- protection and touched spans


@pytest.mark.parametrize(
    ("value", "free"),
    [
        ("a movie", 2),
        (["x", "a movie"], 2),
        ([[0, 7]], 1),
        ([{"start": 2, "end": 7}], 1),
        ("no such text", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_what_is_protected_stays(value: Any, free: int) -> None:
    text = 'a movie, "a movie" and the movie'
    (record,) = apply_to([{"text": text, "keep": value}], MATCHER, column="text", protect=["keep"])
    at = [2, 12, 27][free]
    assert record["rewritten"] == text[:at] + "film" + text[at + 5 :]


def test_a_protected_column_that_is_rewritten_is_left_alone() -> None:
    rows = [{"a": "movie", "b": "movie"}]
    chained = apply_to(rows, MATCHER, column=["a", "b"], protect=["a"], mode="chain")
    assert chained == [{"a": "movie", "b": "film"}]


def test_several_columns_are_told_apart() -> None:
    rows = [{"a": "movie", "b": "What movie"}]
    records = apply_to(rows, MATCHER, column=["b", "a"])
    assert [(r["column"], r["rule"]) for r in records] == [
        ("b", "film"),
        ("b", "which"),
        ("a", "film"),
    ]


def test_a_touched_row_is_kept_dropped_or_an_error() -> None:
    rows = [
        {"id": "p", "text": "What a movie", "start": 7, "answer": "movie"},
        {"id": "q", "text": "What a movie", "start": 5, "answer": "a"},
    ]
    spans = [SpanColumn.parse("text=start+answer")]
    moved = {"id": "q", "text": "Which a film", "start": 6, "answer": "a"}

    def run(tally: Tally, policy: Any) -> Any:
        return apply_to(
            rows,
            MATCHER,
            column="text",
            mode="chain",
            spans=spans,
            on_touched=policy,
            tally=tally,
        )

    tally = Tally()
    first = {"id": "p", "text": "Which a movie", "start": 8, "answer": "movie"}
    assert run(tally, "keep") == [first, moved]
    assert tally.reasons == [("p", "rule film would touch the span 'movie'")]
    assert (tally.changed, tally.records, tally.touched) == (2, 2, 1)
    assert tally.rules["film"].left_out == 1
    tally = Tally()
    assert run(tally, "drop") == [moved]
    assert (tally.changed, tally.records, tally.touched) == (1, 1, 1)
    with pytest.raises(DataError, match=r"row 1 \(id p\): the span 'movie' was touched"):
        run(Tally(), "error")


# ---------------------------------------------------------------- other kinds of data


class Streamed:
    """A table of another library, which only offers Arrow's stream of columns."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def test_tables_of_other_libraries_are_read_by_their_stream() -> None:
    arrow = pytest.importorskip("pyarrow")
    data = Streamed(arrow.table({"text": TEXTS, "n": arrow.array([1, 2, 3], arrow.int8())}))
    assert triples(apply_to(data, MATCHER).to_pylist()) == RECORDS
    chained = apply_to(data, MATCHER, mode="chain")
    assert chained.column("text").to_pylist() == CHAINED
    assert chained.schema.field("n").type == "int8"
    with pytest.raises(DataError, match="type Streamed has no columns"):
        apply_to(Streamed(arrow.chunked_array([TEXTS])), MATCHER)


def test_a_reader_of_record_batches_is_a_table() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"text": TEXTS, "n": [1, 2, 3]})
    assert triples(apply_to(table.to_reader(max_chunksize=2), MATCHER).to_pylist()) == RECORDS
    assert read_labelled(table.to_reader(), column="text", label="n").texts == TEXTS


def test_rows_of_views_of_strings_are_copied() -> None:
    arrow = pytest.importorskip("pyarrow")
    if not hasattr(arrow, "string_view"):
        pytest.skip("this pyarrow has no views")
    views = arrow.array(TEXTS, arrow.string_view())
    lists = arrow.array([[each] for each in TEXTS], arrow.list_(arrow.string_view()))
    data = Streamed(arrow.table({"text": views, "n": [1, 2, 3], "parts": lists}))
    whole = apply_to(data, MATCHER, mode="chain", with_originals=True)
    assert whole.column("text").to_pylist() == TEXTS + CHAINED
    assert whole.column("n").to_pylist() == [1, 2, 3] * 2
    assert whole.schema.field("text").type == arrow.string_view()
    few = apply_to(Streamed(data._table.slice(0, 0)), MATCHER, mode="chain", with_originals=True)
    assert few.num_rows == 0


def test_polars_frames_give_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": TEXTS, "n": [1, 2, 3]})
    chained = apply_to(frame, MATCHER, mode="chain")
    assert isinstance(chained, polars.DataFrame)
    assert chained["text"].to_list() == CHAINED


@pytest.mark.parametrize("limit", [None, 0, 12_000])
def test_rows_in_memory_can_be_read_again(limit: int | None) -> None:
    rows = open_rows(["It is."] * 11_000 + ["That is."] * 2_000, options=ReadOptions(limit=limit))
    texts = [[text for each in rows.batches() for text in each.columns["text"]] for _ in range(2)]
    assert texts[0] == texts[1]
    assert len(texts[0]) == (13_000 if limit is None else limit)


def test_rows_that_are_open_take_no_format_and_no_options() -> None:
    rows = open_rows(TEXTS)
    assert open_rows(rows) is rows
    with pytest.raises(UsageError, match="the data is open already"):
        open_rows(rows, options=ReadOptions(limit=1))
    with pytest.raises(UsageError, match="the data is open already"):
        open_rows(rows, format_name="csv")


def test_arrays_and_generators_are_lists() -> None:
    assert triples(apply_to(np.array(TEXTS), MATCHER)) == RECORDS
    assert triples(apply_to((text for text in TEXTS), MATCHER)) == RECORDS
    assert apply_to(np.array(TEXTS), MATCHER, mode="chain") == CHAINED
    assert triples(apply_to(({"text": text} for text in TEXTS), MATCHER)) == RECORDS


@pytest.mark.parametrize(
    ("data", "message", "advice"),
    [
        (np.array([TEXTS]), "an object of type ndarray is not a dataset", "data.ravel()"),
        ({"text": TEXTS}, "an object of type dict is not a dataset", "pandas.DataFrame(data)"),
        (7, "an object of type int is not a dataset", "a list of texts"),
        (b"a", "an object of type bytes is not a dataset", "a list of texts"),
        ("a good place", "there is no file 'a good place'", "['a good place']"),
        ("good\nplace", r"there is no file 'good\\nplace'", r"['good\nplace']"),
        ("", "the file name is empty", "name a file"),
    ],
)
def test_what_is_no_dataset_is_reported_with_a_way_out(
    data: Any, message: str, advice: str
) -> None:
    with pytest.raises(SearsError, match=message) as caught:
        apply_to(data, MATCHER)
    assert advice in caught.value.help


def test_streams_of_hugging_face_are_not_waited_for() -> None:
    datasets = pytest.importorskip("datasets")
    stream = datasets.Dataset.from_dict({"text": TEXTS}).to_iterable_dataset()
    with pytest.raises(DataError, match="a stream that may never end") as caught:
        apply_to(stream, MATCHER)
    assert "list(data.take(1000))" in caught.value.help
    assert triples(apply_to(list(stream.take(3)), MATCHER)) == RECORDS


def test_records_keep_index_ids_labels_and_their_types() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "id": pandas.array([5000, 5001, 5002], "int32"),
            "text": TEXTS,
            "label": pandas.Categorical(["x", "y", "x"]),
            "at": pandas.to_datetime(["2020-01-01", None, "2020-01-03"]),
        },
        index=["r", "s", "t"],
    )
    records = apply_to(frame, MATCHER, column="text", keep="all")
    assert records.index.tolist() == ["r", "r", "t"]
    assert list(records.columns[-2:]) == ["label", "at"]
    for name in ("id", "label", "at"):
        assert records.dtypes[name] == frame.dtypes[name]
        assert records[name].tolist() == [frame[name].tolist()[row] for row in (0, 0, 2)]
    nothing = apply_to(frame, WordMatcher({"x": ("xyzzy", "")}), column="text", keep="label")
    assert nothing.dtypes["label"] == frame.dtypes["label"]
    assert not len(nothing)
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1, 1]})
    data = data.cast_column("label", datasets.ClassLabel(names=["neg", "pos"]))
    records = apply_to(data, MATCHER, keep=["label"])
    assert records.features["label"] == data.features["label"]
    assert list(records["label"]) == [0, 0, 1]
    assert records[0]["edits"] == [{"start": 7, "end": 12, "old": "movie", "new": "film"}]
    rows = [{"text": text, "n": number} for number, text in enumerate(TEXTS)]
    assert [each["n"] for each in apply_to(rows, MATCHER, keep="n")] == [0, 0, 2]
    for keep in ("rule", ["rule"]):
        with pytest.raises(UsageError, match="--keep rule: the output already has a column"):
            apply_to([{"text": "movie", "rule": 1}], MATCHER, keep=keep)


def test_values_without_a_text_are_counted() -> None:
    tally = Tally()
    apply_to(["movie", None, float("nan")][:2], MATCHER, tally=tally)
    assert tally.missing == 1
    tally = Tally()
    rows = [{"a": "movie", "b": None}, {"a": float("nan"), "b": "x"}, {"a": "y"}]
    for mode in ("each", "chain"):
        apply_to(rows, MATCHER, column=["a", "b"], mode=mode, tally=tally)  # type: ignore[arg-type]
    assert tally.missing == 2 * 3


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.txt"])
def test_the_size_of_a_file_tells_about_how_many_rows_it_has(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = {"text": [f"Row {number} of some." for number in range(5_000)]}
    write_columns(rows, path, format_of(name))
    assert Dataset(str(path)).expected_rows == pytest.approx(5_000, rel=0.1)
    assert Dataset(str(path), options=ReadOptions(limit=300)).expected_rows == 300


def test_of_a_compressed_file_nobody_knows_how_many_rows_it_has(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    write_columns({"text": ["It is."] * 5_000}, path, format_of(path.name))
    assert Dataset(str(path)).expected_rows is None
