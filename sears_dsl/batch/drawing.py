"""What is drawn of rows: several draws of each, and a share of the texts.

In: a batch, and how many draws; or a share, a seed, a text. Out: a batch with copies of its rows;
whether rules may rewrite the text. Always holds: the copies of a row stand together, so batches cut
elsewhere, or worked on elsewhere, give the same rows in the same order; the text alone decides
whether it is in a share, and what a share takes, every greater one takes too. Costs places, not
copies of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sears_dsl.data.batches import DRAW, Batch, Repeated
from sears_dsl.data.columnar import ArrowValues, RecordBatchColumns
from sears_dsl.engine.noise.draws import Draw, below, number
from sears_dsl.errors import UsageError
from sears_dsl.language.amounts import WHOLE, print_share, read_share


def repeated(batch: Batch, draws: int, *, numbered: bool) -> Batch:
    """Each row so many times, once for each draw.

    Args:
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
    """Refuse a number of draws that there cannot be."""
    if draws < 1:
        raise UsageError(f"{draws} draws give no rows", help="--draws is 1 or more")
    if draws > 1 and with_originals:
        raise UsageError(
            "the originals are of no draw, so they cannot stand in one file with several",
            help="leave out --with-originals or --draws",
        )


def require_no_draw(names: Iterable[str]) -> None:
    """Refuse rows that have a column ``draw`` of their own."""
    if DRAW in names:
        raise UsageError(
            "the rows have a column 'draw' already, which is to tell the draws apart",
            help="give that column another name, or leave out --draws",
        )


# What the number of a text decides, among all that numbers of texts decide.
_NAME = "share"


@dataclass(frozen=True, slots=True)
class TextShare:
    """A share of texts; about so many of them, since each decides for itself.

    Attributes:
        millionths: how large it is.
        seed: of the numbers; another seed takes other texts.

    Example:
        >>> half, all_of_them = TextShare.parse("50%"), TextShare()
        >>> [half.takes(text) for text in ("a", "b", "c", "d")], all_of_them.takes("c")
        ([True, False, False, True], True)
    """

    millionths: int = WHOLE
    seed: int = 0

    @classmethod
    def parse(cls, written: str, *, seed: int = 0) -> TextShare:
        """What a person wrote, such as ``50%``.

        Args:
            written: more than 0% and at most 100%, with at most four decimals.
            seed: of the numbers.

        Raises:
            UsageError: it is no such share.
        """
        millionths = read_share(written)
        if millionths is None:
            raise UsageError(
                f"--share {written} is no share", help="write more than 0% and at most 100%, as 50%"
            )
        return cls(millionths, seed)

    def takes(self, text: str) -> bool:
        """Whether rules may rewrite a text."""
        if self.millionths == WHOLE:
            return True
        return below(number(Draw(self.seed), _NAME, text), WHOLE) < self.millionths

    def __str__(self) -> str:
        return print_share(self.millionths)
