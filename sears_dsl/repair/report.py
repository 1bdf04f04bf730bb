"""A repair for people and for programs: a conclusion, a verdict and the tables.

In: a `Repair`, its participants and perhaps a `RepairGate`. Out: a one-sentence conclusion; a
`RepairVerdict` if there is a gate; JSON with a format and a version, and Markdown whose table is
the paper's Table 6. If the rows cannot tell whether a demand is met, it is neither passed nor
failed, so few rows never pass for want of evidence against them. The conclusion claims only what
the 95% intervals allow. Below ten rows there are counts in place of rates; if fewer were wrong
before, also in the conclusion and in place of a relative change, since "100% less" may be one row.
Every number of the Markdown is in the JSON. Neither contains a date or a path of a work folder, so
the same run writes the same bytes.

That validation gets no worse is a test of non-inferiority: the upper end of the interval of its
change lies at or below a margin. A change that is not significant would prove nothing, since few
rows never show a significant one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sears_dsl import __version__
from sears_dsl.auditing.robustness import tenths
from sears_dsl.errors import UsageError, counted
from sears_dsl.repair.experiment import ErrorRow, Repair, RepairSettings
from sears_dsl.repair.measurement import FEW_ROWS, ErrorChange, Estimate
from sears_dsl.runtime.files import write_atomically
from sears_dsl.runtime.markdown_tables import code_cell, markdown_table, table_row
from sears_dsl.statistics import ROUNDING

RepairOutcome: TypeAlias = Literal["passed", "failed", "not judged"]

#: How much the validation error may grow.
MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairGate:
    """What a repair has to achieve: the share by which the error on the sensitivity set falls.

    The validation error may grow by at most `margin`. The fall is not judged on fewer rows than
    `support`.
    """

    fall: float
    margin: float = MARGIN
    support: int = 20

    def __post_init__(self) -> None:
        if not (0 <= self.fall <= 1 and 0 <= self.margin <= 1 and self.support >= 1):
            raise UsageError(
                f"{self} has impossible values",
                help="give fall and margin between 0 and 1, and a support of at least 1",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairVerdict:
    """Whether a repair meets the demands; the reasons of those not passed, failures first."""

    outcome: RepairOutcome
    reasons: tuple[str, ...]


def judge_repair(repair: Repair, gate: RepairGate) -> RepairVerdict:
    """Return the verdict with its reasons."""
    judgements = [*_judged_fall(repair, gate), *_judged_validation(repair, gate)]
    failed = [reason for outcome, reason in judgements if outcome == "failed"]
    unknown = [reason for outcome, reason in judgements if outcome == "not judged"]
    outcome: RepairOutcome = "failed" if failed else "not judged" if unknown else "passed"
    return RepairVerdict(outcome=outcome, reasons=(*failed, *unknown))


def _judged_fall(repair: Repair, gate: RepairGate) -> Iterator[tuple[RepairOutcome, str]]:
    error, rows = "the error on the sensitivity set", _sensitive_rows(repair)
    change, few = repair.sensitivity.change, _few_were_wrong(repair.sensitivity)
    went = f"{error} {_went(repair.sensitivity)}"
    falls = went if few else f"{error} falls by {tenths(change.fall)}"
    if rows < gate.support:
        yield "not judged", f"{error} rests on {_rows(rows)}; {gate.support} are needed"
    elif change.fall is None or change.interval is None:
        yield "not judged", "no rule flips the original model, so there is no error to reduce"
    elif change.fall < gate.fall - ROUNDING:
        required = f"{tenths(gate.fall)} required"
        yield "failed", f"{falls}, less than the {'fall of ' if few else ''}{required}"
    elif change.interval[1] >= 0:
        yield "not judged", f"{falls}, but this may be chance: {_points(change)}"


def _judged_validation(repair: Repair, gate: RepairGate) -> Iterator[tuple[RepairOutcome, str]]:
    change = repair.validation.change
    if change.difference is None or change.interval is None:
        yield "not judged", "no validation error was measured"
    elif change.difference > gate.margin + ROUNDING:
        points = f"{_point(change.difference)} points, more than the {_point(gate.margin)} allowed"
        yield "failed", f"the validation error grows by {points}"
    elif change.interval[1] > gate.margin + ROUNDING:
        yield (
            "not judged",
            f"{repair.held_out_rows:,} held-out rows are too few to tell whether the validation "
            f"error grows by more than {_point(gate.margin)} points: up to "
            f"{_point(change.interval[1])} is possible",
        )


def conclusion(repair: Repair, gate: RepairGate | None = None) -> str:
    """Return in one sentence what to think of a repair."""
    margin = MARGIN if gate is None else gate.margin
    measured = repair.sensitivity
    before, after, change = measured.original.error, measured.augmented.error, measured.change
    rows = _sensitive_rows(repair)
    if before is None or after is None or change.interval is None:
        return "Nothing can be said: the rules change no held-out row that the model gets right."
    if not before and not after:
        return f"There was nothing to repair: no rule flips the model on any of {_rows(rows)}."
    low, high = change.interval
    went = f"the error on the sensitivity set {_went(measured)}"
    if high < 0:
        return f"The repair helped: {went}{_beside(repair)}; {_validation(repair, margin)}."
    if low > 0:
        return f"The repair did harm: {went}; {_validation(repair, margin)}."
    about = f"{went}, {_points(change)}"
    few = f"{_rows(rows)} are too few to tell" if low <= -before else "this may be chance"
    return f"No evidence that the repair helped: {about}; {few}."


def _beside(repair: Repair) -> str:
    """A clause for the case that random copies of rows do as much as rewrites, or ""."""
    control, after = repair.sensitivity.control, repair.sensitivity.augmented.error
    if control is None or control.error is None or after is None or control.error > after:
        return ""
    few = _few_were_wrong(repair.sensitivity)
    return f", but random copies of rows did as much (to {_rate(control, counts=few)})"


def _validation(repair: Repair, margin: float) -> str:
    change = repair.validation.change
    if change.difference is None or change.interval is None:
        return "the validation error is not known"
    low, high = change.interval
    if low > 0:
        return f"but the validation error grew by {_points(change)}"
    if high <= margin + ROUNDING:
        return f"the validation error grows by at most {_point(max(high, 0.0))} points"
    return (
        f"{repair.held_out_rows:,} held-out rows are too few to tell whether the validation error "
        f"grew: up to {_point(high)} points is possible"
    )


def _sensitive_rows(repair: Repair) -> float:
    """How many rows the error on the sensitivity set rests on: the fewer of before and after."""
    return min(repair.sensitivity.original.rows, repair.sensitivity.augmented.rows)


def _rows(count: float) -> str:
    return "1 row" if count == 1 else f"{count:,.0f} rows"


def _point(share: float) -> str:
    return f"{100 * share:.1f}"


def _few_were_wrong(measured: ErrorRow) -> bool:
    """Whether so few rows were wrong that a share of them says little."""
    before = measured.original
    return (before.error or 0.0) * before.rows < FEW_ROWS - ROUNDING


def _went(measured: ErrorRow) -> str:
    """From where to where an error went."""
    counts = _few_were_wrong(measured)
    before, after = (_rate(each, counts=counts) for each in (measured.original, measured.augmented))
    return f"went from {before} to {after}"


def _rate(estimate: Estimate, *, counts: bool = False) -> str:
    """An error as a rate, or as ``3 of 7`` if it rests on few rows or if counts are asked for."""
    if estimate.rows < FEW_ROWS or counts:
        return f"{_count(estimate.wrong)} of {_count(estimate.counted)}"
    return tenths(estimate.error)


def _count(mean: float) -> str:
    """A number of items, which over seeds need not be whole."""
    return f"{mean:,.1f}".removesuffix(".0")


def _points(change: ErrorChange) -> str:
    """A difference in points with its interval; neither may be None."""
    low, high = map(_signed, change.interval or (-1.0, 1.0))
    return f"{_signed(change.difference or 0.0)} points (95%: {low} to {high})"


def _signed(share: float) -> str:
    """A difference in points with its sign, or without one if it is shown as 0.0."""
    return _NO_POINTS if _point(abs(share)) == _NO_POINTS else f"{100 * share:+.1f}"


_NOT_GIVEN = "–"
_NO_POINTS = "0.0"

#: Field of a `Repair` → the name of this error, and what it is counted on.
ERRORS = {
    "validation": ("validation error", "the held-out rows as they are"),
    "sensitivity": (
        "error on the sensitivity set",
        "rewrites of the held-out rows that the model gets right, so how often a rule flips it",
    ),
    "same_rows": (
        "on the same rows for all",
        "rewrites of the held-out rows that the original model gets right",
    ),
    "untouched": (
        "these rows as they are",
        "the same rows before any rule, so how much another training changes by itself",
    ),
    "rewritten": ("on all rewrites", "rewrites of all held-out rows, right or wrong before"),
}


#: What a reader has to know about the model of the built-in trainer.
BUILT_IN = (
    "The model trained here is a small one of sears itself, not the one that was searched or "
    "audited; to train your own, use --command (in Python, train=)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairParticipants:
    """Names, identities and hashes of what took part, and notes that a reader has to know.

    `built_in` says that sears trained a model of its own.
    """

    rules: str
    rulesets: tuple[str, ...]
    tagger: str
    trainer: str
    training: str
    held_out: str
    notes: tuple[str, ...] = ()
    oracle: str | None = None
    noise: Mapping[str, str] = field(default_factory=dict)
    built_in: bool = False

    @property
    def as_sentence(self) -> str:
        """The participants as text for the end of a report."""
        return (
            f"Trainer: `{self.trainer}`. Training rows: SHA-256 `{self.training}`. "
            f"Held-out rows: SHA-256 `{self.held_out}`. Rules: {', '.join(self.rulesets)}, hash "
            f"`{self.rules}`. Tagger: `{self.tagger}`."
        )


def write_repair(
    repair: Repair,
    path: Path,
    *,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None = None,
) -> dict[str, Any]:
    """Write the JSON, with a verdict if there is a gate, and the Markdown beside it."""
    verdict = {} if gate is None else {
        "gate": asdict(gate), "verdict": asdict(judge_repair(repair, gate))
    }  # fmt: skip
    content = {
        "settings": {**asdict(settings), "amount": str(settings.amount)},
        "conclusion": conclusion(repair, gate),
        **verdict,
        "result": asdict(repair),
    }
    text = _markdown(repair, settings, participants, gate)
    return write_report("sears-repair", participants, content, text, path)


def write_report(
    name: str, participants: RepairParticipants, content: Mapping[str, Any], text: str, path: Path
) -> dict[str, Any]:
    """Write a record of the format `name` as JSON, and the text beside it as Markdown."""
    about = {"format": name, "version": 1, "sears": __version__}
    record = {**about, **asdict(participants), **content}
    write_atomically(path.with_suffix(".md"), text.encode("utf-8", "backslashreplace"))
    write_atomically(path, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


#: The column headings of `measured_rows`.
MEASURED = ("", "original", "augmented", "change in points", "relative change", "control")


def measured_rows(repair: Repair) -> list[tuple[str, ...]]:
    """The lines of Table 6 in the columns of `MEASURED`, each number with its 95% interval."""
    return [
        (
            name,
            error_cell(measured.original),
            error_cell(measured.augmented),
            _difference(measured.change),
            _fall(measured),
            _NOT_GIVEN if measured.control is None else error_cell(measured.control),
        )
        for name, measured in _measured(repair)
    ]


def _measured(repair: Repair) -> Iterator[tuple[str, ErrorRow]]:
    return ((name, getattr(repair, key)) for key, (name, _) in ERRORS.items())


def repair_notes(repair: Repair, participants: RepairParticipants) -> list[str]:
    """Sentences that a reader has to know beside the numbers."""
    notes = list(participants.notes)
    if repair.wanted is not None and repair.added < repair.wanted:
        notes.append(
            f"{repair.wanted:,} new rows were requested, but the rules make only {repair.added:,}."
        )
    if repair.shared:
        rows = "row is also a training row" if repair.shared == 1 else "rows are also training rows"
        notes.append(f"{repair.shared:,} held-out {rows}, so errors look smaller than they are.")
    for reason, count in repair.left_out.items():
        notes.append(f"{counted(count, 'rewrite')} left out: {reason}.")
    return notes


def verdict_lines(repair: Repair, gate: RepairGate | None) -> list[str]:
    """The verdict and its reasons as lines; none if nothing is required."""
    if gate is None:
        return []
    verdict = judge_repair(repair, gate)
    return [f"verdict: {verdict.outcome}", *verdict.reasons]


def _markdown(
    repair: Repair,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None,
) -> str:
    heads = ("rule", "new rows", "held-out rewrites", "original", "augmented")
    rules = (
        (code_cell(each.text), f"{each.added:,}", f"{each.original.counted:.0f}",
         error_cell(each.original), error_cell(each.augmented))
        for each in repair.rules
    )  # fmt: skip
    lines = [
        "# Repair by augmentation",
        "",
        f"**{conclusion(repair, gate)}**",
        "",
        *(f"- {line}" for line in verdict_lines(repair, gate)),
        *([""] if gate is not None else []),
        *([BUILT_IN, ""] if participants.built_in else []),
        f"{repair.added:,} rewrites were added to {repair.training_rows:,} training rows. Errors "
        f"are means over {counted(settings.seeds, 'training')} of each kind, with 95% intervals.",
        "",
        *markdown_table(MEASURED, "lrrrrr", measured_rows(repair)),
        "",
        *(f"- {name}: {what}." for name, what in ERRORS.values()),
        "- control: training with as many random copies of training rows instead of rewrites.",
        "",
        f"The rules turn {repair.rewritten_rows:,} of {repair.held_out_rows:,} held-out rows "
        f"into {repair.rewrites:,} rewrites.",
        *(f"\n**{note}**" for note in repair_notes(repair, participants)),
        "",
        "## Over seeds",
        "",
        "The error of each seed, and the 95% interval of their mean for other seeds (Student's t).",
        "",
        "| | original | augmented |",
        "|---|---|---|",
        *(
            table_row((name, seeds_cell(measured.original), seeds_cell(measured.augmented)))
            for name, measured in _measured(repair)
        ),
        "",
        "## Rules",
        "",
        "Errors are those on the sensitivity set.",
        "",
        *markdown_table(heads, "lrrrr", rules),
        "",
        participants.as_sentence,
    ]
    return "\n".join(lines) + "\n"


def error_cell(estimate: Estimate) -> str:
    """An error with its 95% interval for other rows; as counts if it rests on few."""
    if estimate.error is None:
        return "no rows"
    low, high = estimate.interval
    return f"{_rate(estimate)} ({tenths(low)}–{tenths(high)})"


def seeds_cell(estimate: Estimate) -> str:
    """The error of each seed, and the 95% interval of their mean; nothing of few rows."""
    if 0 < estimate.rows < FEW_ROWS:
        return f"fewer than {FEW_ROWS} rows"
    each = ", ".join("no rows" if error is None else tenths(error) for error in estimate.of_seeds)
    if estimate.over_seeds is None:
        return each
    low, high = estimate.over_seeds
    return f"{each} ({tenths(low)}–{tenths(high)})"


def _difference(change: ErrorChange) -> str:
    if change.difference is None or change.interval is None:
        return _NOT_GIVEN
    low, high = map(_signed, change.interval)
    return f"{_signed(change.difference)} ({low} to {high})"


def _fall(measured: ErrorRow) -> str:
    """The relative change of an error in words, such as ``9% less (38% more to 42% less)``.

    If few rows were wrong before, their counts: ``3 of 40 → 1 of 40``.
    """
    change = measured.change
    if change.fall is None or change.fall_interval is None:
        return _NOT_GIVEN
    if _few_were_wrong(measured):
        before, after = measured.original, measured.augmented
        return f"{_rate(before, counts=True)} → {_rate(after, counts=True)}"
    least, most = map(_less, change.fall_interval)
    # Name no direction beside a change in points that is shown as 0.0.
    unseen = _signed(change.difference or 0.0) == _NO_POINTS and not round(100 * change.fall)
    return f"{_less(0.0 if unseen else change.fall)} ({least} to {most})"


def _less(fall: float) -> str:
    """How much less, or more; even a change under one per cent has its direction."""
    if abs(fall) < ROUNDING:
        return "0%"
    whole = round(100 * abs(fall))
    return f"{f'{whole:,}%' if whole else 'under 1%'} {'more' if fall < 0 else 'less'}"
