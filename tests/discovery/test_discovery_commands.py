"""``sears discover`` and ``sears adversaries`` on real translation models, as a user runs them."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sears_dsl.cli.commands import sears
from sears_dsl.errors import ModelError

pytestmark = pytest.mark.long

NOUNS = ("movie", "play", "story", "book")
SENTENCES = [
    f"{opening} {noun} {rest}"
    for noun in NOUNS
    for opening, rest in (("It is a good", "."), ("I like this", "."), ("This", "is great!"))
]
MODEL = """\
def predict(texts):
    return ["bad" if "film" in text.lower() else "good" for text in texts]

def failing(texts):
    raise ValueError("no such layer: 12")

def short(texts):
    return ["good"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brittle_reviews.py").write_text(MODEL, "utf-8")
    with (tmp_path / "dev.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([sentence, "good"] for sentence in SENTENCES)
    return tmp_path


def call(command: str, *more: str, model: str = "predict") -> Result:
    arguments = [command, "--model", f"brittle_reviews:{model}", "--data", "dev.csv",
                 "--column", "text", "--label", "label", "--scorer", "pivot", "--tau", "0.0008",
                 "--beam", "8", "--jobs", "1", *more]  # fmt: skip
    return CliRunner().invoke(sears, arguments)


def test_a_brittle_model_is_found_out_twice_with_the_same_bytes(folder: Path) -> None:
    # In the paper's order, since the other one scores a thousand pairs: minutes for this scorer.
    paper = ("discover", "-o", "found.sear", "--minimum-flips", "2", "--paper")
    first = call(*paper)
    assert first.exit_code == 0, first.output
    assert "movie -> film" in first.output
    assert "right rows" in first.output
    names = ("found.sear", "found.manifest.json", "found.md")
    written = {name: (folder / name).read_bytes() for name in names}
    assert not (folder / "found.sear.partial").exists()
    again = call(*paper, "--quiet")
    assert again.exit_code == 0, again.output
    assert again.output == ""
    assert {name: (folder / name).read_bytes() for name in names} == written

    checked = CliRunner().invoke(sears, ["check", "--strict", "found.sear"])
    assert checked.exit_code == 0, checked.output
    tested = CliRunner().invoke(sears, ["test", "found.sear"])
    assert tested.exit_code == 0, tested.output
    formatted = CliRunner().invoke(sears, ["fmt", "--check", "found.sear"])
    assert formatted.exit_code == 0, formatted.output
    manifest = json.loads((folder / "found.manifest.json").read_text("utf-8"))
    assert manifest["data"]["rows"] == len(SENTENCES)
    assert manifest["settings"]["tau_from"] == "given"
    assert manifest["settings"]["comparison"] == "exact"
    search = manifest["search"]
    assert search.pop("threads") >= 1
    assert search == {
        "tau": 0.0008, "edit_distance": 4, "paraphrases": 100, "pieces": 60, "device": "cpu",
    }  # fmt: skip
    assert {"sears-dsl", "torch", "numpy"} <= set(manifest["versions"])


def test_adversaries_are_written_best_first(folder: Path) -> None:
    done = call("adversaries", "-o", "found.jsonl", "--top", "2")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (folder / "found.jsonl").read_text("utf-8").splitlines()]
    assert rows
    assert all("film" in row["adversary"].lower() for row in rows)
    assert all(row["label"] == "good" and row["prediction"] == "bad" for row in rows)
    assert all(SENTENCES[row["row"] - 1] == row["original"] for row in rows)
    for row, after in pairwise(rows):
        assert row["row"] < after["row"] or row["score"] >= after["score"]


@pytest.mark.parametrize(
    ("model", "told"),
    [("failing", "no such layer: 12"), ("short", "was asked for 2 predictions and returned 1")],
)
def test_a_model_that_fails_is_reported_with_its_own_words_and_numbers(
    folder: Path, model: str, told: str
) -> None:
    done = call("discover", "-o", "found.sear", model=model)
    assert isinstance(done.exception, ModelError)
    assert told in str(done.exception)
    assert not (folder / "found.sear").exists()


def test_rows_that_contradict_each_other_are_reported_before_any_work(folder: Path) -> None:
    with (folder / "dev.csv").open("a", encoding="utf-8") as file:
        file.write(f"{SENTENCES[0]},bad\n")
    done = call("discover", "-o", "found.sear", model="failing")
    assert done.exit_code == 1
    assert f"such as rows 1 and {len(SENTENCES) + 1} ('good' and 'bad')" in done.stderr


def test_a_name_that_is_no_ruleset_is_refused_before_any_work(folder: Path) -> None:
    done = call("discover", "-o", "found.txt")
    assert done.exit_code == 2
    assert ".sear" in done.output
