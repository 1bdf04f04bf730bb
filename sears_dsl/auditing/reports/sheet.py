"""One self-contained HTML file around a body, and the parts that all pages of reports have.

Always holds: a content security policy lets in nothing but this style and this script, by their
hashes, so that a page can be opened anywhere and asks nobody for anything; there is no attribute
with style or script in it.
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


def page(title: str, body: str) -> str:
    """The whole file."""
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


def header(eyebrow: str, title: str, about: str) -> str:
    """What stands on top; what it is about is HTML."""
    return (
        f'<header><div class="eyebrow">{eyebrow}</div><h1>{escaped(title)}</h1>'
        f'<p class="muted">{about}</p></header>'
    )


def verdict(outcome: str, sign: str, title: str, content: str) -> str:
    """The decision, with a sign and in the colour of its outcome; the content is HTML."""
    return (
        f'<section class="card verdict {css_class(outcome)}">'
        f'<div class="sign" aria-hidden="true">{sign}</div>'
        f"<div><h2>{escaped(title)}</h2>{content}</div></section>"
    )


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Numbers in large, each with what it is and a note."""
    cards = "".join(
        f'<div class="card tile"><div class="value">{escaped(value)}</div>'
        f'<div class="label">{escaped(label)}</div><div class="note">{escaped(note)}</div></div>'
        for value, label, note in entries
    )
    return f'<div class="tiles">{cards}</div>'


def items(texts: Iterable[str]) -> str:
    """Texts as the items of a list."""
    return "".join(f"<li>{escaped(text)}</li>" for text in texts)


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


def numbers(*cells: str) -> str:
    """Cells of a row that hold numbers, as HTML."""
    return "".join(f'<td class="n">{cell}</td>' for cell in cells)


def number(number: str, beside: str) -> str:
    """A cell with a number, and what says what it is worth."""
    return numbers(
        escaped(number) + (f'<span class="id">{escaped(beside)}</span>' if beside else "")
    )


def rule(rule: str, beside: str | None = None) -> str:
    """The cell of a rule, with what is said of it."""
    about = "" if beside is None else f'<span class="id">{escaped(beside)}</span>'
    return f'<td class="rule"><span class="code">{escaped(rule)}</span>{about}</td>'


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
