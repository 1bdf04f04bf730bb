r"""Small documents that come from elsewhere, read as data and nothing else; folders of our own.

In: a path, or text. Out: bytes, or what JSON says; a folder. Always holds: only a regular file is
read (a pipe would wait for ever, a device would never end), and no more of it than the bound; JSON
that is nested too deeply is as wrong as JSON that does not close; nothing that stands in a document
is imported, called or opened; a folder of our own leads nowhere else. Whoever asks tells what to do
about it. Costs reading the file once.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

__all__ = ["MOST_BYTES", "make_private_folder", "parse_json", "read_document"]

MOST_BYTES = 256 * 1024 * 1024
"""What a document may have: manifests and audits of a hundred thousand rules stay far below."""


def read_document(path: Path, *, most: int = MOST_BYTES) -> bytes:
    r"""The content of a file.

    Args:
        path: the file.
        most: how many bytes it may have.

    Raises:
        OSError: it is not there, is no regular file, is too large, or cannot be read; its
            ``strerror`` is a sentence for people.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.json")
        ...     _ = path.write_bytes(b"[1]")
        ...     read_document(path)
        b'[1]'
    """
    # Without waiting: a pipe that nobody writes to opens at once, and is then refused.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20:,} MiB", str(path))
    return content


_BINARY = getattr(os, "O_BINARY", 0)


def parse_json(content: bytes | str) -> Any:
    """What JSON says.

    Raises:
        ValueError: it is no JSON, or one that is nested too deeply.

    Example:
        >>> parse_json('{"a": 1}')
        {'a': 1}
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        ...
        ValueError: it is nested too deeply
    """
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def make_private_folder(folder: Path) -> None:
    """Make a folder for what a run keeps until it is done, or take one that is there.

    A new one is for this user alone. Unfinished runs come along with other people's files, so one
    that is there must lead nowhere: what is written into it, or removed, lies in it.

    Raises:
        OSError: it cannot be made, or is or holds a link.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or any(each.is_symlink() for each in folder.iterdir()):
        raise OSError(
            errno.ELOOP,
            f"{folder.name} is or holds a link to another place; remove it",
            str(folder),
        )
