"""Endpoints on this machine: of any kind, and one that speaks the protocol of chat completions.

A `Reply` may be ill-behaved in any way.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What goes over the wire; a document that is neither text nor bytes is written as JSON.

    Bytes are all that is sent, without a head. A reply comes after ``seconds``, and where it
    ``drips``, with so many between any two bytes.
    """

    document: Any
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    drips: float = 0.0
    hangs_up: bool = False


def completion(text: Any, *, model: str = "small", **changes: Any) -> dict[str, Any]:
    """A proper answer, which counts twenty tokens of input and two of output."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}
    return {"model": model, "choices": [choice], "usage": usage, **changes}


class Endpoint:
    """A server in a thread; ``reply`` says what to send to the n-th request about a JSON body."""

    def __init__(self, reply: Callable[[int, Any], Reply]) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.headers.append(dict(self.headers.items()))
                endpoint.paths.append(self.path)
                sent = reply(len(endpoint.requests), body)
                time.sleep(sent.seconds)
                self.close_connection |= sent.hangs_up or isinstance(sent.document, bytes)
                if not sent.hangs_up:
                    with suppress(OSError):  # the client has gone
                        self.send(sent)

            def send(self, sent: Reply) -> None:
                document = sent.document
                if isinstance(document, bytes):
                    self.wfile.write(document)
                    return
                content = (document if isinstance(document, str) else json.dumps(document)).encode()
                self.send_response(sent.status)
                self.send_header("Content-Type", sent.kind)
                self.send_header("Content-Length", str(len(content)))
                for name, value in sent.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                size = 1 if sent.drips else max(1, len(content))
                for start in range(0, len(content), size):
                    self.wfile.write(content[start : start + size])
                    time.sleep(sent.drips)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class ChatEndpoint(Endpoint):
    """A stand-in for a language model; ``answer`` gives the text of a proper answer, or a reply."""

    def __init__(self) -> None:
        self.answer: Callable[[int, str], str | Reply] = lambda number, prompt: "positive"
        super().__init__(self._reply)
        self.address = f"{self.url}/v1"

    def _reply(self, number: int, body: Any) -> Reply:
        given = self.answer(number, body["messages"][-1]["content"])
        return Reply(completion(given)) if isinstance(given, str) else given

    def settings(self, **changes: Any) -> str:
        """Settings of a model that classifies texts as positive or negative, as JSON."""
        given = {
            "address": self.address,
            "model": "small",
            "prompt": "Positive or negative? One word.\n\n$text",
            "labels": ["positive", "negative"],
            **changes,
        }
        return json.dumps({name: value for name, value in given.items() if value is not None})

    def file(self, folder: Path, **changes: Any) -> str:
        """A file with these settings."""
        (folder / "chat.json").write_text(self.settings(**changes))
        return str(folder / "chat.json")


@contextmanager
def chat_endpoint() -> Iterator[ChatEndpoint]:
    with closing(ChatEndpoint()) as endpoint:
        yield endpoint
