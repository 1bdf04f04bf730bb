"""A server on a port of this machine, which runs until the user ends it.

In: an application. Out: nothing; it runs until Ctrl-C. It listens only on the loopback interface.
If a port is taken, a message says so and names the next free one.
"""

from __future__ import annotations

import gc
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from sears_dsl.errors import UsageError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8765
_TRIES = 100


def listen(port: int | None = None) -> tuple[socket.socket, str]:
    """Open a socket on a loopback port; returns it, and a remark if `DEFAULT_PORT` is in use.

    If no port is given, the first free one from `DEFAULT_PORT` on is used.
    """
    first = DEFAULT_PORT if port is None else port
    for candidate in range(first, min(first + _TRIES, 65_536)):
        listener = _bound(candidate)
        if listener is None:
            continue
        if candidate == first:
            return listener, ""
        if port is None:
            return listener, f"port {first} is in use; using {candidate} instead"
        listener.close()
        raise UsageError(
            f"port {first} is in use", help=f"the next free one is {candidate}: --port {candidate}"
        )
    raise UsageError(
        f"no port from {first} on is free or allowed", help="choose another one with --port"
    )


def _bound(port: int) -> socket.socket | None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Connections of a server that just ended then do not block its port. On other systems
            # this option would let two servers share a port.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except OSError:
        listening.close()
        return None
    return listening


@contextmanager
def redirection(address: str) -> Iterator[Path]:
    """Write a file, readable for its owner alone, that redirects a browser to a secret address.

    Every user of a machine sees the arguments of its processes, so the browser is opened with the
    name of this file and reads the address from it. The file is removed at the end of the block.

    Example:
        >>> with redirection("http://127.0.0.1:8765/secret/") as file:
        ...     "secret" in str(file), "secret" in file.read_text(), oct(file.stat().st_mode)[-3:]
        (False, True, '600')
        >>> file.exists()
        False
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix="sears-vet-", suffix=".html")
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(
                '<!doctype html>\n<meta charset="utf-8">\n<title>sears vet</title>\n'
                f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
                f'<a href="{escape(address)}">Open the page</a>\n'
            )
    except OSError as error:
        raise UsageError(
            f"the page could not be opened: {error.filename}: {error.strerror}",
            help="leave out --open, and open the address that is printed",
        ) from error
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def freeze_objects() -> None:
    """Exempt everything that is loaded now from garbage collection.

    The collector would go through millions of objects of rows and taggers again and again, for up
    to half a second each time, while the user types and waits.
    """
    gc.collect()
    gc.freeze()


def serve(
    app: ASGIApp, listening: socket.socket, *, on_ready: Callable[[], None] = lambda: None
) -> None:
    """Answer requests until Ctrl-C."""
    freeze_objects()
    on_ready()
    try:
        uvicorn.Server(_config(app)).run(sockets=[listening])
    except KeyboardInterrupt:
        return  # the normal way to end it


@contextmanager
def serve_in_background(app: ASGIApp, listening: socket.socket) -> Iterator[None]:
    """Answer requests in a thread of their own until the end of the block."""
    server = uvicorn.Server(_config(app))
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", ws="none", proxy_headers=False,
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
