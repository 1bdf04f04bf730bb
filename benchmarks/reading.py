"""Reading and writing alone, against pyarrow: csv, JSON lines, parquet, and compressed files.

Method: the rows are lines of the public-domain books with an id and a number. Ours is
`Dataset.batches`, with the column of texts as Python strings, and `Format.encode` and `assemble` of
these columns. Theirs, on one thread, is pyarrow's reader of the format, with its column of texts as
Python strings, since rules need strings; the reader alone, into Arrow's arrays, is timed too. For
writing, pyarrow gets the same Python columns; it writes no JSON, so the standard library writes a
line for each row. Compressed: the extra wall-clock time of a `.csv.gz` over the same csv, compared
with the time of gzip alone. Verified: the texts are the same, and each side reads what the other
wrote. Runs alternate, and the median of the ratios counts. Times are processor time, except for
compressed files. Bias: files are in the operating system's cache.

    python -m benchmarks.reading
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from benchmarks.record import Row, data_file, write_record
from sears_dsl.batch.files import collecting_little
from sears_dsl.data.batches import Frame
from sears_dsl.data.dataset import Dataset, format_named

ROUNDS = 5
LEAST = 0.5
Columns = dict[str, list[Any]]


def rows(count: int) -> Columns:
    """Numbered lines of books."""
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    texts = [line.strip() for line in lines if line.strip()]
    texts = (texts * (1 + count // len(texts)))[:count]
    return {"id": list(map(str, range(count))), "text": texts, "words": [len(t) for t in texts]}


def ours_read(path: Path) -> list[str]:
    """The texts, read in batches."""
    with collecting_little():
        return [text for batch in Dataset(str(path)).batches() for text in batch.columns["text"]]


def theirs_read(path: Path) -> Any:
    """The rows as Arrow's table."""
    if path.suffix == ".csv":
        return arrow.csv.read_csv(path, read_options=arrow.csv.ReadOptions(use_threads=False))
    if path.suffix == ".jsonl":
        return arrow.json.read_json(path, read_options=arrow.json.ReadOptions(use_threads=False))
    return arrow.parquet.read_table(path, use_threads=False)


def ours_written(name: str, columns: Columns) -> bytes:
    """The file as a single part."""
    form = format_named(name)
    content = io.BytesIO()
    form.assemble([form.encode(columns, "utf-8")], content, Frame(tuple(columns)))
    return content.getvalue()


def theirs_written(name: str, columns: Columns) -> bytes:
    """The file, from a table made of the columns."""
    content = io.BytesIO()
    if name == "jsonl":
        encode = json.JSONEncoder(ensure_ascii=False).encode
        values = zip(*columns.values(), strict=True)
        lines = (encode(dict(zip(columns, row, strict=True))) for row in values)
        return "".join(f"{line}\n" for line in lines).encode()
    table = arrow.table(columns)
    if name == "csv":
        arrow.csv.write_csv(table, content)
    else:
        arrow.parquet.write_table(table, content)
    return content.getvalue()


def timed(
    *ways: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> list[list[float]]:
    """Seconds of each way, alternating."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, seconds in zip(ways, taken, strict=True):
            start = clock()
            way()
            seconds.append(clock() - start)
    return taken


def ratio(theirs: list[float], ours: list[float]) -> float:
    """How many times as fast ours is."""
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))


def of_format(folder: Path, name: str, columns: Columns) -> list[Row]:
    """Time reading and writing of one format."""
    path = folder / f"rows.{name}"
    path.write_bytes(theirs_written(name, columns))
    if ours_read(path) != columns["text"]:
        sys.exit(f"reading: the two sides read different texts from {name}")
    again = folder / f"again.{name}"
    again.write_bytes(ours_written(name, columns))
    if theirs_read(again).column("text").to_pylist() != columns["text"]:
        sys.exit(f"reading: {name} is not read back as it was written")
    ours, theirs, alone = timed(
        lambda: ours_read(path),
        lambda: theirs_read(path).column("text").to_pylist(),
        lambda: theirs_read(path),
    )
    read = ratio(theirs, ours)
    to_write = timed(lambda: ours_written(name, columns), lambda: theirs_written(name, columns))
    written = ratio(to_write[1], to_write[0])
    size = path.stat().st_size / 1e6
    figures = {
        "times theirs, reading": round(read, 2),
        "times their arrays": round(ratio(alone, ours), 2),
        "MB/s": round(size / statistics.median(ours)),
    }
    library = "the standard library" if name == "jsonl" else "pyarrow"
    writing = {
        f"times {library}": round(written, 2),
        "MB/s": round(size / statistics.median(to_write[0])),
    }
    asked = {"at_least": str(LEAST)}
    return [
        Row(f"reading {name}", figures, reached=read >= LEAST, **asked),
        Row(f"writing {name}", writing, reached=written >= LEAST, **asked),
    ]


def of_compressed(folder: Path, columns: Columns) -> Row:
    """The extra time of a compressed csv over a plain one."""
    plain, packed = folder / "rows.csv", folder / "rows.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    one, other, alone = timed(
        lambda: ours_read(plain),
        lambda: ours_read(packed),
        lambda: gzip.decompress(packed.read_bytes()),
        clock=time.perf_counter,
    )
    more = [b - a for a, b in zip(one, other, strict=True)]
    share = statistics.median(m / a for m, a in zip(more, alone, strict=True))
    return Row("a csv.gz more than the csv", {"of what gzip alone takes": f"{share:.0%}"})


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300_000)
    columns = rows(parser.parse_args().rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = [
            row for form in ("csv", "jsonl", "parquet") for row in of_format(folder, form, columns)
        ]
        results.append(of_compressed(folder, columns))
    write_record("reading", results)


if __name__ == "__main__":
    main()
