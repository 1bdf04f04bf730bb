"""``sears fix``: does training on rewritten rows repair a model?"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sears_dsl.cli.commands import ProjectArgument, ProjectCommand
from sears_dsl.cli.options.augmentation import (
    AugmentationOptions,
    augmentation_options,
)
from sears_dsl.cli.options.model import (
    DataOptions,
    choices_option,
    compare_option,
    image_option,
    load_quietly,
)
from sears_dsl.cli.options.shared import FilePath, NumberRange, chosen_as, refuse_overwriting, typed
from sears_dsl.cli.options.unfinished import Resuming, resuming_options, unfinished_run
from sears_dsl.cli.screen.console import console, echo_json, plain_table, stages
from sears_dsl.errors import DataError, counted

if TYPE_CHECKING:
    from sears_dsl.data.table import Table
    from sears_dsl.models.cached import PredictionStore
    from sears_dsl.repair.amounts import Amounts
    from sears_dsl.repair.augmentation import TableColumns
    from sears_dsl.repair.experiment import Repair
    from sears_dsl.repair.report import RepairGate, RepairParticipants
    from sears_dsl.repair.trainers import ExperimentInputs, Trainer


@dataclass(frozen=True, kw_only=True)
class FixOptions(AugmentationOptions, DataOptions, Resuming):
    """The options of ``sears fix``."""

    training: str
    data: str
    command: str | None
    model: str | None
    seeds: int
    control: bool
    amounts: str | None
    batch_size: int | None
    save_model: Path | None
    min_fall: float | None
    margin: float
    min_support: int
    same_rows: bool


@click.command(
    "fix",
    cls=ProjectCommand,
    epilog="Examples: sears fix accepted.sear --train train.csv --data held-out.csv --label label "
    "-o fix.json; sears fix accepted.sear --train train.csv --data held-out.csv --label label "
    "-o fix.json --command 'python train.py {train} {model} --seed {seed}' "
    "--model 'sklearn:{model}'",
)
@click.argument("rules", cls=ProjectArgument, nargs=-1, required=True, metavar="RULES...")
@click.option("--train", "training", required=True, metavar="FILE", help="The rows to train on.")
@click.option("--data", required=True, metavar="FILE",
              help="Labelled rows that neither training nor discovery has seen.")  # fmt: skip
@click.option("-o", "--output", required=True, type=FilePath(),
              help="The report to write, NAME.json, with NAME.md beside it.")  # fmt: skip
@click.option("--command", help="How to train, with {train}, {model} and {seed}; by default, a "
              "scikit-learn model is trained.")  # fmt: skip
@click.option("--model", metavar="SPEC",
              help="How to ask the model that --command makes, with {model}: sklearn:{model} or "
              "hf:{model}.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(min=1), default=5, help="Models of each kind.")
@click.option("--control/--no-control", default=True,
              help="Whether to also train on as many random copies of rows.")  # fmt: skip
@click.option("--amounts", metavar="AMOUNTS",
              help="Instead, compare amounts of rewritten training data, in a table with a row for "
              "each: none,half,full,both,vote, with commas between them. Errors are on held-out "
              "rows, as they are and with all rules applied.")  # fmt: skip
@click.option("--also", multiple=True, metavar="COLUMN",
              help="Another column that the model reads; repeatable.")  # fmt: skip
@compare_option
@image_option
@choices_option
@click.option("--batch-size", type=click.IntRange(min=1), help="Rows per call of the model.")
@click.option("--save-model", type=FilePath(),
              help="Where to keep the repaired model of the first seed.")  # fmt: skip
@click.option("--min-fall", type=NumberRange(0, 1), metavar="SHARE",
              help="Exit 1 unless the error on the sensitivity set falls by this share, beyond "
              "chance, and the validation error surely grows by at most --margin.")  # fmt: skip
@click.option("--margin", type=NumberRange(0, 1), default=0.05, metavar="SHARE",
              help="With --min-fall: how much the validation error may grow.")  # fmt: skip
@click.option("--min-support", type=click.IntRange(min=1), default=20,
              help="With --min-fall: fail if rules change fewer right rows.")  # fmt: skip
@click.option("--same-rows", is_flag=True,
              help="Report on the very rows that the rules were found on.")  # fmt: skip
@resuming_options
@augmentation_options
def fix_command(rules: tuple[str, ...], output: Path, **options: Any) -> None:
    """Retrain a model on rewritten rows, and report what that repairs.

    For each seed, one model is trained on the rows as they are, one on the rows and their rewrites,
    and one on the rows and random copies of them. The report has the error on held-out rows, and
    on the sensitivity set: what the rules make of the held-out rows that the model gets right.
    """
    from sears_dsl.repair.augmentation import Amount
    from sears_dsl.repair.experiment import RepairSettings
    from sears_dsl.repair.report import RepairGate, judge_repair, write_repair
    from sears_dsl.repair.running import repair_model

    chosen = FixOptions(**options)
    _check_fix(output, chosen)
    if chosen.amounts is not None:
        _fix_by_amount(rules, output, chosen, chosen.amounts)
        return
    settings = chosen_as(
        RepairSettings, vars(chosen), protection=chosen.protection,
        amount=Amount.parse(chosen.amount),
    )  # fmt: skip
    gate = None
    if chosen.min_fall is not None:
        gate = RepairGate(fall=chosen.min_fall, margin=chosen.margin, support=chosen.min_support)
    with _experiment(rules, output, chosen) as (inputs, known):
        repair, participants = repair_model(inputs, settings=settings, **known)
        record = write_repair(
            repair, output, settings=settings, participants=participants, gate=gate
        )
        if chosen.save_model is not None:
            _keep(inputs.folder / f"augmented-{settings.seed}", chosen.save_model)
    if chosen.as_json:
        echo_json(record)
    elif not chosen.quiet:
        _print_repair(repair, output, participants, gate)
    if gate is not None and judge_repair(repair, gate).outcome != "passed":
        sys.exit(1)


def _fix_by_amount(rules: tuple[str, ...], output: Path, chosen: FixOptions, amounts: str) -> None:
    """Train on each amount of rewritten data, and print one row per amount."""
    from sears_dsl.repair.amounts import AmountSettings, write_amounts
    from sears_dsl.repair.running import amounts_of_noise

    for switch in typed("min_fall", "save_model", "amount", "balanced", "control"):
        raise click.UsageError(f"{switch} does not go with --amounts, which trains its own models")
    names = tuple(map(str.strip, amounts.split(",")))
    settings = chosen_as(AmountSettings, vars(chosen), protection=chosen.protection, amounts=names)
    with _experiment(rules, output, chosen) as (inputs, known):
        errors, participants = amounts_of_noise(inputs, settings=settings, **known)
        record = write_amounts(errors, output, settings=settings, participants=participants)
    if chosen.as_json:
        echo_json(record)
    elif not chosen.quiet:
        _print_amounts(errors, participants, output)


def _print_amounts(amounts: Amounts, participants: RepairParticipants, output: Path) -> None:
    from sears_dsl.repair.amounts import MEASURED, amount_rows

    out = console(stderr=True)
    rows = amount_rows(amounts)
    out.print(plain_table(*MEASURED, right=range(1, len(MEASURED)), rows=rows))
    for note in participants.notes:
        out.print(f"note: {note}", style="dim")
    out.print(f"written: {output}, {output.with_suffix('.md').name}")


def _check_fix(output: Path, chosen: FixOptions) -> None:
    """Refuse wrong options before an hour of work, not after it."""
    if output.suffix != ".json":
        raise click.UsageError(f"-o {output}: the report's name has to end in .json")
    target = chosen.save_model
    reports = (output, output.with_suffix(".md"))
    if target is not None and target.resolve() in map(Path.resolve, reports):
        raise click.UsageError(f"--save-model {target} is the report of -o: name another place")
    if target is not None and (target.is_dir() or not target.absolute().parent.is_dir()):
        fault = "is already a folder" if target.is_dir() else "is in a folder that does not exist"
        raise click.UsageError(f"--save-model {target} {fault}: name another place")
    for switch in typed("margin", "min_support") if chosen.min_fall is None else ():
        raise click.UsageError(f"{switch} says nothing without --min-fall: add that")
    if chosen.label is None:
        raise click.UsageError("Missing option '--label': errors are measured against labels")
    if (chosen.command is None) != (chosen.model is None):
        raise click.UsageError("--command and --model go together: one trains, the other is asked")
    for name in ("also", "image", "choices") if chosen.command is None else ():
        if getattr(chosen, name):
            raise click.UsageError(
                f"--{name} needs a --command: the built-in model reads one column"
            )


@contextmanager
def _experiment(
    rules: tuple[str, ...], output: Path, chosen: FixOptions
) -> Iterator[tuple[ExperimentInputs, dict[str, Any]]]:
    """Yield the inputs of a repair experiment, and further keyword arguments for it."""
    from sears_dsl.models.cached import PredictionStore
    from sears_dsl.paraphrasing.for_rules import compile_with_sources
    from sears_dsl.repair.report import BUILT_IN
    from sears_dsl.repair.running import check_origin, columns_of
    from sears_dsl.repair.trainers import ExperimentInputs

    recipe, tagger = chosen.recipe_and_tagger(rules)
    refuse_overwriting(
        filter(None, (output, output.with_suffix(".md"), chosen.save_model)),
        sources=(chosen.training, chosen.data, chosen.oracle),
        rulesets=recipe.rulesets,
    )
    matcher = compile_with_sources(recipe.rulesets, tagger=tagger, seed=chosen.seed)
    training = chosen.table(chosen.training)
    if chosen.image is not None:
        training = training.with_pictures(chosen.image)
    columns = chosen_as(columns_of, vars(chosen), table=training, text=chosen.column)
    # Errors are measured on all of these rows.
    of_training = replace(chosen, column=columns.text, label=columns.label, limit=None)
    held_out = of_training.rows()
    origin = check_origin(recipe.rulesets, held_out, allowed=chosen.same_rows)
    notes = (*held_out.notes, *origin)
    if chosen.command is None and not chosen.quiet:
        click.echo(f"note: {BUILT_IN}", err=True)
    with (
        stages(shown=not chosen.quiet) as show,
        unfinished_run(output, chosen, keeps_models=True) as run,
        PredictionStore(run.folder / "predictions.sqlite3") as store,
    ):
        inputs = ExperimentInputs(
            training=training,
            held_out=held_out,
            matcher=matcher,
            columns=columns,
            trainer=_trainer(training, columns, chosen, store),
            folder=run.folder,
            oracle=chosen.oracle_for(recipe.rulesets),
        )

        def on_training(variant: str, seed: int, done: int, total: int) -> None:
            show(f"training {done + 1} of {total}: {variant}, seed {seed}", 0, None)

        yield inputs, {"rulesets": recipe.rulesets, "notes": notes, "on_training": on_training}


def _trainer(
    training: Table, columns: TableColumns, chosen: FixOptions, store: PredictionStore
) -> Trainer:
    from sears_dsl.repair.trainers import BuiltInTrainer, CommandTrainer

    if chosen.command is None or chosen.model is None:  # neither without the other
        return BuiltInTrainer(text=columns.text, label=chosen.label or "")
    return CommandTrainer(
        chosen.command,
        chosen.model,
        load=partial(
            load_quietly, store=store, batch_size=chosen.batch_size, comparison=chosen.comparison
        ),
        format="jsonl" if training.format == "squad" else training.format,
    )


def _keep(place: Path, target: Path) -> None:
    """Move a trained model, a file or a folder, to where the user wants it."""
    from sears_dsl.repair.trainers import MODEL

    models = list(place.glob(f"{MODEL}*"))  # the command may have added an ending
    try:
        shutil.move(models[0] if len(models) == 1 else place / MODEL, target)
    except OSError as error:
        raise DataError(
            f"the repaired model could not be moved to {target}: {error.strerror or error}",
            help=f"it is still in {place}",
        ) from error


def _print_repair(
    repair: Repair, output: Path, participants: RepairParticipants, gate: RepairGate | None
) -> None:
    """Print the paper's Table 6."""
    from sears_dsl.repair.report import (
        MEASURED,
        conclusion,
        measured_rows,
        repair_notes,
        verdict_lines,
    )

    out = console(stderr=True)
    out.print(
        f"{counted(repair.added, 'rewrite')} added to {repair.training_rows:,} training rows; the "
        f"rules change {repair.rewritten_rows:,} of {repair.held_out_rows:,} held-out rows"
    )
    # A terminal has no room for the relative change, which the report has.
    heads, *rows = ((*row[:3], row[5], row[3]) for row in (MEASURED, *measured_rows(repair)))
    out.print(plain_table(*heads, right=range(1, len(heads)), rows=rows))
    for note in repair_notes(repair, participants):
        out.print(f"note: {note}", style="dim")
    lines = [*verdict_lines(repair, gate), conclusion(repair, gate)]
    if gate is not None:  # the verdict, what to think of it, and why
        lines = [lines[0], lines[-1], *(f"  {reason}" for reason in lines[1:-1])]
    for line in lines:
        out.print(line)
    out.print(f"written: {output}, {output.with_suffix('.md').name}")
