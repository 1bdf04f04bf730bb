"""``sears vetted``: what reviewers decided together, as a ruleset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ExampleCommand
from sears_dsl.cli.options.shared import FilePath, chosen_tagger, imports_option, json_option
from sears_dsl.cli.screen.console import console, echo_json, plain_table
from sears_dsl.errors import counted

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.vetting.merging import Agreed, Agreement, Kappa, Review, VettingOutcomes


@click.command(
    "vetted",
    cls=ExampleCommand,
    epilog="Example: sears vetted found.sear found.ana.vetting.jsonl found.ben.vetting.jsonl "
    "-o found.vetted.sear --pairs judged.csv",
)
@click.argument("rules")
@click.argument("journals", nargs=-1, required=True, type=FilePath())
@click.option("-o", "--output", type=FilePath(),
              help="The ruleset to write, with the rules left out beside it.")  # fmt: skip
@click.option("--policy", type=click.Choice(["majority", "all", "any"]), default="majority",
              help="How many of those who judged a rule have to accept it.")  # fmt: skip
@click.option("--pairs", type=FilePath(), metavar="FILE",
              help="Write the judged pairs, for `sears calibrate FILE`.")  # fmt: skip
@click.option("--tagger", help="The tagger for the tests of edited and written rules; by default "
              "the one that the rules were validated with, if known.")  # fmt: skip
@json_option("Print outcomes and agreement as JSON.")
@imports_option
def vetted_command(
    rules: str, journals: tuple[Path, ...], *, pairs: Path | None, **options: Any
) -> None:
    """Merge the journals of several reviewers: how far they agree, and the ruleset that results.

    A rule or template is kept, edited or rejected as --policy says. What is disputed or judged by
    nobody is left out; a file beside the output lists what is left out, and why.
    """
    from sears_dsl.catalogue import load
    from sears_dsl.tagging.tagger import load_tagger
    from sears_dsl.vetting import outputs
    from sears_dsl.vetting.merging import agreement, read_reviews, vetting_outcomes

    ruleset = load(rules, allow_imports_outside=options["allow_imports_outside"])
    output: Path | None = options["output"]
    if output is not None:
        outputs.check_output(output, ruleset, read=journals)
    if pairs is not None:
        outputs.check_pairs(pairs, ruleset, read=journals, vetted=output)
    reviews = read_reviews(journals, ruleset)
    outcomes = vetting_outcomes(ruleset, reviews, policy=options["policy"])
    kinds: list[Agreed] = [] if outcomes.rules is None else ["rules", "picks"]
    kinds += [] if outcomes.templates is None else ["templates"]
    agreements = {name: agreement(reviews, on=name) for name in kinds}
    # Files come first: whoever reads what is printed may stop reading.
    sentences = []
    if output is not None:
        chosen = load_tagger(chosen_tagger([ruleset], options["tagger"], quiet=False))
        written = outputs.write_vetted(
            ruleset, reviews, output, tagger=chosen, policy=options["policy"], read=journals
        )
        sentences.append(outputs.written_sentence(written))
    if pairs is not None:
        sentences.append(_written_pairs(reviews, pairs))
    if options["as_json"]:
        document = {"outcomes": [asdict(each) for each in outcomes.rules or ()]}
        if outcomes.templates is not None:
            document["templates"] = [asdict(each) for each in outcomes.templates]
        kappas = {name: _agreement_json(name, each) for name, each in agreements.items()}
        echo_json({**document, "agreement": kappas})
    else:
        if not any(review.state.picks for review in reviews):
            agreements.pop("picks", None)
        _print_outcomes(ruleset, outcomes, agreements)
    for sentence in sentences:
        click.echo(sentence, err=True)


def _written_pairs(reviews: Sequence[Review], path: Path) -> str:
    """Write the judged pairs, and describe in a sentence what was written."""
    from sears_dsl.vetting import outputs
    from sears_dsl.vetting.decisions import judged_both_ways

    written = f"{counted(outputs.write_pairs(reviews, path), 'judged pair')} in {path}"
    judged = [(each[:2], bool(each.label)) for each in outputs.judged_pairs(reviews)]
    if contradictions := len(judged_both_ways(judged)):
        written += f"; reviewers contradict each other on {counted(contradictions, 'pair')}"
    return written


def _coefficients(agreed: Agreed) -> tuple[str, str]:
    """What agreement between two reviewers is called, and that between more."""
    known_chance = "Brennan and Prediger's κ"
    return (known_chance, known_chance) if agreed == "picks" else ("Cohen's κ", "Fleiss' κ")


def _agreement_json(name: Agreed, agreement: Agreement) -> dict[str, Any]:
    of_pairs, of_all = _coefficients(name)
    several = agreement.together
    return {
        "reviewers": agreement.reviewers,
        "pairs": [
            {"reviewers": names, "coefficient": of_pairs, **asdict(kappa)}
            for names, kappa in agreement.pairs.items()
        ],
        "all": None if several is None else {"coefficient": of_all, **asdict(several)},
    }


def _print_outcomes(
    ruleset: Ruleset, outcomes: VettingOutcomes, agreements: Mapping[Agreed, Agreement]
) -> None:
    from sears_dsl.language.printer import print_rule, print_template, rule_called

    out = console()
    for head, texts, of_kind in (
        ("rule", list(map(print_rule, ruleset.rules)), outcomes.rules),
        ("template", list(map(print_template, ruleset.templates)), outcomes.templates),
    ):
        if of_kind is None:
            continue
        table = plain_table(head, "outcome", "verdicts")
        for text, outcome in zip(texts, of_kind, strict=True):
            name = text
            if outcome.new:
                name = f"{text}, now {outcome.new}"
            elif head == "rule":
                name = rule_called(text, outcome.rule)
            table.add_row(name, outcome.decided, outcome.verdicts_in_words)
        out.print(table)
    for name, each in agreements.items():
        of_pairs, of_all = _coefficients(name)
        for (one, other), kappa in each.pairs.items():
            out.print(f"{name}: {of_pairs} of {one} and {other}: {_kappa(kappa)}")
        if each.together is not None:
            out.print(f"{name}: {of_all} of all {len(each.reviewers)}: {_kappa(each.together)}")


def _kappa(kappa: Kappa) -> str:
    if not kappa.items or kappa.observed is None:
        return "not defined: they judged nothing in common"
    basis = f"on {counted(kappa.items, 'item')}, {kappa.observed:.0%} the same"
    if kappa.value is None:
        return f"not defined ({basis}: all in one category)"
    beside = ""
    if kappa.interval is not None:
        beside = f" (95% {kappa.interval[0]:.2f} to {kappa.interval[1]:.2f})"
    return f"{kappa.value:.2f}{beside}, {basis}"
