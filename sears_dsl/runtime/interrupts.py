"""Interrupts that wait: what a signal raises comes after a block, and not into it.

In: a block where an interrupt would do harm, since what runs there cannot be left half done and
what calls it does not expect an error. Always holds: the handlers of this process are the same
before and after it, and what came meanwhile is answered at its end; who insists after some seconds
is heard in the middle; elsewhere than in the main thread, into which alone handlers come, nothing
is done. Costs three to five microseconds.
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

# The functions behind those of `signal`, which take as long again to make members of enums.
_system: Any = import_module("_signal")

_PATIENCE = 5.0  # seconds, after which whoever insists has to know better

#: What people and other programs end a process with, or have it do something else by.
USUAL = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK", "SIGALRM")
    if hasattr(signal, name)
)


class Uninterrupted:
    """A block that signals do not come into; those that come meanwhile are answered at its end.

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
        self._since = 0.0  # when the first of them came
        #: What is called, by signal, once the block is done.
        self.handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            try:
                for number in self._numbers:
                    handler = _system.getsignal(number)
                    if callable(handler):
                        self.handlers[number] = handler
                        _system.signal(number, self._receive)
            except BaseException:  # an interrupt that came before the block
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
        """Give the handlers back, all of them also where one that is back already raises."""
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
    """Import a package of which half is worse than nothing.

    NumPy and torch cannot be imported again in a process where an interrupt came into their first
    import: whatever uses them fails until Python is started anew, and torch may crash it.
    """
    if package not in sys.modules:
        with Uninterrupted():
            import_module(package)
