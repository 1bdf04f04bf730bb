"""``sears audit``: what rules do to a model, judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options import shared
from sears_dsl.cli.options.model import AskingOptions, noter, open_run, parts_choice, scored_options
from sears_dsl.cli.options.unfinished import require_place
from sears_dsl.cli.screen import console as screen
from sears_dsl.runtime.extras import need_discovery
from sears_dsl.runtime.files import is_file, is_there, names_folder

if TYPE_CHECKING:
    from rich.table import Table

    from sears_dsl.auditing.document import AuditDocument, RuleRecord
    from sears_dsl.auditing.gates import JudgeBy
    from sears_dsl.batch.provenance import FoundScoring
    from sears_dsl.discovery.parts import PartsChoice
    from sears_dsl.effects.asked_model import OnStage
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.generating.table import GeneratedTable
    from sears_dsl.language.ruleset import Ruleset


@dataclass(frozen=True, kw_only=True)
class AuditOptions(AskingOptions, shared.EngineOptions):
    """The options of ``sears audit``."""

    model: str | tuple[str, ...]
    scorer: str
    tau: float | None
    pivots: tuple[str, ...]
    device: str
    jobs: int | None
    max_flip_rate: float | None
    max_miss_rate: float | None
    max_rows_flipped: float | None
    own: tuple[str, ...]
    tolerance: float | None
    draws: int
    rates: str | None
    oracle: str | None
    judge_by: JudgeBy
    min_support: int
    require_support: bool
    columns: tuple[str, ...]
    score_at_most: int
    sure_from: float
    examples: int
    scope: Scope
    unit: Unit | None
    as_json: bool
    allow_imports_outside: bool

    def models(self) -> dict[str, str]:
        """The models by their names."""
        from sears_dsl.models.loading import named_models

        if isinstance(self.model, str):
            return {self.model: self.model}
        return {name: str(each) for name, each in named_models(self.model).items()}


@click.command(
    "audit",
    cls=ProjectCommand,
    epilog="Example: sears audit found.sear --model my_model:predict --data test.csv --column text "
    "--label label --max-flip-rate 5% -o audit",
)
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True)
@scored_options
@click.option("-o", "--output", default="audit", metavar="FOLDER",
              type=shared.FilePath(file_okay=False),
              help="The folder for audit.json, audit.md, audit.html and junit.xml.")  # fmt: skip
@click.option("--summary", metavar="FILE", type=shared.FilePath(dir_okay=False),
              help="Append a summary for a pull request to this file, such as "
              "\"$GITHUB_STEP_SUMMARY\".")  # fmt: skip
@click.option("--max-flip-rate", callback=shared.read_share, metavar="RATE",
              help="The limit of each rule that expects `same`: the share it may flip of the right "
              "rows that it changes.")  # fmt: skip
@click.option("--max-miss-rate", callback=shared.read_share, metavar="RATE",
              help="The limit of each rule that expects `flip` or `label`: how often the model may "
              "miss that. By default as --max-flip-rate.")  # fmt: skip
@click.option("--max-rows-flipped", callback=shared.read_share, metavar="RATE",
              help="The limit of all rules that expect `same` together: the share of right rows "
              "that any of them may flip.")  # fmt: skip
@click.option("--gate", "own", multiple=True, metavar="SELECTOR=RATE",
              help="A limit for some rules: film=2% by id, tag:NAME=5%, severity:high=1%. Or a "
              "demand on robustness, before an id, template:ID, tag:NAME or all: "
              "robust:tag:negation=20% and invariant:… limit how far accuracy may fall, local:… "
              "sets the least share of robust rows, mean:… and corrected:… the least accuracy, "
              "above-constant:… the least lead over a constant answer; repeatable.")  # fmt: skip
@click.option("--tolerance", callback=shared.read_share, metavar="RATE",
              help="Report semantic robustness, where accuracy may fall this far on rewrites. To "
              "gate on it, use --gate robust:all=RATE.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=1), default=1, metavar="N",
              help="Draw noise N times, and show the mean and the worst.")  # fmt: skip
@click.option("--rates", metavar="RATES",
              help="Also measure rules that draw at these rates, such as 5%,10%,25%.")  # fmt: skip
@shared.oracle_option
@click.option("--judge-by", type=click.Choice(["rate", "evidence", "proof"]), default="rate",
              help="rate: a rule fails if its rate is above the limit; evidence: if there is "
              "evidence that it is; proof: unless there is proof that it is not.")  # fmt: skip
@click.option("--min-support", type=click.IntRange(min=1), default=20,
              help="Do not judge a rule that changes fewer right rows than this.")  # fmt: skip
@click.option("--require-support", is_flag=True, help="Fail if a rule cannot be judged.")
@click.option("--slice", "columns", multiple=True, metavar="COLUMN",
              help="A column of the data to show results by, or words(COLUMN), first-word(COLUMN), "
              "agreement(COLUMN), grade(COLUMN); words(answer) counts the words of the model's "
              "answers; repeatable.")  # fmt: skip
@click.option("--score-at-most", type=click.IntRange(min=1), default=100,
              help="Score at most this many rewrites of each rule, drawn at random.")  # fmt: skip
@click.option("--sure-from", type=shared.NumberRange(0, 1), default=0.9,
              help="The confidence from which the model counts as sure.")  # fmt: skip
@click.option("--examples", type=click.IntRange(min=0), default=10,
              help="Keep at most this many examples of each rule.")  # fmt: skip
@shared.engine_options
@shared.scope_option
@shared.unit_option
@click.option("--seed", type=int, default=0, help="The seed of all that is drawn at random.")
@shared.json_option("Print the audit as JSON.")
@shared.imports_option
def audit_command(
    rules: tuple[str, ...], *, output: Path, summary: Path | None, **options: Any
) -> None:
    """Measure what rules do to a model, and judge it. Exit 1 if a gate fails or no row is right.

    Each rule is applied by itself to every row. It flips a row if the model gets the row right and
    the rewrite wrong; a rule that expects another answer is judged by that. A rule that changes
    too few right rows is not judged, and a gate that has nothing to judge fails. Several models
    get an audit each, in a folder of its own, and a grid of all. The files of a folder are one
    dataset; with --engine ray, workers apply the rules, and the model is asked on this machine.
    """
    from sears_dsl.catalogue import load_rulesets, require_together

    chosen = AuditOptions(**options)
    rulesets = tuple(load_rulesets(rules, allow_imports_outside=chosen.allow_imports_outside))
    _require_places(rulesets, chosen, output, summary)
    require_together(rulesets, rules, unit=chosen.unit, advice=shared.with_other_rules)

    from sears_dsl.auditing import running
    from sears_dsl.auditing.audit import AuditChoices
    from sears_dsl.auditing.gates import Gates, read_gate
    from sears_dsl.auditing.slices import read_slicings
    from sears_dsl.models.loading import kinds_of
    from sears_dsl.tagging.tagger import load_tagger
    from sears_dsl.vetting.journal_oracle import open_oracle

    gates = shared.chosen_as(
        Gates, vars(chosen), flip_rate=chosen.max_flip_rate, miss_rate=chosen.max_miss_rate,
        rows_flipped=chosen.max_rows_flipped, own=tuple(map(read_gate, chosen.own)),
        support=chosen.min_support,
    )  # fmt: skip
    note = noter(quiet=chosen.quiet)
    if chosen.tolerance is not None and not gates.any_limit:
        note("note: --tolerance only reports robustness; --gate robust:all=RATE demands it")
    models = chosen.models()
    if chosen.scorer != "none":
        need_discovery(otherwise=", or leave the score out: --scorer none")
    oracle = None if chosen.oracle is None else open_oracle(chosen.oracle, rulesets)
    _require_rows(rulesets, chosen)
    tagger = shared.chosen_tagger(rulesets, chosen.tagger, quiet=chosen.quiet)
    chosen = replace(chosen, tagger=tagger)
    matcher = running.compile_and_check(
        rulesets, gates, tagger=load_tagger(tagger), seed=chosen.seed
    )
    sentences = running.sentences_of(
        rulesets, oracle, limit=None if chosen.data else chosen.limit, seed=chosen.seed,
        also=chosen.also, note=note,
    )  # fmt: skip
    if chosen.data is None and sentences is not None:
        chosen = _with_sentences(chosen, sentences, output)
    data = chosen.data or ""
    choice, recorded = chosen_scoring(rulesets, vars(chosen))
    own = choice.own()
    columns = read_slicings(
        data, chosen.columns, format_name=chosen.format_name,
        options=shared.chosen_reading(vars(chosen), limit=chosen.limit),
    )  # fmt: skip
    rates = running.read_rates(chosen.rates) if chosen.rates else ()
    choices = shared.chosen_as(AuditChoices, vars(chosen), tau=choice.tau, rates=rates)
    with (
        screen.stages(shown=not chosen.quiet) as show,
        open_run(output, chosen, models=list(models.values()), show=show) as inputs,
        running.scorer_of_audit(
            choice,
            own,
            folder=inputs.run.folder,
            language=matcher.tagger.language,
            show=show,
            note=note,
        ) as scorer,
        shared.chosen_workers(chosen, data, jobs=chosen.jobs) as workers,
    ):
        if workers is not None and chosen.engine == "ray":
            from sears_dsl.clusters.applying import RemoteMatcher
            from sears_dsl.paraphrasing.for_rules import RewordingRecipe

            recipe = RewordingRecipe(rulesets, tagger=tagger, seed=chosen.seed)
            matcher = RemoteMatcher(matcher, recipe, workers)
        # Report a missing model before any is asked; networks are loaded one after another.
        for spec in models.values():
            if "hf" not in kinds_of(spec):
                inputs.load(spec)
        documents = {
            name: running.audit_rules(
                rulesets, inputs.data, inputs.load(spec), matcher=matcher, scorer=scorer,
                oracle=oracle, gates=gates, choices=choices, columns=columns, sentences=sentences,
                on_stage=show if len(models) == 1 else _stage_of(name, show),
            )
            for name, spec in models.items()
        }  # fmt: skip
        if scorer is not None and recorded is not None and recorded.scorer != scorer.identity:
            note(running.recorded_otherwise(recorded, scorer))
        _write_and_show(documents, output, summary, chosen=chosen, show=show)
    if any(each.verdict.outcome in ("failed", "not judged") for each in documents.values()):
        sys.exit(1)


def _stage_of(name: str, show: OnStage) -> OnStage:
    return lambda stage, done, total: show(f"{name}: {stage}", done, total)


_OF_DATA = ("column", "label", "image", "choices", "protect", "spans", "format_name", "no_header",
            "encoding")  # fmt: skip


def _require_rows(rulesets: Sequence[Ruleset], chosen: AuditOptions) -> None:
    """Check that there are rows, or templates that stand for them and options that fit these."""
    from sears_dsl.data.dataset import is_stream

    if chosen.data is not None:
        if chosen.columns and is_stream(chosen.data) and not names_folder(chosen.data):
            raise click.UsageError(
                f"--slice reads the rows a second time, and {chosen.data} can be read only once: "
                "name a file with --data"
            )
        return
    if chosen.also or not any(ruleset.templates for ruleset in rulesets):
        raise click.UsageError(
            "Missing option '--data': name the labelled rows; only templates that fill a single "
            "column need none"
        )
    for switch in shared.typed(*_OF_DATA):
        raise click.UsageError(
            f"{switch} is about the rows of --data, and there is no --data: name the rows, or "
            f"leave out {switch}"
        )


def _require_places(
    rulesets: Sequence[Ruleset], chosen: AuditOptions, output: Path, summary: Path | None
) -> None:
    """Refuse to write what the audit reads, and a summary into what it writes or cannot be."""
    from sears_dsl.auditing.reports.files import files_of_audits

    models = chosen.models()
    files = [spec.partition(":")[2] for spec in models.values()]  # as in file:predictions.csv
    sources = [chosen.data, chosen.oracle, *models.values(), *files]
    written = files_of_audits(list(models), output)
    if chosen.data is None:
        written.append(output / _SENTENCES)
    shared.refuse_overwriting(
        [*written, *filter(None, [summary])], sources=sources, rulesets=rulesets
    )
    if summary is None:
        return
    if summary.resolve() in {each.resolve() for each in written}:
        raise click.UsageError(f"{summary} is a file of the audit: name another with --summary")
    if is_there(summary) and not is_file(summary):  # such as a pipe
        return
    place = summary.resolve().parent
    # A folder that the audit makes is checked with -o.
    if is_there(place) or place not in {each.resolve().parent for each in written}:
        require_place(place, option="--summary")


def _write_and_show(
    documents: Mapping[str, AuditDocument],
    output: Path,
    summary: Path | None,
    *,
    chosen: AuditOptions,
    show: screen.Stages,
) -> None:
    """Write and print the audit of one model, or the audits of several and their grid."""
    from sears_dsl.auditing.reports.files import add_summary, write_audit_files, write_audits_files
    from sears_dsl.auditing.reports.markdown import audit_summary
    from sears_dsl.auditing.reports.several_audits import grid_markdown
    from sears_dsl.cli.model.compare import print_grid

    document, *others = documents.values()
    grid = write_audits_files(documents, output) if others else None
    if grid is None:
        write_audit_files(document, output)
    if summary is not None:
        add_summary(audit_summary(document) if grid is None else grid_markdown(grid), summary)
    if chosen.as_json:
        screen.echo_document((document if grid is None else grid).model_dump_json())
    elif not chosen.quiet:
        with show.pause():
            if grid is None:
                _print_audit(document, output)
            else:
                print_grid(grid)
                click.echo(f"written: {output}/comparison.html, comparison.md, comparison.json, "
                           "and a folder for each model", err=True)  # fmt: skip


def _with_sentences(chosen: AuditOptions, sentences: GeneratedTable, output: Path) -> AuditOptions:
    """The sentences of the templates as the rows, which are written beside the audit."""
    from sears_dsl.data.dataset import write_columns
    from sears_dsl.generating.table import LABEL, TEMPLATE, TEXT

    file = output / _SENTENCES
    output.mkdir(parents=True, exist_ok=True)
    write_columns(sentences.columns, file)
    columns = tuple(dict.fromkeys((*chosen.columns, TEMPLATE)))
    return replace(
        chosen, data=str(file), column=TEXT, label=LABEL, columns=columns, encoding="utf-8",
        no_header=False,
    )  # fmt: skip


def chosen_scoring(
    rulesets: Sequence[Ruleset], options: Mapping[str, Any]
) -> tuple[PartsChoice, FoundScoring | None]:
    """Return the scorer by the options, or by how the rules were found if none is given.

    With it comes what the manifests beside the rules say, if that was used.
    """
    from sears_dsl.auditing.running import as_found

    choice = parts_choice(options)
    source = click.get_current_context().get_parameter_source("scorer")
    if source is not ParameterSource.DEFAULT:
        return choice, None
    return as_found(choice, rulesets, note=noter(quiet=options["quiet"]))


# The sentences of templates, if these are the rows.
_SENTENCES = "sentences.csv"
# The files have all of them.
_RULES_SHOWN = 20
# Characters of an example.
_EXAMPLE = 85
# On a narrower screen there are no examples.
_WIDE = 140
_STYLES = {"failed": "bold red", "passed": "green", "not judged": "yellow", "measured": ""}


def _accuracy_by_template(document: AuditDocument) -> Table | str:
    """Return a table, for audits without rules, of accuracy by template, the lowest first."""
    from sears_dsl.auditing.reports.markdown import interval, lowest_first
    from sears_dsl.auditing.robustness import OF_SENTENCES
    from sears_dsl.generating.table import TEMPLATE
    from sears_dsl.statistics import percent

    parts = (each for each in document.slices if each.slicing in {TEMPLATE, OF_SENTENCES})
    rows = [
        (part.value, f"{right.count:,} of {right.total:,}",
         f"{percent(right.rate)} ({interval(right)})")
        for part, right in lowest_first(parts)
    ]  # fmt: skip
    return (
        screen.plain_table("template", "right", "accuracy (95%)", rows=rows) if rows else "no rules"
    )


def _table_of(records: Sequence[RuleRecord], *, examples: bool) -> Table:
    """Return a table of what rules do to the model, without columns that are the same for all."""
    from rich.text import Text

    from sears_dsl.auditing.reports.markdown import interval
    from sears_dsl.engine.matches import Edit
    from sears_dsl.statistics import percent

    scored = any(each.meaning for each in records)
    changing = any(each.expect != "same" for each in records)
    heads = ("rule", *(("expects",) if changing else ()), "verdict", "failures", "rate (95%)", "q",
             *(("meaning kept",) if scored else ()),
             *(("example",) if examples else ()))  # fmt: skip
    table = screen.plain_table(*heads)
    for record in records:
        judgement = record.judgement
        failures = judgement.failures
        cells: list[str | Text] = [record.name]
        cells += [record.expect] if changing else []
        cells += [
            Text(judgement.outcome, style=_STYLES[judgement.outcome]),
            f"{failures.count} of {failures.total}",
            f"{percent(failures.rate)} ({interval(failures)})",
            "–" if judgement.q_value is None else f"{judgement.q_value:.2g}",
        ]
        if scored:
            meaning = record.meaning
            cells.append("–" if meaning is None else percent(meaning.at_tau.rate))
        for shown in record.examples[:1] if examples else ():
            edits = [Edit(*each) for each in shown.edits]
            cells.append(screen.excerpt(shown.original, edits, width=_EXAMPLE))
        table.add_row(*cells)
    return table


def _print_audit(document: AuditDocument, output: Path) -> None:
    """Print the decision and the rules, worst first."""
    from rich.text import Text

    from sears_dsl.auditing.document import conclusion, why_lost
    from sears_dsl.auditing.reports.markdown import together_in_words, worst_first
    from sears_dsl.auditing.reports.robustness_parts import robustness_lines

    out = screen.console(stderr=True)
    records = worst_first(document.rules)
    if records:
        table = _table_of(records[:_RULES_SHOWN], examples=out.width >= _WIDE)
        screen.print_rule_table(out, table, left_out=len(records) - _RULES_SHOWN)
    elif not document.rules:
        out.print(_accuracy_by_template(document))
    elif lost := why_lost(document.rules):
        out.print(f"no row is changed: {lost}")
    elif not (document.data.protect or document.data.spans):
        out.print(screen.NO_RULE_FIRES)
    else:
        out.print("no row is changed: no rule fires, or protected text keeps them from firing")
    if document.rules:
        for line in together_in_words(document):
            out.print(line)
    for name, verdict, numbers in robustness_lines(document):
        style = {"not robust": "bold red", "not judged": "yellow", "": ""}.get(verdict, "green")
        out.print(Text.assemble(name, (verdict, style), numbers))
    for note in document.notes:
        out.print(f"note: {note}", style="dim")
    outcome, sentence = document.verdict.outcome, conclusion(document)
    out.print(f"verdict: {outcome}", style=_STYLES[outcome])
    out.print(sentence, style="bold")
    for reason in document.verdict.reasons if outcome != "measured" else ():
        if reason not in sentence:
            out.print(f"  {reason}")
    out.print(f"written: {output}/audit.html, audit.md, audit.json, junit.xml")
