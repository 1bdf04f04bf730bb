"""What an extra brings, asked for before anything that needs it is imported.

In: the name of an extra. Out: nothing, or an error that says what to install. Costs a look at the
folders of installed packages; nothing is imported.
"""

from __future__ import annotations

from importlib.util import find_spec

from sears_dsl.errors import UsageError

__all__ = ["need_discovery"]

_DISCOVERY = ("torch", "transformers", "sentencepiece", "pydantic")


def need_discovery() -> None:
    """Discovery is installed.

    Raises:
        UsageError: it is not; says which packages are missing and how to get them.
    """
    missing = [package for package in _DISCOVERY if find_spec(package) is None]
    if missing:
        raise UsageError(
            f"this command needs {', '.join(missing)}, which the core does without",
            help="pip install 'sears-dsl[discovery]'",
        )
