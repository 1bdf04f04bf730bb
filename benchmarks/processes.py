"""What a second process costs `sears apply`, and by how much it can speed it up at best.

Method: whole commands on the same book sentences, theme by theme and with all of these rules, with
one job and with two. The figure is the processor time of all processes, which other work on the
machine hardly changes. The best speed-up from a second core is twice the processor time of one job
over that of two jobs. By the clock of an idle machine the speed-up is smaller, since the first
process starts alone (Python, numba, compiled code, the rules): that time counts whole, and half of
the rest. The difference between two jobs and one is the start of the second process and the cost of
sending batches and answers. The start of a fork, until it has answered once, is also measured by
itself, in a process that has rules and compiled code: the time there and in the fork together, the
least of many.
Verified: both write the same bytes.
Bias: the time that the first process is alone is measured in hundredths of a second. What either
process writes to later is copied then, which belongs to the difference and not to the start.

With --clock, seconds of an idle machine instead, the least of seven runs in turns: one job, two,
and as many as `--jobs auto` takes, for files from 400 rows on. With --four, for the whole file
only, and also with four jobs, on four of the machine's cores: the first ones that do not share a
core between two threads.

    python -m benchmarks.processes [--clock | --four] [THEME ...]
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.public_sentences import sentences
from benchmarks.record import Row, read_options, write_record
from sears_dsl.catalogue import shipped_rulesets

ROWS = 200_000
AT_LEAST = 1.7
AT_LEAST_OF_FOUR = 3.2
SIZES = (400, 2_000, 10_000, 50_000, ROWS)
RUNS = 7
SEARS = str(Path(sys.executable).with_name("sears"))


def themes() -> list[str]:
    """The themes whose rules need nothing else; noise needs vectors and models."""
    names = {name.split("/")[0] for name in shipped_rulesets()}
    return sorted(names - {"noise", "paper", "rejected"})


def seconds(rules: list[str], source: Path, jobs: int) -> tuple[float, float, bytes]:
    """Processor time of all processes, and of the start of the first alone; and the output."""
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


# Run in a process without this module, which brings spaCy and with it torch.
_START = """
import sys, time
from pathlib import Path
from sears_dsl.batch.workers import RulesetRecipe
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
    """Processor time in milliseconds."""
    environment = {**os.environ, "SEARS_COMPILE": "always"}
    command = [sys.executable, "-c", _START, str(source)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return 1000 * float(done.stdout)


def seconds_by_clock(rules: list[str], source: Path, jobs: Sequence[str]) -> dict[str, float]:
    """The least of `RUNS` for each number of jobs; all of them write the same bytes."""
    least = dict.fromkeys(jobs, float("inf"))
    written = set()
    output = source.with_name("output.jsonl")
    for _ in range(RUNS):
        for count in least:
            command = [SEARS, "apply", *rules, str(source), "-o", str(output), "--jobs", count]
            begin = time.perf_counter()
            subprocess.run([*command, "--quiet"], check=True)
            least[count] = min(least[count], time.perf_counter() - begin)
            written.add(hashlib.sha256(output.read_bytes()).digest())
    if len(written) > 1:
        sys.exit(f"processes: {' '.join(rules)}: the bytes depend on the number of jobs")
    return least


def by_clock(chosen: dict[str, list[str]], texts: list[str], folder: str) -> list[Row]:
    """A row for each theme and size."""
    rows = []
    for name, rules in chosen.items():
        for size in SIZES:
            source = Path(folder, f"{size}.txt")
            source.write_text("\n".join(texts[:size]) + "\n", "utf-8")
            least = seconds_by_clock(rules, source, ("1", "2", "auto"))
            figures: dict[str, float | int | str] = {
                "seconds of one": round(least["1"], 2),
                "of two": round(least["2"], 2),
                "of auto": round(least["auto"], 2),
                "two against one": round(least["1"] / least["2"], 2),
                "auto against one": round(least["1"] / least["auto"], 2),
            }
            reached = least["auto"] <= least["1"]
            rows.append(Row(f"{name}, {size:,} rows", figures, at_least="auto 1×", reached=reached))
    return rows


def four_cores() -> set[int]:
    """Four processors of this machine that are on different cores."""
    cores: dict[str, int] = {}
    for processor in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        core = siblings.read_text("utf-8").strip() if siblings.exists() else str(processor)
        cores.setdefault(core, processor)
    if len(cores) < 4:
        sys.exit(f"processes: --four needs four cores, and there are {len(cores)}")
    return set(list(cores.values())[:4])


def by_four(chosen: dict[str, list[str]], source: Path) -> list[Row]:
    """A row for each theme: one, two and four jobs on four cores."""
    os.sched_setaffinity(0, four_cores())  # later child processes inherit it
    rows = []
    for name, rules in chosen.items():
        least = seconds_by_clock(rules, source, ("1", "2", "4"))
        four = least["1"] / least["4"]
        figures: dict[str, float | int | str] = {
            "seconds of one": round(least["1"], 2),
            "of two": round(least["2"], 2),
            "of four": round(least["4"], 2),
            "two against one": round(least["1"] / least["2"], 2),
            "four against one": round(four, 2),
        }
        reached = four >= AT_LEAST_OF_FOUR
        rows.append(Row(name, figures, at_least=f"{AT_LEAST_OF_FOUR}×", reached=reached))
    return rows


def main() -> None:
    """Run and record."""
    options = read_options(__doc__, "--clock", "--four", words="THEME")
    named: list[str] = options.words
    if unknown := sorted({*named} - {*themes()}):
        sys.exit(f"processes: {', '.join(unknown)}: the themes are {', '.join(themes())}")
    rows = []
    chosen = {name: [name] for name in named or themes()}
    chosen = chosen if named else {**chosen, "all": themes()}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.txt")
        texts = [text for text in sentences(books=2 * ROWS) if text][:ROWS]
        source.write_text("\n".join(texts) + "\n", "utf-8")
        if options.clock:
            write_record("processes-clock", by_clock(chosen, texts, folder))
            return
        if options.four:
            write_record("processes-four", by_four(chosen, source))
            return
        start = start_of_a_fork(source)
        figures: dict[str, float | int | str] = {"milliseconds": round(start, 1)}
        rows.append(Row("start of a fork", figures, at_least="400 ms", reached=start <= 400))
        for name, rules in chosen.items():
            one, _, by_one = seconds(rules, source, 1)
            two, alone, by_two = seconds(rules, source, 2)
            computed = one / (alone + (two - alone) / 2)
            figures = {
                "seconds of one": round(one, 1),
                "of two, together": round(two, 1),
                "times at most": round(2 * one / two, 2),
                "alone": round(alone, 1),
                "times by the clock": round(computed, 2),
                "verified": "yes" if by_one == by_two else "NO",
            }
            reached = by_one == by_two and computed >= AT_LEAST
            rows.append(Row(name, figures, at_least=f"{AT_LEAST}×", reached=reached))
    write_record("processes", rows)


if __name__ == "__main__":
    main()
