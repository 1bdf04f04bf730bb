"""Which tagger a command takes, and what is to be said of the rules before they run.

Always holds: what a person names is taken, of what a file names only a tagger that is installed;
warnings change neither output nor exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sears_dsl.runtime.wording import counted

if TYPE_CHECKING:
    from sears_dsl.errors import Diagnostic
    from sears_dsl.language.ruleset import Ruleset


def chosen_tagger(rulesets: Sequence[Ruleset], named: str | None, *, quiet: bool) -> str:
    """The tagger that was named, or one that the rules were validated with, or the default one.

    What is named ``fast`` is the fast tagger of the rules' language.
    """
    from sears_dsl.batch.provenance import tagger_for, tagger_in_language

    chosen = tagger_for(rulesets) if named is None else tagger_in_language(named, rulesets)
    warn_of_tagger(rulesets, chosen, quiet=quiet)
    tell_of_paraphrases(rulesets, quiet=quiet)
    return chosen


def warn_of_tagger(rulesets: Sequence[Ruleset], name: str, *, quiet: bool) -> list[Diagnostic]:
    """What is to be said about a tagger; it is said on standard error, unless it is to be quiet."""
    from sears_dsl.batch.provenance import tagger_findings
    from sears_dsl.tagging.loading import load_tagger

    return _told(tagger_findings(rulesets, lambda: load_tagger(name)), quiet)


def tell_of_paraphrases(rulesets: Sequence[Ruleset], *, quiet: bool) -> bool:
    """Whether rules write paraphrases; what these cost is said before they are looked for."""
    from sears_dsl.paraphrasing.rewording import reword

    writes_paraphrases = reword(rulesets)
    if writes_paraphrases and not quiet:
        click.echo(
            "paraphrases: each distinct text is translated and back by models, some sentences a "
            "second",
            err=True,
        )
    return writes_paraphrases


def tell_of_templates(rulesets: Sequence[Ruleset], *, quiet: bool) -> None:
    """How many templates a command passes by, on standard error, unless it is to be quiet."""
    count = sum(len(ruleset.templates) for ruleset in rulesets)
    if count and not quiet:
        templates = counted(count, "template was", "templates were")
        click.echo(
            f"note: {templates} passed by: `sears generate` writes their sentences", err=True
        )


def warn_of_chain(rulesets: Sequence[Ruleset], *, quiet: bool) -> list[Diagnostic]:
    """What is to be said about the order of rules; on standard error, unless it is to be quiet."""
    from sears_dsl.language.check_noise import chain_findings

    return _told(chain_findings(rulesets), quiet)


def _told(findings: list[Diagnostic], quiet: bool) -> list[Diagnostic]:
    for finding in () if quiet else findings:
        click.echo(finding.render(), err=True)
    return findings
