"""A generated page, and the Markdown that several generators write.

In: strings. Out: `Page`s and pieces of Markdown. Always holds: what is put into a table cell stays
in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site.

    Attributes:
        path: its source within the docs folder, such as ``commands/apply.md``.
        title: what the navigation shows.
        text: Markdown.
        group: the heading of the navigation that it stands under; empty for none.
        origin: the file of the repository whose text it is, and the heading in it, such as
            ``grammar/README.md#noise``; empty where it is made of something else.
    """

    path: str
    title: str
    text: str
    group: str = ""
    origin: str = ""


def anchor(heading: str) -> str:
    """The file name or anchor of a heading, as GitHub makes it.

    Example:
        >>> anchor("Bare words, quotes and glue")
        'bare-words-quotes-and-glue'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def cell(text: str) -> str:
    r"""The text as the content of a table cell.

    Example:
        >>> cell("a | b\nc")
        'a \\| b c'
    """
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def plain_fences(text: str) -> str:
    r"""Fences without what the tests read in their first line.

    Example:
        >>> plain_fences("```sears error E101\n]is -> was\n```")
        '```sears\n]is -> was\n```'
    """
    return re.sub(r"^```sears [a-z][^\n]*$", "```sears", text, flags=re.MULTILINE)
