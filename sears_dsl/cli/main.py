"""The entry point of ``sears``, and what signals do.

Always holds: from here on, Ctrl-C, `kill` and a closed terminal end the process with one line: at
once while the commands are imported, later by an interrupt, which commands may handle. No interrupt
arrives in the middle of an import or of a kernel's result, and none is lost. A second Ctrl-C is
ignored for some seconds, since it would disturb what a command does about the first; so are signals
while Python shuts down. Signals that are ignored (`nohup`) stay so. What happens while Python
starts is not ours, so this module imports next to nothing, and `commands` everything.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from _thread import interrupt_main, start_new_thread
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    from types import FrameType

# The exit code of `commands.run` after an interrupt.
_INTERRUPTED = 128 + signal.SIGINT

# Where an interrupt does harm: a module imported by half stays behind and is taken for the whole
# one, and code that numba has compiled crashes if it is interrupted while it makes its result. An
# interrupt waits for the end of these, _PATIENCE seconds at most, with a look every _PAUSE seconds.
_IMPORTS = "<frozen importlib._bootstrap>"
_RESULTS = "numba.core.serialize"
_PATIENCE, _PAUSE, _NEVER = 5.0, 0.02, float("inf")


def main() -> None:
    """Run ``sears``, and end this process if the exit code is not 0.

    The signal handlers are not restored, since nothing is to come after the command.
    """
    _open_closed_streams()
    handlers = _handlers()
    _set_handlers(dict.fromkeys(handlers, _stop))
    from sears_dsl.cli.commands import run

    interrupts = _Interrupts()
    hook, sys.unraisablehook = sys.unraisablehook, interrupts.dropped
    try:
        _set_handlers(dict.fromkeys(handlers, interrupts))
        code = run()
    except (Exception, KeyboardInterrupt):
        # An interrupt before `run` handles it, or one that C code turned into another error: numba
        # raises SystemError if one arrives while it reads a compiled function, and RuntimeError if
        # Python dropped one in a callback of LLVM.
        if not interrupts.received:
            raise
        _write_stopped()
        code = _INTERRUPTED
    finally:
        interrupts.end()
        sys.unraisablehook = hook
        atexit.register(_set_handlers, dict.fromkeys(handlers, signal.SIG_IGN))
    if interrupts.received and code == _INTERRUPTED:
        code = 128 + interrupts.received[0]
    if code:
        sys.exit(code)


class _Interrupts:
    """The signal handler from the first line of a command on: the first signal interrupts it."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._over = False
        self._latest = _NEVER  # until when a signal waits for the end of an import
        self._deaf_until = -_NEVER  # until then the last signal is being handled

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the command; or wait, do nothing, or exit after the command's end."""
        now = time.monotonic()
        if now < self._deaf_until:
            return
        if self._over:
            os._exit(128 + number)  # a thread does not end
        self._latest = min(self._latest, now + _PATIENCE)
        if now < self._latest and _is_delicate(frame):
            start_new_thread(_send_again, (number,))  # `threading` may hold its lock
            return
        self._latest, self._deaf_until = _NEVER, now + _PATIENCE
        self.received.append(number)
        raise KeyboardInterrupt

    def dropped(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Send an interrupt again that Python drops: a finalizer or a callback of C raised it.

        It counts as received meanwhile, since the C code may raise an error of its own before.
        """
        if self.received and issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._deaf_until = -_NEVER
            start_new_thread(_send_again, (self.received[-1],))
        else:
            sys.__unraisablehook__(unraisable)

    def end(self) -> None:
        """Interrupt nothing from now on."""
        self._over, self._deaf_until = True, time.monotonic() + _PATIENCE


def _open_closed_streams() -> None:
    """Open standard streams that the caller closed (`<&-`, `>&-`), so that using them fails.

    Python leaves None in their place, and the next file that is opened would get their number.
    Standard input and output are opened in the wrong direction, as libc does for setuid programs.
    Standard error is discarded, also if it cannot be written to (bash gives a script its own file
    there).
    """
    for name, flags, mode in (
        ("stdin", os.O_WRONLY, "r"),
        ("stdout", os.O_RDONLY, "w"),
        ("stderr", os.O_WRONLY, "w"),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: SIM115
    try:
        os.write(2, b"")
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _handlers() -> dict[int, Any]:
    """Return the signals that are to end this process, with their present handlers."""
    if threading.current_thread() is not threading.main_thread():
        return {}  # only the main thread may set them
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in (getattr(signal, n) for n in names)}
    return {number: one for number, one in handlers.items() if one is not signal.SIG_IGN}


def _set_handlers(handlers: Mapping[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether the main thread is where no interrupt should come."""
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTS or frame.f_globals.get("__name__") == _RESULTS:
            return True
        frame = frame.f_back
    return False


def _send_again(number: int) -> None:
    time.sleep(_PAUSE)
    if hasattr(signal, "pthread_kill"):  # it also ends a system call in which the thread waits
        signal.pthread_kill(cast("int", threading.main_thread().ident), number)
    else:
        interrupt_main(signal.Signals(number))


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """End at once: an exception in the middle of an import may be taken for an import error."""
    _write_stopped()
    os._exit(128 + number)


def _write_stopped() -> None:
    with suppress(OSError):
        os.write(2, b"\nstopped\n")
