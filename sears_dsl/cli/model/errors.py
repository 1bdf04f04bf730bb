"""``sears errors``: what predicts that a model fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sears_dsl.cli.screen.console import FilePath, console, echo_json
from sears_dsl.runtime.extras import need_audit, need_learning

if TYPE_CHECKING:
    from sears_dsl.auditing.failures import ErrorsDocument


@click.command(
    "errors",
    epilog="Example: sears errors audits/clean audits/noisy --data test.csv -o errors",
)
@click.argument("audits", nargs=-1, required=True, type=FilePath())
@click.option("--data", metavar="FILE",
              help="The rows that were audited: without them texts are unknown.")  # fmt: skip
@click.option("--format", "file_format",
              help="Format of --data, where its name does not tell.")  # fmt: skip
@click.option("--feature", "features", multiple=True, metavar="COLUMN",
              help="A further feature: a column of the data, or what is computed of one, as for "
              "`sears audit --slice`; repeatable.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="Of the folds and of what is shuffled.")  # fmt: skip
@click.option("-o", "--output", metavar="FOLDER", type=FilePath(file_okay=False),
              help="Where errors.json, errors.md and errors.html go.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print what was learned as JSON.")
@click.option("--quiet", is_flag=True, help="No summary.")
def errors_command(
    audits: tuple[Path, ...],
    *,
    data: str | None,
    file_format: str | None,
    features: tuple[str, ...],
    seed: int,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn what predicts that a model fails, and say how well it does.

    AUDITS are folders that `sears audit` wrote, or the audit.json in them, of the same rows: of one
    model or of several. Each answer is an instance: wrong or right, with its rule, the words of the
    answer, the model's confidence, and with --data question type, lengths and readability. Gradient
    boosting is judged in ten folds against always saying what most answers are.
    """
    need_audit()
    need_learning()
    from sears_dsl.auditing.document import read_audits
    from sears_dsl.auditing.failures import predict_errors
    from sears_dsl.auditing.reports.files import write_errors_files

    document = predict_errors(
        read_audits(audits), data=data, features=features, format_name=file_format, seed=seed
    )
    if output is not None:
        write_errors_files(document, output)
    if as_json:
        echo_json(json.loads(document.model_dump_json()))
    elif not quiet:
        _print_errors(document, output)


def _print_errors(document: ErrorsDocument, output: Path | None) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console(stderr=True)
    table = Table("feature", "micro F1 lost, points (95%)", "known for", box=None, pad_edge=False)
    for each in document.features:
        worth = each.importance
        table.add_row(
            Text(each.name),
            f"{100 * worth.mean:+.2f} ({100 * worth.low:+.2f} to {100 * worth.high:+.2f})",
            f"{each.known:,}",
        )
    out.print(table)
    for note in document.notes:
        out.print(Text(note, style="dim"))
    out.print(Text(document.conclusion, style="bold"))
    if output is not None:
        out.print(Text(f"written: {output}/errors.html, errors.md, errors.json"))
