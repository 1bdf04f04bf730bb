"""Augmentation and repair from rules and rows to the report: every stage, in order.

    rows ──▶ rewrites ──▶ chosen ──▶ old and new rows, with a record of who took part
    rows, held-out rows ──▶ trainings with and without rewrites ──▶ `Repair`, `RepairParticipants`

In: a `Table`, rulesets, a tagger and choices. Out: as above. The same input under the same choices
gives the same bytes. The manifest beside a rule file, which `sears vetted` copies unchanged, tells
that `sears discover` found the rules, and on which rows. Rows are recognized by a digest of all of
them, with their labels or without, so a part of the rows of a run is not recognized.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from sears_dsl import __version__
from sears_dsl.batch.provenance import found_on
from sears_dsl.batch.workers import rules_digest
from sears_dsl.data.dataset import require_column
from sears_dsl.data.labelled import LabelledRows, column_sets
from sears_dsl.data.protection import Guards, Protection
from sears_dsl.data.table import Table, guards_of, text_column
from sears_dsl.effects.oracle import Oracle
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import UsageError, counted
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.repair import augmentation as augmented_rows
from sears_dsl.repair.amounts import Amounts, AmountSettings, NoiseAmount, measure_amounts
from sears_dsl.repair.experiment import (
    Repair,
    RepairSettings,
    TrainingVariant,
    repair,
    require_held_out,
)
from sears_dsl.repair.report import RepairParticipants
from sears_dsl.repair.trainers import BuiltInTrainer, CommandTrainer, ExperimentInputs, OnTraining
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import Tagger, identity_of


def check_origin(
    rulesets: Sequence[Ruleset], held_out: LabelledRows, *, allowed: bool = False
) -> tuple[str, ...]:
    """Refuse a report on the rows that the rules were found on.

    A search finds flips that are more frequent on its own rows than on others, and a model that is
    repaired on these rows need not be repaired elsewhere.

    Files without a manifest say nothing about their origin. If the same rows are `allowed`, the
    notes that are returned for the report say so.
    """
    # A search without labels counts the model's own answers as right.
    rows = {held_out.digest, replace(held_out, labels=None).digest}
    same = found_on(rulesets, rows)
    if not same:
        return ()
    if not allowed:
        raise UsageError(
            f"the rules of {same[0]} were found on the rows of {held_out.path}",
            help="measure on other rows, split off before `sears discover`; or give --same-rows, "
            "and the report will say so",
        )
    names = ", ".join(same)
    return (f"The rules of {names} were found on the same rows that this report measures on.",)


_SEEDLESS = "The train command takes no {seed}, so trainings differ by chance or not at all."
# Settings that no answer depends on, so they may change when an interrupted run goes on. If rules
# draw, the seed is in the identity of their noise.
_FREE = ("seeds", "control", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentationChoices:
    """What a person chooses about new rows: arguments of `sears.augment`."""

    amount: augmented_rows.Amount = augmented_rows.ALL
    balanced: bool = True
    seed: int = 0
    scope: Scope = "first"
    unit: Unit | None = None
    only_new: bool = False
    protection: Protection = augmented_rows.NO_PROTECTION


def columns_of(
    table: Table, *, text: str | None, label: str | None, id_column: str | None = None
) -> augmented_rows.TableColumns:
    """Which columns hold text, label and id."""
    names = tuple(table.columns)
    for name in filter(None, (label, id_column)):
        require_column(names, name, where=table.path)
    chosen = text_column(table, chosen=text, label=label)
    own = "id" if "id" in names and "id" not in (chosen, label) else None
    return augmented_rows.TableColumns(text=chosen, label=label, id=id_column or own)


def augment_table(
    table: Table,
    matcher: Matcher,
    rulesets: Sequence[Ruleset],
    *,
    columns: augmented_rows.TableColumns,
    tagger: Tagger,
    choices: AugmentationChoices,
    oracle: Oracle | None,
    required: bool = True,
) -> tuple[augmented_rows.AugmentedTable, Mapping[str, Any]]:
    """A table extended by rewrites of its rows (`required`: by any), and a record of the run."""
    guards = _guards_of_each(table, choices.protection, column=columns.text)
    labels = None if columns.label is None else table.labels(columns.label)
    notes = [note for each in guards for note in each.notes]
    if bare := (labels or []).count(""):
        notes.append(f"{counted(bare, 'row has', 'rows have')} no label and no labelled rewrites")
    expansion = augmented_rows.expand_table(
        matcher, table, column=columns.text, protection=choices.protection, labels=labels,
        class_names=table.classes.get(columns.label or "", ()), oracle=oracle,
        scope=choices.scope, unit=choices.unit,
    )  # fmt: skip
    if required:
        expansion.require_some(table.path, oracle=oracle)
    augmentation = augmented_rows.augment(
        table, expansion, columns=columns, amount=choices.amount, balanced=choices.balanced,
        seed=choices.seed, rulesets=augmented_rows.named_rules(rulesets),
    )  # fmt: skip
    protected = {}
    if guards:
        protection = guards[0].protection
        protected = {"protect": list(protection.columns), "spans": list(map(str, protection.spans))}
    record = {
        "format": "sears-augmentation",
        "version": 1,
        "sears": __version__,
        "rules_hash": rules_digest(rulesets),
        "rulesets": list(dict.fromkeys(augmented_rows.named_rules(rulesets))),
        "tagger": identity_of(tagger),
        "data_sha256": table.digest,
        "settings": {
            "column": columns.text,
            "label": columns.label,
            "amount": str(choices.amount),
            **{
                name: getattr(choices, name)
                for name in ("only_new", "balanced", "seed", "scope", "unit")
            },
            **protected,
            **({} if oracle is None else {"oracle": oracle.identity}),
            **({"noise": dict(matcher.noise_identity)} if matcher.noise_identity else {}),
        },
        "rows": len(table),
        "wanted": augmentation.limit,
        "added": augmentation.added,
        "relabelled": augmentation.relabelled,
        "left_out": dict(expansion.left_out),
        "notes": notes,
        "rules": dict(augmentation.of_rule),
    }
    return augmentation, record


def repair_model(
    inputs: ExperimentInputs,
    rulesets: Sequence[Ruleset],
    *,
    settings: RepairSettings,
    notes: Sequence[str] = (),
    on_training: OnTraining[TrainingVariant] | None = None,
) -> tuple[Repair, RepairParticipants]:
    """Train on rows with and without rewrites, and compare the models."""
    require_held_out(inputs.held_out, inputs.training)
    participants = _participants(inputs, rulesets, settings.protection, notes=notes)
    task = _task(participants, settings, _FREE)
    with RunJournal(inputs.folder / "journal.sqlite3", task=task) as journal:
        result = repair(inputs, journal=journal, settings=settings, on_training=on_training)
    return result, participants


def amounts_of_noise(
    inputs: ExperimentInputs,
    rulesets: Sequence[Ruleset],
    *,
    settings: AmountSettings,
    notes: Sequence[str] = (),
    on_training: OnTraining[NoiseAmount] | None = None,
) -> tuple[Amounts, RepairParticipants]:
    """Train on amounts of rewritten rows, and measure errors before and after the rules.

    Takes the arguments of `repair_model`.
    """
    if inputs.oracle is not None:
        raise UsageError(
            "--amounts applies all rules to a row, but an oracle judges the rewrite of a single "
            "rule",
            help="leave out --oracle or --amounts",
        )
    require_held_out(inputs.held_out, inputs.training)
    participants = _participants(inputs, rulesets, settings.protection, notes=notes)
    task = _task(participants, settings, ("amounts", "seeds"), experiment="amounts")
    with RunJournal(inputs.folder / "journal.sqlite3", task=task) as journal:
        amounts = measure_amounts(
            inputs, journal=journal, settings=settings, on_training=on_training
        )
    return amounts, participants


def _participants(
    inputs: ExperimentInputs,
    rulesets: Sequence[Ruleset],
    protection: Protection,
    *,
    notes: Sequence[str],
) -> RepairParticipants:
    trainer = inputs.trainer
    seedless = isinstance(trainer, CommandTrainer) and not trainer.seeded
    return RepairParticipants(
        rules=rules_digest(rulesets),
        rulesets=tuple(dict.fromkeys(augmented_rows.named_rules(rulesets))),
        tagger=identity_of(inputs.matcher.tagger),
        trainer=trainer.identity,
        built_in=isinstance(trainer, BuiltInTrainer),
        training=inputs.training.digest,
        held_out=inputs.held_out.digest,
        oracle=None if inputs.oracle is None else inputs.oracle.identity,
        noise=dict(inputs.matcher.noise_identity),
        notes=(*notes, *_guard_notes(inputs, protection), *([_SEEDLESS] if seedless else ())),
    )


def _guard_notes(inputs: ExperimentInputs, protection: Protection) -> Iterator[str]:
    """What a report has to say about protected values that do not occur in their texts."""
    training, held_out = inputs.training, inputs.held_out
    own = _guards_of_each(training, protection, column=inputs.columns.text)
    for rows, path in (*((each, training.path) for each in own), (held_out.guards, held_out.path)):
        for sentence in () if rows is None else rows.notes:
            yield f"{path}: {sentence}."


def _guards_of_each(table: Table, protection: Protection, *, column: str) -> list[Guards]:
    """The guards of each rewritten column that has something to protect."""
    names = chain(*column_sets(column, tuple(table.columns)))
    guards = (guards_of(table, protection, column=name) for name in names)
    return [each for each in guards if each is not None]


def _task(
    participants: RepairParticipants,
    settings: RepairSettings | AmountSettings,
    free: Sequence[str],
    **more: str,
) -> str:
    """What the answers depend on, as text; `free` settings are left out and may change."""
    choices = {name: value for name, value in asdict(settings).items() if name not in free}
    values = {"sears": __version__, **more, **asdict(participants), **choices}
    return "\n".join(f"{name} {json.dumps(value)}" for name, value in sorted(values.items()))
