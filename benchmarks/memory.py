"""Peak memory of `sears apply` on a large file: it must not grow with the file.

Method: csv files of growing size are made from the public-domain books (rows repeated, ids new).
`sears apply` runs on each, with one job and with two, in a process of its own, and the operating
system reports the peak of that process, or of the larger one of two. The rows of the output are
counted, and compared with an independent count of the word in the input.
Bias: there is one rule of literals, so the time goes into reading and writing. Other rules add the
compiled kernels, the tagger and its words (some 250 MiB a process with `fast`), but nothing that
grows with the file. Ids are compared; these count up from row to row and take no memory, others
take 12 bytes a row in the first process (some 128 MiB for a gibibyte of such rows). Where nothing
was ever compiled, the process that compiles is the largest.
`--gigabyte` runs the size for which the budget is set; it takes minutes.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.record import Row, data_file, write_record

PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def _make(path: Path, lines: list[str], size: int) -> int:
    """Write the file; returns how many rows hold the word, counted by white-space chunks."""
    hits = row = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "text"])
        while file.tell() < size:
            for line in lines:
                row += 1
                writer.writerow([row, line])
                hits += "whilst" in line.lower().split()
    return hits


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabyte", action="store_true")
    parser.add_argument("--tagger", default="fast")
    options = parser.parse_args()
    sizes = [32, 128] + ([1024] if options.gigabyte else [])
    word = "whilst"
    lines = [
        line.strip()
        for line in data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    ]
    # The independent count knows only words between spaces, so other spellings are left out.
    lines = [line for line in lines if word not in line.lower() or word in line.lower().split()]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rule.sear").write_text("whilst -> while\n", "utf-8")
        sears = str(Path(sys.executable).with_name("sears"))
        for megabytes in sizes:
            source, target = folder / "in.csv", folder / "out.csv"
            expected = _make(source, lines, megabytes << 20)
            for jobs in (1, 2):
                command = [sears, "apply", "rule.sear", "in.csv", "-o", "out.csv",
                           "--column", "text", "--quiet", "--jobs", str(jobs),
                           "--tagger", options.tagger]  # fmt: skip
                done = subprocess.run(
                    [sys.executable, "-c", PEAK, *command],
                    cwd=folder, capture_output=True, text=True, check=True,
                )  # fmt: skip
                with target.open(encoding="utf-8", newline="") as file:
                    written = sum(1 for _ in csv.reader(file)) - 1
                if written != expected:
                    sys.exit(f"{written:,} rows written, {expected:,} expected")
                peak = int(done.stdout.split()[-1]) / 1024
                rows.append(
                    Row(
                        name=f"{megabytes} MiB csv, {jobs} job{'s' if jobs > 1 else ''}",
                        figures={"peak MiB": round(peak), "rewrites verified": written},
                        at_least="512 MiB",
                        aim="300 MiB",
                        reached=peak <= 512,
                    )
                )
            source.unlink()
    write_record("memory", rows)


if __name__ == "__main__":
    main()
