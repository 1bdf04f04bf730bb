"""English tokens by `FastTokenizer`, against spaCy's own tokenizer, in one process each.

In: plain English, a sentence a line. Fresh: a tokenizer that has seen nothing cuts the rows;
familiar: it cuts them again. Both sides get the same list of rows; ours returns arrays, spaCy's
returns documents. Compiling is not timed. Always holds: the places of all tokens on both sides are
compared, white space left out, and are equal.
Bias: spaCy remembers 10,000 chunks, ours 250,000; the more rows there are, the fewer chunks are
new. Ours is timed on all rows of the file, both are timed on the first of them.

    python -m benchmarks.tokenizing --rows 60000
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.record import Row, data_file, write_record
from sears_dsl.runtime.kernels import ENOUGH, expect
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.fast.vocabulary import Cut

# The requirement is 1.5 million tokens a second on a machine on which spaCy's makes 0.26.
AT_LEAST = 5.8
AIM = 12.0


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result of the work."""
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - begin
    gc.enable()
    return seconds, result


def same(cut: Cut, documents: Sequence[Any]) -> bool:
    """Whether both sides have the same tokens in every row."""
    for row, document in enumerate(documents):
        columns = document.to_array(["IDX", "LENGTH", "IS_SPACE"]).astype(np.int64)
        columns = columns[columns[:, 2] == 0]
        here = slice(cut.row_offsets[row], cut.row_offsets[row + 1])
        if not (
            np.array_equal(columns[:, 0], cut.starts[here])
            and np.array_equal(columns[:, 0] + columns[:, 1], cut.ends[here])
        ):
            return False
    return True


def main() -> None:
    """Run and write the record."""
    import spacy

    parser = argparse.ArgumentParser(description="FastTokenizer beside spaCy's tokenizer")
    parser.add_argument("--rows", type=int, default=60_000, help="rows that both sides cut")
    options = parser.parse_args()
    lines = data_file("throughput/classic_books.txt").read_text("utf-8").splitlines()
    texts = lines[: options.rows]

    expect(ENOUGH + 1)
    FastTokenizer().tokenize(["Is it warm?", "Yes — “warm”!"])
    theirs = spacy.blank("en").tokenizer
    theirs("Is it warm?")

    rows = []
    ours = FastTokenizer()
    for name in ("fresh", "familiar"):
        our_seconds, cut = timed(lambda: ours.tokenize(texts))
        their_seconds, documents = timed(lambda: [theirs(text) for text in texts])
        if not same(cut, documents):
            sys.exit("tokenizing: the two tokenizers differ")
        del documents
        tokens = len(cut.starts)
        ratio = their_seconds / our_seconds
        figures: dict[str, float | int | str] = {
            "ratio": round(ratio, 1),
            "tokens_per_second": round(tokens / our_seconds),
            "spacy_tokens_per_second": round(tokens / their_seconds),
            "same_tokens": tokens,
        }
        rows.append(
            Row(
                f"{name} text, {len(texts):,} rows",
                figures,
                f"{AT_LEAST}×",
                f"{AIM:.0f}×",
                reached=ratio >= AT_LEAST,
            )
        )
    alone = FastTokenizer()
    for name in ("fresh", "familiar"):
        seconds, cut = timed(lambda: alone.tokenize(lines))
        tokens = len(cut.starts)
        figures = {"tokens_per_second": round(tokens / seconds), "tokens": tokens}
        rows.append(Row(f"{name} text, {len(lines):,} rows, ours alone", figures))
    write_record("tokenizing", rows)


if __name__ == "__main__":
    main()
