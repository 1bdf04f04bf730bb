"""Errors by amount of rewritten training data, for people and for programs.

In: `Amounts`, and who took part. Out: JSON with a format and a version, and Markdown with a row an
amount. Always holds: every number of the Markdown is in the JSON; no date and no path of a work
folder is in either, so that the same run writes the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sears_dsl import __version__
from sears_dsl.repair.amounts import Amounts, AmountSettings
from sears_dsl.repair.report import RepairParticipants, error_cell, line, seeds_cell
from sears_dsl.runtime.writing import write_atomically

#: What stands above the columns of `amount_rows`.
MEASURED = ("trained on", "rows", "rewritten", "error as they are", "error rewritten")
_OVER_SEEDS = ("trained on", "as they are", "rewritten")


def amount_rows(amounts: Amounts) -> list[tuple[str, ...]]:
    """A row an amount, in the columns that `MEASURED` names; errors with their 95% intervals."""
    return [
        (each.amount, f"{each.rows:,}", f"{each.rewritten:,}", error_cell(each.clean),
         error_cell(each.perturbed))
        for each in amounts.errors
    ]  # fmt: skip


def write_amounts(
    amounts: Amounts, path: Path, *, settings: AmountSettings, participants: RepairParticipants
) -> dict[str, Any]:
    """Write the JSON, and the Markdown beside it."""
    record = {
        "format": "sears-amounts",
        "version": 1,
        "sears": __version__,
        **asdict(participants),
        "settings": asdict(settings),
        "result": asdict(amounts),
    }
    text = _markdown(amounts, settings, participants)
    write_atomically(path.with_suffix(".md"), text.encode("utf-8", "backslashreplace"))
    write_atomically(path, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


def _markdown(amounts: Amounts, settings: AmountSettings, participants: RepairParticipants) -> str:
    lines = [
        "# Errors by amount of rewritten training data",
        "",
        f"The rules change {amounts.rewritten:,} of {amounts.training_rows:,} training rows and "
        f"{amounts.held_out_rewritten:,} of {amounts.held_out_rows:,} held-out rows. Means of "
        f"{settings.seeds} trainings of each amount, with 95% intervals for other rows.",
        "",
        line(MEASURED),
        "|---|---:|---:|---:|---:|",
        *map(line, amount_rows(amounts)),
        "",
        "- error as they are: on the held-out rows as they are.",
        "- error rewritten: on the held-out rows with all rules applied in order.",
        "- none, half, full: so many of the training rows are replaced by what the rules make of "
        "them; each text decides for itself whether it is in the half.",
        "- both: all rows as they are and all rows rewritten: twice the rows, so not directly to "
        "be compared.",
        "- vote: the models of none, half and full of the same seed answer together.",
        *(f"\n**{note}**" for note in participants.notes),
        "",
        "## Over seeds",
        "",
        "The mean over other seeds would lie in these intervals (Student's t).",
        "",
        line(_OVER_SEEDS),
        "|---|---|---|",
        *(
            line((each.amount, seeds_cell(each.clean), seeds_cell(each.perturbed)))
            for each in amounts.errors
        ),
        "",
        participants.as_sentence,
    ]
    return "\n".join(lines) + "\n"
