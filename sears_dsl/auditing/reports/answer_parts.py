"""Answers by their confidence, and sentences by their words, in the reports: Markdown and HTML.

The first part shows how sure a model is of right and of wrong answers, to untouched rows and by
rule. The second shows which word breaks which sentence of the templates, if there are any. Every
bar and every shade is also a number beside it or in its cell. If the model does not say how sure it
is, the report says so and draws nothing. The words that break most come first. What is too long is
left out with a note, and stays in audit.json.

Source: 'Evaluating Neural Machine Comprehension Model Robustness to Noisy Inputs and Adversarial
Attacks', section 4.3 and Figure 2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from sears_dsl.auditing.document import AnswerConfidence, AuditDocument, answer_confidences
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.auditing.template_answers import FillerGrid
from sears_dsl.runtime import markdown_tables as tables
from sears_dsl.statistics import percent

#: Bars of a histogram, from 0 to 1.
BINS = 10
_BAR = 9
_HALF = 110
CONFIDENCE_TITLE = "Confidence in right and in wrong answers"
_NO_CONFIDENCE = "Not given: the model reports no confidence."
# A page of hundreds of histograms helps nobody.
_MOST = 40


def histogram(values: Sequence[float]) -> list[int]:
    """How many values are in each tenth from 0 to 1; 1 is in the last."""
    counts = Counter(min(BINS - 1, int(value * BINS)) for value in values)
    return [counts[place] for place in range(BINS)]


def confidence_section(document: AuditDocument) -> Iterator[str]:
    """Mirrored histograms of confidence, one for each rule, with their numbers."""
    yield f"<h2>{CONFIDENCE_TITLE}</h2>"
    splits = answer_confidences(document)
    if not splits:
        yield f'<p class="muted">{_NO_CONFIDENCE}</p>'
        return
    yield (
        '<p class="muted">Answers by confidence, from 0 at the bottom to 1 at the top: wrong ones '
        "on the left, right ones on the right. Each side shows shares of its own answers.</p>"
    )
    sure_from = _sure_from(document)
    heads = ("answers to", "wrong | right", ">right", ">mean confidence", ">wrong",
             ">mean confidence", f">wrong, confidence ≥ {percent(sure_from)}", "count")  # fmt: skip
    yield sheet.table(
        heads, [_row(each, sure_from) for each in splits[:_MOST]], caption="Confidence"
    )
    if len(splits) > _MOST:
        yield f"<p>{len(splits) - _MOST:,} more rules are in audit.json.</p>"


def _sure_from(document: AuditDocument) -> float:
    if document.sure_from is not None:
        return document.sure_from
    known = (each.confidence.sure_from for each in document.rules if each.confidence is not None)
    return next(known, 1.0)


def _row(each: AnswerConfidence, sure_from: float) -> tuple[str, ...]:
    right, wrong = histogram(each.right), histogram(each.wrong)
    counts = "".join(
        f"<li>{place / BINS:.1f} to {(place + 1) / BINS:.1f}: {wrong[place]:,} wrong, "
        f"{right[place]:,} right</li>"
        for place in reversed(range(BINS))
        if wrong[place] or right[place]
    )
    details = (
        '<details class="small"><summary>by range</summary><ul class="facts-list">'
        f"{counts}</ul></details>"
    )
    name = sheet.rule(each.name, each.id)
    return (name, mirrored(wrong, right), *_numbers(each, sure_from), details)


def _numbers(each: AnswerConfidence, sure_from: float) -> tuple[str, ...]:
    """Right and wrong answers with their mean confidences, and how many are wrong but sure."""
    sure = each.sure_and_wrong(sure_from)
    counts = (
        text
        for values in (each.right, each.wrong)
        for text in (f"{len(values):,}", f"{sum(values) / len(values):.2f}" if values else "–")
    )
    return (*counts, f"{sure.count:,} ({percent(sure.rate)})")


def mirrored(wrong: Sequence[int], right: Sequence[int]) -> str:
    """Two histograms back to back, the highest tenth on top."""
    height = _BAR * len(wrong)
    parts = []
    for counts, kind in ((wrong, "bad"), (right, "good")):
        total = max(1, sum(counts))
        for place, count in enumerate(counts):
            width = round((_HALF - 2) * count / total, 1)
            x = round(_HALF - 1 - width, 1) if kind == "bad" else _HALF + 1
            y = height - _BAR * (place + 1)
            if count:
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{width}" height="{_BAR - 1}" class="{kind}"/>'
                )
    parts.append(sheet.line(_HALF, _HALF, 0, height, "grid"))
    words = (
        f"{sum(wrong)} wrong answers, {wrong[-1]} of them in the highest tenth; {sum(right)} right "
        f"ones, {right[-1]} in the highest"
    )
    return sheet.svg("mirror", f'width="{2 * _HALF}" height="{height}"', words, parts)


def confidence_markdown(document: AuditDocument) -> Iterator[str]:
    """Confidence as Markdown, with one line for each rule."""
    splits = answer_confidences(document)
    sure_from = _sure_from(document)
    if not splits:
        return tables.section(CONFIDENCE_TITLE, [_NO_CONFIDENCE])
    heads = ("answers to", "right", "mean confidence", "wrong", "mean confidence",
             f"wrong, confidence ≥ {percent(sure_from)}")  # fmt: skip
    rows = (
        (
            f"{tables.code_cell(each.name)}<br>{tables.markdown_text(each.id)}"
            if each.id
            else each.name,
            *_numbers(each, sure_from),
        )
        for each in splits[:_MOST]
    )
    return tables.section(CONFIDENCE_TITLE, tables.markdown_table(heads, "lrrrrr", rows))


# The most columns and rows in a comment on a pull request, and on the page.
_COLUMNS, _ROWS = 8, 40
_PAGE_COLUMNS, _PAGE_ROWS = 24, 120
_NOTHING = "(nothing)"
_TITLE = "Which word breaks which sentence"


def fillers_markdown(document: AuditDocument) -> Iterator[str]:
    """The grid of words and templates as lines of Markdown."""
    grid = document.fillers
    if grid is None:
        return
    columns = _columns(grid, _COLUMNS)
    names = [tables.code_cell(grid.templates[place]) for place in columns]
    rows = (
        (
            tables.code_cell(row.slot),
            tables.code_cell(row.filler or _NOTHING),
            percent(sum(row.right) / sum(row.total)),
            *(
                f"{row.right[place]:,}/{row.total[place]:,}" if row.total[place] else "–"
                for place in columns
            ),
        )
        for row in grid.rows[:_ROWS]
    )
    table = tables.markdown_table(("slot", "word", "all", *names), "llr" + "r" * len(names), rows)
    yield from tables.section(_TITLE, (_reading("–"), "", *table))
    yield from _left_out(grid, _ROWS, _COLUMNS)


def fillers_section(document: AuditDocument) -> str:
    """The grid of words and templates as HTML; "" if there is none."""
    grid = document.fillers
    if grid is None:
        return ""
    columns = _columns(grid, _PAGE_COLUMNS)
    heads = ("slot", "word", ">all", *(f">{escaped(grid.templates[place])}" for place in columns))
    rows = [
        (
            f'<td class="code">{escaped(row.slot)}</td>',
            escaped(row.filler or _NOTHING),
            _shaded(sum(row.right), sum(row.total)),
            *(_shaded(row.right[place], row.total[place]) for place in columns),
        )
        for row in grid.rows[:_PAGE_ROWS]
    ]
    left_out = sheet.paragraphs(_left_out(grid, _PAGE_ROWS, _PAGE_COLUMNS))
    return (
        f'<h2>{_TITLE}</h2><p class="muted">{escaped(_reading("·"))}</p>'
        f'<div class="fillers">{sheet.table(heads, rows, caption=_TITLE)}</div>{left_out}'
    )


def _reading(nowhere: str) -> str:
    return (
        "Sentences that the model gets right, by the word in a slot and by template, lowest share "
        "first; a stronger shade means more wrong answers. Each cell gives right / all sentences; "
        f"{nowhere} means that the template has no such slot. A row that is low throughout is a "
        "word that the model does not know, such a column a sentence that it misreads."
    )


def _columns(grid: FillerGrid, most: int) -> list[int]:
    """The templates with the lowest share of right answers, in the order of the files."""
    shares = []
    for place in range(len(grid.templates)):
        right = sum(row.right[place] for row in grid.rows)
        total = sum(row.total[place] for row in grid.rows)
        shares.append((right / total if total else 1.0, place))
    return sorted(place for _, place in sorted(shares)[:most])


def _shaded(right: int, total: int) -> str:
    if not total:
        return '<td class="n muted">·</td>'
    shade = math.ceil(sheet.SHADES * (1 - right / total))
    share = sheet.number(percent(right / total), f"{right:,}/{total:,}")
    return f'<td class="n heat{shade}">{share}</td>'


def _left_out(grid: FillerGrid, rows: int, columns: int) -> Sequence[str]:
    more = [
        f"{count:,} more {noun}"
        for count, noun in (
            (len(grid.rows) - rows, "words"),
            (len(grid.templates) - columns, "templates"),
        )
        if count > 0
    ]
    return [f"{' and '.join(more)} are in audit.json.", ""] if more else []
