"""Runs the benchmarks below in turn, alone, each in a process of its own: ``make bench``.

Others need arguments, hours, or readers, and run by hand: benchmarks/README.md has their commands.
"""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = [
    "matching", "misses", "mined", "literals", "tokenizing", "fast_tagger", "tagging",
    "taggers", "fresh", "endtoend", "pipeline", "startup", "memory", "typing_rules", "scoring",
    "paraphrasing", "selecting", "agreement", "blind_spots", "grammar", "sentiment",
    "comprehension", "fixing", "readers", "templates", "one_row", "chaining", "surface",
    "judge_agreement", "walking", "semantic_robustness", "clusters", "growth", "formats",
    "processes", "visual_questions",
]  # fmt: skip


def main() -> None:
    """Run them; exit 1 if one missed what is asked for."""
    missed = []
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        if done.returncode:
            missed.append(name)
    if missed:
        sys.exit(f"\nnot reached or failed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
