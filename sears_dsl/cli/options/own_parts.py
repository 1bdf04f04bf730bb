"""Parts of one's own on the command line: ``--paraphrases`` and ``--scorer``.

In: what a person wrote. Out: the part, or nothing where a shipped one is meant. Always holds: what
is wrong with a part, or with options that it has no use for, is said before rows are read and the
model is asked. Costs the import of the part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.cli.screen.console import counted
from sears_dsl.defaults import DEFAULT_SCORER, SCORER_NAMES
from sears_dsl.errors import DataError, UsageError

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer
    from sears_dsl.paraphrasing.remembered import ParaphraseSource

__all__ = ["OwnParts", "load_chosen_scorer", "own_parts", "paraphrases_option", "scorer_option"]

_NONE = "none"
_OWN = "|".join((*SCORER_NAMES, "MODULE:OBJECT"))

paraphrases_option = click.option(
    "--paraphrases", metavar="FILE|MODULE:OBJECT",
    help="Rewordings of your own: a file of pairs, or a function or an object; by default "
    "translation models make them."
)  # fmt: skip


def scorer_option(
    *names: str, default: str = DEFAULT_SCORER, none: bool = False, text: str
) -> Callable[[Any], Any]:
    """The option ``--scorer``.

    Args:
        names: the option's, and the parameter's where that is called otherwise.
        default: the scorer that is taken where nobody chooses.
        none: whether there may be none.
        text: what is scored, for the help.
    """
    return click.option(
        "--scorer", *names, default=default, show_default=True, help=text,
        metavar=f"[{'none|' if none else ''}{_OWN}]",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OwnParts:
    """What the user brings; None where shipped parts do it.

    Attributes:
        paraphraser: rewords sentences.
        scorer: scores pairs.
    """

    paraphraser: ParaphraseSource | None = None
    scorer: Scorer | None = None

    def check_rows(self, texts: Sequence[str], source: str, *, quiet: bool) -> None:
        """Say of how many rows a file has no paraphrase.

        Raises:
            DataError: it has none of any.
        """
        from sears_dsl.paraphrasing.plugins import GivenParaphrases

        if not isinstance(self.paraphraser, GivenParaphrases):
            return
        missing = self.paraphraser.missing(texts)
        if texts and missing == len(texts):
            raise DataError(
                f"none of the {counted(missing, 'row')} has a paraphrase in {source}",
                help="its originals have to be the texts of the rows, letter by letter: is "
                "--column the one that was reworded?",
            )
        if missing and not quiet:
            has = "has" if missing == 1 else "have"
            click.echo(
                f"{missing:,} of {counted(len(texts), 'row')} {has} no paraphrase in {source}",
                err=True,
            )


def own_parts(options: dict[str, Any]) -> OwnParts:
    """The user's parts of a command that decides by scores, from its options.

    Raises:
        UsageError: there is no such part, it has no threshold, or an option means nothing with it.
        DataError: a file of paraphrases cannot be read.
        ModelError: a part cannot be imported.
    """
    source = options.get("paraphrases")
    translated = "paraphrases" in options and source is None
    scorer = _own_scorer(
        options["scorer"], pivots=options["pivots"], floor=options["floor"], tau=options["tau"],
        translated=translated,
    )  # fmt: skip
    if scorer is not None:
        _ = scorer.tau  # says so where it has none, before anything else is done
    if source is None:
        return OwnParts(scorer=scorer)
    context = click.get_current_context()
    if context.get_parameter_source("beam") is ParameterSource.COMMANDLINE:
        raise UsageError(
            "--beam is of the search through translation models, and --paraphrases is in its place",
            help="leave one of them out",
        )
    from sears_dsl.paraphrasing.plugins import as_paraphraser

    return OwnParts(as_paraphraser(source), scorer)


def load_chosen_scorer(
    name: str, *, pivots: Sequence[str] = (), floor: float | None = None, tau: float | None = None
) -> Scorer:
    """The scorer of a command that scores by itself, loaded.

    Raises:
        UsageError: there is no such scorer, or an option means nothing with it.
        ModelError: it cannot be loaded.
    """
    own = _own_scorer(name, pivots=pivots, floor=floor, tau=tau)
    if own is not None:
        return own
    # Torch and transformers, which take seconds: whatever can go wrong without them is behind us.
    from sears_dsl.meaning.scorers import load_scorer

    if not pivots:
        return load_scorer(name, floor=floor, tau=tau)
    from sears_dsl.translation.pivots import load_pivots

    return load_scorer(name, pivots=load_pivots(pivots), floor=floor, tau=tau)


def _own_scorer(
    name: str, *, pivots: Sequence[str], floor: float | None, tau: float | None,
    translated: bool = False,
) -> Scorer | None:  # fmt: skip
    """The scorer of a name that is no shipped one.

    Args:
        name: as the user wrote it.
        pivots: languages to translate through.
        floor: of the scorer strict.
        tau: the threshold, where one is given.
        translated: whether paraphrases are made by translation.
    """
    from sears_dsl.meaning.scorers import translates
    from sears_dsl.paraphrasing.plugins import as_scorer

    if name == _NONE:
        return None
    if pivots and not translated and not translates(name):
        raise UsageError(f"{name} has no pivot", help="leave --pivot out, or choose another scorer")
    if floor is not None and name != "strict":
        raise UsageError(f"the scorer {name} has no floor", help="leave it out, or choose strict")
    return None if name in SCORER_NAMES else as_scorer(name, tau=tau)
