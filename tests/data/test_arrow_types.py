"""Types of Arrow that Python lacks or cuts: tables keep them, and text formats lose no digit."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from command_line import call
from word_matcher import WordRecipe

import sears_dsl as sears
from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.columnar import ArrowValues
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError

FAR = 253_402_300_799  # the last second of the year 9999
FARTHER = 971_890_963_199  # the last second of the year 32767
RULES = sears.parse("movie -> film")


def table() -> pa.Table:
    columns = {
        "id": pa.array(["a", "b"]),
        "text": pa.array(["A movie", "It"]),
        "time": pa.array([1001, None], pa.time64("ns")),
        "instant": pa.array([1001, 2000], pa.timestamp("ns")),
        "far": pa.array([FAR, 0], pa.timestamp("s", tz="Europe/Berlin")),
        "took": pa.array([1_001_000, None], pa.duration("us")),
        "kind": pa.array(["x", None], pa.dictionary(pa.int8(), pa.string())),
        "nothing": pa.nulls(2),
    }
    return pa.table(columns).replace_schema_metadata({"owner": "me"})


def write(place: Path, rows: pa.Table) -> str:
    if place.suffix == ".parquet":
        pyarrow.parquet.write_table(rows, place)
    else:
        with pa.ipc.new_file(place, rows.schema) as file:
            file.write_table(rows)
    return str(place)


def read(place: Path) -> pa.Table:
    if place.suffix == ".parquet":
        return pyarrow.parquet.read_table(place)
    return pa.ipc.open_file(place).read_all()


def apply(source: str, output: Path, **options: Any) -> Path:
    request = ApplyRequest(recipe=WordRecipe(), input=source, output=str(output), **options)
    apply_file(request)
    return output


def augment(source: str, output: Path) -> None:
    (output.parent / "film.sear").write_text("movie -> film\n")
    command = ("augment", "film.sear", source, "-o", output.name, "--column", "text")
    done = call(*command, folder=output.parent)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_new_rows_have_the_types_values_and_notes_of_their_table(tmp_path: Path, form: str) -> None:
    source = write(tmp_path / f"in.{form}", table())
    output = tmp_path / f"out.{form}"
    augment(source, output)
    old, new = read(Path(source)), read(output)
    assert new.select(old.schema.names).schema.equals(old.schema, check_metadata=True)
    rows = new.select(old.schema.names)
    assert rows.slice(0, 2).equals(old)
    changed = old.slice(0, 1).drop_columns(["id", "text"])
    assert rows.slice(2).drop_columns(["id", "text"]).equals(changed)
    assert rows["text"][2].as_py() == "A film"


def test_a_table_in_memory_keeps_them_too() -> None:
    rows = table()
    kept = ["time", "instant", "far", "took", "kind", "nothing"]
    records = sears.apply(rows, RULES, column="text", keep=kept)
    assert records.select(kept).equals(rows.slice(0, 1).select(kept))
    more = sears.augment(rows, RULES, text="text")
    assert more.select(kept).equals(pa.concat_tables([rows, rows.slice(0, 1)]).select(kept))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_records_keep_the_types_of_columns(tmp_path: Path, form: str) -> None:
    source = write(tmp_path / f"in.{form}", table())
    records = read(apply(source, tmp_path / f"out.{form}", keep=("all",)))
    kept = ["time", "instant", "far", "took", "kind", "nothing"]
    assert records.select(kept).equals(read(Path(source)).slice(0, 1).select(kept))
    assert records.schema.metadata is None


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_text_formats_have_every_digit(tmp_path: Path, mode: Any) -> None:
    """The column of the text is found without a look at the others."""
    source = write(tmp_path / "in.parquet", table())
    keep = ("all",) if mode == "each" else ()
    lines = apply(source, tmp_path / "out.jsonl", mode=mode, keep=keep).read_text().splitlines()
    [row, *_] = csv.DictReader(
        apply(source, tmp_path / "out.csv", mode=mode, keep=keep).read_text().splitlines()
    )
    of_json = json.loads(lines[0])
    assert row["time"] == of_json["time"] == "00:00:00.000001001"
    assert row["instant"] == of_json["instant"].replace("T", " ") == "1970-01-01 00:00:00.000001001"
    assert row["far"] == of_json["far"]
    assert row["far"].startswith("10000-01-01 00:59:59")
    assert row["took"] == of_json["took"] == "0:00:01.001000"


def test_nanoseconds_need_no_pandas() -> None:
    code = """
import sys
class NoPandas:
    def find_spec(self, name, *others):
        if name == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, NoPandas())
import pyarrow as pa
from sears_dsl.data.columnar import ArrowValues
print(*ArrowValues(pa.array([1001, 2000, None], pa.timestamp("ns"))), sep="|")
print(*ArrowValues(pa.array([1001, 2000, None], pa.duration("ns"))), sep="|")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "1970-01-01 00:00:00.000001001|1970-01-01 00:00:00.000002|None",
        "1001 ns|0:00:00.000002|None",
    ]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl"])
def test_bytes_are_no_text(tmp_path: Path, name: str) -> None:
    rows = pa.table({"text": ["A movie"], "picture": [b"x"]})
    source = write(tmp_path / "in.parquet", rows)
    for options in ({"mode": "chain"}, {"keep": ("picture",)}):
        with pytest.raises(DataError, match="a value of type bytes cannot be written as text"):
            apply(source, tmp_path / name, columns=("text",), **options)


@pytest.mark.parametrize(
    "far",
    [
        pa.array([[FAR + 1]], pa.list_(pa.timestamp("s"))),
        pa.array([FARTHER + 1], pa.timestamp("s")),
        pa.array([FARTHER + 1], pa.timestamp("s", tz="UTC")),
        pa.array([FARTHER], pa.timestamp("s", tz="Europe/Berlin")),
        pa.array([-2000 * FARTHER], pa.timestamp("ms", tz="UTC")),
        pa.array([2**31 - 1], pa.date32()),
    ],
    ids=lambda array: str(array.type),
)
def test_what_has_no_value_in_python_is_an_error_only_where_it_is_wanted(
    tmp_path: Path, far: pa.Array
) -> None:
    source = write(tmp_path / "in.parquet", pa.table({"text": ["A movie"], "far": far}))
    written = read(apply(source, tmp_path / "out.parquet", mode="chain"))
    assert written["text"][0].as_py() == "A film"
    assert written["far"].combine_chunks().equals(read(Path(source))["far"].combine_chunks())
    with pytest.raises(DataError, match="is none that Python has"):
        apply(source, tmp_path / "out.csv", mode="chain")


@pytest.mark.parametrize("output", ["arrow", "parquet"])
@pytest.mark.parametrize("source", ["arrow", "parquet"])
@pytest.mark.parametrize("categories", [3, 100, 300])
def test_a_text_of_categories_stays_one(
    tmp_path: Path, source: str, output: str, categories: int
) -> None:
    """Also if batches together have more of them than the type of their numbers has room for."""
    texts = [f"movie {number % categories}" for number in range(600)]
    number = pa.int8() if categories < 128 else pa.int16()
    column = pa.array(texts, pa.dictionary(number, pa.string()))
    path = write(tmp_path / f"in.{source}", pa.table({"text": column, "other": column}))
    place = tmp_path / f"out.{output}"
    written = read(apply(path, place, mode="chain", reading=ReadOptions(rows=64)))
    assert written["text"].to_pylist() == [text.replace("movie", "film") for text in texts]
    assert written["other"].to_pylist() == texts
    assert pa.types.is_dictionary(written.schema.field("text").type)
    records = read(apply(path, place, columns=("text",), keep=("other",)))
    assert records["other"].to_pylist() == texts
    augmented = tmp_path / f"more.{output}"
    augment(path, augmented)
    more = read(augmented)
    assert more["text"].to_pylist()[:600] == texts
    assert set(more["text"].to_pylist()[600:]) <= {text.replace("movie", "film") for text in texts}
    assert pa.types.is_dictionary(more.schema.field("text").type)


@pytest.mark.parametrize("mode", ["each", "chain"])
@pytest.mark.parametrize("output", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("ordered", [False, True])
def test_null_may_be_a_category(
    tmp_path: Path, ordered: bool, kind: pa.DataType, output: str, mode: Any
) -> None:
    numbers = pa.array([0, 1, 2, None, 2], pa.int8())
    categories = pa.array(["x", None, "y"], kind)
    column = pa.DictionaryArray.from_arrays(numbers, categories, ordered=ordered)
    source = write(tmp_path / "in.arrow", pa.table({"text": ["A movie"] * 5, "kind": column}))
    keep = ("kind",) if mode == "each" else ()
    place = tmp_path / f"out.{output}"
    options = {"mode": mode, "columns": ("text",), "keep": keep, "reading": ReadOptions(rows=2)}
    written = read(apply(source, place, **options))["kind"]
    assert written.to_pylist() == ["x", None, "y", None, "y"]
    assert written.type.ordered == ordered
    assert written.type.index_type == pa.int8()


@pytest.mark.parametrize(
    ("kind", "categories", "written"),
    [
        (pa.int8(), 127, pa.int8()),
        (pa.int8(), 128, pa.int32()),
        (pa.uint8(), 200, pa.uint8()),
        (pa.uint8(), 255, pa.uint8()),
        (pa.uint8(), 256, pa.int32()),
        (pa.uint16(), 256, pa.uint16()),
    ],
    ids=str,
)
def test_numbers_of_categories_keep_their_type_while_it_has_room(
    tmp_path: Path, kind: pa.DataType, categories: int, written: pa.DataType
) -> None:
    numbers = pa.array(range(categories), kind)
    texts = [f"kind {number}" for number in range(categories)]
    rows = {"text": ["movie"] * categories, "kind": pa.DictionaryArray.from_arrays(numbers, texts)}
    source = write(tmp_path / "in.arrow", pa.table(rows))
    column = read(apply(source, tmp_path / "out.arrow", mode="chain", columns=("text",)))["kind"]
    assert column.type.index_type == written
    assert column.to_pylist() == texts


def test_a_stream_of_columns_keeps_what_its_categories_are() -> None:
    class Stream:
        def __init__(self, rows: pa.Table) -> None:
            self.__arrow_c_stream__ = rows.__arrow_c_stream__

    numbers = pa.array([0, 1], pa.uint8())
    views = pa.array(["x", "y"], pa.string_view())
    column = pa.DictionaryArray.from_arrays(numbers, views, ordered=True)
    field = pa.field("kind", column.type, nullable=False, metadata={"owner": "me"})
    rows = pa.table([["A movie", "It"], column], pa.schema([("text", pa.string()), field]))
    texts = pa.dictionary(pa.uint8(), pa.string(), ordered=True)
    written = sears.apply(Stream(rows), RULES, column="text", mode="chain")
    assert written.field("kind").equals(field.with_type(texts), check_metadata=True)
    assert written["kind"].to_pylist() == ["x", "y"]


def test_lists_of_texts_are_no_texts() -> None:
    assert not ArrowValues(pa.array([["a text"]])).are_texts
    assert ArrowValues(pa.array(["a text"]).dictionary_encode()).are_texts


@pytest.mark.parametrize("name", ["parquet", "arrow", "memory"])
def test_spans_that_stay_keep_their_nanoseconds(tmp_path: Path, name: str) -> None:
    """Spans of other rows move in the same column."""
    numbers = pa.array([8, 3, 0], pa.int64())
    times = pa.array([5, 6, 7], pa.time64("ns"))
    spans = pa.StructArray.from_arrays(
        [numbers, pa.array([10, 4, 1]), times], ["start", "end", "t"]
    )
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), spans)
    rows = pa.table({"text": ["A movie is.", "It is.", "Is"], "spans": column})
    if name == "memory":
        written = sears.apply(rows, RULES, column="text", mode="chain", spans=["text=spans"])
    else:
        source = write(tmp_path / f"in.{name}", rows)
        moved = {"columns": ("text",), "spans": (SpanColumn("text", "spans"),)}
        written = read(apply(source, tmp_path / f"out.{name}", mode="chain", **moved))
    of_spans = written["spans"].combine_chunks().flatten()
    assert of_spans.field("start").to_pylist() == [7, 3, 0]
    assert of_spans.field("t").cast(pa.int64()).to_pylist()[1:] == [6, 7]


@pytest.mark.parametrize("output", ["arrow", "parquet"])
def test_categories_that_are_views_of_texts_are_written(tmp_path: Path, output: str) -> None:
    """As polars writes them."""
    views = pa.array(["x", "y"], pa.string_view())
    kind = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint32()), views)
    rows = pa.table({"text": ["A movie", "It", "movie"], "kind": kind})
    source = write(tmp_path / "in.arrow", rows)
    chained = read(apply(source, tmp_path / f"out.{output}", mode="chain"))
    assert chained["kind"].to_pylist() == ["x", "y", "x"]
    augment(source, tmp_path / f"more.{output}")
    more = read(tmp_path / f"more.{output}")
    assert more["kind"].to_pylist() == ["x", "y", "x", "x", "x"]
    assert pa.types.is_dictionary(more.schema.field("kind").type)


@pytest.mark.parametrize("as_batch", [False, True])
@pytest.mark.parametrize("options", [{"protect": ("stays",)}, {"with_originals": True}])
def test_rewritten_categories_beside_others_may_outgrow_their_type(
    as_batch: bool, options: dict[str, Any]
) -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    texts = [f"movie {number % 100}" for number in range(200)]
    stays = ["movie"] * 100 + [""] * 100
    metadata = {"made": "by hand"}
    rows = pa.table({"text": pa.array(texts, kind), "stays": stays}, metadata=metadata)
    given = rows.to_batches()[0] if as_batch else rows
    written = sears.apply(
        given, sears.parse("movie -> film"), column="text", mode="chain", **options
    )
    films = [text.replace("movie", "film") for text in texts]
    expected = texts + films if "with_originals" in options else texts[:100] + films[100:]
    assert type(written) is type(given)
    assert written.column("text").to_pylist() == expected
    assert pa.types.is_dictionary(written.schema.field("text").type)
    assert written.schema.metadata == rows.schema.metadata


def test_chunks_whose_categories_do_not_fit_together_are_read_apart() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    chunks = [pa.array([f"movie {number + first}" for number in range(100)], kind)
              for first in (0, 100)]  # fmt: skip
    rows = pa.table({"text": pa.chunked_array(chunks, kind)})
    written = sears.apply(rows, sears.parse("movie -> film"), mode="chain")
    assert written["text"].to_pylist() == [f"film {number}" for number in range(200)]
