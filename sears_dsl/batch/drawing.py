"""Several draws of a row: the row so many times, one after another, each with noise of its own.

In: a batch, and how many draws. Out: a batch with copies of its rows; and which of some rows are of
which draw. Always holds: the copies of a row stand together, so batches cut elsewhere, or worked on
elsewhere, give the same rows in the same order. Costs places, not copies of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sears_dsl.data.batches import DRAW, Batch
from sears_dsl.data.cells import Repeated
from sears_dsl.data.columnar import ArrowValues, RecordBatchColumns
from sears_dsl.errors import UsageError


def repeated(batch: Batch, draws: int, *, numbered: bool) -> Batch:
    """Each row so many times, once for each draw.

    Args:
        batch: the rows.
        draws: how many draws; one leaves the batch as it is.
        numbered: whether a column ``draw`` tells the copies apart.

    Example:
        >>> twice = repeated(Batch(0, 2, {"text": ["a", "b"]}), 2, numbered=True)
        >>> list(twice.columns["text"]), list(twice.columns["draw"]), twice.row_number(3)
        (['a', 'a', 'b', 'b'], [0, 1, 0, 1], 2)
    """
    if draws == 1:
        return batch
    places = np.repeat(np.arange(batch.rows), draws).tolist()
    numbers = list(range(draws)) * batch.rows
    if numbered:
        require_no_draw(batch.columns)
    added = {DRAW: numbers} if numbered else {}
    columns: Mapping[str, Sequence[Any]]
    if isinstance(batch.columns, RecordBatchColumns):
        columns = batch.columns.at(places, added)
    else:
        own = {
            name: values.at(places) if isinstance(values, ArrowValues) else Repeated(values, places)
            for name, values in batch.columns.items()
        }
        columns = {**own, **added}
    return replace(
        batch, rows=len(places), columns=columns, source=columns, groups={}, copies=draws
    )


def draws_of(batch: Batch, rows: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Each draw, and the places of the rows that are of it among some rows of a batch."""
    if batch.copies == 1:
        yield 0, range(len(rows))
        return
    numbers = np.asarray(rows, np.int64) % batch.copies
    for draw in range(batch.copies):
        yield draw, np.flatnonzero(numbers == draw).tolist()


def require_draws(draws: int, *, with_originals: bool) -> None:
    """Refuse a number of draws that there cannot be.

    Raises:
        UsageError: none, or several of rows that stand beside their originals.
    """
    if draws < 1:
        raise UsageError(f"{draws} draws give no rows", help="--draws is 1 or more")
    if draws > 1 and with_originals:
        raise UsageError(
            "the originals are of no draw, so they cannot stand in one file with several",
            help="leave out --with-originals or --draws",
        )


def require_no_draw(names: Iterable[str]) -> None:
    """Refuse rows that have a column ``draw`` of their own.

    Raises:
        UsageError: they have.
    """
    if DRAW in names:
        raise UsageError(
            "the rows have a column 'draw' already, which is to tell the draws apart",
            help="give that column another name, or leave out --draws",
        )
