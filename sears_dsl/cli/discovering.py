"""``sears discover`` and ``sears adversaries``: rules, and single sentences, that flip a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.console import console, counted, echo_json, excerpt
from sears_dsl.cli.extras import need_discovery
from sears_dsl.cli.model_options import model_options, workplace
from sears_dsl.cli.progress import stages

if TYPE_CHECKING:
    from sears_dsl.discovery.found import Discovery
    from sears_dsl.discovery.settings import Settings
    from sears_dsl.text.batches import Format

__all__ = ["adversaries_command", "discover_command"]


@click.command(
    "discover",
    epilog="Example: sears discover --model my_model:predict --data dev.csv --column text "
    "--label label -o found.sear",
)
@model_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path),
              help="The ruleset to write; a manifest and a report go beside it.")  # fmt: skip
@click.option("--rules", type=click.IntRange(min=1), default=10, show_default=True,
              help="Most rules to select.")  # fmt: skip
@click.option("--delta", type=click.FloatRange(0, 1, max_open=True), default=0.1, show_default=True,
              help="Share of a rule's rows that may fall below tau.")  # fmt: skip
@click.option("--minimum-flips", type=click.IntRange(min=1), default=3, show_default=True,
              help="Leave rules that flip fewer rows.")  # fmt: skip
@click.option("--minimum-frequency", type=click.FloatRange(0, 1), default=0.005, show_default=True,
              help="Share of rows that a rule's left side must be in.")  # fmt: skip
@click.option("--propose-from", type=click.Choice(["paraphrases", "adversaries"]),
              default="paraphrases", show_default=True,
              help="What rules generalize; adversaries asks the model less.")  # fmt: skip
@click.option("--join-contexts/--no-join-contexts", default=True, show_default=True,
              help="Rules over the tags beside which a change keeps the meaning.")  # fmt: skip
@click.option("--holdout", type=click.FloatRange(0, 1, max_open=True), default=0.0,
              show_default=True, help="Share of rows kept apart to count flips on.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the holdout.")
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True),
              help="Time for the search; the best found until then is written.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def discover_command(output: Path, **options: Any) -> None:
    """Find the few rules that make a model fail most without changing the meaning.

    Paraphrases of the rows that the model has right, made by translation models, show where it
    fails; rules generalize these, a semantic score throws out those that change the meaning, and
    the rules that together flip most rows are written as a ruleset, with a manifest and a report.
    """
    need_discovery()
    _check_name(output)
    settings = _settings(options)
    quiet = options["quiet"]
    with stages(shown=not quiet) as show, workplace(output, options, show=show) as work:
        # These bring torch, which takes seconds: what can go wrong without it went wrong before.
        from sears_dsl.discovery.pipeline import discover
        from sears_dsl.discovery.report import Participants, write_discovery

        discovery = discover(
            work.data,
            work.predictor,
            paraphraser=work.team,
            scorer=work.team,
            tagger=work.tagger,
            settings=settings,
            journal=work.journal,
            on_progress=lambda each: show(*each),
        )
        participants = Participants(
            model=work.predictor.identity,
            pivots=work.team.pivots,
            scorer=work.team.identity,
            beam=options["beam"],
            label=options["label"],
            also=options["also"],
        )
        manifest = write_discovery(discovery, output, participants=participants, tagger=work.tagger)
        work.run.keep = discovery.budget_reached
    if options["as_json"]:
        echo_json(json.loads(manifest.model_dump_json()))
    elif not quiet:
        _print_discovery(discovery, output)


@click.command(
    "adversaries",
    epilog="Example: sears adversaries --model my_model:predict --data dev.csv --label label "
    "-o adversaries.csv --top 3",
)
@model_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path),
              help="The file to write: csv, tsv, jsonl, parquet or arrow.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=1, show_default=True,
              help="Most adversaries of a row.")  # fmt: skip
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True),
              help="Time for the search.")  # fmt: skip
def adversaries_command(output: Path, *, top: int, **options: Any) -> None:
    """Write paraphrases that flip the model: of each row that it has right, the best.

    Columns: row (from 1), original, adversary, score, label, prediction.
    """
    need_discovery()
    from sears_dsl.discovery.settings import Settings
    from sears_dsl.text.dataset import format_of

    form = format_of(str(output), reading=False)
    settings = Settings(
        tau=options["tau"],
        comparison=options["compare"],
        budget_seconds=options["budget_seconds"],
    )
    quiet = options["quiet"]
    with stages(shown=not quiet) as show, workplace(output, options, show=show) as work:
        from sears_dsl.discovery.adversary import best_of_each_row
        from sears_dsl.discovery.pipeline import adversaries_of

        right, adversaries, skipped = adversaries_of(
            work.data,
            work.predictor,
            paraphraser=work.team,
            scorer=work.team,
            tagger=work.tagger,
            settings=settings,
            journal=work.journal,
            on_progress=lambda each: show(*each),
        )
        kept = best_of_each_row(adversaries.found, top)
        columns: dict[str, list[Any]] = {
            "row": [right.positions[each.row] + 1 for each in kept],
            "original": [each.original for each in kept],
            "adversary": [each.text for each in kept],
            "score": [each.score for each in kept],
            "label": [each.label for each in kept],
            "prediction": [each.prediction for each in kept],
        }
        _write_table(output, form, columns)
    if not quiet:
        rows = len({each.row for each in adversaries.found})
        out = console(stderr=True)
        out.print(
            f"{counted(rows, 'row')} of the {len(right):,} that the model has right can be "
            f"reworded so that it fails; {len(kept):,} adversaries written to {output}"
        )
        if skipped:
            out.print(f"{counted(skipped, 'row')} not reworded for want of time")


def _write_table(path: Path, form: Format, columns: Mapping[str, Sequence[Any]]) -> None:
    """A file of new rows, whole or not at all."""
    from io import BytesIO

    from sears_dsl.text.batches import Frame
    from sears_dsl.text.writing import write_atomically

    content = BytesIO()
    form.assemble([form.encode(columns, "utf-8")], content, Frame(tuple(columns)))
    write_atomically(path, content.getvalue())


def _check_name(output: Path) -> None:
    """Before an hour of work, not after it."""
    if output.suffix != ".sear":
        raise click.UsageError(f"-o {output}: a ruleset's name ends in .sear")


def _settings(options: dict[str, Any]) -> Settings:
    from sears_dsl.discovery.settings import Settings

    return Settings(
        comparison=options["compare"],
        **{
            name: options[name]
            for name in ("rules", "tau", "delta", "minimum_flips", "minimum_frequency",
                         "propose_from", "join_contexts", "holdout", "seed", "budget_seconds")
        },
    )  # fmt: skip


def _print_discovery(discovery: Discovery, output: Path) -> None:
    """The rules as the paper's Table 3 shows them: rule, example, flips."""
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.discovery.report import percent
    from sears_dsl.engine.matches import Edit

    out = console(stderr=True)
    funnel = discovery.funnel
    out.print(
        f"{funnel.right:,} of {funnel.rows:,} rows are right; {funnel.rows_with_adversary:,} of "
        f"these have an adversary; {counted(funnel.candidates, 'candidate rule')}, "
        f"{funnel.passing:,} pass the filter"
    )
    if not discovery.rules:
        out.print(
            "no rule flips enough rows and keeps the meaning; more rows, a smaller --tau or "
            "--minimum-flips find weaker ones"
        )
    else:
        table = Table("rule", "flips", "rate (95%)", "S ≥ τ", "example", box=None, pad_edge=False)
        table.columns[1].justify = "right"
        longest = max(len(each.text) for each in discovery.rules)
        width = max(30, min(90, out.width - longest - 45))
        for each in discovery.rules:
            low, high = each.interval
            example = Text("")
            if each.examples:
                first = each.examples[0]
                edit = Edit(0, len(first.original), first.original, first.rewritten)
                example = excerpt(first.original, [edit], width=width)
                example.append(f"  {first.label} → {first.prediction}", style="dim")
            table.add_row(
                Text(each.text),
                f"{each.flips} of {each.changed}",
                f"{percent(each.flips / each.changed)} ({percent(low)}–{percent(high)})",
                percent(each.at_tau / each.changed),
                example,
            )
        out.print(table)
        share = 100 * funnel.rows_flipped / max(1, funnel.right)
        out.print(
            f"together they flip {funnel.rows_flipped:,} of {funnel.right:,} right rows "
            f"({share:.1f}%)"
        )
    if discovery.budget_reached:
        out.print("the time budget cut the search short; the manifest says so")
    beside = f"{output.stem}.manifest.json, {output.stem}.md"
    out.print(f"written: {output}; beside it {beside}")
