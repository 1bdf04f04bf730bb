"""Reading and writing rows, format by format, compared with pyarrow's readers and writers.

Method: book sentences with an id, as csv, JSON lines and parquet. Ours reads every batch
(`Dataset`) with every value as a Python value, and writes all rows batch by batch, as `sears apply`
does with records. pyarrow reads the file into a table, which holds no Python values, and writes the
table with its own writers; it has none for JSON lines, so the rate there is against `json.dumps`.
Times are processor time without threads, the least of seven runs in turns; the rate is theirs over
ours. Two more times are ours before a column of csv or parquet is asked for, which is the same work
as pyarrow's (JSON lines makes all columns at once), and pyarrow's with the texts as Python strings,
which rules need. Kernels are compiled beforehand, as in a run on as many rows; SEARS_COMPILE=never
shows reading and writing without them. A csv.gz: the seconds more than for the same csv, by the
clock, compared with gzip alone.
Verified: ours reads the texts that pyarrow reads, and pyarrow reads what ours writes.

    python -m benchmarks.formats
"""

from __future__ import annotations

import gzip
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from benchmarks.public_sentences import sentences
from benchmarks.record import Row, read_options, write_record
from sears_dsl.data.batches import Frame
from sears_dsl.data.dataset import Dataset, format_named, write_columns
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect

ROWS = 100_000
ROUNDS = 7
Result = TypeVar("Result")


def _seconds(
    work: Callable[[], Result], clock: Callable[[], float] = time.process_time
) -> tuple[float, Result]:
    start = clock()
    result = work()
    return clock() - start, result


def _read_by_us(path: Path) -> list[dict[str, Any]]:
    batches = [dict(batch.columns) for batch in Dataset(str(path)).batches()]
    for columns in batches:
        for values in columns.values():
            iter(values)  # makes Python values of those that are not made yet
    return batches


def _read_by_arrow(name: str, path: Path) -> pa.Table:
    if name == "csv":
        options = pyarrow.csv.ReadOptions(use_threads=False)
        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, read_options=options, parse_options=parsing)
    if name == "jsonl":
        return pyarrow.json.read_json(path, pyarrow.json.ReadOptions(use_threads=False))
    return pyarrow.parquet.read_table(path, use_threads=False)


def _written_by_arrow(name: str, table: pa.Table) -> bytes:
    content = io.BytesIO()
    if name == "csv":
        pyarrow.csv.write_csv(table, content)
    elif name == "jsonl":
        content.write("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode())
    else:
        pyarrow.parquet.write_table(table, content)
    return content.getvalue()


def _written_by_us(name: str, batches: list[dict[str, Any]]) -> bytes:
    form, content = format_named(name), io.BytesIO()
    parts = (form.encode(columns, "utf-8") for columns in batches)
    form.assemble(parts, content, Frame(tuple(batches[0])))
    return content.getvalue()


def measured(name: str, path: Path) -> Row:
    """Time both sides in turns."""
    ours, alone, theirs, strings, writing, writing_theirs = ([] for _ in range(6))
    for _ in range(ROUNDS):
        taken, read = _seconds(partial(_read_by_us, path))
        ours.append(taken)
        taken, _ = _seconds(lambda: list(Dataset(str(path)).batches()))
        alone.append(taken)
        taken, table = _seconds(lambda: _read_by_arrow(name, path))
        theirs.append(taken)
        listed, texts = _seconds(table["text"].to_pylist)
        strings.append(taken + listed)
        taken, content = _seconds(partial(_written_by_us, name, read))
        writing.append(taken)
        taken, _ = _seconds(partial(_written_by_arrow, name, table))
        writing_theirs.append(taken)
    again = path.with_stem("again")
    again.write_bytes(content)
    if texts != [text for batch in read for text in batch["text"]]:
        sys.exit(f"formats: the two sides read different texts from {name}")
    if _read_by_arrow(name, again)["text"].to_pylist() != texts:
        sys.exit(f"formats: pyarrow reads different texts from our {name}")
    rates = {
        "reading": min(theirs) / min(ours),
        "reading, no column asked for": min(theirs) / min(alone),
        "reading, against strings": min(strings) / min(ours),
        "writing": min(writing_theirs) / min(writing),
    }
    figures = {what: round(rate, 2) for what, rate in rates.items()}
    reached = figures["reading"] >= 0.5 and figures["writing"] >= 0.5
    return Row(name, figures, at_least="0.5 and 0.5 of pyarrow's rates", reached=reached)


def compressed(plain: Path) -> Row:
    """Time a csv.gz and the same csv in turns."""
    packed = plain.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    if _read_by_us(packed) != _read_by_us(plain):
        sys.exit("formats: the compressed csv has different rows")
    shares = []
    for _ in range(ROUNDS):
        one, other, alone = (
            _seconds(work, time.perf_counter)[0]
            for work in (
                partial(_read_by_us, plain),
                partial(_read_by_us, packed),
                lambda: gzip.decompress(packed.read_bytes()),
            )
        )
        shares.append((other - one) / alone)
    share = f"{statistics.median(shares):.0%}"
    return Row("a csv.gz, beyond the csv", {"of what gzip alone takes": share})


def main() -> None:
    """Run and record."""
    expect(ENOUGH_TO_COMPILE + 1)
    texts = [text for text in sentences(books=2 * ROWS) if text][:ROWS]
    rows = {"id": [f"row {number}" for number in range(len(texts))], "text": texts}
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name in ("csv", "jsonl", "parquet"):
            path = Path(folder, f"rows.{name}")
            write_columns(rows, path, format_named(name))
            results.append(measured(name, path))
        results.append(compressed(Path(folder, "rows.csv")))
    write_record("formats", results)


if __name__ == "__main__":
    read_options(__doc__)
    main()
