"""Options that several kinds of commands have, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from sears_dsl.cli.warm_up import quietly
from sears_dsl.defaults import DEFAULT_TAGGER

tagger_option = click.option(
    "--tagger", default=DEFAULT_TAGGER, show_default=True,
    help="fast (in the rules' language), fast:pt, spacy, spacy:MODEL, or MODULE:FACTORY of your "
    "own.",
)  # fmt: skip
tagger_of_rules_option = click.option(
    "--tagger",
    help="Tagger to use; by default one that the rules were validated with, where that is known.",
)
scope_option = click.option(
    "--scope", type=click.Choice(["first", "all"]), default="first", show_default=True,
    help="Rewrite the first instance of a rule in a unit, or all.",
)  # fmt: skip
unit_option = click.option(
    "--unit", type=click.Choice(["text", "sentence"]),
    help="What a rule sees at once; by default what its file says (`option unit`), else the text.",
)  # fmt: skip
oracle_option = click.option(
    "--oracle", metavar="MODULE:FUNCTION|JOURNAL",
    help="What rejects rewrites, and sentences of templates: a function of a list of them, or what "
    "a person rejected in `sears vet`.",
)  # fmt: skip
id_option = click.option("--id-column", help="The column of row ids; `id` where there is one.")
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Neither use nor fill the cache of tagged texts."
)
quiet_option = click.option(
    "--quiet", is_flag=True, callback=quietly, help="No progress and no summary."
)
output_format_option = click.option(
    "--output-format", help="Format of the output, where its name does not tell."
)


def json_option(text: str) -> Callable[[Any], Any]:
    """The option ``--json``, with what it prints."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What gives a command these options, in this order in its help."""
    return lambda command: reduce(lambda rest, option: option(rest), reversed(options), command)


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
        "paraphrases", "scorer", "tau", "pivots", "device", "jobs", "beam", "oracle",
    ),
    "The run": (
        "seed", "engine", "address", "workers", "resume", "restart", "yes", "tagger", "no_cache",
        "allow_imports_outside", "quiet", "as_json", "help",
    ),
}  # fmt: skip
# Shorter lists need no sections.
_MANY = 25


class SectionedCommand(click.Command):
    """A command whose help has headings where its options are many."""

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
