"""``sears.augment`` and ``sears.fix``: training data with rewrites, and what they repair."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sears_dsl.api.arguments import (
    AnyOracle,
    AnyRules,
    OnProgress,
    in_python,
    label_column,
    matcher_of,
    names_of,
    names_of_columns,
    progress_reporter,
    protection_of,
    read_once,
    remark,
    rulesets_together,
    shares,
    whole_numbers,
)
from sears_dsl.api.results import RulesetsResult, draw_bars, file_to_write
from sears_dsl.errors import UsageError
from sears_dsl.runtime.files import make_folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.answers import Comparison
    from sears_dsl.engine.matches import Scope, Unit
    from sears_dsl.language.ruleset import Ruleset
    from sears_dsl.repair.amounts import Amounts, AmountSettings, NoiseAmount
    from sears_dsl.repair.experiment import Repair, RepairSettings, RuleRepair
    from sears_dsl.repair.measurement import Estimate
    from sears_dsl.repair.report import RepairGate, RepairParticipants
    from sears_dsl.repair.trainers import Trainer
    from sears_dsl.tagging.tagger import Tagger

Measured = TypeVar("Measured")


@dataclass(eq=False, repr=False)
class RepairResult(RulesetsResult):
    """What training on rewritten rows did: the measurements, the participants, the settings.

    ``gate`` is what the repair had to reach; None for nothing.
    """

    repair: Repair
    participants: RepairParticipants
    settings: RepairSettings
    rulesets: tuple[Ruleset, ...]
    gate: RepairGate | None

    @property
    def rules(self) -> tuple[RuleRepair, ...]:
        """Each rule with what became of its rewrites."""
        return self.repair.rules

    @property
    def passed(self) -> bool:
        """Whether the repair passed its gate; True without one."""
        from sears_dsl.repair.report import judge_repair

        return self.gate is None or judge_repair(self.repair, self.gate).outcome == "passed"

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per error, as in the paper's Table 6: shares with their 95% intervals."""
        from sears_dsl.repair.report import ERRORS

        measured = [getattr(self.repair, key) for key in ERRORS]
        columns: dict[str, list[Any]] = {"error": [name for name, _ in ERRORS.values()]}
        for kind in ("original", "augmented", "control"):
            columns |= _error_columns(kind, [getattr(each, kind) for each in measured])
        columns["change"] = [each.change.difference for each in measured]
        return columns

    @property
    def summary(self) -> str:
        """The conclusion, in words, and a note if the model is one of sears itself."""
        from sears_dsl.repair.report import BUILT_IN, conclusion

        note = f" {BUILT_IN}" if self.participants.built_in else ""
        return conclusion(self.repair, self.gate) + note

    def plot(self, axes: Axes | None = None) -> Axes:
        """The errors on held-out rows and on the sensitivity set, before and after."""
        estimates = [
            (f"{name}, {kind}", getattr(measured, kind))
            for name, measured in (
                ("held-out rows", self.repair.validation),
                ("sensitivity set", self.repair.sensitivity),
            )
            for kind in ("original", "augmented", "control")
        ]
        return _draw_errors(axes, estimates)

    def save(self, path: str | Path) -> Mapping[str, Any]:
        """Write what `sears fix -o` writes: the report as JSON, and as Markdown beside it.

        Raises:
            UsageError: the path does not end in .json.
        """
        from sears_dsl.repair.report import write_repair

        return write_repair(
            self.repair, _report_file(path), settings=self.settings, participants=self.participants,
            gate=self.gate,
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class AmountsResult(RulesetsResult):
    """The errors of models trained on several amounts of rewritten rows, and the participants."""

    amounts: Amounts
    participants: RepairParticipants
    settings: AmountSettings
    rulesets: tuple[Ruleset, ...]

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per amount; errors are shares, with their 95% intervals."""
        errors = self.amounts.errors
        columns: dict[str, list[Any]] = {
            "amount": [each.amount for each in errors],
            "rows": [each.rows for each in errors],
            "rewritten": [each.rewritten for each in errors],
        }
        for kind in ("clean", "perturbed"):
            columns |= _error_columns(kind, [getattr(each, kind) for each in errors])
        return columns

    @property
    def summary(self) -> str:
        """The errors of each amount, in per cent, and a note if the models are of sears itself."""
        from sears_dsl.repair.report import BUILT_IN

        errors = self.columns
        rows = zip(errors["amount"], errors["clean"], errors["perturbed"], strict=True)
        each = (f"{name} {clean:.1%} and {perturbed:.1%}" for name, clean, perturbed in rows)
        note = f". {BUILT_IN}" if self.participants.built_in else ""
        return f"errors on held-out rows as they are and rewritten: {'; '.join(each)}{note}"

    def plot(self, axes: Axes | None = None) -> Axes:
        """The errors of each amount, on held-out rows as they are and rewritten."""
        estimates = [
            (f"{each.amount}, {kind}", estimate)
            for each in self.amounts.errors
            for kind, estimate in (("as they are", each.clean), ("rewritten", each.perturbed))
        ]
        return _draw_errors(axes, estimates)

    def save(self, path: str | Path) -> Mapping[str, Any]:
        """Write what `sears fix --amounts -o` writes: JSON, and Markdown beside it.

        Raises:
            UsageError: the path does not end in .json.
        """
        from sears_dsl.repair.amounts import write_amounts

        return write_amounts(
            self.amounts, _report_file(path), settings=self.settings,
            participants=self.participants,
        )  # fmt: skip


def _error_columns(name: str, estimates: Sequence[Estimate | None]) -> dict[str, list[Any]]:
    """Return columns of errors and the ends of their intervals; None for a missing estimate."""
    return {
        name: [each and each.error for each in estimates],
        f"{name}_low": [each and each.interval[0] for each in estimates],
        f"{name}_high": [each and each.interval[1] for each in estimates],
    }


def _draw_errors(axes: Axes | None, named: Iterable[tuple[str, Estimate | None]]) -> Axes:
    known = [
        (name, each.error, each.interval)
        for name, each in named
        if each is not None and each.error is not None
    ]
    names, errors, intervals = zip(*known, strict=True) if known else ((), (), ())
    return draw_bars(axes, names, errors, intervals, title="wrong answers")


def _report_file(path: str | Path) -> Path:
    file = file_to_write(path)
    if file.suffix != ".json":
        raise UsageError(f"{file} is not a name for a report", help=f"name it {file.stem}.json")
    make_folder(file.parent)
    return file


def augment(
    data: object,
    rules: AnyRules | object,
    *,
    text: str | None = None,
    label: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    amount: str | int = "all",
    balanced: bool = True,
    only_new: bool = False,
    id_column: str | None = None,
    seed: int = 0,
    oracle: AnyOracle | None = None,
    scope: Scope = "first",
    unit: Unit | None = None,
    tagger: Tagger | str | None = None,
) -> Any:
    """Add rewrites of its own rows to training data.

    Does what `sears augment` does, with the same defaults. A new row has the label of its source,
    or the one that the rule's ``expect`` makes of it. The columns source_row (its id, else its
    number from 1, even for data frames), source_rule and source_ruleset say where a row comes from.

    Args:
        data: rows, as `discover` takes them.
        rules: as `audit` takes them.
        text: the column that rules rewrite; None infers it.
        label: the column of labels; None where there is none.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `discover` takes them; they move along.
        amount: new rows: ``"20%"`` of the rows, ``"2x"`` their number, ``500``, or ``"all"``.
        balanced: whether the rules take turns if not all of their rewrites are added.
        only_new: whether the old rows are left out.
        id_column: the column of ids; None for ``id`` where there is one.
        seed: of the choice, and of what rules draw at random.
        oracle: what rejects rewrites before they become rows, as `audit` takes it.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        tagger: a tagger or its name; None for the one that validated the rules, where known.

    Returns:
        A dataset of the same kind; for texts, pairs and files a list of dictionaries. A data frame
        keeps its index and its types; a new row gets the index of its source, unless the index
        has no name and only counts rows.

    Raises:
        UsageError: invalid arguments.
        RuleSyntaxError: rules with errors.
        DataError: rows that cannot be read, no rule changes one, or the type of a column cannot
            hold a new value.

    Example:
        >>> import sears_dsl as sears
        >>> rows = sears.augment([("A fun movie.", 1), ("A play.", 0)], "synonyms/reviews")
        >>> rows[-1]["text"], rows[-1]["label"], rows[-1]["source_row"]
        ('A fun film.', 1, '1')
    """
    from sears_dsl.data.frames import Copies
    from sears_dsl.data.sources import frame_of
    from sears_dsl.data.table import read_table
    from sears_dsl.repair.augmentation import PROVENANCE, Amount, require_rules
    from sears_dsl.repair.running import AugmentationChoices, augment_table, columns_of
    from sears_dsl.vetting.journal_oracle import open_oracle

    with in_python():
        names_of_columns(text=text, label=label, id_column=id_column)
        whole_numbers(None, seed=seed)
        choices = AugmentationChoices(
            amount=Amount.parse(str(amount)), balanced=balanced, seed=seed, scope=scope, unit=unit,
            only_new=only_new, protection=protection_of(protect, spans),
        )  # fmt: skip
        data = read_once(data)
        rulesets = rulesets_together(rules, unit=unit)
        require_rules(rulesets)
        matcher = matcher_of(rulesets, tagger=tagger, seed=seed)
        table = read_table(data)
        columns = columns_of(table, text=text, label=label_column(data, label), id_column=id_column)
        augmented, record = augment_table(
            table, matcher, rulesets, columns=columns, tagger=matcher.tagger, choices=choices,
            oracle=None if oracle is None else open_oracle(oracle, rulesets),
        )  # fmt: skip
        for sentence in record["notes"]:
            remark(sentence)
        changed = {name: augmented.table.columns[name][len(table) :] for name in augmented.changed}
        added = {name: augmented.table.columns[name] for name in PROVENANCE}
        return frame_of(data).extended(Copies(augmented.sources, changed, added, only_new))


def fix(
    training: object,
    held_out: object,
    rules: AnyRules | object,
    *,
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
    protect: Sequence[str] = (),
    spans: Sequence[str] = (),
    train: object = None,
    amount: str | int = "all",
    balanced: bool = True,
    seeds: int = 5,
    seed: int = 0,
    control: bool = True,
    oracle: AnyOracle | None = None,
    scope: Scope = "first",
    unit: Unit | None = None,
    comparison: Comparison = "exact",
    min_fall: float | None = None,
    margin: float = 0.05,
    min_support: int = 20,
    same_rows: bool = False,
    tagger: Tagger | str | None = None,
    on_progress: OnProgress | None = None,
) -> RepairResult:
    """Train a model again on rewritten rows, and report what that repairs.

    Does what `sears fix` does, with the same defaults. For each seed it trains a model on the rows
    as they are, one on the rows and their rewrites, and one on the rows and random copies of them.
    It reports the error on held-out rows, and the error on the sensitivity set: the rewrites of the
    held-out rows that the model has right.

    Args:
        training: the rows to train on, as `discover` takes them.
        held_out: labelled rows that neither training nor discovery has seen.
        rules: as `audit` takes them.
        text: the column that rules rewrite; None infers it.
        label: the column of labels. For pairs it is the second element.
        also: further columns of the held-out rows that the model reads.
        image: a column of paths of pictures, from the folder of the data; the model reads it.
        choices: a column of the answers to choose from; the model reads it.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `discover` takes them.
        train: a function of texts, labels and a seed that returns a model, or an estimator of
            scikit-learn, which is fitted anew each time; None for the built-in model.
        amount: new rows, as `augment` takes it.
        balanced: whether the rules take turns.
        seeds: trainings of each kind.
        seed: of everything random.
        control: whether to train on as many random copies of rows, too.
        oracle: what rejects rewrites before they become rows, as `audit` takes it.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        comparison: how an answer is compared with the label.
        min_fall: demand that the error on the sensitivity set falls by this share, beyond chance,
            and the validation error surely grows by at most ``margin``; None demands nothing.
        margin: how much the validation error may grow.
        min_support: the gate needs so many rows that rules change and the model has right.
        same_rows: allow held-out rows that the rules were found on.
        tagger: a tagger or its name.
        on_progress: called before each training.

    Raises:
        UsageError: invalid arguments, or the rules were found on the held-out rows, or all of
            these are training rows.
        RuleSyntaxError: rules with errors.
        DataError: rows that cannot be read, or no rule changes one.
        ModelError: a training failed.

    Example:
        >>> import sears_dsl as sears
        >>> def rows(noun):
        ...     return [(f"A {mood} {noun} number {n}.", int(mood == "good"))
        ...             for n in range(30) for mood in ("good", "bad")]
        >>> def train(texts, labels, seed):
        ...     known = {word for text in texts for word in text.split()}
        ...     return lambda texts: [
        ...         int("film" in text and "film" not in known or "good" in text) for text in texts]
        >>> result = sears.fix(rows("movie")[1:], rows("movie")[:40], sears.parse("movie -> film"),
        ...                    train=train, seeds=2)
        >>> errors = result.repair.sensitivity
        >>> errors.original.error, errors.augmented.error
        (0.5, 0.0)

    Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
    Models", ACL 2018, Table 6.
    """
    from sears_dsl.repair.augmentation import Amount
    from sears_dsl.repair.experiment import RepairSettings
    from sears_dsl.repair.report import RepairGate
    from sears_dsl.repair.running import repair_model

    with in_python():
        whole_numbers(1, seeds=seeds, min_support=min_support)
        whole_numbers(None, seed=seed)
        shares(min_fall=min_fall, margin=margin)
        settings = RepairSettings(
            amount=Amount.parse(str(amount)), balanced=balanced, seeds=seeds, seed=seed,
            scope=scope, unit=unit, comparison=comparison, control=control,
            protection=protection_of(protect, spans),
        )  # fmt: skip
        gate = None
        if min_fall is not None:
            gate = RepairGate(fall=min_fall, margin=margin, support=min_support)
        repair, participants, rulesets = _measure(
            repair_model, training, held_out, rules, settings, text=text, label=label, also=also,
            image=image, choices=choices, train=train, oracle=oracle, same_rows=same_rows,
            tagger=tagger, on_progress=on_progress,
        )  # fmt: skip
        return RepairResult(repair, participants, settings, rulesets, gate)


def fix_by_amount(
    training: object,
    held_out: object,
    rules: AnyRules | object,
    *,
    amounts: str | Sequence[str] = "none,half,full,both,vote",
    text: str | None = None,
    label: str | None = None,
    also: Sequence[str] = (),
    image: str | None = None,
    choices: str | None = None,
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
    """Train models on several amounts of rewritten rows, and report the errors of each.

    Does what `sears fix --amounts` does, with the same defaults. Errors are those on held-out rows,
    as they are and with all rules applied in order.

    Args:
        training: the rows to train on, as `discover` takes them.
        held_out: labelled rows that neither training nor discovery has seen.
        rules: as `audit` takes them; they keep the labels.
        amounts: names, or one text of them with commas: ``none``, ``half`` and ``full`` replace so
            many rows by rewrites; ``both`` has all rows as they are and all rewritten; ``vote``
            is a vote of the models of the first three.
        text: the column that rules rewrite; None infers it.
        label: the column of labels. For pairs it is the second element.
        also: further columns of the held-out rows that the model reads.
        image: a column of paths of pictures, as `fix` takes it.
        choices: a column of the answers to choose from.
        protect: columns whose content stays intact in the rewritten text.
        spans: columns of spans that follow it, as `fix` takes them.
        train: as `fix` takes it.
        seeds: trainings of each amount.
        seed: of everything random.
        scope: rewrite the ``first`` instance of a rule in a unit, or ``all``.
        unit: what a rule sees at once; None for what the rules ask for, else the ``text``.
        comparison: how an answer is compared with the label; it also says how models vote.
        same_rows: allow held-out rows that the rules were found on.
        tagger: a tagger or its name.
        on_progress: called before each training.

    Raises:
        UsageError: invalid arguments, a rule that changes labels, or the rules were found on the
            held-out rows, or all of these are training rows.
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
        >>> result = sears.fix_by_amount(rows[1:], rows, sears.parse("movie -> film"), train=train,
        ...                              seeds=1, amounts="none,both")
        >>> result.columns["amount"], result.columns["perturbed"]
        (['none', 'both'], [0.5, 0.0])

    Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and
    Adversarial Attacks', section 3.2.
    """
    from sears_dsl.repair.amounts import NOISE_AMOUNTS, AmountSettings
    from sears_dsl.repair.running import amounts_of_noise

    with in_python():
        whole_numbers(1, seeds=seeds)
        whole_numbers(None, seed=seed)
        names = amounts.split(",") if isinstance(amounts, str) else names_of(amounts)
        if odd := [each for each in names if not isinstance(each, str)]:
            raise UsageError(
                f"amounts={amounts!r:.60}: {odd[0]!r:.60} is not an amount",
                help=f"give one or more of {', '.join(NOISE_AMOUNTS)}",
            )
        settings = AmountSettings(
            amounts=tuple(cast("NoiseAmount", each.strip()) for each in names),
            seeds=seeds, seed=seed, scope=scope, unit=unit, comparison=comparison,
            protection=protection_of(protect, spans),
        )  # fmt: skip
        result, participants, rulesets = _measure(
            amounts_of_noise, training, held_out, rules, settings, text=text, label=label,
            also=also, image=image, choices=choices, train=train, same_rows=same_rows,
            tagger=tagger, on_progress=on_progress,
        )  # fmt: skip
        return AmountsResult(result, participants, settings, rulesets)


def _measure(
    experiment: Callable[..., tuple[Measured, RepairParticipants]],
    training: object,
    held_out: object,
    rules: AnyRules | object,
    settings: RepairSettings | AmountSettings,
    *,
    text: str | None,
    label: str | None,
    also: Sequence[str],
    image: str | None,
    choices: str | None,
    train: object,
    same_rows: bool,
    tagger: Tagger | str | None,
    on_progress: OnProgress | None,
    oracle: AnyOracle | None = None,
) -> tuple[Measured, RepairParticipants, tuple[Ruleset, ...]]:
    """Return what an experiment of `repair.running` measures, who took part, and the rules."""
    from sears_dsl.answers import check_comparison
    from sears_dsl.data.labelled import read_labelled
    from sears_dsl.data.table import read_table
    from sears_dsl.repair.augmentation import require_rules
    from sears_dsl.repair.running import check_origin, columns_of
    from sears_dsl.repair.trainers import BuiltInTrainer, ExperimentInputs, GivenTrainer
    from sears_dsl.vetting.journal_oracle import open_oracle

    rulesets = tuple(rulesets_together(rules, unit=settings.unit))
    require_rules(rulesets)
    also = names_of(also)
    names_of_columns(text=text, label=label, also=also)
    others = (*also, *filter(None, (image, choices)))
    if train is None and others:
        raise UsageError(
            f"the built-in model reads one column, so not {others[0]}",
            help="say how to train one that reads it: train=…; or leave the column out",
        )
    training, held_out = read_once(training), read_once(held_out)
    named = label_column(training, label)
    if named is None:
        raise UsageError("errors are measured against labels", help="name their column: label='…'")
    matcher = matcher_of(rulesets, tagger=tagger, seed=settings.seed)
    table = read_table(training)
    table = table if image is None else table.with_pictures(image)
    columns = columns_of(table, text=text, label=named)
    rows = read_labelled(
        held_out, column=columns.text, label=named, also=also, protection=settings.protection,
        comparison=check_comparison(settings.comparison), image=image, choices=choices,
    )  # fmt: skip
    trainer: Trainer
    if train is None:
        trainer = BuiltInTrainer(text=columns.text, label=named)
    else:
        trainer = GivenTrainer(
            train, text=columns.text, label=named, also=others, comparison=settings.comparison
        )
    notes = (*rows.notes, *check_origin(rulesets, rows, allowed=same_rows))
    with tempfile.TemporaryDirectory(prefix="sears-fix-") as folder:
        inputs = ExperimentInputs(
            training=table, held_out=rows, matcher=matcher, columns=columns, trainer=trainer,
            folder=Path(folder), oracle=None if oracle is None else open_oracle(oracle, rulesets),
        )  # fmt: skip
        show = progress_reporter(on_progress)

        def on_training(kind: str, seed: int, done: int, total: int) -> None:
            show(f"training: {kind}, seed {seed}", done, total)

        measured, participants = experiment(
            inputs, rulesets, settings=settings, notes=notes, on_training=on_training
        )
    return measured, participants, rulesets
