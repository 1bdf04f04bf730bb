"""Generates a million sentences of a template and writes them as csv; and audits 100,000.

Method: one template with six slots of ten members each, all of its sentences, as `sears generate`
writes them: text, label, template and a column for each slot. In turns with ours the plain way
runs: members joined sentence by sentence, rows written by Python's own csv writer. Times are
processor time. The audit is of 100 templates of a thousand sentences each, with a tolerance, by a
model that costs nothing; so the time is what an audit costs besides the model, once modules are
imported.
Verified: both files have the same bytes; the model is asked about every sentence, and is right on
those of its label.
Bias: one sentence has a comma, so each text is quoted; the plain way does not look for repeated
sentences.
"""

from __future__ import annotations

import csv
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import sears_dsl as sears
from benchmarks.record import Row, read_options, write_record
from sears_dsl.data.dataset import format_of, write_columns
from sears_dsl.generating.table import generate_table

ROUNDS = 3
SLOTS = {
    "WHO": "Uma Bruce Sandra Anna Tom Pia Ben Mia Leo Zoe",
    "SURNAME": "Thurman Willis Bullock Berg Hill Stone Wood Marsh Lake Field",
    "CATEGORY": "thriller horror comedy drama western crime war animated family action",
    "AUGMENT": "very extremely incredibly really truly rather quite so highly deeply",
    "NEGATIVE": "bad poor boring dull weak awful lame flat dire sad",
    "LIE": "false wrong incorrect untrue nonsense mistaken absurd idle silly bogus",
}
FORM = "Despite {} {} acted well, this {} movie is {} {}, or that is {}."


def _rules() -> str:
    sets = [f"set {name} = {' | '.join(members.split())}" for name, members in SLOTS.items()]
    text = FORM.format(*(f"{{{name}}}" for name in SLOTS))
    return "\n".join([*sets, f'template acted: "{text}"', "  label: negative", ""])


def _ours(path: Path) -> None:
    table = generate_table([sears.parse(_rules())])
    write_columns(table.columns, path, format_of(str(path)))


def _plain(path: Path) -> None:
    members = [text.split() for text in SLOTS.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "label", "template", *SLOTS])
        for chosen in product(*members):
            writer.writerow([FORM.format(*chosen), "negative", "acted", *chosen])


def _seconds(write: Callable[[Path], None], path: Path) -> float:
    begun = time.process_time()
    write(path)
    return time.process_time() - begun


def _audited() -> Row:
    """Microseconds a sentence for an audit of a model with a constant answer."""
    sets = [f"set {name} = {' | '.join(members.split())}" for name, members in SLOTS.items()]
    templates = [
        f'template t{number}: "Number {number}: {{AUGMENT}} {{NEGATIVE}}, {{LIE}}."\n'
        f"  label: {('negative', 'positive')[number % 2]}\n  tags: tag{number % 5}"
        for number in range(100)
    ]
    rules, asked = sears.parse("\n".join([*sets, *templates, ""])), 0

    def model(texts: Sequence[str]) -> list[str]:
        nonlocal asked
        asked += len(texts)
        return ["positive"] * len(texts)

    sears.audit(lambda texts: ["positive"] * len(texts), None, rules, scorer=None, limit=100)
    begun = time.process_time()
    audit = sears.audit(model, None, rules, scorer=None, tolerance="5%")
    seconds = time.process_time() - begun
    robustness = audit.robustness
    same = asked == 100_000 and bool(robustness and robustness.records[0].after == 0.5)
    return Row(
        "an audit of 100,000 sentences of 100 templates, beside the model",
        {
            "seconds": round(seconds, 2),
            "microseconds a sentence": round(10 * seconds, 1),
            "verified": "yes" if same else "NO",
        },
        at_least="100 µs",
        reached=same and seconds < 10,
    )


def main() -> None:
    """Run and record."""
    with tempfile.TemporaryDirectory() as name:
        ours, plain = Path(name, "ours.csv"), Path(name, "plain.csv")
        times = [(_seconds(_ours, ours), _seconds(_plain, plain)) for _ in range(ROUNDS)]
        same = ours.read_bytes() == plain.read_bytes()
    seconds = min(took for took, _ in times)
    row = Row(
        "a million sentences of a template, to csv",
        {
            "seconds": round(seconds, 2),
            "times the plain way": round(statistics.median(b / a for a, b in times), 2),
            "verified": "yes" if same else "NO",
        },
        at_least="5 s",
        reached=same and seconds < 5,
    )
    write_record("templates", [row, _audited()])


if __name__ == "__main__":
    read_options(__doc__)
    main()
