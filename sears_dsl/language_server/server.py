"""The language server: answers an editor's messages about open rule files.

In: messages of the Language Server Protocol. Out: messages; findings as the editor's diagnostics,
the canonical text as an edit, what a place means, where it is defined, what may be written there.
Always holds: a request gets exactly one answer; the server works on what stands in the editor,
never on the file; nothing is written to disk; a message that makes no sense, and a failure of ours,
is told and the conversation goes on. Costs one parse of the file for each change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit
from urllib.request import url2pathname

from sears_dsl import __version__
from sears_dsl.errors import Diagnostic, RuleSyntaxError, SearsError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language_server.actions import actions
from sears_dsl.language_server.assistance import completions, definition, explained
from sears_dsl.language_server.findings import Findings, find_all
from sears_dsl.language_server.renaming import NameSpan, name_at, renamed
from sears_dsl.language_server.transport import BodyError, Message, read_message, write_message
from sears_dsl.tagging.tagger import Tagger

_NO_JSON = -32700
_OUR_FAULT = -32603
_BAD_PARAMETERS = -32602
_NO_METHOD = -32601
_BAD_REQUEST = -32600
_NOT_STARTED = -32002
_ERROR, _WARNING = 1, 2  # kinds of log messages
_SEVERITY = {"error": 1, "warning": 2}
_COMPLETION_KIND = {"function": 3, "set": 6, "key": 10, "tag": 20}


class LanguageServer:
    """One conversation with an editor.

    Args:
        find: gives the findings of a text and its path, as often as there are more.
        tagger: of samples; None for the default one.

    Example:
        >>> server = LanguageServer()
        >>> [answer] = server.answers({"id": 1, "method": "initialize", "params": {}})
        >>> answer["result"]["serverInfo"]["name"]
        'sears'
    """

    def __init__(
        self,
        *,
        find: Callable[[str, str], Iterator[Findings]] = find_all,
        tagger: Tagger | None = None,
    ) -> None:
        self._find = find
        self._tagger = tagger
        self._texts: dict[str, str] = {}
        self._started = False
        self._ended = False
        self.exit_code: int | None = None

    def answers(self, message: Message) -> Iterator[Message]:
        """What to send back: the answer to a request, news about a file."""
        identity, method = message.get("id"), message.get("method")
        if not isinstance(method, str):
            return  # the editor's answer to a question; we ask none
        try:
            yield from self._answers(method, identity, message.get("params"))
        except _OddMessageError as error:
            odd = f"this {method} makes no sense to sears: {error}"
            yield _logged(odd) if identity is None else _error(identity, _BAD_PARAMETERS, odd)
        # Whatever a defect of ours raises: the editor's next message may go well.
        except Exception as error:
            ours = (
                f"sears failed at {method}, which is its own mistake, and goes on: "
                f"{type(error).__name__}: {error}"
            )
            yield _logged(ours, _ERROR) if identity is None else _error(identity, _OUR_FAULT, ours)

    def _answers(self, method: str, identity: object, params: object) -> Iterator[Message]:
        handler = self._HANDLERS.get(method)
        if method == "exit":
            self.exit_code = 0 if self._ended else 1
        elif identity is None:
            if handler is not None and self._started and not self._ended:
                yield from handler(self, params)
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
        elif method in self._REQUESTS:
            yield _result(identity, self._REQUESTS[method](self, params))
        else:
            yield _error(identity, _NO_METHOD, f"there is no method {method}")

    def _opened(self, params: object) -> Iterator[Message]:
        text = _text(params, "textDocument", "text")
        yield from self._now(_text(params, "textDocument", "uri"), text)

    def _changed(self, params: object) -> Iterator[Message]:
        uri = _text(params, "textDocument", "uri")
        changes = params.get("contentChanges") if isinstance(params, dict) else None
        if not isinstance(changes, list):
            raise _OddMessageError("contentChanges is no list")
        if any(isinstance(change, dict) and "range" in change for change in changes):
            raise _OddMessageError("it changes a part, and the server reads whole texts")
        if changes:
            yield from self._now(uri, _text(changes[-1], "text"))

    def _closed(self, params: object) -> Iterator[Message]:
        uri = _text(params, "textDocument", "uri")
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
            for findings in self._find(text, _path(uri)):
                yield _published(uri, [_diagnostic(finding, lines) for finding in findings])
        except SearsError as error:
            yield _logged(f"rules were not compiled: {error.message} ({error.help})")

    def _formatting(self, params: object) -> list[Message]:
        uri = _text(params, "textDocument", "uri")
        text = self._texts.get(uri)
        if text is None:
            return []
        try:
            formatted = parse(text, path=_path(uri)).format()
        except RuleSyntaxError:
            return []  # its findings are shown already
        if formatted == text:
            return []
        end = {"line": text.count("\n") + 1, "character": 0}
        return [{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": formatted}]

    def _hover(self, params: object) -> Message | None:
        place = self._place(params)
        description = explained(*place, tagger=self._tagger) if place is not None else None
        return {"contents": {"kind": "markdown", "value": description}} if description else None

    def _definition(self, params: object) -> Message | None:
        place = self._place(params)
        target = definition(*place) if place is not None else None
        if place is None or target is None:
            return None
        text, path, *_ = place
        uri = _text(params, "textDocument", "uri")
        line = text.split("\n")[target.line] if target.path == path else ""
        start = {"line": target.line, "character": _utf16(line[: target.column])}
        return {
            "uri": uri if target.path == path else Path(target.path).absolute().as_uri(),
            "range": {"start": start, "end": start},
        }

    def _completion(self, params: object) -> list[Message]:
        place = self._place(params)
        return [
            {"label": each.label, "kind": _COMPLETION_KIND[each.kind], "detail": each.detail}
            for each in (completions(*place) if place is not None else ())
        ]

    def _prepared_rename(self, params: object) -> Message | None:
        place = self._place(params)
        occurrence = name_at(place[0], place[2], place[3]) if place is not None else None
        return (
            _range(occurrence[1], place[0])
            if occurrence is not None and place is not None
            else None
        )

    def _rename(self, params: object) -> Message | None:
        place = self._place(params)
        if place is None:
            return None
        new = _text(params, "newName")
        try:
            places = renamed(*place, new=new)
        except UsageError as error:
            raise _OddMessageError(f"{error.message} ({error.help})") from error
        edits = [{"range": _range(each, place[0]), "newText": new} for each in places]
        return {"changes": {_text(params, "textDocument", "uri"): edits}}

    def _actions(self, params: object) -> list[Message]:
        uri = _text(params, "textDocument", "uri")
        first, last = (_number(params, "range", end, "line") for end in ("start", "end"))
        text = self._texts.get(uri)
        if text is None:
            return []
        return [
            {
                "title": each.title,
                "kind": "quickfix" if each.code else "refactor",
                "edit": {
                    "changes": {uri: [{"range": _range(each.place, text), "newText": each.new}]}
                },
            }
            for each in actions(text, _path(uri), first, last, tagger=self._tagger)
        ]

    def _place(self, params: object) -> tuple[str, str, int, int] | None:
        """Text, file, line and column that a request is about; None where no file is open."""
        uri = _text(params, "textDocument", "uri")
        text = self._texts.get(uri)
        if text is None:
            return None
        line, character = (
            _number(params, "position", "line"),
            _number(params, "position", "character"),
        )
        lines = text.split("\n")
        source = lines[line] if line < len(lines) else ""
        before = source.encode("utf-16-le", "surrogatepass")[: 2 * character]
        return text, _path(uri), line, len(before.decode("utf-16-le", "ignore"))

    _REQUESTS = {  # noqa: RUF012 - a constant
        "textDocument/formatting": _formatting,
        "textDocument/hover": _hover,
        "textDocument/definition": _definition,
        "textDocument/completion": _completion,
        "textDocument/prepareRename": _prepared_rename,
        "textDocument/rename": _rename,
        "textDocument/codeAction": _actions,
    }


class _OddMessageError(Exception):
    """A message of the protocol that lacks something, or has something else in its place."""


def _text(params: object, *way: str) -> str:
    """The text at the end of a way through a message."""
    text = _at(params, way)
    if not isinstance(text, str):
        raise _OddMessageError(f"{'.'.join(way)} is no text")
    return text


def _number(params: object, *way: str) -> int:
    """The number there, 0 or more."""
    number = _at(params, way)
    if not isinstance(number, int) or number < 0:
        raise _OddMessageError(f"{'.'.join(way)} is no number of a line or a column")
    return number


def _at(params: object, way: Sequence[str]) -> object:
    value = params
    for name in way:
        value = value.get(name) if isinstance(value, dict) else None
    return value


_ABOUT = {
    "capabilities": {
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": True, "change": 1},
        "documentFormattingProvider": True,
        "hoverProvider": True,
        "definitionProvider": True,
        "renameProvider": {"prepareProvider": True},
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor"]},
        "completionProvider": {"triggerCharacters": ["{", "@", ".", "="]},
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


def _logged(text: str, kind: int = _WARNING) -> Message:
    params = {"type": kind, "message": text}
    return {"jsonrpc": "2.0", "method": "window/logMessage", "params": params}


def _path(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri  # no address at all, so no file either
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


def _range(place: NameSpan, text: str) -> Message:
    """A place in the units that editors count in; behind the last line is the end of the text."""
    lines = text.split("\n")
    line = lines[place.line] if place.line < len(lines) else ""
    return {
        "start": {"line": place.line, "character": _utf16(line[: place.start])},
        "end": {"line": place.line, "character": _utf16(line[: place.end])},
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
        DataError: what comes is not cut into messages as the protocol has it.
    """
    source = sys.stdin.buffer if reader is None else reader
    target = sys.stdout.buffer if writer is None else writer
    talk = server or LanguageServer()
    while talk.exit_code is None:
        try:
            message = read_message(source)
        except BodyError as error:
            write_message(target, _error(None, _NO_JSON, error.message))
            continue
        if message is None:
            return 1
        for answer in talk.answers(message):
            write_message(target, answer)
    return talk.exit_code
