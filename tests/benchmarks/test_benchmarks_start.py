"""Every benchmark, and everything that makes shipped files, can start: its imports are there."""

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "training", "demo")
    for path in (ROOT / folder).rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_people_run_can_be_imported(name: str) -> None:
    assert import_module(name).__doc__


def test_what_make_bench_runs_is_there() -> None:
    assert len(set(BENCHMARKS)) == len(BENCHMARKS)
    runnable = {f"benchmarks.{name}" for name in BENCHMARKS}
    assert runnable <= {name.removesuffix(".__main__") for name in MODULES}
