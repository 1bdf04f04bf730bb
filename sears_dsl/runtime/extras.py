"""What an extra brings, asked for before anything that needs it is imported.

In: what is to be done. Out: nothing, or an error that says what to install. Costs a look at the
folders of installed packages; nothing is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from sears_dsl.errors import UsageError

_DISCOVERY = ("torch", "transformers", "sentencepiece", "pydantic")
_AUDIT = ("pydantic",)
_VETTING = ("starlette", "uvicorn")


def need_discovery() -> None:
    """Discovery is installed.

    Raises:
        UsageError: it is not; says which packages are missing and how to get them.
    """
    _need(_DISCOVERY, "discovery")


def need_audit() -> None:
    """What audits are read and written with is installed.

    Raises:
        UsageError: it is not; says which packages are missing and how to get them.
    """
    _need(_AUDIT, "audit")


def need_vetting() -> None:
    """The web framework of the vetting page is installed.

    Raises:
        UsageError: it is not; says which packages are missing and how to get them.
    """
    _need(_VETTING, "vet")


def need_frames() -> None:
    """The library of data frames is installed.

    Raises:
        UsageError: it is not; says how to get it.
    """
    _need(("pandas",), "pandas")


def need_plots() -> None:
    """The library that draws is installed.

    Raises:
        UsageError: it is not; says how to get it.
    """
    _need(("matplotlib",), "plots")


def _need(packages: Sequence[str], extra: str) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"this needs {', '.join(missing)}, which the core does without",
            help=f"pip install 'sears-dsl[{extra}]'",
        )
