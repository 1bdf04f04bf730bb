"""Where sets are named: in what the lexer reads, whatever else is wrong in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from editor import Editor

from sears_dsl.language_server import assistance
from sears_dsl.language_server.names import name_at, names
from sears_dsl.language_server.server import RuleServer

WRONG = "x -> NOUM\n"

FILES = [
    ("set WH = a | b\ntemplates @WH -> models $2\n@WH x -> $1\n",
     [(0, 4, 6), (1, 11, 13), (2, 1, 3)]),
    ("set WH = a | b\nC# @WH -> $1 x\n[tag=#] @WH -> x  # @WH\n",
     [(0, 4, 6), (1, 4, 6), (2, 9, 11)]),
    ('set WH = a | b\ntemplate "{ WH } is {WH} {{WH}} {WH.upper}"  # {WH}\n  label: x\n',
     [(0, 4, 6), (1, 12, 14), (1, 21, 23), (1, 33, 35)]),
    ('set WH = which | what\ntemplate "{WH.swap(2)} {WH.cap.swap(25%)}"\n  label: x\n',
     [(0, 4, 6), (1, 11, 13), (1, 24, 26)]),
    ('set WH = a | b\n@WH "@WH" !/@WH/ -> $1\n  why: "@WH"\n  test "@WH" => none\n',
     [(0, 4, 6), (1, 1, 3)]),
    ("set WH = a | b\nset V = @WH | c\nrule @WH: (@WH x|y) -> @WH / @WH __ !@WH\n",
     [(0, 4, 6), (1, 9, 11), (2, 12, 14), (2, 24, 26), (2, 30, 32), (2, 38, 40)]),
    ('set WH = a | b\ntemplate "{WH}" -> @WH\n', [(0, 4, 6), (1, 20, 22)]),
    ("option vectors = @WH\nset WH = a | b\nset V = text=@WH | @WH\n"
     "text=@WH [text = @WH & tag=NN] -> x / !lower=@WH @WH __\n",
     [(1, 4, 6), (2, 20, 22), (3, 50, 52)]),
]  # fmt: skip


def places(told: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    ranges = [each["range"] for each in told]
    return [
        (each["start"]["line"], each["start"]["character"], each["end"]["character"])
        for each in ranges
    ]


def opened(text: str, uri: str = "file:///rules/a.sear") -> Editor:
    editor = Editor(RuleServer(find=lambda *_: iter(())), uri=uri)
    editor.open(text)
    return editor


@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("rest", ["", WRONG], ids=["right", "wrong"])
@pytest.mark.parametrize(("text", "uses"), FILES, ids=range(len(FILES)))
def test_a_set_is_renamed_and_listed_wherever_it_is_named(
    text: str, uses: list[tuple[int, int, int]], rest: str, line_break: str
) -> None:
    editor = opened((text + rest).replace("\n", line_break))
    for line, start, end in uses:
        for column in (start, end):
            edits = editor.answer("rename", line, column, newName="QQ")
            assert places(*edits["changes"].values()) == uses
            listed = editor.answer("references", line, column, context={"includeDeclaration": True})
            assert places(listed) == uses


def test_a_line_that_does_not_parse_names_sets_outside_of_comments_and_quotes() -> None:
    text = 'set WH = a | b\n@WH "@WH" /@WH/ -> ( x # @WH\ntemplate "{WH} {{WH}} {w.X} { WH.cap'
    found = [(each.name, each.span.line, each.span.start) for each in names(text)]
    assert found == [("WH", 0, 4), ("WH", 1, 1), ("WH", 2, 11), ("w.X", 2, 23), ("WH", 2, 30)]


def test_the_value_of_an_attribute_names_no_captured_word_but_may_be_a_tag() -> None:
    editor = opened("x:NOUN text!=$x pos=NOUN -> $x\n")
    listed = editor.answer("references", 0, 0, context={"includeDeclaration": True})
    assert places(listed) == [(0, 0, 1), (0, 29, 30)]
    assert editor.answer("references", 0, 14, context={"includeDeclaration": True}) == []
    assert "noun" in editor.answer("hover", 0, 21)["contents"]["value"]


def test_an_import_of_the_same_name_is_not_a_set(tmp_path: Path) -> None:
    (tmp_path / "words.sear").write_text("set A = q\nset C = x | y\n", "utf-8")
    rules = tmp_path / "a.sear"
    rules.write_text("", "utf-8")  # imports are looked for next to it
    text = 'import "words.sear" as k\nset k = a | b\n@k @k.C -> $1\n'
    editor = opened(text, rules.as_uri())
    edits = editor.answer("rename", 1, 4, newName="z")["changes"][rules.as_uri()]
    assert places(edits) == [(1, 4, 5), (2, 1, 2)]
    there = editor.answer("definition", 2, 6)
    assert there["uri"] == (tmp_path / "words.sear").as_uri()
    assert there["range"]["start"]["line"] == 1
    assert editor.answer("definition", 2, 1)["range"]["start"]["line"] == 1
    assert places(editor.answer("references", 2, 6, context={"includeDeclaration": True})) == [
        (2, 4, 7)
    ]


@pytest.mark.parametrize("rest", ["", WRONG])
def test_a_rename_that_would_be_a_mistake_is_refused(rest: str) -> None:
    editor = opened("set GOOD = a | b\nset BAD = !@GOOD\n" + rest)
    assert "_x' is not a valid name" in editor.answer("rename", 0, 5, newName="_x")["message"]
    refused = editor.answer("rename", 0, 5, newName="BAD")["message"]
    assert "'BAD' is the name of another set" in refused


def test_quoted_metadata_names_nothing_however_far_it_is_indented() -> None:
    editor = opened('a -> b\n        why: ".upper"\n')
    assert editor.answer("hover", 1, 16) is None


def test_comments_quotes_and_escaped_braces_name_nothing() -> None:
    text = 'set WH = a | b\n@WH x -> $1 # @WH $1.upper {WH}\n  why: "@WH .upper"\n'
    text += 'template "{{WH}} {WH}"\n  label: x\n'
    editor = opened(text)
    for line, column in ((1, 14), (1, 20), (2, 9), (2, 13)):
        assert editor.answer("hover", line, column) is None
        assert editor.answer("definition", line, column) is None
        assert name_at(text, line, column) is None
    assert editor.answer("hover", 3, 12)["contents"]["value"].startswith("2 sentences")
    assert editor.answer("definition", 3, 12) is None
    assert editor.answer("definition", 3, 18)["range"]["start"]["line"] == 0


def test_a_name_in_a_line_that_belongs_to_a_rule_is_defined_nowhere() -> None:
    text = "rule r: movie -> film\n  wh$y: dull\n"
    places = [assistance.definition(text, "a.sear", 1, column) for column in range(12)]
    assert places == [None] * 12


@pytest.mark.parametrize("rest", ["", WRONG])
def test_a_rename_that_makes_a_line_too_long_is_refused_with_that_reason(rest: str) -> None:
    members = " | ".join(["word"] * 2_850)
    editor = opened(f"set WH = {members}\n@WH x -> $1\n{rest}")
    assert (
        "would be a mistake: this line has"
        in editor.answer("rename", 0, 5, newName="W" * 200)["message"]
    )


def test_lines_that_end_as_on_windows_are_templates_too() -> None:
    text = 'set WH = what | which\r\ntemplate "A {WH} film"\r\n  label: pos\r\n'
    editor = opened(text)
    told = editor.answer("hover", 1, 18)["contents"]["value"]
    assert told.startswith("2 sentences, pos\n\n- `A what film`")
    assert editor.answer("definition", 1, 14)["range"]["start"]["line"] == 0
    offered = [each["label"] for each in editor.answer("completion", 2, 2)]
    assert "label" in offered
    assert "expect" not in offered
