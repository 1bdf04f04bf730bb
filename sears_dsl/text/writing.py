"""Writing a file so that there is never a half one: beside its place, synced, then renamed."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from sears_dsl.errors import DataError

__all__ = ["write_atomically"]


# By whether the file is new.
_OPENERS = {
    new: functools.partial(os.open, mode=rights) for new, rights in ((True, 0o666), (False, 0o600))
}


def write_atomically(path: Path, content: bytes) -> None:
    """Give ``path`` this content, entirely or not at all.

    Its mode is kept where it exists; a new file has the one that the user's umask gives.

    Raises:
        DataError: the folder is missing or not writable, or the disk is full.
    """
    temporary: Path | None = None
    try:
        mode = path.stat().st_mode if path.exists() else None
        beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
        # A name that nobody knows and that is not there: no link is followed. What was private is
        # so from the first byte on.
        with open(beside, "xb", opener=_OPENERS[mode is None]) as file:
            temporary = beside
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise DataError(
            f"{path} could not be written: {error.strerror}",
            help="make room or choose another place; what was there before is untouched",
        ) from error
