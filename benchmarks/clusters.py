"""Folders on two Ray workers of this machine: processor time for a million rows, and memory.

Method: parquet files of 100,000 rows each are made from the public-domain books (rows repeated, ids
new). `sears apply --engine ray --workers 2` runs on one million of the rows and on ten, with the
shipped ruleset that expands contractions. Meanwhile /proc is read twice a second for the processor
time and the peak memory of Ray's workers and of the command. Checked: the output has as many rows,
counted by Arrow, as the report says, and four parts are byte for byte what `apply` alone makes of
them. Processor time does not depend on what else the machine does; wall-clock time does.
Bias: rows repeat, so words are soon known; real text has more of them. Ray's own processes, some
1.5 GiB, are not counted: they do not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from benchmarks.record import Row, data_file, stop_without_data, write_record

ROWS_OF_PART = 100_000
RULES = "contractions/expand"
WORKER = "ray::MapWorker"
_TICKS = os.sysconf("SC_CLK_TCK")


def make_parts(folder: Path, parts: int, lines: list[str]) -> None:
    folder.mkdir()
    for part in range(parts):
        first = part * ROWS_OF_PART
        texts = [lines[(first + row) % len(lines)] for row in range(ROWS_OF_PART)]
        ids = [f"r{first + row}" for row in range(ROWS_OF_PART)]
        table = pyarrow.table({"id": ids, "text": texts})
        pyarrow.parquet.write_table(table, folder / f"part-{part:04}.parquet")


class Watch(threading.Thread):
    """Watches processes until it is stopped.

    Attributes:
        seconds: process → the processor time that it has used.
        peaks: process → its peak of resident memory, in MiB.
    """

    def __init__(self, command: int) -> None:
        super().__init__(daemon=True)
        self._command = command
        self._ended = threading.Event()
        self.seconds: dict[str, float] = {}
        self.peaks: dict[str, int] = {}

    def run(self) -> None:
        """Look twice a second."""
        while not self._ended.wait(0.5):
            for name, folder in self._processes():
                try:
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    status = (folder / "status").read_text()
                except OSError:  # the process has ended
                    continue
                self.seconds[name] = (int(fields[11]) + int(fields[12])) / _TICKS
                for line in status.splitlines():  # a process that ends has no memory any more
                    if line.startswith("VmHWM"):
                        self.peaks[name] = int(line.split()[1]) // 1024

    def _processes(self) -> Iterator[tuple[str, Path]]:
        yield "command", Path(f"/proc/{self._command}")
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    title = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if title.startswith(WORKER.encode()):
                    yield f"worker {folder.name}", folder

    def stop(self) -> None:
        """Stop watching."""
        self._ended.set()
        self.join()


def measured(name: str, source: Path, output: Path, rows: int) -> Row:
    program = "from sears_dsl.cli.main import main; main()"
    sears = [sys.executable, "-c", program, "apply", RULES]
    started = time.monotonic()
    command = subprocess.Popen(
        [*sears, str(source), "-o", str(output), "--engine", "ray", "--workers", "2", "--json"],
        stdout=subprocess.PIPE,
    )
    watch = Watch(command.pid)
    watch.start()
    output_text, _ = command.communicate()
    watch.stop()
    seconds = time.monotonic() - started
    report = json.loads(output_text)
    assert report["rows"] == rows, "rows were lost"
    parts = sorted(output.glob("*.parquet"))
    assert report["records"] == pyarrow.dataset.dataset(parts).count_rows()
    for part in parts[:: max(1, len(parts) // 4)]:
        alone = output.parent / "alone.parquet"
        subprocess.run([*sears, str(source / part.name), "-o", str(alone), "--quiet"], check=True)
        assert alone.read_bytes() == part.read_bytes(), f"{part.name} differs"
    of_workers = [value for name, value in watch.seconds.items() if name != "command"]
    peaks = [value for name, value in watch.peaks.items() if name != "command"]
    return Row(
        name,
        {
            "core seconds of workers a million rows": round(sum(of_workers) / rows * 1e6, 1),
            "of the command": round(watch.seconds["command"] / rows * 1e6, 1),
            "peak MiB of a worker": max(peaks),
            "of the command, MiB": watch.peaks["command"],
            "workers": len(peaks),
            "seconds on the clock": round(seconds),
        },
        at_least="1024 MiB a worker",
        reached=max(peaks) <= 1024,
    )


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    sizes = parser.parse_args().rows
    if not find_spec("ray"):
        stop_without_data("ray is not installed (pip install 'sears-dsl[ray]')")
    lines = [
        " ".join(line.split())
        for line in data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    ]
    lines = [line for line in lines if line]
    results = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            source = Path(place, "parts")
            make_parts(source, size // ROWS_OF_PART, lines)
            results.append(measured(f"{size:,} rows", source, Path(place, "out"), size))
            print(results[-1], flush=True)
    write_record("clusters", results)


if __name__ == "__main__":
    main()
