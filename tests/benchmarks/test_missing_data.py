"""A benchmark without its data says so, and is counted neither as reached nor as missed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as all_benchmarks
from benchmarks.__main__ import conclusion
from benchmarks.record import WITHOUT_DATA

ROOT = Path(__file__).resolve().parents[2]
REASON = "not run: throughput/classic_books.txt is not in"


def run_without_data(*words: str, folder: Path, code: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(("-c", code) if code else ("-m", *words))]
    environment = {**os.environ, "SEARS_DATA": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=120
    )


def test_a_benchmark_without_its_data_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    done = run_without_data("benchmarks.tokenizing", folder=tmp_path)
    assert done.returncode == WITHOUT_DATA not in (0, 1), done.stderr
    assert done.stdout.startswith(f"{REASON} {tmp_path}")
    assert "SEARS_DATA" in done.stdout


def test_workers_without_data_do_not_leave_the_benchmark_waiting(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    done = run_without_data("benchmarks.semantic_robustness", folder=tmp_path)
    assert done.returncode == WITHOUT_DATA, done.stderr
    assert done.stdout.startswith("not run: sst2/")


def test_rewrites_that_cannot_be_put_together_are_no_smaller_measurement(tmp_path: Path) -> None:
    code = "from benchmarks.judged_rewrites import read_judged_rewrites as read\n"
    assert run_without_data(folder=tmp_path, code=f"{code}read()").returncode == 0
    done = run_without_data(folder=tmp_path, code=f"{code}read(whole=True)")
    assert done.returncode == WITHOUT_DATA, done.stderr


def test_a_run_of_all_lists_those_without_data_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(all_benchmarks, "BENCHMARKS", ["tokenizing", "no_such_benchmark"])
    monkeypatch.setenv("SEARS_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with pytest.raises(SystemExit) as ended:
        all_benchmarks.main()
    assert ended.value.code == 1
    output, errors = capfd.readouterr()
    assert REASON in output
    assert "not reached or failed: no_such_benchmark\n" in errors
    assert "not run for want of data: tokenizing\n" in errors


def test_only_figures_that_miss_make_a_run_of_all_fail_as_such() -> None:
    assert conclusion({"fresh": 0, "misses": 0}) == ([], 0)
    assert conclusion({"fresh": 0, "misses": WITHOUT_DATA})[1] == WITHOUT_DATA
    assert conclusion({"fresh": -9, "misses": WITHOUT_DATA})[1] == 1
