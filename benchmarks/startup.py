"""How long a person waits: for the import, `--help`, `sears apply` on ten and on 10,000 rows.

Method: whole processes run in turns with an empty Python process; the median of the differences is
what the package adds. The budget is for the whole command, so that is printed too. Ten rows are
also rewritten where no kernel was ever compiled (numba's folder is empty). 10,000 film reviews and
book sentences are rewritten into JSON lines by the rules on questions, and by all shipped rules
except noise, those of papers, and rejected ones; the time of the same command on one row is its
start-up. `--cold`: rules on contractions run over all of these texts where no kernel was ever
compiled. The figure is the time until the first part of the output is there, as it is and with
everything compiled before, in turns; by the clock, and in processor time, which other work does not
prolong.
Bias: the files are in the operating system's cache after the first round, which is not counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import themes
from benchmarks.public_sentences import sentences
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
TEN = "ten rows"
FRESH = "ten rows, nothing compiled ever"
LIMIT_MS |= {TEN: (1000, 500), FRESH: (2000, 500)}
MANY = 10_000
MANY_ROUNDS = 5
COLD_ROUNDS, COLD_SECONDS = 2, 5


def _milliseconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return 1000 * (time.perf_counter() - start)


def _applying(rules: Sequence[str], source: Path) -> list[str]:
    return [SEARS, "apply", *rules, str(source), "-o", str(source.with_suffix(".jsonl"))]


def _write(path: Path, texts: list[str]) -> Path:
    path.write_text("\n".join(texts) + "\n", "utf-8")
    return path


def _many_rows(folder: Path, texts: list[str]) -> list[Row]:
    """Time 10,000 rows minus one row, by whole processes in turns."""
    many, single = _write(folder / "many.txt", texts[:MANY]), _write(folder / "one.txt", texts[:1])
    rows = []
    for name, rules in {"questions": ["questions"], "all rules": themes()}.items():
        times: dict[Path, list[float]] = {many: [], single: []}
        for _ in range(MANY_ROUNDS):
            for source, of_source in times.items():
                # One row alone would not load compiled kernels, which many rows need.
                always = {**os.environ, "SEARS_COMPILE": "always"}
                of_source.append(_milliseconds(_applying(rules, source), always))
        after = statistics.median(times[many]) - statistics.median(times[single])
        rows.append(
            Row(
                f"10,000 rows, {name}",
                {"milliseconds after start-up": round(after)},
                at_least="1000 ms",
                reached=after <= 1000,
            )
        )
    return rows


def _first_part(folder: Path, source: Path, choice: str) -> tuple[float, float]:
    """Wall-clock and processor seconds until a part is written, with nothing compiled."""
    cold = {"SEARS_COMPILE": choice, "NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=folder)}
    command = [*_applying(["contractions"], source), "--jobs", "1", "--quiet"]
    part = source.with_suffix(".jsonl.sears-partial") / f"{0:08}.part"
    start = time.perf_counter()
    with subprocess.Popen(command, env={**os.environ, **cold}) as run:
        while not part.exists():
            if run.poll() is not None:
                sys.exit("startup: the run ended before its first part was seen")
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        fields = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()
        run.terminate()
    part.unlink(missing_ok=True)
    return seconds, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cold(folder: Path) -> list[Row]:
    """Time the first part of a first large run, both ways in turns."""
    source = _write(folder / "large.txt", sentences(books=400_000))
    times: dict[str, list[tuple[float, float]]] = {"auto": [], "always": []}
    for _ in range(COLD_ROUNDS):
        for choice, of_choice in times.items():
            of_choice.append(_first_part(folder, source, choice))
    rows = []
    for choice, name in (("auto", "compiling beside the work"), ("always", "compiling before it")):
        clock, processor = (statistics.median(each) for each in zip(*times[choice], strict=True))
        rows.append(
            Row(
                f"first part of a first large run, {name}",
                {"seconds": round(clock, 1), "of the processor": round(processor, 1)},
                at_least="5 s" if choice == "auto" else "",
                reached=choice != "auto" or clock <= COLD_SECONDS,
            )
        )
    return rows


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cold", action="store_true", help="the first large run alone")
    if parser.parse_args().cold:
        with tempfile.TemporaryDirectory() as name:
            write_record("startup-cold", _cold(Path(name)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = _whole_commands(folder) + _many_rows(folder, sentences(books=MANY))
    write_record("startup", rows)


def _whole_commands(folder: Path) -> list[Row]:
    ten = _applying(["questions/wh-words"], _write(folder / "ten.txt", sentences(books=0)[:10]))
    commands = {**COMMANDS, TEN: ten, FRESH: ten}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        _milliseconds(command)
    for number in range(ROUNDS):
        never = {**os.environ, "NUMBA_CACHE_DIR": str(folder / str(number))}
        for name, command in commands.items():
            times[name].append(_milliseconds(command, never if name == FRESH else None))
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
    return rows


if __name__ == "__main__":
    main()
