"""``apply_file`` from end to end: modes, formats, options, processes, streams."""

from __future__ import annotations

import csv
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait_until
from word_matcher import WordRecipe

import sears_dsl as sears
from sears_dsl.batch.files import ApplyProgress, ApplyReport, ApplyRequest, apply_file
from sears_dsl.batch.plan import Plan
from sears_dsl.batch.workers import BatchTask, Crew, RulesetRecipe, _Pace
from sears_dsl.data.batches import Batch, ReadOptions
from sears_dsl.data.dataset import Dataset
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.printer import distinct_ids

CSV = 'id,text,n\na,What a movie,1\nb,"It, is",2\nc,movie and movie,3\n'


def request_of(source: Path, output: str | Path, **options: Any) -> ApplyRequest:
    """A request to apply rules to a file, those of `WordRecipe` unless another recipe is given."""
    return ApplyRequest(
        **{"recipe": WordRecipe(), "input": str(source), "output": str(output), **options}
    )


def apply(
    tmp_path: Path, content: str, *, name: str = "in.csv", output: str = "out.csv", **options: Any
) -> tuple[ApplyReport, str]:
    source = tmp_path / name
    source.write_bytes(content.encode())
    place = tmp_path / output
    report = apply_file(request_of(source, place, **options))
    return report, place.read_bytes().decode() if place.suffix != ".gz" else ""


def test_each_gives_a_record_for_every_row_and_rule(tmp_path: Path) -> None:
    report, after = apply(tmp_path, CSV, columns=("text",))
    records = list(csv.DictReader(after.splitlines()))
    assert list(records[0]) == ["id", "rule", "original", "rewritten", "edits"]
    assert [(record["id"], record["rule"], record["rewritten"]) for record in records] == [
        ("a", "film", "What a film"),
        ("a", "which", "Which a movie"),
        ("c", "film", "film and movie"),
    ]
    assert json.loads(records[0]["edits"]) == [[7, 12, "movie", "film"]]
    assert (report.tally.rows, report.tally.changed, report.tally.records) == (3, 2, 3)
    assert report.tally.characters == len("What a movie" + "It, is" + "movie and movie")
    film = report.rules["film"]
    assert (film.rows, film.edits, film.unrenderable) == (2, 2, 0)
    assert [example.rewritten for example in film.examples] == ["What a film", "film and movie"]
    assert report.silent == ("never",)
    assert report.seconds > 0


def test_a_csv_of_semicolons_stays_one_and_records_are_of_commas(tmp_path: Path) -> None:
    """Rows go back to the reader of the file; records use the most common kind of csv."""
    content = 'id;text;n\na;"What; a movie";1\nb;It, is;2\n'
    chained = {"columns": ("text",), "mode": "chain"}
    _, after = apply(tmp_path, content, **chained)
    assert after == 'id;text;n\na;"Which; a film";1\nb;It, is;2\n'
    _, both = apply(tmp_path, content, **chained, with_originals=True)
    assert both.startswith(content)
    assert both.endswith('a~rewritten;"Which; a film";1\nb~rewritten;It, is;2\n')
    _, commas = apply(tmp_path, content, **chained, output_format="csv")
    assert commas == 'id,text,n\na,Which; a film,1\nb,"It, is",2\n'
    _, records = apply(tmp_path, content, columns=("text",))
    assert records.startswith("id,rule,original,rewritten,edits\na,film,What; a movie,")


def test_chain_gives_each_row_once_and_leaves_the_rest(tmp_path: Path) -> None:
    report, after = apply(tmp_path, CSV, columns=("text",), mode="chain", scope="all")
    assert after == 'id,text,n\na,Which a film,1\nb,"It, is",2\nc,film and film,3\n'
    assert report.rules["film"].edits == 3
    first = report.rules["which"].examples[0]
    assert (first.original, first.rewritten) == ("What a film", "Which a film")


@pytest.mark.parametrize("output", ["out.jsonl", "out.json", "out.tsv", "out.parquet", "out.arrow"])
@pytest.mark.parametrize("mode", ["each", "chain"])
def test_every_format_can_be_written_from_every_other(
    tmp_path: Path, output: str, mode: Any
) -> None:
    if output.endswith(("parquet", "arrow")):
        pytest.importorskip("pyarrow")
    source, place = tmp_path / "in.csv", tmp_path / output
    source.write_text(CSV)
    request = request_of(source, place, mode=mode, columns=("text",), reading=ReadOptions(rows=1))
    apply_file(request)
    back = tmp_path / "back.jsonl"
    nothing = WordRecipe(rules=(("none", "qwerty", ""),))
    column = "rewritten" if mode == "each" else "text"
    again = replace(request, recipe=nothing, input=str(place), output=str(back), mode="chain")
    apply_file(replace(again, columns=(column,)))
    rows = [json.loads(line) for line in back.read_text().splitlines()]
    if mode == "chain":
        texts = ["Which a film", "It, is", "film and movie"]
        ids = zip("abc", texts, "123", strict=True)
        assert rows == [{"id": i, "text": text, "n": n} for i, text, n in ids]
    else:
        assert [row["rewritten"] for row in rows] == [
            "What a film",
            "Which a movie",
            "film and movie",
        ]
        edits = rows[0]["edits"]
        edit = (7, 12, "movie", "film")
        if output.endswith(("parquet", "arrow")):  # lists are lists there
            assert edits == [dict(zip(("start", "end", "old", "new"), edit, strict=True))]
        else:
            assert (json.loads(edits) if isinstance(edits, str) else edits) == [list(edit)]


@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.parquet"])
def test_types_stay(tmp_path: Path, name: str) -> None:
    rows = [{"text": "movie", "n": 1, "more": {"a": [1.5]}}, {"text": None, "n": 2, "more": None}]
    source, output = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    if name == "in.parquet":
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(rows), source)
    else:
        lines = [json.dumps(row) for row in rows]
        source.write_text("[" + ",".join(lines) + "]" if name == "in.json" else "\n".join(lines))
    request = request_of(source, output, mode="chain")
    report = apply_file(request)
    assert report.tally.changed == 1
    expected = [{**rows[0], "text": "film"}, rows[1]]
    if name == "in.parquet":
        assert parquet.read_table(output).to_pylist() == expected
        assert parquet.read_schema(output).equals(parquet.read_schema(source))
    elif name == "in.json":
        assert json.loads(output.read_text()) == expected
    else:
        assert [json.loads(line) for line in output.read_text().splitlines()] == expected


TEXTS = st.lists(
    st.lists(st.sampled_from(["movie", "What", "é", "\u2028", ",", "x"]), max_size=5).map(" ".join),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(
    texts=TEXTS,
    rows=st.integers(1, 13),
    end=st.sampled_from(["\n", "\r\n"]),
    mode=st.sampled_from(["each", "chain"]),
)
def test_batches_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], rows: int, end: str, mode: Any
) -> None:
    place = tmp_path_factory.mktemp("batches")
    content = end.join(texts) + end
    options: dict[str, Any] = {"name": "in.txt", "output": "out.txt", "mode": mode}
    whole, expected = apply(place, content, **options)
    parts, after = apply(place, content, reading=ReadOptions(rows=rows), **options)
    assert after == expected
    assert parts.tally == whole.tally
    if mode == "chain":
        once = [t.replace("movie", "film", 1).replace("What", "Which", 1) for t in texts]
        assert after == end.join(once) + end


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["x", "movie", "What"]), st.sampled_from(["x", "movie", "What"])),
        min_size=1,
        max_size=6,
    ),
    size=st.integers(1, 6),
    mode=st.sampled_from(["each", "chain"]),
)
def test_examples_of_several_columns_are_the_first_ones_in_batches_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int, mode: Any
) -> None:
    place = tmp_path_factory.mktemp("examples")
    content = "".join(
        json.dumps({"a": f"{a} a{number}", "b": f"{b} b{number}"}) + "\n"
        for number, (a, b) in enumerate(rows)
    )
    options: dict[str, Any] = {"name": "in.jsonl", "output": "out.jsonl", "columns": ("a", "b")}
    whole, expected = apply(place, content, mode=mode, **options)
    parts, after = apply(place, content, mode=mode, reading=ReadOptions(rows=size), **options)
    assert after == expected
    assert parts.rules == whole.rules


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_processes_do_not_matter(tmp_path: Path, mode: Any) -> None:
    content = "text\n" + "".join(f"What a movie {n}\n" if n % 3 else "x\n" for n in range(200))
    options: dict[str, Any] = {"mode": mode, "reading": ReadOptions(rows=7)}
    one, expected = apply(tmp_path, content, output="a.csv", **options)
    two, after = apply(tmp_path, content, output="b.csv", jobs=2, **options)
    assert apply(tmp_path, content, output="c.csv", jobs=None, **options)[1] == after
    assert after == expected
    assert two.tally == one.tally
    assert two.rules == one.rules


def test_an_error_in_a_process_is_the_same_error(tmp_path: Path) -> None:
    content = '{"text": "a"}\n' * 20 + '{"text": 3}\n'
    for jobs in (1, 2):
        with pytest.raises(DataError, match="row 21: column text holds 3, of type int") as caught:
            apply(tmp_path, content, name="in.jsonl", reading=ReadOptions(rows=4), jobs=jobs)
        assert caught.value.help


def test_a_second_process_has_to_be_worth_it() -> None:
    """By the pace of the latest rows, which learn less than the first ones."""

    def work(seconds: float) -> None:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    pace = _Pace(expected_rows=100_000)
    pace.reach(0)
    work(0.2)
    pace.reach(10)
    assert pace.seconds_left() == 0, "the first batch also reads compiled code"
    work(0.05)
    pace.reach(20)
    assert pace.seconds_left() == 0, "the first moments say nothing"
    work(0.1)
    pace.reach(1_020)
    assert pace.seconds_left() == pytest.approx(9.9, rel=0.3)
    assert replace(pace, expected_rows=2_020).seconds_left() == pytest.approx(0.1, rel=0.3)
    assert replace(pace, expected_rows=None).seconds_left() == pytest.approx(0.15, rel=0.3)


def test_what_cannot_be_read_waits_for_the_batches_before_it() -> None:
    def batches() -> Iterator[Batch]:
        for first in range(3):
            yield Batch(first, 1, {"text": ["movie"]}, None)
            if first == 1:
                # The other process is given the last batch.
                wait_until(lambda: all(each.has_room for each in crew._others), "it never started")
        raise DataError("no more")

    plan = Plan(columns=("text",))
    task = BatchTask(mode="chain", plan=plan, output_format="txt", encoding="utf-8", patched=False)
    with closing(Crew(WordRecipe(), task, jobs=2)) as crew:
        finished = crew.work_on(batches(), WordRecipe().build())
        assert [next(finished)[0] for _ in range(3)] == [b"film\n"] * 3
        with pytest.raises(DataError, match="no more"):
            next(finished)


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.parquet"])
def test_objects_of_other_keys_stand_under_the_right_names(tmp_path: Path, output: str) -> None:
    if output.endswith("parquet"):
        pytest.importorskip("pyarrow")
    content = (
        '{"text": "movie", "a": "1", "b": "2"}\n{"b": "4", "a": "3", "text": "it"}\n'
        '{"text": "it", "b": "6"}\n'
    )
    options: dict[str, Any] = {"mode": "chain", "columns": ("text",), "name": "in.jsonl"}
    source, back = tmp_path / "in.jsonl", tmp_path / "back.jsonl"
    source.write_text(content)
    for rows in (1, 100):
        request = request_of(
            source,
            tmp_path / output,
            mode="chain",
            columns=("text",),
            reading=ReadOptions(rows=rows),
        )
        apply_file(request)
        apply_file(replace(request, input=request.output, output=str(back)))
        assert [json.loads(line) for line in back.read_text().splitlines()] == [
            {"text": "film", "a": "1", "b": "2"},
            {"text": "it", "a": "3", "b": "4"},
            {"text": "it", "a": None if output.endswith("parquet") else "", "b": "6"},
        ]
    if not output.endswith("parquet"):
        more = content + '{"text": "it", "a": "7", "b": "8", "c": "9"}\n'
        with pytest.raises(DataError, match="row 4 has a column 'c' that the first rows lack"):
            apply(tmp_path, more, output=output, reading=ReadOptions(rows=1), **options)


def test_what_the_caller_froze_stays_frozen(tmp_path: Path) -> None:
    usual = gc.get_threshold()
    gc.set_threshold(20_001, *usual[1:])
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        apply(tmp_path, CSV, columns=("text",))
        assert gc.get_freeze_count() >= frozen - 1000 > 0
        assert gc.get_threshold() == (20_001, *usual[1:])
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)
    apply(tmp_path, CSV, columns=("text",))
    assert gc.get_freeze_count() == 0


def test_files_without_a_header(tmp_path: Path) -> None:
    reading = ReadOptions(header=False)
    content = '1\ta "movie\n0\tit is\n'
    _, after = apply(
        tmp_path, content, name="rt.tsv", output="out.tsv", mode="chain", reading=reading
    )
    assert after == '1\ta "film\n0\tit is\n'
    _, after = apply(tmp_path, content, name="rt.tsv", output="o.jsonl", reading=reading)
    assert json.loads(after)["id"] == "1"
    assert json.loads(after)["rewritten"] == 'a "film'
    with pytest.raises(DataError, match="has no column '3'; its columns are 1, 2"):
        apply(tmp_path, content, name="rt.tsv", reading=reading, columns=("3",))


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    content = "text\nmovie\nmovie\na,b,ragged\n"
    report, after = apply(tmp_path, content, mode="chain", reading=ReadOptions(limit=2))
    assert after == "text\nfilm\nfilm\n"
    assert report.tally.rows == 2
    for name, text in [
        ("a.jsonl", '{"text": "a"}\n\n{"text": "b"}\n{"text": "c"}\n'),
        ("a.json", '[{"text": "a"}, {"text": "b"}, {"text": "c"}]'),
        ("a.txt", "a\nb\nc"),
    ]:
        report, after = apply(
            tmp_path,
            text,
            name=name,
            output=f"out{name}",
            mode="chain",
            reading=ReadOptions(limit=2),
        )
        assert report.tally.rows == 2
        assert '"c"' not in after
        if name == "a.json":
            assert json.loads(after) == [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", ""),
        ("a.jsonl", ""),
        ("a.json", "[]"),
        ("a.csv", "text\n"),
        ("a.tsv", "id\ttext\n"),
    ],
)
@pytest.mark.parametrize("mode", ["each", "chain"])
def test_no_rows_are_no_error(tmp_path: Path, name: str, content: str, mode: Any) -> None:
    report, after = apply(tmp_path, content, name=name, output=f"out{name}", mode=mode)
    assert report.tally.rows == 0
    assert set(report.silent) == {"film", "which", "never"}
    if mode == "chain":
        assert after == content


def test_without_any_column_there_are_no_names(tmp_path: Path) -> None:
    _, after = apply(tmp_path, "", name="in.jsonl", mode="chain")
    assert after == "\n"


def test_compressed_output_is_the_same_every_time(tmp_path: Path) -> None:
    import gzip

    for _ in range(2):
        apply(tmp_path, CSV, output="out.csv.gz", mode="chain", columns=("text",))
        content = (tmp_path / "out.csv.gz").read_bytes()
        (tmp_path / "all").mkdir(exist_ok=True)
        kept = tmp_path / "all" / "first"
        if kept.exists():
            assert kept.read_bytes() == content
        assert content[3:8] == bytes(5), "no name and no time"
        kept.write_bytes(content)
    assert gzip.decompress(content).decode().startswith("id,text,n\na,Which a film,1\n")


def test_spans_of_flat_files_move(tmp_path: Path) -> None:
    content = "text,start,answer\na movie of Rome,11,Rome\nthe movie,4,movie\n"
    report, after = apply(
        tmp_path,
        content,
        mode="chain",
        columns=("text",),
        spans=(SpanColumn.parse("text=start+answer"),),
    )
    assert after == ("text,start,answer\na film of Rome,10,Rome\nthe movie,4,movie\n")
    assert report.tally.reasons == [("2", "rule film would touch the span 'movie'")]
    _, after = apply(tmp_path, content, mode="chain", columns=("text",), protect=("answer",))
    assert after == "text,start,answer\na film of Rome,11,Rome\nthe movie,4,movie\n"


def test_progress_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text(CSV)
    seen: list[ApplyProgress] = []
    apply_file(
        request_of(source, tmp_path / "o.csv", columns=("text",), reading=ReadOptions(rows=2)),
        progress=seen.append,
    )
    assert [(p.rows, p.changed, p.batches) for p in seen] == [(1, 1, 1), (3, 2, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "in.csv"}, "is the input itself"),
        ({"output": "gone/../in.csv", "mode": "chain", "columns": ("text",)}, "the input itself"),
        ({"output": "gone/..", "columns": ("text",)}, "is a folder"),
        ({"columns": ("txt",)}, "has no column 'txt'; its columns are id, text, n"),
        ({"columns": ("text",), "protect": ("m",)}, "has no column 'm'"),
        ({"columns": ("text",), "spans": (SpanColumn("m", "n"),)}, "has no column 'm'"),
        ({"id_column": "key", "columns": ("text",)}, "has no column 'key'"),
        ({"columns": ("text",), "protect": ("text",)}, "nothing to rewrite"),
        ({"mode": "chain", "columns": ("text",), "output": "out.txt"}, "has only one column"),
        ({"columns": ("text",), "output": "out.data"}, "does not show its format"),
        ({"columns": ("text",), "jobs": 0}, "--jobs 0 is not valid"),
        ({"columns": ("text",), "reading": ReadOptions(limit=-1)}, "--limit -1 is not valid"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SearsError, match=message):
        apply(tmp_path, CSV, **options)
    assert (tmp_path / "in.csv").read_text() == CSV


def test_a_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        apply(tmp_path, CSV, output="folder.csv")


def test_ids_must_be_distinct_where_they_are_used(tmp_path: Path) -> None:
    content = "id,text\na,movie\nb,x\na,x\n"
    with pytest.raises(DataError, match="rows 1 and 3 probably have the same id 'a'"):
        apply(tmp_path, content, reading=ReadOptions(rows=1))
    _, after = apply(tmp_path, content, mode="chain")
    assert after == "id,text\na,film\nb,x\na,x\n"


def test_encodings_stay_in_chain_mode(tmp_path: Path) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes("café movie\r\n".encode("latin-1"))
    request = request_of(source, output, mode="chain", reading=ReadOptions(encoding="latin-1"))
    apply_file(request)
    assert output.read_bytes() == "café film\r\n".encode("latin-1")
    apply_file(replace(request, mode="each"))
    assert output.read_bytes() == "café film\n".encode()


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from word_matcher import WordRecipe
from sears_dsl.batch.files import apply_file
from sears_dsl.batch.files import ApplyRequest
if __name__ == "__main__":
    report = apply_file(ApplyRequest(recipe=WordRecipe(), input={source!r}, output={output!r},
                                     mode={mode!r}))
    print(report.tally.rows, report.stopped, file=sys.stderr)
"""


def script(*, mode: str = "chain", source: str = "-", output: str = "-") -> list[str]:
    tests = str(Path(__file__).parents[1])
    return [
        sys.executable,
        "-c",
        SCRIPT.format(tests=tests, source=source, output=output, mode=mode),
    ]


def test_standard_streams(tmp_path: Path) -> None:
    ran = subprocess.run(script(), input=b"What\r\na movie", capture_output=True, check=True)
    assert ran.stdout == b"Which\r\na film"
    assert ran.stderr.split() == [b"2", b"False"]
    ran = subprocess.run(script(mode="each"), input=b"movie", capture_output=True, check=True)
    assert json.loads(ran.stdout)["rewritten"] == "film"
    request = ApplyRequest(recipe=WordRecipe(), input="-", output="x.txt", resume=True)
    with pytest.raises(UsageError, match="cannot be resumed"):
        apply_file(request)


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a movie that is long enough to fill the pipe\n" * 60_000)
    with subprocess.Popen(
        script(source=str(source)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a film that is long enough to fill the pipe\n"
        process.stdout.close()
        told = process.stderr.read().decode()
        assert process.wait(300) == 0
    assert told.split()[-1] == "True"
    assert "Error" not in told


def test_a_device_is_written_as_a_stream(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("movie\n")
    request = request_of(source, "/dev/null", mode="chain")
    assert apply_file(request).tally.changed == 1
    with pytest.raises(UsageError, match="cannot be written to a stream"):
        apply_file(replace(request, output_format="parquet"))


def test_recipes_tell_rules_apart() -> None:
    first = RulesetRecipe((parse("What NOUN -> Which NOUN"),), tagger="pinned")
    other = RulesetRecipe((parse("option case = exact\nWhat NOUN -> Which NOUN"),), tagger="pinned")
    assert first.identity() == replace(first).identity()
    assert first.identity() != other.identity()


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_the_engine_does_the_same_in_processes(tmp_path: Path, mode: Any) -> None:
    """The real matcher, from a rule file to a rewritten one."""
    rules = parse("movie -> film\nWhat NOUN -> Which NOUN\nthe film -> that film\n")
    source = tmp_path / "in.jsonl"
    texts = ["the movie", "It is.", 'an "odd"   movie', "What/PRON/WP color/NOUN/NN ?", "a film"]
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts * 3))
    outputs = []
    for jobs in (1, 2):
        output = tmp_path / f"out{jobs}.jsonl"
        report = apply_file(
            request_of(
                source,
                output,
                recipe=RulesetRecipe((rules,), tagger="pinned"),
                mode=mode,
                reading=ReadOptions(rows=4),
                jobs=jobs,
            )
        )
        assert report.tally.changed == 9
        outputs.append(output.read_text())
    assert outputs[0] == outputs[1]
    rows = [json.loads(line) for line in outputs[0].splitlines()]
    if mode == "chain":
        changed = ["that film", "It is.", 'an "odd"   film', "Which color ?", "a film"]
        assert [row["text"] for row in rows] == changed * 3
    else:
        found = [(row["id"], row["rewritten"]) for row in rows[:3]]
        assert found == [("1", "the film"), ("3", 'an "odd"   film'), ("4", "Which color ?")]


# ---------------------------------------------------------------- columns that are kept


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.jsonl", "out.json", "out.parquet"])
@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_records_carry_what_is_kept(tmp_path: Path, name: str, output: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {"id": 7, "text": "a movie", "label": "pos", "n": 1},
        {"id": 8, "text": "it", "label": "neg", "n": 2},
        {"id": 9, "text": "What movie", "label": None, "n": 3},
    ]
    source, place = tmp_path / name, tmp_path / output
    if name == "in.parquet":
        table = arrow.Table.from_pylist(rows)
        parquet.write_table(table.cast(table.schema.set(3, arrow.field("n", "int8"))), source)
    elif name == "in.jsonl":
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        source.write_text("id,text,label,n\n7,a movie,pos,1\n8,it,neg,2\n9,What movie,,3\n")
    for jobs, size in ((1, 100), (1, 1), (2, 1)):
        request = request_of(
            source,
            place,
            columns=("text",),
            keep=("all",),
            reading=ReadOptions(rows=size),
            jobs=jobs,
        )
        assert apply_file(request).tally.records == 3
        back = [row for part in Dataset(str(place)).batches() for row in _rows(part)]
        assert list(back[0]) == ["id", "rule", "original", "rewritten", "edits", "label", "n"]
        texts = "csv" in (name[3:], output[4:]) or output == "out.tsv"
        nothing = "" if texts else None
        assert [(row["id"], row["label"], row["n"]) for row in back] == [
            (str(i) if texts else i, label, str(n) if texts else n)
            for i, label, n in ((7, "pos", 1), (9, nothing, 3), (9, nothing, 3))
        ]
    if name == output.replace("out", "in") == "in.parquet":
        assert parquet.read_schema(place).field("n").type == "int8"


def _rows(batch: Batch) -> list[dict[str, Any]]:
    values = zip(*batch.columns.values(), strict=True)
    return [dict(zip(batch.columns, row, strict=True)) for row in values]


def test_columns_to_keep_are_named_or_all_of_them(tmp_path: Path) -> None:
    def kept(*names: str, content: str = CSV, **options: Any) -> str:
        options = {"columns": ("text",), **options}
        _, after = apply(tmp_path, content, keep=names, **options)
        return after.splitlines()[0].removeprefix("id,rule,original,rewritten,edits").strip(",")

    assert kept() == ""
    assert kept("n") == kept("n", "n") == kept("all") == kept("all", "id") == "n"
    assert kept("text", "n") == kept("text, n") == "text,n"
    assert kept("a,b", content='id,text,"a,b"\n1,movie,2\n') == '"a,b"'
    assert kept("all", content="id,text,all\n1,movie,2\n") == "all"
    assert kept("all", content="key,text,n\n1,movie,2\n", id_column="key") == "n"
    with pytest.raises(DataError, match="no column 'm'"):
        kept("m")
    clash = "id,text,rule,label\n1,movie,2,3\n"
    for names in (("all",), ("label", "rule")):
        with pytest.raises(
            UsageError, match="--keep rule: the output already has a column"
        ) as caught:
            kept(*names, content=clash)
        assert caught.value.help == "rename the column, or write --keep label"
    with pytest.raises(UsageError, match="--mode chain keeps all columns"):
        kept("n", mode="chain")


def test_columns_to_keep_have_the_features_that_hugging_face_noted(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    parquet = pytest.importorskip("pyarrow.parquet")
    mood = datasets.ClassLabel(names=["bad", "good"])
    kinds = {"text": datasets.Value("string"), "label": mood, "rule": mood}
    rows = [{"text": "a movie", "label": 1, "rule": 0}]
    source, place = tmp_path / "in.parquet", tmp_path / "out.parquet"
    datasets.Dataset.from_list(rows, features=datasets.Features(kinds)).to_parquet(source)
    apply_file(request_of(source, place, columns=("text",), keep=("label",)))
    written = datasets.Features.from_arrow_schema(parquet.read_schema(place))
    assert written["label"] == mood
    assert written["rule"] == datasets.Value("string")  # the name of a rule, not that column


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", "id,text,n\n1,nothing,2\n"),
        ("in.csv", "id,text,n\n"),
        ("in.jsonl", '{"id": "1", "text": "nothing", "n": "2"}\n'),
        ("in.json", "[]"),
        ("in.jsonl", ""),
        ("in.txt", ""),
        ("in.parquet", ""),
        ("in.parquet", "1"),
    ],
)
@pytest.mark.parametrize("mode", ["each", "chain"])
def test_where_nothing_fires_there_is_a_table_without_rows(
    tmp_path: Path, name: str, content: str, mode: Any, output: str
) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    source, place = tmp_path / name, tmp_path / output
    source.write_text(content)
    if name == "in.parquet":
        parquet.write_table(arrow.table({"id": ["1"], "text": ["nothing"]})[: len(content)], source)
    request = request_of(source, place, mode=mode)
    report = apply_file(request)
    table = Dataset(str(place)).first.columns
    if mode == "each":
        assert list(table) == ["id", "rule", "original", "rewritten", "edits"]
        assert report.tally.records == len(table["id"]) == 0
    else:
        assert list(table) == list(Dataset(str(source)).names)
        assert report.tally.changed == 0
    assert not list(tmp_path.glob("*.sears-partial"))


@pytest.mark.parametrize("mode", ["each", "chain"])
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "double"),
        ([1, "a"], ""),
        ([True, 1], ""),
        ([{"a": 1}, {"b": [2]}], "struct<a: int64, b: list<element: int64>>"),
        ([{"a": 1}, {"a": "x"}], ""),
        ([[1], []], "list<element: int64>"),
        ([1, 1 << 63], ""),
        ([None, None], "string"),
    ],
)
def test_types_of_a_table_do_not_depend_on_batches(
    tmp_path: Path, values: list[Any], kind: str, mode: Any
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    source, place = tmp_path / "in.jsonl", tmp_path / "out.parquet"
    rows = [{"text": "movie", "n": value} for value in values]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for size in (1, 2, 100):
        request = request_of(
            source,
            place,
            mode=mode,
            columns=("text",),
            keep=("n",) if mode == "each" else (),
            reading=ReadOptions(rows=size),
        )
        if kind:
            apply_file(request)
            assert str(parquet.read_schema(place).field("n").type) == kind
        else:
            with pytest.raises(DataError) as caught:
                apply_file(request)
            assert (
                caught.value.help == "write jsonl, or convert the values of the column to one type"
            )
            assert not place.exists()


def test_two_rulesets_may_share_an_id(tmp_path: Path) -> None:
    """The counts of both are shown."""
    source = tmp_path / "in.csv"
    source.write_text("text\na movie of color\nthe color\n")
    rulesets = (
        parse("rule m: movie -> film", path="a.sear"),
        parse("rule m: color -> colour", path="b.sear"),
    )
    for mode in ("each", "chain"):
        report = apply_file(
            request_of(
                source,
                tmp_path / "out.jsonl",
                recipe=RulesetRecipe(rulesets, tagger="pinned"),
                mode=mode,
            )
        )
        assert {name: of.rows for name, of in report.rules.items()} == {"a/m": 1, "b/m": 2}


@pytest.mark.parametrize(
    ("paths", "ids"),
    [
        (("old/r.sear", "new/r.sear"), ("old/r/m", "new/r/m")),
        (("r.sear", "new/r.sear"), ("r/m", "new/r/m")),
        (("/a/x/b/r.sear", "/a/y/b/r.sear"), ("x/b/r/m", "y/b/r/m")),
        (("a/r.sear", "b/r.sear", "b/s.sear"), ("a/r/m", "b/r/m", "s/m")),
        (("r.sear", "r.sear"), ("r/m", "r/m-2")),
    ],
)
def test_rulesets_of_one_name_are_told_apart_by_their_paths(
    paths: tuple[str, ...], ids: tuple[str, ...]
) -> None:
    assert distinct_ids([parse("rule m: movie -> film", path=path) for path in paths]) == ids


def test_published_names_that_are_equal_say_nothing() -> None:
    published = "ruleset demo 1.0.0\nrule m: movie -> film"
    rulesets = [parse(published, path=path) for path in ("x/a.sear", "y/b.sear")]
    assert distinct_ids(rulesets) == ("a/m", "b/m")


def test_a_column_that_is_named_twice_is_rewritten_once(tmp_path: Path) -> None:
    _, once = apply(tmp_path, CSV, columns=("text",))
    for twice in ({"columns": ("text", "text")}, {"columns": ("text",), "protect": ("n", "n")}):
        _, after = apply(tmp_path, CSV, **twice)
        assert after == once


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        (["a", "a"], {"with_originals": True}, "rows 1 and 2 have the same id 'a'"),
        (["a", "a"], {"id_column": "id"}, "rows 1 and 2 have the same id 'a'"),
        (["a", "a~rewritten"], {"with_originals": True}, "the same id 'a~rewritten'"),
        ([None, "b"], {"with_originals": True}, "row 1 has no id"),
    ],
)
def test_ids_of_rows_in_memory_are_checked_as_those_of_a_file(
    tmp_path: Path, ids: list[str | None], options: dict[str, Any], message: str
) -> None:
    rows = [{"id": each, "review": "A movie."} for each in ids]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    rules = sears.parse("movie -> film")
    with pytest.raises(DataError, match=message):
        sears.apply(rows, rules, mode="chain", **options)
    recipe, output = RulesetRecipe((rules,), tagger="pinned"), tmp_path / "out.jsonl"
    with pytest.raises(DataError, match=message):
        apply_file(request_of(path, output, recipe=recipe, mode="chain", **options))


def test_a_file_of_no_rows_has_its_columns_in_memory_too(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,review\n", "utf-8")
    for mode in ("each", "chain"):
        assert sears.apply(path, sears.parse("movie -> film"), column="review", mode=mode) == []
