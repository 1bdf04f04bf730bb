"""Compiling the inner loops: ``sears warm-up`` does it ahead, other commands say that they do it.

Always holds: what is said goes to standard error, once in a run, and only where there is no
compiled code on disk.
"""

from __future__ import annotations

import sys
import time

import click

from sears_dsl.runtime.wording import counted

_COMPILING = "compiling the inner loops, up to half a minute"
_NOWHERE = "no folder could be written to keep them"
_FOLDER = "set NUMBA_CACHE_DIR to one"


def say_when_compiling() -> None:
    """Let nobody wait for the compiler without knowing it."""
    from sears_dsl.runtime.kernels import when_compiling

    when_compiling(_say)


def quietly(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    """The callback of ``--quiet``: the compiler is not spoken of either."""
    from sears_dsl.runtime.kernels import when_compiling

    if quiet:
        when_compiling(None)
    return quiet


def _say() -> None:
    from sears_dsl.runtime.kernels import compiles_beside, keeps_code

    advice = (
        "once; `sears warm-up` does it beforehand"
        if keeps_code()
        else f"in every run: {_NOWHERE}; {_FOLDER}"
    )
    if compiles_beside():
        advice = f"{advice}; the work goes on meanwhile, slowly"
    # Where a progress bar stands, it has taken the place of this stream, and makes room.
    sys.stderr.write(f"{_COMPILING} ({advice})\n")


@click.command("warm-up", epilog="Example: sears warm-up")
def warm_up_command() -> None:
    """Compile the inner loops once, about half a minute.

    Otherwise the first run over more than some hundred rows does so, in a process beside its work.
    It is needed again after an update of sears or numba, and on another kind of processor. What is
    compiled is kept beside the package, else in the cache folder of the user, or in the folder that
    NUMBA_CACHE_DIR names.
    """
    from sears_dsl.engine.warming import warm_up
    from sears_dsl.errors import UsageError
    from sears_dsl.runtime.kernels import keeps_code, when_compiling

    when_compiling(lambda: click.echo(_COMPILING, err=True))
    started = time.monotonic()
    compiled = warm_up()
    seconds = time.monotonic() - started
    if not keeps_code():
        raise UsageError(f"the inner loops were compiled in vain: {_NOWHERE}", help=_FOLDER)
    if compiled:
        click.echo(f"{counted(compiled, 'kernel')} compiled in {seconds:.0f} s")
    else:
        click.echo("all kernels were compiled already")
