"""MkDocs' hook: adds the generated pages to the site and to its navigation.

In: the configuration and the files of ``docs/``. Out: the same with generated pages. Nothing is
written into ``docs/``. Always holds: the pages load nothing from outside, and are searched from the
disk too: what the theme would fetch for that is in ``docs/assets``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage

import sears_dsl
from docs_site.commands import command_pages
from docs_site.findings import error_pages
from docs_site.language import language_pages
from docs_site.links import for_site
from docs_site.page import Page
from docs_site.python import FOLDER as PYTHON
from docs_site.python import python_pages
from sears_dsl.catalogue import shipped_rulesets
from sears_dsl.cli.commands import sears
from sears_dsl.runtime.files import resource_folder

# What the theme would load for the search of a site on the disk, and what stands for it.
_WORKER = "https://unpkg.com/iframe-worker/shim"
_OUR_WORKER = "assets/worker-from-disk.js"

# The page whose table names functions; in a checkout they have no pages to lead to.
_FROM_PYTHON = "python.md"
_FUNCTION = re.compile(r"(?<=[|,] )`(\w+)`(?= \||, )")

ROOT = Path(__file__).resolve().parents[1]
# Where the navigation of mkdocs.yml says so, the generated pages come in.
_PLACES = ("language", "commands", "errors", "python", "rules")


def _pages() -> dict[str, list[Page]]:
    grammar = resource_folder("grammar")
    reference = (grammar / "README.md").read_text("utf-8")
    editors = (ROOT / "editors" / "README.md").read_text("utf-8")
    return {
        "language": language_pages(reference, (grammar / "sears.lark").read_text("utf-8")),
        "commands": command_pages(sears),
        "errors": error_pages(reference),
        "python": python_pages(),
        "": [Page("editors.md", "Editors", editors, origin="editors/README.md")],
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the navigation."""
    config.extra["pages"] = _pages()
    config.nav = [_filled(entry, config.extra["pages"]) for entry in config.nav or []]
    return config


def _filled(entry: Any, pages: dict[str, list[Page]]) -> Any:
    if not isinstance(entry, dict):
        return entry
    [(title, content)] = entry.items()
    if content == "rules":
        rules = [{name: f"rules/{name.replace('/', '-')}.md"} for name in shipped_rulesets()]
        return {title: ["rules/README.md", *rules]}
    if content in _PLACES:
        overview, *rest = pages[content]
        return {title: [overview.path, *_grouped(rest)]}
    if isinstance(content, list):
        return {title: [_filled(each, pages) for each in content]}
    return entry


def _grouped(pages: list[Page]) -> Iterator[Any]:
    """Entries of the navigation; a group stands under its heading, its own page first."""
    for group, together in groupby(pages, key=lambda page: page.group):
        entries = [page.path if page.title == group else {page.title: page.path}
                   for page in together]  # fmt: skip
        yield from [{group: entries}] if group else entries


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for pages in config.extra["pages"].values():
        for page in pages:
            files.append(File.generated(config, page.path, content=page.text))
    return files


def on_page_markdown(markdown: str, *, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Let links lead where they lead in a checkout, and functions to their pages."""
    path = page.file.src_uri
    pages = [each for group in config.extra["pages"].values() for each in group]
    origins = {each.path: each.origin for each in pages if each.origin}
    places = {origin: path for path, origin in origins.items()}
    if path == _FROM_PYTHON:
        markdown = _FUNCTION.sub(_with_page, markdown)
    return for_site(Page(path, "", markdown, origin=origins.get(path, f"docs/{path}")), places)


def _with_page(name: re.Match[str]) -> str:
    is_public = name[1] in sears_dsl.__all__
    return f"[{name[0]}]({PYTHON}/{name[1]}.md)" if is_public else name[0]


def on_post_build(*, config: MkDocsConfig) -> None:
    """Let pages load our own worker."""
    folder = Path(config.site_dir)
    for page in folder.rglob("*.html"):
        above = "../" * (len(page.relative_to(folder).parts) - 1)
        text = page.read_text("utf-8")
        page.write_text(text.replace(_WORKER, above + _OUR_WORKER), "utf-8")
