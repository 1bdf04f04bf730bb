"""The language reference, a page for each construct.

In: the text of grammar/README.md, whose examples are executed as tests, and of the grammar. Out:
pages. Always holds: every section of the reference is on exactly one page; the errors are left to
`findings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs_site.page import Page, anchor, plain_fences

__all__ = ["FOLDER", "language_pages"]

FOLDER = "language"
_ERRORS = "Errors and warnings"
_CONTENTS = re.compile(r"^(?:\d+\. \[[^\n]*\n)+", re.MULTILINE)


def language_pages(reference: str, grammar: str) -> list[Page]:
    """An overview, a page for each construct, and the grammar.

    Args:
        reference: grammar/README.md.
        grammar: grammar/sears.lark.
    """
    head, *sections = re.split(r"^## ", reference, flags=re.MULTILINE)
    constructs = [page for section in sections for page in _section(section)]
    syntax = Page(
        f"{FOLDER}/grammar.md",
        "The grammar",
        f"# The grammar\n\n```text\n{grammar.rstrip()}\n```\n",
    )
    pages = [*constructs, syntax]
    contents = "\n".join(f"- [{page.title}]({_name(page)})" for page in pages)
    contents += "\n- [Errors and warnings](../errors/index.md)\n"
    about = _CONTENTS.sub(contents, _linked(head))
    return [Page(f"{FOLDER}/index.md", "Overview", about), *pages]


def _section(section: str) -> Iterator[Page]:
    title, _, text = section.partition("\n")
    if title == _ERRORS:
        return
    head, *parts = re.split(r"^### ", text, flags=re.MULTILINE)
    if head.strip():
        yield _page(title, head, group=title if parts else "")
    for part in parts:
        heading, _, rest = part.partition("\n")
        yield _page(heading, rest, group=title)


def _page(title: str, text: str, *, group: str = "") -> Page:
    body = f"# {title}\n\n{_linked(plain_fences(text)).strip()}\n"
    return Page(f"{FOLDER}/{anchor(title)}.md", title, body, group)


def _linked(text: str) -> str:
    return text.replace("(sears.lark)", "(grammar.md)")


def _name(page: Page) -> str:
    return page.path.removeprefix(f"{FOLDER}/")
