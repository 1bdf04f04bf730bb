"""Numbers of rows as one string of a document: short to write, and to read again row by row.

In: a number for each row, or None. Out: a string. Always holds: what is not known is written as a
dash and read as None, never 0; where nothing is known the string is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_UNKNOWN = "-"


def written(numbers: Iterable[float | None]) -> str:
    """Numbers with four digits each, spaces between.

    Example:
        >>> written([0.25, None, 0.123456]), written([None, None])
        ('0.25 - 0.1235', '')
    """
    words = [_UNKNOWN if each is None or math.isnan(each) else f"{each:.4g}" for each in numbers]
    return "" if all(each == _UNKNOWN for each in words) else " ".join(words)


def read(text: str, rows: int) -> Sequence[float | None]:
    """The numbers of so many rows.

    Example:
        >>> read("0.25 - 0.1235", 3), read("", 2)
        ([0.25, None, 0.1235], [None, None])
    """
    if not text:
        return [None] * rows
    return [None if each == _UNKNOWN else float(each) for each in text.split()]
