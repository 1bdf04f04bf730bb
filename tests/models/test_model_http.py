"""Models behind a real local endpoint: maps, failures, time-outs, retries."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import chat_endpoint
import pytest
from chat_endpoint import Reply

from sears_dsl.answers import REFUSED
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.cached import CachedPredictor, PredictionStore
from sears_dsl.models.http.endpoint import HttpPredictor, RequestMap, ResponseMap
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.predictor import row_key

Answer = tuple[int, Any]
ROWS = [{"text": "Good."}, {"text": "Bad."}]
QUESTIONS = [{"question": "Who?", "context": "He did."}, {"question": "What?", "context": "It."}]


class Endpoint(chat_endpoint.Endpoint):
    """``answer`` gives status and document of the reply to the n-th request."""

    def __init__(self) -> None:
        self.answer: Callable[[int, Any], Answer] = self.labels
        self.elsewhere = ""
        super().__init__(self._reply)
        self.url += "/predict"

    def _reply(self, number: int, body: Any) -> Reply:
        status, document = self.answer(number, body)
        headers = {"Location": self.elsewhere} if status in (301, 302, 303, 307, 308) else {}
        return Reply(document, status, headers={"Retry-After": "7"} if status == 429 else headers)

    @staticmethod
    def labels(_: int, body: Any) -> Answer:
        return 200, {"predictions": [text.lower() for text in body["inputs"]]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with closing(Endpoint()) as endpoint:
        yield endpoint


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_rows_go_to_the_named_address_alone(endpoint: Endpoint, status: int) -> None:
    endpoint.elsewhere = endpoint.url.replace("/predict", "/of-strangers")
    endpoint.answer = lambda _, body: (status, "go there")
    with pytest.raises(ModelError, match=f"answered {status}") as caught:
        load_predictor(endpoint.url).predict(ROWS)
    assert "redirects are not followed" in caught.value.help
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "document",
    ["[" * 100_000, "null", "[]", "5", '{"predictions": null}', '{"predictions": {"a": 1}}',
     '{"predictions": "yes"}', '{"predictions": [["yes"], ["no"]]}', '{"predictions": [null, 1]}',
     '{"predictions": [1e400, 0]}', '{"predictions": ["yes"]}', "\x1b]0;title\x07"],
    ids=range(12),
)  # fmt: skip
def test_answers_of_strangers_are_labels_or_an_error(endpoint: Endpoint, document: str) -> None:
    endpoint.answer = lambda _, body: (200, document)
    with pytest.raises(ModelError) as caught:
        load_predictor(endpoint.url).predict(ROWS)
    assert len(caught.value.message) < 1_000
    assert "\x1b" not in caught.value.render()


@pytest.mark.parametrize("given", ["[" * 100_000, "maps.json", "maps.toml"])
def test_maps_that_are_nested_too_deeply_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maps.json").write_text("[" * 100_000, "utf-8")
    (tmp_path / "maps.toml").write_text("a = " + "[" * 100_000, "utf-8")
    for read in (RequestMap.read, ResponseMap.read):
        with pytest.raises(UsageError, match="cannot be read"):
            read(given)


def test_the_default_maps(endpoint: Endpoint) -> None:
    assert load_predictor(endpoint.url).predict(ROWS) == ["good.", "bad."]
    assert endpoint.requests == [{"inputs": ["Good.", "Bad."]}]


def test_several_columns_are_sent_as_objects(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _, body: (200, {"predictions": [len(row) for row in body["inputs"]]})
    assert load_predictor(endpoint.url).predict(QUESTIONS) == ["2", "2"]
    assert endpoint.requests == [{"inputs": QUESTIONS}]


def test_maps_in_files_and_secrets_in_the_environment(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, response = tmp_path / "request.toml", tmp_path / "response.json"
    request.write_text(
        '[headers]\nAuthorization = "$env.DEMO_TOKEN"\n'
        '[body]\nversion = "$$7"\ninstances = { "$each" = { q = "$text" } }\n'
    )
    response.write_text('{"labels": "/a~1b/*/0/label", "names": {"0": "negative", "1": "good"}}')
    endpoint.answer = lambda _, body: (
        200, {"a/b": [[{"label": int("Good" in each["q"])}] for each in body["instances"]]}
    )  # fmt: skip
    monkeypatch.setenv("DEMO_TOKEN", "secret")
    model = load_predictor(
        endpoint.url, request_map=str(request), response_map=str(response), timeout=5.0
    )
    assert model.predict(ROWS) == ["good", "negative"]
    assert endpoint.requests == [{"version": "$7", "instances": [{"q": "Good."}, {"q": "Bad."}]}]
    assert endpoint.headers[0]["Authorization"] == "secret"
    assert "secret" not in model.identity
    monkeypatch.setenv("DEMO_TOKEN", "")
    with pytest.raises(UsageError, match="DEMO_TOKEN, which is empty"):
        load_predictor(endpoint.url, request_map=str(request))
    monkeypatch.delenv("DEMO_TOKEN")
    with pytest.raises(UsageError, match="DEMO_TOKEN, which is not set"):
        load_predictor(endpoint.url, request_map=str(request))


def test_an_endpoint_that_takes_one_row_is_asked_side_by_side_in_order(
    endpoint: Endpoint,
) -> None:
    rows = [{"question": f"{number}?", "context": "Of many."} for number in range(10)]

    def answer(_: int, body: Any) -> Answer:
        time.sleep(0.02 if body["q"] in ("0?", "5?") else 0)
        return 200, {"answer": body["q"]}

    endpoint.answer = answer
    model = load_predictor(
        endpoint.url,
        request_map='{"body": {"q": "$column.question", "c": "$column.context"}}',
        response_map="/answer",
        connections=3,
    )
    assert model.predict(rows) == [row["question"] for row in rows]
    assert len(endpoint.requests) == 10


def test_a_flaky_endpoint_is_asked_again(endpoint: Endpoint, pauses: list[float]) -> None:
    statuses = {1: 500, 2: 429, 3: 503}

    def answer(number: int, body: Any) -> Answer:
        return (statuses[number], "later") if number in statuses else endpoint.labels(0, body)

    endpoint.answer = answer
    model = HttpPredictor(endpoint.url, pause=pauses.append)
    assert model.predict(ROWS) == ["good.", "bad."]
    assert len(pauses) == 3
    assert pauses[1] == 7.0  # what Retry-After asked for
    assert 0.3 < pauses[0] < 0.7
    assert 1.4 < pauses[2] < 2.6
    assert model.remarks == [
        "requests repeated: 3, because it answered 500 Internal Server Error (1), it answered 429 "
        "Too Many Requests (1), it answered 503 Service Unavailable (1)"
    ]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_once_more(
    endpoint: Endpoint, pauses: list[float], status: int
) -> None:
    endpoint.answer = lambda number, body: (
        (status, "later") if number == 1 else endpoint.labels(0, body)
    )
    assert HttpPredictor(endpoint.url, pause=pauses.append).predict(ROWS) == ["good.", "bad."]
    assert len(pauses) == 1


def test_no_pause_is_much_longer_than_half_a_minute(
    endpoint: Endpoint, pauses: list[float]
) -> None:
    endpoint.answer = lambda *_: (500, "never")
    for row in ROWS:
        with pytest.raises(ModelError, match=r"asked 9 times"):
            HttpPredictor(endpoint.url, retries=8, pause=pauses.append).predict([row])
    assert 22.5 <= max(pauses) <= 37.5
    assert not set(pauses[:8]) & set(pauses[8:]), "not all rows come again at once"


def test_the_pauses_are_the_same_in_every_run(endpoint: Endpoint, pauses: list[float]) -> None:
    endpoint.answer = lambda *_: (500, "never")
    for _ in range(2):
        with pytest.raises(ModelError, match=r"answered 500 .*'never' \(asked 3 times\)"):
            HttpPredictor(endpoint.url, retries=2, pause=pauses.append).predict(ROWS)
    assert len(pauses) == 4
    assert pauses[:2] == pauses[2:]
    assert pauses[0] != pauses[1] / 2


@pytest.mark.parametrize("status", [401, 403])
def test_where_a_key_is_wanted_it_is_said_how_it_is_given(
    endpoint: Endpoint, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The map in the advice works unchanged."""

    def answer(number: int, body: Any) -> Answer:
        may = endpoint.headers[-1].get("Authorization") == "Bearer of news"
        return endpoint.labels(number, body) if may else (status, "no")

    def asked_with(request_map: str) -> HttpPredictor:
        return HttpPredictor(endpoint.url, request=RequestMap.read(request_map))

    endpoint.answer = answer
    with pytest.raises(ModelError, match=f"answered {status}") as caught:
        HttpPredictor(endpoint.url).predict(ROWS)
    advised = re.search(r"--request-map '(\{.*\})'", caught.value.help)
    assert advised is not None
    monkeypatch.setenv("TOKEN", "Bearer of lies")
    with pytest.raises(ModelError, match=f"answered {status}") as caught:
        asked_with(advised[1]).predict(ROWS)
    assert "headers of the request map (Authorization) are right" in caught.value.help
    assert "lies" not in caught.value.render()
    monkeypatch.setenv("TOKEN", "Bearer of news")
    assert asked_with(advised[1]).predict(ROWS) == ["good.", "bad."]


def test_a_slow_endpoint_is_given_up(endpoint: Endpoint, pauses: list[float]) -> None:
    def answer(_: int, body: Any) -> Answer:
        time.sleep(0.3)
        return endpoint.labels(0, body)

    endpoint.answer = answer
    model = HttpPredictor(endpoint.url, timeout=0.05, retries=1, pause=pauses.append)
    with pytest.raises(ModelError, match=r"did not answer within 0\.05 seconds \(asked 2 times\)"):
        model.predict(ROWS)
    assert len(pauses) == 1
    assert HttpPredictor(endpoint.url, timeout=5.0).predict(ROWS) == ["good.", "bad."]


def test_an_endpoint_that_is_not_there(endpoint: Endpoint, pauses: list[float]) -> None:
    endpoint.close()
    with pytest.raises(ModelError, match="could not be reached"):
        HttpPredictor(endpoint.url, retries=1, pause=pauses.append).predict(ROWS)
    assert len(pauses) == 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((200, {"predictions": ["pos"]}), "asked for 2 predictions and returned 1"),
        ((200, {"predictions": "pos"}), "one string, 'pos', for 2 rows"),
        ((200, {"predictions": [0.2, 0.9]}), "0.2 (float) as the label of 'Good.'"),
        ((200, {"labels": ["a", "b"]}), 'nothing at /predictions: there is no \'predictions\''),
        ((200, "<html>"), "did not answer with JSON: '<html>'"),
        ((404, "no such page"), "answered 404 Not Found: 'no such page'"),
        ((404, "no such page"), "check the path"),
        ((200, [[{"label": "pos"}]] * 2), "/*/0/label if each row has a list of them"),
        ((301, "moved"), "answered 301"),
    ],
)  # fmt: skip
def test_answers_that_are_no_labels(
    endpoint: Endpoint, pauses: list[float], answer: Answer, told: str
) -> None:
    endpoint.answer = lambda *_: answer
    with pytest.raises(ModelError) as failure:
        HttpPredictor(endpoint.url, pause=pauses.append).predict(ROWS)
    assert told in str(failure.value)
    assert not pauses


def row_by_row(endpoint: Endpoint, **options: Any) -> CachedPredictor:
    return load_predictor(
        endpoint.url, request_map='{"body": {"t": "$text"}}', response_map="/label", **options
    )


def test_a_refused_text_ends_a_run_that_does_not_skip(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _, body: (400, f"bad {body['t']}")
    with pytest.raises(ModelError, match=r"answered 400 Bad Request: 'bad \w+\.'") as failure:
        row_by_row(endpoint).predict(ROWS)
    assert "asked about '" in failure.value.message
    endpoint.answer = lambda *_: (400, "bad")
    with pytest.raises(ModelError, match=r"asked about 'Good\.' and 1 more"):
        load_predictor(endpoint.url).predict(ROWS)
    assert "--on-error skip leaves them out" in failure.value.help


@pytest.mark.parametrize(("status", "many"), [(400, True), (413, False), (422, True)])
def test_a_refused_text_is_skipped_counted_and_not_kept(
    endpoint: Endpoint, tmp_path: Path, status: int, many: bool
) -> None:
    """Also if it shares a request with others."""
    rows = [{"text": f"text {number}"} for number in range(20)]

    def answer(_: int, body: Any) -> Answer:
        texts = body["inputs"] if many else [body["t"]]
        if {"text 3", "text 11"}.intersection(texts):
            return status, "content filter"
        return 200, {"predictions": texts} if many else {"label": texts[0]}

    endpoint.answer = answer
    path = tmp_path / "p.sqlite3"
    for _ in range(2):
        before = len(endpoint.requests)
        with PredictionStore(path) as store:
            options: dict[str, Any] = {"on_error": "skip", "store": store}
            model = (
                load_predictor(endpoint.url, **options) if many else row_by_row(endpoint, **options)
            )
            labels = model.predict(rows)
            assert [labels[number] for number in (3, 11)] == [REFUSED, REFUSED]
            assert sum(label == REFUSED for label in labels) == 2
            assert model.remarks == ["the model refused 2 texts, left out and not counted as flips"]
    # The second run asks about these two alone.
    assert len(endpoint.requests) - before <= 3


def test_connections_are_used_and_no_request_waits_for_its_neighbours(endpoint: Endpoint) -> None:
    rows = [{"text": str(number)} for number in range(64)]
    together = threading.Barrier(8)
    others_answered = threading.Semaphore(0)

    def answer(_: int, body: Any) -> Answer:
        number = int(body["t"])
        if number < 8:  # the first eight are answered when all of them have been asked
            together.wait(60)
        if number == 0:  # and the first of them after all other rows, which do not wait
            assert all(others_answered.acquire(timeout=60) for _ in rows[1:])
        else:
            others_answered.release()
        return 200, {"label": body["t"]}

    endpoint.answer = answer
    assert row_by_row(endpoint, connections=8).predict(rows) == [row["text"] for row in rows]


def test_a_time_limit_ends_between_requests_and_keeps_what_came(endpoint: Endpoint) -> None:
    def answer(_: int, body: Any) -> Answer:
        return 200, {"label": body["t"]}

    endpoint.answer = answer
    rows = [{"text": str(number)} for number in range(100)]
    model = row_by_row(endpoint, connections=2)
    found = model.predict_in_time(rows, in_time=lambda: len(endpoint.requests) < 10)
    asked = len(endpoint.requests)
    assert 10 <= asked <= 12  # the requests under way when the time was over
    assert sum(label is not None for label in found) == asked
    assert model.predict(rows) == [row["text"] for row in rows]
    assert len(endpoint.requests) == 100


def test_one_failure_keeps_what_other_connections_are_answered(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    def answer(_: int, body: Any) -> Answer:
        if body["t"] == "5":
            return 404, "gone"
        time.sleep(0.02)
        return 200, {"label": body["t"]}

    endpoint.answer = answer
    rows = [{"text": str(number)} for number in range(200)]
    with PredictionStore(tmp_path / "p.sqlite3") as store:
        model = row_by_row(endpoint, connections=4, store=store)
        with pytest.raises(ModelError, match="answered 404"):
            model.predict(rows)
        kept = store.get(model.identity, [row_key(row) for row in rows])
    assert len(kept) == len(endpoint.requests) - 1
    assert len(kept) < 100, "nothing is asked after a failure"


def test_the_identity_tells_endpoints_apart_and_keeps_secrets() -> None:
    def identity(url: str, **maps: Any) -> str:
        return HttpPredictor(url, **maps).identity

    plain = identity("http://a.example/p")
    assert plain.startswith("http://a.example/p (")
    assert plain == identity("http://a.example/p")
    secret = identity("http://user:word@a.example/p?key=hidden")
    assert "word" not in secret
    assert "hidden" not in secret
    maps = [
        {"response": ResponseMap("/x")},
        {"response": ResponseMap(names={"a": "b"})},
        {"response": ResponseMap(confidences="/x")},
        {"request": RequestMap({"q": "$texts"})},
    ]
    others = {identity("http://a.example/p", **each) for each in maps}
    assert len({plain, secret, *others}) == 6


@pytest.mark.parametrize(
    ("request_map", "response_map", "told"),
    [
        ('{"body": {"q": "$tetx"}}', None, "'$tetx', which is not a placeholder"),
        ('{"body": {"q": "text"}}', None, "the body of the request has no placeholder"),
        ('{"body": ["$text", "$texts"]}', None, "for one row with those for all"),
        ('{"body": {"$each": "text film"}}', None, "$each has no placeholder in it"),
        ('{"body": ["$text", [{"$each": {"q": 1}}]]}', None, "$each has no placeholder in it"),
        ('{"body": {"$each": "$foo"}}', None, "'$foo', which is not a placeholder"),
        ('{"body": {"$each": "$text", "b": 1}}', None, "something beside $each: 'b'"),
        ('{"q": "$text"}', None, "the request map has 'q'"),
        ("request", None, "neither JSON nor the name of a .toml or .json file"),
        ("absent.toml", None, "No such file or directory\n  = help: name a file"),
        ("{", None, "the request map cannot be read"),
        ("absent.toml", None, "the request map absent.toml cannot be read"),
        ('{"headers": {"a": 1}}', None, "the headers of a request map have to be strings"),
        ('{"body": "$text"}', "/predictions/*", "each row has a request of its own"),
        (None, "predictions", "the response map cannot be read"),
        (None, "predictions", "or a pointer such as /labels/*"),
        (None, '{"labels": "predictions"}', "'predictions' is not a JSON pointer"),
        (None, '{"labels": 3}', "the pointers and names of a response map"),
    ],
)
def test_maps_that_do_not_fit(request_map: str | None, response_map: str | None, told: str) -> None:
    with pytest.raises(UsageError) as failure:
        load_predictor("http://localhost/p", request_map=request_map, response_map=response_map)
    assert told in str(failure.value)


@pytest.mark.parametrize("url", ["http://", "http:///path", "https://[::1", "http:x"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match=r"is not an? (address|model)"):
        load_predictor(url)


def test_rows_that_do_not_fit_the_map(endpoint: Endpoint) -> None:
    for body, told in (("$texts", "one text per row"), ("$column.title", "but the rows have")):
        model = HttpPredictor(
            endpoint.url, request=RequestMap({"q": body}), response=ResponseMap("/a")
        )
        with pytest.raises(ModelError, match=told):
            model.predict(QUESTIONS)
    assert not endpoint.requests


def test_only_secrets_of_headers_are_hidden(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_TOKEN", "Bearer of-the-environment")
    headers = {
        "X-Task": "positive predictions", "X-Own": "$env.OWN_TOKEN", "X-Api-Key": "of-the-map",
        "Content-Type": "application/json; v=2",
    }  # fmt: skip
    said = ["positive", "of-the-map", "of-the-environment", "of-the"]
    endpoint.answer = lambda _, body: (200, {"predictions": said})
    model = HttpPredictor(endpoint.url, request=RequestMap(headers=headers))
    assert model.predict([{"text": text} for text in "abcd"]) == ["positive", "…", "…", "of-the"]
    assert endpoint.headers[0]["X-Own"] == "Bearer of-the-environment"
    assert endpoint.headers[0]["Content-Type"] == "application/json; v=2"
    load_predictor(endpoint.url).predict([{"text": each} for each in "abcd"])
    assert endpoint.headers[1]["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [("X-Assignment", False), ("X-Keyword", False), ("X-Tokenizer", False), ("X-Author", False),
     ("X-Passage", False), ("X_Session_Id", True), ("X-Auth-Token", True), ("AccessToken", True),
     ("Ocp-Apim-Subscription-Key", True), ("Proxy-Authorization", True), ("apikey", True)],
)  # fmt: skip
def test_a_value_is_a_secret_where_a_whole_part_of_its_name_says_so(
    endpoint: Endpoint, name: str, is_secret: bool
) -> None:
    endpoint.answer = lambda *_: (200, {"predictions": ["positive"]})
    model = HttpPredictor(endpoint.url, request=RequestMap(headers={name: "positive"}))
    assert model.predict([{"text": "a"}]) == ["…" if is_secret else "positive"]


def test_secrets_of_the_environment_are_hidden_whatever_their_length(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_TOKEN", "Bearer pos1\n")
    monkeypatch.setenv("OWN_NUMBER", "12345678")
    monkeypatch.setenv("OWN_OTHER", "12345678-and-more")
    names = {"X-Own": "OWN_TOKEN", "X-Number": "OWN_NUMBER", "X-Other": "OWN_OTHER"}
    headers = {name: f"$env.{variable}" for name, variable in names.items()}
    said = ["Bearer pos1", "key_pos1. 12345678-and-more", "pos12", 12345678]
    endpoint.answer = lambda _, body: (200, {"predictions": said})
    model = HttpPredictor(endpoint.url, request=RequestMap(headers=headers))
    rows = [{"text": text} for text in "abcd"]
    assert model.predict(rows) == ["Bearer …", "key_…. …", "pos12", "…"]
    assert endpoint.headers[0]["X-Own"] == "Bearer pos1", "without the line break at its end"
    endpoint.answer = lambda _, body: (401, "the key pos1 is wrong")
    with pytest.raises(ModelError, match="the key … is wrong") as caught:
        model.predict(rows)
    assert "pos1" not in str(caught.value)
    head = Reply(b"HTTP/1.1 404 No pos1\r\nContent-Length: 2\r\n\r\n{}")
    with closing(chat_endpoint.Endpoint(lambda *_: head)) as raw:
        model = HttpPredictor(raw.url, request=RequestMap(headers=headers))
        with pytest.raises(ModelError, match="answered 404 No …"):
            model.predict(rows)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Authorization", "Bearer sk-top\nsecret", "its value has a line break or a character"),
        ("Authorization", "Bearer sk-töpsecret", "its value has a line break or a character"),
        ("X-É", "sk-topsecret", "no name of a header"),
        ("X A", "sk-topsecret", "no name of a header"),
        ("", "sk-topsecret", "no name of a header"),
        ("content-length", "sk-5", "sears sends one itself"),
        ("Transfer-Encoding", "sk-chunked", "sears sends one itself"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_without_their_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("OWN_TOKEN", value)
    for given in (value, "$env.OWN_TOKEN"):
        with pytest.raises(UsageError, match=said) as caught:
            HttpPredictor("http://localhost:1", request=RequestMap(headers={name: given}))
        assert "sk-" not in str(caught.value)


def said_of(head: str, body: bytes) -> str:
    """What comes of an answer with this head and body: the labels, or the error."""
    sent = Reply(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)
    with closing(chat_endpoint.Endpoint(lambda number, asked: sent)) as raw:
        try:
            return str(load_predictor(raw.url, retries=0).predict(ROWS))
        except ModelError as error:
            return str(error)


def test_answers_in_other_encodings_and_what_is_no_whole_answer() -> None:
    body = b'{"predictions": ["a", "\xc3\xa9"]}'
    marked = b"\xef\xbb\xbf" + body
    labels = "['a', 'é']"
    assert said_of("Content-Type: application/json", marked) == labels
    for codec in ("hex", "idna", "utf-8", "no-such"):
        assert said_of(f"Content-Type: application/json; charset={codec}", body) == labels
    utf16 = body.decode().encode("utf-16")
    assert said_of("Content-Type: application/json; charset=utf-16", utf16) == labels
    assert "cannot be decompressed" in said_of("Content-Encoding: gzip", body)
    assert "gave no whole answer" in said_of("Content-Length: 99", body)
    assert "gave no whole answer" in said_of("Content Length", body)


@pytest.mark.parametrize("said", [["positive", None], ["positive", 1], ["positive", 0.5]])
def test_a_confidence_of_an_endpoint_may_be_missing_or_whole(
    endpoint: Endpoint, said: list[Any]
) -> None:
    endpoint.answer = lambda _, body: (200, {"labels": said[:1], "sure": said[1:]})
    response = ResponseMap("/labels", confidences="/sure")
    (answer,) = HttpPredictor(endpoint.url, response=response).predict_with_confidence(ROWS[:1])
    assert list(answer) == said
    one = RequestMap({"q": "$text"})
    response = ResponseMap("/labels/0", confidences="/sure/0")
    model = HttpPredictor(endpoint.url, request=one, response=response)
    assert [list(each) for each in model.predict_with_confidence(ROWS)] == [said, said]


@pytest.mark.parametrize("sure", ["0.5", True, 1.5, [0.5], {}])
def test_a_confidence_of_an_endpoint_that_is_none_does_not_blame_the_label(
    endpoint: Endpoint, sure: Any
) -> None:
    endpoint.answer = lambda _, body: (200, {"labels": ["positive"], "sure": [sure]})
    model = HttpPredictor(endpoint.url, response=ResponseMap("/labels", confidences="/sure"))
    with pytest.raises(ModelError, match="as its confidence for 'Good"):
        model.predict(ROWS[:1])


def test_each_label_needs_a_confidence(endpoint: Endpoint) -> None:
    endpoint.answer = lambda _, body: (200, {"labels": ["a", "b"], "sure": [0.5]})
    model = HttpPredictor(endpoint.url, response=ResponseMap("/labels", confidences="/sure"))
    with pytest.raises(ModelError, match="did not return a confidence for each label"):
        model.predict(ROWS)


def test_half_a_character_is_sent_as_it_is(endpoint: Endpoint) -> None:
    rows = [{"text": "a \ud800 film"}, {"text": "é"}]
    endpoint.answer = lambda _, body: (200, {"predictions": ["a"] * len(body["inputs"])})
    assert load_predictor(endpoint.url).predict(rows) == ["a", "a"]
    assert endpoint.requests == [{"inputs": ["a \ud800 film", "é"]}]


def test_what_json_cannot_say_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "request.toml"
    for value in ("2020-01-01", "nan", "inf"):
        path.write_text(f'[body]\nq = "$texts"\nday = {value}\n')
        with pytest.raises(UsageError, match="the body of the request cannot be sent as JSON"):
            load_predictor("http://localhost/p", request_map=str(path))


@pytest.mark.parametrize(
    ("comparison", "said", "label"),
    [("set", "a|b", "0|1"), ("set", ["b"], "1"), ("set", [], ""), ("exact", "b", "1"),
     ("entities", [[0, 2, "b"]], '[[0, 2, "1"]]'), ("entities", [], "[]")],
)  # fmt: skip
def test_names_are_those_of_each_label(
    endpoint: Endpoint, comparison: str, said: Any, label: str
) -> None:
    endpoint.answer = lambda _, body: (200, {"predictions": [said]})
    names = '{"names": {"a": "0", "b": "1"}}'
    model = load_predictor(endpoint.url, response_map=names, comparison=comparison)
    assert model.predict(ROWS[:1]) == [label]


@pytest.mark.parametrize(("comparison", "said"), [("set", ["a", "c"]), ("exact", "c")])
def test_a_label_without_a_name_is_reported(endpoint: Endpoint, comparison: str, said: Any) -> None:
    endpoint.answer = lambda _, body: (200, {"predictions": [said]})
    names = '{"names": {"a": "0"}}'
    model = load_predictor(endpoint.url, response_map=names, comparison=comparison)
    with pytest.raises(ModelError, match="has the label 'c', which the response map does not name"):
        model.predict(ROWS[:1])
