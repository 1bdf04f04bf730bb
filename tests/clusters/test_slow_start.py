"""If Ray is too slow to start, it is tried again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = """
import os
def init(**options):
    with open(os.environ["STARTS"], "a") as starts:
        starts.write("x")
    if os.path.getsize(os.environ["STARTS"]) < int(os.environ["STARTS_AT"]):
        raise Exception("The current node timed out during startup.")
def shutdown():
    pass
"""
CODE = """
from sears_dsl.clusters.ray_workers import RayWorkers
from sears_dsl.errors import UsageError
try:
    with RayWorkers(count=2):
        print("started")
except UsageError as error:
    print(error, error.help)
"""


@pytest.mark.parametrize(
    ("starts_at", "told"), [(3, "started"), (9, "did not start on this machine")]
)
def test_a_slow_start_is_tried_three_times(tmp_path: Path, starts_at: int, told: str) -> None:
    for module in ("", "_private", "_private/worker", "data"):
        (tmp_path / "ray" / module).mkdir(parents=True, exist_ok=True)
        (tmp_path / "ray" / module / "__init__.py").write_text("" if module else SLOW)
    starts = tmp_path / "starts"
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "STARTS": str(starts),
        "STARTS_AT": str(starts_at),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True
    )
    assert told in done.stdout
    assert len(starts.read_text()) == 3
