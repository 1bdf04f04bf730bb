"""Discovery as people run it, on real translation models: processes, rounds, kills, time.

The settings are the cheapest that still find something: few rows, a narrow beam, one scorer, few
known rules. The run that others are held against takes as many threads as torch likes, the others
one; those that nothing interrupts need no process of their own.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import call

pytestmark = pytest.mark.long

SENTENCES = ["It is a good movie.", "I like this movie.", "This movie is great!"]
MODEL = """\
import time

def predict(texts):
    return ["bad" if "film" in text.lower() else "good" for text in texts]

def slow(texts):
    time.sleep(0.5 * len(texts))
    return predict(texts)
"""
NAMES = ("found.manifest.json", "found.md", "found.sear")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


def filled(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "film_haters.py").write_text(MODEL, "utf-8")
    with (folder / "dev.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *((text, "good") for text in SENTENCES)])
    return folder


def command(*more: str, model: str = "film_haters:predict") -> list[str]:
    return ["discover", "--model", model, "--data", "dev.csv", "--column", "text", "--label",
            "label", "--no-known", "--known", "synonyms/reviews", "--scorer", "minilm",
            "--tau", "0.5", "--beam", "3", "--jobs", "1", "--minimum-flips", "1",
            "--holdout", "0", "-o", "found.sear", *more]  # fmt: skip


def started(folder: Path, *more: str, **changes: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from sears_dsl.cli import main; main()", *command(*more)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **changes}
    return subprocess.Popen(program, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment)


def ended(process: subprocess.Popen[str]) -> str:
    _, told = process.communicate(timeout=1200)
    return told


def done(folder: Path, *more: str) -> dict[str, bytes]:
    end = call(*command(*more), folder=folder)
    assert end.returncode == 0, end.stderr
    return written(folder)


def written(folder: Path) -> dict[str, bytes]:
    assert not (folder / "found.sear.partial").exists()
    return {name: (folder / name).read_bytes() for name in NAMES}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = filled(tmp_path_factory.mktemp("whole"))
    process = started(folder, OMP_NUM_THREADS=str(os.cpu_count()), PYTHONPROFILEIMPORTTIME="1")
    told = ended(process)
    assert process.returncode == 0, told
    assert "transformers" not in told, "the models that packages carry are read without it"
    found = written(folder)
    assert b"-> film" in found["found.sear"]
    return found


def test_any_number_of_processes_writes_the_same_bytes(
    folder: Path, uninterrupted: dict[str, bytes]
) -> None:
    assert done(folder, "--jobs", "2") == uninterrupted


def test_a_run_that_is_stopped_and_killed_says_how_to_go_on_and_writes_the_same_bytes(
    folder: Path, uninterrupted: dict[str, bytes]
) -> None:
    """It is stopped while it paraphrases, then killed soon after the journal grew."""
    process = started(folder)
    assert process.stderr is not None
    while "paraphrasing" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    told = ended(process)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    if (folder / "found.sear.partial").exists():
        assert "are in found.sear.partial; --resume continues the run" in told
    process = started(folder, "--resume")
    size = seen = -1
    while not size > seen >= 0:
        assert process.poll() is None
        time.sleep(0.05)
        seen = size
        size = sum(path.stat().st_size for path in folder.glob("found.sear.partial/*.sqlite3-wal"))
    process.send_signal(signal.SIGKILL)
    ended(process)
    assert done(folder, "--resume") == uninterrupted


def test_predictions_made_elsewhere_take_as_many_rounds_as_the_docs_say(
    folder: Path, uninterrupted: dict[str, bytes]
) -> None:
    """Each start continues with the paraphrases of the one before, without being asked to."""
    rounds = 0
    while True:
        end = call(*command(model="file:labels.csv"), folder=folder)
        if end.returncode == 0:
            break
        assert "run your model on labels.inputs.jsonl" in end.stderr
        rounds += 1
        assert rounds <= 4
        lines = (folder / "labels.inputs.jsonl").read_text("utf-8").splitlines()
        with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(("id", "prediction"))
            for row in map(json.loads, lines):
                out.writerow((row["id"], "bad" if "film" in row["text"].lower() else "good"))
    assert 3 <= rounds <= 4
    assert written(folder)["found.sear"] == uninterrupted["found.sear"]


def test_a_time_budget_ends_a_slow_model_and_keeps_what_it_said(folder: Path) -> None:
    end = call(*command("--budget-seconds", "8", model="film_haters:slow"), folder=folder)
    assert end.returncode == 0, end.stderr
    assert "the time budget cut these stages short: " in end.stderr
    assert "results so far are in found.sear.partial; --resume continues" in end.stderr
    assert "the model gets " in end.stderr
    assert (folder / "found.sear.partial" / "predictions.sqlite3").exists()
