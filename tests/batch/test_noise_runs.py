"""Runs with noise are the same byte for byte: in processes, in any order, after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sears_dsl.batch.files import apply_file
from sears_dsl.batch.recipes import RulesetRecipe
from sears_dsl.batch.requests import ApplyRequest
from sears_dsl.data.batches import ReadOptions
from sears_dsl.language.loader import parse

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
