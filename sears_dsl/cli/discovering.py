"""``sears discover`` and ``sears adversaries``: rules, and single sentences, that flip a model."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.console import FilePath, console, counted, echo_json, excerpt
from sears_dsl.cli.extras import need_discovery
from sears_dsl.cli.model_options import model_options, workplace
from sears_dsl.cli.progress import stages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.discovery.found import Discovery, FoundRule
    from sears_dsl.discovery.settings import Settings
    from sears_dsl.text.batches import Format

__all__ = ["adversaries_command", "discover_command"]

# Columns that an example takes at least where it stands beside its rule.
_LEAST_ROOM = 30


@click.command(
    "discover",
    epilog="Example: sears discover --model my_model:predict --data dev.csv --column text "
    "--label label -o found.sear",
)
@model_options
@click.option("-o", "--output", required=True, type=FilePath(),
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
@click.option("--holdout", type=click.FloatRange(0, 1, max_open=True),
              help="Share of right rows that take no part, and say what the rules do; 0 for none. "
              "By default 0.3, and none of fewer than a hundred.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="Of the holdout and the sample.")  # fmt: skip
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True),
              help="Time for the search; the best found until then is written.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def discover_command(output: Path, **options: Any) -> None:
    """Find the few rules that make a model fail most without changing the meaning.

    Paraphrases of the rows that the model has right, made by translation models, show where it
    fails; rules generalize these, a semantic score throws out those that change the meaning, and
    the rules that together flip most rows are written as a ruleset, with a manifest and a report.
    """
    began = time.monotonic()
    need_discovery()
    _check_name(output)
    settings = _settings(options)
    quiet = options["quiet"]
    with stages(shown=not quiet) as show, workplace(output, options, show=show) as work:
        # These bring torch, which takes seconds: what can go wrong without it went wrong before.
        from sears_dsl.discovery.manifest import SearchRecord
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
            began=began,
        )
        participants = Participants(
            model=work.predictor.identity,
            pivots=work.team.pivots,
            scorer=work.team.identity,
            beam=options["beam"],
            label=options["label"],
            also=options["also"],
            search=SearchRecord(
                **work.team.search._asdict(), device=work.team.device, threads=work.team.threads
            ),
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
@click.option("-o", "--output", required=True, type=FilePath(),
              help="The file to write: csv, tsv, jsonl, parquet or arrow.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), default=1, show_default=True,
              help="Most adversaries of a row.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True),
              help="Time for the search.")  # fmt: skip
def adversaries_command(output: Path, *, top: int, **options: Any) -> None:
    """Write paraphrases that flip the model: of each row that it has right, the best.

    Columns: row (from 1), original, adversary, score, label, prediction.
    """
    began = time.monotonic()
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

        right, adversaries, skipped, cut_short = adversaries_of(
            work.data,
            work.predictor,
            paraphraser=work.team,
            scorer=work.team,
            tagger=work.tagger,
            settings=settings,
            journal=work.journal,
            on_progress=lambda each: show(*each),
            began=began,
        )
        kept = best_of_each_row(adversaries.found, top)
        columns: dict[str, list[Any]] = {
            "row": [work.data.number(right.positions[each.row]) for each in kept],
            "original": [each.original for each in kept],
            "adversary": [each.text for each in kept],
            "score": [each.score for each in kept],
            "label": [each.label for each in kept],
            "prediction": [each.prediction for each in kept],
        }
        _write_table(output, form, columns)
        work.run.keep = bool(cut_short)
    if not quiet:
        rows = len({each.row for each in adversaries.found})
        out = console(stderr=True)
        out.print(
            f"{counted(rows, 'row')} of the {len(right):,} that the model has right can be "
            f"reworded so that it fails; {len(kept):,} adversaries written to {output}"
        )
        if skipped or cut_short:
            out.print(
                f"the time budget cut short: {', '.join(cut_short)}; "
                f"{counted(skipped, 'row')} not reworded"
            )


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
    """The rules as the paper's Table 3 shows them, and what held-out rows say of each."""
    out = console(stderr=True)
    funnel = discovery.funnel
    searched = funnel.right - funnel.held_out
    asked = funnel.rows - funnel.unasked
    out.print(
        f"{funnel.right:,} of {asked:,} rows are right, {funnel.held_out:,} of them held out "
        f"and {searched:,} searched; {funnel.rows_with_adversary:,} of these have an adversary; "
        f"{counted(funnel.candidates, 'candidate rule')}, {funnel.passing:,} pass the filter"
    )
    if funnel.unasked:
        out.print(f"{counted(funnel.unasked, 'row')} not asked about for want of time")
    if funnel.too_long:
        out.print(f"{counted(funnel.too_long, 'row')} not reworded, or not all of it: too long")
    if discovery.rules:
        _print_rules(discovery, out)
        _print_sums(discovery, out)
    else:
        out.print(_why_nothing(discovery))
    if discovery.budget_reached:
        out.print(f"the time budget cut short: {', '.join(discovery.cut_short)}")
    beside = f"{output.stem}.manifest.json, {output.stem}.md"
    out.print(f"written: {output}; beside it {beside}")


def _print_rules(discovery: Discovery, out: Console) -> None:
    """A line a rule, with its example beside it, or all examples below where there is no room."""
    longest = max(len(each.text) for each in discovery.rules)
    room = out.width - longest - (80 if discovery.funnel.held_out else 45)
    beside = room >= _LEAST_ROOM
    width = min(90, room if beside else out.width - 20)
    examples = [_example(each, width) for each in discovery.rules]
    out.print(_table(discovery, examples if beside else None))
    if not beside:
        out.print(*filter(None, examples), sep="\n")


def _example(found: FoundRule, width: int) -> Text:
    """A row that the rule flips, with the change marked; nothing where there is none."""
    from rich.text import Text

    from sears_dsl.engine.matches import Edit

    if not found.examples:
        return Text("")
    first = found.examples[0]
    edit = Edit(0, len(first.original), first.original, first.rewritten)
    example = excerpt(first.original, [edit], width=width)
    return example.append(f"  {first.label} → {first.prediction}", style="dim")


def _table(discovery: Discovery, examples: Sequence[Text] | None) -> Table:
    """A line a rule: flips and meaning on the rows that found it, and on those held out."""
    from rich.table import Table
    from rich.text import Text

    from sears_dsl.discovery.report import percent

    held_out = bool(discovery.funnel.held_out)
    heads = ["rule", "flips", "rate (95%)", "S ≥ τ"]
    heads += ["held out", "rate (95%)", "S ≥ τ"] if held_out else []
    heads += ["example"] if examples else []
    table = Table(*heads, box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for number, each in enumerate(discovery.rules):
        cells = [Text(each.text + ("†" if each.joined else ""))]
        rows = [(each.flips, each.changed, each.interval, each.at_tau)]
        if each.held_out is not None:
            held = each.held_out
            rows.append((held.flips, held.changed, held.interval, held.at_tau or 0))
        for flips, changed, (low, high), at_tau in rows:
            cells.append(Text(f"{flips} of {changed}"))
            if changed:
                rate = f"{percent(flips / changed)} ({percent(low)}–{percent(high)})"
                cells += [Text(rate), Text(percent(at_tau / changed))]
            else:
                cells += [Text(""), Text("")]
        table.add_row(*cells, *(examples[number : number + 1] if examples else []))
    return table


def _print_sums(discovery: Discovery, out: Console) -> None:
    """What the rules do together, and on which rows all of this was counted."""
    from sears_dsl.discovery.settings import HOLDOUT_FROM

    funnel = discovery.funnel
    searched = funnel.right - funnel.held_out
    together = (
        f"together they flip {funnel.rows_flipped:,} of {searched:,} searched rows "
        f"({100 * funnel.rows_flipped / max(1, searched):.1f}%) with S ≥ τ"
    )
    if funnel.held_out:
        flipped = funnel.held_out_flipped or 0
        together += (
            f", and {flipped:,} of {funnel.held_out:,} held out "
            f"({100 * flipped / funnel.held_out:.1f}%)"
        )
    out.print(together)
    if any(each.joined for each in discovery.rules):
        where = "held-out rows" if funnel.held_out else "a third of the rows"
        out.print(f"† counted on {where} alone, which neither chose nor judged its contexts")
    if not funnel.held_out:
        share = discovery.settings.holdout
        why = f"fewer than {HOLDOUT_FROM} right rows" if share is None else f"--holdout {share:g}"
        out.print(f"no rows held out ({why}): the numbers are from the rows that found the rules")


def _why_nothing(discovery: Discovery) -> str:
    """What to do where no rule was found, by the stage at which the last ones went."""
    funnel, settings = discovery.funnel, discovery.settings
    if discovery.budget_reached:
        lost = (
            (funnel.skipped, "row", "not reworded"),
            (funnel.not_asked, "candidate", "not asked about"),
            (funnel.undecided, "candidate", "not scored to the end"),
        )
        said = "; ".join(f"{counted(count, what)} {how}" for count, what, how in lost if count)
        return (
            f"no rule in this time{f' ({said})' if said else ''}: --resume with more "
            "--budget-seconds goes on from here; fewer rows (--sample) need less"
        )
    if not funnel.candidates:
        return (
            "no rewording that keeps the meaning gives a rule: more rows, or a wider --beam, show "
            "more"
        )
    if not funnel.with_enough_flips:
        return (
            f"none of the {funnel.candidates:,} candidates flips {settings.minimum_flips} rows: "
            "more rows, or a smaller --minimum-flips"
        )
    return (
        f"{counted(funnel.with_enough_flips, 'candidate')} flip {settings.minimum_flips} rows or "
        f"more, and none of them keeps the meaning (S ≥ {discovery.tau:.3g}) on "
        f"{100 * (1 - settings.delta):.0f}% of its rows: a smaller --tau or a larger --delta lets "
        "weaker ones pass; more rows show more"
    )
