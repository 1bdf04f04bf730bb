"""The models of a project file: several that answer together, and how each is asked."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import Result
from command_line import run

from sears_dsl.errors import UsageError
from sears_dsl.project.consent import what_it_does
from sears_dsl.project.fields import Model

CRITIC = """\
def predict(texts):
    return ["no" if "film" in text else "yes" for text in texts]

second = third = predict
"""
_TOGETHER = ("every:{},{}", "vote:{},{},{}", "every:a={},b={}")


class _Marking:
    """A model that leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with rows, rules and a module, as the current folder."""
    project = tmp_path / "project"
    for name in (".git", "rules", "sub"):
        (project / name).mkdir(parents=True)
    (project / "rules" / "film.sear").write_text("rule film: movie -> film\n", "utf-8")
    (project / "critic.py").write_text(CRITIC, "utf-8")
    (project / "dev.csv").write_text("text,gold\nA movie.,yes\nA boat.,yes\n", "utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "critic", raising=False)
    return project


def write(folder: Path, models: str) -> None:
    rest = '[datasets.dev]\nfile = "dev.csv"\nlabel = "gold"\n[rulesets]\nown = "rules"\n'
    (folder / "sears.toml").write_text(f"[models]\n{models}\n{rest}", "utf-8")


def audit(*arguments: str) -> Result:
    return run("audit", "--scorer", "none", "--tagger", "pinned", "--quiet", *arguments)


def refusal(result: Result) -> UsageError:
    assert isinstance(result.exception, UsageError), result.exception
    return result.exception


@pytest.mark.parametrize("together", _TOGETHER)
def test_pickles_of_models_that_answer_together_are_those_beside_the_project_file(
    folder: Path, together: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's pickle of that name in the current folder does not run."""
    spec = together.format(*(f"sklearn:{name}.pkl" for name in "mno"))
    write(folder, f'both = "{spec}"')
    for place in (folder, folder / "sub"):
        for name in "mno":
            mark = place / f"{name}-ran"
            (place / f"{name}.pkl").write_bytes(pickle.dumps(_Marking(mark)))
    assert run("trust").exception is None
    monkeypatch.chdir(folder / "sub")
    audit()
    assert (folder / "m-ran").exists()
    assert not [*(folder / "sub").glob("*-ran")]


@pytest.mark.parametrize("together", _TOGETHER)
def test_modules_of_models_that_answer_together_are_found_beside_the_project_file(
    folder: Path, together: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = together.format("critic:predict", "critic:second", "critic:third")
    write(folder, f'several = "{spec}"')
    assert run("trust").exception is None
    monkeypatch.chdir(folder / "sub")
    audit()
    assert (folder / "sub" / "audit" / "audit.json").is_file()


@pytest.mark.parametrize("together", _TOGETHER)
def test_models_that_answer_together_write_nothing_outside_of_its_folder(
    folder: Path, together: str
) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    spec = together.format("file:p.jsonl", "file:../outside/o.jsonl", "file:q.jsonl")
    write(folder, f'v = "{spec}"')
    assert "outputs only in its own folder" in refusal(audit()).message
    assert not [*outside.iterdir()]


def test_rows_are_sent_to_an_encrypted_address_too() -> None:
    address = "https://example.org/ask"
    model = Model(spec=address, request_map="map.toml")
    assert what_it_does(model) == f"sends rows to {address} with the request map map.toml"


def test_what_models_do_that_answer_together_is_said_of_each() -> None:
    model = Model(spec="every:a=sklearn:m.pkl,b=file:p.csv,c=llm:chat.toml")
    assert what_it_does(model) == (
        "unpickles m.pkl, which runs any code that its author put there, "
        "sends rows to the address in chat.toml"
    )


@pytest.mark.parametrize("together", ["{}", "every:a={},b=critic:predict"])
def test_another_file_of_settings_has_to_be_agreed_to(folder: Path, together: str) -> None:
    (folder / "chat.toml").write_text('address = "http://localhost:1"\n', "utf-8")
    write(folder, f'chat = "{together.format("llm:chat.toml")}"')
    assert run("trust").exception is None
    assert "consent" not in str(audit().exception)
    (folder / "chat.toml").write_text('address = "http://elsewhere:1"\n', "utf-8")
    assert "that needs your consent" in refusal(audit()).message


def test_text_that_moves_to_another_file_of_settings_has_to_be_agreed_to(folder: Path) -> None:
    (folder / "a.toml").write_text('address = "http://localhost:1"\n', "utf-8")
    (folder / "b.toml").write_text('model = "m"\n', "utf-8")
    write(folder, 'chat = "every:llm:a.toml,llm:b.toml"')
    assert run("trust").exception is None
    assert "consent" not in str(audit().exception)
    (folder / "a.toml").write_text('address = "http://localhost:1"\nmodel = "m"\n', "utf-8")
    (folder / "b.toml").write_text("", "utf-8")
    assert "that needs your consent" in refusal(audit()).message


@pytest.mark.skipif(os.name == "nt", reason="rights of POSIX")
def test_nobody_else_can_agree(folder: Path) -> None:
    write(folder, 'main = "critic:predict"')
    before = os.umask(0)
    try:
        assert run("trust").exception is None
    finally:
        os.umask(before)
    [mark] = (folder.parent / "home").rglob("agreed/*")
    assert [path.stat().st_mode & 0o77 for path in (mark.parent, mark)] == [0, 0]


@pytest.mark.parametrize("field", ["request_map", "response_map"])
def test_a_map_that_is_missing_beside_the_project_file_is_not_taken_from_elsewhere(
    folder: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may send values of the environment, and nobody agreed to that one."""
    write(folder, f'remote = {{spec = "http://localhost:1/ask", {field} = "gone.json"}}')
    assert run("trust").exception is None
    (folder / "sub" / "gone.json").write_text('{"body": "$texts"}', "utf-8")
    monkeypatch.chdir(folder / "sub")
    error = refusal(audit())
    assert f"models.remote.{field} is 'gone.json', but there is no such file" in error.message


def test_a_folder_of_weights_is_not_taken_from_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, 'main = "hf:weights"')
    (folder / "sub" / "weights").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert "models.main.spec is 'weights', but there is no such file" in refusal(audit()).message


# ---------------------------------------------------------------- how each is asked


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[Any]]]:
    """An address that answers ``yes``, and the requests that came to it."""
    requests: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            [texts] = requests[-1].values()
            body = json.dumps({"labels": ["yes"] * len(texts)}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/ask", requests
    server.shutdown()
    server.server_close()


def test_several_models_are_each_asked_as_the_file_says(
    folder: Path, endpoint: tuple[str, list[Any]]
) -> None:
    address, requests = endpoint
    (folder / "map.json").write_text('{"body": {"mine": "$texts"}}', "utf-8")
    labels = 'response_map = "/labels/*"'
    inline = """request_map = '{"body": {"b": "$texts"}}'"""
    models = ['critic = "critic:predict"']
    models += ["[models.one]", f'spec = "{address}?1"', 'request_map = "map.json"', labels]
    models += ["batch_size = 1", "[models.two]", f'spec = "{address}?2"', inline, labels]
    write(folder, "\n".join(models))
    assert run("trust").exception is None
    done = audit("--model", "one", "--model", "two", "--model", "critic")
    assert not isinstance(done.exception, UsageError), done.exception
    assert {*map(str, map(list, requests))} == {"['mine']", "['b']"}
    assert {len(each["mine"]) for each in requests if "mine" in each} == {1}
    done = audit("--model", "one", "--model", "critic", "--response-map", "/no")
    assert "/no" in str(done.exception), "the command line wins"


def test_one_model_that_is_to_be_asked_in_two_ways_is_refused(folder: Path) -> None:
    write(folder, 'one = {spec = "critic:predict", batch_size = 1}\ntwo = "critic:predict"')
    assert run("trust").exception is None
    for second in ("two", "b=critic:predict"):
        error = refusal(audit("--model", "one", "--model", second))
        assert "two of the models are critic:predict" in error.message
