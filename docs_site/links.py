"""Markdown of the repository as the site reads it: where links lead, bars in the code of tables.

In: the text of a page, and the file of the repository that it is from. Out: the same text for the
site. Always holds: a link leads where it leads in a checkout; one to a file that the site lacks
becomes the name of that file; fences stay as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath

from docs_site.page import Page

_FENCE = re.compile(r"(^ *```.*?^ *```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s:]+)\)")
_ROW = re.compile(r"^ *\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")
_DOCS = "docs/"


def for_site(page: Page, places: Mapping[str, str]) -> str:
    r"""The text of a page for the site.

    Args:
        page: from a checkout; `Page.origin` says from where in it.
        places: the pages of the site that show a file of the repository, or a part of it.

    Example:
        >>> text = "[Noise](../grammar/README.md#noise), [why](../DESIGN.md)\n| `a\\|b` |"
        >>> page = Page("limits.md", "Limits", text, origin="docs/limits.md")
        >>> print(for_site(page, {"grammar/README.md#noise": "language/noise.md"}))
        [Noise](language/noise.md), why (`DESIGN.md`)
        | `a|b` |
    """
    here = page.origin.partition("#")[0]

    def lead(link: re.Match[str]) -> str:
        words, target = link.groups()
        name, mark, part = target.partition("#")
        file = normpath(join(dirname(here), name)) if name else here
        place = places.get(f"{file}#{part}") or places.get(file)
        if place is None and file.startswith(_DOCS):
            place = file.removeprefix(_DOCS) + mark + part
        if place is None:
            return words if file in words else f"{words} (`{file}`)"
        return f"[{words}]({os.path.relpath(place, dirname(page.path) or '.')})"

    return "".join(
        piece if number % 2 else _ROW.sub(_plain_bars, _LINK.sub(lead, piece))
        for number, piece in enumerate(_FENCE.split(page.text))
    )


def _plain_bars(row: re.Match[str]) -> str:
    """GitHub wants bars escaped in the code of a table, and Python-Markdown shows the backslash."""
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])
