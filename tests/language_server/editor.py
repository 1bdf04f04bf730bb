"""An editor that sends one message after another and reads what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from sears_dsl.language_server.server import RuleServer, serve

Message = dict[str, Any]
URI = "file:///rules/a.sear"


class Wire(BytesIO):
    """Bytes that can be read after the server has closed its end."""

    def close(self) -> None:
        """Stay open."""


def framed(message: Message) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def read(stream: BytesIO) -> Iterator[Message]:
    while header := stream.readline():
        length = int(header.split(b":")[1])
        while stream.readline().strip():
            pass  # the kind of content
        yield json.loads(stream.read(length))


class Editor:
    """One conversation about a file, in which the server is started unless `start` says no."""

    def __init__(
        self, server: RuleServer | None = None, *, uri: str = URI, start: bool = True
    ) -> None:
        self.server = server or RuleServer()
        self.uri = uri
        self.exit_code: int | None = None
        if start:
            [self.about] = self.ask("initialize", {"capabilities": {}})

    def sends(self, data: bytes) -> list[Message]:
        told = Wire()
        self.exit_code = serve(BytesIO(data), told, server=self.server)
        return list(read(BytesIO(told.getvalue())))

    def tell(self, method: str, params: Any = None) -> list[Message]:
        return self.sends(framed({"method": method, "params": params}))

    def ask(self, method: str, params: Any = None, *, identity: int = 3) -> list[Message]:
        return self.sends(framed({"id": identity, "method": method, "params": params}))

    def open(self, text: str, uri: str | None = None) -> list[Message]:
        document = {
            "uri": self.uri if uri is None else uri,
            "text": text,
            "languageId": "sears",
            "version": 1,
        }
        return self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, text: str) -> list[Message]:
        document = {"uri": self.uri, "version": 2}
        changes = [{"text": text}]
        return self.tell(
            "textDocument/didChange", {"textDocument": document, "contentChanges": changes}
        )

    def answer(self, method: str, line: int = 0, column: int = 0, **more: Any) -> Any:
        """The result at a place, or the error."""
        place = {"line": line, "character": column}
        params = {"textDocument": {"uri": self.uri}, "position": place, **more}
        [told] = self.ask(f"textDocument/{method}", params)
        return told["error"] if "error" in told else told["result"]
