"""One self-contained HTML file around a body: style and script inside, nothing from outside.

In: a title and the body as HTML. Out: the file. Always holds: a content security policy lets in
nothing but this style and this script, by their hashes, so that a page can be opened anywhere and
asks nobody for anything; there is no attribute with style or script in it.
"""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from sears_dsl.auditing.shares import Share, percent

_CLASSES = {
    "not judged": "unjudged",
    "no evidence": "quiet",
    "not compared": "unjudged",
    "robust": "passed",
    "bounded invariant": "passed",
    "not robust": "failed",
}


def page_of(title: str, body: str) -> str:
    """The whole file.

    Example:
        >>> page = page_of("An audit", "<p>Good.</p>")
        >>> page.startswith("<!doctype html>"), "default-src 'none'" in page
        (True, True)
    """
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def escaped(text: str) -> str:
    """Text as HTML; what cannot be printed, as its escape."""
    return html.escape(visible(text))


def visible(text: str) -> str:
    """Text, or HTML, with everything that cannot be printed as its escape."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def chip(outcome: str) -> str:
    """An outcome as a coloured word."""
    return f'<span class="chip {css_class(outcome)}">{escaped(outcome)}</span>'


def css_class(outcome: str) -> str:
    """The class that colours an outcome."""
    return _CLASSES.get(outcome, outcome)


def table(heads: Sequence[str], rows: Iterable[str], *, caption: str) -> str:
    """A table; heads beginning with ``>`` stand over numbers, heads of HTML stay as they are."""
    cells = "".join(
        f'<th scope="col" class="n">{head[1:]}</th>'
        if head.startswith(">")
        else f'<th scope="col">{head}</th>'
        for head in heads
    )
    return (
        f'<div class="scroll card" tabindex="0" role="region" aria-label="{escaped(caption)}">'
        f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def facts(entries: Iterable[tuple[str, str]]) -> str:
    """Names with values, as a list; values are HTML."""
    items = "".join(
        f"<div><dt>{escaped(name)}</dt><dd>{value}</dd></div>" for name, value in entries
    )
    return f'<dl class="facts">{items}</dl>'


def rate_with_interval(share: Share | None) -> str:
    """A rate and its interval, as HTML."""
    if share is None:
        return "not given"
    if share.rate is None:
        return '<span class="muted">nothing to count</span>'
    ends = f"({percent(share.low)}–{percent(share.high)})"
    return f'{percent(share.rate)} <span class="muted">{ends}</span>'


def answer(label: str, confidence: float | None, *, wrong: bool) -> str:
    """What a model says, with how sure it is where it says so."""
    sure = "" if confidence is None else f' <span class="muted">{percent(confidence)}</span>'
    return f'<span class="{"wrong" if wrong else "right"}">{escaped(label)}</span>{sure}'
