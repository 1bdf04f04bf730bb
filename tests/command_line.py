"""``sears`` as a user types it: what it prints and its exit code, without a process for each run.

Tests of signals, of closed streams and of what is imported need a process and start one.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from sears_dsl.cli.commands import sears
from sears_dsl.cli.main import main
from sears_dsl.runtime.interrupts import USUAL


def call(
    *arguments: str, folder: Path, stdin: str | bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``sears`` in a folder, from its entry point on, with streams of its own."""
    with contextlib.chdir(folder), CliRunner().isolation(stdin) as (out, err, _):
        code = exit_code(["sears", *arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        printed, told = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(["sears", *arguments], code, printed, told)


def run(*arguments: str) -> Result:
    """Run a command in the current folder; what it raises is in the result as it was raised."""
    return CliRunner().invoke(sears, arguments, standalone_mode=False)


def exit_code(words: Sequence[str]) -> int:
    """Run ``sears``, undo its changes to the process, and return its exit code."""
    handlers = {number: signal.getsignal(number) for number in USUAL}
    before, sys.argv = sys.argv, list(words)
    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    finally:
        sys.argv = before
        with contextlib.suppress(ValueError):  # in a thread, where `main` leaves them as they are
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return 0
