"""Which tagger a command takes, and warnings about one that the rules were not validated with.

In: rulesets, what ``--tagger`` says. Out: the name of a tagger; warnings on standard error. Always
holds: what a person names is taken, of what a file names only a tagger that is installed; warnings
change neither output nor exit code.
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
        TaggerError: the rules were validated with a tagger that is not there, or that only a
            person may name.
        DataError: a manifest that cannot be read.
    """
    chosen = _known_tagger(rulesets) if named is None else named
    warn_of_tagger(rulesets, chosen, quiet=quiet)
    return chosen


def _known_tagger(rulesets: Sequence[Ruleset]) -> str:
    from sears_dsl.batch.provenance import validating_taggers
    from sears_dsl.defaults import DEFAULT_TAGGER
    from sears_dsl.errors import TaggerError
    from sears_dsl.tagging.tagger import load_named, may_be_named

    known = validating_taggers(rulesets)
    if not known or DEFAULT_TAGGER in known:
        return DEFAULT_TAGGER
    # What stands in a file is a stranger's word: it may name what is installed, and nothing else.
    named = next(filter(may_be_named, known), None)
    if named is None:
        raise TaggerError(
            f"the rules were validated with the tagger {known[0]}, which a file may not make sears "
            "import",
            help=f"if it is yours, name it by hand: --tagger {known[0]}; or name another one, such "
            f"as --tagger {DEFAULT_TAGGER}",
        )
    try:
        load_named(named)
    except TaggerError as error:
        raise TaggerError(
            f"the rules were validated with the tagger {named}, which cannot be loaded: "
            f"{error.message}",
            help=f"{error.help}; or name another one with --tagger",
        ) from error
    return named


def warn_of_tagger(rulesets: Sequence[Ruleset], name: str, *, quiet: bool) -> list[Diagnostic]:
    """What is to be said about a tagger; it is said on standard error, unless it is to be quiet."""
    from sears_dsl.batch.provenance import tagger_findings
    from sears_dsl.tagging.tagger import load_tagger

    findings = tagger_findings(rulesets, lambda: load_tagger(name))
    for finding in () if quiet else findings:
        click.echo(finding.render(), err=True)
    return findings
