"""Every format writes columns that repeat, or are JSON already, like plain lists."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, overload

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.data.batches import JsonColumn, Repeated, cell_texts
from sears_dsl.data.dataset import format_named
from sears_dsl.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["", '"', ",", "\n", "\r", "a,b", 'say "hi"', "\u2028", "%s", "{}", "\x1f"]
)
VALUES = TEXT | st.none() | st.integers() | st.lists(TEXT, max_size=2) | st.booleans()


class Known(JsonColumn):
    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._values[index]

    def json_texts(self) -> list[str]:
        return [json.dumps(value, ensure_ascii=False) for value in self._values]


@st.composite
def repeated(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Repeated:
    distinct = draw(st.lists(values, min_size=1, max_size=4))
    places = st.lists(st.integers(0, len(distinct) - 1), min_size=3, max_size=3)
    return Repeated(distinct, draw(places))


@settings(deadline=None)
@given(repeated(VALUES))
def test_a_repeated_column_is_the_list_that_it_stands_for(column: Repeated) -> None:
    plain = [column.values[place] for place in column.places]
    assert list(column) == plain
    assert [column[index] for index in range(-3, 3)] == plain[-3:] + plain
    assert list(column[1:]) == plain[1:]
    assert len(column) == 3
    assert cell_texts(column, repr) == list(map(repr, plain)) == cell_texts(plain, repr)


@settings(max_examples=150, deadline=None)
@given(
    first=repeated(VALUES),
    second=st.lists(st.lists(TEXT, max_size=2), min_size=3, max_size=3),
    name=TEXT.filter(lambda text: text != "b"),
    form=st.sampled_from(["csv", "jsonl", "json"]),
)
def test_columns_of_any_kind_are_written_alike(
    first: Repeated, second: list[Any], name: str, form: str
) -> None:
    written = format_named(form).encode({name: first, "b": Known(second)}, "utf-8")
    assert written == format_named(form).encode({name: list(first), "b": second}, "utf-8")
    text = written.decode()
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert [json.loads(row[1]) for row in rows] == second
        kept = [row[0] for row, value in zip(rows, first, strict=True) if isinstance(value, str)]
        assert kept == [value for value in first if isinstance(value, str)]
    else:
        pieces = text.split("\n")[:3] if form == "jsonl" else text.split(",\n")[1:]
        plain = [{name: a, "b": b} for a, b in zip(first, second, strict=True)]
        assert [json.loads(piece) for piece in pieces] == plain


@settings(deadline=None)
@given(repeated(TEXT))
def test_parquet_takes_them_too(column: Repeated) -> None:
    arrow = pytest.importorskip("pyarrow")
    columns = {"a": column, "b": Known([["x", 1]] * 3)}
    part = format_named("parquet").encode(columns, "utf-8")
    table = arrow.ipc.open_stream(part).read_all()
    assert table.to_pydict() == {"a": list(column), "b": ['["x", 1]'] * 3}
    assert table.schema.field("a").type == arrow.string()


def test_one_empty_field_is_no_blank_line() -> None:
    form = format_named("csv")
    assert form.encode({"text": ["", "a"]}, "utf-8") == b'""\na\n'
    assert form.encode({"text": ["", "a"], "n": ["", 1]}, "utf-8") == b",\na,1\n"


def test_what_is_no_text_is_written_as_in_json_and_one_field_tells_no_delimiter() -> None:
    assert format_named("csv").encode({"a": [True, None, 1.5]}, "utf-8") == b'true\n""\n1.5\n'
    assert format_named("csv-semicolon").encode({"a": ["b,c"]}, "utf-8") == b'"b,c"\n'


def test_a_carriage_return_is_quoted() -> None:
    part = format_named("csv").encode({"text": ["a\rb"], "n": ["1"]}, "utf-8")
    assert part == b'"a\rb",1\n'
    with pytest.raises(DataError, match="cannot hold a tab or a line end"):
        format_named("tsv").encode({"text": ["a\rb"]}, "utf-8")
