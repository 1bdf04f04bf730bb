"""How much rewritten training data a model needs: none, half, all, both, and a vote.

In: training rows, held-out rows, rules that keep the labels, and a `Trainer`. Out: an
`AmountErrors` for each amount. For each seed and each amount a model is trained and asked about the
held-out rows, both as they are and with all rules applied in order. ``half`` replaces about half of
the texts, each of which a draw decides by itself, and ``full`` replaces all. ``both`` trains on all
rows as they are and all rows rewritten, that is on twice the rows, so it does not compare directly.
``vote`` trains nothing more: the models of none, half and full of the same seed vote. The journal
keeps the answers. The report contains no date and no path of a work folder.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sears_dsl.answers import Comparison, carry_back
from sears_dsl.batch.guarding import chain_guarded
from sears_dsl.batch.plan import TextShare
from sears_dsl.data.protection import Protection
from sears_dsl.data.table import Table, guards_of
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import UsageError, counted
from sears_dsl.models.vote import voted
from sears_dsl.repair.augmentation import NO_PROTECTION, TableColumns, new_ids, nothing_changes
from sears_dsl.repair.measurement import Estimate, Outcomes, differ, estimate
from sears_dsl.repair.report import (
    BUILT_IN,
    RepairParticipants,
    error_cell,
    seeds_cell,
    write_report,
)
from sears_dsl.repair.trainers import ExperimentInputs, OnTraining, train_and_ask
from sears_dsl.runtime.database import RunJournal
from sears_dsl.runtime.markdown_tables import markdown_table

NoiseAmount: TypeAlias = Literal["none", "half", "full", "both", "vote"]
"""How much of the training data is rewritten; in ``vote`` the models of the first three vote."""

NOISE_AMOUNTS: tuple[NoiseAmount, ...] = get_args(NoiseAmount)
_VOTERS: tuple[NoiseAmount, ...] = ("none", "half", "full")
_HALF = 500_000  # millionths


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountSettings:
    """The choices of a run: arguments of `sears.fix_by_amount`. The seed also draws the half."""

    amounts: tuple[NoiseAmount, ...] = NOISE_AMOUNTS
    seeds: int = 5
    seed: int = 0
    scope: Scope = "first"
    unit: Unit | None = None
    comparison: Comparison = "exact"
    protection: Protection = NO_PROTECTION

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise UsageError(f"{self.seeds} seeds train nothing", help="give 1 or more")
        unknown = [each for each in self.amounts if each not in NOISE_AMOUNTS]
        if unknown or not self.amounts or len(set(self.amounts)) < len(self.amounts):
            wrong = f"{unknown[0]!r} is not an amount" if unknown else "name each amount once"
            raise UsageError(
                f"--amounts '{','.join(self.amounts)}': {wrong}",
                help=f"give one or more of {', '.join(NOISE_AMOUNTS)}, separated by commas",
            )

    @property
    def trained(self) -> tuple[NoiseAmount, ...]:
        """The amounts that models are trained on, including the voters if there is a vote."""
        voters = _VOTERS if "vote" in self.amounts else ()
        amounts = {*self.amounts, *voters} - {"vote"}
        return tuple(each for each in NOISE_AMOUNTS if each in amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountErrors:
    """The errors of the models that were trained on one amount.

    `perturbed` is the error on all held-out rows after all rules, unchanged rows included. `rows`
    and `rewritten` count the training rows, and those that rules changed, of the first seed. For
    ``vote`` they are the rows of ``none`` and the rewritten rows of ``full``.
    """

    amount: NoiseAmount
    clean: Estimate
    perturbed: Estimate
    rows: int
    rewritten: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What was measured, and how many training and held-out rows the rules change."""

    errors: tuple[AmountErrors, ...]
    training_rows: int
    rewritten: int
    held_out_rows: int
    held_out_rewritten: int


@dataclass(frozen=True, eq=False)
class RewrittenTable:
    """A table, and the columns that rules change, as they are after all rules in order."""

    table: Table
    columns: TableColumns
    changed: Mapping[str, Sequence[Any]]

    @classmethod
    def of(
        cls, table: Table, matcher: Matcher, *, columns: TableColumns, settings: AmountSettings
    ) -> RewrittenTable:
        """Apply all rules to each row, one after another."""
        for rule_id, rule in zip(matcher.rule_ids, matcher.rules, strict=True):
            if not rule.keeps_label:
                raise UsageError(
                    f"the rule {rule_id} changes the label, but amounts need rules that keep it",
                    help="leave out the rule or --amounts",
                )
        texts = table.texts(columns.text)
        guards = guards_of(table, settings.protection, column=columns.text)
        chains = chain_guarded(matcher, texts, guards, scope=settings.scope, unit=settings.unit)
        changed: dict[str, list[Any]] = {columns.text: [row.text for row in chains]}
        if changed[columns.text] == texts:
            raise nothing_changes(table.path)
        for number, row in enumerate(chains):
            moved = guards.moved(number, row.span_map.map) if guards and row.steps else {}
            for name, value in moved.items():
                changed.setdefault(name, list(table.columns[name]))[number] = value
        return cls(table, columns, changed)

    @cached_property
    def rewritten(self) -> list[bool]:
        """Which rows the rules change."""
        before, after = self.table.texts(self.columns.text), self.changed[self.columns.text]
        return [one != other for one, other in zip(before, after, strict=True)]

    def amount(self, amount: NoiseAmount, *, seed: int) -> tuple[Table, int]:
        """The table to train on, and how many of its rows are rewritten."""
        table, every = self.table, range(len(self.table))
        if amount == "none":
            return table, 0
        if amount == "both":
            changed = dict(self.changed)
            if self.columns.id is not None:
                names = ["rewritten"] * len(table)
                changed[self.columns.id] = new_ids(table, self.columns.id, every, names)
            return table.extended(every, changed), sum(self.rewritten)
        share = TextShare(_HALF, seed) if amount == "half" else TextShare()
        choices = [share.takes(text) for text in table.texts(self.columns.text)]
        values = {
            name: [new if take else old for take, old, new
                   in zip(choices, table.columns[name], column, strict=True)]
            for name, column in self.changed.items()
        }  # fmt: skip
        count = sum(take and new for take, new in zip(choices, self.rewritten, strict=True))
        return replace(table, columns={**table.columns, **values}), count


def measure_amounts(
    inputs: ExperimentInputs,
    *,
    journal: RunJournal,
    settings: AmountSettings,
    on_training: OnTraining[NoiseAmount] | None = None,
) -> Amounts:
    """Train on each amount, and ask the models about held-out rows before and after the rules."""
    held_out, matcher, labels = inputs.held_out, inputs.matcher, inputs.held_out.labels
    if labels is None:
        raise UsageError(
            "errors cannot be measured without labels", help="name their column with --label"
        )
    rewritten = RewrittenTable.of(
        inputs.training, matcher, columns=inputs.columns, settings=settings
    )
    chains = chain_guarded(
        matcher, held_out.texts, held_out.guards, scope=settings.scope, unit=settings.unit
    )
    new_rows = held_out.rewritten(range(len(chains)), [row.text for row in chains])
    changed = sum(row.text != text for row, text in zip(chains, held_out.texts, strict=True))
    if not changed:
        raise nothing_changes(held_out.path)
    answers = train_and_ask(
        settings.trained, range(settings.seed, settings.seed + settings.seeds),
        lambda amount, seed: rewritten.amount(amount, seed=seed)[0], [held_out.rows, new_rows],
        inputs=inputs, journal=journal, prefix="amount-", on_training=on_training,
    )  # fmt: skip

    def carried(rewritten: Sequence[str]) -> list[str]:
        """The answers to rewritten rows as answers to the rows themselves."""
        return [
            carry_back(answer, text, row.text, comparison=settings.comparison)
            for answer, text, row in zip(rewritten, held_out.texts, chains, strict=True)
        ]

    answers = {
        amount: [[rows, carried(rewritten)] for rows, rewritten in of_amount]
        for amount, of_amount in answers.items()
    }
    if "vote" in settings.amounts:
        together = partial(voted, comparison=settings.comparison)
        voters = [answers[each] for each in _VOTERS]
        answers["vote"] = [
            [
                list(map(together, zip(*of_part, strict=True)))
                for of_part in zip(*of_seed, strict=True)
            ]
            for of_seed in zip(*voters, strict=True)
        ]

    of_rows = [answer for of_amount in answers.values() for rows, _ in of_amount for answer in rows]
    labels = held_out.as_answered(of_rows).labels or labels

    def error(amount: NoiseAmount, part: int) -> Estimate:
        """The error over all seeds on the rows as they are (part 0) or after the rules (part 1)."""
        wrong = [differ(each[part], labels, settings.comparison) for each in answers[amount]]
        flags = np.array(wrong, np.bool_)
        return estimate(Outcomes(flags, np.ones_like(flags), np.arange(len(labels))))

    tables = {each: rewritten.amount(each, seed=settings.seed) for each in settings.trained}
    return Amounts(
        errors=tuple(
            AmountErrors(
                amount=amount,
                clean=error(amount, 0),
                perturbed=error(amount, 1),
                rows=len(tables["none" if amount == "vote" else amount][0]),
                rewritten=tables["full" if amount == "vote" else amount][1],
            )
            for amount in settings.amounts
        ),
        training_rows=len(inputs.training),
        rewritten=sum(rewritten.rewritten),
        held_out_rows=len(chains),
        held_out_rewritten=changed,
    )


#: The column headings of `amount_rows`.
MEASURED = ("trained on", "rows", "rewritten", "error, original rows", "error, rewritten rows")


def amount_rows(amounts: Amounts) -> list[tuple[str, ...]]:
    """One row for each amount, in the columns of `MEASURED`; errors have 95% intervals."""
    return [
        (each.amount, f"{each.rows:,}", f"{each.rewritten:,}", error_cell(each.clean),
         error_cell(each.perturbed))
        for each in amounts.errors
    ]  # fmt: skip


def write_amounts(
    amounts: Amounts, path: Path, *, settings: AmountSettings, participants: RepairParticipants
) -> dict[str, Any]:
    """Write the JSON, and the Markdown beside it."""
    content = {"settings": asdict(settings), "result": asdict(amounts)}
    text = _markdown(amounts, settings, participants)
    return write_report("sears-amounts", participants, content, text, path)


def _markdown(amounts: Amounts, settings: AmountSettings, participants: RepairParticipants) -> str:
    over_seeds = (
        (each.amount, seeds_cell(each.clean), seeds_cell(each.perturbed)) for each in amounts.errors
    )
    lines = [
        "# Errors by amount of rewritten training data",
        "",
        *([BUILT_IN, ""] if participants.built_in else []),
        f"The rules change {amounts.rewritten:,} of {amounts.training_rows:,} training rows and "
        f"{amounts.held_out_rewritten:,} of {amounts.held_out_rows:,} held-out rows. Errors are "
        f"means over {counted(settings.seeds, 'training')} of each amount, with 95% intervals for "
        "other rows.",
        "",
        *markdown_table(MEASURED, "lrrrr", amount_rows(amounts)),
        "",
        "- error, original rows: on the held-out rows as they are.",
        "- error, rewritten rows: on the held-out rows with all rules applied in order.",
        "- none, half, full: this part of the training rows is replaced by rewrites; for half, "
        "each text is drawn by itself.",
        "- both: all original and all rewritten rows, so twice as many: do not compare it with the "
        "others directly.",
        "- vote: the models of none, half and full with the same seed answer together.",
        *(f"\n**{note}**" for note in participants.notes),
        "",
        "## Over seeds",
        "",
        "The error of each seed, and the 95% interval of their mean for other seeds (Student's t).",
        "",
        *markdown_table(("trained on", "original rows", "rewritten rows"), "lll", over_seeds),
        "",
        participants.as_sentence,
    ]
    return "\n".join(lines) + "\n"
