"""The ``sears`` command: its sub-commands, their options from the project file, and its errors.

Always holds: the command line wins over the project file; an error that mentions a value of that
file says under which key it stands; without a project file nothing is different.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl import __version__
from sears_dsl.errors import DataError, SearsError
from sears_dsl.runtime.files import is_folder, is_there

if TYPE_CHECKING:
    from sears_dsl.project.choices import Choices
    from sears_dsl.project.file import Project

#: Commands by purpose, in the order in which a user meets them: the place of each, and its line in
#: `sears --help`, which so imports none of them. A command with an empty line is not listed.
_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Write rules": {
        "check": ("rules.check:check_command", "Find all mistakes in rule files."),
        "fmt": ("rules.fmt:fmt_command", "Format rule files."),
        "test": ("rules.test:test_command", "Run the tests in rule files."),
        "try": ("rules.try_:try_command", "Try a rule on a text, without a file."),
        "explain": ("rules.explain:explain_command", "Explain why a rule fires in a text, or not."),
        "diff": ("rules.diff:diff_command", "Compare two versions of a rule file."),
        "rules": ("rules.catalogue:rules_command", "List the shipped rulesets, or show one."),
    },
    "Use rules on data": {
        "apply": ("apply:apply_command", "Apply rules to a dataset."),
        "generate": ("rules.generate:generate_command", "Write the sentences of templates."),
        "export": ("model.export:export_command", "Turn rules and rows into a CheckList suite."),
    },
    "Find a model's bugs": {
        "discover": ("model.discover:discover_command", "Find the rules that flip a model most."),
        "adversaries": (
            "model.adversaries:adversaries_command",
            "Find paraphrases of single rows that flip a model.",
        ),
        "vet": ("model.vet:vet_command", "Open a page where people judge rules."),
        "vetted": ("model.vetted:vetted_command", "Merge the decisions of several reviewers."),
    },
    "Measure and repair a model": {
        "audit": (
            "model.audit:audit_command",
            "Measure what rules do to a model, as a gate for CI.",
        ),
        "compare": ("model.compare:compare_command", "Compare two or more audits."),
        "errors": ("model.errors:errors_command", "Learn what predicts a model's errors."),
        "augment": ("model.augment:augment_command", "Add rewritten rows to training data."),
        "fix": ("model.fix:fix_command", "Retrain a model on rewritten rows, measure the effect."),
    },
    "Set up": {
        "init": ("init:init_command", "Write sears.toml, so commands need fewer options."),
        "trust": ("trust:trust_command", "Allow commands to ask the models in sears.toml."),
        "warm-up": ("warm_up:warm_up_command", "Compile ahead what the first large run needs."),
        "lsp": ("rules.lsp:lsp_command", "Run the language server for editors."),
        "score": ("model.score:score_command", "Score how well rewrites keep the meaning."),
        "calibrate": ("model.calibrate:calibrate_command", "Fit the threshold τ of a score."),
        "pivots": ("pivots:pivots_group", "List, pull or verify translation models."),
        "models": ("pivots:former_models_command", ""),
        "cache": ("cache:cache_group", "Show or empty the cache of tagged texts."),
    },
}
_COMMANDS = {name: place for group in _GROUPS.values() for name, (place, _) in group.items()}

# Arguments that hold rules → how many of their words name rows.
_RULES = {"rules": 0, "rules_and_input": 1, "rules_and_data": 1}
_NAMES = ("--model", "--data", "--train")
_FILLED = f"{__name__}.filled"
_FILE_CHOICES = f"{__name__}.file_choices"

#: Sections of a command's help → the shared options in them; its own come under Options.
_SECTIONS = {
    "Rows": (
        "data", "training", "column", "label", "also", "image", "choices", "comparison", "protect",
        "spans", "format_name", "no_header", "encoding", "limit", "sample", "id_column",
    ),
    "Model": (
        "model", "batch_size", "request_map", "response_map", "timeout", "retries", "connections",
        "on_error", "inputs",
    ),
    "Options": (),
    "Paraphrases and scores": (
        "paraphrases", "scorer", "tau", "pivots", "device", "beam", "oracle",
    ),
    "The run": (
        "jobs", "seed", "engine", "address", "workers", "resume", "restart", "yes", "tagger",
        "no_cache", "allow_imports_outside", "quiet", "as_json", "help",
    ),
}  # fmt: skip
# Shorter lists need no sections.
_MANY = 25

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _ReaderGoneError(Exception):
    """Nobody reads the output any more; click would exit with the code of a failed gate."""


@contextmanager
def _printing() -> Iterator[None]:
    """Turn errors of printing, which name no file, into errors of ours."""
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
            help="make room where it is written, then run the command again",
        ) from error


def _print_nowhere() -> None:
    """Discard what is still to be printed, which Python would flush when it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ProjectArgument(click.Argument):
    """An argument that the project file may fill in."""

    def consume_value(self, ctx: click.Context, opts: Any) -> Any:
        """Return the value that the project file fills in, or else that of the command line."""
        filled = ctx.meta.get(_FILLED, {}).get(self.name)
        if filled is None:
            return super().consume_value(ctx, opts)
        return filled, ParameterSource.DEFAULT_MAP

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value; if rules are missing, the error says that the file may name them."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            project, _ = ctx.meta.get(_FILE_CHOICES, (None, {}))
            if self.name not in _RULES or project is None or project.fields.rulesets:
                raise
            hint = f"Name rules here, or in [rulesets] of {project.path.name}."
            raise click.MissingParameter(hint, ctx, self) from error


class ExampleCommand(click.Command):
    """A command with examples to copy, each on a line; the epilog has ``; `` between them."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, which the terminal may wrap."""
        title, _, examples = (self.epilog or "").partition(": ")
        with formatter.section(title):
            formatter.write("".join(f"  {each}\n" for each in examples.split("; ")))


class ProjectCommand(ExampleCommand):
    """A command whose options may stand in the project file; many options get headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, and take what it lacks from the project file."""
        from sears_dsl.cli.options.shared import SETTINGS_OF_EACH, TYPED
        from sears_dsl.project.file import find_project

        ctx.meta[TYPED] = tuple(args)
        wants_help = not set(ctx.help_option_names).isdisjoint(args)
        project = None if wants_help else find_project()
        if project is None:
            return super().parse_args(ctx, args)
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        from sears_dsl.project.choices import choices, settings_of_each

        user_options = _user_options(values, order, project)
        chosen = choices(project, self.name or "", user_options)
        ctx.meta[SETTINGS_OF_EACH] = settings_of_each(project, user_options)
        ctx.meta[_FILE_CHOICES] = (
            project,
            {n: each for n, each in chosen.items() if n not in user_options},
        )
        options = {
            name: option
            for option in self.params
            if isinstance(option, click.Option)
            for name in option.opts
        }
        ctx.default_map = {
            option.name or "": [value] if option.multiple and isinstance(value, str) else value
            for name, (value, _) in chosen.items()
            if (option := options.get(name)) is not None
        }
        with _telling_keys(ctx):
            ctx.meta[_FILLED] = _arguments(self, user_options, chosen)
            rest = super().parse_args(ctx, args)
        # Replace names that the file defines by what they stand for.
        for name in _NAMES:
            if name in user_options and name in chosen and name in options:
                ctx.params[options[name].name or ""] = chosen[name].value
        if "--model" in chosen:
            several = chosen["--model"].value
            for spec in several if isinstance(several, list) else [several]:
                _find_modules_of(project, spec)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _telling_keys(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        if len(options) < _MANY:
            super().format_options(ctx, formatter)
            return
        section_of = {name: title for title, names in _SECTIONS.items() for name in names}
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in _SECTIONS}
        for option in options:
            record = option.get_help_record(ctx)
            # Click gives its own option a name of its own.
            name = "help" if "--help" in option.opts else option.name or ""
            if record is not None:
                records[section_of.get(name, "Options")].append(record)
        for title, shown in records.items():
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def _user_options(
    values: Mapping[str, Any], order: list[click.Parameter], project: Project
) -> dict[str, Any]:
    """Return option → what the user gave; rules and rows are ``rules`` and ``--data``."""
    user_options: dict[str, Any] = {}
    for parameter in order:
        name = parameter.name or ""
        value = values.get(name)
        if isinstance(parameter, click.Option):
            if name == "model" and isinstance(value, list) and len(value) == 1:
                value = value[0]
            user_options[max(parameter.opts, key=len)] = value
        elif name in _RULES and isinstance(value, str):
            user_options["rules"] = (value,)
        elif name in _RULES and isinstance(value, tuple):
            rows = _RULES[name] and not (len(value) == 1 and _are_rules(value[0], project))
            user_options["rules"] = value[:-1] if rows else value
            if rows and value:
                user_options["--data"] = value[-1]
        elif isinstance(value, str):
            user_options[name] = value
    return user_options


def _are_rules(word: str, project: Project) -> bool:
    """Whether a word that stands alone names rules rather than rows."""
    from sears_dsl.catalogue import is_shipped

    if word.endswith(".sear") or is_folder(word):
        return True
    fields = project.fields
    named = word in fields.rulesets or (is_shipped(word) and not is_there(word))
    return named and word not in fields.datasets


def _arguments(
    command: click.Command, user_options: Mapping[str, Any], chosen: Choices
) -> dict[str, Any]:
    """Return the complete values of the arguments that the project file fills in."""
    filled: dict[str, Any] = {}
    for argument in command.params:
        name = argument.name or ""
        if isinstance(argument, click.Option):
            continue
        if name not in _RULES:
            if name in chosen and name not in user_options:
                filled[name] = chosen[name].value
            continue
        if not chosen.keys() & ({"rules", "--data"} if _RULES[name] else {"rules"}):
            continue
        rules = tuple(chosen["rules"].value) if "rules" in chosen else user_options.get("rules", ())
        if argument.nargs == 1:
            if len(rules) > 1:
                raise click.UsageError(
                    f"this command takes one ruleset, and {chosen['rules'].key} has "
                    f"{len(rules)}: name one of {', '.join(rules)}"
                )
            filled[name] = rules[0]
            continue
        rows = chosen["--data"].value if "--data" in chosen else user_options.get("--data")
        filled[name] = (*rules, rows) if _RULES[name] and rows is not None else rules
    return filled


def _find_modules_of(project: Project, spec: str) -> None:
    """Let modules of a model be imported from the project's folder, last on the path."""
    from sears_dsl.models.objects import is_object_name
    from sears_dsl.project.members import members, nameless

    folder, named = str(project.folder), members(nameless(spec))
    if project.folder != Path.cwd() and any(is_object_name(each.spec) for each in named):
        sys.path += [] if folder in sys.path else [folder]


@contextmanager
def _telling_keys(ctx: click.Context) -> Iterator[None]:
    """Make errors say under which keys of the project file the values stand that they mention."""
    try:
        yield
    except SearsError as error:
        origins = _origins(ctx, f"{error.message} {error.help}")
        error.help = "; ".join(filter(None, (error.help, origins))).replace("?; ", "? ")
        raise
    except click.UsageError as error:
        origins = _origins(ctx, error.message)
        if not origins:
            raise
        raise click.UsageError(f"{error.format_message()} ({origins})", ctx) from error


def _origins(ctx: click.Context, message: str) -> str:
    project, file_choices = ctx.meta.get(_FILE_CHOICES, (None, {}))
    # A message about an option names no value; its words may be values of others all the same.
    about = [choice.key for option, choice in file_choices.items()
             if message.partition(" ")[0] == option]  # fmt: skip
    if about:
        return f"in {project.path.name}: {', '.join(about)}"
    places: dict[str, str] = {}
    for option, choice in file_choices.items():
        for value in choice.value if isinstance(choice.value, list) else [choice.value]:
            # Messages name a gate, SELECTOR=RATE, by its selector.
            named = str(value).rpartition("=")[0] if option == "--gate" else str(value)
            if re.search(rf"(?<![\w./-]){re.escape(named)}(?![\w/-])", message):
                places.setdefault(str(value), choice.key)
    keys = ", ".join(f"{key} = {value!r}" for value, key in places.items())
    return f"in {project.path.name}: {keys}" if keys else ""


_PARTED = "it is read off the first line; if that goes wrong, use --format csv-semicolon"
# Options of other tools, and of other commands, that people try, and what to do instead.
_CALLED_ELSEWHERE = {
    "--delimiter": _PARTED,
    "--sep": _PARTED,
    "--separator": _PARTED,
    "--encoding": "save the file as UTF-8; only rows may have another encoding",
    "--no-header": "put a line with the column names first",
    "--text-column": "name the text column with --column",
    "--label-column": "name the label column with --label",
    "--rules": "name rules without an option, after the command",
    "--input": "name rows with --data, or without an option",
}


class _Commands(click.Group):
    """All commands in order, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, attribute = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"sears_dsl.cli.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            message = f"{error.message} Did you mean '{near[0]}'?"
            raise click.UsageError(message, ctx=error.ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List what each command does, without importing any."""
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
        from sears_dsl.cli.screen.console import say_compiling
        from sears_dsl.runtime.kernels import when_compiling

        when_compiling(say_compiling)
        try:
            with _printing():
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            known = _CALLED_ELSEWHERE.get(error.option_name)
            if known is None:
                raise
            message = f"No such option '{error.option_name}': {known}"
            raise click.UsageError(message, ctx=error.ctx) from error


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(
    cls=_Commands,
    context_settings=_SETTINGS,
    epilog="Example: sears explain paper/visual-questions 'What color is the tray?'",
)
@click.version_option(__version__, prog_name="sears")
def sears() -> None:
    """Find the small rewordings that flip an NLP model, as rules to read, test and keep.

    A rule flips a row if the model gets the row right and its rewrite wrong. RULES are .sear files,
    folders of them, or names of shipped rulesets (`sears rules`). Every command has --help.
    """


def run() -> int:
    """Do what the arguments of this process say, and return the exit code.

    Every deliberate error becomes a message and exit code 2.
    """
    try:
        # Also where another program starts it; click returns the code of a command that exits.
        return sears(prog_name="sears", standalone_mode=False) or 0
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
