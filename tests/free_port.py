"""A port for a page, apart from the usual ones, which parallel tests take and release."""

from __future__ import annotations

import socket

from sears_dsl.vetting.web.serving import LOOPBACK


def free_port() -> int:
    """A port that the system chooses, and that was free a moment ago."""
    with socket.create_server((LOOPBACK, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
