"""What the docs say is so: examples in docstrings and in the README run, pages are up to date."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sears_dsl
from sears_dsl.catalogue import ruleset_page, shipped

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(
    path.relative_to(PACKAGE.parent).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")
)
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name.replace("/", ".").removesuffix(".__init__"))
    failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert not failures


def test_rules_in_the_readme_and_their_tests() -> None:
    assert _blocks("sears")
    for block in _blocks("sears"):
        ruleset = sears_dsl.parse(block)
        assert {result.outcome for result in sears_dsl.run_tests(ruleset)} <= {"ok"}


def test_python_in_the_readme() -> None:
    assert _blocks("python")
    for block in _blocks("python"):
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block, {}, "README.md", "README.md", 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test)
        assert not runner.summarize(verbose=False).failed


def test_commands_in_the_readme(tmp_path: Path) -> None:
    """Every `$ …` line of a console block works, and prints the lines that stand under it."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    blocks = _blocks("console")
    assert blocks
    for block in blocks:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            printed = _squeezed(done.stdout + done.stderr)
            for line in filter(None, map(_squeezed, expected.splitlines())):
                assert line == "…" or line in printed, f"{command}\n{done.stdout}{done.stderr}"


def _squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", sorted(shipped()))
def test_catalogue_pages_are_up_to_date(name: str) -> None:
    page = ROOT / "docs" / "rules" / (name.replace("/", "-") + ".md")
    ruleset = sears_dsl.load(shipped()[name])
    assert page.read_text("utf-8") == ruleset_page(name, ruleset), "run `make docs`"
