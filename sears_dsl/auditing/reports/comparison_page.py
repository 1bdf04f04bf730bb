"""A comparison of two audits, for a pull request and for a browser.

In: `ComparisonDocument`. Out: Markdown; one self-contained HTML file. Always holds: every number is
that of the document; text of rules stays text.
"""

from __future__ import annotations

from sears_dsl.auditing.comparison import ComparisonDocument, Paired, RuleComparison
from sears_dsl.auditing.reports.charts import comparison_axis, comparison_bar, difference_scale
from sears_dsl.auditing.reports.code_cells import code_cell
from sears_dsl.auditing.reports.sheet import chip, css_class, escaped, page_of, table
from sears_dsl.auditing.shares import percent


def comparison_markdown(comparison: ComparisonDocument) -> str:
    """The comparison as Markdown."""
    lines = [
        f"# Comparison: {_title(comparison).lower()}",
        "",
        f"First: {code_cell(comparison.first_model)}. Second: "
        f"{code_cell(comparison.second_model)}. {comparison.rows:,} rows, SHA-256 "
        f"`{comparison.data_sha256}`.",
        "",
        *(f"- {line}" for line in comparison.summary),
        "",
        "| rule | rows | fails before | after | difference in points (95%) | p (Holm) | |",
        "|---|---:|---:|---:|---:|---:|---|",
        *map(_line, comparison.rules),
        "",
        "Each rule is compared on the rows that both audits tested, by McNemar's exact test; p is "
        "after Holm, over all rules and the accuracies: where it is below 5% the difference is "
        "called better or worse, which is a mistake in at most one of twenty comparisons. The "
        "interval is that of Agresti and Min for paired shares.",
    ]
    return "\n".join(lines) + "\n"


def _line(each: RuleComparison) -> str:
    paired = each.failures
    p = "–" if paired.adjusted_p_value is None else f"{paired.adjusted_p_value:.2g}"
    note = f" ({code_cell(each.note)})" if each.note else ""
    return (
        f"| {code_cell(each.rule)}<br>{code_cell(each.id)} | {paired.rows:,} "
        f"| {percent(paired.first_rate)} | {percent(paired.second_rate)} | {paired.in_points} "
        f"| {p} | {each.outcome}{note} |"
    )


def _title(comparison: ComparisonDocument) -> str:
    if comparison.worse:
        return "The second is worse"
    if any(each.outcome == "better" for each in comparison.rules):
        return "The second is better"
    return "No evidence of a difference"


def comparison_page(comparison: ComparisonDocument) -> str:
    """The page of a comparison."""
    outcome = "failed" if comparison.worse else "passed"
    if _title(comparison).startswith("No"):
        outcome = "measured"
    sign = {"failed": "✕", "passed": "✓", "measured": "="}[outcome]
    summary = "".join(f"<li>{escaped(line)}</li>" for line in comparison.summary)
    tiles = "".join(
        _tile(name, paired)
        for name, paired in (
            ("accuracy", comparison.accuracy),
            ("accuracy against the worst rule for each row", comparison.worst_accuracy),
            ("rows flipped by any rule, of those both have right", comparison.rows_flipped),
        )
        if paired is not None
    )
    scale = difference_scale([each.failures for each in comparison.rules])
    heads = ("rule", "", f"difference of failure rates, 95% interval{comparison_axis(scale)}",
             ">points", ">before", ">after", ">p (Holm)", ">rows")  # fmt: skip
    rows = [
        f'<tr><td class="rule"><span class="code">{escaped(each.rule)}</span>'
        f'<span class="id">{escaped(each.id)}{_note(each)}</span></td><td>{chip(each.outcome)}</td>'
        f"<td>{comparison_bar(each.failures, scale, kind=css_class(each.outcome))}</td>"
        f'<td class="n">{escaped(each.failures.in_points)}</td>'
        f'<td class="n">{percent(each.failures.first_rate)}</td>'
        f'<td class="n">{percent(each.failures.second_rate)}</td>'
        f'<td class="n">{_probability(each.failures)}</td>'
        f'<td class="n">{each.failures.rows:,}</td></tr>'
        for each in comparison.rules
    ]
    body = "\n".join(
        (
            '<header><div class="eyebrow">sears compare</div>'
            f"<h1>{escaped(comparison.first_model)} → {escaped(comparison.second_model)}</h1>"
            f'<p class="muted">{comparison.rows:,} rows</p></header><main>',
            f'<section class="card verdict {outcome}"><div class="sign" aria-hidden="true">{sign}'
            f"</div><div><h2>{_title(comparison)}</h2><ul>{summary}</ul></div></section>",
            f'<div class="tiles">{tiles}</div>',
            "<h2>Rules</h2>",
            '<p class="muted">Left of the middle the second audit fails less. Each rule is '
            "compared on the rows that both audits tested, by McNemar's exact test; p is after "
            "Holm, over all rules and the accuracies.</p>",
            table(heads, rows, caption="Rules"),
            f"</main><footer>Data SHA-256 {comparison.data_sha256}</footer>",
        )
    )
    return page_of(f"Comparison: {_title(comparison).lower()}", body)


def _note(each: RuleComparison) -> str:
    return f" · {escaped(each.note)}" if each.note else ""


def _probability(paired: Paired) -> str:
    return "–" if paired.adjusted_p_value is None else f"{paired.adjusted_p_value:.3f}"


def _tile(name: str, paired: Paired) -> str:
    decides = paired.adjusted_p_value is not None
    p_value = paired.adjusted_p_value if decides else paired.p_value
    p = "–" if p_value is None else f"{p_value:.2g}{' (Holm)' if decides else ''}"
    return (
        f'<div class="card tile"><div class="value">{percent(paired.first_rate)} → '
        f'{percent(paired.second_rate)}</div><div class="label">{escaped(name)}</div>'
        f'<div class="note">{escaped(paired.in_points)} points, p = {p}</div></div>'
    )
