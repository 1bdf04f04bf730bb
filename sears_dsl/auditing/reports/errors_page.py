"""What predicts that a model fails, for a pull request and for a browser.

Always holds: every number is that of the document; names of features and their values stay text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sears_dsl.auditing.failures import ErrorsDocument, OverFolds
from sears_dsl.auditing.reports import sheet
from sears_dsl.auditing.reports.markdown import interval, number
from sears_dsl.auditing.reports.markdown_tables import code_cell, markdown_text
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.statistics import percent


def errors_markdown(document: ErrorsDocument) -> str:
    """What predicts errors, as Markdown, most important first."""
    lines = [
        f"# Errors: {'can be foreseen' if document.foretold else 'cannot be foreseen'}",
        "",
        f"**{markdown_text(document.conclusion)}**",
        "",
        f"{number(document.wrong)} of the answers are wrong.",
        "",
        "| audit | model | answers | wrong | 95% |",
        "|---|---|---:|---:|---:|",
        *(
            f"| {markdown_text(each.name)} | {code_cell(each.model)} | {each.answers:,} "
            f"| {percent(each.wrong.rate)} | {interval(each.wrong)} |"
            for each in document.audits
        ),
        "",
        "## What predicts an error",
        "",
        "| feature | micro F1 lost where it is shuffled, points | 95% | known for |",
        "|---|---:|---:|---:|",
        *(
            f"| {code_cell(each.name)} | {100 * each.importance.mean:+.2f} "
            f"| {_between(each.importance)} | {each.known:,} |"
            for each in document.features
        ),
        "",
        "## Wrong answers by feature",
        "",
    ]
    for each in document.features:
        lines += [
            f"| {code_cell(each.name)} | wrong | 95% |",
            "|---|---:|---:|",
            *(
                f"| {markdown_text(part.value)} | {number(part.wrong)} | {interval(part.wrong)} |"
                for part in each.parts
            ),
            "",
        ]
    lines += ["## How to read this", "", *(f"- {markdown_text(each)}" for each in _notes(document))]
    return "\n".join(lines) + "\n"


def errors_page(document: ErrorsDocument) -> str:
    """The page of what predicts errors."""
    title = ", ".join(each.name for each in document.audits)
    reach = sheet.reach_of(
        end for each in document.features for end in (each.importance.low, each.importance.high)
    )
    axis = sheet.comparison_axis(reach)
    heads = ("feature", f"micro F1 lost where it is shuffled, points{axis}", ">points",
             ">95% interval", ">known for")  # fmt: skip
    rows = [
        f"<tr>{sheet.rule(each.name)}<td>{_importance(each.importance, reach)}</td>"
        + sheet.numbers(
            f"{100 * each.importance.mean:+.2f}", _between(each.importance), f"{each.known:,}"
        )
        + "</tr>"
        for each in document.features
    ]
    about = f"{document.wrong.total:,} answers to {document.data.rows:,} rows"
    outcome = f"Errors can{'' if document.foretold else 'not'} be foreseen"
    versions = ", ".join(f"{name} {number}" for name, number in document.versions.items())
    body = "\n".join(
        (
            f"{sheet.header('sears errors', title, about)}<main>",
            sheet.verdict("measured", "•", outcome, f"<p>{escaped(document.conclusion)}</p>"),
            sheet.tiles(_tiles(document)),
            "<h2>What predicts an error</h2>",
            '<p class="muted">What micro F1 loses where the values of a feature are shuffled among '
            "the answers that are judged; the line is its 95% interval over the folds. Features "
            "that say the same share what they are worth.</p>",
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


def _importance(importance: OverFolds, reach: float) -> str:
    kind = "" if importance.low > 0 else "unjudged"
    return sheet.signed_bar((importance.mean, importance.low, importance.high), reach, kind=kind)


def _between(value: OverFolds) -> str:
    return f"{100 * value.low:+.2f} to {100 * value.high:+.2f}"


def _tiles(document: ErrorsDocument) -> Sequence[tuple[str, str, str]]:
    majority, f1, over = document.majority_f1, document.f1, document.over_majority
    return (
        (f"{majority.mean:.3f} → {f1.mean:.3f}", "micro F1, majority class and learned",
         f"± {majority.deviation:.3f} and ± {f1.deviation:.3f} over {len(f1.folds)} folds"),
        (f"{100 * over.mean:+.1f}", "points over the majority class",
         f"95% {100 * over.low:+.1f} to {100 * over.high:+.1f}"),
        (percent(document.wrong.rate), "of the answers are wrong",
         f"{document.wrong.count:,} of {document.wrong.total:,}"),
    )  # fmt: skip


def _by_feature(document: ErrorsDocument) -> Iterator[str]:
    """A small table a feature, all on one scale."""
    shares = [part.wrong for each in document.features for part in each.parts]
    limit = document.wrong.rate
    scale = sheet.scale_for(shares, [limit])
    for feature in document.features:
        name, axis = escaped(feature.name), sheet.axis(scale)
        heads = (name, f"wrong answers, 95% interval{axis}", ">wrong", ">share", ">95% interval")
        rows = [
            f"<tr><td>{escaped(part.value)}</td>"
            f"<td>{sheet.interval_bar(wrong, scale, limit=limit)}</td>"
            f'<td class="n">{wrong.count:,} / {wrong.total:,}</td>'
            f"{sheet.numbers(percent(wrong.rate), interval(wrong))}</tr>"
            for part in feature.parts
            for wrong in [part.wrong]
        ]
        yield f"<h3>By {name}</h3>"
        yield sheet.table(heads, rows, caption=f"Wrong answers by {feature.name}")


def _audits(document: ErrorsDocument) -> Iterator[str]:
    yield "<h2>Audits</h2>"
    rows = [
        f"<tr><td>{escaped(each.name)}</td><td><code>{escaped(each.model)}</code></td>"
        + sheet.numbers(f"{each.answers:,}", percent(each.wrong.rate), interval(each.wrong))
        + "</tr>"
        for each in document.audits
    ]
    heads = ("audit", "model", ">answers", ">wrong", ">95% interval")
    yield sheet.table(heads, rows, caption="Audits")


def _notes(document: ErrorsDocument) -> list[str]:
    folds = len(document.f1.folds)
    return [
        *document.notes,
        f"Gradient boosting (scikit-learn, histograms) learns from {folds - 1} of {folds} folds "
        "and judges the other; the folds are of rows of the data, shuffled with the seed. Micro F1 "
        "of two classes is the share of answers that are told rightly.",
        "An answer is wrong where the model does not do as the rule expects, and on an untouched "
        "row where it is not the label.",
        "Intervals over folds are Student's with the variance of Nadeau and Bengio, since folds "
        "share what they learn from; those of shares are Wilson's, at 95%.",
        "What tells an error need not cause it.",
    ]
