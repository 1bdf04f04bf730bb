"""The pytest plug-in, in runs of pytest inside pytest: what is collected, and what fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np  # noqa: F401 - a run in this process would load it anew, which it refuses
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


def test_rules_and_gates_are_tests(pytester: pytest.Pytester, project: Path) -> None:
    done = pytester.runpytest_inprocess("--sears", "-v")
    done.assert_outcomes(passed=3, failed=3)
    done.stdout.fnmatch_lines_random(
        ["*a.sear::film[[]1[]] PASSED*", "*a.sear::film[[]2[]] FAILED*",
         "*sears.toml::film FAILED*", "*sears.toml::play PASSED*",
         "*missing: 'a play' should give 'a film', gave nothing*",
         "movie -> film: 30 of 30 fail (100%), clearly above 5.0%"]
    )  # fmt: skip


def test_the_rules_are_those_that_the_audit_takes(pytester: pytest.Pytester, project: Path) -> None:
    (project / "c.sear").write_text("play -> game\n")
    own = 'rulesets = { a = "a.sear", b = ["b.sear", "c.sear"] }'
    (project / "sears.toml").write_text(PROJECT.replace('rulesets.all = ["a.sear", "b.sear"]', own))
    with (project / "sears.toml").open("a") as file:
        file.write('[use.audit]\nrules = ["b"]\n')
    done = pytester.runpytest_inprocess("--sears", "sears.toml")
    done.assert_outcomes(passed=3)


def test_a_broken_file_is_an_error_and_nothing_is_collected_unasked(
    pytester: pytest.Pytester, project: Path
) -> None:
    (project / "b.sear").write_text("NUON -> it\n")
    (project / "sears.toml").unlink()
    done = pytester.runpytest_inprocess("--sears")
    done.stdout.fnmatch_lines(["*E201*`NUON` is not a tag*"])
    done.assert_outcomes(errors=1)
    done = pytester.runpytest_inprocess()
    done.assert_outcomes()


def test_a_wrong_option_is_reported_as_the_command_tells_it(
    pytester: pytest.Pytester, project: Path
) -> None:
    pytester.makeini("[pytest]\nsears_audit = --modle critic:predict\n")
    done = pytester.runpytest_inprocess("--sears", "sears.toml")
    done.stdout.fnmatch_lines(["Usage: sears audit*", "*No such option '--modle'*"])
