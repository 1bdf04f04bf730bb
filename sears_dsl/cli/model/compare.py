"""``sears compare``: audits of the same rows side by side, two of them or a grid."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options.shared import FilePath, json_option
from sears_dsl.cli.screen.console import console, echo_document, plain_table, print_rule_table
from sears_dsl.errors import listed

if TYPE_CHECKING:
    from sears_dsl.auditing.comparison import ComparisonDocument
    from sears_dsl.auditing.grids import GridDocument

# Rules of a comparison; the files have all of them.
_RULES_SHOWN = 40
_NAMED = 3
_CHANGES = {"worse": "bold red", "better": "green", "no evidence": "dim", "not compared": "yellow"}


@click.command(
    "compare",
    cls=ProjectCommand,
    epilog="Example: sears compare audits/before audits/after -o comparison --fail-if-worse",
)
@click.argument("before", cls=ProjectArgument, type=FilePath())
@click.argument("after", cls=ProjectArgument, type=FilePath())
@click.argument("more", nargs=-1, type=FilePath())
@click.option("-o", "--output", metavar="FOLDER", type=FilePath(file_okay=False),
              help="The folder for comparison.json, comparison.md, comparison.html.")  # fmt: skip
@click.option("--fail-if-worse", is_flag=True,
              help="Exit 1 if one is clearly worse than the first (p < 0.05, Holm), or if nothing "
              "could be compared.")  # fmt: skip
@json_option("Print the comparison as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def compare_command(
    before: Path, after: Path, more: tuple[Path, ...], *, output: Path | None, **options: Any
) -> None:
    """Compare two audits of the same rows: of two models, or of two versions of one.

    BEFORE and AFTER are folders that `sears audit` wrote, or the audit.json in them. Each rule is
    compared on the rows that both models get right, by McNemar's exact test. MORE audits are each
    compared with the first, in a grid of models and rules.
    """
    from sears_dsl.auditing.comparison import compare
    from sears_dsl.auditing.document import read_audits
    from sears_dsl.auditing.grids import GridDocument, grid
    from sears_dsl.auditing.reports.files import write_files

    audits = read_audits([before, after, *more])
    document: ComparisonDocument | GridDocument = (
        grid(audits) if more else compare(*audits.values())
    )
    if output is not None:
        write_files(document, output)
    if options["as_json"]:
        echo_document(document.model_dump_json())
    elif not options["quiet"]:
        if isinstance(document, GridDocument):
            print_grid(document)
        else:
            _print_comparison(document)
        if output is not None:
            files = "comparison.html, comparison.md, comparison.json"
            click.echo(f"written: {output}/{files}", err=True)
    if options["fail_if_worse"] and document.nothing_compared:
        click.echo("--fail-if-worse: nothing was compared, so nothing can be said", err=True)
    if options["fail_if_worse"] and (document.worse or document.nothing_compared):
        sys.exit(1)


def _print_comparison(comparison: ComparisonDocument) -> None:
    from rich.text import Text

    from sears_dsl.auditing.comparison import NO_ROW, untested_rules
    from sears_dsl.language.printer import rule_called
    from sears_dsl.statistics import percent

    out = console(stderr=True)
    table = plain_table("rule", "rows", "fail before", "after", "points (95%)", "p (Holm)", "")
    # Rules that no row tests in both are counted below.
    compared = [each for each in comparison.rules if each.outcome != "not compared"]
    for record in compared[:_RULES_SHOWN]:
        change = record.failures
        table.add_row(
            rule_called(record.rule, record.id),
            f"{change.rows:,}",
            percent(change.first_rate),
            percent(change.second_rate),
            change.in_points,
            "–" if change.adjusted_p_value is None else f"{change.adjusted_p_value:.2g}",
            Text(record.outcome, style=_CHANGES[record.outcome]),
        )
    if compared:
        print_rule_table(out, table, left_out=len(compared) - _RULES_SHOWN)
    for line in (*comparison.summary, *untested_rules(comparison.rules)):
        out.print(line)
    # Say of each changed rule why it is missing.
    missing = [
        f"{rule_called(each.rule, each.id)} ({each.note})"
        for each in comparison.rules
        if each.outcome == "not compared" and each.note != NO_ROW
    ]
    if missing:
        out.print(f"not compared: {listed(missing, _NAMED)}")


def print_grid(grid: GridDocument) -> None:
    """Print the failure rates, and what is certain about them."""
    from rich.text import Text

    from sears_dsl.auditing.reports.several_audits import SIGNS
    from sears_dsl.language.printer import rule_called
    from sears_dsl.statistics import percent

    out = console(stderr=True)
    heads = names = [model.name for model in grid.models]
    if sum(len(name) + 2 for name in names) > out.width // 2:
        heads = [str(number) for number in range(1, len(names) + 1)]
    table = plain_table("rule", *heads)
    tested = [rule for rule in grid.rules if rule.is_tested]
    for rule in tested[:_RULES_SHOWN]:
        cells = []
        for each in rule.cells:
            outcome = each.against_first.outcome if each.against_first else "no evidence"
            rate = percent(None if each.failures is None else each.failures.rate)
            cells.append(Text(f"{rate} {SIGNS[outcome]}".rstrip(), style=_CHANGES[outcome]))
        table.add_row(rule_called(rule.rule, rule.id), *cells)
    if tested:
        print_rule_table(out, table, left_out=len(tested) - _RULES_SHOWN)
        out.print(f"(failure rates; ▲ clearly above that of {heads[0]}, ▼ below)", style="dim")
    for head, name in () if heads is names else zip(heads, names, strict=True):
        out.print(f"{head}: {name}")
    for line in grid.summary:
        out.print(line)
