"""``sears apply``: rules on data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.screen import console as screen
from sears_dsl.errors import Diagnostic, counted, listed
from sears_dsl.language.words import LARGEST_SEED

if TYPE_CHECKING:
    from rich.console import Console

    from sears_dsl.batch.files import ApplyProgress, ApplyReport, ApplyRequest
    from sears_dsl.clusters.parts import Workers
    from sears_dsl.engine.matches import Unit
    from sears_dsl.language.ruleset import Ruleset

# How many rules that fired, and how many silent rules or reasons, a summary names.
_MOST = 12
_FEW = 3
# Characters of a rule's label in the summary.
_LONGEST_NAME = 48
_OF_RULE = ("rows", "edits", "unrenderable", "left_out")


class _Jobs(click.IntRange):
    """A number of processes, or None for ``auto``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        return None if value == "auto" else super().convert(value, param, ctx)


@click.command(
    "apply",
    cls=ProjectCommand,
    epilog="Examples: sears apply synonyms/reviews reviews.csv -o rewritten.csv --column text; "
    "cat q.txt | sears apply rules.sear - -o - --mode chain",
)
@click.argument(
    "rules_and_input", cls=ProjectArgument, nargs=-1, required=True, metavar="RULES... INPUT"
)
@click.option("-o", "--output", required=True, help="The file to write; - for standard output.")
@click.option("--column", "columns", multiple=True, help="A text column to rewrite; "
              f"{shared.COLUMN_BY_DEFAULT}; repeatable.")  # fmt: skip
@click.option("--protect", multiple=True,
              help="A column whose content must stay intact; repeatable.")  # fmt: skip
@click.option("--span", "spans", multiple=True, metavar="TEXT=COLUMN",
              help="A column of spans that move along with a text: TEXT=COLUMN, TEXT=START:END or "
              "TEXT=START+SPANTEXT.")  # fmt: skip
@click.option("--on-touched", type=click.Choice(["keep", "drop", "error"]), default="keep",
              help="When a rule would touch a span: keep the row and leave that rule out of it; "
              "drop the row (with --mode chain; each leaves out the rewrite alone); or stop "
              "with an error.")  # fmt: skip
@click.option("--keep", multiple=True, metavar="COLUMNS|all",
              help="With --mode each: columns to add to every record, such as the label; "
              "repeatable.")  # fmt: skip
@click.option("--mode", type=click.Choice(["each", "chain"]), default="each",
              help="each: a row for each rule and row that it changes; chain: each row once, with "
              "all rules applied in order.")  # fmt: skip
@shared.scope_option
@shared.unit_option
@click.option("--seed", type=click.IntRange(min=0, max=LARGEST_SEED), default=0,
              help="The seed of what rules draw at random.")  # fmt: skip
@click.option("--share", default="100%", metavar="SHARE",
              help="Rewrite about this share of the texts; the texts of 10% are among those of "
              "25%.")  # fmt: skip
@click.option("--with-originals", is_flag=True,
              help="With --mode chain: write the rows as they are, and after them all rows as the "
              "rules leave them, with ~rewritten added to their ids.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=1), default=1, metavar="N",
              help="Take each row N times, and let rules draw anew each time; the column draw "
              "counts from 0.")  # fmt: skip
@click.option("--vectors", metavar="NAME|FILE",
              help="The word vectors for .neighbor: glove-6b-50d, minilm, or a file of "
              "vectors.")  # fmt: skip
@shared.id_option
@click.option("--format", "format_name", help="The format of INPUT, if its name does not show it.")
@shared.output_format_option
@shared.reading_options
@click.option("--errors", type=click.Choice(["strict", "replace", "ignore"]), default="strict",
              help="What to do with bytes that are not text in that encoding.")  # fmt: skip
@click.option("--jobs", type=_Jobs(min=1), default="1", metavar="N|auto",
              help="The number of processes; auto: one for each core, as soon as a run is long "
              "enough to be worth it.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=0), help="Read at most this many rows.")
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@shared.engine_options
@shared.tagger_option
@shared.no_cache_option
@shared.imports_option
@click.option("--show", type=click.Choice(["most", "all", "silent"]), default="most",
              help="The rules that the summary lists: those that changed most rows, all, or those "
              "that changed none.")  # fmt: skip
@shared.quiet_option
@shared.json_option("Print the summary as JSON.")
def apply_command(rules_and_input: tuple[str, ...], **options: Any) -> None:
    """Apply rules to a dataset.

    RULES are rule files, folders, or names of shipped rulesets; INPUT is csv, tsv, jsonl, json,
    parquet, arrow, txt or SQuAD json, compressed or not; - is standard input. The output
    appears only when it is complete; --resume continues an interrupted run. A folder of files
    becomes a new folder of files; --engine ray spreads them over workers.
    """
    from sears_dsl.batch.files import ApplyRequest
    from sears_dsl.batch.plan import TextShare
    from sears_dsl.batch.provenance import tagger_in_language
    from sears_dsl.catalogue import load_rulesets, require_together
    from sears_dsl.data.span_columns import SpanColumn
    from sears_dsl.engine.compile.requirements import unit_of
    from sears_dsl.paraphrasing.for_rules import RewordingRecipe

    *rules, data = rules_and_input
    if not rules:
        raise click.UsageError("name the rules and then the input: sears apply RULES... INPUT -o …")
    quiet = options["quiet"]
    shared.refuse_both_on_stdout(options["output"], as_json=options["as_json"], rows="rows")
    rulesets = tuple(load_rulesets(rules, allow_imports_outside=options["allow_imports_outside"]))
    vectors = options["vectors"]
    shared.refuse_overwriting([options["output"]], sources=[vectors], rulesets=rulesets)
    require_together(
        rulesets,
        rules,
        unit=options["unit"],
        vectors=vectors is not None,
        advice=shared.with_other_rules,
    )
    unit = unit_of(rulesets, options["unit"])
    tagger = tagger_in_language(options["tagger"], rulesets)
    warnings = [*screen.warn_of_tagger(rulesets, tagger, quiet=quiet)]
    screen.tell_of_templates(rulesets, quiet=quiet)
    if options["mode"] == "chain":
        warnings += screen.warn_of_chain(rulesets, quiet=quiet)
    screen.tell_of_paraphrases(rulesets, quiet=quiet)
    request = shared.chosen_as(
        ApplyRequest,
        options,
        recipe=RewordingRecipe(
            rulesets, tagger=tagger, cached=not options["no_cache"], seed=options["seed"],
            vectors=vectors,
        ),
        input=data,
        spans=tuple(map(SpanColumn.parse, options["spans"])),
        format=options["format_name"],
        reading=shared.chosen_reading(options, errors=options["errors"], limit=options["limit"]),
        share=TextShare.parse(options["share"], seed=options["seed"]),
    )  # fmt: skip
    engine = shared.chosen_as(shared.EngineOptions, options)
    with shared.chosen_workers(
        engine, data, output=request.output, limit=request.reading.limit, jobs=request.jobs
    ) as workers:
        watched = not quiet and sys.stderr.isatty()
        report = _watched(request, workers) if watched else _applied(request, workers)
    if options["as_json"]:
        screen.echo_json({"unit": unit, **_as_dict(report, request, warnings)})
    elif not quiet:
        _print_report(report, request, rulesets, show=options["show"], unit=_unit(rulesets, unit))


def _applied(
    request: ApplyRequest,
    workers: Workers | None,
    progress: Callable[[ApplyProgress], object] | None = None,
) -> ApplyReport:
    if workers is None:
        from sears_dsl.batch.files import apply_file

        return apply_file(request, progress=progress)
    from sears_dsl.clusters.applying import apply_folder

    return apply_folder(request, workers=workers, progress=progress)


def _watched(request: ApplyRequest, workers: Workers | None) -> ApplyReport:
    """Do what `_applied` does, with a line that shows the progress."""
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    out = screen.console(stderr=True)
    layout = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with screen.on_screen(Bar(*layout, console=out, transient=True)) as bar:
        task = bar.add_task("compiling rules" if workers is None else "starting the workers")

        def show(progress: ApplyProgress) -> None:
            rate = progress.rows / progress.seconds if progress.seconds else 0
            parts = "" if workers is None else f"{progress.batches:,} parts, "
            bar.update(
                task,
                description=f"{parts}{progress.rows:,} rows, {progress.changed:,} changed, "
                f"{rate:,.0f} rows/s",
            )

        return _applied(request, workers, show)


def _as_dict(
    report: ApplyReport, request: ApplyRequest, warnings: Sequence[Diagnostic]
) -> dict[str, Any]:
    tally = report.tally
    return {
        "tagger": request.recipe.identity()["tagger"],
        "warnings": list(map(screen.as_json_object, warnings)),
        "rows": tally.rows,
        "draws": request.draws,
        **{
            name: getattr(tally, name)
            for name in ("changed", "records", "missing", "decomposed", "touched", "misplaced",
                         "absent", "dropped", "undone", "reasons")
        },
        "seconds": round(report.seconds, 3),
        "rules": {
            rule: {name: getattr(of, name) for name in _OF_RULE}
            for rule, of in report.rules.items()
        },
    }  # fmt: skip


def _unit(rulesets: Sequence[Ruleset], counts: Unit) -> str:
    """Say which unit rules saw at once, if a rule file asks for one; else return nothing."""
    units = sorted({ruleset.options.unit for ruleset in rulesets if ruleset.options.unit})
    if not units:
        return ""
    if units == [counts]:
        return f"unit: {counts}, by `option unit` of the rules"
    return f"unit: {counts}, by --unit, but `option unit` of the rules says {' and '.join(units)}"


def _none_matches(report: ApplyReport, request: ApplyRequest) -> bool:
    """Whether all rows stay as they are, and only the rules can be the reason."""
    from sears_dsl.batch.plan import TextShare

    acted = any(of.rows or of.unrenderable or of.left_out for of in report.rules.values())
    guarded = request.protect or request.spans or request.share != TextShare()
    return bool(report.tally.rows) and not (acted or guarded or report.tally.undone)


def _print_report(
    report: ApplyReport, request: ApplyRequest, rulesets: Sequence[Ruleset], *, show: str, unit: str
) -> None:
    """Print a summary on standard error, so that standard output holds the data alone."""
    from sears_dsl.language.measure import causes_of_no_rewrite

    out = screen.console(stderr=True)
    if report.note:
        out.print(report.note)
    fired = {rule: of for rule, of in report.rules.items() if of.rows}
    most = sorted(fired.items(), key=lambda item: -item[1].rows)
    shown_rules = {"most": most[:_MOST], "all": most, "silent": []}[show]
    labels = screen.rule_labels(rulesets)
    if shown_rules:
        table = screen.plain_table("rows", "rule", "example", right=[0])
        names = [shorten(labels[rule], _LONGEST_NAME, placeholder="…") for rule, _ in shown_rules]
        other_width = 10 + max(map(len, names))
        width = min(100, max(30, out.width - other_width))
        for name, (_, of) in zip(names, shown_rules, strict=True):
            first = of.examples[0]
            example = screen.excerpt(first.original, first.edits, width=width)
            table.add_row(f"{of.rows:,}", name, example)
        out.print(table)
        if len(most) > len(shown_rules):
            out.print(f"… and {counted(len(most) - len(shown_rules), 'more rule')} (--show all)")
    if show != "most" or (fired and 0 < len(report.silent) <= _FEW):
        out.print(f"silent: {', '.join(labels[rule] for rule in report.silent) or '(none)'}")
    tally = report.tally
    target = "standard output" if request.output == "-" else request.output
    draws = f" and drawn {request.draws:,} times" if request.draws > 1 else ""
    out.print(
        f"{counted(tally.rows, 'row')} read{draws}, {tally.changed:,} changed by "
        f"{counted(len(fired), 'rule')} ({len(report.silent):,} silent), "
        f"{counted(tally.records, 'row')} written to {target}"
    )
    if _none_matches(report, request):
        out.print(screen.NO_RULE_FIRES if report.rules else "there are no rules to apply")
    if unit:
        out.print(unit)
    skipped = {rule: of.unrenderable for rule, of in report.rules.items() if of.unrenderable}
    if skipped:
        rules = screen.rules_by_id(rulesets)
        causes = causes_of_no_rewrite(rules[rule_id][0] for rule_id in skipped)
        out.print(f"{counted(sum(skipped.values()), 'instance')} left alone: {causes}")
    _print_left_alone(out, report, request)
    _print_articles(out, report, rulesets)


def _print_left_alone(out: Console, report: ApplyReport, request: ApplyRequest) -> None:
    """Say which rows stayed as they were, or were not rewritten by all rules, and why."""
    tally = report.tally
    touched = "kept without the rules that would touch a span"
    if request.mode == "each":
        touched = "without the rewrites that would touch a span"
    elif request.on_touched == "drop":
        touched = "with a span that a rule would touch"
    composed = "composed characters in the rules (é) do not match; normalize them first"
    for count, noun, outcome in (
        (tally.undone, "row", "unchanged, as later rules undo what earlier ones did"),
        (tally.missing, "value", "skipped: there is no text"),
        (tally.decomposed, "text", f"not in NFC, so {composed}"),
        (tally.dropped, "row", "dropped"),
        (tally.touched, "row", touched),
        (tally.misplaced, "row", "with a span that is not at its position"),
        (tally.absent, "row", "with a protected value that is not in the text"),
    ):
        if count:
            out.print(f"{counted(count, noun)} {outcome}")
    for row, why in tally.reasons[:_FEW]:
        out.print(f"  row {row}: {why}")


def _print_articles(out: Console, report: ApplyReport, rulesets: Sequence[Ruleset]) -> None:
    """Say which rules have an example with ``a`` instead of ``an``, or the reverse; and the cure.

    Slips of typing and the like need not read well.
    """
    from sears_dsl.engine.rewrite.placing import agree_articles
    from sears_dsl.language.measure import noise_in

    upset = [
        screen.rule_label(rule, rule_id)
        for rule_id, (rule, ruleset) in screen.rules_by_id(rulesets).items()
        if ruleset.options.language == "en"
        and rule.metadata.rate is None
        and not noise_in(rule)
        and any(
            agree_articles(each.original, edit, limit=0) != edit
            for each in report.rules[rule_id].examples
            for edit in each.edits
        )
    ]
    if upset:
        out.print(
            "note: a or an no longer fits the word after it, because of "
            f"{listed(upset, _FEW)}; `option repair = on` at the top of the rule file fixes that"
        )
