"""What an editor can do in a rule file: find and rename a set, apply a fix, see a rule at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor import Editor

from sears_dsl.language.loader import parse
from sears_dsl.language_server.assistance import find_all
from sears_dsl.language_server.server import RuleServer
from sears_dsl.rule_tests import run_tests
from sears_dsl.tagging.pinned import PinnedTagger

RULES = """\
import "words.sear" as w
set WH = What | which  # @WH
rule a: @WH 😀 @w.GOOD -> "@WH" @WH
  test "@WH" => none
template "{WH} {x:w.GOOD} {WH.cap} film"
  label: good
rule film: movie -> film
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    (tmp_path / "words.sear").write_text("set BAD = bad\nset GOOD = good | fine\n")
    (tmp_path / "a.sear").write_text(RULES)  # imports are looked for next to it
    (tmp_path / "a.sample.txt").write_text('A "fun" movie.\nA play.\nmovie\n')
    return (tmp_path / "a.sear").as_uri()


@pytest.fixture
def editor(uri: str) -> Editor:
    tagger = PinnedTagger()
    server = RuleServer(find=lambda text, path: find_all(text, path, tagger=tagger), tagger=tagger)
    editor = Editor(server, uri=uri)
    editor.open(RULES)
    return editor


def lines(found: dict[str, Any]) -> tuple[int, int, int]:
    start, end = found["range"]["start"], found["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def test_a_set_gets_another_name_wherever_it_is_used(editor: Editor, uri: str) -> None:
    assert editor.answer("prepareRename", 2, 9)["start"] == {"line": 2, "character": 9}
    edits = editor.answer("rename", 2, 9, newName="WHO")["changes"][uri]
    # Columns are counted as editors do: the smile has two.
    places = [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]
    assert [lines(each) for each in edits] == places
    assert {each["newText"] for each in edits} == {"WHO"}


@pytest.mark.parametrize(
    ("place", "used"),
    [((1, 5), [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]),
     ((4, 28), [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]),
     ((2, 18), [(2, 16, 22), (4, 18, 24)]), ((6, 13), []), ((99, 0), [])],
)  # fmt: skip
def test_every_use_of_a_set_is_listed(
    editor: Editor, place: tuple[int, int], used: list[tuple[int, int, int]]
) -> None:
    told = editor.answer("references", *place, context={"includeDeclaration": True})
    assert [lines(each) for each in told] == used


def test_every_use_of_a_captured_word_is_listed(editor: Editor) -> None:
    editor.open("😀 be:lemma=be a:ADJ -> $be $a.upper $be\nb:NOUN -> $b\n")
    for column in (3, 5, 25, 38):
        told = editor.answer("references", 0, column, context={"includeDeclaration": True})
        assert [lines(each) for each in told] == [(0, 3, 5), (0, 25, 27), (0, 38, 40)]


def test_the_outline_has_what_a_file_defines(editor: Editor) -> None:
    editor.open(RULES + 'NOUM -> a\n\n  test "x" => none\nlast ->\nthe -> a  # short\n')
    told = editor.answer("documentSymbol")
    assert [(each["name"], each["detail"]) for each in told] == [
        ("w", 'import "words.sear" as w'),
        ("WH", "set WH = What | which"),
        ("a", 'rule a: @WH 😀 @w.GOOD -> "@WH" @WH'),
        ('template "{WH} {x:w.GOOD} {WH.cap} film"',) * 2,
        ("film", "rule film: movie -> film"),
        ("NOUM -> a",) * 2,
        ("the -> a",) * 2,
    ]
    assert [each["range"]["end"]["line"] for each in told] == [1, 2, 4, 6, 7, 10, 12]
    assert [each["kind"] for each in told] == [2, 10, 12, 15, 12, 12, 12]
    [test] = told[2]["children"]
    assert (test["name"], test["range"]["start"]["line"]) == ('test "@WH" => none', 3)
    editor.uri = "file:///closed.sear"
    assert editor.answer("documentSymbol") == []
    assert editor.answer("references", context={"includeDeclaration": True}) == []


@pytest.mark.parametrize(
    ("place", "name", "told"),
    [((2, 9), "W H", "is not a valid name"), ((2, 18), "X", "no set of this file"),
     ((6, 13), "X", "no set of this file"), ((2, 9), "WH", "is the name of another set")],
)  # fmt: skip
def test_a_rename_that_cannot_be_is_reported(
    editor: Editor, uri: str, place: tuple[int, int], name: str, told: str
) -> None:
    assert told in editor.answer("rename", *place, newName=name)["message"]


def taken(editor: Editor, line: int) -> list[dict[str, Any]]:
    spot = {"line": line, "character": 0}
    span = {"start": spot, "end": spot}
    found: list[dict[str, Any]] = editor.answer(
        "codeAction", range=span, context={"diagnostics": []}
    )
    return found


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("What NUON -> it", "What NOUN -> it"), ("set WH = a\n@WHH -> b", "set WH = a\n@WH -> b"),
     ("[tga=NN] -> x", "[tag=NN] -> x"), ("movie -> $1.uper", "movie -> $1.upper"),
     ("a -> b\n  sevrity: high", "a -> b\n  severity: high")],
)  # fmt: skip
def test_a_proposed_fix_is_taken(editor: Editor, uri: str, text: str, fixed: str) -> None:
    editor.open(text)
    found = [each for line in range(text.count("\n") + 1) for each in taken(editor, line)]
    [action] = [each for each in found if each["kind"] == "quickfix"]
    [edit] = action["edit"]["changes"][uri]
    line, start, end = lines(edit)
    written = text.split("\n")
    written[line] = written[line][:start] + edit["newText"] + written[line][end:]
    assert "\n".join(written) == fixed


def test_a_rule_shows_what_it_does_to_the_sample(editor: Editor, uri: str) -> None:
    told = editor.answer("hover", 6, 20)["contents"]["value"]
    assert told.startswith('changes 2 of 3 rows of `a.sample.txt`\n\n- A "fun" movie.\n- → A')
    editor.open("set MOVIE = movie | book\n@MOVIE -> film\nfilm -> NUON\n  tags: a\n[tag=")
    assert "changes 2 of 3 rows" in editor.answer("hover", 1, 10)["contents"]["value"]
    assert editor.answer("hover", 1, 2)["contents"]["value"] == "`MOVIE` = movie | book"
    assert editor.answer("hover", 2, 1) is None
    editor.uri = uri.replace("a.sear", "b.sear")
    editor.open("movie -> film\n")
    assert editor.answer("hover", 0, 0) is None


def test_a_row_of_the_sample_becomes_a_test_that_passes(editor: Editor, uri: str) -> None:
    first, second = taken(editor, 6)
    assert (first["title"], first["kind"]) == ('Make a test from: A "fun" movie.', "refactor")
    [edit] = first["edit"]["changes"][uri]
    assert lines(edit) == (7, 0, 0)
    rules = parse("rule film: movie -> film\n" + edit["newText"])
    assert [each.outcome for each in run_tests(rules, tagger=PinnedTagger())] == ["ok"]
    assert second["title"] == "Make a test from: movie"
    editor.open("movie -> film")  # the last line, without a line break
    [edit] = taken(editor, 0)[0]["edit"]["changes"][uri]
    assert (lines(edit), edit["newText"][:3]) == ((0, 13, 13), "\n  ")


def test_tags_are_explained_and_proposed(editor: Editor, uri: str) -> None:
    text = 'DET NOUN -> "NOUN" [tag=VBZ] NO'
    editor.open(text)
    assert editor.answer("hover", 0, 5)["contents"]["value"] == "`NOUN`: noun: girl, color, film"
    assert "third person" in editor.answer("hover", 0, 25)["contents"]["value"]
    assert editor.answer("hover", 0, 14) is None
    labels = {each["label"] for each in editor.answer("completion", 0, len(text))}
    assert {"NOUN", "VBZ", "PRP$"} <= labels
    assert editor.answer("completion", 0, 16) == []
    for typed in ("[tag=", "[lemma=be & tag != VB", "[tag=NN|", "a [pos="):
        editor.open(typed)
        found = {each["label"] for each in editor.answer("completion", 0, len(typed))}
        assert found == labels, typed
