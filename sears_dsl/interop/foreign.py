"""Imports a package of somebody else's, or says how to get it.

In: the name of a module. Out: the module, or an error that a person can act on. Costs the import.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sears_dsl.errors import UsageError


def imported(module: str, *, tool: str, install: str) -> Any:
    """The module, imported now; UsageError where it is not installed or cannot be imported."""
    package = module.split(".", maxsplit=1)[0]
    if find_spec(package) is None:
        raise UsageError(f"{tool} is not installed", help=install)
    try:
        return import_module(module)
    except Exception as error:  # what runs while a foreign package is imported may raise anything
        raise UsageError(
            f"{tool} is installed, but cannot be imported: {str(error).strip() or repr(error)}",
            help=f"repair it: {install}",
        ) from error
