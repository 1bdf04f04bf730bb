"""``sears generate``: the sentences that templates stand for, as labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.screen.console import console, echo_json, plain_table
from sears_dsl.errors import counted
from sears_dsl.language.words import LARGEST_SEED

if TYPE_CHECKING:
    from sears_dsl.generating.table import GeneratedTable
    from sears_dsl.language.ruleset import Ruleset


@click.command(
    "generate",
    cls=ProjectCommand,
    epilog="Example: sears generate phenomena.sear -o negation.csv --limit 500",
)
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=shared.FilePath(),
              help="The file to write; - for standard output, as csv by default.")  # fmt: skip
@shared.output_format_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N",
              help="At most N sentences; a lower N gives the first of them.")  # fmt: skip
@click.option("--by", type=click.Choice(["template", "sentence"]), default="template",
              help="What a limit treats alike: all templates, or all sentences.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0, max=LARGEST_SEED), default=0,
              help="The seed of which sentences --limit draws, and of noise in slots.")  # fmt: skip
@shared.oracle_option
@shared.json_option("Print the counts as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
@shared.imports_option
def generate_command(rules: tuple[str, ...], *, output: Path, **options: Any) -> None:
    """Write the sentences of templates: text, label, template, and a column for each slot.

    Without --limit all of them, in the order of the files. Rules in the files are skipped.
    """
    from sears_dsl.catalogue import load_rulesets

    # Before numpy is loaded: a file of too many sentences is refused in half a second.
    rulesets = load_rulesets(rules, allow_imports_outside=options["allow_imports_outside"])

    from sears_dsl.data.dataset import format_of, write_columns
    from sears_dsl.generating.table import generate_table

    shared.refuse_both_on_stdout(str(output), as_json=options["as_json"], rows="sentences")
    shared.refuse_overwriting([output], sources=[options["oracle"]], rulesets=rulesets)
    unnamed = "csv" if str(output) == "-" else None
    form = format_of(str(output), options["output_format"] or unnamed, reading=False)
    keep = None
    if options["oracle"] is not None:
        from sears_dsl.effects.oracle import sentence_filter
        from sears_dsl.vetting.journal_oracle import open_oracle

        keep = sentence_filter(open_oracle(options["oracle"], rulesets))
    table = generate_table(
        rulesets, limit=options["limit"], by=options["by"], seed=options["seed"], keep=keep
    )
    write_columns(table.columns, output, form)
    if options["as_json"]:
        echo_json(
            {
                "rows": len(table),
                "labels": dict(table.labels),
                "contradictions": len(table.contradictions),
                "templates": [asdict(each) for each in table.templates],
            }
        )
    elif not options["quiet"]:
        _print_counts(table, output, rulesets)


def _print_counts(table: GeneratedTable, output: Path, rulesets: Sequence[Ruleset]) -> None:
    from sears_dsl.generating.sentences import note_on_articles

    out = console(stderr=True)
    rows = [
        (each.name, each.label, f"{each.sentences:,}", f"{each.written:,}")
        for each in table.templates
    ]
    heads = "template", "label", "sentences", "written"
    out.print(plain_table(*heads, right=[2, 3], rows=rows))
    for each in table.templates:
        if each.repeated:
            choices = counted(each.repeated, "more choice repeats", "more choices repeat")
            out.print(f"{each.name}: {choices} sentences that are already written")
        if each.empty:
            empty = counted(each.empty, "sentence has", "sentences have")
            out.print(f"{each.name}: {empty} no words (W623 of `sears check`)")
    for note in filter(None, (table.note_on_labels, note_on_articles(rulesets))):
        out.print(f"note: {note}")
    rejected = {each.name: each.rejected for each in table.templates if each.rejected}
    if rejected:
        listed = ", ".join(f"{name} {count:,}" for name, count in rejected.items())
        out.print(f"the oracle rejected {counted(sum(rejected.values()), 'sentence')}: {listed}")
    labels = ", ".join(f"{label} {count:,}" for label, count in table.labels.most_common())
    out.print(f"{counted(len(table), 'row')}: {labels}")
    most = max(table.labels.values(), default=0)
    out.print(f"a model that always gives one label gets {most / max(1, len(table)):.1%} right")
    if str(output) != "-":
        out.print(f"written: {output}")
