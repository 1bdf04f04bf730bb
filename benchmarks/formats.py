"""Reading and writing rows, format by format, compared with pyarrow's readers and writers.

Method: book sentences with an id, as csv, JSON lines and parquet. Ours reads every batch
(`Dataset`) with every value as a Python value, and writes all rows batch by batch, as `sears apply`
does with records. pyarrow reads the file into a table, which holds no Python values, and writes the
table with its own writers; it has none for JSON lines, so the rate there is against `json.dumps`.
Times are processor time without threads, the least of seven runs in turns; the rate is theirs over
ours. Two more times are ours before a column of csv or parquet is asked for, which is the same work
as pyarrow's (JSON lines makes all columns at once), and pyarrow's with the texts as Python strings,
which rules need. Kernels are compiled beforehand, as in a run on as many rows; SEARS_COMPILE=never
shows reading and writing without them.
Verified: ours reads the texts that pyarrow reads, and pyarrow reads what ours writes.

    python -m benchmarks.formats
"""

from __future__ import annotations

import io
import json
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
from benchmarks.record import Row, write_record
from sears_dsl.data.batches import Frame
from sears_dsl.data.dataset import Dataset, format_named, write_columns
from sears_dsl.runtime.kernels import ENOUGH_TO_COMPILE, expect

ROWS = 100_000
ROUNDS = 7
Result = TypeVar("Result")


def _seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


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
        taken, read = _seconds(lambda: [dict(b.columns) for b in Dataset(str(path)).batches()])
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
    write_record("formats", results)


if __name__ == "__main__":
    main()
