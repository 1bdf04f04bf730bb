"""Writing a file so that there is never a half one, and by one process at a time.

In: a path and its content. Out: the file, written beside its place, synced, then renamed. Always
holds: the path has its old content or the whole new one; a symbolic link stays and its target is
written; an existing file keeps its mode, a new one has that of the user's umask. What cannot be
replaced (a device, a pipe) is written as it is. A file gets a new inode, so other hard links to it
keep the old content, and it belongs to whoever writes it. Costs a sync of file and folder. No
`lock` outlives a killed process: the system lets go of it when its holder ends in any way.
"""

from __future__ import annotations

import functools
import os
import secrets
import stat
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from sears_dsl.errors import DataError

#: Which file it is, how long, and when it was last changed; None where there is none.
FileState: TypeAlias = tuple[int, int, int] | None

# By whether the file is new.
_OPENERS = {
    new: functools.partial(os.open, mode=rights) for new, rights in ((True, 0o666), (False, 0o600))
}


def state_of(path: str | Path) -> FileState:
    """What tells whether somebody else wrote a file in the meantime."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def write_atomically(path: Path, content: bytes, *, replacing: bytes | None = None) -> None:
    """Give ``path`` this content, entirely or not at all.

    Args:
        path: where; of a symbolic link, its target.
        replacing: what has to stand there before, if that matters.
    """
    temporary = None
    try:
        status = path.stat() if path.exists() else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            path.write_bytes(content)
            return
        place = Path(os.path.realpath(path))
        # A name that nobody knows and that is not there: no link is followed. What was private is
        # so from the first byte on.
        beside = place.with_name(f".{secrets.token_hex(8)}.sears-new")
        with open(beside, "xb", opener=_OPENERS[status is None]) as file:
            temporary = beside
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            os.chmod(temporary, stat.S_IMODE(status.st_mode))
        if replacing is not None and place.read_bytes() != replacing:
            raise DataError(
                f"{path} was changed by somebody else in the meantime, and is left as it is",
                help="run the command again",
            )
        os.replace(temporary, place)
        sync_folder(place.parent)
    except OSError as error:
        if isinstance(error, IsADirectoryError):
            raise DataError(f"{path} is a folder", help="name a file") from error
        raise DataError(
            f"{path} could not be written: {error.strerror}",
            help="make room or choose another place; what was there before is untouched",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last; Windows has no way to ask for it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
