"""Audits side by side as a grid, for a pull request and for a browser: a heat map and its numbers.

In: `GridDocument`. Out: Markdown; one self-contained HTML file. Always holds: every shade is a
number in its cell, and better or worse than the first a word in the table below; text of rules
stays text.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from sears_dsl.auditing.grid import Cell, Contrast, GridDocument, GridModel, MeanConfidence
from sears_dsl.auditing.reports.code_cells import code_cell, markdown_text
from sears_dsl.auditing.reports.sheet import chip, escaped, page_of, rate_with_interval, table
from sears_dsl.auditing.shares import Share, percent

_WIDTH = 104
_HEIGHT = 30
_LEFT = 310
_TOP = 30
_NAME = 34
_SIGNS = {"worse": "▲", "better": "▼", "no evidence": "", "not compared": ""}
# So many shades there are of one colour, from nothing to everything.
_SHADES = 9
_STRONG = 5


def grid_markdown(document: GridDocument) -> str:
    """The grid as Markdown: failure rates, ▲ worse and ▼ better than the first."""
    names = [markdown_text(each.name) for each in document.models]
    lines = [
        f"# Grid: {_title(document).lower()}",
        "",
        *(f"- {markdown_text(line)}" for line in document.summary),
        "",
        f"| rule | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
        *(
            f"| {name} | {' | '.join(_rate_cell(share, contrast) for share, contrast in cells)} |"
            for name, cells in _accuracies(document)
        ),
        *(
            f"| {code_cell(rule.rule)}<br>{code_cell(rule.id)} | "
            f"{' | '.join(_rate_cell(each.failures, each.against_first) for each in rule.cells)} |"
            for rule in document.rules
        ),
        "",
        *_confidence_lines(document),
        "",
        f"{_READING} Models: "
        + ", ".join(f"{markdown_text(m.name)} {code_cell(m.model)}" for m in document.models)
        + f". {document.rows:,} rows, SHA-256 `{document.data_sha256}`.",
    ]
    return "\n".join(lines) + "\n"


_READING = (
    "Cells are the share of tested rows on which a model does not do as the rule expects, with its "
    "number of rows; those of accuracy are of rows that are right. ▲ is more failures than the "
    "first, ▼ fewer, on the rows that both were tested on (McNemar's exact test, p < 5% after Holm "
    "over all cells)."
)


def _title(document: GridDocument) -> str:
    if document.worse:
        return "Some are worse than the first"
    outcomes = {
        cell.against_first.outcome
        for rule in document.rules
        for cell in rule.cells
        if cell.against_first is not None
    }
    if "better" in outcomes:
        return "Some are better than the first"
    return "No evidence of a difference"


def _accuracies(
    document: GridDocument,
) -> Iterator[tuple[str, list[tuple[Share | None, Contrast | None]]]]:
    """The lines of accuracies, where there are labels."""
    models = document.models
    if all(each.accuracy is None for each in models):
        return
    yield "accuracy", [(each.accuracy, each.accuracy_against_first) for each in models]
    yield (
        "accuracy against the worst rule",
        [(each.worst, each.worst_against_first) for each in models],
    )


def _rate_cell(share: Share | None, contrast: Contrast | None) -> str:
    if share is None or share.rate is None:
        return "–"
    sign = "" if contrast is None else _SIGNS[contrast.outcome]
    return f"{percent(share.rate)} ({share.total:,}){' ' if sign else ''}{sign}"


def grid_page(document: GridDocument) -> str:
    """The page of a grid."""
    title = _title(document)
    outcome = "failed" if document.worse else "measured" if title.startswith("No") else "passed"
    sign = {"failed": "✕", "passed": "✓", "measured": "="}[outcome]
    summary = "".join(f"<li>{escaped(line)}</li>" for line in document.summary)
    first = document.models[0]
    body = "\n".join(
        (
            '<header><div class="eyebrow">sears compare</div>'
            f"<h1>{escaped(', '.join(each.name for each in document.models))}</h1>"
            f'<p class="muted">{document.rows:,} rows, all against '
            f"<code>{escaped(first.name)}</code></p></header><main>",
            f'<section class="card verdict {outcome}"><div class="sign" aria-hidden="true">{sign}'
            f"</div><div><h2>{escaped(title)}</h2><ul>{summary}</ul></div></section>",
            "<h2>Failure rates</h2>",
            f'<p class="muted">{escaped(_READING)}</p>',
            f'<div class="scroll card" tabindex="0" role="region" aria-label="Heat map">'
            f"{heat_map(document)}</div>",
            "<h2>Each model against the first</h2>",
            _contrasts(document),
            "<h2>Models</h2>",
            _models(document.models),
            "<h2>How sure each is where it is right and where it is wrong</h2>",
            _confidences(document),
            f"</main><footer>Data SHA-256 {document.data_sha256}</footer>",
        )
    )
    return page_of(f"Grid: {title.lower()}", body)


def heat_map(document: GridDocument) -> str:
    """Rules by models, the darker the more failures; the rate stands in each cell."""
    parts = []
    for column, model in enumerate(document.models):
        x = _LEFT + column * _WIDTH + _WIDTH / 2
        parts.append(
            f'<text x="{x}" y="{_TOP - 10}" text-anchor="middle" class="tick">'
            f"<title>{escaped(model.name)}</title>{escaped(_short(model.name, 14))}</text>"
        )
    for row, rule in enumerate(document.rules):
        y = _TOP + row * _HEIGHT
        parts.append(
            f'<text x="{_LEFT - 10}" y="{y + _HEIGHT / 2 + 4}" text-anchor="end">'
            f"<title>{escaped(rule.rule)}</title>{escaped(_short(rule.rule, _NAME))}</text>"
        )
        parts += [_square(cell, column, y) for column, cell in enumerate(rule.cells)]
    width = _LEFT + _WIDTH * len(document.models) + 2
    height = _TOP + _HEIGHT * len(document.rules) + 2
    words = "; ".join(
        f"{rule.rule}: "
        + ", ".join(
            f"{model.name} {percent(None if cell.failures is None else cell.failures.rate)}"
            for model, cell in zip(document.models, rule.cells, strict=True)
        )
        for rule in document.rules
    )
    return (
        f'<svg class="matrix" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{html.escape(f"Failure rates. {words}")}">{"".join(parts)}</svg>'
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _square(cell: Cell, column: int, y: int) -> str:
    rate = None if cell.failures is None else cell.failures.rate
    shade = 0 if not rate else max(1, math.ceil(_SHADES * rate))
    x = _LEFT + column * _WIDTH
    strong = " strong" if shade > _STRONG else ""
    return (
        f'<rect x="{x + 1}" y="{y + 1}" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" rx="4" '
        f'class="heat heat{shade}"/><text x="{x + _WIDTH / 2}" y="{y + _HEIGHT / 2 + 4}" '
        f'text-anchor="middle" class="count{strong}">'
        f"{_rate_cell(cell.failures, cell.against_first)}</text>"
    )


def _contrasts(document: GridDocument) -> str:
    """A line for each rule and model after the first."""
    heads = ("rule", "model", "", ">first", ">this one", ">difference, points (95%)",
             ">p (Holm)", ">q", ">rows")  # fmt: skip
    rows = []
    for name, cells in _accuracies(document):
        rows += [
            _contrast(name, model.name, contrast)
            for model, (_, contrast) in zip(document.models, cells, strict=True)
            if contrast is not None
        ]
    for rule in document.rules:
        rows += [
            _contrast(rule.rule, model.name, cell.against_first)
            for model, cell in zip(document.models, rule.cells, strict=True)
            if cell.against_first is not None
        ]
    return table(heads, rows, caption="Each model against the first")


def _contrast(what: str, model: str, contrast: Contrast) -> str:
    paired = contrast.paired
    p, q = paired.adjusted_p_value, contrast.q_value
    return (
        f'<tr><td class="rule"><span class="code">{escaped(what)}</span></td>'
        f"<td>{escaped(model)}</td><td>{chip(contrast.outcome)}</td>"
        f'<td class="n">{percent(paired.first_rate)}</td>'
        f'<td class="n">{percent(paired.second_rate)}</td>'
        f'<td class="n">{escaped(paired.in_points)}</td>'
        f'<td class="n">{"–" if p is None else f"{p:.3f}"}</td>'
        f'<td class="n">{"–" if q is None else f"{q:.3f}"}</td>'
        f'<td class="n">{paired.rows:,}</td></tr>'
    )


_NOT_GIVEN = "Not given: no model says how sure it is."


def _confidences(document: GridDocument) -> str:
    """Mean confidence of wrong and of right answers, a line for rows as they are and each rule."""
    if not document.confidences:
        return f'<p class="muted">{_NOT_GIVEN}</p>'
    heads = ("answers to", *(f">{escaped(each.name)}: wrong | right" for each in document.models))
    rows = []
    for line in document.confidences:
        cells = "".join(f'<td class="n">{_sure(each)}</td>' for each in line.cells)
        rows.append(
            f'<tr><td class="rule"><span class="code">{escaped(line.name)}</span></td>{cells}</tr>'
        )
    return table(heads, rows, caption="Mean confidence, with the number of answers")


def _sure(cell: MeanConfidence | None) -> str:
    if cell is None:
        return "not given"
    sides = ((cell.wrong, cell.wrong_answers), (cell.right, cell.right_answers))
    return " | ".join("–" if mean is None else f"{mean:.2f} ({n:,})" for mean, n in sides)


def _confidence_lines(document: GridDocument) -> Iterator[str]:
    yield "## How sure each is where it is right and where it is wrong"
    yield ""
    if not document.confidences:
        yield _NOT_GIVEN
        return
    yield "Mean confidence of wrong, then of right answers, with their number."
    yield ""
    names = " | ".join(markdown_text(each.name) for each in document.models)
    yield f"| answers to | {names} |"
    yield f"|---|{'---:|' * len(document.models)}"
    for line in document.confidences:
        cells = " | ".join(_sure(each).replace("|", "·") for each in line.cells)
        yield f"| {code_cell(line.name)} | {cells} |"


def _models(models: Sequence[GridModel]) -> str:
    heads = (
        "name",
        "model",
        "verdict",
        ">accuracy",
        ">against the worst rule",
        ">rows flipped by any rule",
    )
    rows = [
        f"<tr><td>{escaped(each.name)}</td><td><code>{escaped(each.model)}</code></td>"
        f"<td>{chip(each.verdict)}</td>"
        f'<td class="n">{rate_with_interval(each.accuracy)}</td>'
        f'<td class="n">{rate_with_interval(each.worst)}</td>'
        f'<td class="n">{rate_with_interval(each.flipped)}</td></tr>'
        for each in models
    ]
    return table(heads, rows, caption="Models")
