"""Tables of Markdown: their lines, and text and code in their cells.

No bar and no backtick of a text can end its cell or its code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

# What GitHub turns into a mention of a user or of an issue, wherever it stands in a comment.
_ADDRESSED = re.compile(r"(?<!\w)@(?=\w)|\\#(?=\w)")


def code_span(text: str) -> str:
    """Any text as code, on one line, outside a table."""
    one_line = " ".join(text.split())
    fence = "`" * (max(map(len, re.findall("`+", one_line)), default=0) + 1)
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def code_cell(text: str) -> str:
    """Any text as code in the cell of a table."""
    return code_span(text).replace("|", "\\|")


def markdown_text(text: str) -> str:
    r"""Text that stays text in Markdown, on one line; it mentions no user and no issue.

    Example:
        >>> print(markdown_text("<b> @ann, me@home #12 &copy;"))
        \<b\> @&#8203;ann, me@home \#&#8203;12 \&copy;
    """
    one_line = " ".join(text.split())
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]<>|#~&" else c for c in one_line)
    return _ADDRESSED.sub(r"\g<0>&#8203;", marked)


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines under a heading, with an empty one before and after them."""
    yield from (f"## {title}", "", *lines, "")


def more_in(path: str, count: int, noun: str = "") -> list[str]:
    """A line about `count` things that only a file shows, or none if there are none."""
    return [f"{count:,} more{noun} are in {path}.", ""] if count > 0 else []


def table_row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def markdown_table(
    heads: Sequence[str], sides: str, rows: Iterable[Iterable[str]]
) -> Iterator[str]:
    """The lines of a table; the side of a column is ``l`` for words, ``r`` for numbers."""
    yield table_row(heads)
    yield "|" + "".join("---|" if side == "l" else "---:|" for side in sides)
    yield from map(table_row, rows)
