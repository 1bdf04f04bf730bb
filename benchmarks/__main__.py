"""Runs the benchmarks below in turn, alone, each in a process of its own: ``make bench``.

Others need arguments, hours, or readers, and run by hand: benchmarks/README.md has their commands.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from benchmarks.record import WITHOUT_DATA, read_options

BENCHMARKS = [
    "matching", "misses", "mined", "literals", "tokenizing", "fast_tagger", "tagging",
    "taggers", "fresh", "endtoend", "pipeline", "startup", "memory", "typing_rules", "scoring",
    "paraphrasing", "selecting", "agreement", "blind_spots", "grammar", "sentiment",
    "comprehension", "fixing", "readers", "templates", "one_row", "chaining", "surface",
    "judge_agreement", "walking", "semantic_robustness", "clusters", "growth", "formats",
    "processes", "visual_questions",
]  # fmt: skip


def main() -> None:
    """Run them; exit 1 if one missed what is asked for, else 3 if one lacked its data."""
    codes = {}
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        codes[name] = done.returncode
    lines, code = conclusion(codes)
    if lines:
        print("", *lines, sep="\n", file=sys.stderr)
    sys.exit(code)


def conclusion(codes: Mapping[str, int]) -> tuple[list[str], int]:
    """What to say after benchmarks that ended with these exit codes, and the code for all.

    Example:
        >>> conclusion({"matching": 0, "misses": 1, "fresh": 3})
        (['not reached or failed: misses', 'not run for want of data: fresh'], 1)
    """
    missed = [name for name, code in codes.items() if code not in (0, WITHOUT_DATA)]
    without = [name for name, code in codes.items() if code == WITHOUT_DATA]
    lines = [f"not reached or failed: {', '.join(missed)}"] if missed else []
    if without:
        lines.append(f"not run for want of data: {', '.join(without)}")
    return lines, 1 if missed else WITHOUT_DATA if without else 0


if __name__ == "__main__":
    read_options(__doc__)
    main()
