"""A comparison of two audits, for a pull request and for a browser.

In: `ComparisonDocument`. Out: Markdown; one self-contained HTML file. Always holds: every number is
that of the document; text of rules stays text.
"""

from __future__ import annotations

from sears_dsl.auditing.comparison import ComparisonDocument, Paired, RuleComparison
from sears_dsl.auditing.reports import charts, sheet
from sears_dsl.auditing.reports.markdown_tables import code_cell
from sears_dsl.auditing.reports.sheet import escaped
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
    accuracies = (
        ("accuracy", comparison.accuracy),
        ("accuracy against the worst rule for each row", comparison.worst_accuracy),
        ("rows flipped by any rule, of those both have right", comparison.rows_flipped),
    )
    scale = charts.difference_scale([each.failures for each in comparison.rules])
    axis = charts.comparison_axis(scale)
    heads = ("rule", "", f"difference of failure rates, 95% interval{axis}", ">points", ">before",
             ">after", ">p (Holm)", ">rows")  # fmt: skip
    models = f"{comparison.first_model} → {comparison.second_model}"
    summary = f"<ul>{sheet.items(comparison.summary)}</ul>"
    body = "\n".join(
        (
            f"{sheet.header('sears compare', models, f'{comparison.rows:,} rows')}<main>",
            sheet.verdict(outcome, sign, _title(comparison), summary),
            sheet.tiles(_tile(name, paired) for name, paired in accuracies if paired is not None),
            "<h2>Rules</h2>",
            '<p class="muted">Left of the middle the second audit fails less. Each rule is '
            "compared on the rows that both audits tested, by McNemar's exact test; p is after "
            "Holm, over all rules and the accuracies.</p>",
            sheet.table(heads, [_row(each, scale) for each in comparison.rules], caption="Rules"),
            f"</main><footer>Data SHA-256 {comparison.data_sha256}</footer>",
        )
    )
    return sheet.page(f"Comparison: {_title(comparison).lower()}", body)


def _row(each: RuleComparison, scale: float) -> str:
    paired = each.failures
    p = "–" if paired.adjusted_p_value is None else f"{paired.adjusted_p_value:.3f}"
    numbers = (
        escaped(paired.in_points), percent(paired.first_rate), percent(paired.second_rate), p,
        f"{paired.rows:,}",
    )  # fmt: skip
    return (
        f"<tr>{sheet.rule(each.rule, f'{each.id} · {each.note}' if each.note else each.id)}"
        f"<td>{sheet.chip(each.outcome)}</td>"
        f"<td>{charts.comparison_bar(paired, scale, kind=sheet.css_class(each.outcome))}</td>"
        f"{sheet.numbers(*numbers)}</tr>"
    )


def _tile(name: str, paired: Paired) -> tuple[str, str, str]:
    decides = paired.adjusted_p_value is not None
    p_value = paired.adjusted_p_value if decides else paired.p_value
    p = "–" if p_value is None else f"{p_value:.2g}{' (Holm)' if decides else ''}"
    value = f"{percent(paired.first_rate)} → {percent(paired.second_rate)}"
    return value, name, f"{paired.in_points} points, p = {p}"
