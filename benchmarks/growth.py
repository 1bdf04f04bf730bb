"""How cost grows: `sears apply` from a thousand rows up, matching from ten rules up.

Method: rows are numbered lines of the public-domain books, repeated, so that no two rows are alike.
`apply_file` applies the rules on contractions to them in this process, file to file, with
everything compiled. Other rules are candidates mined from review sentences as in
`benchmarks.mined`; they are compiled, and matched on the same 700 sentences, tagged beforehand. The
slope is that of the line through the points in a log-log plot, from the second point on; 1 means
growth in proportion. Each point is the least of three runs, from 100,000 on of one. Verified: ten
times the rows give at least nine times the records. Times are processor time. The memory of
compiling is the process's peak while it compiles the most rules, minus what it held before, which
includes the rules. Sizes are powers of ten, none above those of `--rows` and `--rules`; `--plot`
names a file for the picture (extra `plots`).

    python -m benchmarks.growth --rows 1000000 --plot docs/pictures/growth.svg
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count, islice, takewhile
from pathlib import Path
from statistics import linear_regression
from typing import TypeVar

from benchmarks import mined
from benchmarks.public_sentences import sentences
from benchmarks.record import Row, write_record
from sears_dsl.batch.files import ApplyRequest, apply_file
from sears_dsl.batch.workers import RulesetRecipe
from sears_dsl.catalogue import load_rulesets
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.warming import warm_up
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tagger import load_tagger

FEWEST_ROWS, FEWEST_RULES = 1_000, 10
SENTENCES = 700
LARGE = 100_000  # from this size on a single run
Points = dict[int, float]
Result = TypeVar("Result")


def least(work: Callable[[], Result], size: int) -> tuple[float, Result]:
    """The least seconds of some runs, and the result of the last one."""
    taken = []
    for _ in range(1 if size >= LARGE else 3):
        start = time.process_time()
        result = work()
        taken.append(time.process_time() - start)
    return min(taken), result


def sizes(fewest: int, most: int) -> list[int]:
    """Ten times as many each time, and no more than ``most``.

    Example:
        >>> sizes(10, 5_000)
        [10, 100, 1000]
    """
    return list(takewhile(lambda size: size <= most, (fewest * 10**power for power in count())))


def by_rows(most: int) -> Points:
    """Seconds of `apply_file` by the number of rows."""
    lines = sentences(books=200_000)
    recipe = RulesetRecipe(tuple(load_rulesets(["contractions"])))
    points: Points = {}
    records = 0
    with tempfile.TemporaryDirectory() as name:
        for size in sizes(FEWEST_ROWS, most):
            source = Path(name, "in.txt")
            with source.open("w", encoding="utf-8") as file:
                for number in range(size):
                    file.write(f"{number} {lines[number % len(lines)]}\n")
            request = ApplyRequest(
                recipe=recipe, input=str(source), output=str(Path(name, "out.jsonl"))
            )
            before = records
            points[size], done = least(partial(apply_file, request), size)
            records = done.tally.records
            if records < 9 * before:
                sys.exit(f"growth: {records:,} records of {size:,} rows, {before:,} of a tenth")
    return points


def resident() -> int:
    """The memory that the process has now, in bytes."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def by_rules(most: int) -> tuple[Points, Points, int]:
    """Seconds of compiling and matching by the number of rules; bytes for compiling the most."""
    tagger = load_tagger("fast")
    lines = [text for text in sentences(books=0) if len(text.split()) < 40]
    tokens = tagger.tag(list(islice(lines, SENTENCES)))
    miner = mined.Miner([tokens.row(row) for row in range(len(tokens))])
    compiling: Points = {}
    matching: Points = {}
    for size in sizes(FEWEST_RULES, most):
        ruleset = Ruleset(tuple(miner.rules(size)), options=mined.OPTIONS)
        before = resident()
        compiling[size], matcher = least(partial(compile_rules, [ruleset], tagger=tagger), size)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        matching[size], _ = least(partial(matcher.find, tokens), size)
    return compiling, matching, memory


def slope(points: Points) -> float:
    """The power of the size with which time grows, where the start-up hardly counts."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points.items()][1:]
    return linear_regression(*zip(*logs, strict=True)).slope if len(logs) > 1 else math.nan


def plotted(lines: dict[str, Points], path: Path) -> None:
    """Draw the points."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    for axes, named in zip(figure.subplots(1, 2), ("rows", "rules"), strict=True):
        for name, points in lines.items():
            if name.endswith(named):
                label = f"{name.rpartition(' by ')[0]}: slope {slope(points):.2f}"
                axes.loglog(list(points), list(points.values()), marker="o", label=label)
        axes.set(xlabel=named, ylabel="seconds of the processor")
        axes.legend()
        axes.grid(visible=True, alpha=0.3)
    with rc_context({"svg.hashsalt": "growth"}):  # equal figures give equal files
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rules", type=int, default=100_000)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    for name, most, fewest in (("--rows", options.rows, FEWEST_ROWS),
                               ("--rules", options.rules, FEWEST_RULES)):  # fmt: skip
        if most < fewest:
            parser.error(f"{name} {most}: the smallest size is {fewest:,}")
    warm_up()
    compiling, matching, memory = by_rules(options.rules)
    lines = {
        "sears apply by rows": by_rows(options.rows),
        "compiling by rules": compiling,
        "matching by rules": matching,
    }
    if options.plot:
        plotted(lines, options.plot)
    write_record(
        "growth",
        [
            Row(
                f"{name}: slope {slope(points):.2f}",
                {f"{size:,}": f"{seconds:.3g} s" for size, seconds in points.items()},
            )
            for name, points in lines.items()
        ]
        + [
            Row(
                f"compiling {max(compiling):,} rules: memory",
                {"at most": f"{memory / 2**20:,.0f} MiB"},
            )
        ],
    )


if __name__ == "__main__":
    main()
