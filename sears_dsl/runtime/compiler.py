"""Compiling beside the work: another process does it, and leaves the code on disk.

In: the folder of compiled code. Out: whether all of it is there. Always holds: of all processes
that want the code in a folder one compiles and the others wait for it, and where it ends before it
is done another one goes on from there, since each kernel is kept when it is compiled; the compiling
process ends with the one that wanted it. Costs a core for the minute that compiling takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from sears_dsl.errors import SearsError
from sears_dsl.runtime.files import take_lock

_LOCK = "compiling.lock"
_LOOK_SECONDS = 0.1


class Compiler:
    """A process that compiles what most runs call into a folder, which can be written."""

    def __init__(self, folder: Path) -> None:
        from sears_dsl.runtime.processes import Children  # noqa: PLC0415 - few want it

        ready = "sears_dsl.runtime.compiler:compiled"
        self._process = Children(
            ready, (str(folder),), jobs=1, error=SearsError, doing="compiles the inner loops"
        )

    def is_done(self, *, wait: bool) -> bool:
        """Whether everything is compiled; the process has ended then.

        It is done, too, where it could not compile or died: whoever tries it then learns why.
        """
        try:
            if wait:
                self._process.ask([None])
            if not self._process.ready:
                return False
        except SearsError:
            pass
        self._process.close()
        return True


def compiled(folder: str) -> Callable[[None], None]:
    """In the process: compile what most runs call, when nobody else is compiling it.

    The kernels for very many rules are left to runs that have so many: others would wait for them.
    """
    while (lock_file := take_lock(Path(folder, _LOCK))) is None:
        time.sleep(_LOOK_SECONDS)
    with lock_file:
        import_module("sears_dsl.engine.warming").compile_usual()
    return _answer


def _answer(_question: None) -> None:
    """Whoever asks wants to know that it is done."""
