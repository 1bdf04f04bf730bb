"""Prints the results of a benchmark and saves them, dated, in benchmarks/record/."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import NoReturn

import sears_dsl
from sears_dsl.runtime.files import write_atomically

__all__ = [
    "DATA",
    "WITHOUT_DATA",
    "Row",
    "data_file",
    "read_options",
    "stop_without_data",
    "write_record",
]

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SEARS_DATA", ROOT.parent / "shared" / "data"))
#: The exit code of a benchmark whose data is missing: nothing was measured, so no figure misses
#: (1), and none is reached (0) either.
WITHOUT_DATA = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a benchmark.

    Attributes:
        name: what was measured.
        figures: the results; ratios hold across machines, times do not.
        at_least: what is required.
        aim: what is hoped for.
        reached: whether ``at_least`` is met.
    """

    name: str
    figures: Mapping[str, float | int | str]
    at_least: str = ""
    aim: str = ""
    reached: bool = True


def read_options(document: str | None, *flags: str, words: str = "") -> argparse.Namespace:
    """The command line of a benchmark that has few options or none.

    ``--help`` prints the benchmark's docstring; what the benchmark does not know is an error.

    Args:
        document: the docstring.
        flags: options without a value, such as ``--against-spacy``.
        words: what further words mean; they are ``words`` of the result. Empty if there are none.
    """
    parser = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    if words:
        parser.add_argument("words", nargs="*", metavar=words)
    return parser.parse_args()


def data_file(name: str) -> Path:
    """A file of the public data; stops the benchmark with a plain reason if it is missing."""
    path = DATA / name
    if not path.exists():
        stop_without_data(f"{name} is not in {DATA} (set SEARS_DATA to the folder that has it)")
    return path


def stop_without_data(reason: str) -> NoReturn:
    """Say what is missing, and exit with the code for it."""
    print(f"not run: {reason}", flush=True)
    sys.exit(WITHOUT_DATA)


def write_record(benchmark: str, rows: Sequence[Row]) -> None:
    """Print the rows and write ``record/DATE-benchmark.json``; exit 1 if one is not reached.

    The record holds the options of the command line. A record of the same day with other options
    stays, so that a trial does not replace a whole run: this one is written beside it, numbered.
    """
    for row in rows:
        figures = ", ".join(f"{name} {value}" for name, value in row.figures.items())
        budget = f"  (at least {row.at_least}, aim {row.aim})" if row.at_least else ""
        missed = "" if row.reached else "  NOT REACHED"
        print(f"{row.name}: {figures}{budget}{missed}")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    folder = ROOT / "benchmarks" / "record"
    folder.mkdir(exist_ok=True)
    record = {
        "benchmark": benchmark,
        "date": today,
        "options": sys.argv[1:],
        "sears": sears_dsl.__version__,
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "rows": [asdict(row) for row in rows],
    }
    name = f"{today}-{benchmark}"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    paths = (folder / f"{each}.json" for each in names)
    path = next(each for each in paths if not each.exists() or _options(each) == sys.argv[1:])
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, text.encode())
    if not all(row.reached for row in rows):
        sys.exit(1)


def _options(path: Path) -> object:
    """The options of a record; None in records from before they were held."""
    return json.loads(path.read_text("utf-8")).get("options")
