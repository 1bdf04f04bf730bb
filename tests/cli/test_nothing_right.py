"""A model that is right on no row, mostly because the wrong column was named for labels."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call

MODEL = """\
def predict(texts):
    return ["bad" if "film" in text else "good" for text in texts]

def reword(sentences):
    return [[each.replace("movie", "film")] for each in sentences]

def close(pairs):
    return [0.9 for _ in pairs]

close.tau = 0.5
"""
PARTS = ("--paraphrases", "plain_words:reword", "--scorer", "plain_words:close", "--jobs", "1")
NUMBERS = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plain_words.py").write_text(MODEL, "utf-8")
    (tmp_path / "rules.sear").write_text("movie -> film\n", "utf-8")
    rows = "".join(f"A movie of {each}.,good,n{each}\n" for each in range(NUMBERS))
    (tmp_path / "rows.csv").write_text(f"text,label,number\n{rows}", "utf-8")
    return tmp_path


def discover(folder: Path, label: str, *more: str, data: str = "rows.csv") -> tuple[int, str]:
    done = call(
        "discover", "--model", "plain_words:predict", "--data", data, "--column", "text",
        "--label", label, *PARTS, "--no-known", "-o", "z.sear", "--yes", *more, folder=folder,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_the_corrected_command_is_not_kept_from_its_work(folder: Path) -> None:
    code, told = discover(folder, "number")
    assert code == 2
    assert "of 16 rows tried (of 60 rows of rows.csv) the model gets none right" in told
    assert "60 different labels in 60 rows: is this the label column?" in told
    assert "--resume" not in told
    assert not (folder / "z.sear.partial").exists()
    assert discover(folder, "label")[0] == 0


def test_how_many_rows_were_tried_is_reported(folder: Path) -> None:
    lines = [f"A movie.,{'yes' if each % 2 else 'no'}\n" for each in range(NUMBERS)]
    (folder / "others.csv").write_text("text,label\n" + "".join(lines), "utf-8")
    code, told = discover(folder, "label", data="others.csv")
    assert code == 2
    assert "of 16 rows tried (of 60 rows of others.csv) the model gets none right" in told


def test_a_label_that_the_model_writes_differently_is_noted(folder: Path) -> None:
    lines = [f"A movie of {each}.,good\nA film of {each}.,BAD\n" for each in range(NUMBERS // 2)]
    (folder / "capitals.csv").write_text("text,label\n" + "".join(lines), "utf-8")
    told = discover(folder, "label", data="capitals.csv")[1]
    assert (
        "\nnote: the model never answers 'BAD' to the 16 rows tried, and its answer 'bad' " in told
    )


def test_a_file_that_is_not_there_is_reported_before_an_interrupted_run(folder: Path) -> None:
    partial = folder / "z.sear.partial"
    partial.mkdir(0o700)
    (partial / "journal.sqlite3").write_bytes(b"what an earlier run left")
    code, told = discover(folder, "label", data="row.csv")
    assert code == 2
    assert "row.csv cannot be read" in told
    assert "interrupted run" not in told
    assert "interrupted run" in discover(folder, "label")[1]


@pytest.mark.parametrize("limits", [(), ("--max-flip-rate", "5%")])
def test_an_audit_that_says_nothing_is_not_passed(folder: Path, limits: tuple[str, ...]) -> None:
    done = call(
        "audit", "rules.sear", "--model", "plain_words:predict", "--data", "rows.csv", "--column",
        "text", "--label", "number", "--scorer", "none", "-o", "a", *limits, folder=folder,
    )  # fmt: skip
    assert done.returncode == 1
    told = "the model gets no row right; labels and answers may be spelled differently"
    assert told in done.stderr
