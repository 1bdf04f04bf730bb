"""Kernels: plain functions over arrays, compiled once there is enough work to repay it.

In: a function of arrays and numbers. Out: a `Kernel`, called like it. Always holds: what a
kernel gives depends on its arguments alone, and is the same compiled and plain; compiled kernels
do not hold the GIL, so that blocks of rows may run in threads. This module is the only user of
numba, which it imports when a kernel is first compiled.
Costs: reading compiled kernels from disk takes most of a second, compiling them half a minute
where they were never compiled before. Ten rows are done sooner by the plain functions. So whoever
calls kernels says beforehand how much there is to do (`expect`), and a process that has announced
more than `ENOUGH` steps goes over to compiled code for good. The environment variable
SEARS_COMPILE decides otherwise: ``always`` or ``never``. Who would rather not wait half a minute
without a word has it told (`when_compiling`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from types import FunctionType
from typing import Any, TypeVar, cast

from sears_dsl.errors import SearsError, UsageError

__all__ = ["ENOUGH", "Kernel", "compiles", "expect", "kept", "kernel", "kernels", "when_compiling"]

F = TypeVar("F")

#: Steps of some seven microseconds of plain Python each: as long as reading compiled code takes.
ENOUGH = 100_000

_CHOICES = ("auto", "always", "never")


class _Decision:
    """Whether kernels of this process are compiled."""

    def __init__(self) -> None:
        chosen = os.environ.get("SEARS_COMPILE", "auto")
        if chosen not in _CHOICES:
            raise UsageError(
                f"SEARS_COMPILE is {chosen!r}", help=f"set it to one of {', '.join(_CHOICES)}"
            )
        # numba's own switch: with it the code would run as plain Python anyway.
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            chosen = "never"
        self.compiled = chosen == "always"
        self.open = chosen == "auto"
        self.announced = 0
        self.kept = True
        self.tell: Callable[[], object] | None = None


_decision = _Decision()
_made: list[Kernel] = []


def expect(steps: int) -> None:
    """Announce work, before the kernels are called that do it.

    Args:
        steps: how often the innermost loops will run, roughly.
    """
    if _decision.open:
        _decision.announced += steps
        if _decision.announced > ENOUGH:
            _decision.compiled, _decision.open = True, False


def compiles() -> bool:
    """Whether kernels called now run compiled."""
    return _decision.compiled


def when_compiling(tell: Callable[[], object] | None) -> None:
    """Have it told, once, when a kernel is about to be compiled since its code is not on disk.

    Args:
        tell: called in the thread that compiles; None for nobody.
    """
    _decision.tell = tell


def kept() -> bool:
    """Whether there is a folder in which compiled code is kept for later runs."""
    return _decision.kept


@functools.cache
def _listen() -> None:
    """Pass on what numba says when it compiles."""
    from numba.core import event as events  # noqa: PLC0415 - half a second to import

    class Compilations(events.Listener):
        def on_start(self, event: Any) -> None:
            tell, compiled = _decision.tell, event.data["dispatcher"]
            # Models may have numba compile things of their own.
            if tell is not None and any(compiled is each._dispatcher for each in _made):
                _decision.tell = None
                tell()

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    events.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]


class Kernel:
    """A function over arrays, plain or compiled; made by `kernel`.

    Attributes:
        plain: the function as it was written.
    """

    def __init__(self, function: FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.plain = function
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives.

        Raises:
            SearsError: compiled code could not be written to disk.
        """
        if not _decision.compiled:
            return self.plain(*arguments)
        try:
            return self.dispatcher()(*arguments)
        except OSError as error:
            raise SearsError(
                f"compiled code could not be kept on disk: {error.strerror or error}",
                help="set NUMBA_CACHE_DIR to a folder with some megabytes of room",
            ) from error

    @property
    def misses(self) -> int:
        """How often it had to be compiled in this process, since no code was on disk."""
        if self._dispatcher is None:
            return 0
        return sum(self._dispatcher.stats.cache_misses.values())

    @property
    def used(self) -> bool:
        """Whether it is compiled and has code."""
        return self._dispatcher is not None and bool(self._dispatcher.signatures)

    def dispatcher(self) -> Any:
        """Numba's compiled form, which compiles (or reads from disk) when it is called."""
        if self._dispatcher is None:
            self._dispatcher = self._compiled()
        return self._dispatcher

    def _compiled(self) -> Any:
        import numba  # noqa: PLC0415 - half a second to import

        _listen()
        source = self.plain
        # Compiled code calls other kernels in their compiled form: those stand in place of them
        # among the globals of a copy of the function.
        names = dict(source.__globals__)
        copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
        copy.__module__ = source.__module__
        # Under this name the code lies on disk: numba looks whether the file of a function has
        # changed, but code of kernels that it calls, and numbers of other modules, are in it too.
        copy.__qualname__ = f"{source.__qualname__}-{_fingerprint(self)}"
        try:
            compiled: Any = numba.njit(cache=True, nogil=True)(copy)
        except RuntimeError:
            # Neither the package nor the user has a folder that can be written: compiled each time.
            _decision.kept = False
            compiled = numba.njit(nogil=True)(copy)
        self._dispatcher = compiled
        for name in source.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].dispatcher()
        return compiled


def _fingerprint(kernel: Kernel) -> str:
    """A hash of all that the compiled code of a kernel is made of."""
    digest = blake2b(digest_size=6)
    waiting, seen = [kernel], {kernel}
    for each in waiting:
        function = each.plain
        code = function.__code__
        digest.update(repr((function.__qualname__, code.co_code, code.co_consts)).encode())
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, Kernel):
                if value not in seen:
                    seen.add(value)
                    waiting.append(value)
            elif isinstance(value, int | float | str | tuple):
                digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()


def kernels() -> Sequence[Kernel]:
    """All kernels of the modules that were imported so far."""
    return tuple(_made)


def kernel(function: F) -> F:
    """Make a function a kernel.

    It may use NumPy, numbers, and other kernels; numbers must not rely on wrapping around.

    Example:
        >>> import numpy as np
        >>> @kernel
        ... def total(values):
        ...     found = np.int64(0)
        ...     for value in values:
        ...         found += value
        ...     return found
        >>> int(total(np.arange(4)))
        6
    """
    made = Kernel(cast(FunctionType, function))
    _made.append(made)
    return cast(F, made)
