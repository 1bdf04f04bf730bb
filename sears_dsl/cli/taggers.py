"""Which tagger a command takes, and warnings about one that the rules were not validated with.

In: rulesets, what ``--tagger`` says. Out: the name of a tagger; warnings on standard error. Always
holds: what a person names is taken; warnings change neither output nor exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sears_dsl.errors import Diagnostic
    from sears_dsl.language.ruleset import Ruleset

__all__ = ["chosen_tagger", "warn_of_tagger"]


def chosen_tagger(rulesets: Sequence[Ruleset], named: str | None, *, quiet: bool) -> str:
    """The tagger that was named, or one that the rules were validated with, or the default one.

    Args:
        rulesets: what the command is about.
        named: what ``--tagger`` says, None where it was not given.
        quiet: print no warning.

    Raises:
        TaggerError: the rules were validated with a tagger that is not there.
    """
    chosen = _known_tagger(rulesets) if named is None else named
    warn_of_tagger(rulesets, chosen, quiet=quiet)
    return chosen


def _known_tagger(rulesets: Sequence[Ruleset]) -> str:
    from sears_dsl._defaults import DEFAULT_TAGGER
    from sears_dsl.batch.validated import validating_taggers
    from sears_dsl.errors import TaggerError
    from sears_dsl.text.tagger import load_tagger

    known = validating_taggers(rulesets)
    if not known or load_tagger().name in known:
        return DEFAULT_TAGGER
    try:
        load_tagger(known[0])
    except TaggerError as error:
        raise TaggerError(
            f"the rules were validated with the tagger {known[0]}, which cannot be loaded: "
            f"{error.message}",
            help=f"{error.help}; or name another one with --tagger",
        ) from error
    return known[0]


def warn_of_tagger(rulesets: Sequence[Ruleset], name: str, *, quiet: bool) -> list[Diagnostic]:
    """What is to be said about a tagger; it is said on standard error, unless it is to be quiet."""
    from sears_dsl.batch.validated import tagger_findings
    from sears_dsl.text.tagger import load_tagger

    findings = tagger_findings(rulesets, lambda: load_tagger(name))
    for finding in () if quiet else findings:
        click.echo(finding.render(), err=True)
    return findings
