"""The visual setting: a seed draws the same again, and pictures determine answers."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from benchmarks.shapes import Answerer, train, write_rows


def read(folder: Path) -> list[dict[str, str]]:
    path = write_rows(folder, pictures=12, questions=3, seed=7)
    with path.open(encoding="utf-8", newline="") as file:
        return [{**row, "image": str(folder / row["image"])} for row in csv.DictReader(file)]


def test_a_seed_draws_the_same_pictures_and_questions(tmp_path: Path) -> None:
    one, other = read(tmp_path / "one"), read(tmp_path / "other")
    assert len(one) == 36
    for row, again in zip(one, other, strict=True):
        assert (row["question"], row["choices"]) == (again["question"], again["choices"])
        assert Path(row["image"]).read_bytes() == Path(again["image"]).read_bytes()
        assert row["answer"] in row["choices"].split("|")


def test_a_network_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    rows = read(tmp_path / "rows")
    model = train(rows, [row["answer"] for row in rows], passes=1)
    model.save(tmp_path / "model.pt")
    answers = model.predict(rows)
    assert Answerer.load(tmp_path / "model.pt").predict(rows) == answers
    for row, (answer, sure) in zip(rows, answers, strict=True):
        assert answer in row["choices"].split("|")
        assert 0 <= sure <= 1
