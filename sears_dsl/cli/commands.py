"""The ``sears`` command: its sub-commands, and how errors leave it."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from sears_dsl import __version__
from sears_dsl.errors import DataError, SearsError

#: Commands in the order in which a person meets them: where each is, and the first line of its
#: help, so that `sears --help` imports none of them; without a line it is not listed.
_COMMANDS = {
    "check": ("rules.check:check_command", "Find what is wrong in rule files, all of it at once."),
    "fmt": ("rules.fmt:fmt_command", "Put rule files into their canonical form."),
    "test": ("rules.test:test_command", "Run the tests that rules carry."),
    "apply": ("apply:apply_command", "Apply rules to a dataset."),
    "generate": (
        "rules.generate:generate_command",
        "Write the sentences of templates: text, label, template, and a column for each slot.",
    ),
    "explain": (
        "rules.explain:explain_command",
        "Why a rule fires in a sentence, or which token stops it.",
    ),
    "try": (
        "rules.try_:try_command",
        "Apply a rule that is given in place, or say why it does not fire.",
    ),
    "diff": (
        "rules.diff:diff_command",
        "Compare two versions of a ruleset: rules and templates added, removed, changed, renamed.",
    ),
    "rules": (
        "rules.catalogue:rules_command",
        "List the shipped rulesets; with NAMES, show the rules in them.",
    ),
    "discover": (
        "model.discover:discover_command",
        "Find the few rules that make a model fail most without changing the meaning.",
    ),
    "adversaries": (
        "model.adversaries:adversaries_command",
        "Write paraphrases that flip the model: of each row that it has right, the best.",
    ),
    "vet": (
        "model.vet:vet_command",
        "Judge rules in a page on this machine, write rules, pick adversaries; or read templates.",
    ),
    "vetted": (
        "model.vetted:vetted_command",
        "Bring journals of reviewers together: how far they agree, and the ruleset they leave.",
    ),
    "audit": ("model.audit:audit_command", "Measure what rules do to a model, and judge it."),
    "compare": (
        "model.compare:compare_command",
        "Set two audits of the same rows side by side: two models, or two versions of one.",
    ),
    "errors": (
        "model.errors:errors_command",
        "Learn what predicts that a model fails, and say how well it does.",
    ),
    "augment": ("model.augment:augment_command", "Add rewrites of its own rows to training data."),
    "fix": (
        "model.fix:fix_command",
        "Train a model again on rewritten rows, and report what that repairs.",
    ),
    "score": (
        "model.score:score_command",
        "Score how far rewrites still mean what their originals mean.",
    ),
    "calibrate": (
        "model.calibrate:calibrate_command",
        "Find the threshold τ that human judgements ask for, and how well a scorer "
        "agrees with them.",
    ),
    "pivots": (
        "pivots:pivots_group",
        "Look at, pull or verify the models that discovery translates and compares with.",
    ),
    "models": ("pivots:former_models_command", ""),
    "export": (
        "model.export:export_command",
        "Write a CheckList suite: a test for each rule, a test case for each row that it changes.",
    ),
    "init": (
        "init:init_command",
        "Write sears.toml: the model, the rows and the rules that commands are about.",
    ),
    "trust": (
        "trust:trust_command",
        "Agree that commands ask the models that the project file names.",
    ),
    "lsp": (
        "rules.lsp:lsp_command",
        "Check and format rule files in an editor that speaks the Language Server Protocol.",
    ),
    "cache": ("cache:cache_group", "Look at or empty the cache of tagged texts."),
    "warm-up": ("warm_up:warm_up_command", "Compile the inner loops once, about half a minute."),
}

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


class _OnDemand(MutableMapping[str, click.Command]):
    """The commands by their names, each imported when it is asked for."""

    def __init__(self) -> None:
        self._commands: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._commands:
            module, attribute = _COMMANDS[name][0].split(":")
            self._commands[name] = getattr(import_module(f"sears_dsl.cli.{module}"), attribute)
        return self._commands[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _InOrder(click.Group):
    """Lists commands in the order in which they were given."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class _Commands(_InOrder):
    """All commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first lines, for which no command is imported."""
        lines = {name: line for name, (_, line) in _COMMANDS.items() if line}
        listed = {name: click.Command(name, help=line) for name, line in lines.items()}
        _InOrder(commands=listed).format_commands(ctx, formatter)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Help and versions are printed here."""
        with _printing():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Everything else is printed here."""
        from sears_dsl.cli.warm_up import say_when_compiling

        say_when_compiling()
        with _printing():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    commands=_OnDemand(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: sears explain paper/visual-questions 'What color is the tray?'",
)
@click.version_option(__version__, prog_name="sears")
def sears() -> None:
    """Search-and-replace rules over words and tags that find bugs in NLP models.

    RULES are .sear files, folders of them, or names of shipped rulesets (`sears rules`).
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
