"""Reports on several audits, for a pull request and for a browser.

They show two audits side by side, a grid as a heat map, or what predicts that a model fails. In:
their documents. Out: Markdown, or one self-contained HTML file. Every number is that of the
document. Every shade of a grid is also a number in its cell, and better or worse is also a word in
the table below. Text of rules, names of features and their values stay text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from sears_dsl.auditing import comparison as comparisons
from sears_dsl.auditing import grids
from sears_dsl.auditing.failures import AuditName, ErrorsDocument, FeatureRecord
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.answer_parts import CONFIDENCE_TITLE
from sears_dsl.auditing.reports.markdown import interval, number, rule_cell
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.auditing.robustness import points
from sears_dsl.errors import shortened
from sears_dsl.runtime.markdown_tables import (
    code_cell,
    code_span,
    markdown_table,
    markdown_text,
)
from sears_dsl.statistics import Share, percent


def comparison_markdown(comparison: comparisons.ComparisonDocument) -> str:
    """The comparison as Markdown."""
    heads = ("rule", "rows", "failure rate before", "after", "points (95%)", "p (Holm)", "outcome")
    rows = (_line(each) for each in comparison.rules if each.note != comparisons.NO_ROW)
    lines = [
        f"# Comparison: {_title(comparison).lower()}",
        "",
        f"First: {code_span(comparison.first_model)}. Second: "
        f"{code_span(comparison.second_model)}. {comparison.rows:,} rows, SHA-256 "
        f"`{comparison.data_sha256}`.",
        "",
        *(f"- {markdown_text(line)}" for line in comparison.summary),
        *(f"- {markdown_text(line)}" for line in comparisons.untested_rules(comparison.rules)),
        "",
        *(markdown_table(heads, "lrrrrrl", rows) if comparison.rules else ()),
        "",
        "Each rule is compared on the rows that both audits tested, by McNemar's exact test. p is "
        "Holm-corrected over all rules and the accuracies; below 5%, the difference counts as "
        "better or worse, which is a mistake in at most one of twenty comparisons. The interval "
        "is that of Bonett and Price for paired shares.",
    ]
    return "\n".join(lines) + "\n"


def _line(each: comparisons.RuleComparison) -> tuple[str, ...]:
    paired = each.failures
    p = "–" if paired.adjusted_p_value is None else f"{paired.adjusted_p_value:.2g}"
    note = f" ({code_cell(each.note)})" if each.note else ""
    return (
        rule_cell(each.rule, each.id), f"{paired.rows:,}",
        percent(paired.first_rate), percent(paired.second_rate), paired.in_points, p,
        f"{each.outcome}{note}",
    )  # fmt: skip


_NO_DIFFERENCE = "No evidence of a difference"


def _title(comparison: comparisons.ComparisonDocument) -> str:
    if comparison.worse:
        return "The second is worse"
    if "better" in comparison.outcomes:
        return "The second is better"
    return "Nothing was compared" if comparison.nothing_compared else _NO_DIFFERENCE


def comparison_page(comparison: comparisons.ComparisonDocument) -> str:
    """The page of a comparison."""
    accuracies = comparison.accuracies | {
        "rows flipped by any rule, of those that both get right": comparison.rows_flipped
    }
    known = [each.failures for each in comparison.rules if each.failures.rows]
    enough = [each for each in known if each.rows >= _FEW_ROWS] or known
    changes = [(each.second - each.first) / each.rows for each in known]
    scale = sheet.reach_of([*changes, *(end for each in enough for end in (each.low, each.high))])
    axis = sheet.comparison_axis(scale)
    heads = ("rule", "outcome", f"difference in failure rate, 95% interval{axis}", ">points",
             ">before", ">after", ">p (Holm)", ">rows")  # fmt: skip
    return _page(
        "Comparison",
        comparison,
        title=_title(comparison),
        header=(f"{comparison.first_model} → {comparison.second_model}", ""),
        sections=(
            sheet.tiles(_tile(name, paired) for name, paired in accuracies.items()),
            "<h2>Rules</h2>",
            '<p class="muted">Left of the middle, the second audit fails less. Each rule is '
            "compared on the rows that both audits tested, by McNemar's exact test; p is "
            "Holm-corrected over all rules and the accuracies.</p>",
            sheet.table(heads, [_row(each, scale) for each in comparison.rules], caption="Rules"),
        ),
    )


def _page(
    kind: str,
    document: comparisons.ComparisonDocument | grids.GridDocument,
    *,
    title: str,
    header: tuple[str, str],
    sections: Iterable[str],
) -> str:
    """The page of audits side by side: their names, the outcome, and the sections."""
    outcome = "failed" if document.worse else "measured" if title.startswith("No") else "passed"
    sign = {"failed": "✕", "passed": "✓", "measured": "="}[outcome]
    name, beside = header
    body = "\n".join(
        (
            f"{sheet.header('sears compare', name, f'{document.rows:,} rows{beside}')}<main>",
            sheet.verdict(outcome, sign, title, f"<ul>{sheet.items(document.summary)}</ul>"),
            *sections,
            f"</main><footer>Data SHA-256 {document.data_sha256}</footer>",
        )
    )
    return sheet.page(f"{kind}: {title.lower()}", body)


def _row(each: comparisons.RuleComparison, scale: float) -> tuple[str, ...]:
    paired = each.failures
    p = "–" if paired.adjusted_p_value is None else f"{paired.adjusted_p_value:.3f}"
    change = paired.rows and (paired.second - paired.first) / paired.rows
    value = (change, paired.low, paired.high) if paired.rows else None
    return (
        sheet.rule(each.rule, f"{each.id} · {each.note}" if each.note else each.id),
        sheet.chip(each.outcome),
        sheet.signed_bar(value, scale, kind=sheet.css_class(each.outcome)),
        escaped(paired.in_points),
        percent(paired.first_rate),
        percent(paired.second_rate),
        p,
        f"{paired.rows:,}",
    )


def _tile(name: str, paired: comparisons.Paired) -> tuple[str, str, str]:
    decides = paired.adjusted_p_value is not None
    p_value = paired.adjusted_p_value if decides else paired.p_value
    p = "–" if p_value is None else f"{p_value:.2g}{' (Holm)' if decides else ''}"
    return paired.in_percent, name, f"{paired.in_points} points, p = {p}"


# Intervals of fewer rows are so wide that they are cut off at the end of the axis.
_FEW_ROWS = 20
_WIDTH = 104
_HEIGHT = 30
_LEFT = 310
_TOP = 30
_NAME = 34
_STRONG = 5
SIGNS = {"worse": "▲", "better": "▼", "no evidence": "", "not compared": ""}


def grid_markdown(document: grids.GridDocument) -> str:
    """The grid as Markdown: failure rates, ▲ worse and ▼ better than the first."""
    names = [markdown_text(each.name) for each in document.models]
    rows = [
        *_accuracies(document),
        *(
            (
                rule_cell(rule.rule, rule.id),
                [(cell.failures, cell.against_first) for cell in rule.cells],
            )
            for rule in document.rules
            if rule.is_tested
        ),
    ]
    lines = [
        f"# Grid: {_grid_title(document).lower()}",
        "",
        *(f"- {markdown_text(line)}" for line in document.summary),
        "",
        *markdown_table(
            ("rule", *names),
            "l" + "r" * len(names),
            ((name, *(_rate_cell(*each) for each in cells)) for name, cells in rows),
        ),
        "",
        *_confidence_lines(document),
        "",
        f"{_READING} Rules that no audit tested on a row are left out. Models: "
        + ", ".join(f"{markdown_text(m.name)} {code_span(m.model)}" for m in document.models)
        + f". {document.rows:,} rows, SHA-256 `{document.data_sha256}`.",
    ]
    return "\n".join(lines) + "\n"


_READING = (
    "A cell is the failure rate of a model: the share of tested rows on which it does not do what "
    "the rule expects, with the number of rows. In the lines of accuracy it is the share of right "
    "rows. ▲ means worse than the first model, ▼ better, on the rows that both were tested on "
    "(McNemar's exact test, p < 5%, Holm-corrected over all cells)."
)


def _grid_title(document: grids.GridDocument) -> str:
    if document.worse:
        return "Some models are worse than the first"
    contrasts = [cell.against_first for rule in document.rules for cell in rule.cells]
    contrasts += [contrast for _, cells in _accuracies(document) for _, contrast in cells]
    if "better" in {each.outcome for each in contrasts if each is not None}:
        return "Some models are better than the first"
    return "Not every model was compared" if document.nothing_compared else _NO_DIFFERENCE


def _accuracies(
    document: grids.GridDocument,
) -> Iterator[tuple[str, list[tuple[Share | None, grids.Contrast | None]]]]:
    """The lines of accuracies, as far as there are labels and template sentences."""
    for name in document.models[0].accuracies:
        cells = [each.accuracies[name] for each in document.models]
        if any(share is not None for share, _ in cells):
            yield name, cells


def _rate_cell(share: Share | None, contrast: grids.Contrast | None) -> str:
    if share is None or share.rate is None:
        return "–"
    sign = "" if contrast is None else SIGNS[contrast.outcome]
    return f"{percent(share.rate)} ({share.total:,}){' ' if sign else ''}{sign}"


def grid_page(document: grids.GridDocument) -> str:
    """The page of a grid."""
    first = f"<code>{escaped(document.models[0].name)}</code>"
    return _page(
        "Grid",
        document,
        title=_grid_title(document),
        header=(", ".join(each.name for each in document.models), f", all against {first}"),
        sections=(
            "<h2>Failure rates</h2>",
            f'<p class="muted">{escaped(_READING)}</p>',
            f'<div class="scroll card" tabindex="0" role="region" aria-label="Heat map">'
            f"{heat_map(document)}</div>",
            "<h2>Each model against the first</h2>",
            _contrasts(document),
            "<h2>Models</h2>",
            _models(document.models),
            f"<h2>{CONFIDENCE_TITLE}</h2>",
            _confidences(document),
        ),
    )


def heat_map(document: grids.GridDocument) -> str:
    """A map of rules by models, darker with more failures; each cell has its rate."""
    parts = []
    for column, model in enumerate(document.models):
        x = _LEFT + column * _WIDTH + _WIDTH / 2
        name = _titled(model.name, 14)
        parts.append(sheet.label(x, _TOP - 10, name, anchor="middle", kind="tick"))
    for row, rule in enumerate(document.rules):
        y = _TOP + row * _HEIGHT
        name = _titled(rule.rule, _NAME)
        parts.append(sheet.label(_LEFT - 10, y + _HEIGHT / 2 + 4, name, anchor="end"))
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
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return sheet.svg("matrix", size, f"Failure rates. {words}", parts)


def _titled(name: str, most: int) -> str:
    """A name in at most so many characters; the whole one shows under the pointer."""
    return f"<title>{escaped(name)}</title>{escaped(shortened(name, most))}"


def _square(cell: grids.Cell, column: int, y: int) -> str:
    rate = None if cell.failures is None else cell.failures.rate
    shade = math.ceil(sheet.SHADES * (rate or 0.0))
    content = _rate_cell(cell.failures, cell.against_first)
    return sheet.square(
        _LEFT + column * _WIDTH, y, (_WIDTH, _HEIGHT), content,
        kind=f"heat heat{shade}", strong=shade > _STRONG,
    )  # fmt: skip


def _contrasts(document: grids.GridDocument) -> str:
    """A line for each rule and model after the first."""
    heads = ("rule", "model", "outcome", ">first model", ">this model", ">points (95%)",
             ">p (Holm)", ">q", ">rows")  # fmt: skip
    lines = [(name, [contrast for _, contrast in cells]) for name, cells in _accuracies(document)]
    lines += [(rule.rule, [cell.against_first for cell in rule.cells]) for rule in document.rules]
    rows = [
        _contrast(name, model.name, contrast)
        for name, contrasts in lines
        for model, contrast in zip(document.models, contrasts, strict=True)
        if contrast is not None
    ]
    return sheet.table(heads, rows, caption="Each model against the first")


def _contrast(name: str, model: str, contrast: grids.Contrast) -> tuple[str, ...]:
    paired = contrast.paired
    p, q = ("–" if each is None else f"{each:.3f}"
            for each in (paired.adjusted_p_value, contrast.q_value))  # fmt: skip
    return (
        sheet.rule(name), escaped(model), sheet.chip(contrast.outcome), percent(paired.first_rate),
        percent(paired.second_rate), escaped(paired.in_points), p, q, f"{paired.rows:,}",
    )  # fmt: skip


_NOT_GIVEN = "Not given: no model reports its confidence."


def _confidences(document: grids.GridDocument) -> str:
    """Mean confidence in wrong and in right answers, a line for untouched rows and each rule."""
    if not document.confidences:
        return f'<p class="muted">{_NOT_GIVEN}</p>'
    heads = ("answers to", *(f">{escaped(each.name)}: wrong | right" for each in document.models))
    rows = [(sheet.rule(line.name), *map(_sure, line.cells)) for line in document.confidences]
    return sheet.table(heads, rows, caption="Mean confidence, with the number of answers")


def _sure(cell: grids.MeanConfidence | None) -> str:
    if cell is None:
        return "not given"
    sides = ((cell.wrong, cell.wrong_answers), (cell.right, cell.right_answers))
    return " | ".join("–" if mean is None else f"{mean:.2f} ({n:,})" for mean, n in sides)


def _confidence_lines(document: grids.GridDocument) -> Iterator[str]:
    yield f"## {CONFIDENCE_TITLE}"
    yield ""
    if not document.confidences:
        yield _NOT_GIVEN
        return
    yield "Mean confidence in wrong, then in right answers, with the number of answers."
    yield ""
    names = [markdown_text(each.name) for each in document.models]
    yield from markdown_table(
        ("answers to", *names),
        "l" + "r" * len(names),
        (
            (code_cell(line.name), *(_sure(each).replace("|", "·") for each in line.cells))
            for line in document.confidences
        ),
    )


def _models(models: Sequence[grids.GridModel]) -> str:
    heads = ("name", "model", "verdict", ">accuracy", ">accuracy, worst rewrites",
             ">rows flipped by any rule")  # fmt: skip
    rows = [
        (escaped(each.name), f"<code>{escaped(each.model)}</code>", sheet.chip(each.verdict),
         *map(sheet.rate_with_interval, (each.accuracy, each.worst, each.flipped)))
        for each in models
    ]  # fmt: skip
    return sheet.table(heads, rows, caption="Models")


def errors_markdown(document: ErrorsDocument) -> str:
    """What predicts errors, as Markdown, most important first."""
    audits = (
        (markdown_text(each.name), code_cell(each.model), *_wrong_answers(each))
        for each in document.audits
    )
    features = ((code_cell(each.name), *_lost(each)) for each in document.features)
    lost = "points of micro F1 lost if shuffled"
    lines = [
        f"# Errors: {'predictable' if document.foretold else 'not predictable'}",
        "",
        f"**{markdown_text(document.conclusion)}**",
        "",
        f"{number(document.wrong)} of the answers are wrong.",
        "",
        *markdown_table(("audit", "model", "answers", "wrong", "95%"), "llrrr", audits),
        "",
        "## What predicts an error",
        "",
        *markdown_table(("feature", lost, "95%", "answers with a value"), "lrrr", features),
        "",
        "## Wrong answers by feature",
        "",
    ]
    for each in document.features:
        rows = (
            (markdown_text(part.value), number(part.wrong), interval(part.wrong))
            for part in each.parts
        )
        heads = (code_cell(each.name), "wrong", "95%")
        lines += [*markdown_table(heads, "lrr", rows), ""]
    lines += ["## How to read this", "", *(f"- {markdown_text(each)}" for each in _notes(document))]
    return "\n".join(lines) + "\n"


def errors_page(document: ErrorsDocument) -> str:
    """The page of what predicts errors."""
    title = ", ".join(each.name for each in document.audits)
    reach = sheet.reach_of(
        end for each in document.features for end in (each.importance.low, each.importance.high)
    )
    axis = sheet.comparison_axis(reach)
    heads = ("feature", f"points of micro F1 lost if shuffled{axis}", ">points",
             ">95% interval", ">answers with a value")  # fmt: skip
    rows = [
        (
            sheet.rule(each.name),
            sheet.signed_bar((lost.mean, lost.low, lost.high), reach,
                             kind="" if lost.low > 0 else "unjudged"),
            *_lost(each),
        )
        for each in document.features
        for lost in [each.importance]
    ]  # fmt: skip
    about = f"{document.wrong.total:,} answers to {document.data.rows:,} rows"
    outcome = f"Errors can{'' if document.foretold else 'not'} be predicted"
    versions = ", ".join(f"{name} {number}" for name, number in document.versions.items())
    body = "\n".join(
        (
            f"{sheet.header('sears errors', title, about)}<main>",
            sheet.verdict("measured", "•", outcome, f"<p>{escaped(document.conclusion)}</p>"),
            sheet.tiles(_error_tiles(document)),
            "<h2>What predicts an error</h2>",
            '<p class="muted">How much micro F1 drops if the values of a feature are shuffled '
            "among the held-out answers; the line is the 95% interval over the folds. Features "
            "that carry the same information share their worth.</p>",
            sheet.table(heads, rows, caption="What predicts an error"),
            "<h2>Wrong answers by feature</h2>",
            *_by_feature(document),
            *_audits(document),
            f'<h2>How to read this</h2><ul class="facts-list">{sheet.items(_notes(document))}</ul>',
            f"</main><footer><div>Data SHA-256 {document.data.sha256}. Seed {document.seed}.</div>"
            f"<div>{escaped(versions)}.</div></footer>",
        )
    )
    return sheet.page(f"Errors of {title}", body)


def _lost(feature: FeatureRecord) -> tuple[str, str, str]:
    """Points that are lost without a feature, their interval, and answers with a value."""
    lost = feature.importance
    mean, low, high = (f"{100 * each:+z.2f}" for each in (lost.mean, lost.low, lost.high))
    return mean, f"{low} to {high}", f"{feature.known:,}"


def _error_tiles(document: ErrorsDocument) -> Sequence[tuple[str, str, str]]:
    majority, f1, over = document.majority_f1, document.f1, document.over_majority
    return (
        (f"{majority.mean:.3f} → {f1.mean:.3f}", "micro F1: majority class → learned",
         f"± {majority.deviation:.3f} and ± {f1.deviation:.3f} over {len(f1.folds)} folds"),
        (points(over.mean), "points over the majority class",
         f"95% {points(over.low)} to {points(over.high)}"),
        (percent(document.wrong.rate), "of the answers are wrong",
         f"{document.wrong.count:,} of {document.wrong.total:,}"),
    )  # fmt: skip


def _by_feature(document: ErrorsDocument) -> Iterator[str]:
    """A small table for each feature, all on one scale."""
    shares = [part.wrong for each in document.features for part in each.parts]
    limit = document.wrong.rate
    top = sheet.top_for(shares, [limit])
    for feature in document.features:
        name, axis = escaped(feature.name), sheet.axis(top)
        heads = (name, f"wrong answers, 95% interval{axis}", ">wrong", ">share", ">95% interval")
        rows = [
            (escaped(part.value), sheet.interval_bar(wrong, top, limit=limit),
             f"{wrong.count:,} / {wrong.total:,}", percent(wrong.rate), interval(wrong))
            for part in feature.parts
            for wrong in [part.wrong]
        ]  # fmt: skip
        yield f"<h3>By {name}</h3>"
        yield sheet.table(heads, rows, caption=f"Wrong answers by {feature.name}")


def _audits(document: ErrorsDocument) -> Iterator[str]:
    yield "<h2>Audits</h2>"
    rows = [
        (escaped(each.name), f"<code>{escaped(each.model)}</code>", *_wrong_answers(each))
        for each in document.audits
    ]
    heads = ("audit", "model", ">answers", ">wrong", ">95% interval")
    yield sheet.table(heads, rows, caption="Audits")


def _wrong_answers(audit: AuditName) -> tuple[str, str, str]:
    return f"{audit.answers:,}", percent(audit.wrong.rate), interval(audit.wrong)


def _notes(document: ErrorsDocument) -> list[str]:
    folds = len(document.f1.folds)
    return [
        *document.notes,
        f"Gradient boosting (scikit-learn, histograms) learns from {folds - 1} of {folds} folds "
        "and is judged on the other; folds are made of rows, shuffled with the seed. Micro F1 of "
        "two classes is the share of answers that are classified correctly.",
        "An answer to a rewrite is wrong if the model does not do what the rule expects; an answer "
        "to an original row, if it is not the label.",
        "Intervals over folds are Student's with the variance of Nadeau and Bengio, because folds "
        "share training answers; those of shares are Wilson's, at 95%.",
        "A feature that predicts errors need not cause them.",
    ]
