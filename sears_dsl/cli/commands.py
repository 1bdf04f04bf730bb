"""The ``sears`` command: its sub-commands, and how errors leave it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from sears_dsl import __version__
from sears_dsl.cli.apply import apply_command
from sears_dsl.cli.cache import cache_group
from sears_dsl.cli.init import init_command
from sears_dsl.cli.model.adversaries import adversaries_command
from sears_dsl.cli.model.audit import audit_command
from sears_dsl.cli.model.augment import augment_command
from sears_dsl.cli.model.calibrate import calibrate_command
from sears_dsl.cli.model.compare import compare_command
from sears_dsl.cli.model.discover import discover_command
from sears_dsl.cli.model.errors import errors_command
from sears_dsl.cli.model.export import export_command
from sears_dsl.cli.model.fix import fix_command
from sears_dsl.cli.model.score import score_command
from sears_dsl.cli.model.vet import vet_command
from sears_dsl.cli.model.vetted import vetted_command
from sears_dsl.cli.pivots import former_models_command, pivots_group
from sears_dsl.cli.rules.catalogue import rules_command
from sears_dsl.cli.rules.check import check_command
from sears_dsl.cli.rules.diff import diff_command
from sears_dsl.cli.rules.explain import explain_command
from sears_dsl.cli.rules.fmt import fmt_command
from sears_dsl.cli.rules.generate import generate_command
from sears_dsl.cli.rules.lsp import lsp_command
from sears_dsl.cli.rules.test import test_command
from sears_dsl.cli.rules.try_ import try_command
from sears_dsl.cli.trust import trust_command
from sears_dsl.cli.warm_up import say_when_compiling, warm_up_command
from sears_dsl.errors import DataError, SearsError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _ReaderGoneError(Exception):
    """Nobody reads what is printed; click itself would end with the exit code of a failed gate."""


@contextmanager
def _printing() -> Iterator[None]:
    """Errors of what is printed, which name no file, leave as ours.

    Raises:
        _ReaderGoneError: nobody reads it.
        DataError: there is no room for it, or a standard stream is closed.
    """
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGoneError from error
    except OSError as error:
        if error.filename is None and error.errno == errno.EBADF:
            _print_nowhere()
            raise DataError(
                "standard input or output is closed",
                help="leave it open, or name files instead of -",
            ) from error
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        _print_nowhere()
        raise DataError(
            f"the output could not be written: {error.strerror}",
            help="make room where it is written to, then run the same command again",
        ) from error


def _print_nowhere() -> None:
    """Leave nothing that Python would flush when it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Commands(click.Group):
    """Lists the commands in the order in which a person meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Help and versions are printed here."""
        with _printing():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Everything else is printed here."""
        with _printing():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: sears explain paper/visual-questions 'What color is the tray?'",
)
@click.version_option(__version__, prog_name="sears")
def sears() -> None:
    """Search-and-replace rules over words and tags that find bugs in NLP models.

    RULES are .sear files, folders of them, or names of shipped rulesets (`sears rules`).
    """


for _command in (
    check_command,
    fmt_command,
    test_command,
    apply_command,
    generate_command,
    explain_command,
    try_command,
    diff_command,
    rules_command,
    discover_command,
    adversaries_command,
    vet_command,
    vetted_command,
    audit_command,
    compare_command,
    errors_command,
    augment_command,
    fix_command,
    score_command,
    calibrate_command,
    pivots_group,
    former_models_command,
    export_command,
    init_command,
    trust_command,
    lsp_command,
    cache_group,
    warm_up_command,
):
    sears.add_command(_command)


def run() -> int:
    """Do what the arguments of this process say; gives back the exit code.

    Every error on purpose leaves as a message and exit code 2.
    """
    try:
        say_when_compiling()
        sears(standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except SearsError as error:
        click.echo(f"sears: {error.render()}", err=True)
        return 2
    except _ReaderGoneError:
        _print_nowhere()  # the reader went away (`sears … | head`): there is nothing to say
    return 0
