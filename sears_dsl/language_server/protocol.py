"""How pygls talks with an editor, with what we add to it: every request gets an answer.

In: messages that pygls has cut out of a stream. Out: answers and notifications to the editor.
Always holds: an invalid request is answered under its id, and an invalid notification is logged; a
request before `initialize` or after `shutdown` is refused; a failure of ours is named as such; the
conversation goes on. Without this, pygls only shows a notice for a request that it cannot read, and
the editor waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cattrs import BaseValidationError, Converter, transform_error
from lsprotocol import types
from pygls import exceptions
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from sears_dsl import __version__
from sears_dsl.errors import UsageError

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
                raise exceptions.JsonRpcInvalidParams(f"{error.message} ({error.help})") from error
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
