"""What CONTRIBUTING.md says of files is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:md|yml|toml))`")
RECIPES = (
    "A file format",
    "A kind of model",
    "A construct of the rule language",
    "A scorer",
    "A command",
)


def test_every_file_that_contributors_are_sent_to_is_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    names = NAMED.findall(guide)
    assert len(names) > 40
    for name in names:
        place = ROOT / (name.rpartition("/")[0] if "NAME" in name else name)
        assert place.exists(), name


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_names_code_tests_and_words(recipe: str) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    part = guide.split(f"## {recipe}\n")[1].split("\n## ")[0]
    for folder in ("sears_dsl/", "tests/"):
        assert f"`{folder}" in part
    assert re.search(r"`(docs|grammar|benchmarks)/", part)
