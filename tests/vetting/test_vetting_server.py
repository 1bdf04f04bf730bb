"""The server: who may talk to it, what it refuses, and that no decision counts twice."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import pytest
from free_port import free_port

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.vetting.journal import Journal, read_journal
from sears_dsl.vetting.review.rule_session import RuleSession
from sears_dsl.vetting.review.workbench import Workbench
from sears_dsl.vetting.web import serving
from sears_dsl.vetting.web.routes import application
from sears_dsl.vetting.web.security import BODY_LIMIT, hosts_of
from sears_dsl.vetting.web.serving import DEFAULT_PORT, LOOPBACK, listen

ANA = "ana-token"
TOKENS = {ANA: "ana", "ben-token": "ben"}


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Place(NamedTuple):
    port: int
    folder: Path
    sessions: dict[str, RuleSession]

    def request(
        self,
        method: str,
        path: str,
        content: object = None,
        *,
        headers: dict[str, str] | None = None,
        body: Any = None,
    ) -> Reply:
        given = {"Content-Type": "application/json"} if content is not None else {}
        payload = json.dumps(content) if content is not None else body
        with closing(HTTPConnection(LOOPBACK, self.port, timeout=300)) as connection:
            connection.request(method, path, body=payload, headers=given | (headers or {}))
            with connection.getresponse() as response:
                return Reply(response.status, dict(response.getheaders()), response.read())

    def get(self, path: str, token: str = ANA, **headers: str) -> Reply:
        return self.request("GET", f"/{token}/{path}", headers=headers)

    def post(self, path: str, content: object, token: str = ANA) -> Reply:
        return self.request("POST", f"/{token}/{path}", content)


@contextmanager
def served(bench: Workbench, folder: Path) -> Iterator[Place]:
    listening, _ = listen()
    port = listening.getsockname()[1]
    with ExitStack() as opened:
        opened.enter_context(listening)
        sessions = {
            name: RuleSession(
                bench,
                opened.enter_context(
                    Journal(folder / f"{name}.jsonl", ruleset=bench.ruleset, reviewer=name)
                ),
            )
            for name in TOKENS.values()
        }
        app = application(
            sessions, tokens=TOKENS, hosts=hosts_of(LOOPBACK, port), write=lambda: "written"
        )
        opened.enter_context(serving.serve_in_background(app, listening))
        yield Place(port, folder, sessions)


@pytest.fixture
def place(bench: Workbench, tmp_path: Path) -> Iterator[Place]:
    with served(bench, tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def undecided(
    tmp_path_factory: pytest.TempPathFactory, workbench_of: Callable[..., Workbench]
) -> Iterator[Place]:
    """A place for tests that decide nothing."""
    with served(workbench_of(parse("good -> fine")), tmp_path_factory.mktemp("place")) as running:
        yield running


def test_the_page_loads_nothing_from_elsewhere_and_is_not_kept(undecided: Place) -> None:
    reply = undecided.get("")
    assert reply.status == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"
    page = reply.body.decode()
    assert "http:" not in page
    assert "https:" not in page
    assert "style=" not in page
    assert "onclick" not in page
    for name in ("vetting.css", "main.js", "judge.js", "icon.svg"):
        assert undecided.get(name).status == 200


def test_the_address_without_its_last_slash_leads_to_the_page(undecided: Place) -> None:
    reply = undecided.request("GET", f"/{ANA}")
    assert reply.status == 307
    # Also behind a proxy that serves the page under a longer path.
    for before in ("", "/proxy/8765"):
        address = urljoin(f"http://a.org{before}/{ANA}", reply.headers["location"])
        assert address == f"http://a.org{before}/{ANA}/"
    assert undecided.request("GET", "/ana-toke").status == 403


@pytest.mark.parametrize(
    "path",
    ["/", "/api/overview", "/wrong/", "/wrong/api/overview", "/ana-toke/", "/ana-tokenx/",
     "//ana-token/", "/%61na-token\x7f/"],
)  # fmt: skip
def test_nothing_is_reported_without_the_token(undecided: Place, path: str) -> None:
    reply = undecided.request("GET", path.replace("\x7f", "%7f"))
    assert reply.status == 403
    assert "token" in reply.json["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8765"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    ],
)
def test_other_origins_and_names_are_refused_even_with_the_token(
    undecided: Place, headers: dict[str, str]
) -> None:
    for method, path in (("GET", "/ana-token/api/overview"), ("POST", "/ana-token/api/decide")):
        reply = undecided.request(method, path, {}, headers=headers)
        assert reply.status == 403
    assert undecided.sessions["ana"].state.revision == 0


def test_the_own_origin_is_let_in(undecided: Place) -> None:
    for name in (LOOPBACK, "localhost"):
        host = f"{name}:{undecided.port}"
        reply = undecided.get("api/overview", Origin=f"http://{host}", Host=host)
        assert reply.status == 200


def test_the_usual_port_may_be_left_out_and_no_other() -> None:
    """Browsers and curl do not send it."""
    assert {LOOPBACK, "localhost", f"{LOOPBACK}:80"} <= hosts_of(LOOPBACK, 80)
    assert hosts_of(LOOPBACK, 8765) == {f"{LOOPBACK}:8765", "localhost:8765"}


@pytest.mark.parametrize(
    "path",
    ["../journal.py", "..%2f..%2ferrors.py", "%2e%2e/%2e%2e/pyproject.toml", "/etc/passwd",
     "pages/index.html", "index.html/../../security.py", "main.js%00"],
)  # fmt: skip
def test_no_path_leads_outside(undecided: Place, path: str) -> None:
    assert undecided.get(path).status in (403, 404)


@pytest.mark.parametrize("asks", ["", "Expect: 100-continue\r\n"])
def test_an_upload_of_a_hundred_megabytes_is_refused_unread(undecided: Place, asks: str) -> None:
    head = (
        f"POST /ana-token/api/decide HTTP/1.1\r\nHost: {LOOPBACK}:{undecided.port}\r\n{asks}"
        "Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n"
    )
    with socket.create_connection((LOOPBACK, undecided.port), timeout=10) as connection:
        connection.sendall(head.encode() + (b"" if asks else b"x" * 1024))
        connection.settimeout(5 if asks else 30)
        assert b"".join(iter(lambda: connection.recv(1024), b"")).startswith(b"HTTP/1.1 413 ")


def test_who_sends_a_hundred_megabytes_reads_the_refusal(undecided: Place) -> None:
    """Most clients send everything before they read."""
    reply = undecided.request(
        "POST",
        "/ana-token/api/decide",
        body=b" " * 104_857_600,
        headers={"Content-Type": "application/json"},
    )
    assert reply.status == 413
    assert "64 KiB" in reply.json["error"]
    assert undecided.get("api/overview").status == 200


@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 16 * BODY_LIMIT])
def test_a_long_body_without_its_length_is_refused_too(undecided: Place, size: int) -> None:
    chunks = (b" " * 8192 for _ in range(size // 8192 + 1))
    reply = undecided.request(
        "POST", "/ana-token/api/typed", body=chunks, headers={"Content-Type": "application/json"}
    )
    assert reply.status == 413


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"kind=accept", "application/x-www-form-urlencoded"),
        (b'{"kind": "undo"}', "text/plain"),
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b"[" * 30_000, "application/json"),
        (b"\xff\xfe", "application/json"),
        (b'{"kind": "accept", "revision": "0"}', "application/json"),
        (b'{"kind": ["accept"], "revision": 0}', "application/json"),
    ],
)
def test_what_is_no_decision_is_refused(undecided: Place, body: bytes, kind: str) -> None:
    reply = undecided.request(
        "POST", "/ana-token/api/decide", body=body, headers={"Content-Type": kind}
    )
    assert reply.status == 400
    assert undecided.sessions["ana"].state.revision == 0


def test_a_note_that_no_ruleset_could_hold_is_refused_as_it_comes(undecided: Place) -> None:
    rule = undecided.get("api/overview").json["judge"]["next"]
    content = {"kind": "reject", "rule": rule, "revision": 0, "note": "a" * 60_000}
    reply = undecided.post("api/decide", content)
    assert reply.status == 400
    assert "the note has 60,000 characters" in reply.body.decode()
    assert undecided.sessions["ana"].state.revision == 0


def test_two_tabs_decide_each_thing_once(place: Place) -> None:
    """Sixteen windows accept and reject the same rule at the same moment; one succeeds."""
    rule = place.get("api/overview").json["judge"]["next"]

    def click(number: int) -> int:
        content = {"rule": rule, "revision": 0, "reason": "other"}
        kind = "accept" if number % 2 else "reject"
        return place.post("api/decide", {"kind": kind, **content}).status

    with ThreadPoolExecutor(16) as windows:
        statuses = sorted(windows.map(click, range(16)))
    assert statuses == [200] + [409] * 15
    assert [each.number for each in read_journal(place.folder / "ana.jsonl")[1]] == [1]


def test_two_reviewers_at_once_have_a_journal_each(place: Place) -> None:
    def work(token: str) -> list[int]:
        found = []
        for revision in range(10):
            overview = place.get("api/overview", token).json
            rule = overview["judge"]["items"][revision % 5]["id"]
            content = {"kind": "skip", "rule": rule, "revision": revision}
            found.append(place.post("api/decide", content, token).status)
        return found

    with ThreadPoolExecutor(2) as both:
        assert list(both.map(work, TOKENS)) == [[200] * 10] * 2
    for name in TOKENS.values():
        header, entries = read_journal(place.folder / f"{name}.jsonl")
        assert header.reviewer == name
        assert [each.number for each in entries] == list(range(1, 11))


def test_a_typed_import_opens_no_file(undecided: Place) -> None:
    secret = undecided.folder / "secret.txt"
    secret.write_text("\n" * 9 + "the hidden word\n", "utf-8")
    for text in (f'import "{secret}" as s', "option case = exact", "set A = b | c", "ruleset a 1"):
        told = undecided.post("api/typed", {"text": text})
        assert told.json["text"] == ""
        assert "this is not a rule" in told.json["findings"][0]["text"]
        assert b"hidden" not in told.body


def test_questions_are_answered(place: Place) -> None:
    overview = place.get("api/overview").json
    assert overview["reviewer"] == "ana"
    rule = overview["judge"]["next"]
    assert place.get(f"api/rule?id={rule}").json["text"] == "good -> fine"
    found = place.get(f"api/examples?id={rule}&only=all&first=19&most=5").json
    assert (found["total"], len(found["examples"])) == (20, 1)
    assert place.get("api/rule?id=none").status == 400
    assert place.get(f"api/examples?id={rule}&first=-1").status == 400
    assert place.post("api/typed", {"text": "good -> nice"}).json["changed"] == 20
    assert place.post("api/mistakes", {"text": "good -> nice"}).json["summary"]["flips"] == 20
    assert place.post("api/mistakes", {"text": "good NUON -> nice"}).status == 400
    assert place.post("api/write", {}).json == {"written": "written"}
    assert place.request("GET", "/ana-token/api/decide").status == 404


def test_a_row_with_half_a_character_is_judged_as_any_other(
    workbench_of: Callable[..., Workbench], tmp_path: Path
) -> None:
    """JSON may hold one alone; the page shows U+FFFD, as audits do."""
    bench = workbench_of(parse("good -> fine"), [("a \ud800 good movie", "positive")])
    with served(bench, tmp_path) as place:
        rule = place.get("api/overview").json["judge"]["next"]
        [example] = place.get(f"api/examples?id={rule}").json["examples"]
        assert example["original"] == "a \ufffd good movie"
        assert ["same", "a \ufffd "] in example["pieces"]
        marked = {"kind": "pair", "rule": rule, "row": 1, "same": False, "revision": 0}
        assert place.post("api/decide", marked).status == 200
        assert place.get(f"api/rule?id={rule}").json["differing"] == 1


def test_a_model_that_fails_is_reported_and_nothing_is_decided(
    place: Place, model: Any, bench: Workbench
) -> None:
    bench.predictor.predictor = Broken()
    reply = place.post("api/mistakes", {"text": "bad -> poor"})
    assert reply.status == 502
    assert "no such layer" in reply.json["error"]
    rule = place.get("api/overview").json["judge"]["next"]
    decision = {"kind": "edit", "rule": rule, "new": "bad -> poor", "revision": 0}
    assert place.post("api/decide", decision).status == 502
    bench.predictor.predictor = model
    assert place.post("api/mistakes", {"text": "bad -> poor"}).json["complete"]
    assert place.post("api/decide", decision).status == 200


def test_an_undo_that_needs_the_model_asks_it_first(
    place: Place, model: Any, workbench_of: Callable[..., Workbench], ruleset: Ruleset
) -> None:
    """A later sitting never asked about a removed rule, nor about an edit that was replaced."""
    rule = ruleset.rule_ids[0]
    for kind, content in (
        ("save", {"text": "bad -> poor"}),
        ("remove", {"text": "bad -> poor"}),
        ("edit", {"rule": rule, "new": "bad -> dire"}),
        ("accept", {"rule": rule}),
    ):
        revision = place.sessions["ana"].state.revision
        done = place.post("api/decide", {"kind": kind, "revision": revision, **content})
        assert done.status == 200
    later = workbench_of(ruleset, model=model)
    session = place.sessions["ana"] = RuleSession(later, place.sessions["ana"].journal)
    later.predictor.predictor = Broken()
    for task in ("write", "judge"):
        refused = place.post("api/decide", {"kind": "undo", "task": task, "revision": 4})
        assert refused.status == 502
    assert len(session.journal.entries) == 4
    later.predictor.predictor = model
    for revision, task in ((4, "write"), (5, "judge")):
        undo = {"kind": "undo", "task": task, "revision": revision}
        assert place.post("api/decide", undo).status == 200
    assert [each.text for each in session.state.written] == ["bad -> poor"]
    assert session.state.rules[rule].new == "bad -> dire"


class Broken:
    """A model that is no longer available."""

    identity = "sentiment of good"

    def predict(self, rows: object) -> list[str]:
        raise ModelError("no such layer: 12")


def test_a_port_in_use_is_reported_with_the_next_free_one() -> None:
    port = free_port()
    first, _ = listen(port)
    with first, pytest.raises(UsageError, match=f"port {port} is in use") as refused:
        listen(port)
    assert "--port" in refused.value.help
    suggested = int(refused.value.help.rsplit(" ", 1)[1])
    found, remark = listen(suggested)
    found.close()
    assert remark == ""


def test_a_port_that_was_served_just_now_is_free_again() -> None:
    """So after kill -9 the same command with the same --port can continue."""
    port = free_port()
    first, _ = listen(port)
    visitor = socket.create_connection((LOOPBACK, port))
    served, _ = first.accept()
    served.close()  # the server's end goes first, and lingers
    visitor.close()
    first.close()
    again, remark = listen(port)
    again.close()
    assert remark == ""


def test_without_a_wish_the_next_free_port_is_taken_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Parallel tests, and a reviewer on this machine, take and release the usual port.
    usual = free_port()
    assert DEFAULT_PORT == serving.DEFAULT_PORT != usual
    monkeypatch.setattr(serving, "DEFAULT_PORT", usual)
    first, _ = listen()
    second, remark = listen()
    with first, second:
        assert second.getsockname()[1] > usual
        assert f"port {usual} is in use" in remark
        assert second.getsockname()[0] == LOOPBACK
