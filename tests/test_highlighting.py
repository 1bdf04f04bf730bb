"""The colours of `.sear` files agree with the parser about tags."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Name, String, Token

from sears_dsl.highlighting import SearsLexer, textmate_grammar
from sears_dsl.language.loader import load, parse
from sears_dsl.language.rule import (
    AttributeTest,
    Inflected,
    Reference,
    Regex,
    SetReference,
    Tag,
    TagCopy,
)
from sears_dsl.runtime.files import resource_folder

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = sorted(resource_folder("rulesets").rglob("*.sear"))
REFERENCE = (resource_folder("grammar") / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```sears\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE)
MISTAKES = re.findall(r"^```sears \w[^\n]*\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE)
LEXER = SearsLexer(stripnl=False, ensurenl=False)


def _coloured(text: str, kind: Any) -> Counter[str]:
    return Counter(value for found, value in LEXER.get_tokens(text) if found is kind)


def _nodes(tree: Any) -> Iterator[Any]:
    """Every node of a syntax tree."""
    yield tree
    if isinstance(tree, tuple):
        for child in tree:
            yield from _nodes(child)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            if field.name not in ("metadata", "span", "layout", "warnings", "imports"):
                yield from _nodes(getattr(tree, field.name))


def _agree(text: str, ruleset: Any) -> None:
    nodes = list(_nodes((ruleset.rules, ruleset.sets)))
    tags = [node.name if isinstance(node, Tag) else node.tag for node in nodes
            if isinstance(node, Tag | TagCopy)]  # fmt: skip
    tags += [node.value for node in nodes
             if isinstance(node, AttributeTest) and node.attribute in ("tag", "pos")]  # fmt: skip
    assert _coloured(text, Name.Class) == Counter(tags)
    references = [f"${node.target}" for node in nodes if isinstance(node, Reference | Inflected)]
    assert _coloured(text, Name.Variable.Instance) == Counter(references)
    sets = [f"@{node.full_name}" for node in nodes if isinstance(node, SetReference)]
    sets += [each.name for each in ruleset.sets]
    assert _coloured(text, Name.Constant) == Counter(sets)
    patterns = sum(isinstance(node, Regex) for node in nodes)
    assert _coloured(text, String.Regex).total() == patterns


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_rulesets_are_coloured_as_they_are_read(path: Path) -> None:
    _agree(path.read_text("utf-8"), load(path))


def test_examples_are_coloured_as_they_are_read() -> None:
    for text in EXAMPLES:
        _agree(text, parse(text))


def test_nothing_is_lost_and_only_unseen_spaces_are_marked_wrong() -> None:
    for text in EXAMPLES + MISTAKES:
        tokens = list(LEXER.get_tokens(text))
        assert "".join(value for _, value in tokens) == text
        assert _coloured(text, Token.Error).keys() == ({"\xa0"} & set(text))


@given(st.text(alphabet='aN$ \n\t"#/\\->|()[]{}?!@_:.~<>&=é😀', max_size=60))
def test_any_text_is_coloured_whole_and_line_by_line(text: str) -> None:
    whole = list(LEXER.get_tokens(text))
    assert "".join(value for _, value in whole) == text.replace("\r", "\n")
    lines = [list(LEXER.get_tokens(line)) for line in text.splitlines(keepends=True)]
    merged = [token for line in lines for token in line]
    assert _characters(whole) == _characters(merged)


def _characters(tokens: list[tuple[Any, str]]) -> list[Any]:
    return [kind for kind, value in tokens for character in value if not character.isspace()]


def _textmate(grammar: dict[str, Any], line: str) -> list[str]:
    """The scope of each character, as an editor finds it: leftmost match, first pattern."""
    scopes = [""] * len(line)
    inside, place = "file", 0
    while place < len(line):
        found = []
        for order, entry in enumerate(grammar["repository"][inside]["patterns"]):
            match = re.compile(entry.get("match", entry.get("begin"))).search(line, place)
            if match and (match.end() > match.start() or "begin" in entry):
                found.append((match.start(), order, match, entry))
        if not found:
            break
        _, _, match, entry = min(found, key=lambda each: each[:2])
        for group, named in entry.get("captures", entry.get("beginCaptures", {})).items():
            start, end = match.span(int(group))
            scopes[start:end] = [named["name"]] * (end - start)
        place = match.end()
        if "begin" in entry:
            [included] = entry["patterns"]
            inside = included["include"].removeprefix("#")
    return scopes


@pytest.mark.parametrize("path", SHIPPED[::5], ids=lambda path: path.stem)
def test_editors_colour_the_same_stretches(path: Path) -> None:
    grammar = textmate_grammar()
    text = path.read_text("utf-8")
    tags = Counter[str]()
    for line in text.splitlines():
        scopes = _textmate(grammar, line)
        starts = [i for i, scope in enumerate(scopes) if scope == "entity.name.type.sears"]
        for start in starts:
            if start == 0 or scopes[start - 1] != "entity.name.type.sears":
                tags[re.match(r"[A-Z]+\$?", line[start:])[0]] += 1  # type: ignore[index]
    assert tags == _coloured(text, Name.Class)


def test_the_grammar_of_the_editors_is_up_to_date() -> None:
    file = ROOT / "editors" / "vscode" / "syntaxes" / "sears.tmLanguage.json"
    assert json.loads(file.read_text("utf-8")) == textmate_grammar(), (
        "run `python -m editors`, which writes it"
    )


def test_pygments_finds_the_lexer_by_name_and_by_file() -> None:
    assert isinstance(get_lexer_by_name("sears"), SearsLexer)
    assert isinstance(get_lexer_for_filename("rules/wh.sear"), SearsLexer)


def test_slots_of_templates_are_coloured_in_their_text() -> None:
    text = 'template fine: "A {w.GOOD?} {{film}}, # 1."  # said "so"\n  label: positive\n'
    found = [(str(kind), value) for kind, value in LEXER.get_tokens(text)]
    assert (str(Token.Keyword.Constant), "{w.GOOD?}") in found
    assert (str(String), '"') in found
    assert "".join(value for kind, value in found if kind == str(String)) == '"A  {{film}}, # 1."'
    assert (str(Token.Comment.Single), '# said "so"') in found
    assert (str(Name.Label), "fine") in found
