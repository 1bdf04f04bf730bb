"""``sears vet`` and ``sears vetted``: people judge rules, and what they decided is written back."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options.model import (
    asking,
    asking_options,
    noting,
    pivot_option,
    tell_of_protection,
)
from sears_dsl.cli.options.own_parts import scorer_option
from sears_dsl.cli.options.project import ProjectArgument, ProjectCommand
from sears_dsl.cli.options.tagger import chosen_tagger
from sears_dsl.cli.screen.console import FilePath, console, counted, echo_json, imports_option
from sears_dsl.cli.screen.progress import stages
from sears_dsl.runtime.extras import need_discovery, need_vetting

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.meaning.scorer import Scorer
    from sears_dsl.vetting.agreement import Kappa
    from sears_dsl.vetting.merging import Agreement
    from sears_dsl.vetting.review.session import Session
    from sears_dsl.vetting.running import Place


@click.command(
    "vet",
    cls=ProjectCommand,
    epilog="Example: sears vet found.sear --model my_model:predict --data dev.csv --label label",
)
@click.argument("rules", cls=ProjectArgument)
@asking_options
@click.option("--reviewer", "reviewers", multiple=True, metavar="NAME",
              help="Who judges; repeatable, each gets an address. Default: the user's "
              "name.")  # fmt: skip
@click.option("--journal", type=FilePath(),
              help="Where decisions are kept; of one reviewer. Default: beside the "
              "output.")  # fmt: skip
@click.option("-o", "--output", type=FilePath(),
              help="The vetted ruleset. Default: NAME.vetted.sear beside RULES.")  # fmt: skip
@click.option("--rules", "most", type=click.IntRange(min=1), default=20, show_default=True,
              help="Most rules to accept; as many are shown, selected by what they "
              "add.")  # fmt: skip
@click.option("--adversaries", metavar="FILE",
              help="Sentences to pick adversaries of, from `sears adversaries --top 5`; without, "
              "what RULES make of rows.")  # fmt: skip
@scorer_option(
    default="none",
    none=True,
    text="S, which flips count by in the selection; none counts all alike.",
)
@pivot_option
@click.option("--tau", type=click.FloatRange(0, 1),
              help="S from which on a flip counts; the scorer's own by default.")  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535),
              help="Port of the page. Default: the first free one from 8765.")  # fmt: skip
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--no-cache", is_flag=True, help="Neither use nor fill the cache of tagged texts.")
@imports_option
def vet_command(rules: str, **options: Any) -> None:
    """Judge rules in a page on this machine, write rules, pick adversaries.

    The page is at an address that is printed, with a secret in it. Every decision goes to a
    journal at once; the same command goes on where it ended. Ctrl-C ends it.
    """
    need_vetting()
    if options["scorer"] != "none":
        need_discovery()
    from sears_dsl.engine.matcher import compile_rules
    from sears_dsl.tagging.loading import load_tagger
    from sears_dsl.vetting.running import Sitting, open_journals, pages_of
    from sears_dsl.vetting.web.serving import LOOPBACK, listen, redirection, serve

    place = _place(rules, options)
    scorer = _scorer(options)
    options["tagger"] = chosen_tagger([place.ruleset], options["tagger"], quiet=options["quiet"])
    # Before rows are read and the model is asked, not an hour later.
    compile_rules([place.ruleset], tagger=load_tagger(options["tagger"]))
    listening, remark = listen(options["port"])
    if remark:
        click.echo(remark, err=True)
    # The journals come first: who holds them holds the answers of the model beside them too, which
    # another `sears vet` of the same ruleset must neither use nor remove.
    with ExitStack() as opened:
        opened.enter_context(listening)
        journals = opened.enter_context(
            open_journals(place, note=lambda sentence: click.echo(sentence, err=True))
        )
        telling = opened.enter_context(ExitStack())
        show = telling.enter_context(stages(shown=not options["quiet"]))
        run = asking(_first(place), options, show=show, goes_on=True)
        asked = opened.enter_context(run)
        tell_of_protection(asked.data, noting(options))
        sitting = Sitting(
            data=asked.data,
            predictor=asked.predictor,
            tagger=asked.tagger,
            scorer=scorer,
            tau=options["tau"],
            comparison=options["compare"],
            most=options["most"],
            adversaries=options["adversaries"],
            cached=not options["no_cache"],
        )
        sessions = sitting.sessions(place.ruleset, journals, show=show)
        telling.close()  # from now on the page is what shows something
        address = f"{LOOPBACK}:{listening.getsockname()[1]}"
        pages = pages_of(place, sessions, tagger=asked.tagger, address=address)
        first = next(iter(pages.addresses.values()))
        with redirection(first) if options["open_page"] else nullcontext() as file:
            serve(
                pages.application,
                listening,
                on_ready=lambda: _say_hello(pages.addresses, file, options),
            )
        _say_goodbye(place, sessions)
        if any(session.overview()["judge"]["left"] for session in sessions.values()):
            # Leaves the answers of the model where the next start finds them.
            asked.run.keep = True
            again = [word for word in sys.argv[1:] if word != "--restart"]
            click.echo(f"go on: sears {shlex.join(again)}", err=True)


def _place(rules: str, options: dict[str, Any]) -> Place:
    from sears_dsl.vetting.running import load_rules, place_of

    ruleset = load_rules(rules, allow_imports_outside=options["allow_imports_outside"])
    return place_of(
        ruleset,
        # A shipped ruleset lies where nobody writes.
        folder=Path(ruleset.path).parent if Path(rules).exists() else Path(),
        reviewers=options["reviewers"],
        output=options["output"],
        journal=options["journal"],
    )


def _first(place: Place) -> Path:
    return next(iter(place.journals.values()))


def _scorer(options: dict[str, Any]) -> Scorer | None:
    """What says which flips count; before rows are read and the model is asked."""
    if options["scorer"] == "none":
        return None
    from sears_dsl.discovery.parts import load_chosen_scorer

    scorer = load_chosen_scorer(options["scorer"], pivots=options["pivots"], tau=options["tau"])
    _ = scorer.tau  # one of the user's own may have none, and says so
    return scorer


def _say_hello(pages: Mapping[str, str], file: Path | None, options: dict[str, Any]) -> None:
    for name, page in pages.items():
        click.echo(f"{name}: {page}" if len(pages) > 1 else page)
    sys.stdout.flush()
    if not options["quiet"]:
        click.echo("Whoever has the address can decide. Ctrl-C ends it.", err=True)
    if file is not None:
        import webbrowser

        webbrowser.open(file.as_uri())


def _say_goodbye(place: Place, sessions: dict[str, Session]) -> None:
    for name, session in sessions.items():
        judge = session.overview()["judge"]
        kept = (
            f"decisions are in {place.journals[name]}"
            if session.journal.entries
            else "no decisions"
        )
        click.echo(
            f"\n{name}: {judge['accepted']} accepted, {judge['rejected']} rejected, "
            f"{judge['left']} left; {kept}",
            err=True,
        )


# ---------------------------------------------------------------- vetted


@click.command(
    "vetted",
    epilog="Example: sears vetted found.sear found.ana.vetting.jsonl found.ben.vetting.jsonl "
    "-o found.vetted.sear --pairs judged.csv",
)
@click.argument("rules")
@click.argument("journals", nargs=-1, required=True, type=FilePath())
@click.option("-o", "--output", type=FilePath(),
              help="The ruleset to write; the rules left out go beside it.")  # fmt: skip
@click.option("--policy", type=click.Choice(["majority", "all", "any"]), default="majority",
              show_default=True, help="How many of those who judged a rule have to accept "
              "it.")  # fmt: skip
@click.option("--pairs", type=FilePath(), metavar="FILE",
              help="Write the judged pairs, for `sears calibrate FILE`.")  # fmt: skip
@click.option("--tagger", help="Runs the tests of edited and written rules; by default one that "
              "the rules were validated with, where that is known.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print outcomes and agreement as JSON.")
@imports_option
def vetted_command(
    rules: str,
    journals: tuple[Path, ...],
    *,
    output: Path | None,
    policy: Any,
    pairs: Path | None,
    tagger: str | None,
    as_json: bool,
    allow_imports_outside: bool,
) -> None:
    """Bring journals of reviewers together: how far they agree, and the ruleset they leave.

    A rule is kept, edited or rejected as --policy says; rules that are disputed or that nobody
    judged are left out, and the file of those left out says why.
    """
    from sears_dsl.tagging.loading import load_tagger
    from sears_dsl.vetting.merging import agreement, outcomes, read_reviews
    from sears_dsl.vetting.outputs import write_pairs, write_vetted, written_sentence
    from sears_dsl.vetting.running import load_rules
    from sears_dsl.vetting.vetted import judged_both_ways, judged_pairs

    ruleset = load_rules(rules, allow_imports_outside=allow_imports_outside)
    reviews = read_reviews(journals, ruleset)
    found = outcomes(ruleset, reviews, policy=policy)
    agreements = {"rules": agreement(reviews), "picks": agreement(reviews, on="picks")}
    if as_json:
        from dataclasses import asdict

        kappas = {name: _agreement_json(each) for name, each in agreements.items()}
        echo_json({"outcomes": [asdict(each) for each in found], "agreement": kappas})
    else:
        _print_outcomes(ruleset, found, agreements)
    if output is not None:
        chosen = load_tagger(chosen_tagger([ruleset], tagger, quiet=False))
        written = write_vetted(ruleset, reviews, output, tagger=chosen, policy=policy)
        click.echo(written_sentence(written), err=True)
    if pairs is not None:
        told = f"{counted(write_pairs(reviews, pairs), 'judged pair')} in {pairs}"
        if both := len(judged_both_ways(judged_pairs(reviews))):
            told += f"; reviewers contradict each other about {counted(both, 'pair')}"
        click.echo(told, err=True)


def _agreement_json(found: Agreement) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "reviewers": found.reviewers,
        "cohen": [{"reviewers": names, **asdict(kappa)} for names, kappa in found.pairs.items()],
        "fleiss": None if found.together is None else asdict(found.together),
    }


def _print_outcomes(ruleset: Ruleset, found: Any, agreements: Mapping[str, Agreement]) -> None:
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.language.printer import print_rule

    out = console()
    table = Table("rule", "outcome", "who", box=None, pad_edge=False)
    for rule, outcome in zip(ruleset.rules, found, strict=True):
        who = ", ".join(f"{name} {each.verdict}" for name, each in outcome.verdicts.items())
        new = f" -> now {outcome.new}" if outcome.new else ""
        table.add_row(Text(print_rule(rule) + new), outcome.decided, Text(who))
    out.print(table)
    for name, each in agreements.items():
        for (one, other), kappa in each.pairs.items():
            which = "Cohen's κ" if name == "rules" else "κ"
            out.print(f"{name}: {which} of {one} and {other}: {_kappa(kappa)}")
        if len(each.reviewers) > 2 and each.together is not None:
            which = "Fleiss' κ" if name == "rules" else "κ"
            out.print(f"{name}: {which} of all {len(each.reviewers)}: {_kappa(each.together)}")


def _kappa(found: Kappa) -> str:
    if not found.items or found.observed is None:
        return "not defined, nothing was judged by both"
    told = f"on {found.items}, {found.observed:.0%} alike"
    if found.value is None:
        return f"not defined ({told}: there is one category)"
    beside = ""
    if found.interval is not None:
        beside = f" (95% {found.interval[0]:.2f} to {found.interval[1]:.2f})"
    return f"{found.value:.2f}{beside}, {told}"
