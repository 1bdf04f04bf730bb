"""Semantic robustness of a model to a ruleset: to each rule, to each tag, to all rules together.

In: effects and a tolerance. Out: `Robustness`. A rewrite counts as right if the answer is what its
rule expects, whatever the model said before, so rules that change the label take part like those
that keep it. Rows on which the model is wrong take part too. With too few rows nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.auditing import accuracies
from sears_dsl.auditing.gates import Gate, Gates, JudgeBy, JudgementOutcome, lost_rewrites
from sears_dsl.auditing.slices import as_numbers, cell_words, for_rows
from sears_dsl.effects.rule_effects import Effects, RuleEffect
from sears_dsl.errors import counted
from sears_dsl.language.rule import Metadata
from sears_dsl.runtime.array_types import Flags
from sears_dsl.statistics import ROUNDING, Share, share_of

About: TypeAlias = Literal[
    "all rules", "tag", "rule", "all templates", "templates of a tag", "template"
]

#: The default τ, if neither the user nor a gate sets one.
TOLERANCE = 0.05
# With more labels than this, and than a twentieth of the rows, answers are free, not classes.
_MOST_LABELS = 12
_ROWS_A_LABEL = 20
#: The name of the slicing by template, for sentences beside rows of data.
OF_SENTENCES = "template of sentences"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessRecord:
    """How robust the model is to some rules, or to the sentences of some templates.

    Fields without a comment are those of `SemanticRobustness`. In a record of templates, `rules`
    counts templates, `rows` and `rewrites` their sentences; p is the accuracy on all rows of data,
    or 1 without data, and the interval of the gap is Newcombe's.
    """

    about: About
    name: str  # the tag, or the id of the rule or template; empty for all
    rules: int  # those that change a row
    rows: int
    rewrites: int
    before: float | None
    after: float | None
    pooled: float | None
    mean: float | None  # of p′, over rules or templates
    gap: float | None
    low: float
    high: float
    smallest_tau: float | None
    # Rescaled so that a guess is 0 and perfection 1; None if answers are free.
    before_corrected: float | None
    after_corrected: float | None
    tolerance: float
    robust: bool | None  # whether p′ ≥ p - τ, by `Gates.judge_by`; None with too few rows
    invariant: bool | None  # whether also p′ ≤ p + τ
    local: Share  # rows whose mean over their rewrites is at least p - τ
    smallest_tau_everywhere: float | None
    curve: tuple[tuple[float, int], ...]
    constant: accuracies.ConstantAnswer | None  # the best one, and its score on the rewrites

    @property
    def selector(self) -> str:
        """The selector of these rules or templates, as reports write it."""
        return {
            "all rules": "all",
            "all templates": "all templates",
            "tag": f"tag:{self.name}",
            "templates of a tag": f"templates of tag:{self.name}",
            "template": f"template:{self.name}",
            "rule": self.name,
        }[self.about]

    @property
    def of_templates(self) -> bool:
        """Whether it is about templates."""
        return "template" in self.about

    @property
    def of_one(self) -> bool:
        """Whether it is about a single rule or template."""
        return self.about in ("rule", "template")

    @property
    def verdict(self) -> str:
        """The verdict in a word or two."""
        if self.robust is None:
            return "not judged"
        if self.invariant:
            return "bounded invariant"
        return "robust" if self.robust else "not robust"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustnessGate:
    """The outcome of a gate about robustness; `tolerance` is τ, or the least share or rate."""

    gate: str
    tolerance: float
    outcome: JudgementOutcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """Semantic robustness at one τ: of all rules, each tag, each rule, then so for templates.

    `labels` is the number of labels, None if answers are free.
    """

    tolerance: float
    labels: int | None
    records: tuple[RobustnessRecord, ...]
    gates: tuple[RobustnessGate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAccuracy:
    """Accuracy on the untouched rows by the values of a column, such as the template of a row.

    `pooled` is that on all rows, `mean` the mean over values. `constant` is what the best constant
    answer would score in both ways, None if answers are free.
    """

    column: str
    values: int
    pooled: Share
    mean: float | None
    constant: accuracies.ConstantAnswer | None

    @property
    def of_sentences(self) -> bool:
        """Whether it is about template sentences beside the rows of data."""
        return self.column == OF_SENTENCES


def robustness(
    effects: Effects,
    *,
    gates: Gates,
    tolerance: float | None,
    seed: int = 0,
    later: Sequence[Effects] = (),
    further: Iterable[str] = (),
) -> Robustness | None:
    """How robust the model is to all rules, to each tag and to each rule, over all draws.

    `further` are labels that neither rows nor rules have, such as those of template sentences. None
    if nobody asked: there is neither a τ nor a gate about robustness.
    """
    demanded = gates.of_robustness
    if tolerance is None and not demanded:
        return None
    chosen = tolerance
    if chosen is None:
        # The smallest tolerance of the gates, so that no rules whose gate fails are called robust.
        tolerant = [each for each in demanded if each.demand in ("robust", "invariant", "local")]
        chosen = min((each.tolerance(TOLERANCE) for each in tolerant), default=TOLERANCE)
    further = tuple(further) if effects.labelled else ()  # else no row has any of the labels
    right = _right_answers(effects, labels_of(effects, further))
    draws: dict[str, list[RuleEffect]] = {}
    for draw in (effects, *later):
        for each in draw.rules:
            draws.setdefault(each.id, []).append(each)
    changing = {
        each.id: each.rule.metadata for each in effects.rules if any(map(len, draws[each.id]))
    }

    def record(
        about: About, name: str, members: Sequence[str], *, tolerance: float
    ) -> RobustnessRecord:
        """How robust the model is to some rules."""
        drawn = [(rule, each) for rule, member in enumerate(members) for each in draws[member]]
        rows = _joined([each.rows for _, each in drawn], np.int64)
        correct = _joined([each.as_expected for _, each in drawn], np.bool_)
        group = np.repeat([rule for rule, _ in drawn], [len(each) for _, each in drawn])
        flags = [
            _joined([_as_constant(each, label, rows_of) for _, each in drawn], np.bool_)
            for label, rows_of in right.items()
        ]
        return record_of(
            accuracies.semantic_robustness(effects.right, rows, correct, seed=seed),
            about=about,
            name=name,
            rules=len(members),
            mean=accuracies.mean_of_groups(correct, group),
            constant=accuracies.constant_answer(flags, list(map(writable, right)), rows, group),
            labels=len(right),
            gates=gates,
            tolerance=tolerance,
        )

    def judged(gate: Gate, of_run: float) -> RobustnessGate:
        """Judge a gate about robustness."""
        chosen = [each for each in effects.rules if gate.is_about(each)]
        members = [each.id for each in chosen if each.id in changing]
        measured = record("rule", gate.selector, members, tolerance=gate.tolerance(of_run))
        lost = lost_rewrites(
            sum(each.refused for each in chosen), sum(each.rejected for each in chosen)
        )
        outcome, reason = judged_gate(
            gate, measured, gates, why_empty=lost or "no row is changed",
            why_unknown=why_no_classes(effects, further),
        )  # fmt: skip
        return RobustnessGate(gate=gate.name, tolerance=gate.rate, outcome=outcome, reason=reason)

    return Robustness(
        tolerance=chosen,
        labels=len(right) or None,
        records=tuple(
            record(*each, tolerance=chosen)
            for each in selections(changing, ("all rules", "tag", "rule"))
        ),
        gates=tuple(judged(each, chosen) for each in demanded),
    )


def column_accuracies(
    effects: Effects, columns: Mapping[str, Sequence[Any]]
) -> Iterator[ColumnAccuracy]:
    """Accuracy on untouched rows with labels by each column of words, such as a source.

    Columns of numbers are left out, since their values hardly repeat.
    """
    if not effects.labelled:
        return
    right = _right_answers(effects, labels_of(effects))
    flags, named = list(right.values()), list(map(writable, right))
    rows = np.arange(len(effects.right))
    for column, values in columns.items():
        cells = for_rows(effects.data, values)
        if len(cells) != len(rows) or as_numbers(cells) is not None:
            continue
        names, group = np.unique(np.array(cell_words(cells), object), return_inverse=True)
        yield ColumnAccuracy(
            column=writable(column),
            values=len(names),
            pooled=share_of(int(effects.right.sum()), len(rows)),
            mean=accuracies.mean_of_groups(effects.right, group),
            constant=accuracies.constant_answer(flags, named, rows, group),
        )


def writable(text: str) -> str:
    """The text as UTF-8 can hold it: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def labels_of(effects: Effects, further: Iterable[str] = ()) -> tuple[str, ...]:
    """The labels that rows and sentences (`further`) have or rules name, sorted.

    None if the answers are no classes, as `why_no_classes` says.
    """
    return () if why_no_classes(effects, further) else _all_labels(effects, further)


def why_no_classes(effects: Effects, further: Iterable[str] = ()) -> str:
    """Why answers are not one of a few classes among which one can guess; "" if they are.

    Answers are free if they answer questions, so that hardly two are the same. Without any labels
    the model's own answers count.
    """
    rows = effects.data.labels or ()
    several = any(len(of_row) != 1 for of_row in rows)
    if several or effects.comparison != "exact":
        return "answers are free text"
    labels = _all_labels(effects, further)
    if not labels:
        return "no label column was named"
    if len(labels) > max(_MOST_LABELS, len(rows) // _ROWS_A_LABEL):
        return f"there are {len(labels):,} labels, too many to guess among"
    return ""


def _all_labels(effects: Effects, further: Iterable[str]) -> tuple[str, ...]:
    labels = {label for of_row in effects.data.labels or () for label in of_row}
    if effects.labelled:
        labels |= {each.label for each in effects.rules if each.expect.kind == "label"}
    return tuple(sorted({*labels, *further}))


def selections(
    known: Mapping[str, Metadata], abouts: tuple[About, About, About]
) -> Iterator[tuple[About, str, Sequence[str]]]:
    """All rules or templates, those of each tag, each of them: what it is about, and their ids."""
    of_all, of_tag, of_one = abouts
    yield of_all, "", list(known)
    for tag in dict.fromkeys(tag for each in known.values() for tag in each.tags):
        yield of_tag, tag, [name for name, each in known.items() if tag in each.tags]
    for name in known:
        yield of_one, name, [name]


def _right_answers(effects: Effects, labels: Sequence[str]) -> dict[str, Flags]:
    """Label → the rows for which it is right."""
    of_rows = np.array([of_row[0] for of_row in effects.data.labels or ()], object)
    return {label: of_rows == label for label in labels}


def _as_constant(effect: RuleEffect, label: str, right: Flags) -> Flags:
    """Rewrites of a rule on which this label is what the rule expects."""
    if effect.expect.kind == "label":
        return np.full(len(effect), label == effect.label, np.bool_)
    same = right[effect.rows]
    return same if effect.expect.kind == "same" else ~same


def record_of(
    robustness: accuracies.SemanticRobustness,
    *,
    about: About,
    name: str,
    rules: int,
    mean: float | None,
    constant: accuracies.ConstantAnswer | None,
    labels: int,
    gates: Gates,
    tolerance: float,
) -> RobustnessRecord:
    """The record of some rules or templates: what was counted, and how it is judged."""
    enough, number = robustness.rows >= gates.support, labels or None
    robust, invariant = (
        holds(robustness, tolerance, judge_by=gates.judge_by) if enough else None
        for holds in (accuracies.is_robust, accuracies.is_invariant)
    )
    return RobustnessRecord(
        **asdict(robustness),
        about=about,
        name=name,
        rules=rules,
        mean=mean,
        before_corrected=accuracies.chance_corrected(robustness.before, number),
        after_corrected=accuracies.chance_corrected(robustness.after, number),
        tolerance=tolerance,
        robust=robust,
        invariant=invariant,
        local=robustness.local(tolerance),
        smallest_tau_everywhere=robustness.smallest_tau_everywhere,
        constant=constant,
    )


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def judged_gate(
    gate: Gate, record: RobustnessRecord, gates: Gates, *, why_empty: str, why_unknown: str
) -> tuple[JudgementOutcome, str]:
    """Judge a gate by a record; returns the outcome, and the reason in a sentence.

    `why_empty` says why nothing is tested, and `why_unknown` why nothing can be guessed.
    """
    if not record.rows:
        return "not judged", f"nothing to test: {why_empty}"
    if record.rows < gates.support:
        counts = f"{_number_of(record)} tested, {gates.support} needed"
        return "not judged", f"too little support: {counts}"
    if gate.demand not in ("robust", "invariant"):
        return _at_least(gate, record, gates.judge_by, why_unknown)
    gap = record.gap or 0.0
    holds, kind, change = (
        (record.robust, "drop", -gap)
        if gate.demand == "robust"
        else (record.invariant, "change", abs(gap))
    )
    words = f"{in_words(record)}; the largest {kind} allowed is {100 * gate.rate:g} points"
    if holds:
        return "passed", words
    if change <= gate.rate and gates.judge_by == "proof":
        words += ", and the interval reaches beyond it"
    return "failed", words


def _at_least(
    gate: Gate, record: RobustnessRecord, judge_by: JudgeBy, why_unknown: str
) -> tuple[JudgementOutcome, str]:
    """Judge a gate that demands a share or an accuracy; only a share of rows has an interval."""
    local = record.local
    if gate.demand == "local":
        sentence = (
            f"{local.count:,} of {_number_of(record)} are locally robust at τ = "
            f"{100 * record.tolerance:g}%: {tenths(local.rate)} (95% {tenths(local.low)} to "
            f"{tenths(local.high)})"
        )
        value = {"rate": local.rate, "evidence": local.high, "proof": local.low}[judge_by]
    elif gate.demand == "mean":
        of = "template" if record.of_templates else "rule"
        value, sentence = record.mean, f"mean accuracy over {of}s is {tenths(record.mean)}"
    elif gate.demand == "above-constant" and record.constant and record.after is not None:
        constant = record.constant
        value = record.after - constant.rate
        sentence = (
            f"accuracy is {tenths(record.after)}, {100 * value:+z.1f} points against the "
            f"{tenths(constant.rate)} of always answering {constant.answer!r}"
        )
    elif gate.demand == "above-constant":
        return "not judged", f"there is no constant answer to compare with: {why_unknown}"
    else:
        value = record.after_corrected
        sentence = f"accuracy corrected for guessing is {tenths(value)}"
    if value is None:
        return "not judged", f"no correction for guessing: {why_unknown or 'there is one label'}"
    reason = f"{sentence}; at least {100 * gate.rate:g}% is required"
    return ("passed" if value >= gate.rate - ROUNDING else "failed"), reason


def in_words(record: RobustnessRecord) -> str:
    """How the accuracy changes, as a sentence without its full stop."""
    if record.gap is None:
        return "no row is changed"
    by, interval = points(record.gap), f"95% {points(record.low)} to {points(record.high)}"
    on = f"{tenths(record.after)} on {_number_of(record)} ({by} points"
    if record.of_templates:
        return f"accuracy is {on} against {tenths(record.before)}, {interval})"
    return f"accuracy goes from {tenths(record.before)} to {on}, {interval})"


def _number_of(record: RobustnessRecord) -> str:
    return counted(record.rows, "sentence" if record.of_templates else "row")


def tenths(rate: float | None) -> str:
    """A rate to a tenth of a per cent; a dash if there is none."""
    return "–" if rate is None else f"{100 * rate:.1f}%"


def points(difference: float) -> str:
    """A difference of rates in points, with its sign."""
    return f"{100 * difference:+z.1f}"
