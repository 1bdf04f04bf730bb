"""What an editor gets: findings while typing, a formatted file, a server that stops on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from editor import URI, Editor, framed, read

from sears_dsl.errors import Diagnostic, TaggerError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import FUNCTIONS, KEYS
from sears_dsl.language_server.assistance import FUNCTION_HELP, METADATA_HELP, find_all
from sears_dsl.language_server.server import RuleServer
from sears_dsl.tagging.pinned import PinnedTagger


def _pinned(text: str, path: str) -> Iterator[Any]:
    return find_all(text, path, tagger=PinnedTagger())


def _started(find: Any = _pinned) -> Editor:
    return Editor(RuleServer(find=find))


def _shown(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answers[-1]["params"]["diagnostics"]
    return found


def test_a_mistake_is_shown_where_it_stands() -> None:
    [found] = _shown(_started().open("movie -> film\nWhat NUON -> Which NOUN\n"))
    assert found["range"] == {
        "start": {"line": 1, "character": 5},
        "end": {"line": 1, "character": 9},
    }
    assert (found["code"], found["severity"], found["source"]) == ("E201", 1, "sears")
    assert "did you mean NOUN?" in found["message"]


def test_a_finding_without_a_place_is_shown_on_the_first_line() -> None:
    def find(_: str, path: str) -> Iterator[list[Diagnostic]]:
        yield [Diagnostic("E407", "this is not a rule file", path=path)]

    [found] = _shown(_started(find).open("id,text\n1,a\n"))
    assert found["range"] == {
        "start": {"line": 0, "character": 0},
        "end": {"line": 0, "character": 7},
    }


def test_of_an_imported_file_the_errors_are_shown_and_no_warnings(tmp_path: Path) -> None:
    (tmp_path / "words.sear").write_text("set A = film+ | b\nset B = NUON\n", "utf-8")
    saved = tmp_path / "a.sear"
    saved.write_text("", "utf-8")  # imports are looked for next to it
    [found] = _shown(_started().open('import "words.sear" as w\n@w.A x -> y\n', saved.as_uri()))
    assert found["message"].splitlines()[1:] == ["words.sear:2: `NUON` is not a tag"]


def test_columns_are_counted_as_editors_do() -> None:
    [found] = _shown(_started().open("😀 NUON -> 😀\n"))
    assert found["range"]["start"]["character"] == 3


def test_warnings_and_findings_of_the_compiler_come_too() -> None:
    answers = _started().open("set WH = What\nbe -> $1.VBD\n")
    first, last = (each["params"]["diagnostics"] for each in answers)
    assert [found["code"] for found in first] == ["W603"]
    assert [(found["code"], found["severity"]) for found in last] == [("W603", 2), ("E350", 1)]


def test_a_change_is_judged_anew_and_closing_clears() -> None:
    editor = _started()
    assert _shown(editor.open("NUON -> it"))
    assert _shown(editor.change("NOUN -> it")) == []
    [closed] = editor.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert closed["params"] == {"uri": URI, "diagnostics": []}


def test_imports_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "common.sear").write_text("set WH = What | Which\n", "utf-8")
    text = 'import "common.sear" as c\n@c.WH NOUN -> it\n'
    saved = tmp_path / "some rules.sear"
    saved.write_text("", "utf-8")
    assert _shown(_started().open(text, saved.as_uri())) == []
    assert _shown(_started().open(text, (tmp_path / "not yet saved.sear").as_uri())) == []
    elsewhere = (tmp_path / "no folder" / "new.sear").as_uri()
    assert _shown(_started().open(text, elsewhere))[0]["code"] == "E401"
    assert _shown(_started().open(text, "untitled:1"))[0]["code"] == "E401"


def test_without_a_tagger_the_editor_is_told() -> None:
    def find(text: str, path: str) -> Iterator[list[Diagnostic]]:
        yield []
        raise TaggerError("no tagger", help="install one")

    published, logged = _started(find).open("movie -> film")
    assert published["params"]["diagnostics"] == []
    assert "install one" in logged["params"]["message"]


def _formatted(editor: Editor) -> Any:
    return editor.answer("formatting", options={"tabSize": 4, "insertSpaces": True})


def test_formatting_gives_the_canonical_text() -> None:
    editor = _started()
    editor.open("movie   ->  film # old\n")
    [edit] = _formatted(editor)
    assert edit["newText"] == parse("movie -> film # old").format()
    assert edit["range"]["end"]["line"] >= 1
    editor.open(edit["newText"])
    assert _formatted(editor) == []


def test_a_file_with_mistakes_stays_as_it_is() -> None:
    editor = _started()
    editor.open("NUON   -> it\n")
    assert _formatted(editor) == []
    editor.uri = "file:///never-opened.sear"
    assert _formatted(editor) == []


def test_what_is_on_disk_is_not_what_stands_in_the_editor(tmp_path: Path) -> None:
    (tmp_path / "a.sear").write_text("movie   -> film\n", "utf-8")
    editor = _started()
    editor.uri = (tmp_path / "a.sear").as_uri()
    assert (_formatted(editor), editor.answer("completion", 0, 0)) == ([], [])
    editor.open("movie -> film\n")
    assert _formatted(editor) == []


def test_requests_have_one_answer_each() -> None:
    editor = Editor(start=False)
    hover = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    [early] = editor.ask("textDocument/hover", hover)
    assert early["error"]["code"] == -32002
    assert editor.open("NUON -> it") == []
    [_] = editor.ask("initialize", {"capabilities": {}})
    [unknown] = editor.ask("textDocument/typeDefinition", hover)
    assert unknown["error"]["code"] == -32601
    assert editor.sends(framed({"id": 9, "result": None})) == []
    assert editor.tell("$/cancelRequest", {"id": 9}) == []
    [ended] = editor.ask("shutdown", identity=4)
    assert (ended["id"], ended["result"]) == (4, None)
    [late] = editor.ask("textDocument/hover", hover)
    assert late["error"]["code"] == -32600
    assert editor.exit_code == 1
    assert editor.tell("exit") == []
    assert editor.exit_code == 0


FILE = """\
set GOOD = good | nice | fine
set D = very
template "A {D?} {GOOD.cap} 😀 film."
  label: positive
_ -> $1.typo(25%)
  rate: 25%
  seed: 7
"""


@pytest.mark.parametrize(
    ("line", "character", "told"),
    [
        (2, 1, "6 sentences, positive\n\n- `A Good 😀 film.`\n- `A Nice 😀 film.`\n"),
        (2, 1, "\n- `A Fine 😀 film.`\n- …"),
        (2, 31, "6 sentences"),
        (2, 13, "`D` = `very`"),
        (2, 20, "`GOOD` = `good | nice | fine`"),
        (2, 22, "`.cap`: with a capital"),
        (2, 23, "`.cap`: with a capital"),
        (4, 8, "`.typo`: a slip of typing, drawn"),
        (5, 3, "`rate`: the share of its instances"),
        (6, 2, "`seed`: added to the seed of the run"),
        (4, 0, None),
        (40, 0, None),
    ],
)
def test_a_place_is_explained(line: int, character: int, told: str | None) -> None:
    editor = _started()
    editor.open(FILE)
    found = editor.answer("hover", line, character)
    assert found is None if told is None else told in found["contents"]["value"]


@pytest.mark.parametrize(
    ("typed", "some"),
    [
        ('template "A {', {"GOOD", "D"}),
        ('template "A {who:G', {"GOOD", "D"}),
        ('template "A {GOOD.', {"cap", "VBD", "typo"}),
        ('template "A {{', set()),
        ("a:NOUN -> $a.VBD.", {"cap", "homoglyph"}),
        ("movie -> @", {"GOOD", "D"}),
        ("  ra", {"rate", "expect", "why"}),
        ("movie -> film", set()),
    ],
)
def test_what_may_be_written_is_proposed(typed: str, some: set[str]) -> None:
    editor = _started()
    editor.open(f"{FILE}{typed}")
    found = editor.answer("completion", FILE.count("\n"), len(typed))
    labels = {each["label"] for each in found}
    assert some <= labels
    assert bool(some) == bool(labels)
    assert all(each["detail"] for each in found)


def test_sets_of_imported_files_are_proposed(tmp_path: Path) -> None:
    (tmp_path / "words.sear").write_text("set GOOD = good | nice\n", "utf-8")
    editor = _started()
    saved = tmp_path / "a.sear"
    saved.write_text("", "utf-8")  # imports are looked for next to it
    editor.uri = saved.as_uri()
    other = 'import "words.sear" as words\n'
    editor.open(f'import "words.sear" as w\n{other}template "A {{w.')
    assert [each["label"] for each in editor.answer("completion", 2, 15)] == ["GOOD"]
    assert editor.answer("completion", 0, 0) == []


@pytest.mark.parametrize(
    ("line", "character", "found"),
    [
        (1, 12, (0, 0)),
        (2, 17, (0, 0)),
        (2, 29, (2, 14)),
        (3, 23, (3, 3)),
        (4, 10, None),
        (6, 9, None),
        (9, 0, None),
    ],
)
def test_what_is_named_is_found_where_it_is_defined(
    line: int, character: int, found: tuple[int, int] | None
) -> None:
    editor = _started()
    editor.open('set GOOD = good | nice\nmovie -> @GOOD\ntemplate "😀 {who:GOOD.cap} {$who}."\n'
          "😀 be:lemma=be ADJ -> $be not ADJ\n_ -> $1.typo\nthis is -> (broken\n"
          "ADJ -> $be\n")  # fmt: skip
    told = editor.answer("definition", line, character)
    if found is None:
        assert told is None
    else:
        place = dict(zip(("line", "character"), found, strict=True))
        assert told == {"uri": URI, "range": {"start": place, "end": place}}


def test_what_is_imported_is_found_in_its_file(tmp_path: Path) -> None:
    words = tmp_path / "words.sear"
    words.write_text("# of films\nset GOOD = good | nice\n", "utf-8")
    editor = _started()
    saved = tmp_path / "a.sear"
    saved.write_text("", "utf-8")  # imports are looked for next to it
    editor.uri = saved.as_uri()
    editor.open('import "words.sear" as w\nmovie -> @w.GOOD\n')
    for line, character, found in ((1, 13, 1), (0, 10, 0)):
        told = editor.answer("definition", line, character)
        assert told["uri"] == words.as_uri()
        assert told["range"]["start"] == {"line": found, "character": 0}


def test_every_function_and_key_is_explained() -> None:
    assert set(FUNCTION_HELP) == set(FUNCTIONS)
    assert set(METADATA_HELP) == set(KEYS)


DOCUMENT = {"uri": URI, "languageId": "sears", "version": 1}
ODD: list[object] = [None, 1, "text", [], {}, [{}], {"textDocument": None}, {"textDocument": []},
                     {"textDocument": {**DOCUMENT, "uri": 1, "text": "a"}, "contentChanges": []},
                     {"textDocument": DOCUMENT},
                     {"textDocument": {**DOCUMENT, "text": ["a -> b"]}},
                     {"textDocument": DOCUMENT, "contentChanges": None},
                     {"textDocument": DOCUMENT, "contentChanges": {"text": "a -> b"}},
                     {"textDocument": DOCUMENT, "contentChanges": [None]},
                     {"textDocument": DOCUMENT, "contentChanges": ["a -> b"]},
                     {"textDocument": DOCUMENT, "contentChanges": [{"text": 1}]},
                     {"textDocument": DOCUMENT,
                      "contentChanges": [{"range": {}, "text": "NUON"}]}]  # fmt: skip


@pytest.mark.parametrize("params", ODD, ids=str)
@pytest.mark.parametrize("method", ["didOpen", "didChange"])
def test_a_message_that_makes_no_sense_is_reported_and_the_talk_goes_on(
    params: object, method: str
) -> None:
    editor = _started()
    editor.open("NUON -> it")
    odd = editor.tell(f"textDocument/{method}", params)
    assert [each["method"] for each in odd] == ["window/logMessage"]
    assert f"sears cannot read this textDocument/{method}: " in odd[0]["params"]["message"]
    assert _shown(editor.open("NUON -> it"))


START, END = {"line": 0, "character": 0}, {"line": 0, "character": 4}


@pytest.mark.parametrize(
    ("uri", "change", "told"),
    [
        (URI, {"text": "N", "range": {"start": START, "end": END}}, "changes only a part of"),
        ("file:///never-opened.sear", {"text": "NUON"}, "never-opened"),
    ],
)
def test_a_change_that_cannot_be_is_reported(uri: str, change: object, told: str) -> None:
    editor = _started()
    editor.open("movie -> film")
    document = {"uri": uri, "version": 2}
    [odd] = editor.tell(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
    )
    assert odd["method"] == "window/logMessage"
    assert told in odd["params"]["message"]
    assert _formatted(editor) != []  # the text is as before


@pytest.mark.parametrize("params", [None, 1, [], {"textDocument": {"uri": 5}}], ids=str)
def test_a_request_that_makes_no_sense_is_answered(params: object) -> None:
    [answer] = _started().ask("textDocument/formatting", params, identity=7)
    assert (answer["id"], answer["error"]["code"]) == (7, -32602)
    assert "sears cannot read this textDocument/formatting" in answer["error"]["message"]


def test_no_changes_are_no_news() -> None:
    editor = _started()
    editor.open("NUON -> it")
    change = {"textDocument": {"uri": URI, "version": 2}, "contentChanges": []}
    assert editor.tell("textDocument/didChange", change) == []


@pytest.mark.parametrize("uri", ["untitled:1", "", "file:///a%00b.sear", "\x00"])
def test_any_address_will_do(uri: str) -> None:
    assert _shown(_started().open("NUON -> it", uri))


def test_what_is_no_address_is_reported() -> None:
    editor = _started()
    [odd] = editor.open("NUON -> it", "file://[")
    assert "sears cannot read this" in odd["params"]["message"]
    assert _shown(editor.open("NUON -> it"))


def test_a_failure_of_ours_is_called_so_and_the_talk_goes_on() -> None:
    def find(text: str, path: str) -> Iterator[list[Diagnostic]]:
        if text == "bad":
            raise TypeError("a defect")
        yield []

    editor = _started(find)
    [logged] = editor.open("bad")
    assert logged["params"]["type"] == 1
    assert "sears failed at textDocument/didOpen, which is a bug in sears" in str(logged)
    assert "TypeError: a defect" in logged["params"]["message"]
    assert _shown(editor.open("good")) == []


def test_the_server_goes_on_after_what_is_no_message() -> None:
    editor = _started()
    bodies = (b"{]", b"[]", b"null", b"[" * 100_000, b"\xff", b"{}")
    sent = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    odd = editor.sends(b"Content-Type: x\r\n\r\n" + sent + framed({"id": 2, "method": "shutdown"}))
    assert [each.get("error", {}).get("code") for each in odd] == [*[-32700] * 6, None]
    assert odd[-1] == {"jsonrpc": "2.0", "id": 2, "result": None}


@pytest.mark.parametrize(
    "sent", [b"", b"Content-Length: 2", b"Content-Length: many\r\n\r\n{}", b"{}" * 9]
)
def test_an_editor_that_goes_away_ends_the_server(sent: bytes) -> None:
    editor = _started()
    assert editor.sends(sent) == []
    assert editor.exit_code == 1


def test_a_message_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(UsageError, match="99,999,999,999 bytes") as refused:
        _started().sends(b"Content-Length: 99999999999\r\n\r\n{}")
    assert "128 MiB" in refused.value.help


def test_the_command_speaks_over_its_pipes() -> None:
    document = {**DOCUMENT, "text": "NUON -> it"}
    messages: tuple[dict[str, Any], ...] = (
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": [2], "method": "textDocument/hover", "params": 5},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    )
    sent = b"".join(framed(each) for each in messages)
    code = "from sears_dsl.cli.rules.lsp import lsp_command; lsp_command()"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    answers = list(read(BytesIO(done.stdout)))
    assert done.stderr == b""
    assert answers[1]["params"]["diagnostics"][0]["code"] == "E201"
    assert answers[-1] == {"jsonrpc": "2.0", "id": 2, "result": None}
    assert [each["error"]["code"] for each in answers if "error" in each] == [-32602]
