"""What a second process costs `sears apply`, and how much faster it can make it at best.

Method: whole commands on the same book sentences, theme by theme and with all of these rules, with
one job and with two. What counts is the time of the processor of all processes together, which
other work on the machine hardly changes: what a second core can give at most is twice that of one
over that of two. By the clock of an idle machine it is less, since the start of the first process
(Python, numba, compiled code, the rules) is done alone: that time counts whole, and half of the
rest. The start of the second process, and what it costs to send batches and answers, is the
difference between two and one.
The start of a fork by itself, until it has answered once, is measured in a process that has rules
and compiled code: what it takes there and in the fork together, the least of many.
Verified: both write the same bytes.
Bias: how long the first process is alone is seen in hundredths of a second. What either process
writes to later is copied then, which belongs to the difference and not to the start.

    python -m benchmarks.processes [THEME ...]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.endtoend import sentences
from benchmarks.record import Row, write_record
from sears_dsl.catalogue import shipped

ROWS = 200_000
AT_LEAST = 1.7
SEARS = str(Path(sys.executable).with_name("sears"))


def themes() -> list[str]:
    """Of rules that need nothing else; noise asks for vectors and models."""
    names = {name.split("/")[0] for name in shipped()}
    return sorted(names - {"noise", "paper", "rejected"})


def seconds(rules: list[str], source: Path, jobs: int) -> tuple[float, float, bytes]:
    """Of the processor: all processes together, and alone; and what was written."""
    output = source.with_name(f"{jobs}.jsonl")
    command = [SEARS, "apply", *rules, str(source), "-o", str(output), "--jobs", str(jobs)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "SEARS_COMPILE": "always"}
    alone = 0.0
    with subprocess.Popen([*command, "--quiet"], env=environment) as run:
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        while run.poll() is None:
            if jobs > 1 and not alone and children.read_text():
                fields = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()
                alone = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            time.sleep(0.01)
    if run.returncode:
        sys.exit(f"processes: {' '.join(command)} failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, alone, output.read_bytes()


# In a process that has not imported this module, which brings spaCy and with it torch.
_START = """
import sys, time
from pathlib import Path
from sears_dsl.batch.recipes import RulesetRecipe
from sears_dsl.catalogue import load_rulesets
from sears_dsl.runtime.processes import Process, can_fork
matcher = RulesetRecipe(tuple(load_rulesets(["questions"]))).build()
matcher.apply(Path(sys.argv[1]).read_text("utf-8").splitlines()[:5000]).distinct()
if not can_fork():
    sys.exit("there are no forks here")
taken = []
for _ in range(20):
    before = time.process_time()
    process = Process(dict, answerer=lambda _: time.process_time())
    there = process.ask(None).result()
    taken.append(there + time.process_time() - before)
    process.end()
print(min(taken))
"""


def start_of_a_fork(source: Path) -> float:
    """Milliseconds of the processor."""
    environment = {**os.environ, "SEARS_COMPILE": "always"}
    command = [sys.executable, "-c", _START, str(source)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return 1000 * float(done.stdout)


def main() -> None:
    """Run and record."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.txt")
        texts = [text for text in sentences(books=2 * ROWS) if text][:ROWS]
        source.write_text("\n".join(texts) + "\n", "utf-8")
        start = start_of_a_fork(source)
        figures: dict[str, float | int | str] = {"milliseconds": round(start, 1)}
        rows.append(Row("start of a fork", figures, at_least="400 ms", reached=start <= 400))
        chosen = {name: [name] for name in sys.argv[1:] or themes()}
        for name, rules in (chosen if sys.argv[1:] else {**chosen, "all": themes()}).items():
            one, _, by_one = seconds(rules, source, 1)
            two, alone, by_two = seconds(rules, source, 2)
            by_clock = one / (alone + (two - alone) / 2)
            figures = {
                "seconds of one": round(one, 1),
                "of two, together": round(two, 1),
                "times at most": round(2 * one / two, 2),
                "alone": round(alone, 1),
                "times by the clock": round(by_clock, 2),
                "verified": "yes" if by_one == by_two else "NO",
            }
            reached = by_one == by_two and by_clock >= AT_LEAST
            rows.append(Row(name, figures, at_least=f"{AT_LEAST}×", reached=reached))
    write_record("processes", rows)


if __name__ == "__main__":
    main()
