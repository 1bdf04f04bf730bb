"""``sears`` as a user types it: what it prints and its exit code, without a process for each run.

Tests of signals, of closed streams and of what is imported need a process and start one.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from sears_dsl.cli.main import main


def call(
    *arguments: str, folder: Path, stdin: str | bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``sears`` in a folder, from its entry point on, with streams of its own."""
    before, code = sys.argv, 0
    with contextlib.chdir(folder), CliRunner().isolation(stdin) as (out, err, _):
        sys.argv = ["sears", *arguments]
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        finally:
            sys.argv = before
        sys.stdout.flush()
        sys.stderr.flush()
        printed, told = out.getvalue().decode(), err.getvalue().decode()
    return subprocess.CompletedProcess(["sears", *arguments], code, printed, told)
