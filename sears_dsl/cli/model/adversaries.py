"""``sears adversaries``: single sentences that flip a model."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectCommand
from sears_dsl.cli.options.model import SearchingOptions, model_options, noter, open_search
from sears_dsl.cli.options.shared import FilePath, NumberRange
from sears_dsl.cli.screen.console import console, stages
from sears_dsl.errors import counted
from sears_dsl.runtime.extras import need_discovery

if TYPE_CHECKING:
    from sears_dsl.engine.matches import Unit


@dataclass(frozen=True, kw_only=True)
class AdversariesOptions(SearchingOptions):
    """The options of ``sears adversaries``."""

    unit: Unit
    avoid_important: int
    every: bool
    budget_seconds: float | None


@click.command(
    "adversaries",
    cls=ProjectCommand,
    epilog="Example: sears adversaries --model my_model:predict --data dev.csv --label label "
    "-o adversaries.csv --top 3",
)
@model_options
@click.option("-o", "--output", required=True, type=FilePath(),
              help="The file to write: csv, tsv, jsonl, parquet or arrow.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=1, help="Most adversaries per row.")
@click.option("--unit", type=click.Choice(["text", "sentence"]), default="text",
              help="What is reworded at once: the text, or each sentence by itself, once; "
              "sentences that hold protected content stay as they are.")  # fmt: skip
@click.option("--avoid-important", type=click.IntRange(min=0), default=0, metavar="N",
              help="Reword without the N words of each row that the answer depends on most, found "
              "by leaving out one word at a time; the model has to say how sure it "
              "is.")  # fmt: skip
@click.option("--all", "every", is_flag=True,
              help="With --unit sentence or --avoid-important: also write rewordings that do not "
              "flip, and those of rows that the model gets wrong.")  # fmt: skip
@click.option("--seed", type=int, default=0, help="The seed of which rows --sample draws.")
@click.option("--budget-seconds", type=NumberRange(0, min_open=True),
              help="Stop the search after this many seconds.")  # fmt: skip
def adversaries_command(output: Path, *, top: int, **options: Any) -> None:
    """Write the paraphrases that flip a model: the best one of each row that it gets right.

    Columns: row (from 1), original, adversary, score, label, prediction. With --unit sentence or
    --avoid-important also: before (the model's answer to the original), flips, and words (those
    that were avoided, with their weights).
    """
    began = time.monotonic()
    need_discovery()
    chosen = AdversariesOptions(**options)
    if chosen.unit == "sentence" or chosen.avoid_important:
        _reword_strategically(output, top, chosen)
        return
    if chosen.every:
        raise click.UsageError("--all needs --unit sentence or --avoid-important")
    from sears_dsl.data.dataset import table_format, write_columns
    from sears_dsl.discovery.settings import STAGE_NAMES, Settings

    form = table_format(str(output))
    settings = Settings(
        tau=chosen.tau, comparison=chosen.comparison, budget_seconds=chosen.budget_seconds
    )
    quiet = chosen.quiet
    with stages(shown=not quiet) as show, open_search(output, chosen, show=show) as work:
        from sears_dsl.discovery.adversaries import adversary_columns, best_of_each_row
        from sears_dsl.discovery.algorithm import adversaries_of

        parts = work.parts
        right, search, skipped, cut_short = adversaries_of(
            work.data, work.predictor, paraphraser=parts.paraphraser, scorer=parts.scorer,
            tagger=work.tagger, settings=settings, journal=parts.journal, on_progress=show,
            began=began,
        )  # fmt: skip
        best = best_of_each_row(search.adversaries, top)
        write_columns(adversary_columns(best, work.data, right), output, form)
        work.run.keep = bool(cut_short)
    if not quiet:
        rows = len({each.row for each in search.adversaries})
        out = console(stderr=True)
        out.print(
            f"{rows:,} of the {counted(len(right), 'row')} that the model gets right can be "
            f"reworded so that it fails; {counted(len(best), 'adversary', 'adversaries')} "
            f"written to {output}"
        )
        if skipped or cut_short:
            cut = ", ".join(STAGE_NAMES[each] for each in cut_short)
            rows_not = counted(skipped, "row")
            out.print(f"the time budget cut these stages short: {cut}; {rows_not} not paraphrased")


def _reword_strategically(output: Path, top: int, chosen: AdversariesOptions) -> None:
    """Reword each row once, by sentences or without the words that the answer depends on."""
    from sears_dsl.data.dataset import table_format, write_columns

    if chosen.budget_seconds is not None or top > 1:
        option = "--top" if top > 1 else "--budget-seconds"
        raise click.UsageError(f"{option} does not go with --unit sentence or --avoid-important")
    form = table_format(str(output))
    quiet, avoid = chosen.quiet, chosen.avoid_important
    with (
        stages(shown=not quiet) as show,
        open_search(
            output, chosen, show=show, confidence=bool(avoid), wrong_rows=chosen.every
        ) as work,
    ):
        from sears_dsl.discovery.adversaries import StrategicSettings, reword, reworded_columns

        parts = work.parts
        tau = parts.scorer.tau if chosen.tau is None else chosen.tau
        rewordings = reword(
            work.data, work.predictor, paraphraser=parts.paraphraser, scorer=parts.scorer,
            tagger=work.tagger, journal=parts.journal,
            settings=StrategicSettings(
                avoid=avoid, unit=chosen.unit, tau=tau, comparison=chosen.comparison,
                wrong_rows=chosen.every,
            ),
            on_stage=show, note=noter(quiet=quiet),
        )  # fmt: skip
        written = [each for each in rewordings if each.flips or chosen.every]
        write_columns(reworded_columns(written, work.data), output, form)
    if not quiet:
        flips = sum(each.flips for each in rewordings)
        gains = sum(each.right_after and not each.right_before for each in rewordings)
        note = f"; {counted(gains, 'wrong answer')} became right" if chosen.every else ""
        console(stderr=True).print(
            f"{counted(len(rewordings), 'row')} reworded; the model fails on {flips:,} of them"
            f"{note}; {counted(len(written), 'row')} written to {output}"
        )
