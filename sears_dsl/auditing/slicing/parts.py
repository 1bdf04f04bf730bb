"""Values of rows as a few parts of the data: each value by itself, or ranges of numbers.

In: a value for each row. Out: the name of the part that each row is in. Always holds: a row is in
one part; there are at most `MOST_PARTS`, or `MOST_TEMPLATES`, and those that stand for what is left
over: rarer values are put together, never dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The part of values that are too rare to stand alone.
OTHER = "(other)"
#: The part of rows without a value.
EMPTY = "(empty)"
#: More values than this are put together.
MOST_PARTS = 12
#: Of templates each is told by itself; a file of more was not read one by one.
MOST_TEMPLATES = 200
_QUARTERS = (0.25, 0.5, 0.75)
# A column of numbers is cut into quarters where it has more values than this.
_FEW_VALUES = 8


def parts_of(values: Sequence[Any]) -> list[str]:
    """Numbers as ranges where there are many of them, other values as they are.

    Example:
        >>> parts_of(["web", None, "web"]), sorted(set(parts_of(list(range(100)))))
        (['web', '(empty)', 'web'], ['0 to 24', '25 to 49', '50 to 74', '75 to 99'])
    """
    numbers = [value for value in values if value is not None and value != ""]
    if len(set(map(str, numbers))) > _FEW_VALUES:
        try:
            as_numbers = [None if value in (None, "") else float(value) for value in values]
        except (TypeError, ValueError):
            as_numbers = []
        if as_numbers and all(each is None or np.isfinite(each) for each in as_numbers):
            return quarters(as_numbers)
    return largest(as_words(values))


def as_words(values: Sequence[Any]) -> list[str]:
    """The values as text, also numbers."""
    return [EMPTY if value is None or value == "" else str(value) for value in values]


def largest(values: Sequence[str], most: int = MOST_PARTS) -> list[str]:
    """The values; where there are too many, the rarer ones as one part."""
    counts = Counter(values)
    if len(counts) <= most:
        return list(values)
    frequent = {value for value, _ in counts.most_common(most - 1)}
    return [value if value in frequent else OTHER for value in values]


def quarters(values: Sequence[float | None], unit: str = "") -> list[str]:
    """Numbers as one of at most four ranges with about equally many rows."""
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return [EMPTY] * len(values)
    cuts = np.unique(np.quantile(known, _QUARTERS, method="inverted_cdf"))
    cuts = cuts[cuts < known.max()]
    names = [
        f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"
        for low, high in _ranges(known, cuts)
    ]
    return [
        EMPTY if value is None else names[int(np.searchsorted(cuts, value))] for value in values
    ]


def _ranges(known: NDArray[np.float64], cuts: NDArray[np.float64]) -> list[tuple[float, float]]:
    """The least and the greatest value of each range."""
    place = np.searchsorted(cuts, known)
    return [
        (float(known[place == each].min()), float(known[place == each].max()))
        for each in range(len(cuts) + 1)
    ]


def in_order(of_rows: Sequence[str]) -> list[str]:
    """Values with numbers in their order, else the most frequent first; what is left over last."""
    counts = Counter(of_rows)
    return sorted(counts, key=lambda value: (value in (OTHER, EMPTY), *_rank(value, counts)))


def _rank(value: str, counts: Mapping[str, int]) -> tuple[float, int, str]:
    number = re.match(r"[-+]?\d+(\.\d+)?", value)
    return (float(number[0]) if number else np.inf, -counts[value], value)
