"""Runs a step of training as a command: what is wrong with its input is a sentence.

In: the function that a step begins with. Out: its end, or a line on the standard error and the exit
code 2. Always holds: an error that nobody expects keeps its traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from sears_dsl.errors import DataError, SearsError


def run(step: Callable[[], None]) -> None:
    """Run a step; what it cannot read, write or use ends it with code 2.

    Raises:
        SystemExit: with code 2, after a line that says what is wrong.
    """
    try:
        try:
            step()
        except OSError as error:
            if error.filename is None:
                raise
            raise DataError(
                f"{error.filename}: {error.strerror}",
                help="name a file or folder that is there, and that you may read or write",
            ) from error
    except SearsError as error:
        sys.stderr.write(f"error: {error.render()}\n")
        raise SystemExit(2) from error
