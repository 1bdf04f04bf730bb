"""``sears warm-up``: compile the inner loops now, not in the middle of the first large run."""

from __future__ import annotations

import time

import click

from sears_dsl.cli.console import counted

__all__ = ["warm_up_command"]


@click.command("warm-up", epilog="Example: sears warm-up")
def warm_up_command() -> None:
    """Compile the inner loops once, about half a minute.

    Without it the first run over more than some hundred rows does so. Needed anew after an update
    of sears or numba, and on another kind of processor.
    """
    from sears_dsl.engine.warming import warm_up

    started = time.monotonic()
    compiled, kernels = warm_up()
    seconds = time.monotonic() - started
    if compiled:
        click.echo(f"{counted(compiled, 'kernel')} of {kernels} compiled in {seconds:.0f} s")
    else:
        click.echo(f"all {kernels} kernels were compiled already")
