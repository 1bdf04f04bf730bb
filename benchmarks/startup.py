"""How long a person waits before anything happens: `import sears_dsl`, `sears --help`.

Method: whole processes, run in turn with an empty Python process; the median of the differences is
what the package adds. The budget speaks of the whole command, so that is printed too.
Bias: the files are in the operating system's cache after the first round, which is not counted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.record import Row, write_record

ROUNDS = 15
SEARS = str(Path(sys.executable).with_name("sears"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import sears_dsl": [sys.executable, "-c", "import sears_dsl"],
    "sears --help": [SEARS, "--help"],
    "sears apply --help": [SEARS, "apply", "--help"],
}
LIMIT_MS = {"import sears_dsl": (150, 50), "sears --help": (400, 150)}


def _milliseconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    """Run and record."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        _milliseconds(command)
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(_milliseconds(command))
    empty = statistics.median(times["python -c pass"])
    rows = []
    for name, values in times.items():
        median = statistics.median(values)
        at_least, aim = LIMIT_MS.get(name, (None, None))
        rows.append(
            Row(
                name=name,
                figures={
                    "milliseconds": round(median, 1),
                    "without Python's own start": round(median - empty, 1),
                },
                at_least=f"{at_least} ms" if at_least else "",
                aim=f"{aim} ms" if aim else "",
                reached=at_least is None or median <= at_least,
            )
        )
    write_record("startup", rows)


if __name__ == "__main__":
    main()
