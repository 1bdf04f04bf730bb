"""Waiting for what another process or thread does, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(holds: Callable[[], object], otherwise: str) -> None:
    """Return as soon as something holds; fail after five minutes, with a sentence that says why."""
    end = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)


def is_at_work(process: int) -> bool:
    """Whether a process exists and is no zombie; in a container nobody may reap zombies."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
