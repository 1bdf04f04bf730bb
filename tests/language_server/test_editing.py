"""What an editor can do in a rule file: rename a set, take a fix, see a rule at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sears_dsl.language.loader import parse
from sears_dsl.language_server.findings import find_all
from sears_dsl.language_server.server import LanguageServer
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
    (tmp_path / "a.sear").write_text(RULES)  # imports are looked for beside it
    (tmp_path / "a.sample.txt").write_text('A "fun" movie.\nA play.\nmovie\n')
    return (tmp_path / "a.sear").as_uri()


@pytest.fixture
def server(uri: str) -> LanguageServer:
    tagger = PinnedTagger()
    server = LanguageServer(
        find=lambda text, path: find_all(text, path, tagger=tagger), tagger=tagger
    )
    list(server.answers({"id": 0, "method": "initialize", "params": {}}))
    opened(server, uri, RULES)
    return server


def opened(server: LanguageServer, uri: str, text: str) -> None:
    document = {"uri": uri, "text": text, "languageId": "sears", "version": 1}
    message = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    list(server.answers(message))


def answer(
    server: LanguageServer, method: str, uri: str, line: int, column: int, **more: Any
) -> Any:
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}, **more}
    [told] = server.answers({"id": 1, "method": f"textDocument/{method}", "params": params})
    return told.get("result", told.get("error"))


def lines(found: dict[str, Any]) -> tuple[int, int, int]:
    start, end = found["range"]["start"], found["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def test_a_set_gets_another_name_wherever_it_is_used(server: LanguageServer, uri: str) -> None:
    assert answer(server, "prepareRename", uri, 2, 9)["start"] == {"line": 2, "character": 9}
    edits = answer(server, "rename", uri, 2, 9, newName="WHO")["changes"][uri]
    # Columns are counted as editors do: the smile has two.
    places = [(1, 4, 6), (2, 9, 11), (2, 33, 35), (4, 11, 13), (4, 27, 29)]
    assert [lines(each) for each in edits] == places
    assert {each["newText"] for each in edits} == {"WHO"}


@pytest.mark.parametrize(
    ("place", "name", "told"),
    [((2, 9), "W H", "is no name of a set"), ((2, 18), "X", "no set of this file"),
     ((6, 13), "X", "no set of this file"), ((2, 9), "WH", "is the name of another set")],
)  # fmt: skip
def test_a_rename_that_cannot_be_is_told(
    server: LanguageServer, uri: str, place: tuple[int, int], name: str, told: str
) -> None:
    assert told in answer(server, "rename", uri, *place, newName=name)["message"]


def taken(server: LanguageServer, uri: str, line: int) -> list[dict[str, Any]]:
    spot = {"line": line, "character": 0}
    found: list[dict[str, Any]] = answer(
        server, "codeAction", uri, line, 0, range={"start": spot, "end": spot},
        context={"diagnostics": []},
    )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("text", "fixed"),
    [("What NUON -> it", "What NOUN -> it"), ("set WH = a\n@WHH -> b", "set WH = a\n@WH -> b"),
     ("[tga=NN] -> x", "[tag=NN] -> x"), ("movie -> $1.uper", "movie -> $1.upper"),
     ("a -> b\n  sevrity: high", "a -> b\n  severity: high")],
)  # fmt: skip
def test_a_proposed_fix_is_taken(server: LanguageServer, uri: str, text: str, fixed: str) -> None:
    opened(server, uri, text)
    found = [each for line in range(text.count("\n") + 1) for each in taken(server, uri, line)]
    [action] = [each for each in found if each["kind"] == "quickfix"]
    [edit] = action["edit"]["changes"][uri]
    line, start, end = lines(edit)
    written = text.split("\n")
    written[line] = written[line][:start] + edit["newText"] + written[line][end:]
    assert "\n".join(written) == fixed


def test_a_rule_shows_what_it_does_to_the_sample(server: LanguageServer, uri: str) -> None:
    told = answer(server, "hover", uri, 6, 20)["contents"]["value"]
    assert told.startswith('changes 2 of 3 rows of `a.sample.txt`\n\n- A "fun" movie.\n- → A')
    opened(server, uri, "set MOVIE = movie | book\n@MOVIE -> film\nfilm -> NUON\n  tags: a\n[tag=")
    assert "changes 2 of 3 rows" in answer(server, "hover", uri, 1, 10)["contents"]["value"]
    assert answer(server, "hover", uri, 2, 1) is None
    opened(server, uri.replace("a.sear", "b.sear"), "movie -> film\n")
    assert answer(server, "hover", uri.replace("a.sear", "b.sear"), 0, 0) is None


def test_a_row_of_the_sample_becomes_a_test_that_passes(server: LanguageServer, uri: str) -> None:
    first, second = taken(server, uri, 6)
    assert (first["title"], first["kind"]) == ('Make a test from: A "fun" movie.', "refactor")
    [edit] = first["edit"]["changes"][uri]
    assert lines(edit) == (7, 0, 0)
    rules = parse("rule film: movie -> film\n" + edit["newText"])
    assert [each.outcome for each in run_tests(rules, tagger=PinnedTagger())] == ["ok"]
    assert second["title"] == "Make a test from: movie"
    opened(server, uri, "movie -> film")  # the last line, without a line break
    [edit] = taken(server, uri, 0)[0]["edit"]["changes"][uri]
    assert (lines(edit), edit["newText"][:3]) == ((0, 13, 13), "\n  ")


def test_tags_are_explained_and_proposed(server: LanguageServer, uri: str) -> None:
    text = 'DET NOUN -> "NOUN" [tag=VBZ] NO'
    opened(server, uri, text)
    assert (
        answer(server, "hover", uri, 0, 5)["contents"]["value"] == "`NOUN`: noun: girl, color, film"
    )
    assert "third person" in answer(server, "hover", uri, 0, 25)["contents"]["value"]
    assert answer(server, "hover", uri, 0, 14) is None
    labels = {each["label"] for each in answer(server, "completion", uri, 0, len(text))}
    assert {"NOUN", "VBZ", "PRP$"} <= labels
    assert answer(server, "completion", uri, 0, 16) == []
    for typed in ("[tag=", "[lemma=be & tag != VB", "[tag=NN|", "a [pos="):
        opened(server, uri, typed)
        found = {each["label"] for each in answer(server, "completion", uri, 0, len(typed))}
        assert found == labels, typed
