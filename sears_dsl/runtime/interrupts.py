"""Interrupts that wait: signals that arrive during a block are handled at its end.

In: a block where an interrupt would do harm, since its work cannot be left half done and its
callers do not expect an error. Always holds: the process has the same handlers before and after the
block, and each signal that arrives meanwhile is handled at the end. A further signal after some
seconds is handled at once. Handlers run in the main thread alone; in other threads the block does
nothing. Costs three to five microseconds.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterable
from importlib import import_module
from types import FrameType
from typing import Any, Self

# The functions behind those of `signal`, which take twice as long, since they make enum members.
_system: Any = import_module("_signal")

_PATIENCE = 5.0  # seconds from the first signal on, after which a further one is handled at once

#: The signals by which people and other programs end a process, or have it do something else.
USUAL = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK", "SIGALRM")
    if hasattr(signal, name)
)


class Uninterrupted:
    """A block that no signal interrupts; those that arrive meanwhile are handled at its end.

    Example:
        >>> ends = []
        >>> before = signal.signal(signal.SIGINT, lambda *_: ends.append("interrupted"))
        >>> with Uninterrupted():
        ...     signal.raise_signal(signal.SIGINT)
        ...     ends.append("done")
        >>> _ = signal.signal(signal.SIGINT, before)
        >>> ends
        ['done', 'interrupted']
    """

    __slots__ = ("_numbers", "_received", "_since", "handlers")

    def __init__(self, numbers: Iterable[int] = USUAL) -> None:
        self._numbers = numbers
        self._received: list[int] = []
        self._since = 0.0  # when the first of them arrived
        #: The handlers that are held back, by signal.
        self.handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            try:
                for number in self._numbers:
                    handler = _system.getsignal(number)
                    if callable(handler):
                        self.handlers[number] = handler
                        _system.signal(number, self._receive)
            except BaseException:  # an interrupt that arrived before the block
                self._restore()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        for number in self._received:
            signal.raise_signal(number)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._received and now - self._since >= _PATIENCE:
            self._received.clear()
            self.handlers[number](number, frame)
        else:
            self._since = now if not self._received else self._since
            self._received.append(number)

    def _restore(self) -> None:
        """Restore all handlers, even if one that is restored already raises."""
        interrupt: BaseException | None = None
        while self.handlers:
            try:
                number, handler = next(iter(self.handlers.items()))
                _system.signal(number, handler)
                del self.handlers[number]
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


def import_whole(package: str) -> None:
    """Import a package without interruption.

    NumPy and torch cannot be imported again in a process where their first import was interrupted:
    whatever uses them fails until Python is started anew, and torch may crash it.
    """
    if package not in sys.modules:
        with Uninterrupted():
            import_module(package)
