"""A share of the texts, and rows with their originals, do not depend on order or parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sears_dsl as sears
from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.plan import TextShare
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.data.batches import ReadOptions
from sears_dsl.errors import DataError, UsageError

RULES = sears.parse("movie -> film")
TEXTS = [f"a movie, number {number}" for number in range(1000)]


def apply(source: Path, output: str, **options: Any) -> bytes:
    request = ApplyRequest(
        recipe=RulesetRecipe((RULES,)), input=str(source), output=str(source.with_name(output)),
        mode="chain", **options,
    )  # fmt: skip
    apply_file(request)
    return source.with_name(output).read_bytes()


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    lines = "".join(f'{number},"{text}"\n' for number, text in enumerate(TEXTS))
    path = tmp_path / "rows.csv"
    path.write_text("id,text\n" + lines, "utf-8")
    return path


def taken(share: str, seed: int = 0) -> set[str]:
    return {text for text in TEXTS if TextShare.parse(share, seed=seed).takes(text)}


def test_a_share_takes_about_so_many_and_a_greater_one_those_too() -> None:
    tenth, quarter, half = taken("10%"), taken("25%"), taken("50%")
    assert tenth < quarter < half < set(TEXTS) == taken("100%")
    for share, found in ((0.1, tenth), (0.25, quarter), (0.5, half)):
        # Five standard deviations for this number of draws.
        assert abs(len(found) - share * 1000) < 5 * (1000 * share * (1 - share)) ** 0.5
    assert taken("50%", seed=1) != half


@pytest.mark.parametrize("written", ["50", "0%", "101%", "half"])
def test_what_is_no_share_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="is not a share"):
        TextShare.parse(written)


def test_a_text_decides_for_itself_wherever_it_stands(rows: Path) -> None:
    whole = apply(rows, "whole.csv", share=TextShare.parse("50%")).decode().splitlines()
    shuffled = rows.with_name("shuffled.csv")
    lines = rows.read_text("utf-8").splitlines()
    shuffled.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", "utf-8")
    small = apply(shuffled, "back.csv", share=TextShare.parse("50%"), reading=ReadOptions(rows=7))
    assert sorted(small.decode().splitlines()) == sorted(whole)
    changed = [line for line in whole if "film" in line]
    assert len(changed) == len(taken("50%"))
    each = sears.apply(TEXTS, RULES, share="50%")
    assert {record["original"] for record in each} == taken("50%")


def test_rewritten_rows_follow_all_originals_with_ids_of_their_own(rows: Path) -> None:
    written = apply(rows, "both.csv", with_originals=True).decode().splitlines()
    assert len(written) == 2001
    assert written[:1001] == rows.read_text("utf-8").splitlines()
    assert written[1001] == '0~rewritten,"a film, number 0"'
    small = apply(rows, "small.csv", with_originals=True, reading=ReadOptions(rows=7))
    assert small.decode().splitlines() == written
    memory = sears.apply([{"id": "a", "text": "a movie"}], RULES, column="text", mode="chain",
                         with_originals=True)  # fmt: skip
    assert memory == [{"id": "a", "text": "a movie"}, {"id": "a~rewritten", "text": "a film"}]


@pytest.mark.parametrize("name", ["rows.txt", "rows.jsonl", "rows.json"])
def test_every_text_format_holds_both(tmp_path: Path, name: str) -> None:
    source = tmp_path / name
    records = [{"text": "a movie"}, {"text": "a play"}]
    source.write_text({
        "rows.txt": "a movie\na play",
        "rows.jsonl": "\n".join(map(json.dumps, records)),
        "rows.json": json.dumps(records),
    }[name])  # fmt: skip
    written = apply(source, f"both-{name}", with_originals=True).decode()
    texts = ["a movie", "a play", "a film", "a play"]
    if name == "rows.txt":
        assert written.splitlines() == texts
    elif name == "rows.jsonl":
        assert [json.loads(line)["text"] for line in written.splitlines()] == texts
    else:
        assert [row["text"] for row in json.loads(written)] == texts


def test_articles_of_a_squad_file_follow_their_originals(tmp_path: Path) -> None:
    source = tmp_path / "squad.json"
    articles = [
        {"title": title, "paragraphs": [{"context": f"A movie of {title}.", "qas": [
            {"id": title, "question": "Who?", "answers": [{"text": title, "answer_start": 11}]}]}]}
        for title in ("Rome", "Oslo")
    ]  # fmt: skip
    source.write_text(json.dumps({"version": "1.1", "data": articles}), "utf-8")
    options = {"columns": ("context",), "protect": ("answers",)}
    written = json.loads(apply(source, "both.json", with_originals=True, **options))
    assert written["version"] == "1.1"
    assert written["data"][:2] == articles
    questions = [(part["context"], part["qas"][0]["id"], part["qas"][0]["answers"][0])
                 for article in written["data"][2:] for part in article["paragraphs"]]  # fmt: skip
    assert questions == [
        ("A film of Rome.", "Rome~rewritten", {"text": "Rome", "answer_start": 10}),
        ("A film of Oslo.", "Oslo~rewritten", {"text": "Oslo", "answer_start": 10}),
    ]


def test_what_cannot_be_doubled_is_reported(tmp_path: Path, rows: Path) -> None:
    with pytest.raises(UsageError, match="mode='each' writes the original"):
        sears.apply(TEXTS, RULES, with_originals=True)
    twice = tmp_path / "twice.csv"
    twice.write_text("id,text\n1,a movie\n1~rewritten,a film\n", "utf-8")
    with pytest.raises(DataError, match="1~rewritten"):
        apply(twice, "both.csv", with_originals=True)
    pytest.importorskip("pyarrow")
    records = apply(rows, "typed.parquet")
    assert records
    numbers = tmp_path / "numbers.jsonl"
    numbers.write_text('{"id": 1, "text": "a movie"}\n', "utf-8")
    with pytest.raises(DataError, match="the id 1 is a number"):
        apply(numbers, "both.parquet", with_originals=True)
