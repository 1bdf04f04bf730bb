"""Objects of JSON whose keys begin late: nothing is lost, no other column becomes the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from word_matcher import WordRecipe

from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError, UsageError

ROWS = [{"id": "1", "text": "a movie"}, {"id": "2", "text": "movie", "label": 7}]


def apply(tmp_path: Path, rows: list[dict[str, Any]], output: str, **options: Any) -> Path:
    """Apply the rules to JSON lines, a row a batch."""
    source, place = tmp_path / "in.jsonl", tmp_path / output
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    request = ApplyRequest(
        recipe=WordRecipe(), input=str(source), output=str(place), reading=ReadOptions(rows=1),
        **options,
    )  # fmt: skip
    apply_file(request)
    return place


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_columns_to_keep_are_those_of_later_rows_too(tmp_path: Path, jobs: int) -> None:
    options: dict[str, Any] = {"columns": ("text",), "keep": ("all",), "jobs": jobs}
    lines = apply(tmp_path, ROWS, "out.jsonl", **options).read_text().splitlines()
    assert [json.loads(line).get("label") for line in lines] == [None, 7]
    array = json.loads(apply(tmp_path, ROWS, "out.json", **options).read_text())
    assert [row.get("label") for row in array] == [None, 7]
    table = pyarrow.parquet.read_table(apply(tmp_path, ROWS, "out.parquet", **options))
    assert table["label"].to_pylist() == [None, 7]
    for name in ("out.csv", "out.tsv"):
        with pytest.raises(DataError, match="row 2 has a column 'label' that the first rows lack"):
            apply(tmp_path, ROWS, name, **options)
    clash = [*ROWS, {"id": "3", "text": "movie", "rule": "mine"}]
    with pytest.raises(UsageError, match="--keep rule: the output already has a column"):
        apply(tmp_path, clash, "out.jsonl", **options)


def test_a_column_that_the_first_rows_lack_is_not_said_to_be_nowhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"in.jsonl, in its first 1 rows, has no column 'label'"):
        apply(tmp_path, ROWS, "out.jsonl", columns=("text",), keep=("label",))
    with pytest.raises(DataError, match=r"in.jsonl has no column 'label'"):
        apply(tmp_path, ROWS[:1], "out.jsonl", columns=("text",), keep=("label",))


def test_another_column_is_not_taken_for_a_text_that_comes_later(tmp_path: Path) -> None:
    rows = [{"note": "a movie"}, {"note": "movie", "text": "a movie"}]
    for mode in ("each", "chain"):
        with pytest.raises(DataError, match="the text may be in column text") as caught:
            apply(tmp_path, rows, "out.jsonl", mode=mode)
        assert caught.value.help == "name the text column with --column"
        apply(tmp_path, rows, "out.jsonl", mode=mode, columns=("note",))
    rows[1] = {"note": "movie", "stars": "5"}
    assert "film" in apply(tmp_path, rows, "out.jsonl").read_text()


def test_rows_without_the_key_of_the_spans_have_none(tmp_path: Path) -> None:
    rows = [{"text": "a movie", "spans": [[0, 1]]}, {"text": "the movie"}]
    spans = (SpanColumn("text", "spans"),)
    for mode in ("each", "chain"):
        keep = ("spans",) if mode == "each" else ()
        place = apply(
            tmp_path, rows, "out.jsonl", mode=mode, columns=("text",), spans=spans, keep=keep
        )
        written = [json.loads(line) for line in place.read_text().splitlines()]
        assert [row.get("spans") for row in written] == [[[0, 1]], None]


def test_a_column_called_column_is_kept_beside_one_rewritten_column(tmp_path: Path) -> None:
    rows = [{"text": "a movie", "title": "movie", "column": "left"}]
    for keep in ("all", "column"):
        place = apply(tmp_path, rows, "out.jsonl", columns=("text",), keep=(keep,))
        assert json.loads(place.read_text())["column"] == "left"
    with pytest.raises(UsageError, match="--keep column: the output already has a column"):
        apply(tmp_path, rows, "out.jsonl", columns=("text", "title"), keep=("column",))
