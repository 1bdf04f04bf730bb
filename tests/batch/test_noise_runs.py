"""Runs with noise give the same bytes: in processes, in any order, after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sears_dsl as sears
from sears_dsl.batch.files import ApplyProgress, ApplyRequest, apply_file
from sears_dsl.batch.in_memory import apply_to
from sears_dsl.batch.plan import Tally
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.data.batches import ReadOptions
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.errors import UsageError
from sears_dsl.language.loader import parse
from sears_dsl.tagging.pinned import PinnedTagger

RULES = """
rule slips: /[A-Za-z]{4,}/ -> $1.typo
  rate: 30%
rule alike: _ -> $1.homoglyph(25%)
  rate: 100%
set NAME = Uma | Bruce | Sandra
rule names: @NAME -> @NAME
"""
ROWS = [
    {"id": f"r{n}", "text": f"{('Uma', 'Bruce')[n % 2]} saw a wonderful movie number {n // 3}."}
    for n in range(90)
]


def request(folder: Path, name: str, **options: Any) -> ApplyRequest:
    source = folder / "in.jsonl"
    if not source.exists():
        source.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    options = {"input": str(source), "reading": ReadOptions(rows=20), **options}
    recipe = RulesetRecipe((parse(RULES),), tagger="pinned", seed=3)
    return ApplyRequest(recipe=recipe, output=str(folder / name), **options)


def written(made: ApplyRequest) -> bytes:
    apply_file(made)
    return Path(made.output).read_bytes()


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_processes_batches_and_order_change_nothing(tmp_path: Path, mode: Any) -> None:
    expected = written(request(tmp_path, "one.jsonl", mode=mode))
    assert written(request(tmp_path, "two.jsonl", mode=mode, jobs=2)) == expected
    single = ReadOptions(rows=1)
    assert written(request(tmp_path, "three.jsonl", mode=mode, reading=single)) == expected
    turned = tmp_path / "turned.jsonl"
    turned.write_text("".join(json.dumps(row) + "\n" for row in ROWS[::-1]), "utf-8")
    other = written(request(tmp_path, "four.jsonl", mode=mode, input=str(turned)))
    assert sorted(other.splitlines()) == sorted(expected.splitlines())
    lines = (tmp_path / "in.jsonl").read_text("utf-8").splitlines(keepends=True)
    halves = b""
    for number, half in enumerate((lines[:40], lines[40:])):
        part = tmp_path / f"half{number}.jsonl"
        part.write_text("".join(half), "utf-8")
        halves += written(request(tmp_path, f"five{number}.jsonl", mode=mode, input=str(part)))
    assert halves == expected
    assert not all(str(json.loads(line)).isascii() for line in expected.splitlines())


def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    expected = written(request(tmp_path, "whole.jsonl", mode="chain"))
    code = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_noise_runs import apply_file, request
def killed(progress):
    if progress.batches == 3:
        os.kill(os.getpid(), signal.SIGKILL)
apply_file(request(Path({str(tmp_path)!r}), "cut.jsonl", mode="chain"), progress=killed)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut.jsonl").exists()
    assert written(request(tmp_path, "cut.jsonl", mode="chain", resume=True)) == expected


@pytest.mark.parametrize("mode", ["each", "chain"])
def test_each_row_comes_once_for_each_draw(tmp_path: Path, mode: Any) -> None:
    options: dict[str, Any] = {"mode": mode, "draws": 3}
    expected = written(request(tmp_path, "three.jsonl", **options))
    assert written(request(tmp_path, "jobs.jsonl", jobs=2, **options)) == expected
    single = ReadOptions(rows=1)
    assert written(request(tmp_path, "rows.jsonl", reading=single, **options)) == expected
    rows = list(map(json.loads, expected.splitlines()))
    assert all(list(row).count("draw") == 1 for row in rows)
    places = [(int(row["id"][1:]), row["draw"]) for row in rows]
    assert places == sorted(places)
    # A draw is the matcher's result for all texts under its number; the first is the usual one.
    matcher = RulesetRecipe((parse(RULES),), tagger="pinned", seed=3).build()
    texts = [row["text"] for row in ROWS]
    for draw in range(3):
        of_draw = [row for row in rows if row["draw"] == draw]
        if mode == "chain":
            made = [row.text for row in matcher.chain(texts, draw=draw)]
            assert [row["text"] for row in of_draw] == made
        else:
            found = [(f"r{one.row}", one.text) for one in matcher.apply(texts, draw=draw)]
            assert [(row["id"], row["rewritten"]) for row in of_draw] == found
    assert len({row["text" if mode == "chain" else "rewritten"] for row in rows}) > 90
    usual = written(request(tmp_path, "one.jsonl", mode=mode))
    first = [{name: row[name] for name in row if name != "draw"} for row in rows if not row["draw"]]
    assert list(map(json.loads, usual.splitlines())) == first


def test_an_interrupted_run_of_draws_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    expected = written(request(tmp_path, "whole.jsonl", mode="chain", draws=2))

    def interrupted(progress: ApplyProgress) -> None:
        if progress.batches == 2:
            raise KeyboardInterrupt

    cut = request(tmp_path, "cut.jsonl", mode="chain", draws=2)
    with pytest.raises(KeyboardInterrupt):
        apply_file(cut, progress=interrupted)
    with pytest.raises(UsageError, match="draws"):
        apply_file(replace(cut, draws=3, resume=True))
    assert written(replace(cut, resume=True)) == expected


def test_draws_in_every_format_and_in_memory(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rules = parse(RULES)
    options: dict[str, Any] = {"mode": "chain", "draws": 2, "seed": 3, "tagger": PinnedTagger()}
    in_memory = sears.apply(ROWS, rules, column="text", **options)
    assert [row["draw"] for row in in_memory] == [0, 1] * len(ROWS)
    source = tmp_path / "in.parquet"
    table = arrow.table({"id": [row["id"] for row in ROWS], "text": [row["text"] for row in ROWS],
                         "stars": arrow.array([1] * len(ROWS), arrow.int8())})  # fmt: skip
    parquet.write_table(table, source)
    named = {"input": str(source), "columns": ("text",), "mode": "chain", "draws": 2}
    apply_file(request(tmp_path, "out.parquet", **named))
    read = parquet.read_table(tmp_path / "out.parquet")
    assert read.schema.types == [arrow.string(), arrow.string(), arrow.int8(), arrow.int64()]
    assert read.drop_columns("stars").to_pylist() == in_memory
    apply_file(request(tmp_path, "out.csv", **named))
    frame = pandas.read_csv(tmp_path / "out.csv")
    assert frame.drop(columns="stars").to_dict("records") == in_memory
    assert sears.apply(table, rules, column="text", **options).equals(read)
    framed = sears.apply(pandas.DataFrame(ROWS), rules, column="text", **options)
    assert framed.to_dict("records") == in_memory
    assert framed.index.tolist() == [row for row in range(len(ROWS)) for _ in range(2)]
    options["mode"] = "each"
    records = sears.apply(table, rules, column="text", keep="stars", **options)
    assert records.schema.names[:3] == ["id", "draw", "rule"]
    assert records.column("draw").to_pylist() == [
        row["draw"] for row in sears.apply(ROWS, rules, column="text", **options)
    ]
    tally = Tally()
    apply_to(["Uma", None], rules.compile(tagger=PinnedTagger()), draws=2, tally=tally)
    assert (tally.rows, tally.missing, tally.characters) == (2, 1, 3)
    tally = Tally()
    touching = parse("Uma -> Bruce").compile(tagger=PinnedTagger())
    spans = [SpanColumn("text", "spans")]
    apply_to([{"text": "Uma", "spans": [[0, 3]]}], touching, column="text", mode="chain",
             spans=spans, draws=2, tally=tally)  # fmt: skip
    assert (tally.touched, len(tally.reasons)) == (1, 1)
    once = sears.apply(ROWS, rules, column="text", seed=3, tagger=PinnedTagger())
    assert "draw" not in once[0]


@pytest.mark.parametrize(("name", "options", "message"), [
    ("out.txt", {"mode": "chain"}, "plain text has only one column, not id, text, draw"),
    ("out.csv", {"mode": "chain", "with_originals": True}, "originals belong to no draw"),
    ("out.csv", {"draws": 0}, "--draws 0 is not valid"),
])  # fmt: skip
def test_what_cannot_be_drawn_several_times_is_reported(
    tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        apply_file(request(tmp_path, name, **{"draws": 2, **options}))


def test_rows_with_a_column_draw_and_squad_files_are_refused(tmp_path: Path) -> None:
    rows = [{"text": "Uma", "draw": 7}]
    for options in ({"mode": "chain"}, {"keep": "all"}):
        with pytest.raises(UsageError, match="draw"):
            sears.apply(rows, parse(RULES), column="text", draws=2, **options)
    squad = tmp_path / "squad.json"
    paragraph = {"context": "Uma saw it.", "qas": [
        {"id": name, "question": "Who?", "answers": [{"text": "saw", "answer_start": 4}]}
        for name in "ab"
    ]}  # fmt: skip
    squad.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}), "utf-8")
    of_squad = {"input": str(squad), "columns": ("context",), "mode": "chain", "draws": 2}
    with pytest.raises(UsageError, match="SQuAD file has no place for the column draw"):
        apply_file(request(tmp_path, "out.json", **of_squad))
    lines = written(request(tmp_path, "out.jsonl", protect=("answers",), **of_squad)).splitlines()
    found = [json.loads(line) for line in lines]
    assert [(row["id"], row["draw"]) for row in found] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    for row in found:
        start = row["answers"][0]["answer_start"]
        assert row["context"][start : start + 3] == "saw"
