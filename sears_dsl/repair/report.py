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
    def told(self) -> str:
        """All of them in a sentence for the end of a report."""
        return (
            f"Trainer: `{self.trainer}`. Training rows: SHA-256 `{self.training}`. "
            f"Held-out rows: SHA-256 `{self.held_out}`. Rules: {', '.join(self.rulesets)}, hash "
            f"`{self.rules}`. Tagger: `{self.tagger}`."
        )


def augmentation_record(
    done: Augmented,
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
        done: the table with its new rows.
        rules: hash of all rules.
        rulesets: what they are called.
        tagger: name and version.
        data: SHA-256 of the rows before.
        choices: what the person chose.
        left_out: reason → rewrites that are left out for it.
        notes: what a reader has to know.
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
        "rows": len(done.table) - done.added,
        "wanted": done.wanted,
        "added": done.added,
        "relabelled": done.relabelled,
        "left_out": dict(left_out),
        "notes": list(notes),
        "rules": dict(done.of_rule),
    }


def repair_record(
    done: Repair,
    *,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None = None,
) -> dict[str, Any]:
    """A repair as values that JSON knows; with a verdict where there is a gate."""
    choices = {**asdict(settings), "amount": str(settings.amount)}
    verdict = {} if gate is None else {
        "gate": asdict(gate), "verdict": asdict(judge_repair(done, gate))
    }  # fmt: skip
    return {
        "format": "sears-repair",
        "version": 1,
        "sears": __version__,
        **asdict(participants),
        "settings": choices,
        "conclusion": conclusion(done, margin=_margin(gate)),
        **verdict,
        "result": asdict(done),
    }


def _margin(gate: RepairGate | None) -> float:
    return MARGIN if gate is None else gate.margin


def write_repair(
    done: Repair,
    path: Path,
    *,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None = None,
) -> dict[str, Any]:
    """Write the JSON, and the Markdown beside it.

    Raises:
        DataError: a file cannot be written.
    """
    record = repair_record(done, settings=settings, participants=participants, gate=gate)
    text = _markdown(done, settings, participants, gate)
    write_atomically(path.with_suffix(".md"), text.encode("utf-8", "backslashreplace"))
    write_atomically(path, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


#: What stands above the columns of `measured_rows`.
MEASURED = ("", "original", "augmented", "change in points", "that is", "control")


def measured_rows(done: Repair) -> list[tuple[str, ...]]:
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
        for measured in [_of(done, key)]
    ]


def repair_notes(done: Repair, participants: RepairParticipants) -> list[str]:
    """What a reader has to know beside the numbers, in sentences."""
    notes = list(participants.notes)
    if done.wanted is not None and done.added < done.wanted:
        notes.append(
            f"{done.wanted:,} new rows were wanted and {done.added:,} are all that the rules make."
        )
    if done.shared:
        rows = "row is a training row" if done.shared == 1 else "rows are training rows"
        notes.append(f"{done.shared:,} held-out {rows} too, so errors are too small.")
    notes += [f"Rewrites left out: {count:,}; {reason}." for reason, count in done.left_out.items()]
    return notes


def verdict_lines(done: Repair, gate: RepairGate | None) -> list[str]:
    """The verdict and its reasons; nothing where nothing is demanded."""
    if gate is None:
        return []
    verdict = judge_repair(done, gate)
    return [f"verdict: {verdict.outcome}", *verdict.reasons]


def _of(done: Repair, key: str) -> Measured:
    measured: Measured = getattr(done, key)
    return measured


def _markdown(
    done: Repair,
    settings: RepairSettings,
    participants: RepairParticipants,
    gate: RepairGate | None,
) -> str:
    lines = [
        "# Repair by augmentation",
        "",
        f"**{conclusion(done, margin=_margin(gate))}**",
        "",
        *(f"- {line}" for line in verdict_lines(done, gate)),
        *([""] if gate is not None else []),
        f"{done.added:,} rewrites were added to {done.training_rows:,} training rows. Means of "
        f"{settings.seeds} trainings of each kind, with 95% intervals.",
        "",
        line(MEASURED),
        "|---|---:|---:|---:|---:|---:|",
        *(line(row) for row in measured_rows(done)),
        "",
        *(f"- {name}: {what}." for name, what in ERRORS.values()),
        "- control: as many random copies of training rows instead of rewrites.",
        "",
        f"The rules change {done.rewritten_rows:,} of {done.held_out_rows:,} held-out rows into "
        f"{done.rewrites:,} texts.",
        *(f"\n**{note}**" for note in repair_notes(done, participants)),
        "",
        "## Over seeds",
        "",
        "The mean over other seeds would lie in these intervals (Student's t).",
        "",
        "| | original | augmented |",
        "|---|---|---|",
        *(
            line((name, seeds_cell(_of(done, key).original), seeds_cell(_of(done, key).augmented)))
            for key, (name, _) in ERRORS.items()
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
            for each in done.rules
        ),
        "",
        participants.told,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def line(cells: Sequence[str]) -> str:
    """A line of a table of Markdown."""
    return f"| {' | '.join(cells)} |"


def error_cell(found: Estimate) -> str:
    """An error with its 95% interval for other rows."""
    if found.error is None:
        return "no rows"
    low, high = found.interval
    return f"{_percent(found.error)} ({_percent(low)} to {_percent(high)})"


def seeds_cell(found: Estimate) -> str:
    """The error of each seed, and the 95% interval of their mean."""
    each = ", ".join("no rows" if error is None else _percent(error) for error in found.of_seeds)
    if found.over_seeds is None:
        return each
    low, high = found.over_seeds
    return f"{each} ({_percent(low)} to {_percent(high)})"


def _difference(found: ErrorChange) -> str:
    if found.difference is None or found.interval is None:
        return _NOT_GIVEN
    low, high = found.interval
    return f"{100 * found.difference:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def _fall(found: ErrorChange) -> str:
    """What is left of the error, in words: ``9% less (38% more to 42% less)``."""
    if found.fall is None or found.fall_interval is None:
        return _NOT_GIVEN
    least, most = map(_less, found.fall_interval)
    return f"{_less(found.fall)} ({least} to {most})"


def _less(fall: float) -> str:
    whole = round(100 * fall)
    return f"{abs(whole):,}% {'more' if whole < 0 else 'less'}"


def _percent(share: float) -> str:
    """One digit after the point, as in the paper; a mean may lie a little outside of 0 to 1."""
    return f"{100 * share:.1f}%"
