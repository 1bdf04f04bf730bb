"""Every format: what is read, that only rules change anything, and the errors."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.data.batches import Frame, ReadOptions, Repeated
from sears_dsl.data.dataset import Dataset, format_named, format_of
from sears_dsl.data.streams import JsonCursor, read_ahead, write_behind
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.processes import HARMLESS

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=12)


def read(path: Path, **options: Any) -> list[dict[str, Any]]:
    name = options.pop("format_name", None)
    dataset = Dataset(str(path), format_name=name, options=ReadOptions(**options))
    rows = []
    for batch in dataset.batches():
        columns = {key: list(values) for key, values in batch.columns.items()}
        rows += [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    return rows


def rewritten(path: Path, changes: dict[int, dict[str, Any]], **options: Any) -> bytes:
    """The file with changed values in some rows, counted over the file."""
    dataset = Dataset(str(path), options=ReadOptions(**options))
    parts = []
    for batch in dataset.batches():
        inside = {
            row - batch.first: new
            for row, new in changes.items()
            if batch.first <= row < batch.first + batch.rows
        }
        parts.append(dataset.format.patch(batch, inside, frozenset(), dataset.encoding))
    output = io.BytesIO()
    frame = Frame(dataset.names, dataset.encoding, lambda: dataset.around)
    dataset.format.assemble(parts, output, frame)
    return output.getvalue()


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


UNTOUCHED = {
    "a.txt": "one\r\ntwo\n\n  three \u2028 four\x0b\nlast",
    "b.txt": "\ufeffmark\n",
    "a.csv": 'id,text\r\n1,"a, b"\r\n2,"two\nlines"\r\n\r\n3,""\r\n4,plain\n5,"say ""hi"""',
    "mark.csv": "\ufeffid,text\n1,x\n\n\n",
    "semicolons.csv": 'id;text\r\n1;"a; b, c"\r\n2;"two\nlines"\r\n\r\n3;""\r\n4;"say ""hi"""',
    "quoted.csv": '"id";"a text"\n"1";"a, b"\n',
    "says.csv": "\ufeffsep=;\r\nid;text\r\n1;x\r\n",
    "tabs.csv": 'id\ttext\n1\t"a\tb"\n',
    "bars.csv": "id|text\n1|a; b, c\n",
    "a.tsv": "id\ttext\n1\ta lone \" quote\n\n2\tdon't\t\n".replace("\t\n", "\n"),
    "a.jsonl": '{"text": "a",  "n": 1.50e3}\n\n{"n":null,"text":"\\u00e9"}\r\n \n',
    "a.json": ' [\n  {"text": "a", "n": 1.0},\n  {"text": "b"}  ,{"text":"c"}\n]\n\n',
}


@pytest.mark.parametrize("rows", [1, 2, 1000])
@pytest.mark.parametrize("name", UNTOUCHED)
def test_without_a_change_a_file_is_written_as_it_stood(
    tmp_path: Path, name: str, rows: int
) -> None:
    path = write(tmp_path / name, UNTOUCHED[name])
    assert rewritten(path, {}, rows=rows) == path.read_bytes()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(LINE, LINE), min_size=1, max_size=6),
    dialect=st.fixed_dictionaries(
        {
            "quoting": st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
            "lineterminator": st.sampled_from(["\n", "\r\n"]),
            "delimiter": st.sampled_from(",;|\t"),
        }
    ),
    batch=st.integers(1, 3),
)
def test_csv_agrees_with_the_standard_module(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    dialect: dict[str, Any],
    batch: int,
) -> None:
    text = io.StringIO()
    csv.writer(text, **dialect).writerows([("a", "b"), *rows])
    delimiter = dialect["delimiter"]
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", text.getvalue())
    assert read(path, rows=batch) == [{"a": a, "b": b} for a, b in rows]
    assert rewritten(path, {}, rows=batch) == path.read_bytes()
    changed = rewritten(path, {0: {"b": 'new, "b"'}}, rows=batch).decode()
    found = list(csv.reader(io.StringIO(changed, newline=""), delimiter=delimiter))[1:]
    assert found == [[rows[0][0], 'new, "b"'], *[list(row) for row in rows[1:]]]
    first, second = map(list, zip(*rows, strict=True))
    columns = {"a": Repeated(first[::-1], range(len(rows))[::-1]), "b": second}
    new = Dataset(str(path)).format.encode(columns, "utf-8").decode()
    written = csv.reader(io.StringIO(new, newline=""), delimiter=delimiter, strict=True)
    assert list(written) == list(map(list, rows))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.floats(allow_nan=False)),
        min_size=1,
        max_size=5,
    ),
    ascii_only=st.booleans(),
    form=st.sampled_from(["jsonl", "json"]),
)
def test_json_keeps_all_but_the_changed_value(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    ascii_only: bool,
    form: str,
) -> None:
    rows[0]["text"] = "old"
    encoded = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    content = "\n".join(encoded) if form == "jsonl" else "[" + " , ".join(encoded) + "]"
    content = content.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    path = write(tmp_path_factory.mktemp("json") / f"a.{form}", content)
    assert rewritten(path, {}) == path.read_bytes()
    after = rewritten(path, {0: {"text": "né\n"}}).decode()
    new = json.dumps("né\n", ensure_ascii=encoded[0].isascii())
    assert after == content.replace('"text": "old"', f'"text": {new}', 1)


def test_a_changed_row_keeps_its_line_end_quotes_and_numbers(tmp_path: Path) -> None:
    txt = write(tmp_path / "a.txt", "one\r\ntwo\nthree")
    assert rewritten(txt, {0: {"text": "1"}, 2: {"text": "3"}}) == b"1\r\ntwo\n3"
    assert rewritten(txt, {2: {"text": ""}}) == b"one\r\ntwo\n\n", "three rows"
    tsv = write(tmp_path / "a.tsv", 'id\ttext\r\n1\t"a\r\n')
    assert rewritten(tsv, {0: {"text": '"b'}}) == b'id\ttext\r\n1\t"b\r\n'
    table = write(tmp_path / "a.csv", 'n,text\n"1","a"\n2,b\n')
    changed = rewritten(table, {0: {"text": "x"}, 1: {"text": "y, z"}})
    assert changed == b'n,text\n"1","x"\n2,"y, z"\n'
    lines = write(tmp_path / "one.tsv", "text\n\n\r\nb")
    assert rewritten(lines, {0: {"text": "a"}, 1: {"text": "c"}}) == b"text\na\nc\r\nb"
    assert rewritten(lines, {2: {"text": ""}}) == b"text\n\n\r\n\n", "three rows"
    odd = write(tmp_path / "b.csv", "n,text\r\r\n1,a\r\r\n")
    assert rewritten(odd, {0: {"text": "x"}}) == b"n,text\r\r\n1,x\r\r\n"
    lines = write(tmp_path / "a.jsonl", '{"n": 1.50, "text" : "a", "big": 1e400}\n')
    assert rewritten(lines, {0: {"text": "b"}}) == b'{"n": 1.50, "text" : "b", "big": 1e400}\n'


def test_a_lone_quote_in_a_tsv_swallows_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", '0\t"it\n1\tis"\n')
    assert read(path, header=False) == [{"1": "0", "2": '"it'}, {"1": "1", "2": 'is"'}]


def test_a_megabyte_on_one_line_is_read(tmp_path: Path) -> None:
    long = "word " * 250_000
    assert read(write(tmp_path / "a.csv", f'text\n"{long}"\n'))[0]["text"] == long
    assert read(write(tmp_path / "a.txt", long))[0]["text"] == long
    lines = write(tmp_path / "a.jsonl", json.dumps({"text": long}))
    assert read(lines)[0]["text"] == long
    array = write(tmp_path / "a.json", json.dumps([{"text": long}] * 3))
    assert [row["text"] == long for row in read(array)] == [True] * 3


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: zstandard.compress(data[:50]) + zstandard.compress(data[50:])),
    ],
)
def test_compressed_files_are_read_and_damaged_ones_refused(
    tmp_path: Path, suffix: str, compress: Any
) -> None:
    content = "text\n" + "".join(f"row {number}\n" for number in range(500))
    packed = compress(content.encode())
    path = write(tmp_path / f"a.csv{suffix}", packed)
    assert len(read(path)) == 500
    write(path, packed[:-9])
    with pytest.raises(DataError, match=r"a\.csv\.\w+ is damaged"):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_file_of_several_streams_is_read_whole_or_refused(
    tmp_path: Path, suffix: str, compress: Any
) -> None:
    first, second = compress(b"text\n" + b"row\n" * 1000), compress(b"row\n" * 2_000_000)
    path = write(tmp_path / f"a.csv{suffix}", first + bytes(8) + second + bytes(4))
    assert len(read(path)) == 2_001_000
    for at in (0, -9):
        damaged = bytearray(second)
        damaged[at] ^= 1
        with pytest.raises(DataError, match=r"a\.csv\.\w+ is damaged"):
            read(write(path, first + damaged))


@pytest.mark.parametrize(
    "lines",
    [
        ['{"text": "x"}', '{"text": "y"}] {"text": "z"}'],
        ['{"text": "x"}]'],
        ['{"a": [{"text": "x"}', '{"text": "y"}]}', '{"text": "z"}, {"text": "z"}'],
        ['{"text": "x"}, 0, {"text": "y"}', '{"text": "z"}'],
        ['{"text": "x"}', '["text"]'],
    ],
)
def test_lines_that_are_objects_only_together_are_refused(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(DataError, match=r"line [12]"):
        read(write(tmp_path / "a.jsonl", "\n".join(lines)))


def test_what_is_written_beside_has_the_bytes_and_the_errors_of_what_is_written_here() -> None:
    blocks = [bytes([number]) * 1000 for number in range(50)]
    content = io.BytesIO()
    with write_behind(content) as stream:
        for block in read_ahead(iter(blocks)):
            stream.write(block)
    assert content.getvalue() == b"".join(blocks)
    content.close()
    with pytest.raises(ValueError, match="closed file"), write_behind(content) as stream:
        stream.write(b"too late")
    threads = set(threading.enumerate())
    left = read_ahead(iter(blocks))
    assert next(left) == blocks[0]
    (reader,) = set(threading.enumerate()) - threads
    assert reader.name.startswith(HARMLESS), "processes may fork beside it"
    before = threading.active_count()
    left.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before - 1


def test_a_pipe_that_nobody_closes_is_not_waited_for_at_the_end() -> None:
    closed = threading.Event()

    def blocks() -> Iterator[bytes]:
        yield b"first"
        closed.wait(60)

    reading = read_ahead(blocks())
    assert next(reading) == b"first"
    began = time.monotonic()
    reading.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 30
    closed.set()


def test_parquet_and_arrow_keep_types_and_values(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    table = arrow.table(
        {
            "text": arrow.array(["a", None, "c"], arrow.large_string()),
            "n": arrow.array([1, 2, None], arrow.int16()),
            "kind": arrow.array(["x", "y", "x"]).dictionary_encode(),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    feather.write_feather(table, tmp_path / "a.arrow")
    with arrow.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as stream:
        stream.write_table(table)
    for name in ("a.parquet", "a.arrow", "b.arrow"):
        content = rewritten(tmp_path / name, {2: {"text": "C"}}, rows=2)
        after = (
            parquet.read_table(io.BytesIO(content))
            if name == "a.parquet"
            else arrow.ipc.open_file(io.BytesIO(content)).read_all()
        )
        assert after.schema.equals(table.schema), name
        assert after.to_pylist() == [*table.to_pylist()[:2], {"text": "C", "n": None, "kind": "x"}]
        assert read(tmp_path / name, limit=1) == table.to_pylist()[:1]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_what_is_no_arrow_is_refused(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match="cannot be read as"):
        read(write(tmp_path / name, b"hello, this is no table"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "a,b\n1,2\n\n1,2,3\n", r"line 4: 3 fields, but the file has 2 columns"),
        ("a.tsv", "a\tb\n1\t2\nx\n", r"line 3: 1 fields, but the file has 2 columns"),
        ("a.csv", 'a\nx\n"never closed\nmore\n', r"line 3: invalid csv: unexpected end of data"),
        ("a.csv", 'a,b\n"x" y,z\n', r"line 2: invalid csv"),
        ("a.csv", "a,,b\n", r"column 2 has no name"),
        ("a.csv", "id;;text\n1;;A film.\n", r"column 2 has no name"),
        (
            "a.csv",
            "a;b\n1;2;3\n",
            r"3 fields, but the file has 2(.|\n)*semicolons(.|\n)*--format csv-tab` or",
        ),
        ("a.csv", "a;b, c;d\n1;2;3\n", r"1 fields, but(.|\n)*commas separate(.|\n)*csv-semicolon"),
        ("a.csv", "id,text;x\n1;2\n", r"1 fields, but the file has 2(.|\n)*--format csv-semicolon"),
        ("a.csv", "a,b,a\n", r"columns 1 and 3 are both named 'a'"),
        ("a.csv", "", r"is empty"),
        ("a.jsonl", '{"a": 1}\n\n{"a": \n', r"line 3: invalid JSON: Expecting value at column 6$"),
        ("a.jsonl", '{"a": 1}\n{"a" 2}\n', r"line 2: invalid JSON: Expecting \S+ [\w ]+ column 6$"),
        ("a.jsonl", '{"a": 1}\n[1]\n', r"line 2: a row is an object"),
        ("a.json", '[{"a": 1},\n {"a" 2}]', r"line 2: invalid JSON"),
        ("a.json", '[{"a": 1} {"a": 2}]', r"line 1: .*expected `,`, found `\{`"),
        ("a.json", '[{"a": 1}', r"expected `,`, found end of file"),
        ("a.json", '[{"a": 1}] x', r"expected end of file, found `x`"),
        ("a.json", '[{"a": "no end', r"Unterminated string"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("id;text\n1;A film, a good one.\n", "csv-semicolon"),
        ('"id";"text"\n"1";"A film, a good one."\n', "csv-semicolon"),
        ('\n"id ; 2" ; "text"\n1 ; "A film, a good one."\n'.replace(" ; ", ";"), "csv-semicolon"),
        ('sep=;\nid;text\n1;"A film, a good one."\n', "csv-semicolon"),
        ('sep=,\nid,text\n1,"A film, a good one."\n', "csv"),
        ("id|text\n1|A film, a good one.\n", "csv-bar"),
        ('id\ttext\n1\t"A film, a good one."\n', "csv-tab"),
        ('"id;2",text\n1,"A film, a good one."\n', "csv"),
        ('"i\n;d",text\n1,"A film, a good one."\n', "csv"),
        ('text;"i\nd"\n"A film, a good one.";1\n', "csv-semicolon"),
        ('text;"i ""\nd"\n"A film, a good one.";1\n', "csv-semicolon"),
        ('text;5"\nA film, a good one.;1\n', "csv-semicolon"),
    ],
)
@pytest.mark.parametrize("rows", [1, 1000])
def test_the_first_line_of_a_csv_says_what_parts_its_columns(
    tmp_path: Path, content: str, form: str, rows: int
) -> None:
    """Spreadsheets write such files in countries with a decimal comma."""
    path = write(tmp_path / "a.csv", content)
    dataset = Dataset(str(path), options=ReadOptions(rows=rows))
    assert (dataset.format_name, len(dataset.names)) == (form, 2)
    assert [row["text"] for row in read(path, rows=rows)] == ["A film, a good one."]


@pytest.mark.parametrize("rows", [1, 1000])
def test_a_line_that_tells_the_delimiter_is_believed(tmp_path: Path, rows: int) -> None:
    path = write(tmp_path / "a.csv", "sep=,\na;b\nx\n")
    assert read(path, rows=rows) == [{"a;b": "x"}]


@pytest.mark.parametrize(
    "names",
    [
        ["a;b"],
        ["sep=;"],
        ["\ufeffa", "b"],
        ["a", "b,c"],
        ["a|b", "c"],
        ["a\tb", "c"],
        [" ", "b"],
    ],
)
@pytest.mark.parametrize("form", ["csv", "csv-semicolon", "csv-tab", "csv-bar"])
def test_names_of_new_files_are_read_as_they_were_written(
    tmp_path: Path, names: list[str], form: str
) -> None:
    output = io.BytesIO()
    columns = {name: ["x, y", ""] for name in names}
    parts = [format_named(form).encode(columns, "utf-8")]
    format_named(form).assemble(parts, output, Frame(tuple(names)))
    path = write(tmp_path / "a.csv", output.getvalue())
    rows = [dict.fromkeys(names, "x, y"), dict.fromkeys(names, "")]
    assert read(path) == read(path, format_name=form) == rows


@pytest.mark.parametrize("rows", [1, 2, 3, 50])
@pytest.mark.parametrize("wrong", ["1,2,3", 'x,"y" z'])
def test_the_line_of_an_error_does_not_depend_on_batches(
    tmp_path: Path, rows: int, wrong: str
) -> None:
    before = 'a,b\n1,2\n\n\n3,"four\nlines\n\nlong"\n5,6\n\n'
    path = write(tmp_path / "a.csv", f"{before}{wrong}\n7,8\n")
    with pytest.raises(DataError, match=f"line {before.count(chr(10)) + 1}: "):
        read(path, rows=rows)
    path = write(tmp_path / "a.tsv", "a\tb\n\n1\t2\n\n\nx\n")
    with pytest.raises(DataError, match="line 6: 1 fields"):
        read(path, rows=rows)


def test_invalid_text_is_refused_with_its_byte_unless_it_is_replaced(tmp_path: Path) -> None:
    start = "é good\n" * 200_000
    path = write(tmp_path / "a.txt", start.encode() + b"caf\xe9 bad\n")
    at = len(start.encode()) + 3
    with pytest.raises(DataError, match=f"line 200001: byte {at} of the file") as caught:
        read(path)
    assert "--encoding" in caught.value.help
    assert "--errors" in caught.value.help
    assert read(path, errors="replace")[-1]["text"] == "caf\ufffd bad"
    assert read(path, errors="ignore")[-1]["text"] == "caf bad"
    assert read(path, encoding="latin-1")[-1]["text"] == "café bad"


def test_a_character_cut_at_the_end_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: byte 4"):
        read(write(tmp_path / "a.txt", b"abc\n\xc3"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "latin-1", "cp1252"])
def test_other_encodings_go_in_and_out_unchanged(tmp_path: Path, encoding: str) -> None:
    for name, text in UNTOUCHED.items():
        if text.isascii() or encoding.startswith("utf"):
            path = write(tmp_path / name, text.removeprefix("\ufeff").encode(encoding))
            assert rewritten(path, {}, encoding=encoding, rows=1) == path.read_bytes(), name


def test_a_number_that_goes_on_in_the_next_block_is_one() -> None:
    blocks = SimpleNamespace(name="a.json", blocks=lambda: iter(["[12", "34", "]"]))
    cursor = JsonCursor(blocks)  # type: ignore[arg-type]
    cursor.take("[")
    assert cursor.value() == 1234
    assert cursor.take("]") == "]"


def test_bounds_of_batches_do_not_grow_for_ever() -> None:
    assert ReadOptions().bounds(10**6) == ReadOptions().bounds(99)


def test_options_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "x")
    with pytest.raises(UsageError, match="no text encoding 'utf8x'"):
        read(path, encoding="utf8x")
    with pytest.raises(UsageError, match="errors='maybe'"):
        read(path, errors="maybe")
    with pytest.raises(UsageError, match="does not show its format"):
        format_of(str(write(tmp_path / "a.data", "x")))
    with pytest.raises(UsageError, match="no format 'xls'"):
        format_named("xls")
    with pytest.raises(UsageError, match="compressed inside"):
        format_of("a.parquet.gz")
    with pytest.raises(DataError, match=r"nothing\.csv cannot be read: No such file"):
        read(tmp_path / "nothing.csv")


def test_new_rows_round_trip_through_every_text_format(tmp_path: Path) -> None:
    rows = {"id": ["1", "2"], "text": ['say "hi", é', "two"]}
    for name in ("csv", "tsv", "jsonl", "json"):
        form = format_named(name)
        output = io.BytesIO()
        parts = [form.encode({k: v[i : i + 1] for k, v in rows.items()}, "utf-8") for i in (0, 1)]
        form.assemble([b"", *parts], output, Frame(("id", "text")))
        path = write(tmp_path / f"a.{name}", output.getvalue())
        assert read(path) == [{"id": "1", "text": 'say "hi", é'}, {"id": "2", "text": "two"}]
    assert format_named("txt").encode({"text": ["a", "b"]}, "utf-8") == b"a\nb\n"


def test_what_a_format_cannot_hold_is_refused() -> None:
    with pytest.raises(DataError, match="cannot hold a tab or a line end"):
        format_named("tsv").encode({"a": ["x\ty"]}, "utf-8")
    for text in ("x\ny", "x\r"):
        with pytest.raises(DataError, match="is not one line of plain text"):
            format_named("txt").encode({"text": [1, float("nan"), None, text]}, "utf-8")
    with pytest.raises(DataError, match=r"latin-1 cannot encode the character U\+20AC"):
        format_named("txt").encode({"text": ["5 €"]}, "latin-1")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.json"])
def test_batches_are_bounded_and_so_is_memory(tmp_path: Path, name: str) -> None:
    count = 40_000
    sentence = "a sentence of some length that stands for the others " * 4
    if name in ("a.jsonl", "a.json"):
        rows = [json.dumps({"text": sentence})] * count
        content = "\n".join(rows) if name == "a.jsonl" else "[" + ",\n".join(rows) + "]"
    else:
        content = "text\n" + f"{sentence}\n" * (count - (name == "a.txt"))
    path = write(tmp_path / name, content)
    del content
    tracemalloc.start()
    sizes = [batch.rows for batch in Dataset(str(path)).batches()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) == count
    assert max(sizes) <= 10_000
    assert len(sizes) >= 8
    assert peak < 20 * 1024 * 1024


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("pyarrow", "a.parquet", "arrow"), ("zstandard", "a.csv.zst", "zstd")],
)
def test_a_package_that_is_missing_is_named(
    tmp_path: Path, package: str, name: str, extra: str
) -> None:
    path = write(tmp_path / name, b"PAR1")
    program = (
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"
        "from sears_dsl.errors import DataError\n"
        "from sears_dsl.data.dataset import Dataset\n"
        f"try:\n    Dataset({str(path)!r})\nexcept DataError as error:\n    print(error)\n"
        "print(sorted({'pandas', 'datasets', 'spacy', 'numba'} & set(sys.modules)))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert f"need the {package} package" in told
    assert f'pip install "sears-dsl[{extra}]"' in told
    assert told.splitlines()[-1] == "[]"


def test_a_file_of_carriage_returns_is_reported_in_our_words(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for content in (b"id,text\r1,a\r", b"id,text\n1,a\r2,b\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="a carriage return without a line feed") as caught:
            list(Dataset(str(path)).batches())
        assert "tr '\\r' '\\n'" in caught.value.help
    for name, content in (("a.tsv", b"id\ttext\r1\ta\r"), ("a.jsonl", b'{"a": 1}\r{"a": 2}\r')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match="line 1: a carriage return without a line feed"):
            Dataset(str(tmp_path / name))
    for content in (b"a movie\ra film\r", b"a\rb", b"a\r"):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(DataError, match="line 1: a carriage return without a line feed"):
            Dataset(str(tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_bytes(b"a\rb\nc\r\nd\re")
    batches = Dataset(str(tmp_path / "a.txt")).batches()
    assert [text for batch in batches for text in batch.columns["text"]] == ["a\rb", "c", "d\re"]
    path.write_bytes(b'id,text\r\n1,"a\rb"\r\n')
    assert list(Dataset(str(path)).first.columns["text"]) == ["a\rb"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize(
    ("content", "form"), [(' {"data": []}', "squad"), ('\n[{"text": "é"}]', "json")]
)
def test_json_is_recognized_in_every_encoding(
    tmp_path: Path, encoding: str, content: str, form: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode(encoding))
    data = Dataset(str(path), options=ReadOptions(encoding=encoding))
    assert data.format.name == form
    if encoding in ("utf-16", "utf-32"):
        with pytest.raises(
            DataError, match=f"begins with the byte order mark of {encoding}"
        ) as told:
            list(Dataset(str(path)).batches())
        assert f"iconv -f {encoding} -t utf-8" in told.value.help
        assert f"`--encoding {encoding}`" in told.value.help


@pytest.mark.parametrize(
    ("row", "new", "written"),
    [
        ("old\n", "x\ry", "x\ry\n"),
        ("old\r\n", "x\r", "x\r\r\n"),
        ("old\n", "x\r", None),
        ("old", "x\r", None),
        ("old\n", "x\ny", None),
    ],
)
def test_a_changed_line_of_plain_text_is_read_as_it_was_meant(
    tmp_path: Path, row: str, new: str, written: str | None
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"first\n" + row.encode())
    *_, last = Dataset(str(path)).batches()
    form, changes = format_named("txt"), {last.rows - 1: {"text": new}}
    if written is None:
        with pytest.raises(DataError, match="row 2: a text with line ends is not one line"):
            form.patch(last, changes, frozenset(), "utf-8")
        return
    path.write_bytes(form.patch(last, changes, frozenset(), "utf-8"))
    assert path.read_bytes() == b"first\n" + written.encode()
    assert [text for each in Dataset(str(path)).batches() for text in each.columns["text"]] == [
        "first",
        new,
    ]
