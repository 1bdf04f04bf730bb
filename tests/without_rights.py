"""Removes a user's rights to read or write, also where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of pytest."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o777)
        yield folder


@contextmanager
def without_rights() -> Iterator[None]:
    """Run as a user who is not root; needed modules have to be imported before."""
    if os.geteuid():
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
