"""``sears.fix_by_amount``: the errors of models that were trained on so much rewritten data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sears_dsl.api.arguments import (
    AnyRules,
    OnProgress,
    in_python,
    protection_of,
    rulesets_of,
    shown,
)
from sears_dsl.api.repairing import open_experiment, report_file
from sears_dsl.api.results import Bars, RulesetsResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.answers import Comparison
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.repair.amounts import Amounts, AmountSettings, NoiseAmount
    from sears_dsl.repair.report import RepairParticipants
    from sears_dsl.tagging.tagger import Tagger


class AmountsResult(RulesetsResult):
    """The errors of models that were trained on amounts of rewritten rows.

    Attributes:
        amounts: all that was measured.
        participants: who took part, by identity.
        settings: the choices.
        rulesets: the rules.
    """

    def __init__(
        self,
        amounts: Amounts,
        participants: RepairParticipants,
        settings: AmountSettings,
        rulesets: Sequence[Ruleset],
    ) -> None:
        self.amounts = amounts
        self.participants = participants
        self.settings = settings
        self.rulesets = tuple(rulesets)

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row an amount; errors are shares, with their 95% intervals."""
        errors = self.amounts.errors
        columns: dict[str, list[Any]] = {
            "amount": [each.amount for each in errors],
            "rows": [each.rows for each in errors],
            "rewritten": [each.rewritten for each in errors],
        }
        for kind in ("clean", "perturbed"):
            estimates = [getattr(each, kind) for each in errors]
            columns[kind] = [each.error for each in estimates]
            columns[f"{kind}_low"] = [each.interval[0] for each in estimates]
            columns[f"{kind}_high"] = [each.interval[1] for each in estimates]
        return columns

    @property
    def summary(self) -> str:
        """The errors of each amount, in per cent."""
        errors = self.columns
        rows = zip(errors["amount"], errors["clean"], errors["perturbed"], strict=True)
        return "errors on held-out rows as they are and rewritten: " + "; ".join(
            f"{name} {clean:.1%} and {perturbed:.1%}" for name, clean, perturbed in rows
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """The errors of each amount, on held-out rows as they are and rewritten.

        Args:
            axes: where to draw; None for a new figure.

        Raises:
            UsageError: matplotlib is not installed.
        """
        estimates = [
            (f"{each.amount}, {kind}", estimate)
            for each in self.amounts.errors
            for kind, estimate in (("as they are", each.clean), ("rewritten", each.perturbed))
        ]
        return Bars(
            [name for name, _ in estimates],
            [each.error or 0.0 for _, each in estimates],
            [each.interval for _, each in estimates],
            title="share of wrong answers",
        ).draw(axes)

    def save(self, path: str | Path) -> Mapping[str, Any]:
        """Write what `sears fix --amounts -o` writes: JSON, and Markdown beside it.

        Args:
            path: ``NAME.json``.

        Returns:
            What was written.

        Raises:
            UsageError: the path does not end in .json.
            DataError: a file cannot be written.
        """
        from sears_dsl.repair.amounts import write_amounts

        return write_amounts(
            self.amounts, report_file(path), settings=self.settings,
            participants=self.participants,
        )  # fmt: skip


def fix_by_amount(
    training: object,
    held_out: object,
    rules: AnyRules | object,
    *,
    amounts: str | Sequence[str] = "none,half,full,both,vote",
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    train: object = None,
    seeds: int = 5,
    seed: int = 0,
    scope: Scope = "first",
    unit: Unit | None = None,
    comparison: Comparison = "exact",
    same_rows: bool = False,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> AmountsResult:
    """Train a model on amounts of rewritten rows, and report the errors of each.

    What `sears fix --amounts` does, with its defaults. Errors are those on held-out rows, as they
    are and with all rules applied in order.

    Args:
        training: the rows to train on, as `discover` takes them.
        held_out: labelled rows that neither training nor discovery has seen.
        rules: as `audit` takes them; they keep the labels.
        amounts: names, or these with commas between them: ``none``, ``half`` and ``full`` replace
            so many of the rows; ``both`` has all rows as they are and all rewritten; ``vote`` is of
            the models of the first three.
        text: the column that rules rewrite; None for the one that can be meant.
        label: the column of labels. Of pairs it is the second of each.
        also: further columns of the held-out rows that the model reads.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `fix` takes them.
        train: as `fix` takes it.
        seeds: trainings of each amount.
        seed: of everything random.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None: what the rules ask for, else the ``text``.
        comparison: how an answer is compared with the label; it also says how models vote.
        same_rows: report on the very rows that the rules were found on.
        tagger: a tagger or its name.
        on_progress: told before each training.

    Raises:
        UsageError: arguments that mean nothing, a rule that changes labels, or the rules were found
            on the held-out rows.
        RuleSyntaxError: rules with errors.
        DataError: rows that cannot be read, or no rule changes one.
        ModelError: a training failed.

    Example:
        >>> import sears_dsl as sears
        >>> rows = [(f"A {mood} movie number {n}.", mood)
        ...         for n in range(9) for mood in ("good", "bad")]
        >>> def train(texts, labels, seed):
        ...     known = {word for text in texts for word in text.split()}
        ...     return lambda texts: ["good" if "good" in text and set(text.split()) <= known
        ...                           else "bad" for text in texts]
        >>> result = sears.fix_by_amount(rows, rows, sears.parse("movie -> film"), train=train,
        ...                              seeds=1, amounts="none,both")
        >>> result.columns["amount"], result.columns["perturbed"]
        (['none', 'both'], [0.5, 0.0])

    Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and
    Adversarial Attacks', section 3.2.
    """
    from sears_dsl.repair.amounts import AmountSettings
    from sears_dsl.repair.expansion import require_rules
    from sears_dsl.repair.running import amounts_of_noise

    with in_python():
        names = amounts.split(",") if isinstance(amounts, str) else amounts
        settings = AmountSettings(
            amounts=tuple(cast("NoiseAmount", each.strip()) for each in names),
            seeds=seeds, seed=seed, scope=scope, unit=unit, comparison=comparison,
            protection=protection_of(protect, spans),
        )  # fmt: skip
        rulesets = rulesets_of(rules)
        require_rules(rulesets)
        show = shown(on_progress)
        with open_experiment(
            training, held_out, rules, rulesets, text=text, label=label, also=also, train=train,
            seed=seed, protection=settings.protection, oracle=None, same_rows=same_rows,
            comparison=comparison, tagger=tagger,
        ) as (inputs, notes):  # fmt: skip
            result, participants = amounts_of_noise(
                inputs,
                rulesets,
                settings=settings,
                notes=notes,
                on_training=lambda name, of_seed, done, total: show(
                    f"training: {name}, seed {of_seed}", done, total
                ),
            )
        return AmountsResult(result, participants, settings, rulesets)
