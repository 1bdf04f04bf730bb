"""Every benchmark, and everything that makes shipped files, can start: its imports are there."""

import runpy
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
RUN_BY_HAND = sorted(
    f"benchmarks.{path.stem}"
    for path in (ROOT / "benchmarks").glob("*.py")
    if '__name__ == "__main__"' in path.read_text("utf-8")
)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", RUN_BY_HAND)
def test_help_and_unknown_options_measure_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, code in (("--help", 0), ("--nosuch", 2)):
        monkeypatch.setattr("sys.argv", [name, option])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(name, run_name="__main__")
        assert ended.value.code == code
    output = capsys.readouterr()
    assert output.out.startswith("usage: ")
    assert output.err.startswith("usage: ")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_people_run_can_be_imported(name: str) -> None:
    assert import_module(name).__doc__


def test_what_make_bench_runs_is_there() -> None:
    assert len(set(BENCHMARKS)) == len(BENCHMARKS)
    runnable = {f"benchmarks.{name}" for name in BENCHMARKS}
    assert runnable <= {name.removesuffix(".__main__") for name in MODULES}
