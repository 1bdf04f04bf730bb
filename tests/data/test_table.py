"""Tables keep everything in a file: every column, every type, missing keys."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sears_dsl.data.dataset import format_named, format_of, write_columns
from sears_dsl.data.table import Table, read_table, text_column
from sears_dsl.errors import DataError


def test_values_come_back_with_their_types(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {"text": ["a", None], "label": [1, 0], "score": [0.5, 2.0], "spans": [[1, 2], []]}
    for name in ("a.parquet", "a.jsonl", "a.jsonl.gz", "a.arrow"):
        path = tmp_path / name
        write_columns(columns, path, format_of(str(path), reading=False))
        table = read_table(str(path))
        assert {name: list(values) for name, values in table.columns.items()} == columns
        assert table.digest == Table(columns, "-", "csv").digest
        renamed = {name.upper(): values for name, values in columns.items()}
        assert table.digest != Table(renamed, "-", "csv").digest


def test_a_key_that_comes_late_is_null_in_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ['{"text": "a"}'] * 10_001 + ['{"text": "b", "label": 1}']
    path.write_text("\n".join(lines), "utf-8")
    table = read_table(str(path))
    assert len(table) == 10_002
    assert table.labels("label")[-2:] == ["", "1"]


def test_the_first_of_several_answers_is_the_label() -> None:
    answers = [[{"text": "red", "answer_start": 3}, {"text": "dark red", "answer_start": 0}], None]
    assert Table({"answers": answers}, "a.json", "squad").labels("answers") == ["red", ""]


def test_what_is_no_label_is_reported_with_its_row() -> None:
    with pytest.raises(DataError, match=r"label of row 2 is 0\.5"):
        Table({"label": [1.0, 0.5]}, "a.jsonl", "jsonl").labels("label")


def test_the_text_column_is_the_only_one_that_can_be_meant() -> None:
    table = Table({"label": ["x"], "review": ["fine"]}, "a.csv", "csv")
    assert text_column(table, chosen=None, label="label") == "review"
    pair = Table({"a": ["x"], "b": ["y"]}, "a.csv", "csv")
    assert text_column(pair, chosen="a, b,a", label=None) == "a,b"
    assert text_column(pair, chosen="a + b", label=None) == "a+b"
    with pytest.raises(DataError, match="did you mean 'review'"):
        text_column(table, chosen="reveiw", label="label")


def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n", "utf-8")
    with pytest.raises(DataError, match="has no rows"):
        read_table(str(path))


def test_a_disk_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(DataError, match=r"cannot write .*: Input/output error"):
        write_columns({"text": ["a"]}, path)
    assert path.read_bytes() == b"old"


def test_a_value_that_a_format_cannot_hold_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    with pytest.raises(DataError, match="a tsv field cannot hold"):
        write_columns({"text": ["a\tb"]}, path, format_named("tsv"))
    assert not path.exists()
