"""The language server: answers an editor's messages about open rule files.

In: requests and notifications of an editor, as pygls reads them. Out: findings as the editor's
diagnostics, the canonical text as an edit, an outline, what a place means, where it is defined and
used, what may be written there. Always holds: the server works on the text in the editor, never on
the file; what a file imports is read as it was saved, and judged anew when a file is saved; nothing
is written to disk. Costs one parse of the file for each change.

Every request gets an answer: an invalid one under its id, while an invalid notification is logged;
a request before `initialize` or after `shutdown` is refused; a failure of ours is named as such;
the conversation goes on. By itself, pygls only shows a notice for a request that it cannot read,
and the editor waits.
"""

from __future__ import annotations

import logging
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO, NamedTuple, TypeVar

from cattrs import BaseValidationError, Converter, transform_error
from lsprotocol import types
from pygls import exceptions
from pygls.io_ import StdoutWriter, run
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import to_fs_path

from sears_dsl import __version__
from sears_dsl.errors import Diagnostic, RuleSyntaxError, SearsError, UsageError
from sears_dsl.language.loader import parse
from sears_dsl.language_server import assistance, names
from sears_dsl.tagging.tagger import Tagger

_SEVERITY = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}
_IMPORTS = re.compile(r"^import\b", re.MULTILINE)
_LARGEST = 128 << 20  # more than the largest rule file takes, escaped
# Typing one of these makes the editor ask what may follow.
TRIGGERS = ("{", "@", ".", "=")
_COMPLETION_KIND = {
    "function": types.CompletionItemKind.Function,
    "set": types.CompletionItemKind.Variable,
    "key": types.CompletionItemKind.Property,
    "tag": types.CompletionItemKind.EnumMember,
}
_SYMBOL_KIND = {
    "ImportLine": types.SymbolKind.Module, "SetDefinition": types.SymbolKind.Enum,
    "Rule": types.SymbolKind.Function, "RuleTest": types.SymbolKind.Method,
    "Template": types.SymbolKind.String,
}  # fmt: skip

_Parameters = TypeVar("_Parameters")


class _MessageError(Exception):
    """A message that is refused; a notification (``news``) is logged instead of answered."""

    def __init__(
        self, answer: exceptions.JsonRpcException, *, identity: Any = None, news: bool = False
    ) -> None:
        super().__init__(answer.message)
        self.answer, self.identity, self.news = answer, identity, news


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, except that no request stays without an answer."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message in a JSON object; objects inside a message stay as they are."""
        try:
            return super().structure_message(data)
        except exceptions.JsonRpcException as error:
            cause = error.__cause__
            odd = transform_error(cause) if isinstance(cause, BaseValidationError) else [str(cause)]
            reason = f"sears cannot read this {data.get('method')}: {'; '.join(odd)}"
            identity = data.get("id")
            answer = exceptions.JsonRpcInvalidParams(reason)
            raise _MessageError(answer, identity=identity, news=identity is None) from error

    def handle_message(self, message: Any) -> None:
        """Hand a message on, unless it is invalid at this point of the conversation."""
        if not hasattr(message, "jsonrpc"):
            raise _MessageError(
                exceptions.JsonRpcParseError("this is not a message of JSON-RPC 2.0")
            )
        method, identity = getattr(message, "method", None), getattr(message, "id", None)
        if method is not None and identity is not None:
            if self._workspace is None and method != types.INITIALIZE:
                early = exceptions.JsonRpcServerNotInitialized("`initialize` must come first")
                raise _MessageError(early, identity=identity)
            if self._shutdown:
                late = exceptions.JsonRpcInvalidRequest("the server was shut down")
                raise _MessageError(late, identity=identity)
        elif self._workspace is None and method != types.EXIT:
            return  # the protocol drops notifications that come too early
        if isinstance(message, types.DidChangeTextDocumentNotification) and any(
            isinstance(each, types.TextDocumentContentChangePartial)
            for each in message.params.content_changes
        ):
            part = f"sears cannot read this {method}: it changes only a part of a text"
            raise _MessageError(exceptions.JsonRpcInvalidParams(part), news=True)
        super().handle_message(message)


class Conversation(LanguageServer):
    """A pygls server that reports what goes wrong."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "sears",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            protocol_cls=Protocol,
            converter_factory=_converter,
        )

    def answer(
        self, method: str, handler: Callable[[_Parameters], object], options: object = None
    ) -> None:
        """Have a function handle a method; its `UsageError` is reported as the asker's mistake."""
        is_request = types.METHOD_TO_TYPES[method][1] is not None

        def handle(params: _Parameters) -> object:
            try:
                return handler(params)
            except UsageError as error:
                raise exceptions.JsonRpcInvalidParams(f"{error.message}; {error.help}") from error
            # A defect of ours may raise anything, and the editor's next message may go well.
            except Exception as error:
                ours = (
                    f"sears failed at {method}, which is a bug in sears, and continues: "
                    f"{type(error).__name__}: {error}"
                )
                if is_request:
                    raise exceptions.JsonRpcInternalError(ours) from error
                self.log(ours, types.MessageType.Error)
                return None

        self.feature(method, options)(handle)

    def log(self, text: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        """Write to the editor's log."""
        self.window_log_message(types.LogMessageParams(type=kind, message=text))

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Answer or log that a message was refused; pygls calls this."""
        if source is exceptions.FeatureRequestError:
            return  # answered already
        if isinstance(error, exceptions.JsonRpcException):  # a notification that pygls refused
            self.log(f"sears cannot read this message: {error.message}")
            return
        if not isinstance(error, _MessageError):
            error = _MessageError(exceptions.JsonRpcParseError(f"this is not JSON: {error}"))
        if error.news:
            self.log(error.answer.message)
        else:
            self.protocol._send_response(error.identity, error=error.answer.to_response_error())


def _converter() -> Converter:
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(str, _text)
    return converter


def _text(value: object, _: type[str]) -> str:
    """Return a text; pygls itself would accept a number in its place."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


class _PlaceParameters(typing.Protocol):
    text_document: types.TextDocumentIdentifier
    position: types.Position


class _AskedPlace(NamedTuple):
    """What a request is about: line and column from 0."""

    text: str
    path: str
    line: int
    column: int


class RuleServer(Conversation):
    """One conversation with an editor about rule files."""

    def __init__(
        self,
        *,
        find: Callable[[str, str], Iterator[assistance.Findings]] = assistance.find_all,
        tagger: Tagger | None = None,
    ) -> None:
        super().__init__()
        self._find = find
        self._tagger = tagger
        triggers = types.CompletionOptions(trigger_characters=TRIGGERS)
        kinds = [types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor]
        self.answer(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self.answer(types.TEXT_DOCUMENT_DID_CHANGE, self._changed)
        self.answer(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self.answer(types.TEXT_DOCUMENT_DID_SAVE, self._files_changed)
        self.answer(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._files_changed)
        self.answer(types.TEXT_DOCUMENT_FORMATTING, self._formatting)
        self.answer(types.TEXT_DOCUMENT_HOVER, self._hover)
        self.answer(types.TEXT_DOCUMENT_DEFINITION, self._definition)
        self.answer(types.TEXT_DOCUMENT_REFERENCES, self._references)
        self.answer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self._outline)
        self.answer(types.TEXT_DOCUMENT_COMPLETION, self._completion, triggers)
        self.answer(types.TEXT_DOCUMENT_PREPARE_RENAME, self._prepared_rename)
        self.answer(
            types.TEXT_DOCUMENT_RENAME, self._rename, types.RenameOptions(prepare_provider=True)
        )
        self.answer(types.TEXT_DOCUMENT_CODE_ACTION, self._actions, types.CodeActionOptions(kinds))

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._publish(params.text_document.uri)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        if params.content_changes:
            self._publish(params.text_document.uri)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        self._show(params.text_document.uri, [])

    def _files_changed(self, _: object) -> None:
        """Judge the open files anew that import others, which are read from the disk."""
        for uri, document in self.workspace.text_documents.items():
            if _IMPORTS.search(document.source):
                self._publish(uri)

    def _publish(self, uri: str) -> None:
        text = self._text(uri)
        try:
            for findings in self._find(text, _path(uri)):
                self._show(uri, [self._diagnostic(finding, text) for finding in findings])
        except SearsError as error:
            self.log(f"the rules were not compiled: {error.message} ({error.help})")

    def _show(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def _formatting(self, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        uri = params.text_document.uri
        text = self._text(uri)
        try:
            formatted = parse(text, path=_path(uri)).format()
        except RuleSyntaxError:
            return []  # its findings are shown already
        if formatted == text:
            return []
        end = types.Position(text.count("\n") + 1, 0)
        return [types.TextEdit(types.Range(types.Position(0, 0), end), formatted)]

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        meaning = assistance.explained(*self._place(params), tagger=self._tagger) or ""
        shown = types.MarkupContent(types.MarkupKind.Markdown, meaning)
        return types.Hover(shown) if meaning else None

    def _definition(self, params: types.DefinitionParams) -> types.Location | None:
        place = self._place(params)
        target = assistance.definition(*place)
        if target is None:
            return None
        here = target.path == place.path
        uri = params.text_document.uri if here else Path(target.path).absolute().as_uri()
        where = names.NameSpan(target.line, target.column, target.column)
        return types.Location(uri, self._range(where, place.text if here else ""))

    def _references(self, params: types.ReferenceParams) -> list[types.Location]:
        uri, place = params.text_document.uri, self._place(params)
        definitions = params.context.include_declaration
        spans = names.references(place.text, place.line, place.column, definitions=definitions)
        return [types.Location(uri, self._range(each, place.text)) for each in spans]

    def _outline(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        return list(map(_symbol, assistance.outline(self._text(uri), _path(uri))))

    def _completion(self, params: types.CompletionParams) -> list[types.CompletionItem]:
        return [
            types.CompletionItem(each.label, kind=_COMPLETION_KIND[each.kind], detail=each.detail)
            for each in assistance.completions(*self._place(params))
        ]

    def _prepared_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        place = self._place(params)
        named = names.name_at(place.text, place.line, place.column)
        return self._range(named.span, place.text) if named else None

    def _rename(self, params: types.RenameParams) -> types.WorkspaceEdit:
        place = self._place(params)
        edits = [
            types.TextEdit(self._range(each, place.text), params.new_name)
            for each in names.renamed(*place, new=params.new_name)
        ]
        return types.WorkspaceEdit(changes={params.text_document.uri: edits})

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        text = self._text(uri)
        first, last = params.range.start.line, params.range.end.line
        return [
            types.CodeAction(
                each.title,
                kind=types.CodeActionKind.QuickFix if each.code else types.CodeActionKind.Refactor,
                edit=types.WorkspaceEdit(
                    changes={uri: [types.TextEdit(self._range(each.place, text), each.new)]}
                ),
            )
            for each in assistance.actions(text, _path(uri), first, last, tagger=self._tagger)
        ]

    def _text(self, uri: str) -> str:
        """What stands in the editor; empty where the file is not open there."""
        document = self.workspace.get_text_document(uri)
        return document.source if document.version is not None else ""  # else it is on disk

    def _place(self, params: _PlaceParameters) -> _AskedPlace:
        """Return the place that a request is about, with an empty text if its file is not open."""
        uri, position = params.text_document.uri, params.position
        text = self._text(uri)
        lines = text.split("\n")
        column = 0
        if position.line < len(lines):
            codec = self.workspace.position_codec
            column = codec.position_from_client_units(lines, position).character
        return _AskedPlace(text, _path(uri), position.line, column)

    def _diagnostic(self, finding: Diagnostic, text: str) -> types.Diagnostic:
        place = names.NameSpan(0, 0, len(text.partition("\n")[0]))
        if finding.span is not None:
            first, last = finding.span.column - 1, finding.span.end_column - 1
            place = names.NameSpan(finding.span.line - 1, first, max(last, first))
        return types.Diagnostic(
            self._range(place, text),
            f"{finding.message}\n{finding.help}" if finding.help else finding.message,
            severity=_SEVERITY[finding.severity],
            code=finding.code,
            source="sears",
        )

    def _range(self, place: names.NameSpan, text: str) -> types.Range:
        """Return a place in the units that the editor counts in; a line after the last is empty."""
        line = names.line_of(text, place.line)
        return types.Range(
            types.Position(place.line, self._units(line[: place.start])),
            types.Position(place.line, self._units(line[: place.end])),
        )

    def _units(self, text: str) -> int:
        return int(self.workspace.position_codec.client_num_units(text))


def _symbol(symbol: assistance.Symbol) -> types.DocumentSymbol:
    first, end = types.Position(symbol.first, 0), types.Position(symbol.end, 0)
    return types.DocumentSymbol(
        symbol.name, _SYMBOL_KIND[symbol.kind], types.Range(first, end), types.Range(first, first),
        detail=symbol.written, children=list(map(_symbol, symbol.parts)),
    )  # fmt: skip


def _path(uri: str) -> str:
    return to_fs_path(uri) or uri


class _Source:
    """What an editor sends; it does not read messages that are too large."""

    def __init__(self, stream: BinaryIO) -> None:
        self.readline, self._read = stream.readline, stream.read

    def read(self, size: int) -> bytes:
        """Read a message, unless it is too large."""
        if size > _LARGEST:
            what = f"an editor announced a message of {size:,} bytes"
            raise UsageError(what, help=f"the server accepts at most {_LARGEST >> 20} MiB")
        return self._read(size)


def serve(
    reader: BinaryIO | None = None,
    writer: BinaryIO | None = None,
    *,
    server: RuleServer | None = None,
) -> int:
    """Talk with an editor until it exits or goes away; 0 after a proper shutdown, else 1.

    Messages come from standard input and go to standard output, which is closed at the exit.
    """
    logging.getLogger("pygls").addHandler(logging.NullHandler())  # the editor is told all of it
    talk = server or RuleServer()
    talk.protocol.set_writer(StdoutWriter(writer or sys.stdout.buffer))
    source = _Source(reader or sys.stdin.buffer)
    try:
        run(Event(), source, talk.protocol, error_handler=talk.report_server_error)
    except SystemExit as goodbye:
        return int(goodbye.code or 0)
    return 1
