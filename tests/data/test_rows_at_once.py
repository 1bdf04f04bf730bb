"""Kernels read and write rows as the standard modules do, or leave them to these."""

from __future__ import annotations

import csv
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sears_dsl.data.batches import ReadOptions, Repeated
from sears_dsl.data.csv_kernels import FieldColumns, column_of, quoted_lines
from sears_dsl.data.dataset import Dataset, format_named
from sears_dsl.data.json_rows import columns_of_lines
from sears_dsl.errors import DataError

NAMES = ("a", "b")
FIELD = st.text(st.sampled_from('",\r\nab é€😀\0\x1f'), max_size=5)
ROWS = st.lists(st.tuples(FIELD, FIELD), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=2), values),
    max_leaves=4,
)


def rows_of(content: bytes) -> list[list[str]] | None:
    """The complete rows of a csv, by the standard module; None where it refuses them."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(content.decode(), newline="\n"), strict=True):
            if row:
                rows.append(row)
    except csv.Error as error:
        if str(error) != "unexpected end of data":
            return None
    return rows if all(len(row) == len(NAMES) for row in rows) else None


def columns_by_kernels(content: bytes) -> list[list[str]] | None:
    """The rows of csv, in the same form; the columns have been through a pickle."""
    columns = FieldColumns.of(content, NAMES)
    if columns is None:
        return None
    assert columns.source.content == content[: len(columns.source.content)]
    pickled = [pickle.dumps(columns.named([name])) for name in NAMES]
    again = list(map(pickle.loads, pickled))
    values = [one[name] for one, name in zip(again, NAMES, strict=True)]
    assert len(columns.source) == len(values[0])
    by_kernel = [column_of(columns.source.content, columns._ends, 2, number) for number in (0, 1)]
    assert by_kernel == values
    return [list(row) for row in zip(*values, strict=True)]


@settings(max_examples=150, deadline=None)
@given(
    ROWS,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["", "\n", "\r\n\n", 'x,"open\n']),
)
def test_csv_is_read_as_the_standard_module_reads_it(
    rows: list[tuple[str, str]], end: str, quoting: Any, after: str
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=quoting).writerows(rows)
    content = (text.getvalue() + after).encode()
    expected = rows_of(content)
    assert expected is None or columns_by_kernels(content) == expected


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from('"",,\n\n\rab é'), max_size=16))
@example('a,"b"c\n')
@example("a,b\rc,d\n")
@example('"a,b\n')
@example("\ra,b\n")
@example("a,b,c\n")
@example("a\n")
def test_what_is_no_plain_csv_is_left_to_the_standard_module(text: str) -> None:
    found = columns_by_kernels(text.encode())
    assert found is None or found == rows_of(text.encode())


@settings(max_examples=150, deadline=None)
@given(ROWS.filter(bool), st.integers(1, 3))
def test_csv_is_written_as_field_by_field(rows: list[tuple[str, str]], copies: int) -> None:
    first, second = map(list, zip(*rows, strict=True))
    places = [place for place in range(len(rows)) for _ in range(copies)]
    columns = [Repeated(first, places), [second[place] for place in places]]
    form = format_named("csv")
    assert quoted_lines(columns) == form.encode(dict(zip(NAMES, columns, strict=True)), "utf-8")
    assert quoted_lines(columns[1:]) == form.encode({"b": columns[1]}, "utf-8")


LENGTHS = (0, 1, 7, 8, 9, 15, 16, 17, 127, 128, 129, 255, 256, 300)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(*2 * [st.sampled_from(LENGTHS)]), min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from('",\n\ré')), max_size=4),
)
@example([(128, 7)], [(127, '"')])
@example([(129, 8)], [(128, ",")])
@example([(8, 16)], [(15, "\n")])
def test_fields_longer_than_what_is_copied_at_once_are_written_and_read_whole(
    lengths: list[tuple[int, int]], odd: list[tuple[int, str]]
) -> None:
    def field(length: int) -> str:
        characters = list(("abcdefghijklmnopqrs" * 16)[:length])
        for place, character in odd:
            if place < length:
                characters[place] = character
        return "".join(characters)

    rows = [[field(length) for length in row] for row in lengths]
    columns = list(map(list, zip(*rows, strict=True)))
    content = quoted_lines(columns)
    assert content == format_named("csv").encode(dict(zip(NAMES, columns, strict=True)), "utf-8")
    assert columns_by_kernels(content) == rows


@pytest.mark.parametrize("value", [1, 1.5, None, True, [], ["a"], ("a",), {"a": "b"}, Path("a")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_no_text_is_left_to_be_made_one(value: Any, place: int) -> None:
    column = ["a", "b"]
    column.insert(place, value)
    assert quoted_lines([column]) is None
    kept = format_named("csv").encode({"a": column}, "utf-8")
    assert kept.count(b"\n") == 3


def test_bytes_are_left_to_the_error_that_names_them() -> None:
    assert quoted_lines([["a", b"X"]]) is None
    with pytest.raises(DataError, match="a value of type bytes"):
        format_named("csv").encode({"a": ["a", b"X"]}, "utf-8")


def test_a_text_without_utf8_is_left_to_the_error_that_names_it() -> None:
    assert quoted_lines([["a", "\ud800"]]) is None
    assert quoted_lines([["a", "\ud7a3"]]) == "a\n\ud7a3\n".encode()
    with pytest.raises(DataError, match="cannot encode the character U\\+D800"):
        format_named("csv").encode({"a": ["\ud800"]}, "utf-8")


def objects_of(content: bytes) -> list[Any] | None:
    """The objects of JSON lines, by the standard module; None if a line holds anything else."""
    try:
        rows = [json.loads(line) for line in content.decode().removesuffix("\n").split("\n")]
    except ValueError:
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def check_objects(content: bytes, *, some: bool = False) -> None:
    columns = columns_of_lines(content)
    if columns is None:
        assert not some
        return
    rows = objects_of(content)
    assert rows is not None
    names = list(dict.fromkeys(name for row in rows for name in row))
    assert repr(columns) == repr({name: [row[name] for row in rows] for name in names})


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(max_size=2), min_size=1, max_size=3, unique=True),
    st.lists(st.tuples(JSON, JSON, JSON), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": ")]),
)
def test_lines_of_objects_with_the_same_keys_are_read_as_one_by_one(
    names: list[str], values: list[tuple[Any, ...]], ascii_only: bool, separators: Any
) -> None:
    lines = [
        json.dumps(
            dict(zip(names, row, strict=False)), ensure_ascii=ascii_only, separators=separators
        )
        for row in values
    ]
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    check_objects(content, some=True)


@settings(max_examples=400, deadline=None)
@given(st.data())
@example(None)
def test_lines_with_something_else_are_left_to_be_read_one_by_one(data: Any) -> None:
    line = '{"a": "x\\"y", "b": [1, {"c": null}], "d": 1.5e3}\n'
    lines = line + line
    if data is not None:
        for _ in range(data.draw(st.integers(1, 2))):
            at = data.draw(st.integers(0, len(lines)))
            taken = data.draw(st.integers(0, 2))
            new = data.draw(st.text(st.sampled_from('{}[]",:\\ \n1ae'), max_size=2))
            lines = lines[:at] + new + lines[at + taken :]
    check_objects(lines.encode())


@pytest.mark.parametrize(
    "lines",
    [
        '{"a": 1, "a": 2}\n{"a": 1, "a": 3}',
        '{"a": 123456789012345678901234567890, "b": 1e400}\n{"a": -0, "b": NaN}',
        '{"a": "\\ud800"}\n{"a": "\\u00e9"}\n',
        '{"a": [1,\n2]}\n',
        '{"a": 1} x\n{"a": 2} x\n',
        '{"a": ]}\n{"a": [}\n',
        "{}\n{}\n",
        '[{"a": 1}]\n',
    ],
)
def test_odd_lines_are_read_alike_or_left(lines: str) -> None:
    check_objects(lines.encode())


@pytest.mark.parametrize("compiled", [False, True])
def test_a_field_of_many_lines_is_one_row_in_a_batch_of_whole_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    if compiled:
        monkeypatch.setattr("sears_dsl.data.csv_rows.compiles", lambda: True)
    options = ReadOptions(first_rows=2, rows=2)
    long = "line\n" * 50
    path = tmp_path / "a.csv"
    path.write_text(f'id,text\n1,a\n2,"{long}"\n\n3,c\n4,d\n5,"e\n\n"\n\n')
    dataset = Dataset(str(path), options=options)
    batches = list(dataset.batches())
    assert [text for batch in batches for text in batch.columns["text"]] == [
        "a",
        long,
        "c",
        "d",
        "e\n\n",
    ]
    whole = b"".join(batch.source.content for batch in batches).decode()
    assert "".join([dataset.around[0], whole, dataset.around[1]]) == path.read_text()
    path.write_text(f'id,text\n1,a\n2,"{long}"\n\n3,c,d\n')
    with pytest.raises(DataError, match="line 55: 3 fields"):
        list(Dataset(str(path), options=options).batches())
    path.write_text("\n\r\n\n")
    assert not Dataset(str(path), options=ReadOptions(header=False)).first.rows


def test_a_blank_line_of_a_single_column_without_quotes_is_a_row_wherever_it_stands(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("text\na\n\nb\n")
    for rows in (1, 100):
        batches = Dataset(str(path), options=ReadOptions(rows=rows)).batches()
        assert [text for batch in batches for text in batch.columns["text"]] == ["a", "", "b"]


def test_a_long_field_is_read_in_a_process_without_kernels_that_opened_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = "x " * 100_000
    columns = FieldColumns.of(f'1,"{long}"\n'.encode(), NAMES)
    assert columns is not None
    monkeypatch.setattr("sears_dsl.data.csv_kernels.compiles", lambda: False)
    limit = csv.field_size_limit(1 << 17)  # as a process begins
    try:
        assert list(columns["b"]) == [long]
    finally:
        csv.field_size_limit(limit)
