"""Records of benchmarks, and the options that benchmarks know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import record
from benchmarks.record import Row, write_record


def test_a_trial_does_not_replace_the_record_of_a_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "ROOT", tmp_path)
    (tmp_path / "benchmarks").mkdir()
    for options, figure in (([], 1), (["--rows", "10"], 2), ([], 3), (["--rows", "10"], 4)):
        monkeypatch.setattr("sys.argv", ["growth", *options])
        write_record("growth", [Row("row", {"figure": figure})])
    records = [json.loads(path.read_text("utf-8"))
               for path in sorted((tmp_path / "benchmarks" / "record").iterdir())]  # fmt: skip
    figures = {tuple(each["options"]): each["rows"][0]["figures"]["figure"] for each in records}
    assert figures == {(): 3, ("--rows", "10"): 4}
    assert len(records) == 2
