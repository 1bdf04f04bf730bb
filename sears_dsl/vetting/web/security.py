"""Access control of the page: only requests with its secret address, and only from the page itself.

In: requests. Out: the same requests, or a refusal with its reason. Nothing is read or changed
without the token. A request that names another host (DNS rebinding) or comes from another origin is
refused before anything else is looked at. At most `BODY_LIMIT` bytes of a body are kept, whatever
its header says. Every answer forbids the browser to load anything from elsewhere, to frame the page
and to cache it.

The first part of the path is the token: ``http://127.0.0.1:8765/TOKEN/``. The page uses relative
addresses for everything else, so no cookie is needed. Other sites can neither guess nor send the
token.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sears_dsl.errors import readable

BODY_LIMIT = 64 * 1024
"""The largest request body in bytes: some hundred times a decision."""

_TOO_LARGE = f"requests of more than {BODY_LIMIT // 1024} KiB are refused"
# How many seconds a client may go on sending a body that was refused, which is discarded.
_SENDING = 10.0
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def hosts_of(host: str, port: int) -> frozenset[str]:
    """The hosts that requests to the page name; programs leave out the usual port."""
    names = frozenset({host, "localhost"})
    return frozenset(f"{name}:{port}" for name in names) | (names if port == 80 else frozenset())


class PageGuard:
    """Lets requests through that have a reviewer's token and name one of the page's hosts.

    The application sees paths without the token, and its owner as ``scope["state"]["reviewer"]``.
    """

    def __init__(self, app: ASGIApp, *, tokens: Mapping[str, str], hosts: frozenset[str]) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(headers, scope)
        body = _Body(receive, waiting="expect" in headers)
        sending = _answering(send, body)
        if refusal is not None:
            await refusal(scope, body.receive, sending)
            return
        token, slash, rest = scope["path"].removeprefix("/").partition("/")
        if not slash:
            # Relative addresses on the page would lose the token. This one is relative too, so that
            # it stays right behind a proxy that serves the page under a longer path.
            await RedirectResponse(f"{token}/")(scope, body.receive, sending)
            return
        inner = {
            **scope,
            "path": f"/{rest}",
            "raw_path": f"/{rest}".encode(),
            "state": {**scope.get("state", {}), "reviewer": self._owner(token)},
        }
        await self._app(inner, body.receive, sending)

    def _refusal(self, headers: Headers, scope: Scope) -> JSONResponse | None:
        host = headers.get("host", "")
        if host not in self._hosts:
            return refused(403, f"this page is not at {host!r}; use the address that was printed")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{name}" for name in self._hosts}:
            return refused(403, f"requests from {origin} are refused")
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if elsewhere and not _is_visit(scope, headers):
            return refused(403, "requests from other sites are refused")
        token = scope["path"].removeprefix("/").partition("/")[0]
        if self._owner(token) is None:
            return refused(
                403, "the token in the address is wrong; use the address that was printed"
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_LIMIT:
            return refused(413, _TOO_LARGE, headers={"Connection": "close"})
        return None

    def _owner(self, token: str) -> str | None:
        """The owner of a token, or None; takes the same time for any wrong token."""
        owner = None
        for known, reviewer in self._tokens.items():
            if hmac.compare_digest(known.encode(), token.encode("utf-8", "surrogatepass")):
                owner = reviewer
        return owner


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Whether the request opens the page itself in a window of its own, by a link or from a file.

    Whoever has the link has the token; another page can neither read nor frame what opens.
    """
    return (
        scope["method"] == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and scope["path"].removeprefix("/").partition("/")[2] == ""
    )


class _Body:
    """The body of a request, chunked or not, up to `BODY_LIMIT` bytes.

    `waiting` means that the client asked first (``Expect``) and sends nothing until we read.
    """

    def __init__(self, receive: Receive, *, waiting: bool) -> None:
        self._receive = receive
        self._waiting = waiting
        self._size = 0

    async def receive(self) -> Message:
        """Return the next part; raise `HTTPException` if the body is too large."""
        self._waiting = False
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > BODY_LIMIT:
            raise HTTPException(413, _TOO_LARGE, headers={"Connection": "close"})
        return message

    async def forget(self) -> None:
        """Read the rest and discard it."""
        if self._waiting:
            return
        try:
            async with asyncio.timeout(_SENDING):
                while (await self._receive()).get("more_body", False):
                    continue
        except TimeoutError:
            return  # the connection of so slow a sender is reset


def _answering(send: Send, body: _Body) -> Send:
    """Send answers with our headers, and let a client that sends too much read its refusal."""
    refused = False

    async def sending(message: Message) -> None:
        nonlocal refused
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            refused = message["status"] == 413
        elif refused and not message.get("more_body", False):
            # The connection is closed after the answer. If it had unread bytes, that would reset
            # it, and most programs do not read an answer before they have sent everything.
            await send({**message, "more_body": True})
            await body.forget()
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    return sending


class PageAnswer(JSONResponse):
    """JSON with U+FFFD in place of half a character, which rows and messages may hold."""

    def render(self, content: object) -> bytes:
        """The bytes of the answer."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return readable(text).encode()


def refused(
    status: int, why: str, advice: str = "", headers: Mapping[str, str] | None = None
) -> PageAnswer:
    """An answer that says no, as the page shows it: why, and what to do."""
    return PageAnswer({"error": why, "help": advice}, status_code=status, headers=headers)
