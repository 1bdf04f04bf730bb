"""What an editor sees: findings while typing, a formatted file, a server that ends when told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import DataError, Diagnostic, TaggerError
from sears_dsl.language.loader import parse
from sears_dsl.language.parsing.metadata import KEYS
from sears_dsl.language.rule import FUNCTIONS
from sears_dsl.language_server import meanings
from sears_dsl.language_server.findings import find_all
from sears_dsl.language_server.server import LanguageServer, serve
from sears_dsl.language_server.transport import read_message, write_message
from sears_dsl.tagging.pinned import PinnedTagger

URI = "file:///rules/a.sear"


def _pinned(text: str, path: str) -> Iterator[Any]:
    return find_all(text, path, tagger=PinnedTagger())


def _started(find: Any = _pinned) -> LanguageServer:
    server = LanguageServer(find=find)
    [_] = server.answers({"id": 0, "method": "initialize", "params": {}})
    return server


def _open(server: LanguageServer, text: str, uri: str = URI) -> list[dict[str, Any]]:
    document = {"uri": uri, "text": text, "languageId": "sears", "version": 1}
    message = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
    return list(server.answers(message))


def _shown(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answers[-1]["params"]["diagnostics"]
    return found


def test_a_mistake_is_shown_where_it_stands() -> None:
    [found] = _shown(_open(_started(), "movie -> film\nWhat NUON -> Which NOUN\n"))
    assert found["range"] == {
        "start": {"line": 1, "character": 5},
        "end": {"line": 1, "character": 9},
    }
    assert (found["code"], found["severity"], found["source"]) == ("E201", 1, "sears")
    assert "did you mean NOUN?" in found["message"]


def test_columns_are_counted_as_editors_do() -> None:
    [found] = _shown(_open(_started(), "😀 NUON -> 😀\n"))
    assert found["range"]["start"]["character"] == 3


def test_warnings_and_findings_of_the_compiler_come_too() -> None:
    answers = _open(_started(), "set WH = What\nbe -> $1.VBD\n")
    first, last = (each["params"]["diagnostics"] for each in answers)
    assert [found["code"] for found in first] == ["W603"]
    assert [(found["code"], found["severity"]) for found in last] == [("W603", 2), ("E350", 1)]


def test_a_change_is_judged_anew_and_closing_clears() -> None:
    server = _started()
    assert _shown(_open(server, "NUON -> it"))
    change = {"textDocument": {"uri": URI}, "contentChanges": [{"text": "NOUN -> it"}]}
    changed = list(server.answers({"method": "textDocument/didChange", "params": change}))
    assert _shown(changed) == []
    close = {"textDocument": {"uri": URI}}
    [closed] = server.answers({"method": "textDocument/didClose", "params": close})
    assert closed["params"] == {"uri": URI, "diagnostics": []}


def test_imports_are_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "common.sear").write_text("set WH = What | Which\n", "utf-8")
    text = 'import "common.sear" as c\n@c.WH NOUN -> it\n'
    saved = tmp_path / "some rules.sear"
    saved.write_text("", "utf-8")
    assert _shown(_open(_started(), text, saved.as_uri())) == []
    assert _shown(_open(_started(), text, "untitled:1"))[0]["code"] == "E401"


def test_without_a_tagger_the_editor_is_told() -> None:
    def find(text: str, path: str) -> Iterator[list[Diagnostic]]:
        yield []
        raise TaggerError("no tagger", help="install one")

    published, logged = _open(_started(find), "movie -> film")
    assert published["params"]["diagnostics"] == []
    assert "install one" in logged["params"]["message"]


def _formatted(server: LanguageServer, uri: str = URI) -> Any:
    params = {"textDocument": {"uri": uri}, "options": {}}
    [answer] = server.answers({"id": 5, "method": "textDocument/formatting", "params": params})
    return answer["result"]


def test_formatting_gives_the_canonical_text() -> None:
    server = _started()
    _open(server, "movie   ->  film # old\n")
    [edit] = _formatted(server)
    assert edit["newText"] == parse("movie -> film # old").format()
    assert edit["range"]["end"]["line"] >= 1
    _open(server, edit["newText"])
    assert _formatted(server) == []


def test_a_file_with_mistakes_stays_as_it_is() -> None:
    server = _started()
    _open(server, "NUON   -> it\n")
    assert _formatted(server) == []
    assert _formatted(server, "file:///never-opened.sear") == []


def test_requests_have_one_answer_each() -> None:
    server = LanguageServer()
    [early] = server.answers({"id": 1, "method": "textDocument/formatting", "params": {}})
    assert early["error"]["code"] == -32002
    assert list(server.answers({"method": "textDocument/didOpen", "params": {}})) == []
    [_] = server.answers({"id": 2, "method": "initialize"})
    [unknown] = server.answers({"id": 3, "method": "textDocument/references", "params": {}})
    assert unknown["error"]["code"] == -32601
    assert list(server.answers({"id": 9, "result": None})) == []
    [ended] = server.answers({"id": 4, "method": "shutdown"})
    assert (ended["id"], ended["result"]) == (4, None)
    [late] = server.answers({"id": 5, "method": "textDocument/formatting", "params": {}})
    assert late["error"]["code"] == -32600
    assert list(server.answers({"method": "exit"})) == []
    assert server.exit_code == 0


FILE = """\
set GOOD = good | nice | fine
set D = very
template "A {D?} {GOOD.cap} 😀 film."
  label: positive
_ -> $1.typo(25%)
  rate: 25%
  seed: 7
"""


def _asked(server: LanguageServer, method: str, line: int, character: int) -> Any:
    place = {"line": line, "character": character}
    message = {"id": 3, "method": f"textDocument/{method}",
               "params": {"textDocument": {"uri": URI}, "position": place}}  # fmt: skip
    [answer] = server.answers(message)
    return answer["result"]


@pytest.mark.parametrize(
    ("line", "character", "told"),
    [
        (
            2,
            1,
            "6 sentences, positive\n\n- A Good 😀 film.\n- A Nice 😀 film.\n- A Fine 😀 film.\n- …",
        ),
        (2, 31, "6 sentences"),
        (2, 13, "`D` = very"),
        (2, 20, "`GOOD` = good | nice | fine"),
        (2, 23, "`.cap`: with a capital"),
        (4, 8, "`.typo`: a slip of typing, drawn"),
        (5, 3, "`rate`: the share of its instances"),
        (6, 2, "`seed`: added to the seed of the run"),
        (4, 0, None),
        (40, 0, None),
    ],
)
def test_a_place_is_explained(line: int, character: int, told: str | None) -> None:
    server = _started()
    _open(server, FILE)
    found = _asked(server, "hover", line, character)
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
        ("  ra", {"rate", "label", "why"}),
        ("movie -> film", set()),
    ],
)
def test_what_may_be_written_is_proposed(typed: str, some: set[str]) -> None:
    server = _started()
    _open(server, f"{FILE}{typed}")
    found = _asked(server, "completion", FILE.count("\n"), len(typed))
    labels = {each["label"] for each in found}
    assert some <= labels
    assert bool(some) == bool(labels)
    assert all(each["detail"] for each in found)


def test_sets_of_imported_files_are_proposed(tmp_path: Path) -> None:
    (tmp_path / "words.sear").write_text("set GOOD = good | nice\n", "utf-8")
    server = _started()
    saved = tmp_path / "a.sear"
    saved.write_text("", "utf-8")
    uri = saved.as_uri()
    text = 'import "words.sear" as w\ntemplate "A {w.'
    _open(server, text, uri)
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 15}}
    [answer] = server.answers({"id": 1, "method": "textDocument/completion", "params": place})
    assert [each["label"] for each in answer["result"]] == ["GOOD"]
    assert _asked(server, "completion", 0, 0) == []


@pytest.mark.parametrize(
    ("line", "character", "found"),
    [
        (1, 12, (0, 0)),
        (2, 17, (0, 0)),
        (2, 29, (2, 14)),
        (3, 23, (3, 3)),
        (4, 10, None),
        (9, 0, None),
    ],
)
def test_what_is_named_is_found_where_it_is_defined(
    line: int, character: int, found: tuple[int, int] | None
) -> None:
    server = _started()
    _open(server, 'set GOOD = good | nice\nmovie -> @GOOD\ntemplate "😀 {who:GOOD.cap} {$who}."\n'
          "😀 be:lemma=be ADJ -> $be not ADJ\n_ -> $1.typo\nthis is -> (broken\n")  # fmt: skip
    told = _asked(server, "definition", line, character)
    if found is None:
        assert told is None
    else:
        place = dict(zip(("line", "character"), found, strict=True))
        assert told == {"uri": URI, "range": {"start": place, "end": place}}


def test_what_is_imported_is_found_in_its_file(tmp_path: Path) -> None:
    words, saved = tmp_path / "words.sear", tmp_path / "a.sear"
    words.write_text("# of films\nset GOOD = good | nice\n", "utf-8")
    saved.write_text("", "utf-8")
    server = _started()
    text = 'import "words.sear" as w\nmovie -> @w.GOOD\n'
    _open(server, text, saved.as_uri())
    for line, character, found in ((1, 13, 1), (0, 10, 0)):
        place = {"line": line, "character": character}
        asked = {"textDocument": {"uri": saved.as_uri()}, "position": place}
        message = {"id": 1, "method": "textDocument/definition", "params": asked}
        [answer] = server.answers(message)
        assert answer["result"]["uri"] == words.as_uri()
        assert answer["result"]["range"]["start"] == {"line": found, "character": 0}


def test_every_function_and_key_is_explained() -> None:
    assert set(meanings.FUNCTIONS) == set(FUNCTIONS)
    assert set(meanings.METADATA) == set(KEYS)


JSON = st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=5)


@given(st.lists(JSON, max_size=4))
def test_what_is_written_is_read(messages: list[dict[str, Any]]) -> None:
    stream = BytesIO()
    for message in messages:
        write_message(stream, message)
    stream.seek(0)
    assert [read_message(stream) for _ in messages] == messages
    assert read_message(stream) is None


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"Content-Type: x\r\n\r\n{}", "does not say Content-Length"),
        (b"Content-Length: many\r\n\r\n{}", "Content-Length is 'many'"),
        (b"Content-Length: 99999999999\r\n\r\n{}", "Content-Length is"),
        (b"Content-Length: 9\r\n\r\n{}", "9 bytes were announced, 2 came"),
        (b"Content-Length: 2\r\n\r\n{]", "no JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "no object"),
        (b"Content-Length: 2", "inside of a header"),
    ],
)
def test_what_is_no_message_is_refused(sent: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_message(BytesIO(sent))


ODD: list[object] = [None, 1, "text", [], {}, [{}], {"textDocument": None}, {"textDocument": []},
                     {"textDocument": {"uri": 1, "text": "a -> b"}}, {"textDocument": {"uri": URI}},
                     {"textDocument": {"uri": URI, "text": ["a -> b"]}},
                     {"textDocument": {"uri": URI}, "contentChanges": None},
                     {"textDocument": {"uri": URI}, "contentChanges": {"text": "a -> b"}},
                     {"textDocument": {"uri": URI}, "contentChanges": [None]},
                     {"textDocument": {"uri": URI}, "contentChanges": ["a -> b"]},
                     {"textDocument": {"uri": URI}, "contentChanges": [{"text": 1}]},
                     {"textDocument": {"uri": URI},
                      "contentChanges": [{"range": {}, "text": "NUON"}]}]  # fmt: skip


@pytest.mark.parametrize("params", ODD, ids=str)
@pytest.mark.parametrize("method", ["didOpen", "didChange"])
def test_a_message_that_makes_no_sense_is_told_and_the_talk_goes_on(
    params: object, method: str
) -> None:
    server = _started()
    _open(server, "NUON -> it")
    odd = list(server.answers({"method": f"textDocument/{method}", "params": params}))
    assert [each["method"] for each in odd] == ["window/logMessage"]
    assert f"this textDocument/{method} makes no sense to sears: " in odd[0]["params"]["message"]
    assert _shown(_open(server, "NUON -> it"))


@pytest.mark.parametrize("params", [None, 1, [], {"textDocument": {"uri": 5}}], ids=str)
def test_a_request_that_makes_no_sense_is_answered(params: object) -> None:
    server = _started()
    message = {"id": 7, "method": "textDocument/formatting", "params": params}
    [answer] = server.answers(message)
    assert (answer["id"], answer["error"]["code"]) == (7, -32602)
    assert "textDocument.uri is no text" in answer["error"]["message"]


def test_no_changes_are_no_news() -> None:
    server = _started()
    change = {"textDocument": {"uri": URI}, "contentChanges": []}
    assert list(server.answers({"method": "textDocument/didChange", "params": change})) == []


@pytest.mark.parametrize("uri", ["file://[", "untitled:1", "", "file:///a%00b.sear", "\x00"])
def test_any_address_will_do(uri: str) -> None:
    assert _shown(_open(_started(), "NUON -> it", uri))


def test_a_failure_of_ours_is_called_so_and_the_talk_goes_on() -> None:
    def find(text: str, path: str) -> Iterator[list[Diagnostic]]:
        if text == "bad":
            raise TypeError("a defect")
        yield []

    server = _started(find)
    [logged] = _open(server, "bad")
    assert logged["params"]["type"] == 1
    assert "sears failed at textDocument/didOpen, which is its own mistake" in str(logged)
    assert "TypeError: a defect" in logged["params"]["message"]
    assert _shown(_open(server, "good")) == []


def test_the_server_goes_on_after_odd_messages() -> None:
    stream = BytesIO()
    write_message(stream, {"id": 1, "method": "initialize"})
    for body in (b"{]", b"[]", b"null", b"[" * 100_000, b"\xff"):
        stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    write_message(stream, {"method": "textDocument/didOpen", "params": {"textDocument": {}}})
    write_message(stream, {"method": "textDocument/didChange", "params": {}})
    write_message(stream, {"id": [2], "method": "shutdown", "params": "now"})
    write_message(stream, {"method": "exit"})
    stream.seek(0)
    told = BytesIO()
    assert serve(stream, told) == 0
    told.seek(0)
    answers = [read_message(told) for _ in range(9)]
    assert read_message(told) is None
    assert [(each or {}).get("error", {}).get("code") for each in answers] == [
        None, *[-32700] * 5, None, None, None,
    ]  # fmt: skip
    assert answers[-1] == {"jsonrpc": "2.0", "id": [2], "result": None}


def test_an_editor_that_goes_away_ends_the_server() -> None:
    assert serve(BytesIO(), BytesIO()) == 1


def test_the_command_speaks_over_its_pipes() -> None:
    sent = BytesIO()
    document = {"uri": URI, "text": "NUON -> it"}
    for message in (
        {"id": 1, "method": "initialize", "params": {}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ):
        write_message(sent, message)
    code = "from sears_dsl.cli.rules.lsp import lsp_command; lsp_command()"
    done = subprocess.run(
        [sys.executable, "-c", code], input=sent.getvalue(), capture_output=True, check=True
    )
    received = BytesIO(done.stdout)
    answers = [read_message(received) for _ in range(3)]
    assert read_message(received) is None
    assert answers[1] is not None
    assert answers[1]["params"]["diagnostics"][0]["code"] == "E201"
