"""The language server: answers an editor's messages about open rule files.

In: messages of the Language Server Protocol. Out: messages; findings as the editor's diagnostics,
the canonical text as an edit. Always holds: a request gets exactly one answer; the server works on
what stands in the editor, never on the file; nothing is written to disk. Costs one parse of the
file for each change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sears_dsl import __version__
from sears_dsl.errors import CompileError, DataError, Diagnostic, RuleSyntaxError, TaggerError
from sears_dsl.language.ruleset import parse
from sears_dsl.language_server.findings import Found, find_all
from sears_dsl.language_server.transport import Message, read_message, write_message

__all__ = ["LanguageServer", "serve"]

_NO_METHOD = -32601
_BAD_REQUEST = -32600
_NOT_STARTED = -32002
_SEVERITY = {"error": 1, "warning": 2}


class LanguageServer:
    """One conversation with an editor.

    Args:
        find: gives the findings of a text and its path, as often as there are more.

    Example:
        >>> server = LanguageServer()
        >>> [answer] = server.answers({"id": 1, "method": "initialize", "params": {}})
        >>> answer["result"]["serverInfo"]["name"]
        'sears'
    """

    def __init__(self, *, find: Callable[[str, str], Iterator[Found]] = find_all) -> None:
        self._find = find
        self._texts: dict[str, str] = {}
        self._started = False
        self._ended = False
        self.exit_code: int | None = None

    def answers(self, message: Message) -> Iterator[Message]:
        """What to send back: the answer to a request, news about a file."""
        method = message.get("method")
        identity = message.get("id")
        if not isinstance(method, str):
            return  # the editor's answer to a question; we ask none
        handler = self._HANDLERS.get(method)
        if method == "exit":
            self.exit_code = 0 if self._ended else 1
        elif identity is None:
            if handler is not None and self._started and not self._ended:
                yield from handler(self, message.get("params") or {})
        elif method == "initialize":
            self._started = True
            yield _result(identity, _ABOUT)
        elif not self._started:
            yield _error(identity, _NOT_STARTED, "`initialize` comes first")
        elif self._ended:
            yield _error(identity, _BAD_REQUEST, "the server was shut down")
        elif method == "shutdown":
            self._ended = True
            yield _result(identity, None)
        elif method == "textDocument/formatting":
            yield _result(identity, self._formatting(message.get("params") or {}))
        else:
            yield _error(identity, _NO_METHOD, f"there is no method {method}")

    def _opened(self, params: Message) -> Iterator[Message]:
        document = params["textDocument"]
        yield from self._now(document["uri"], document["text"])

    def _changed(self, params: Message) -> Iterator[Message]:
        yield from self._now(params["textDocument"]["uri"], params["contentChanges"][-1]["text"])

    def _closed(self, params: Message) -> Iterator[Message]:
        uri = params["textDocument"]["uri"]
        self._texts.pop(uri, None)
        yield _published(uri, [])

    _HANDLERS = {  # noqa: RUF012 - a constant
        "textDocument/didOpen": _opened,
        "textDocument/didChange": _changed,
        "textDocument/didClose": _closed,
    }

    def _now(self, uri: str, text: str) -> Iterator[Message]:
        self._texts[uri] = text
        lines = text.split("\n")
        try:
            for found in self._find(text, _path(uri)):
                yield _published(uri, [_diagnostic(finding, lines) for finding in found])
        except (TaggerError, CompileError) as error:
            yield _logged(f"rules were not compiled: {error.message} ({error.help})")

    def _formatting(self, params: Message) -> list[Message]:
        text = self._texts.get(params["textDocument"]["uri"])
        if text is None:
            return []
        try:
            formatted = parse(text, path=_path(params["textDocument"]["uri"])).format()
        except RuleSyntaxError:
            return []  # its findings are shown already
        if formatted == text:
            return []
        end = {"line": text.count("\n") + 1, "character": 0}
        return [{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": formatted}]


_ABOUT = {
    "capabilities": {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 1},
        "documentFormattingProvider": True,
    },
    "serverInfo": {"name": "sears", "version": __version__},
}


def _result(identity: object, result: object) -> Message:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def _error(identity: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def _published(uri: str, diagnostics: list[Message]) -> Message:
    params = {"uri": uri, "diagnostics": diagnostics}
    return {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}


def _logged(text: str) -> Message:
    params = {"type": 2, "message": text}
    return {"jsonrpc": "2.0", "method": "window/logMessage", "params": params}


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" else uri


def _diagnostic(finding: Diagnostic, lines: list[str]) -> Message:
    message = f"{finding.message}\n{finding.help}" if finding.help else finding.message
    span = finding.span
    number = span.line - 1 if span else 0
    line = lines[number] if number < len(lines) else ""
    first, last = (span.column - 1, span.end_column - 1) if span else (0, len(line))
    return {
        "range": {
            "start": {"line": number, "character": _utf16(line[:first])},
            "end": {"line": number, "character": _utf16(line[: max(last, first)])},
        },
        "severity": _SEVERITY[finding.severity],
        "code": finding.code,
        "source": "sears",
        "message": message,
    }


def _utf16(text: str) -> int:
    """Length in the units that editors count columns in."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def serve(
    reader: BinaryIO | None = None,
    writer: BinaryIO | None = None,
    *,
    server: LanguageServer | None = None,
) -> int:
    """Talk with an editor until it says goodbye or goes away.

    Args:
        reader: where its messages come from; None for standard input.
        writer: where answers go; None for standard output.
        server: None for a new one.

    Returns:
        The exit code that the protocol asks for: 0 after a proper shutdown, else 1.

    Raises:
        DataError: what comes is no message of the protocol.
    """
    source = sys.stdin.buffer if reader is None else reader
    target = sys.stdout.buffer if writer is None else writer
    talk = server or LanguageServer()
    while talk.exit_code is None:
        message = read_message(source)
        if message is None:
            return 1
        try:
            for answer in talk.answers(message):
                write_message(target, answer)
        except (KeyError, IndexError, TypeError) as error:
            raise DataError(
                f"a message of the editor lacks something: {message.get('method')}, {error!r}",
                help="`sears lsp` speaks version 3 of the Language Server Protocol",
            ) from error
    return talk.exit_code
