"""Which word breaks which sentence, in the reports: as Markdown, and as a table with shades.

Nothing where no sentences of templates were asked about. Always holds: every shade is a number in
its cell; the words that break most stand first; what is left out for its length is said, and stands
in audit.json.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.markdown_tables import code_cell, markdown_table
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.auditing.shares import percent
from sears_dsl.auditing.template_answers import FillerGrid

# So many shades there are of one colour, from nothing to everything.
_SHADES = 9
# Rows and columns of a comment in a pull request, and of the page.
_COLUMNS, _ROWS = 8, 40
_PAGE_COLUMNS, _PAGE_ROWS = 24, 120
_NOTHING = "(nothing)"
_TITLE = "Which word breaks which sentence"


def fillers_markdown(document: AuditDocument) -> Iterator[str]:
    """Lines of Markdown."""
    grid = document.fillers
    if grid is None:
        return
    columns = _columns(grid, _COLUMNS)
    names = [code_cell(grid.templates[place]) for place in columns]
    yield f"## {_TITLE}"
    yield ""
    yield _reading("–")
    yield ""
    rows = (
        (
            code_cell(row.slot),
            code_cell(row.filler or _NOTHING),
            percent(sum(row.right) / sum(row.total)),
            *(
                f"{row.right[place]:,}/{row.total[place]:,}" if row.total[place] else "–"
                for place in columns
            ),
        )
        for row in grid.rows[:_ROWS]
    )
    yield from markdown_table(("slot", "word", "all", *names), "llr" + "r" * len(names), rows)
    yield ""
    yield from _left_out(grid, _ROWS, _COLUMNS)


def fillers_section(document: AuditDocument) -> str:
    """HTML; empty where there is nothing to show."""
    grid = document.fillers
    if grid is None:
        return ""
    columns = _columns(grid, _PAGE_COLUMNS)
    heads = (
        "slot",
        "word",
        ">all",
        *(f">{escaped(grid.templates[place])}" for place in columns),
    )
    rows = [
        f'<tr><td class="code">{escaped(row.slot)}</td>'
        f"<td>{escaped(row.filler or _NOTHING)}</td>"
        f"{_shaded(sum(row.right), sum(row.total))}"
        f"{''.join(_shaded(row.right[place], row.total[place]) for place in columns)}</tr>"
        for row in grid.rows[:_PAGE_ROWS]
    ]
    left_out = "".join(
        f"<p>{escaped(each)}</p>" for each in _left_out(grid, _PAGE_ROWS, _PAGE_COLUMNS) if each
    )
    return (
        f'<h2>{_TITLE}</h2><p class="muted">{escaped(_reading("·"))}</p>'
        f'<div class="fillers">{sheet.table(heads, rows, caption=_TITLE)}</div>{left_out}'
    )


def _reading(nowhere: str) -> str:
    return (
        "Sentences that the model has right, by the word in a slot and by template: those with "
        "the lowest share first, the stronger the shade the more are wrong. A cell is right of "
        f"all; {nowhere} where the template has no such slot. A row that is low everywhere is a "
        "word that the model does not know; a column, a sentence that it does not read."
    )


def _columns(grid: FillerGrid, most: int) -> list[int]:
    """The templates with the lowest share, in the order of the files."""
    shares = []
    for place in range(len(grid.templates)):
        right = sum(row.right[place] for row in grid.rows)
        total = sum(row.total[place] for row in grid.rows)
        shares.append((right / total if total else 1.0, place))
    return sorted(place for _, place in sorted(shares)[:most])


def _shaded(right: int, total: int) -> str:
    if not total:
        return '<td class="n muted">·</td>'
    shade = math.ceil(_SHADES * (1 - right / total))
    return (
        f'<td class="n heat{shade}">{percent(right / total)}'
        f'<span class="id">{right:,}/{total:,}</span></td>'
    )


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
