"""Writing a file so that there is never a half one: beside its place, synced, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sears_dsl.errors import DataError

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Give ``path`` this content, entirely or not at all; its mode is kept where it exists.

    Raises:
        DataError: the folder is missing or not writable, or the disk is full.
    """
    temporary = None
    try:
        mode = path.stat().st_mode if path.exists() else None
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode if mode is not None else 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise DataError(
            f"{path} could not be written: {error.strerror}",
            help="make room or choose another place; what was there before is untouched",
        ) from error
