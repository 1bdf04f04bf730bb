"""A stand-in for a language model: speaks the protocol of chat completions on this machine.

``answer`` says what to reply to the n-th request: a text, which becomes a proper answer; or a whole
`Reply`, with which it may be ill-behaved in any way.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What goes over the wire; a document that is not text is written as JSON.

    It comes after ``seconds``, and where it ``drips``, with so many between any two bytes.
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


class ChatEndpoint:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answer: Callable[[int, str], str | Reply] = lambda number, prompt: "positive"
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body)
                endpoint.headers.append(dict(self.headers.items()))
                endpoint.paths.append(self.path)
                given = endpoint.answer(len(endpoint.requests), body["messages"][-1]["content"])
                reply = Reply(completion(given)) if isinstance(given, str) else given
                time.sleep(reply.seconds)
                if reply.hangs_up:
                    self.close_connection = True
                    return
                document = reply.document
                sent = (document if isinstance(document, str) else json.dumps(document)).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.kind)
                self.send_header("Content-Length", str(len(sent)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                size = 1 if reply.drips else max(1, len(sent))
                with suppress(OSError):  # the client has gone
                    for start in range(0, len(sent), size):
                        self.wfile.write(sent[start : start + size])
                        time.sleep(reply.drips)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

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
    endpoint = ChatEndpoint()
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()
