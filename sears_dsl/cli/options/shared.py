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
