"""A repair, or an augmentation, for people and for programs.

In: a `Repair`, or an `Augmented`, and who took part. Out: JSON with a format and a version, and
Markdown whose table is the paper's Table 6. Always holds: every number of the Markdown is in the
JSON; no date and no path of a work folder is in either, so that the same run writes the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sears_dsl import __version__
from sears_dsl.auditing.reports.code_cells import code_cell
from sears_dsl.repair.augmented import Augmented
from sears_dsl.repair.conclusion import MARGIN, RepairGate, conclusion, judge_repair
from sears_dsl.repair.experiment import Measured, Repair, RepairSettings
from sears_dsl.repair.measurement import ErrorChange, Estimate
from sears_dsl.runtime.writing import write_atomically

_NOT_GIVEN = "–"

#: Error of a `Repair` → what it is called, and what it is counted on.
ERRORS = {
    "validation": ("validation error", "the held-out rows as they are"),
    "sensitivity": (
        "error on the sensitivity set",
        "rewrites of the held-out rows that the model has right, so how often a rule flips it",
    ),
    "same_rows": (
        "on the same rows for all",
        "rewrites of the held-out rows that the original model has right",
    ),
    "untouched": (
        "these rows as they are",
        "what another training moves by itself, with no rule about",
    ),
    "rewritten": ("on all rewrites", "rewrites of held-out rows, right or not"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairParticipants:
    """Who took part, by identity.

    Attributes:
        rules: hash of all rules.
        rulesets: what they are called.
        tagger: name and version.
        trainer: what trained.
        training: SHA-256 of the training rows.
        held_out: SHA-256 of the held-out rows.
        notes: what a reader has to know beforehand.
        oracle: what rejected rewrites; None for nothing.
        noise: what decides the noise of the rules, by name; empty where they write none.
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

    @property
    def as_sentence(self) -> str:
        """All of them in a sentence for the end of a report."""
        return (
            f"Trainer: `{self.trainer}`. Training rows: SHA-256 `{self.training}`. "
            f"Held-out rows: SHA-256 `{self.held_out}`. Rules: {', '.join(self.rulesets)}, hash "
            f"`{self.rules}`. Tagger: `{self.tagger}`."
        )


def augmentation_record(
    augmentation: Augmented,
    *,
    rules: str,
    rulesets: Sequence[str],
    tagger: str,
    data: str,
    choices: Mapping[str, Any],
    left_out: Mapping[str, int],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """An augmentation as values that JSON knows.

    Args:
        rules: hash of all rules.
        data: SHA-256 of the rows before.
        left_out: reason → rewrites that are left out for it.
    """
    return {
        "format": "sears-augmentation",
        "version": 1,
        "sears": __version__,
        "rules_hash": rules,
        "rulesets": list(rulesets),
        "tagger": tagger,
        "data_sha256": data,
        "settings": dict(choices),
        "rows": len(augmentation.table) - augmentation.added,
        "wanted": augmentation.limit,
        "added": augmentation.added,
        "relabelled": augmentation.relabelled,
        "left_out": dict(left_out),
        "notes": list(notes),
        "rules": dict(augmentation.of_rule),
    }


def repair_record(
    repair: Repair,
    *,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None = None,
) -> dict[str, Any]:
    """A repair as values that JSON knows; with a verdict where there is a gate."""
    choices = {**asdict(settings), "amount": str(settings.amount)}
    verdict = {} if gate is None else {
        "gate": asdict(gate), "verdict": asdict(judge_repair(repair, gate))
    }  # fmt: skip
    return {
        "format": "sears-repair",
        "version": 1,
        "sears": __version__,
        **asdict(participants),
        "settings": choices,
        "conclusion": conclusion(repair, margin=_margin(gate)),
        **verdict,
        "result": asdict(repair),
    }


def _margin(gate: RepairGate | None) -> float:
    return MARGIN if gate is None else gate.margin


def write_repair(
    repair: Repair,
    path: Path,
    *,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None = None,
) -> dict[str, Any]:
    """Write the JSON, and the Markdown beside it."""
    record = repair_record(repair, settings=settings, participants=participants, gate=gate)
    text = _markdown(repair, settings, participants, gate)
    write_atomically(path.with_suffix(".md"), text.encode("utf-8", "backslashreplace"))
    write_atomically(path, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


#: What stands above the columns of `measured_rows`.
MEASURED = ("", "original", "augmented", "change in points", "relative change", "control")


def measured_rows(repair: Repair) -> list[tuple[str, ...]]:
    """The lines of Table 6, in the columns that `MEASURED` names.

    All are followed by their 95% intervals.
    """
    return [
        (
            name,
            error_cell(measured.original),
            error_cell(measured.augmented),
            _difference(measured.change),
            _fall(measured.change),
            _NOT_GIVEN if measured.control is None else error_cell(measured.control),
        )
        for key, (name, _) in ERRORS.items()
        for measured in [_of(repair, key)]
    ]


def repair_notes(repair: Repair, participants: RepairParticipants) -> list[str]:
    """What a reader has to know beside the numbers, in sentences."""
    notes = list(participants.notes)
    if repair.wanted is not None and repair.added < repair.wanted:
        notes.append(
            f"{repair.wanted:,} new rows were asked for; the rules make no more than "
            f"{repair.added:,}."
        )
    if repair.shared:
        rows = "row is a training row" if repair.shared == 1 else "rows are training rows"
        notes.append(f"{repair.shared:,} held-out {rows} too, so errors look too small.")
    notes += [
        f"Rewrites left out: {count:,}; {reason}." for reason, count in repair.left_out.items()
    ]
    return notes


def verdict_lines(repair: Repair, gate: RepairGate | None) -> list[str]:
    """The verdict and its reasons; nothing where nothing is demanded."""
    if gate is None:
        return []
    verdict = judge_repair(repair, gate)
    return [f"verdict: {verdict.outcome}", *verdict.reasons]


def _of(repair: Repair, key: str) -> Measured:
    measured: Measured = getattr(repair, key)
    return measured


def _markdown(
    repair: Repair,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None,
) -> str:
    lines = [
        "# Repair by augmentation",
        "",
        f"**{conclusion(repair, margin=_margin(gate))}**",
        "",
        *(f"- {line}" for line in verdict_lines(repair, gate)),
        *([""] if gate is not None else []),
        f"{repair.added:,} rewrites were added to {repair.training_rows:,} training rows. Means of "
        f"{settings.seeds} trainings of each kind, with 95% intervals.",
        "",
        line(MEASURED),
        "|---|---:|---:|---:|---:|---:|",
        *(line(row) for row in measured_rows(repair)),
        "",
        *(f"- {name}: {what}." for name, what in ERRORS.values()),
        "- control: as many random copies of training rows instead of rewrites.",
        "",
        f"The rules change {repair.rewritten_rows:,} of {repair.held_out_rows:,} held-out rows "
        f"into {repair.rewrites:,} texts.",
        *(f"\n**{note}**" for note in repair_notes(repair, participants)),
        "",
        "## Over seeds",
        "",
        "The mean over other seeds would lie in these intervals (Student's t).",
        "",
        "| | original | augmented |",
        "|---|---|---|",
        *(
            line((name, seeds_cell(measured.original), seeds_cell(measured.augmented)))
            for key, (name, _) in ERRORS.items()
            for measured in [_of(repair, key)]
        ),
        "",
        "## Rules",
        "",
        "Errors are those on the sensitivity set.",
        "",
        "| rule | new rows | texts | original | augmented |",
        "|---|---:|---:|---:|---:|",
        *(
            line((code_cell(each.text), f"{each.added:,}", f"{each.original.counted:.0f}",
                   error_cell(each.original), error_cell(each.augmented)))
            for each in repair.rules
        ),
        "",
        participants.as_sentence,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def line(cells: Sequence[str]) -> str:
    """A line of a table of Markdown."""
    return f"| {' | '.join(cells)} |"


def error_cell(estimate: Estimate) -> str:
    """An error with its 95% interval for other rows."""
    if estimate.error is None:
        return "no rows"
    low, high = estimate.interval
    return f"{_percent(estimate.error)} ({_percent(low)} to {_percent(high)})"


def seeds_cell(estimate: Estimate) -> str:
    """The error of each seed, and the 95% interval of their mean."""
    each = ", ".join("no rows" if error is None else _percent(error) for error in estimate.of_seeds)
    if estimate.over_seeds is None:
        return each
    low, high = estimate.over_seeds
    return f"{each} ({_percent(low)} to {_percent(high)})"


def _difference(change: ErrorChange) -> str:
    if change.difference is None or change.interval is None:
        return _NOT_GIVEN
    low, high = change.interval
    return f"{100 * change.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _fall(change: ErrorChange) -> str:
    """What is left of the error, in words: ``9% less (38% more to 42% less)``."""
    if change.fall is None or change.fall_interval is None:
        return _NOT_GIVEN
    least, most = map(_less, change.fall_interval)
    return f"{_less(change.fall)} ({least} to {most})"


def _less(fall: float) -> str:
    whole = round(100 * fall)
    return f"{abs(whole):,}% {'more' if whole < 0 else 'less'}"


def _percent(share: float) -> str:
    """One digit after the point, as in the paper; a mean may lie a little outside of 0 to 1."""
    return f"{100 * share:.1f}%"
