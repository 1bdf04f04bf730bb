"""``sears warm-up``: compiles the inner loops ahead; other commands say when they do so."""

from __future__ import annotations

import time

import click

from sears_dsl.cli.screen.console import COMPILING, NAME_FOLDER, NO_FOLDER
from sears_dsl.errors import UsageError, counted


@click.command("warm-up", epilog="Example: sears warm-up")
def warm_up_command() -> None:
    """Compile the inner loops once; it takes a minute or two.

    Otherwise the first run over more than some hundred rows does so, in a process beside its work.
    Run this again after an update of sears or numba, or on another kind of processor. The compiled
    code is kept beside the package, else in your cache folder, or in the folder that
    NUMBA_CACHE_DIR names.
    """
    from sears_dsl.engine.warming import warm_up
    from sears_dsl.runtime.kernels import keeps_code, when_compiling

    when_compiling(lambda: click.echo(COMPILING, err=True))
    started = time.monotonic()
    compiled = warm_up()
    seconds = time.monotonic() - started
    if not keeps_code():
        raise UsageError(f"the compiled inner loops are lost: {NO_FOLDER}", help=NAME_FOLDER)
    if compiled:
        click.echo(f"{counted(compiled, 'kernel')} compiled in {seconds:.0f} s")
    else:
        click.echo("all kernels are compiled already")
