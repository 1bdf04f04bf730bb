"""What makes the shipped files says what is wrong with its input, and writes nothing then."""

from __future__ import annotations

from pathlib import Path

from test_missing_data import run_without_data

from benchmarks.record import WITHOUT_DATA


def test_readings_whose_texts_are_missing_are_not_counted_as_fewer(tmp_path: Path) -> None:
    done = run_without_data("training.later_readings", "--all", folder=tmp_path)
    assert done.returncode == WITHOUT_DATA, done.stderr
    assert done.stdout.startswith("not run: sentiment/imdb.tsv is not in")
