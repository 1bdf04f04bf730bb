"""The pytest plug-in, in runs of pytest inside pytest: what is collected, and what fails."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest_plugins = ["pytester"]

MODEL = """
def predict(texts):
    return ["bad" if "film" in text else "good" for text in texts]
"""
PROJECT = """
datasets.test = { file = "rows.csv", column = "text", label = "label" }
rulesets.all = ["a.sear", "b.sear"]
[gates]
max_flip_rate = "5%"
"""


Run = Callable[..., pytest.RunResult]


class ImportedModules:
    """A plug-in of runs in this process: what they imported, for what comes after them.

    Pytester forgets all that a run and its test imported. Imported anew beside modules that were
    there before, a class would exist twice, which pydantic refuses; numpy refuses a second time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # of the files of all tests, whose modules are forgotten
        self._modules: dict[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        """Note the modules at the end of a run."""
        self._modules.update(sys.modules)

    def put_back(self) -> None:
        """Let what was imported stay imported."""
        for name, module in self._modules.items():
            if not str(getattr(module, "__file__", "")).startswith(str(self._folder)):
                sys.modules.setdefault(name, module)


@pytest.fixture(autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImportedModules]:
    """Begins before pytester, which forgets modules also at its end, and ends after it."""
    modules = ImportedModules(tmp_path_factory.getbasetemp())
    yield modules
    modules.put_back()


@pytest.fixture
def run_inside(imported: ImportedModules, pytester: pytest.Pytester) -> Run:
    def run(*arguments: str) -> pytest.RunResult:
        done = pytester.runpytest_inprocess(*arguments, plugins=[imported])
        imported.put_back()
        return done

    return run


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    path = pytester.path
    (path / "a.sear").write_text(
        'rule film: movie -> film\n  test "a movie" => "a film"\n  test "a play" => "a film"\n'
    )
    (path / "b.sear").write_text('rule play: play -> game\n  test "a play" => "a game"\n')
    (path / "critic.py").write_text(MODEL)
    (path / "sears.toml").write_text(PROJECT)
    rows = "".join(f'"A movie and a play, {number}.",good\n' for number in range(30))
    (path / "rows.csv").write_text(f"text,label\n{rows}")
    pytester.makeini("[pytest]\nsears_audit = --model critic:predict --scorer none\n")
    return path


def test_rules_and_gates_are_tests(run_inside: Run, project: Path) -> None:
    done = run_inside("--sears", "-v")
    done.assert_outcomes(passed=3, failed=3)
    done.stdout.fnmatch_lines_random(
        ["*a.sear::film[[]1[]] PASSED*", "*a.sear::film[[]2[]] FAILED*",
         "*sears.toml::film FAILED*", "*sears.toml::play PASSED*",
         "*missing: 'a play' should give 'a film', gave nothing*",
         "movie -> film: 30 of 30 fail (100%), clearly above 5%"]
    )  # fmt: skip


def test_rules_that_nobody_accepted_are_tested_where_they_are_named(
    run_inside: Run, project: Path
) -> None:
    (project / "sears.toml").unlink()
    for name in ("b.closest.sear", "b.left-out.sear"):
        (project / "b.sear").with_name(name).write_bytes((project / "b.sear").read_bytes())
    run_inside("--sears").assert_outcomes(passed=2, failed=1)
    run_inside("--sears", "b.closest.sear").assert_outcomes(passed=1)


def test_a_broken_file_is_an_error_and_nothing_is_collected_unasked(
    run_inside: Run, project: Path
) -> None:
    (project / "b.sear").write_text("NUON -> it\n")
    (project / "sears.toml").unlink()
    done = run_inside("--sears")
    done.stdout.fnmatch_lines(["*E201*`NUON` is not a tag*"])
    done.assert_outcomes(errors=1)
    done = run_inside()
    done.assert_outcomes()


def test_a_wrong_option_is_reported_as_the_command_tells_it(
    run_inside: Run, pytester: pytest.Pytester, project: Path
) -> None:
    pytester.makeini("[pytest]\nsears_audit = --modle critic:predict\n")
    done = run_inside("--sears", "sears.toml")
    done.stdout.fnmatch_lines(["Usage: sears audit*", "*No such option '--modle'*"])


def test_an_audit_that_fails_runs_once(
    run_inside: Run, pytester: pytest.Pytester, project: Path
) -> None:
    (project / "critic.py").write_text("open('runs', 'a').write('one ')\nraise OSError('broken')\n")
    done = run_inside("--sears", "sears.toml")
    done.assert_outcomes(failed=3)
    assert (project / "runs").read_text() == "one "


def test_each_of_several_models_has_to_pass(
    run_inside: Run, pytester: pytest.Pytester, project: Path
) -> None:
    (project / "critic.py").write_text(
        f"{MODEL}\ndef steady(texts):\n    return ['good'] * len(texts)\n"
    )
    models = "--model old=critic:steady --model new=critic:predict"
    pytester.makeini(f"[pytest]\nsears_audit = {models} --scorer none\n")
    done = run_inside("--sears", "sears.toml", "-v")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["new: movie -> film: 30 of 30 fail*"])
    done.stdout.no_fnmatch_line("old: *")


def test_the_project_may_be_a_table_of_pyproject_and_chooses_the_rules(
    run_inside: Run, project: Path
) -> None:
    (project / "sears.toml").unlink()
    (project / "c.sear").write_text("play -> game\n")
    own = 'rulesets = { a = "a.sear", b = ["b.sear", "c.sear"] }'
    table = PROJECT.replace('rulesets.all = ["a.sear", "b.sear"]', own)
    table = f"[tool.sears]{table}[use.audit]\nrules = ['b']\n"
    (project / "pyproject.toml").write_text(re.sub(r"\[(gates|use)", r"[tool.sears.\1", table))
    done = run_inside("--sears", "-v")  # the file of rules beside it has a test that fails
    done.assert_outcomes(passed=5, failed=1)
    done.stdout.fnmatch_lines(["*pyproject.toml::play PASSED*"])
    (project / "pyproject.toml").write_text("[tool.ruff]\n# see sears\n")
    run_inside("--sears", "pyproject.toml").assert_outcomes()


@pytest.mark.parametrize(
    ("setting", "message"),
    [("--model 'critic", "sears_audit of pytest's settings: No closing quotation: --model 'critic"),
     ("-o elsewhere", "sears_audit of pytest's settings names an output*")],
)  # fmt: skip
def test_a_setting_that_cannot_be_used_is_named(
    setting: str, message: str, run_inside: Run, pytester: pytest.Pytester, project: Path
) -> None:
    pytester.makeini(f"[pytest]\nsears_audit = {setting}\n")
    done = run_inside("--sears", "sears.toml")
    done.stdout.fnmatch_lines([message])
