"""Numbers of things in sentences.

In: a number and a noun. Out: both as a person writes them.
"""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun, and a verb behind it where one is wanted.

    Args:
        one: the noun of one thing.
        many: that of several; by default with an s.

    Example:
        >>> counted(1, "rule"), counted(2000, "rule"), counted(2, "row is", "rows are")
        ('1 rule', '2,000 rules', '2 rows are')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
