"""One self-contained HTML file around a body, and the parts that all pages of reports share.

The parts are tables, tiles, and charts as inline SVG: shares with their intervals on one scale, and
overlaps of rules. A content security policy admits only this style and this script, by their
hashes, so a page can be opened anywhere and loads nothing. No attribute contains style or script.
Charts use classes that the style sheet colours, so that they follow light and dark. Every chart has
a label that says in words what it shows, and has no number that is not also text on the page.
"""

from __future__ import annotations

import html
import math
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import repeat

from sears_dsl.auditing.gates import unrounded
from sears_dsl.errors import printable
from sears_dsl.statistics import Share, percent

_CLASSES = {
    "not judged": "unjudged",
    "no evidence": "quiet",
    "not compared": "unjudged",
    "robust": "passed",
    "bounded invariant": "passed",
    "not robust": "failed",
}


def page(title: str, body: str) -> str:
    """The whole HTML file."""
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
    """Text as HTML, with what cannot be printed as escapes."""
    return html.escape(printable(text))


def header(eyebrow: str, title: str, about: str) -> str:
    """The top of a page; `about` is HTML."""
    return (
        f'<header><div class="eyebrow">{eyebrow}</div><h1>{escaped(title)}</h1>'
        f'<p class="muted">{about}</p></header>'
    )


def verdict(outcome: str, sign: str, title: str, content: str) -> str:
    """The decision, with a sign and in the colour of its outcome; `content` is HTML."""
    return (
        f'<section class="card verdict {css_class(outcome)}">'
        f'<div class="sign" aria-hidden="true">{sign}</div>'
        f"<div><h2>{escaped(title)}</h2>{content}</div></section>"
    )


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Large numbers, each with its meaning and a note."""
    cards = "".join(
        f'<div class="card tile"><div class="value">{escaped(value)}</div>'
        f'<div class="label">{escaped(label)}</div><div class="note">{escaped(note)}</div></div>'
        for value, label, note in entries
    )
    return f'<div class="tiles">{cards}</div>'


def paragraphs(texts: Iterable[str]) -> str:
    """Texts as paragraphs; empty ones are left out."""
    return "".join(f"<p>{escaped(text)}</p>" for text in texts if text)


def items(texts: Iterable[str]) -> str:
    """Texts as the items of a list."""
    return "".join(f"<li>{escaped(text)}</li>" for text in texts)


def chip(outcome: str) -> str:
    """An outcome as a coloured word."""
    return f'<span class="chip {css_class(outcome)}">{escaped(outcome)}</span>'


def css_class(outcome: str) -> str:
    """The class that colours an outcome."""
    return _CLASSES.get(outcome, outcome)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    attributes: Iterable[str] = repeat(""),
) -> str:
    """A table of HTML; heads that begin with ``>`` are over numbers. Rows may have attributes.

    A cell is what stands in it, or all of its ``td`` if it has a class of its own.
    """
    kinds = [' class="n"' if head.startswith(">") else "" for head in heads]
    head = "".join(
        f'<th scope="col"{kind}>{head.removeprefix(">")}</th>'
        for head, kind in zip(heads, kinds, strict=True)
    )
    body = "".join(
        f"<tr{own}>{''.join(_cell(*each) for each in zip(row, kinds, strict=True))}</tr>"
        for row, own in zip(rows, attributes, strict=False)
    )
    return (
        f'<div class="scroll card" tabindex="0" role="region" aria-label="{escaped(caption)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(cell: str, kind: str) -> str:
    return cell if cell.startswith("<td") else f"<td{kind}>{cell}</td>"


def remark(text: str) -> str:
    """A smaller text in a cell, such as the interval of a number or the id of a rule."""
    return f'<span class="id">{escaped(text)}</span>' if text else ""


def number(number: str, beside: str) -> str:
    """The content of a cell with a number and a smaller text beside it, such as its interval."""
    return escaped(number) + remark(beside)


def rule(rule: str, beside: str | None = None) -> str:
    """The cell of a rule, with a remark on it."""
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
    """The answer of a model, with its confidence if that is known."""
    sure = "" if confidence is None else f' <span class="muted">{percent(confidence)}</span>'
    return f'<span class="{"wrong" if wrong else "right"}">{escaped(label)}</span>{sure}'


def svg(kind: str, size: str, label: str, parts: Iterable[str]) -> str:
    """A chart, with a label that says in words what it shows; `size` has its attributes."""
    return (
        f'<svg class="{kind}" {size} role="img" aria-label="{html.escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def line(left: float, right: float, top: float, bottom: float, kind: str) -> str:
    """A line of a chart."""
    return f'<line x1="{left}" x2="{right}" y1="{top}" y2="{bottom}" class="{kind}"/>'


def label(x: float, y: float, content: str, *, anchor: str = "", kind: str = "") -> str:
    """A text in a chart; `content` is HTML, and `anchor` says which of its ends is at `x`."""
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    coloured = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{anchored}{coloured}>{content}</text>'


#: How many shades of one colour there are, beside none: the style sheet's ``heat1`` and so on.
SHADES = 9
WIDTH = 240
_PAD = 8
_HEIGHT = 26
_NICE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_BAR = 30
_BAR_LABEL = 190
_BAR_WIDTH = 430
_CELL = 34


def _x(rate: float, top: float) -> float:
    """The place of a rate on an axis whose right end is `top`, where rates beyond it are put."""
    return round(_PAD + (WIDTH - 2 * _PAD) * min(1.0, rate / top), 2)


def top_for(
    shares: Iterable[Share], limits: Iterable[float | None], rates: Iterable[float | None] = ()
) -> float:
    """The end of an axis that holds the intervals of these shares, their limits, and more rates."""
    highest = max(
        [
            0.01,
            *(each.high for each in shares if each.total),
            *(1.25 * each for each in (*limits, *rates) if each),
        ]
    )
    return next((each for each in _NICE if each >= highest), 1.0)


def axis(top: float) -> str:
    """The axis over a column of `interval_bar`s."""
    ticks = ((0.0, "start"), (top / 2, "middle"), (top, "end"))
    return _axis((_x(rate, top), anchor, percent(rate)) for rate, anchor in ticks)


def _axis(ticks: Iterable[tuple[float, str, str]]) -> str:
    marks = "".join(label(x, 12, text, anchor=anchor, kind="tick") for x, anchor, text in ticks)
    return f'<svg class="axis" width="{WIDTH}" height="16" aria-hidden="true">{marks}</svg>'


def interval_bar(share: Share, top: float, *, limit: float | None = None, kind: str = "") -> str:
    """A share as a dot on the line of its interval, with its limit as a mark."""
    middle = _HEIGHT / 2
    ticks = (_x(rate, top) for rate in (0.0, top / 2, top))
    parts = [line(x, x, 0, _HEIGHT, "grid") for x in ticks]
    if limit is not None:
        x = _x(limit, top)
        parts.append(line(x, x, 2, _HEIGHT - 2, "limit"))
    words = "not measured"
    if share.rate is not None:
        low, high = _x(share.low, top), _x(share.high, top)
        parts.append(line(low, high, middle, middle, "interval"))
        if share.high > top:
            # An arrow shows that the interval continues beyond the axis.
            parts.append(f'<path d="M{high - 1} {middle - 4}l5 4l-5 4z" class="beyond"/>')
        parts.append(f'<circle cx="{_x(share.rate, top)}" cy="{middle}" r="4.5" class="dot"/>')
        words = f"{percent(share.rate)}, 95% interval {percent(share.low)} to {percent(share.high)}"
        words += "" if limit is None else f", limit {unrounded(limit)}"
    return _bar(parts, words, kind)


def _bar(parts: Iterable[str], words: str, kind: str) -> str:
    return svg(f"bar {kind}", f'width="{WIDTH}" height="{_HEIGHT}"', words, parts)


def reach_of(ends: Iterable[float]) -> float:
    """How far a symmetric axis has to reach to hold the ends of intervals."""
    highest = max([0.01, *map(abs, ends)])
    return next((each for each in _NICE if each >= highest), 1.0)


def comparison_axis(reach: float) -> str:
    """The axis over a column of `signed_bar`s, in points."""
    places = ((_PAD, "start", -reach), (WIDTH / 2, "middle", 0.0), (WIDTH - _PAD, "end", reach))
    return _axis((x, anchor, f"{100 * rate:+g}" if rate else "0") for x, anchor, rate in places)


def signed_bar(value: tuple[float, float, float] | None, reach: float, *, kind: str = "") -> str:
    """A share that may be negative, and its interval, on an axis with 0 in the middle."""
    middle = _HEIGHT / 2
    half = (WIDTH - 2 * _PAD) / 2

    def x(rate: float) -> float:
        return round(WIDTH / 2 + half * max(-1.0, min(1.0, rate / reach)), 2)

    parts = [line(x(0), x(0), 0, _HEIGHT, "limit")]
    words = "not compared"
    if value is not None:
        rate, low, high = value
        parts.append(
            f"{line(x(low), x(high), middle, middle, 'interval')}"
            f'<circle cx="{x(rate)}" cy="{middle}" r="4.5" class="dot"/>'
        )
        words = f"{100 * rate:+z.1f} points, 95% interval {100 * low:+z.1f} to {100 * high:+z.1f}"
    return _bar(parts, words, kind)


def bars(entries: Sequence[tuple[str, float, Share | None]]) -> str:
    """Names and rates as horizontal bars from 0 to 100%, with whiskers if there is a share."""
    full = _BAR_WIDTH - _BAR_LABEL - 64
    parts = []
    for place, (name, rate, share) in enumerate(entries):
        top = place * _BAR
        middle = top + _BAR / 2
        width = round(full * rate, 1)
        parts.append(
            f"{label(_BAR_LABEL - 10, middle + 4, html.escape(name), anchor='end', kind='name')}"
            f'<rect x="{_BAR_LABEL}" y="{top + 6}" width="{full}" height="{_BAR - 12}" rx="3" '
            f'class="track"/>'
            f'<rect x="{_BAR_LABEL}" y="{top + 6}" width="{width}" height="{_BAR - 12}" rx="3" '
            f'class="fill fill{place}"/>'
        )
        if share is not None and share.total:
            low, high = (round(_BAR_LABEL + full * end, 1) for end in (share.low, share.high))
            parts.append(
                f'<path d="M{low} {middle - 4}v8M{low} {middle}H{high}M{high} {middle - 4}v8" '
                f'class="whisker"/>'
            )
        parts.append(label(_BAR_WIDTH - 54, middle + 4, percent(rate), kind="value"))
    size = f'viewBox="0 0 {_BAR_WIDTH} {_BAR * len(entries)}"'
    words = ", ".join(f"{name} {percent(rate)}" for name, rate, _ in entries)
    return svg("bars", size, f"Accuracy: {words}", parts)


def overlap_matrix(
    names: Sequence[str], counts: Sequence[int], both: Sequence[Sequence[int]]
) -> str:
    """How many flipped rows each pair of rules shares; on the diagonal the flips of each rule."""
    size = len(names)
    left = 34
    parts = []
    for row in range(size):
        middle = left + row * _CELL + _CELL / 2
        parts += [
            label(left - 8, middle + 4, str(row + 1), anchor="end", kind="tick"),
            label(middle, left - 8, str(row + 1), anchor="middle", kind="tick"),
        ]
        for column in range(size):
            shared = counts[row] if row == column else both[row][column]
            least = max(1, min(counts[row], counts[column]))
            # The shade shows the share of the smaller rule's flips.
            step = math.ceil(SHADES * shared / least)
            kind = "own" if row == column else f"heat heat{step}"
            x, y = left + column * _CELL, left + row * _CELL
            title = (
                f"{names[row]}: {shared} flips"
                if row == column
                else f"{names[row]} and {names[column]}: {shared} rows"
            )
            strong = step > 5 and row != column
            parts.append(
                f"<g><title>{html.escape(title)}</title>"
                f"{square(x, y, (_CELL, _CELL), str(shared or ''), kind=kind, strong=strong)}</g>"
            )
    side = left + size * _CELL + 2
    words = "Rows that pairs of rules both flip, as in the list beside"
    extent = f'width="{side}" height="{side}" viewBox="0 0 {side} {side}"'
    return svg("matrix", extent, words, parts)


def square(x: int, y: int, size: tuple[int, int], content: str, *, kind: str, strong: bool) -> str:
    """A cell of a matrix, with its content in the middle; `strong` on a dark shade."""
    width, height = size
    counts = "count strong" if strong else "count"
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" height="{height - 2}" rx="4" '
        f'class="{kind}"/>'
        f"{label(x + width / 2, y + height / 2 + 4, content, anchor='middle', kind=counts)}"
    )
