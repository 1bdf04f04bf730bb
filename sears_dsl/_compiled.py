"""Kernels: plain functions over arrays, compiled once there is enough work to repay it.

In: a function of arrays and numbers. Out: a `Kernel`, called like it. Always holds: what a
kernel gives depends on its arguments alone, and is the same compiled and plain; compiled kernels
do not hold the GIL, so that blocks of rows may run in threads. This module is the only user of
numba, which it imports when a kernel is first compiled.
Costs: reading compiled kernels from disk takes most of a second, compiling them half a minute
where they were never compiled before. Ten rows are done sooner by the plain functions. So whoever
calls kernels says beforehand how much there is to do (`expect`), and a process that has announced
more than `ENOUGH` steps goes over to compiled code for good. The environment variable
SEARS_COMPILE decides otherwise: ``always`` or ``never``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

from sears_dsl.errors import UsageError

__all__ = ["ENOUGH", "Kernel", "compiles", "expect", "kernel"]

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


_decision = _Decision()


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


class Kernel:
    """A function over arrays, plain or compiled; made by `kernel`.

    Attributes:
        plain: the function as it was written.
    """

    def __init__(self, function: FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.plain: Callable[..., Any] = function
        self._function = function
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        if _decision.compiled:
            return self.dispatcher()(*arguments)
        return self.plain(*arguments)

    def dispatcher(self) -> Any:
        """Numba's compiled form, which compiles (or reads from disk) when it is called."""
        if self._dispatcher is None:
            self._dispatcher = self._compiled()
        return self._dispatcher

    def _compiled(self) -> Any:
        import numba  # noqa: PLC0415 - half a second to import

        source = self._function
        # Compiled code calls other kernels in their compiled form: those stand in place of them
        # among the globals of a copy of the function.
        names = dict(source.__globals__)
        copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
        copy.__module__ = source.__module__
        copy.__qualname__ = source.__qualname__
        try:
            compiled: Any = numba.njit(cache=True, nogil=True)(copy)
        except RuntimeError:
            # Neither the package nor the user has a folder that can be written: compiled each time.
            compiled = numba.njit(nogil=True)(copy)
        self._dispatcher = compiled
        for name in source.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].dispatcher()
        return compiled


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
    return cast(F, Kernel(cast(FunctionType, function)))
