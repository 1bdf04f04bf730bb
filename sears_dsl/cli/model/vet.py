"""``sears vet``: people judge rules, or read templates, on a page of this machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.options.model import (
    AskingOptions,
    noter,
    open_run,
    pivot_option,
    scorer_option,
    tell_of_protection,
    vetting_options,
)
from sears_dsl.cli.options.unfinished import from_here
from sears_dsl.cli.screen.console import stages
from sears_dsl.runtime.extras import need_discovery, need_vetting
from sears_dsl.runtime.files import is_there

if TYPE_CHECKING:
    from socket import socket

    from sears_dsl.data.labelled import LabelledRows
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.meaning.scorers import Scorer
    from sears_dsl.tagging.tagger import Tagger
    from sears_dsl.vetting.review.sessions import ReviewSession
    from sears_dsl.vetting.running import VettingPlace


@dataclass(frozen=True, kw_only=True)
class VetOptions(AskingOptions):
    """The options of ``sears vet``."""

    model: str | None
    templates: bool
    reviewers: tuple[str, ...]
    journal: Path | None
    output: Path | None
    most: int
    adversaries: str | None
    scorer: str
    pivots: tuple[str, ...]
    tau: float | None
    oracle: str | None
    port: int | None
    open_page: bool
    no_cache: bool
    allow_imports_outside: bool


@click.command(
    "vet",
    cls=ProjectCommand,
    epilog="Examples: sears vet found.sear --model my_model:predict --data dev.csv --label label; "
    "sears vet phenomena.sear",
)
@click.argument("rules", cls=ProjectArgument)
@vetting_options
@click.option("--templates", is_flag=True,
              help="Judge the templates of RULES instead of its rules; the default if it has no "
              "rules.")  # fmt: skip
@click.option("--reviewer", "reviewers", multiple=True, metavar="NAME",
              help="Who judges; repeatable, and each gets an address. Default: you.")  # fmt: skip
@click.option("--journal", type=shared.FilePath(),
              help="The decisions of one reviewer. Default: beside the output.")  # fmt: skip
@click.option("-o", "--output", type=shared.FilePath(),
              help="The vetted ruleset. Default: NAME.vetted.sear beside RULES.")  # fmt: skip
@click.option("--rules", "most", type=click.IntRange(min=1), default=20,
              help="Accept at most this many rules, and show as many, best first.")  # fmt: skip
@click.option("--adversaries", metavar="FILE",
              help="Sentences to pick adversaries from, as `sears adversaries --top 5` writes "
              "them; by default, what RULES make of the rows.")  # fmt: skip
@scorer_option(default="none", none=True,
               text="What scores how well a rewrite keeps the meaning, S from 0 to 1: when rules "
               "are selected, a flip counts by its S; with none, all are alike.")  # fmt: skip
@pivot_option
@click.option("--tau", type=shared.NumberRange(0, 1),
              help="The S from which a flip counts; by default the scorer's own τ.")  # fmt: skip
@shared.oracle_option
@click.option("--port", type=click.IntRange(1, 65535),
              help="The port of the page. Default: the first free one from 8765.")  # fmt: skip
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@shared.no_cache_option
@shared.imports_option
def vet_command(rules: str, **options: Any) -> None:
    """Judge rules on a local web page, write rules, pick adversaries, or judge templates.

    The command prints the address of the page, which holds a secret. Every decision goes to a
    journal at once, and the same command continues from there. Ctrl-C ends it. Templates, shown
    with a sample of their sentences, need neither --data nor --model.
    """
    need_vetting()
    from sears_dsl.catalogue import load

    chosen = VetOptions(**options)
    ruleset = load(rules, allow_imports_outside=chosen.allow_imports_outside)

    from sears_dsl.tagging.tagger import load_tagger
    from sears_dsl.vetting.journal_oracle import open_oracle
    from sears_dsl.vetting.review.template_session import TemplateSession
    from sears_dsl.vetting.running import VettingInputs, judges_templates, open_journals, place_of
    from sears_dsl.vetting.web.serving import listen

    # Nothing is written beside a shipped ruleset.
    folder = Path(ruleset.path).parent if is_there(rules) else Path()
    place = shared.chosen_as(place_of, vars(chosen), ruleset=ruleset, folder=folder)
    of_templates = judges_templates(place.ruleset, chosen.templates)
    for name, value in () if of_templates else (("data", chosen.data), ("model", chosen.model)):
        if value is None:
            raise click.UsageError(f"Missing option '--{name}': rules need rows and a model")
    if of_templates and chosen.oracle is not None:
        raise click.UsageError("--oracle is for rules only: templates are judged by people")
    scorer = None if of_templates else _scorer(chosen, place.ruleset)
    oracle = None if chosen.oracle is None else open_oracle(chosen.oracle, [place.ruleset])
    quiet = chosen.quiet
    tagger = shared.chosen_tagger([place.ruleset], chosen.tagger, quiet=quiet)
    if not of_templates:
        from sears_dsl.paraphrasing.for_rules import compile_with_sources

        # Before rows are read and the model is asked, not an hour later.
        compile_with_sources([place.ruleset], tagger=load_tagger(tagger))
    say = partial(click.echo, err=True)
    serve = partial(_serve, place, open_page=chosen.open_page, quiet=quiet)
    listening, remark = listen(chosen.port)
    if remark:
        click.echo(remark, err=True)
    # The journals come first: who holds them holds the answers of the model beside them too, which
    # another `sears vet` of the same ruleset must neither use nor remove.
    with ExitStack() as opened:
        opened.enter_context(listening)
        journals = opened.enter_context(open_journals(place, note=say))
        if of_templates or chosen.model is None:
            sessions: Mapping[str, ReviewSession] = {
                name: TemplateSession(place.ruleset, each) for name, each in journals.items()
            }
            serve(sessions, listening, load_tagger(tagger))
            return
        telling = opened.enter_context(ExitStack())
        show = telling.enter_context(stages(shown=not quiet))
        first = next(iter(place.journals.values()))
        asked = open_run(
            first, replace(chosen, tagger=tagger), models=[chosen.model], show=show, goes_on=True
        )
        inputs = opened.enter_context(asked)
        _tell_of(inputs.data, place.ruleset, chosen.most, noter(quiet=quiet))
        sitting = shared.chosen_as(
            VettingInputs, vars(chosen), data=inputs.data, predictor=inputs.predictor,
            tagger=inputs.tagger, scorer=scorer, oracle=oracle, cached=not chosen.no_cache,
        )  # fmt: skip
        sessions = sitting.sessions(place.ruleset, journals, show=show, note=say)
        telling.close()  # from now on the page is what shows something
        serve(sessions, listening, inputs.tagger)
        if any(session.left for session in sessions.values()):
            # Leaves the answers of the model where the next start finds them.
            inputs.run.keep = True
            noter(quiet=quiet)(
                f"the model's answers are kept in {from_here(inputs.run.folder)}, so "
                "that it is not asked again; remove the folder if you do not continue"
            )


def _tell_of(data: LabelledRows, ruleset: Ruleset, most: int, note: Callable[[str], None]) -> None:
    """Protected values that are not there, and rules that the page does not show at first."""
    tell_of_protection(data, note)
    if len(ruleset.rules) > most:
        note(
            f"note: the page shows {most:,} of {len(ruleset.rules):,} rules, those that add most, "
            f"and others as these are rejected; --rules {len(ruleset.rules)} shows all"
        )


def _serve(
    place: VettingPlace,
    sessions: Mapping[str, ReviewSession],
    listening: socket,
    tagger: Tagger,
    *,
    open_page: bool,
    quiet: bool,
) -> None:
    """The page, until Ctrl-C; then where everybody stands, and how to go on."""
    from sears_dsl.vetting.running import journals_beside, merging_command, pages_of
    from sears_dsl.vetting.web.serving import redirection, serve

    page, addresses = pages_of(place, sessions, tagger=tagger, listening=listening)
    first = next(iter(addresses.values()))
    with redirection(first) if open_page else nullcontext() as file:
        serve(page, listening, on_ready=lambda: _say_hello(addresses, file, quiet=quiet))
    for name, session in sessions.items():
        where = f"decisions are in {place.journals[name]}"
        decisions = where if session.journal.entries else "no decisions"
        click.echo(f"\n{name}: {session.progress}; {decisions}", err=True)
    if any(session.left for session in sessions.values()):
        again = [word for word in sys.argv[1:] if word != "--restart"]
        click.echo(f"continue: sears {shlex.join(again)}", err=True)
    journals = [place.journals[name] for name, each in sessions.items() if each.journal.entries]
    if _is_newer(journals, place.output):
        command = merging_command(place, [*journals, *journals_beside(place)])
        click.echo(f"write the vetted ruleset: {command}", err=True)


def _is_newer(journals: Sequence[Path], written: Path) -> bool:
    """Whether there are decisions that a vetted ruleset does not have: the page writes it."""
    try:
        last = written.stat().st_mtime_ns
    except OSError:
        return bool(journals)
    return any(journal.stat().st_mtime_ns > last for journal in journals)


def _scorer(chosen: VetOptions, ruleset: Ruleset) -> Scorer | None:
    """What says which flips count; before rows are read and the model is asked."""
    if chosen.scorer == "none":
        for switch in shared.typed("tau", "pivots"):
            raise click.UsageError(f"{switch} says nothing without --scorer: add that")
        return None
    need_discovery(otherwise=", or leave the score out: --scorer none")
    from sears_dsl.discovery.parts import load_chosen_scorer

    scorer = load_chosen_scorer(
        chosen.scorer, pivots=chosen.pivots, tau=chosen.tau, language=ruleset.options.language
    )
    _ = scorer.tau  # one of the user's own may have none, and says so
    return scorer


def _say_hello(pages: Mapping[str, str], file: Path | None, *, quiet: bool) -> None:
    for name, page in pages.items():
        click.echo(f"{name}: {page}" if len(pages) > 1 else page)
    sys.stdout.flush()
    if not quiet:
        click.echo("Anyone who has the address can decide. Ctrl-C stops the page.", err=True)
    if file is not None:
        import webbrowser

        webbrowser.open(file.as_uri())
