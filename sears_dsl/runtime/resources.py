"""Finds the files that ship with the package: the grammar and the rulesets.

In a wheel they lie inside the package, in a checkout (editable installs too) beside it.
"""

from __future__ import annotations

from pathlib import Path

from sears_dsl.errors import SearsError

_PACKAGE = Path(__file__).resolve().parents[1]


def resource_folder(name: str) -> Path:
    """The folder ``grammar`` or ``rulesets`` of this installation."""
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise SearsError(
        f"this installation of sears-dsl has no folder `{name}`",
        help="install it again: pip install --force-reinstall sears-dsl",
    )
