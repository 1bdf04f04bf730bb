"""What CONTRIBUTING.md says of files is true; what its recipes add is named where users look."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from sears_dsl.cli.commands import sears
from sears_dsl.data.dataset import FORMAT_NAMES
from sears_dsl.errors import UsageError
from sears_dsl.models import loading

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
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


def _page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


# Variants of csv share its name.
@pytest.mark.parametrize("name", sorted({name.partition("-")[0] for name in FORMAT_NAMES}))
def test_a_format_is_described_and_tested(name: str) -> None:
    [shown] = re.findall(r"`sears apply` reads and writes (.*?) files", _page("README.md"), re.S)
    words = {"txt": "plain text", "squad": "SQuAD"}
    assert re.search(rf"\b{words.get(name, name)}\b", shown)
    assert re.search(rf"(?m)^\| .*\b{name}\b.* \|", _page("docs/security.md"), re.IGNORECASE)
    tested = "".join(path.read_text("utf-8") for path in (ROOT / "tests/data").glob("test_*.py"))
    assert re.search(rf"\.{name}\b|test_.*{name}", tested)


def _kinds_of_models() -> set[str]:
    """The prefixes that `load_predictor` and its helpers ask for."""
    compared: set[str] = set()
    for node in ast.walk(ast.parse(Path(loading.__file__).read_text("utf-8"))):
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "kind":
            compared |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return compared


def test_a_kind_of_model_is_named_wherever_kinds_are() -> None:
    kinds = _kinds_of_models()
    assert {"sklearn", "hf", "llm", "file", "vote", "every"} <= kinds
    with pytest.raises(UsageError) as refused:
        loading.load_predictor("nothing")
    for kind in sorted(kinds):
        assert f"{kind}:" in refused.value.help
        assert f"{kind}:" in (loading.__doc__ or "")
        assert f"`{kind}:" in _page("docs/models.md")
        # Several models at once permit what each of them does.
        assert f"{kind}:" in _page("docs/security.md") or kind in ("vote", "every")


def test_a_command_is_named_on_a_page() -> None:
    pages = "".join(map(_page, ["README.md", *(f"docs/{each.name}" for each in PAGES)]))
    context = click.Context(sears)
    for name in sears.list_commands(context):
        assert re.search(rf"\bsears {name}\b", pages), name
