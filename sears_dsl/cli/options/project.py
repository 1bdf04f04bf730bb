"""Commands that take from the project file what they are not told.

Always holds: what stands on the command line wins; an error in which a value of the project file
occurs says where that stands; where there is no project file nothing is different.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.errors import SearsError

if TYPE_CHECKING:
    from sears_dsl.project.choices import Choices
    from sears_dsl.project.file import Project

# Arguments that hold rules, and how many of their words are rows.
_RULES = {"rules": 0, "rules_and_input": 1, "rules_and_data": 1}
_NAMES = ("--model", "--data", "--train")
_FILLED = f"{__name__}.filled"
_FILE_CHOICES = f"{__name__}.file_choices"

#: Options that many commands share, under what they are about; a command's own come between.
_SECTIONS = {
    "Rows": (
        "data", "train", "column", "label", "also", "image", "choices", "compare", "protect",
        "spans", "input_format", "limit", "sample", "id_column",
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


class ProjectArgument(click.Argument):
    """An argument that the project file may fill in."""

    def consume_value(self, ctx: click.Context, opts: Any) -> Any:
        """What the project file makes of it, else what stands on the command line."""
        filled = ctx.meta.get(_FILLED, {}).get(self.name)
        if filled is None:
            return super().consume_value(ctx, opts)
        return filled, ParameterSource.DEFAULT_MAP


class ProjectCommand(click.Command):
    """A command whose options may stand in the project file, with headings where they are many."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The values of the command line, and where there are none those of the project file."""
        from sears_dsl.project.file import find_project

        wants_help = not set(ctx.help_option_names).isdisjoint(args)
        project = None if wants_help else find_project()
        if project is None:
            return super().parse_args(ctx, args)
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        from sears_dsl.project.choices import choices

        user_options = _user_options(values, order, project)
        chosen = choices(project, self.name or "", user_options)
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
            options[name].name or "": _listed(each.value, options[name])
            for name, each in chosen.items()
            if name in options
        }
        with _telling_keys(ctx):
            ctx.meta[_FILLED] = _arguments(self, user_options, chosen)
            rest = super().parse_args(ctx, args)
        # Names that the file defines, in the place of what they stand for.
        for name in _NAMES:
            if name in user_options and name in chosen and name in options:
                ctx.params[options[name].name or ""] = chosen[name].value
        if "--model" in chosen:
            several = chosen["--model"].value
            for spec in several if isinstance(several, list) else [several]:
                _find_modules_of(project, spec.rpartition("=")[2])
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _telling_keys(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by what they are about."""
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
    """What the user gave, as options; arguments under ``rules`` and ``--data``."""
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
    """Whether a word that stands alone names rules, and not rows."""
    return (
        word.endswith(".sear")
        or Path(word).is_dir()
        or (word in project.fields.rulesets and word not in project.fields.datasets)
    )


def _listed(value: Any, option: click.Option) -> Any:
    return [value] if option.multiple and isinstance(value, str) else value


def _arguments(
    command: click.Command, user_options: Mapping[str, Any], chosen: Choices
) -> dict[str, Any]:
    """The arguments that the project file fills in, whole."""
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
                    f"this command is about one ruleset, and {chosen['rules'].key} is "
                    f"{len(rules)}: name one of {', '.join(rules)}"
                )
            filled[name] = rules[0]
            continue
        rows = chosen["--data"].value if "--data" in chosen else user_options.get("--data")
        filled[name] = (*rules, rows) if _RULES[name] and rows is not None else rules
    return filled


def _find_modules_of(project: Project, spec: str) -> None:
    """Let modules that lie beside the project file be found, after those that are found already."""
    from sears_dsl.models.objects import is_object_name

    folder = str(project.folder)
    if is_object_name(spec) and project.folder != Path.cwd() and folder not in sys.path:
        sys.path.append(folder)


@contextmanager
def _telling_keys(ctx: click.Context) -> Iterator[None]:
    """Errors say of values that they name where in the project file these stand."""
    try:
        yield
    except SearsError as error:
        origins = _origins(ctx, f"{error.message} {error.help}")
        error.help = "; ".join(filter(None, (error.help, origins)))
        raise
    except click.UsageError as error:
        origins = _origins(ctx, error.message)
        if not origins:
            raise
        raise click.UsageError(f"{error.format_message()} ({origins})", ctx) from error


def _origins(ctx: click.Context, message: str) -> str:
    project, file_choices = ctx.meta.get(_FILE_CHOICES, (None, {}))
    places: dict[str, str] = {}
    for choice in file_choices.values():
        for value in choice.value if isinstance(choice.value, list) else [choice.value]:
            if re.search(rf"(?<![\w./-]){re.escape(str(value))}(?![\w/-])", message):
                places.setdefault(str(value), choice.key)
    if not places:
        return ""
    keys = ", ".join(f"{key} = {value!r}" for value, key in places.items())
    return f"in {project.path.name}: {keys}"
