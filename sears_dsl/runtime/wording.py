"""Numbers of things in sentences.

In: a number and a noun. Out: both as a person writes them.
"""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun, of many by default with an s; a verb may stand behind it.

    Example:
        >>> counted(1, "rule"), counted(2000, "rule"), counted(2, "row is", "rows are")
        ('1 rule', '2,000 rules', '2 rows are')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
