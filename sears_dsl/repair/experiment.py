"""Does training on rewritten rows repair a model? The experiment of the paper's Table 6.

In: training rows, held-out rows, accepted rules and a `Trainer`. Out: a `Repair`. For each seed one
model is trained on the rows as they are, one on the rows and their rewrites, and, as a control, one
on the rows and as many random copies of them. All are asked about the held-out rows and about their
rewrites. Models of one seed are compared with each other on the same items. An item is right if the
answer is the label that the rewrite should have. The journal keeps the answers, so that an
interrupted run can go on. Costs two or three trainings a seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from sears_dsl.answers import Comparison, carry_back
from sears_dsl.data.batches import is_missing
from sears_dsl.data.dataset import require_column
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Protection
from sears_dsl.data.table import Table
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.printer import print_rule
from sears_dsl.repair import augmentation as augmented_rows
from sears_dsl.repair.measurement import ErrorChange, Estimate, Outcomes, change, differ, estimate
from sears_dsl.repair.trainers import ExperimentInputs, OnTraining, train_and_ask
from sears_dsl.runtime.array_types import Flags
from sears_dsl.runtime.database import RunJournal

TrainingVariant: TypeAlias = Literal["original", "augmented", "control"]
"""Trained on the rows as they are, with rewrites, or with random copies of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSettings:
    """The choices of a run: arguments of `sears.fix`."""

    seeds: int = 5
    seed: int = 0
    amount: augmented_rows.Amount = augmented_rows.ALL
    balanced: bool = True
    scope: Scope = "first"
    unit: Unit | None = None
    comparison: Comparison = "exact"
    control: bool = True
    protection: Protection = augmented_rows.NO_PROTECTION

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise UsageError(f"{self.seeds} seeds train nothing", help="give 1 or more")

    @property
    def variants(self) -> tuple[TrainingVariant, ...]:
        """The kinds of models that are trained for each seed."""
        return ("original", "augmented", "control") if self.control else ("original", "augmented")


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error of each kind of model, and its change from the original to the other kinds."""

    original: Estimate
    augmented: Estimate
    control: Estimate | None
    change: ErrorChange
    control_change: ErrorChange | None


@dataclass(frozen=True, slots=True)
class RuleRepair:
    """The training rows that one rule added (first seed), and the models' sensitivity to it."""

    id: str
    text: str
    added: int
    original: Estimate
    augmented: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The errors of an experiment, and the counts of rows behind them."""

    validation: ErrorRow  # error on the held-out rows as they are
    # On the rewrites of the held-out rows that the model itself has right: how often a rule flips.
    sensitivity: ErrorRow
    # On the rewrites of the rows that the original model of the same seed has right, whether or not
    # the model itself has them right.
    same_rows: ErrorRow
    # On these same rows unrewritten, each counted once for each of its rewrites. It is 0 for the
    # original models; for the others it shows how many rows training alone moves, without rules.
    untouched: ErrorRow
    rewritten: ErrorRow  # on all rewrites of held-out rows
    rules: tuple[RuleRepair, ...]
    training_rows: int
    added: int
    wanted: int | None  # rows that were to be added; None for all
    held_out_rows: int
    rewritten_rows: int
    rewrites: int  # distinct texts that the rules make of held-out rows
    shared: int  # held-out rows that are training rows, too, in all columns that a model reads
    left_out: Mapping[str, int]  # reason → training rewrites


def repair(
    inputs: ExperimentInputs,
    *,
    journal: RunJournal,
    settings: RepairSettings,
    on_training: OnTraining[TrainingVariant] | None = None,
) -> Repair:
    """Train on rows with and without rewrites, and compare the models."""
    training, held_out, columns = inputs.training, inputs.held_out, inputs.columns
    if held_out.labels is None or columns.label is None:
        raise UsageError(
            "errors cannot be measured without labels", help="name their column with --label"
        )
    labels = training.labels(columns.label, comparison=settings.comparison)
    known = list(dict.fromkeys(filter(None, labels)))
    if settings.comparison == "exact":
        _check_labels(held_out, known, training.path)
    chosen: dict[str, Any] = {
        "known": known, "class_names": held_out.class_names, "oracle": inputs.oracle,
        "column": columns.text, "scope": settings.scope, "unit": settings.unit,
        "comparison": settings.comparison,
    }  # fmt: skip
    added = augmented_rows.expand_table(
        inputs.matcher, training, labels=labels, protection=settings.protection, **chosen
    )
    expansion = augmented_rows.expand(
        inputs.matcher, held_out.texts, labels=[of_row[0] for of_row in held_out.labels],
        guards=held_out.guards, **chosen,
    )  # fmt: skip
    added.require_some(training.path, oracle=inputs.oracle)
    expansion.require_some(held_out.path, oracle=inputs.oracle)

    @lru_cache(maxsize=1)  # the control follows the augmented rows of the same seed
    def augmented_by(seed: int) -> augmented_rows.AugmentedTable:
        return augmented_rows.augment(
            training, added, columns=columns, amount=settings.amount, balanced=settings.balanced,
            seed=seed, comparison=settings.comparison,
        )  # fmt: skip

    def table(variant: TrainingVariant, seed: int) -> Table:
        if variant == "original":
            return training
        augmentation = augmented_by(seed)
        if variant == "augmented":
            return augmentation.table
        return augmented_rows.duplicate(training, augmentation.added, columns=columns, seed=seed)

    rewritten_rows = held_out.rewritten(
        [each.row for each in expansion.rewrites], [each.text for each in expansion.rewrites]
    )
    answers = train_and_ask(
        settings.variants, range(settings.seed, settings.seed + settings.seeds), table,
        [held_out.rows, rewritten_rows], inputs=inputs, journal=journal, on_training=on_training,
    )  # fmt: skip
    wrong = {
        variant: _wrong(each, held_out, expansion.rewrites, settings.comparison)
        for variant, each in answers.items()
    }
    place_of = np.array([each.row for each in expansion.rewrites], np.int64)
    # A pair of which either text is rewritten stands at two places, and is one row.
    _, places, rows = np.unique(
        list(map(held_out.number, range(len(held_out.rows)))),
        return_index=True,
        return_inverse=True,
    )
    row_of = rows[place_of]

    def outcomes(
        wrong: Mapping[TrainingVariant, Flags],
        counting: Mapping[TrainingVariant, Flags] | None = None,
        *,
        rule: int | None = None,
    ) -> dict[TrainingVariant, Outcomes]:
        """The outcomes on the rewrites that count, or on all; only on those of `rule` if given."""
        of_rule = np.array([rule is None or rule in each.rules for each in expansion.rewrites])
        return {
            variant: Outcomes(
                flags,
                np.ones_like(flags) & of_rule if counting is None else counting[variant] & of_rule,
                row_of,
            )
            for variant, flags in wrong.items()
        }

    first = augmented_by(settings.seed)
    # Whether the model has the row of each rewrite right: bool (seeds, rewrites).
    own = {variant: ~of_rows[:, place_of] for variant, (of_rows, _) in wrong.items()}
    same = dict.fromkeys(wrong, own["original"])
    rewritten = {variant: rewrites for variant, (_, rewrites) in wrong.items()}
    return Repair(
        validation=_measured({v: Outcomes(w[:, places], np.ones_like(w[:, places]), rows[places])
                              for v, (w, _) in wrong.items()}),
        sensitivity=_measured(outcomes(rewritten, own)),
        same_rows=_measured(outcomes(rewritten, same)),
        untouched=_measured(outcomes({v: ~right for v, right in own.items()}, same)),
        rewritten=_measured(outcomes(rewritten)),
        rules=tuple(
            RuleRepair(
                id=name,
                text=print_rule(rule),
                added=first.of_rule[name],
                original=estimate(of_rule["original"]),
                augmented=estimate(of_rule["augmented"]),
            )
            for number, (name, rule) in enumerate(
                zip(added.rule_ids, inputs.matcher.rules, strict=True)
            )
            for of_rule in [outcomes(rewritten, own, rule=number)]
        ),
        training_rows=len(training),
        added=first.added,
        wanted=first.limit,
        held_out_rows=len(places),
        rewritten_rows=len(np.unique(row_of)),
        rewrites=len(expansion),
        shared=_shared(held_out.part(places.tolist()), training),
        left_out=dict(added.left_out),  # `asdict` cannot copy a Counter
    )  # fmt: skip


def _wrong(
    answers: Sequence[Sequence[Sequence[str]]],
    held_out: LabelledRows,
    rewrites: Sequence[augmented_rows.NewText],
    comparison: Comparison,
) -> tuple[Flags, Flags]:
    """Flags of what each model has wrong: rows (seeds, rows), rewrites (seeds, rewrites)."""
    asked = [answer for of_rows, _ in answers for answer in of_rows]
    labels, texts = held_out.labels or (), held_out.texts
    expected = tuple(labels[to.row] if to.label is None else (to.label,) for to in rewrites)
    labels, of_rewrites = (
        replace(held_out, labels=each).as_answered(asked).labels or ()
        for each in (labels, expected)
    )
    rows = [differ(of_rows, labels, comparison) for of_rows, _ in answers]
    carried = [
        [
            carry_back(answer, texts[to.row], to.text, comparison=comparison)
            for to, answer in zip(rewrites, rewritten, strict=True)
        ]
        for _, rewritten in answers
    ]
    return np.array(rows), np.array([differ(each, of_rewrites, comparison) for each in carried])


def require_held_out(held_out: LabelledRows, training: Table) -> None:
    """Refuse rows that are all training rows, before an hour of training."""
    if _shared(held_out, training) == len(held_out.rows):
        raise UsageError(
            f"{held_out.path}: all held-out rows are also training rows, so their errors tell "
            "nothing about other rows",
            help="split the rows: train on one part, and measure on the other",
        )


def _shared(held_out: LabelledRows, training: Table) -> int:
    """How many held-out rows are training rows too, in all that a model reads but choices."""
    names = [name for name in held_out.rows[0] if name != held_out.choices]
    for name in names:
        require_column(tuple(training.columns), name, where=training.path)

    def text(name: str, value: object) -> str:
        whole = "" if is_missing(value) else str(value)
        return os.path.realpath(whole) if name == held_out.image else whole

    columns = ([text(name, each) for each in training.columns[name]] for name in names)
    known = set(zip(*columns, strict=True))
    return sum(tuple(text(name, row[name]) for name in names) in known for row in held_out.rows)


def _measured(outcomes: Mapping[TrainingVariant, Outcomes]) -> ErrorRow:
    control = outcomes.get("control")
    return ErrorRow(
        original=estimate(outcomes["original"]),
        augmented=estimate(outcomes["augmented"]),
        control=None if control is None else estimate(control),
        change=change(outcomes["original"], outcomes["augmented"]),
        control_change=None if control is None else change(outcomes["original"], control),
    )


def _check_labels(held_out: LabelledRows, known: Sequence[str], path: str) -> None:
    labels = {label for of_row in held_out.labels or () for label in of_row}
    if not labels & set(known):
        raise DataError(
            f"{held_out.path} and {path} have no label in common: {_some(labels)} and "
            f"{_some(known)}",
            help="if they mean the same, write them alike in both files",
        )


def _some(labels: Sequence[str] | set[str]) -> str:
    return ", ".join(map(repr, sorted(labels)[:5])) or "none"
