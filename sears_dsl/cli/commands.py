"""The ``sears`` command: its sub-commands, and how errors leave it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from sears_dsl import __version__
from sears_dsl.errors import DataError, SearsError

#: Commands by what they are for, in the order in which a person meets them: where each is, and what
#: it does, so that `sears --help` imports none of them; without that it is not listed.
_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Write rules": {
        "check": ("rules.check:check_command", "Find all mistakes in rule files."),
        "fmt": ("rules.fmt:fmt_command", "Put rule files into their canonical form."),
        "test": ("rules.test:test_command", "Run the tests that rules carry."),
        "try": ("rules.try_:try_command", "Try a rule on a text, without a file."),
        "explain": ("rules.explain:explain_command", "Say why a rule fires in a text, or not."),
        "diff": ("rules.diff:diff_command", "Compare two versions of a rule file."),
        "rules": ("rules.catalogue:rules_command", "List the shipped rulesets, or show one."),
    },
    "Use rules on data": {
        "apply": ("apply:apply_command", "Apply rules to a dataset."),
        "generate": ("rules.generate:generate_command", "Write the sentences of templates."),
        "export": ("model.export:export_command", "Write rules and rows as a CheckList suite."),
    },
    "Find the bugs of a model": {
        "discover": ("model.discover:discover_command", "Find the rules that flip it most."),
        "adversaries": (
            "model.adversaries:adversaries_command",
            "Find single paraphrases that flip it.",
        ),
        "vet": ("model.vet:vet_command", "Open a page on which people judge rules."),
        "vetted": ("model.vetted:vetted_command", "Bring several reviewers' decisions together."),
    },
    "Measure and repair a model": {
        "audit": ("model.audit:audit_command", "Measure what rules do to it; a gate for CI."),
        "compare": ("model.compare:compare_command", "Set two audits, or more, side by side."),
        "errors": ("model.errors:errors_command", "Learn what predicts that it fails."),
        "augment": ("model.augment:augment_command", "Add rewritten rows to training data."),
        "fix": ("model.fix:fix_command", "Train it on rewritten rows, and measure what that does."),
    },
    "Set up": {
        "init": ("init:init_command", "Write sears.toml, so that commands need few options."),
        "trust": ("trust:trust_command", "Allow commands to ask the models in sears.toml."),
        "warm-up": ("warm_up:warm_up_command", "Compile the inner loops beforehand."),
        "lsp": ("rules.lsp:lsp_command", "Serve editors: errors, formatting, completion."),
        "score": ("model.score:score_command", "Score how far rewrites keep the meaning."),
        "calibrate": ("model.calibrate:calibrate_command", "Fit such a score to people."),
        "pivots": ("pivots:pivots_group", "Look at, pull or verify the translation models."),
        "models": ("pivots:former_models_command", ""),
        "cache": ("cache:cache_group", "Look at or empty the cache of tagged texts."),
    },
}
_COMMANDS = {name: place for group in _GROUPS.values() for name, (place, _) in group.items()}

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _ReaderGoneError(Exception):
    """Nobody reads what is printed; click itself would end with the exit code of a failed gate."""


@contextmanager
def _printing() -> Iterator[None]:
    """Errors of what is printed, which name no file, leave as ours."""
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
    """All commands in their order, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, attribute = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"sears_dsl.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each does, for which no command is imported."""
        widest = max(map(len, _COMMANDS))
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(widest), line) for name, (_, line) in group.items() if line]
                )

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Help and versions are printed here."""
        with _printing():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Everything else is printed here."""
        from sears_dsl.cli.options.shared import say_when_compiling

        say_when_compiling()
        with _printing():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: sears explain paper/visual-questions 'What color is the tray?'",
)
@click.version_option(__version__, prog_name="sears")
def sears() -> None:
    """Find the small rewordings that flip an NLP model, as rules to read, test and keep.

    RULES are .sear files, folders of them, or names of shipped rulesets (`sears rules`). Every
    command has --help.
    """


def run() -> int:
    """Do what the arguments of this process say; gives back the exit code.

    Every error on purpose leaves as a message and exit code 2.
    """
    try:
        sears(prog_name="sears", standalone_mode=False)  # also where another program starts it
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
