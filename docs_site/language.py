"""The language reference, a page for each construct.

In: the text of grammar/README.md, whose examples are executed as tests, and of the grammar. Out:
pages. Always holds: every section of the reference is on exactly one page; the errors are left to
`findings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs_site.page import Page, anchor, plain_fences

FOLDER = "language"
_REFERENCE = "grammar/README.md"
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
        origin="grammar/sears.lark",
    )
    pages = [*constructs, syntax]
    contents = "".join(f"- [{page.title}]({_from_reference(page)})\n" for page in pages)
    contents += f"- [{_ERRORS}](#{anchor(_ERRORS)})\n"
    about = _CONTENTS.sub(lambda _: contents, head)
    return [Page(f"{FOLDER}/index.md", "Overview", about, origin=_REFERENCE), *pages]


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
    body = f"# {title}\n\n{plain_fences(text).strip()}\n"
    name = anchor(title)
    return Page(f"{FOLDER}/{name}.md", title, body, group, f"{_REFERENCE}#{name}")


def _from_reference(page: Page) -> str:
    return page.origin.removeprefix(_REFERENCE).removeprefix("grammar/")
