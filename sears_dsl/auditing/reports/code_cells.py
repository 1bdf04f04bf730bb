"""Text and code in the cells of Markdown tables.

In: text. Out: Markdown. Always holds: no bar and no backtick of the text ends the cell or the code.
"""

from __future__ import annotations

import re

# What GitHub makes a message to somebody, or a remark in an issue, wherever it stands in a comment.
_ADDRESSED = re.compile(r"(?<!\w)@(?=\w)|\\#(?=\w)")


def code_cell(text: str) -> str:
    r"""Text as code in the cell of a table, whatever it holds.

    Example:
        >>> print(code_cell("a|b -> c"))
        `a\|b -> c`
    """
    one_line = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (max(map(len, _runs(one_line)), default=0) + 1)
    pad = " " if "`" in one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def _runs(text: str) -> list[str]:
    """The runs of backticks in a text."""
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def markdown_text(text: str) -> str:
    r"""Text that stays text in Markdown, on one line; it calls nobody and names no issue.

    Example:
        >>> print(markdown_text("<b> @ann, me@home #12"))
        \<b\> @&#8203;ann, me@home \#&#8203;12
    """
    one_line = " ".join(text.split())
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]<>|#~" else c for c in one_line)
    return _ADDRESSED.sub(r"\g<0>&#8203;", marked)
