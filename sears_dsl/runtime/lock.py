"""One process at a time: a lock on an open file.

In: a file that is open. Out: whether it is ours now. Always holds: the system lets go of a lock
when its holder closes the file or ends in any way, so that no lock outlives a killed process.
Windows and some network file systems have no such locks: there every caller is told that the file
is its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def lock(descriptor: int) -> bool:
    """Take the lock of an open file, or say that another process has it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     lock(file.fileno())
        True
    """
    try:
        locking: Any = import_module("fcntl")
    except ImportError:
        return True
    try:
        locking.flock(descriptor, locking.LOCK_EX | locking.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
