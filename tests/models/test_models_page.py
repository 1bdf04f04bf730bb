"""docs/models.md: every example on the page runs, with its files."""

from __future__ import annotations

import doctest
import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from test_model_pipeline import make

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
BLOCK = re.compile(r"^```(?:python|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")


class Endpoints(BaseHTTPRequestHandler):
    """The three endpoints that the page asks."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/predict":
            answer: object = {"predictions": [_label(text) for text in body["inputs"]]}
        elif self.path == "/instances":
            labels = [_label(each["review"]) for each in body["instances"]]
            answer = {"results": [{"label": label} for label in labels]}
        else:
            answer = {"class": int(_label(body["review"]) == "positive")}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


def _label(text: str) -> str:
    return "positive" if "good" in text else "negative"


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoints)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    names = {0: "negative", 1: "positive"}
    make(tmp_path / "my-model", "BertForSequenceClassification", id2label=names)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in ("reviews", "reader", "graded", "readers"):
        sys.modules.pop(name, None)


def test_every_example_of_the_page(folder: Path, address: str) -> None:
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    sessions = []
    for block in blocks:
        named = NAMED.match(block)
        if named:
            (folder / named[1]).write_text(block)
        else:
            sessions.append(block.replace("http://localhost:8000", address))
    assert len(sessions) >= 9
    assert all(session.startswith(">>> ") for session in sessions)
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    told: list[str] = []
    runner.run(test, out=told.append)
    assert not runner.summarize(verbose=False).failed, "".join(told)
