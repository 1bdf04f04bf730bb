"""``sears errors``: what predicts that a model fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.options import shared
from sears_dsl.cli.screen.console import console, echo_document, plain_table
from sears_dsl.runtime.extras import need_learning

if TYPE_CHECKING:
    from sears_dsl.auditing.failures import ErrorsDocument


@click.command(
    "errors", epilog="Example: sears errors audits/clean audits/noisy --data test.csv -o errors"
)
@click.argument("audits", nargs=-1, required=True, type=shared.FilePath())
@click.option("--data", metavar="FILE",
              help="The rows that were audited; without them, texts are unknown.")  # fmt: skip
@click.option("--format", "format_name",
              help="The format of --data, if its name does not show it.")  # fmt: skip
@shared.reading_options
@click.option("--feature", "features", multiple=True, metavar="COLUMN",
              help="Another feature: a column of the data, or what is computed of one, as for "
              "`sears audit --slice`; repeatable.")  # fmt: skip
@click.option("--seed", type=int, default=0,
              help="The seed of which rows are learned from, and what is shuffled.")  # fmt: skip
@click.option("-o", "--output", metavar="FOLDER", type=shared.FilePath(file_okay=False),
              help="The folder for errors.json, errors.md and errors.html.")  # fmt: skip
@shared.json_option("Print what was learned as JSON.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def errors_command(audits: tuple[Path, ...], *, output: Path | None, **options: Any) -> None:
    """Learn what predicts a model's errors, and report how well it does.

    AUDITS are folders that `sears audit` wrote, or the audit.json in them, of the same rows and of
    one or several models. Each answer, wrong or right, is an instance, with its rule, the words of
    the answer and the model's confidence; with --data also question type, lengths and readability.
    In ten folds, gradient boosting is compared with always predicting what most answers are.
    """
    need_learning()
    from sears_dsl.auditing.document import read_audits
    from sears_dsl.auditing.failures import ErrorsDocument, predict_errors
    from sears_dsl.auditing.reports.files import files_of, write_files

    if output is not None:
        read = [*map(str, audits), options["data"]]
        shared.refuse_overwriting(files_of(ErrorsDocument, output), sources=read)
    reading = shared.chosen_reading(options)
    document = shared.chosen_as(
        predict_errors, options, audits=read_audits(audits), reading=reading
    )
    if output is not None:
        write_files(document, output)
    if options["as_json"]:
        echo_document(document.model_dump_json())
    elif not options["quiet"]:
        _print_errors(document, output)


def _print_errors(document: ErrorsDocument, output: Path | None) -> None:
    out = console(stderr=True)
    table = plain_table("feature", "points of F1 lost (95%)", "answers with a value")
    for each in document.features:
        worth = each.importance
        points = f"{100 * worth.mean:+z.2f} ({100 * worth.low:+z.2f} to {100 * worth.high:+z.2f})"
        table.add_row(each.name, points, f"{each.known:,}")
    out.print(table)
    for note in document.notes:
        out.print(f"note: {note}", style="dim")
    out.print(document.conclusion, style="bold")
    if output is not None:
        out.print(f"written: {output}/errors.html, errors.md, errors.json")
