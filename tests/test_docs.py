"""The docs are true: examples in docstrings and in the README run, pages are up to date."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from command_line import call
from page_examples import examples, run_page

import sears_dsl
from docs_site.page import anchor
from sears_dsl.catalogue import ruleset_page, shipped_rulesets

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(
    path.relative_to(PACKAGE.parent).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")
)
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(set(DOCS.glob("*.md")) - {DOCS / "models.md"})]
LINKED = [
    *ROOT.glob("*.md"),
    *(page for folder in ("benchmarks", "docs", "editors", "grammar", "rulesets")
      for page in (ROOT / folder).rglob("*.md")),
]  # fmt: skip
WITHOUT_EXAMPLES = {"comparison", "limits", "map", "speed"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name.replace("/", ".").removesuffix(".__init__"))
    failures, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert not failures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/models.md, which needs endpoints, has a test of its own."""
    ran = run_page(page, tmp_path, monkeypatch)
    assert (ran == 0) == (page.stem in WITHOUT_EXAMPLES)


def test_the_recipe_for_ci_works_for_rules_as_a_search_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have no severity."""
    page = DOCS / "ci.md"
    run_page(page, tmp_path, monkeypatch)
    rules = tmp_path / "rules" / "film.sear"
    rules.write_text(rules.read_text("utf-8").replace("  severity: high\n", ""), "utf-8")
    recipe = next(each.text for each in examples(page.read_text("utf-8"))
                  if each.title.endswith("robustness.yml"))  # fmt: skip
    audit = re.search(r"sears (audit .*?)\n +- ", recipe, re.DOTALL)
    assert audit is not None
    arguments = shlex.split(audit[1].replace("$GITHUB_STEP_SUMMARY", "summary.md"))
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "summary.md").exists()


@pytest.mark.parametrize("page", sorted(LINKED), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_in_a_checkout(page: Path) -> None:
    """The site has links of its own; those are tested as it is built."""
    for link in re.findall(r"\]\(([^)\s:]+)\)", _without_fences(page)):
        name, _, part = link.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), link
        assert not part or part in _anchors(place), link


@cache
def _without_fences(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@cache
def _anchors(page: Path) -> set[str]:
    return {anchor(each) for each in re.findall(r"^#+ (.*)$", _without_fences(page), re.MULTILINE)}


@pytest.mark.parametrize("name", sorted(shipped_rulesets()))
def test_catalogue_pages_are_up_to_date(name: str) -> None:
    page = ROOT / "docs" / "rules" / (name.replace("/", "-") + ".md")
    ruleset = sears_dsl.load(shipped_rulesets()[name])
    assert page.read_text("utf-8") == ruleset_page(name, ruleset), "run `make docs`"
