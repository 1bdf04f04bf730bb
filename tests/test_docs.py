"""What the docs say is so: examples in docstrings and in the README run, pages are up to date."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from page_examples import run_page

import sears_dsl
from sears_dsl.catalogue import ruleset_page, shipped

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(sears_dsl.__file__).parent
MODULES = sorted(
    path.relative_to(PACKAGE.parent).with_suffix("").as_posix() for path in PACKAGE.rglob("*.py")
)
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(set(DOCS.glob("*.md")) - {DOCS / "models.md"})]
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


@pytest.mark.parametrize("name", sorted(shipped()))
def test_catalogue_pages_are_up_to_date(name: str) -> None:
    page = ROOT / "docs" / "rules" / (name.replace("/", "-") + ".md")
    ruleset = sears_dsl.load(shipped()[name])
    assert page.read_text("utf-8") == ruleset_page(name, ruleset), "run `make docs`"
