"""What a second process costs `sears apply`, and how much faster it can make it at best.

Method: whole commands on the same book sentences, by some rules with one job and with two. What
counts is the time of the processor of all processes together, which other work on the machine
hardly changes: two processes that share it evenly take half of it each, so that twice that of one
over that of two is the most that a second core can give. The work of the second process beyond
its share, which is its start, is the difference.
Verified: both write the same bytes.

    python -m benchmarks.processes
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.endtoend import sentences
from benchmarks.record import Row, write_record

ROWS = 200_000
THEMES = ("questions", "discourse", "rulesets")
SEARS = str(Path(sys.executable).with_name("sears"))


def seconds(rules: str, source: Path, jobs: int) -> tuple[float, bytes]:
    """Of the processor, all processes together; and what was written."""
    output = source.with_name(f"{rules}-{jobs}.jsonl")
    command = [SEARS, "apply", rules, str(source), "-o", str(output), "--jobs", str(jobs)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "SEARS_COMPILE": "always"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, output.read_bytes()


def main() -> None:
    """Run and record."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.txt")
        texts = [text for text in sentences(books=2 * ROWS) if text][:ROWS]
        source.write_text("\n".join(texts) + "\n", "utf-8")
        for rules in THEMES:
            (one, alone), (two, together) = (seconds(rules, source, jobs) for jobs in (1, 2))
            figures: dict[str, float | int | str] = {
                "seconds of one": round(one, 1),
                "of two, together": round(two, 1),
                "times at most": round(2 * one / two, 2),
                "verified": "yes" if alone == together else "NO",
            }
            reached = alone == together and 2 * one / two >= 1.7
            rows.append(Row(rules, figures, at_least="1.7×", reached=reached))
    write_record("processes", rows)


if __name__ == "__main__":
    main()
