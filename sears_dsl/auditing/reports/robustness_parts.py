"""Semantic robustness in the reports: as Markdown, as a section of the page, as lines of text.

They are empty if nobody asked for robustness and the audit was sliced by no column of words. Every
number is that of the document, and every number of a chart is also in a table.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import starmap
from typing import NamedTuple, TypeAlias

from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.auditing.robustness import ColumnAccuracy, RobustnessRecord, in_words, points, tenths
from sears_dsl.auditing.totals import DrawnRule, RateCurve
from sears_dsl.language.printer import rule_in_brief
from sears_dsl.runtime.markdown_tables import (
    code_cell,
    code_span,
    markdown_table,
    more_in,
    section,
)
from sears_dsl.statistics import share_of

Steps: TypeAlias = Sequence[tuple[float, float]]
"""(x, height from there on), by ascending x; the height is 0 before the first."""
Points: TypeAlias = Sequence[tuple[float, float, float, float]]
"""(x, height, lower and upper end of its interval), by ascending x."""

#: How many lines of a chart can be told apart.
MOST_LINES = 6
_WIDTH, _HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 22, 22, 34
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LEGEND = 20


def step_curves(curves: Sequence[tuple[str, Steps]], *, mark: float) -> str:
    """Curves of shares of rows over a tolerance, with a mark at the chosen tolerance."""
    across, up = "tolerance τ", "share of rows"
    words = "; ".join(f"{name}: {_words(steps)}" for name, steps in curves)
    behind = _axes(across, up) + _line(mark, mark, 0.0, 1.0, "limit")
    paths = [(name, _path(steps)) for name, steps in curves]
    return _figure(behind, paths, f"{up} over {across}: {words}")


def point_curves(curves: Sequence[tuple[str, Points]]) -> str:
    """Curves of accuracy over the rate of noise, each point with its interval."""
    across, up = "rate of noise", "accuracy"
    last = max((place for _, line in curves for place, *_ in line), default=1.0)
    reach = next(each for each in (*_TICKS[1:], last) if each >= last)
    paths = []
    for name, line in curves:
        joined = "L".join(f"{_x(place / reach)} {_y(height)}" for place, height, _, _ in line)
        intervals = "".join(
            f"M{_x(place / reach)} {_y(low)}V{_y(high)}" for place, _, low, high in line
        )
        paths.append((name, f"M{joined}{intervals}"))
    words = "; ".join(
        f"{name}: " + ", ".join(f"{100 * y:.3g}% at {100 * x:.3g}%" for x, y, _, _ in line)
        for name, line in curves
    )
    return _figure(_axes(across, up, reach), paths, f"{up} over {across}: {words}")


def _figure(behind: str, paths: Sequence[tuple[str, str]], label: str) -> str:
    """A chart with axes, lines, and a legend below."""
    height = _HEIGHT + _LEGEND * len(paths)
    parts = [behind]
    for place, (name, path) in enumerate(paths):
        y = _HEIGHT + _LEGEND * place + _LEGEND / 2
        parts.append(
            f'<path d="{path}" class="line line{place}"/>'
            f'<path d="M{_LEFT} {y}h26" class="line line{place}"/>'
            f"{sheet.label(_LEFT + 34, y + 4, html.escape(name))}"
        )
    return sheet.svg("curves", f'viewBox="0 0 {_WIDTH} {height}"', label, parts)


def _words(steps: Steps) -> str:
    """The first steps and the last one in words, since a curve may have hundreds."""
    shown = [*steps[:3], *([steps[-1]] if len(steps) > 3 else [])]
    return ", ".join(f"{100 * height:.3g}% at {100 * place:.3g}%" for place, height in shown)


def _path(steps: Steps) -> str:
    stairs = "".join(f"H{_x(place)}V{_y(height)}" for place, height in steps)
    return f"M{_x(0.0)} {_y(0.0)}{stairs}H{_x(1.0)}"


def _axes(across: str, up: str, reach: float = 1.0) -> str:
    """The grid; the horizontal axis ends at `reach`."""
    tick_label = partial(sheet.label, kind="tick")
    bottom = _y(0.0)
    parts = []
    for tick in _TICKS:
        x, y = _x(tick), _y(tick)
        parts += [
            _line(0.0, 1.0, tick, tick, "grid"),
            _line(tick, tick, 0.0, 1.0, "grid"),
            tick_label(_LEFT - 6, y + 4, f"{100 * tick:g}%", anchor="end"),
            tick_label(x, bottom + 15, f"{100 * tick * reach:g}%", anchor="middle"),
        ]
    parts += [
        tick_label(_WIDTH - _RIGHT, bottom + 29, across, anchor="end"),
        tick_label(_LEFT, _TOP - 9, up),
    ]
    return "".join(parts)


def _line(left: float, right: float, low: float, high: float, kind: str) -> str:
    return sheet.line(_x(left), _x(right), _y(low), _y(high), kind)


def _x(rate: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * rate, 1)


def _y(rate: float) -> float:
    return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * rate, 1)


Quoted: TypeAlias = Callable[[str], str]
NumberCell: TypeAlias = tuple[str, str]

_TAUS = (0.0, 0.05, 0.1, 0.2, 0.5)
# audit.json has all of them.
_SHOWN = 60
_DRAWS_HEADS = ("rule", "mean", "worst", "each draw", "rows that fail in at least one draw (95%)")
_DRAWS_READING = (
    "The share of tested rows on which the model does not do what the rule expects, with the noise "
    "drawn anew each time. The other tables show the first draw, semantic robustness all draws."
)
_RATES_TITLE = "Accuracy by rate of noise"
_RATES_READING = (
    "The accuracy on all rows, with its 95% interval, after each rule that draws at random. A rate "
    "is the share of a rule's instances that are rewritten; 0% is the original data. A row that "
    "the rule does not change counts with its original answer; a changed row counts by what the "
    "rule expects. A higher rate changes all that a lower one does; all rates use the first draw."
)
_HEADS = (
    "rules", "verdict", "rows", "p", "p′", "gap (95%)", "smallest τ", "pooled [mean of rules]",
    "locally robust rows (95%)", "best constant answer [mean of rules]",
)  # fmt: skip


def robustness_markdown(document: AuditDocument) -> Iterator[str]:
    """Semantic robustness as lines of Markdown."""
    robustness = document.robustness
    if robustness is not None:
        heads = _heads(robustness.records)
        rows = (
            (
                code_cell(name) if record.name else name,
                record.verdict,
                *map(_joined, _cells(record, code_cell)),
            )
            for record in robustness.records[:_SHOWN]
            for name in [_name(record, document)]
        )
        title = f"Semantic robustness at τ = {100 * robustness.tolerance:g}%"
        yield from section(title, markdown_table(heads, "ll" + "r" * (len(heads) - 2), rows))
        yield from more_in("audit.json", len(robustness.records) - _SHOWN)
        drawn = _drawn(robustness.records)
        if drawn:
            taus = ", ".join(f"{100 * tau:g}%" for tau in _TAUS)
            yield f"Share of rows that are locally robust at a tolerance of {taus}:"
            yield ""
        for record in drawn:
            yield f"- {code_span(_name(record, document))}: {', '.join(_at_taus(record))}"
        yield ""
        for sentence in _reading(document):
            yield f"{sentence} "
        yield ""
    for column in document.columns:
        yield f"By {code_span(column.column)}: {_column(column, code_span)}"
        yield ""


def _joined(cell: NumberCell) -> str:
    return " ".join(filter(None, cell))


def _templates_alone(records: Sequence[RobustnessRecord]) -> bool:
    return all(record.of_templates for record in records)


def _heads(records: Sequence[RobustnessRecord]) -> tuple[str, ...]:
    """Heads of the table, in terms of templates if there are no rules."""
    if not _templates_alone(records):
        return _HEADS
    return tuple(head.replace("rules", "templates").replace("rows", "sentences") for head in _HEADS)


class _NoiseTable(NamedTuple):
    """A table with a line for each rule that draws; a cell has a number and its interval."""

    title: str
    reading: str
    chart: str
    heads: Sequence[str]
    rules: Sequence[tuple[DrawnRule | RateCurve, Iterable[NumberCell]]]


def _noise_tables(document: AuditDocument) -> Iterator[_NoiseTable]:
    """The tables over draws and over rates, if there are several of these."""
    if document.drawn:
        drawn = [(each, _draws_cells(each)) for each in document.drawn]
        title = f"Over {document.draws} draws"
        yield _NoiseTable(title, _DRAWS_READING, "", _DRAWS_HEADS, drawn)
    if document.rates:
        heads = ("rule", *(f"{100 * point.rate:g}%" for point in document.rates[0].points))
        curves = [
            (
                f"{each.id}: {each.rule}",
                [(at.rate, of.rate, of.low, of.high) for at in each.points
                 for of in [at.accuracy] if of.rate is not None],
            )
            for each in document.rates
        ]  # fmt: skip
        chart = f'<div class="card">{point_curves(curves[:MOST_LINES])}</div>'
        rates = [(each, _rate_cells(each)) for each in document.rates]
        yield _NoiseTable(_RATES_TITLE, _RATES_READING, chart, heads, rates)


def noise_markdown(document: AuditDocument) -> Iterator[str]:
    """Several draws and rates of noise as lines of Markdown."""
    for noise in _noise_tables(document):
        rows = (
            (f"{code_cell(each.rule)}<br>{code_cell(each.id)}", *map(_joined, of_rule))
            for each, of_rule in noise.rules[:_SHOWN]
        )
        table = markdown_table(noise.heads, "l" + "r" * (len(noise.heads) - 1), rows)
        yield from section(noise.title, table)
        yield from more_in("audit.json", len(noise.rules) - _SHOWN)
        yield f"{noise.reading} "
        yield ""


def noise_sections(document: AuditDocument) -> Iterator[str]:
    """Several draws and rates of noise as sections of HTML."""
    for noise in _noise_tables(document):
        rows = [
            (f'<div class="code">{escaped(each.rule)}</div>{sheet.remark(each.id)}',
             *starmap(sheet.number, of_rule))
            for each, of_rule in noise.rules[:_SHOWN]
        ]  # fmt: skip
        heads = (noise.heads[0], *(f">{escaped(head)}" for head in noise.heads[1:]))
        left_out = sheet.paragraphs(more_in("audit.json", len(noise.rules) - _SHOWN))
        yield (
            f'<h2>{noise.title}</h2><p class="muted">{escaped(noise.reading)}</p>{noise.chart}'
            f"{sheet.table(heads, rows, caption=noise.title)}{left_out}"
        )


def _rate_cells(curve: RateCurve) -> Iterator[NumberCell]:
    """The accuracy at each rate, with its interval and the number of changed rows."""
    for point in curve.points:
        share = point.accuracy
        changed = f" {point.changed:,} rows changed" if point.rate else ""
        yield tenths(share.rate), f"({tenths(share.low)}–{tenths(share.high)}){changed}"


def _draws_cells(drawn: DrawnRule) -> list[NumberCell]:
    share = drawn.any_draw
    any_draw = f"{share.count:,} of {share.total:,} ({tenths(share.low)}–{tenths(share.high)})"
    rates = (tenths(drawn.mean), tenths(drawn.worst), ", ".join(map(tenths, drawn.rates)))
    return [(cell, "") for cell in (*rates, any_draw)]


def robustness_section(document: AuditDocument) -> str:
    """Semantic robustness as HTML; "" if there is nothing to show."""
    robustness = document.robustness
    parts = []
    if robustness is not None:
        name, verdict, *numbers = _heads(robustness.records)
        rows = [
            (
                f'<div class="code">{escaped(_name(each, document))}</div>'
                f"{sheet.chip(each.verdict)}",
                *starmap(sheet.number, _cells(each, repr)),
            )
            for each in robustness.records[:_SHOWN]
        ]
        drawn = _drawn(robustness.records)
        curves = [
            (_name(each, document), [(tau, count / each.rows) for tau, count in each.curve])
            for each in drawn
            if each.rows
        ]
        title = f"Semantic robustness at τ = {100 * robustness.tolerance:g}%"
        parts = [
            f"<h2>{escaped(title)}</h2>",
            *(f'<p class="muted">{escaped(each)}</p>' for each in _reading(document)),
            sheet.table(
                (f"{name}, {verdict}", *(f">{escaped(each)}" for each in numbers)),
                rows,
                caption=title,
            ),
            sheet.paragraphs(more_in("audit.json", len(robustness.records) - _SHOWN)),
        ]
        if drawn:
            parts += [
                "<h3>Locally robust rows by tolerance</h3>",
                '<div class="card">',
                step_curves(curves, mark=robustness.tolerance) if curves else "",
                "</div>",
                sheet.table(
                    ("rules", *(f">{100 * tau:g}%" for tau in _TAUS), ">all rows from"),
                    [
                        (
                            f'<td class="code">{escaped(_name(each, document))}</td>',
                            *_at_taus(each),
                            tenths(each.smallest_tau_everywhere),
                        )
                        for each in drawn
                    ],
                    caption="Share of rows that are locally robust, by tolerance",
                ),
            ]
    if document.columns:
        items = "".join(
            f"<li>By <code>{escaped(each.column)}</code>: {escaped(_column(each, repr))}</li>"
            for each in document.columns
        )
        parts.append(f'<h3>Accuracy by column</h3><ul class="facts-list">{items}</ul>')
    return "".join(parts)


def robustness_lines(document: AuditDocument) -> Iterator[tuple[str, str, str]]:
    """Lines for the terminal: all rules or templates and each tag, with verdict and numbers."""
    robustness = document.robustness
    for record in () if robustness is None else robustness.records:
        if not record.of_one:
            name = f"{_name(record, document)} at τ = {100 * record.tolerance:g}%: "
            sentence = f"; {in_words(record)}"
            if record.rows and not record.of_templates:
                sentence += (
                    f"; smallest τ {tenths(record.smallest_tau)}; {record.local.count:,} of "
                    f"{record.rows:,} rows are locally robust"
                )
            constant = record.constant
            if constant is not None and constant.rate == 1:
                sentence += f"; always answering {constant.answer!r} would score 100.0%"
            yield name, record.verdict, sentence
    for each in document.drawn:
        sentence = (
            f"fails on {tenths(each.mean)} of the rows on average and {tenths(each.worst)} in the "
            f"worst draw; {each.any_draw.count:,} of {each.any_draw.total:,} rows fail in some draw"
        )
        yield f"{each.id} over {document.draws} draws: ", "", sentence
    for curve in document.rates:
        over = ", ".join(
            f"{tenths(each.accuracy.rate)} at {100 * each.rate:g}%" for each in curve.points
        )
        yield f"{curve.id} by rate of noise: ", "", f"accuracy {over}"
    for column in document.columns:
        yield f"by {column.column}: ", "", _column(column, repr)


def _name(record: RobustnessRecord, document: AuditDocument) -> str:
    if record.about == "rule":
        rules = (each for each in document.rules if each.id == record.name)
        return next((f"{each.id}: {rule_in_brief(each.rule)}" for each in rules), "")
    return "all rules" if record.about == "all rules" else record.selector


def _cells(record: RobustnessRecord, quoted: Quoted) -> list[tuple[str, str]]:
    """The numbers of a record, each with what stands beside it; labels are quoted."""
    local, constant = record.local, record.constant
    gap = always = ("–", "")
    if constant is not None:
        always = tenths(constant.rate), f"{quoted(constant.answer)} [{tenths(constant.mean)}]"
    if record.gap is not None:
        gap = (points(record.gap), f"({points(record.low)} to {points(record.high)})")
    return [
        (f"{record.rows:,}", ""),
        (tenths(record.before), _corrected(record.before_corrected)),
        (tenths(record.after), _corrected(record.after_corrected)),
        gap,
        (tenths(record.smallest_tau), ""),
        (tenths(record.pooled), f"[{tenths(record.mean)}]"),
        (
            f"{local.count:,} of {local.total:,}, {tenths(local.rate)}",
            f"({tenths(local.low)}–{tenths(local.high)})",
        ),
        always,
    ]


def _corrected(rate: float | None) -> str:
    # Adding 0.0 removes the sign of a negative zero.
    return "" if rate is None else f"[{round(rate, 2) + 0.0:.2f}]"


def _column(column: ColumnAccuracy, quoted: Quoted) -> str:
    rows, values = ("sentences", "templates") if column.of_sentences else ("rows", "values")
    several = column.values > 1
    words = (
        f"accuracy is {tenths(column.pooled.rate)} on all {column.pooled.total:,} {rows} "
        f"(95% {tenths(column.pooled.low)}–{tenths(column.pooled.high)})"
    )
    if several:
        words += f" and {tenths(column.mean)} averaged over the {column.values:,} {values}"
    if column.constant is not None:
        words += (
            f"; always answering {quoted(column.constant.answer)} would score "
            f"{tenths(column.constant.rate)}"
        )
        words += f" and {tenths(column.constant.mean)}" if several else ""
    return words + "."


def _reading(document: AuditDocument) -> Iterator[str]:
    robustness = document.robustness
    if robustness is None:
        return
    how = {
        "rate": "by the observed gap",
        "evidence": "and fails only if the whole interval of the gap is beyond τ",
        "proof": "and holds only if the whole interval of the gap is within τ",
    }[document.gates.judge_by]
    tolerant = f"Robust means p′ ≥ p - τ, bounded invariant also p′ ≤ p + τ, {how}."
    if any(record.of_templates for record in robustness.records):
        yield (
            "For templates, p is the accuracy on all rows of the data, or 100% if there is no "
            "data, so that τ sets the accuracy required; p′ is the accuracy on the template "
            f"sentences. {tolerant} Intervals are Newcombe's for shares of different rows. "
            "Sentences of one template are alike, so an interval holds for such sentences only."
        )
    templates_alone = _templates_alone(robustness.records)
    if not templates_alone:
        yield (
            "p is the accuracy on the rows that the rules change, whether right or wrong before. "
            "p′ is the accuracy on their rewrites: the mean over rows of the mean over rewrites, "
            f"judged by what each rule expects. {tolerant} Intervals of the gap come from a paired "
            "bootstrap over rows."
        )
    if robustness.labels is not None and robustness.labels > 1:
        one, of = ("sentences", "templates") if templates_alone else ("rows", "rules")
        yield (
            "The brackets beside p and p′ give the same accuracy on a scale from 0, a guess among "
            f"{robustness.labels} labels, to 1, all right. The last column is what the best "
            f"constant answer would score over {one}, and as a mean over {of}."
        )
    whole = robustness.records[0]
    if whole.rows and not templates_alone:
        local = whole.local
        yield (
            "A row is locally robust if the mean over its rewrites is at least p - τ: "
            f"{local.count:,} of {local.total:,} rows ({tenths(local.rate)}) for all rules "
            "together. The model is globally robust if all of them are, which holds from τ = "
            f"{tenths(whole.smallest_tau_everywhere)} on."
        )


def _drawn(records: Sequence[RobustnessRecord]) -> list[RobustnessRecord]:
    """The records to draw: all rules and the first tags or, without tags, the first rules."""
    records = [each for each in records if not each.of_templates]
    tags = [each for each in records if each.about == "tag"]
    others = tags or [each for each in records if each.about == "rule"]
    return [*(each for each in records if each.about == "all rules"), *others][:MOST_LINES]


def _at_taus(record: RobustnessRecord) -> Iterator[str]:
    for tau in _TAUS:
        reached = [count for least, count in record.curve if least <= tau]
        yield tenths(share_of(reached[-1] if reached else 0, record.rows).rate)
