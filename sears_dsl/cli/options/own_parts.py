"""The options ``--paraphrases`` and ``--scorer``, and the choice that a command's options make.

No part is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.defaults import DEFAULT_SCORER, SCORER_NAMES

if TYPE_CHECKING:
    from sears_dsl.discovery.parts import PartsChoice

_OWN = "|".join((*SCORER_NAMES, "MODULE:OBJECT", "llm:SETTINGS"))

paraphrases_option = click.option(
    "--paraphrases", metavar="FILE|MODULE:OBJECT|llm:SETTINGS",
    help="Rewordings of your own: a file of pairs, a function or an object, or a language model; "
    "by default translation models make them."
)  # fmt: skip


def scorer_option(
    *names: str, default: str = DEFAULT_SCORER, none: bool = False, text: str
) -> Callable[[Any], Any]:
    """The option ``--scorer``.

    Args:
        names: the option's, and the parameter's where that is called otherwise.
    """
    return click.option(
        "--scorer", *names, default=default, show_default=True, help=text,
        metavar=f"[{'none|' if none else ''}{_OWN}]",
    )  # fmt: skip


def parts_choice(options: dict[str, Any]) -> PartsChoice:
    """What the options of a command that decides by scores choose."""
    from sears_dsl.discovery.parts import PartsChoice
    from sears_dsl.vetting.oracle import read_readings

    # The default width is no choice: it goes with paraphrases of one's own.
    beam_source = click.get_current_context().get_parameter_source("beam")
    return PartsChoice(
        scorer=options["scorer"],
        paraphraser=options.get("paraphrases"),
        paraphrases="paraphrases" in options,
        beam=options.get("beam") if beam_source is ParameterSource.COMMANDLINE else None,
        readings=read_readings(options.get("readings", ())),
        **{name: options[name] for name in ("tau", "pivots", "device", "jobs")},
    )
