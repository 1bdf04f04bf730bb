"""Ray with two nodes on this machine: killing workers and a node loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from command_line import call

ray_cluster = pytest.importorskip(
    "ray.cluster_utils", reason="ray (240 MB) is not installed: pip install -e .[ray]"
)
HERE = Path(__file__).parent
PROGRAM = "from sears_dsl.cli.main import main; main()"
SMALL = {"object_store_memory": 100 << 20}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Parts with one text each at which the worst happens."""
    monkeypatch.setenv("DEADLY_PLACE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    (tmp_path / "r.sear").write_text("rule film: movie -> film\n")
    (tmp_path / "in").mkdir()
    for part, what in enumerate(["waits", "waits", "dies once", "is"]):
        texts = [f"A movie that {what if row == 50 else 'was'} {row}." for row in range(100)]
        columns = {"id": [f"{part}-{row}" for row in range(100)], "text": texts}
        table = pyarrow.table({**columns, "label": [row % 2 for row in range(100)]})
        pyarrow.parquet.write_table(table, tmp_path / "in" / f"{part}.parquet")
    return tmp_path


@pytest.fixture
def cluster(place: Path) -> Iterator[Any]:
    cluster = ray_cluster.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **SMALL}
    )
    try:
        yield cluster
    finally:
        cluster.shutdown()


def begun(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_parts_are_those_of_one_machine_whatever_dies(place: Path, cluster: Any) -> None:
    second = cluster.add_node(num_cpus=1, **SMALL)
    by_ray = ("--engine", "ray", "--address", cluster.address)
    run = begun(
        "apply", "r.sear", "in", "-o", "out", "--tagger", "deadly:Deadly", *by_ray, folder=place
    )
    until = time.monotonic() + 120
    while len(list((place / "out").glob("*.sears-partial"))) < 2 and time.monotonic() < until:
        assert run.poll() is None, run.communicate()
        time.sleep(0.1)  # each node works on a part that waits
    cluster.remove_node(second, allow_graceful=False)
    (place / "go on").touch()
    _, told = run.communicate(timeout=300)
    assert run.returncode == 0, told
    assert "400 rows read" in told
    assert (place / "died").exists()
    audited = (
        "--data",
        "in",
        "--model",
        "deadly:predict",
        "--label",
        "label",
        "--scorer",
        "none",
        "--json",
    )
    audit = begun("audit", "r.sear", *audited, "-o", "by-ray", *by_ray, folder=place)
    done = call("apply", "r.sear", "in", "-o", "one", folder=place)
    assert done.returncode == 0
    for part in range(4):
        name = f"{part}.parquet"
        assert (place / "out" / name).read_bytes() == (place / "one" / name).read_bytes()
    told, errors = audit.communicate(timeout=300)
    assert audit.returncode == 0, errors
    one = call("audit", "r.sear", *audited, "-o", "by-one", folder=place)
    assert json.loads(told) == json.loads(one.stdout)
