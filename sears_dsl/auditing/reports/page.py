"""An audit as one HTML file: the decision for a manager on top, every row for an engineer below.

In: the document of an audit. Out: HTML that needs nothing but a browser. Always holds: every number
is that of the document; whatever was not measured is said to be so; text of rows and rules stays
text. Costs some milliseconds and some kilobytes a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sears_dsl.auditing.conclusion import conclusion
from sears_dsl.auditing.document import AuditDocument
from sears_dsl.auditing.reports.charts import (
    Scale,
    axis,
    bars,
    interval_bar,
    overlap_matrix,
    scale_for,
)
from sears_dsl.auditing.reports.confidence import confidence_section
from sears_dsl.auditing.reports.filler_parts import fillers_section
from sears_dsl.auditing.reports.markdown import kept_and_drawn
from sears_dsl.auditing.reports.page_rules import rule_details, rule_table
from sears_dsl.auditing.reports.robustness_parts import (
    draws_section,
    rates_section,
    robustness_section,
)
from sears_dsl.auditing.reports.sheet import css_class, escaped, page_of, rate_with_interval, table
from sears_dsl.auditing.shares import Share, percent
from sears_dsl.auditing.slicing.slices import SliceResult
from sears_dsl.auditing.verdicts import CERTAIN

_SIGNS = {"failed": "✕", "passed": "✓", "not judged": "?", "measured": "•"}
_TITLES = {
    "failed": "The model fails",
    "passed": "The model passes",
    "not judged": "Too little was tested to judge the model",
    "measured": "Measured; nothing was demanded",
}
_REASONS = 6
_NAMES = 3
_MATRIX = 12
_PAIRS = 8


def audit_page(document: AuditDocument) -> str:
    """The page of an audit."""
    names = [
        f"{each.name} {each.version}" if each.version else each.name for each in document.rulesets
    ]
    title = ", ".join(names[:_NAMES]) + (
        f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    )
    body = "\n".join(
        (
            _header(document, title),
            "<main>",
            _verdict(document),
            _tiles(document),
            *(_rules(document) if document.rules else ()),
            robustness_section(document),
            draws_section(document),
            rates_section(document),
            fillers_section(document),
            *(_details(document) if document.rules else ()),
            *(_slices(document) if document.rules else _parts(document)),
            _overlap(document),
            _reading(document),
            "</main>",
            _footer(document),
        )
    )
    return page_of(f"Audit of {title}: {document.verdict.outcome}", body)


def _rules(document: AuditDocument) -> Iterator[str]:
    yield _summary(document)
    yield "<h2>Rules</h2>"
    yield (
        '<p class="muted">The dot is the share of tested rows on which the model does not do '
        "as the rule expects; the line is its 95% interval, the dashed mark the limit. A rule "
        "is tested on the rows that it changes and that the model has right.</p>"
    )
    yield rule_table(document)
    yield _silent(document)


def _details(document: AuditDocument) -> Iterator[str]:
    yield "<h2>Every rule in detail</h2>"
    yield rule_details(document)
    yield from confidence_section(document)


def _header(document: AuditDocument, title: str) -> str:
    rows = f"{document.data.rows:,} rows, column {document.data.column}"
    return (
        f'<header><div class="eyebrow">sears audit</div><h1>{escaped(title)}</h1>'
        f'<p class="muted"><code>{escaped(document.model)}</code> on {escaped(rows)}</p></header>'
    )


def _verdict(document: AuditDocument) -> str:
    verdict = document.verdict
    sentence = conclusion(document)
    shown = [reason for reason in verdict.reasons[:_REASONS] if reason not in sentence]
    # The title says so already.
    untitled = sentence.removeprefix(f"{_TITLES[verdict.outcome]}: ")
    untitled = untitled[:1].upper() + untitled[1:]
    more = max(0, len(verdict.reasons) - _REASONS)
    reasons = "".join(f"<li>{escaped(reason)}</li>" for reason in shown)
    reasons += f"<li>and {more} more</li>" if more else ""
    counts = ", ".join(f"{count} {name}" for name, count in verdict.counts.items() if count)
    rules = f"{len(document.rules):,} {_plural(len(document.rules), 'rule')}"
    told_rules = f"<p>{rules}: {escaped(counts)}.</p>" if document.rules else ""
    listed = f"<ul>{reasons}</ul>" if reasons and verdict.outcome != "measured" else ""
    return (
        f'<section class="card verdict {css_class(verdict.outcome)}">'
        f'<div class="sign" aria-hidden="true">{_SIGNS[verdict.outcome]}</div><div>'
        f"<h2>{_TITLES[verdict.outcome]}</h2><p>{escaped(untitled)}</p>"
        f"{told_rules}{listed}</div></section>"
    )


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else noun + "s"


def _tiles(document: AuditDocument) -> str:
    whole = document.together
    if not document.rules:
        return f'<div class="tiles">{"".join(_tiles_without_rules(document))}</div>'
    tiles = []
    if whole.accuracy is not None:
        accuracy = whole.accuracy
        tiles.append(
            _tile(
                f"{percent(accuracy.before.rate)} → {percent(accuracy.worst.rate)}",
                "accuracy, and against the worst rule for each row",
                f"{accuracy.before.count:,} and {accuracy.worst.count:,} of "
                f"{accuracy.before.total:,} rows",
            )
        )
    tiles.append(
        _tile(
            percent(whole.flipped.rate),
            "of the right rows that rules change become wrong under some rule",
            f"{_counted(whole.flipped)}, 95% "
            f"{percent(whole.flipped.low)}–{percent(whole.flipped.high)}",
        )
    )
    counts = document.verdict.counts
    tiles.append(
        _tile(
            f"{counts['failed']} of {len(document.rules):,}",
            "rules fail their limit",
            f"{counts['not judged']} changed too few rows to be judged",
        )
    )
    tiles.append(_sure_tile(document))
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _tiles_without_rules(document: AuditDocument) -> Iterator[str]:
    """Templates alone: accuracy, its mean over templates, and what the constant answer has."""
    accuracy = document.together.accuracy
    if accuracy is not None:
        before = accuracy.before
        note = f"{_counted(before)}, 95% {percent(before.low)}–{percent(before.high)}"
        yield _tile(percent(before.rate), "accuracy", note)
    for column in document.columns:
        label = f"accuracy in the mean over {column.values:,} values of {column.column}"
        yield _tile(percent(column.mean), label, "each counts alike, however many rows it has")
        if column.constant is not None:
            constant = column.constant
            beside = f"{percent(constant.mean)} in that mean: a model that knows nothing"
            label = f"for always answering “{constant.answer}”"
            yield _tile(percent(constant.rate), label, beside)


def _sure_tile(document: AuditDocument) -> str:
    known = [each.confidence for each in document.rules if each.confidence is not None]
    if not known:
        return _tile("not given", "flips that the model is sure of", "it gives no confidence")
    return _tile(
        f"{sum(each.sure_flips for each in known):,}",
        "flips that the model is sure of",
        f"confidence of at least {percent(known[0].sure_from)} before and after, over all rules",
    )


def _tile(value: str, label: str, note: str) -> str:
    return (
        f'<div class="card tile"><div class="value">{escaped(value)}</div>'
        f'<div class="label">{escaped(label)}</div><div class="note">{escaped(note)}</div></div>'
    )


def _counted(share: Share) -> str:
    return f"{share.count:,} of {share.total:,} rows"


def _summary(document: AuditDocument) -> str:
    """The result in words, beside the three accuracies."""
    whole = document.together
    same = sum(each.expect == "same" and each.changed > 0 for each in document.rules)
    sentences = [
        f"{same} of the {len(document.rules):,} rules reword a row so that the answer should stay "
        f"the same; together they change {whole.changed:,} rows."
    ]
    flipped = whole.flipped
    if flipped.rate is not None:
        sentences.append(
            f"Of the {flipped.total:,} rows among them that the model has right, "
            f"{flipped.count:,} get a wrong answer from at least one rewording "
            f"({percent(flipped.rate)}; between {percent(flipped.low)} and {percent(flipped.high)} "
            f"at 95% confidence)."
        )
    if whole.gained:
        sentences.append(f"{whole.gained:,} wrong rows become right under some rewording.")
    worst = [each for each in document.rules if each.expect == "same" and each.flips.count]
    chart = ""
    if worst:
        most = max(worst, key=lambda each: each.flips.count)
        sentences.append(
            f"Most flips, {most.flips.count:,} of {most.flips.total:,}, come from the rule "
            f"“{most.rule}”."
        )
    if whole.accuracy is not None:
        accuracy = whole.accuracy
        chart = (
            '<div class="card"><h3>Accuracy</h3>'
            + bars(
                [
                    ("before", accuracy.before.rate or 0.0, accuracy.before),
                    ("reworded at random", accuracy.mean, None),
                    ("worst rewording", accuracy.worst.rate or 0.0, accuracy.worst),
                ],
                label="Accuracy",
            )
            + "</div>"
        )
    words = "".join(f"<p>{escaped(each)}</p>" for each in sentences)
    if not chart:
        return f'<div class="card"><h3>In words</h3>{words}</div>'
    return f'<div class="split"><div class="card"><h3>In words</h3>{words}</div>{chart}</div>'


def _silent(document: AuditDocument) -> str:
    silent = [each for each in document.rules if not each.changed]
    if not silent:
        return ""
    listed = "".join(
        f'<li><code>{escaped(each.rule)}</code> <span class="muted">{escaped(each.id)}</span></li>'
        for each in silent[:200]
    )
    return (
        f'<details class="rule card"><summary><span>{len(silent):,} '
        f"{_plural(len(silent), 'rule')} changed no row</span></summary><div>"
        f'<ul class="facts-list">{listed}</ul></div></details>'
    )


def _slices(document: AuditDocument) -> Iterator[str]:
    if not document.slices:
        return
    yield "<h2>Where it fails</h2>"
    yield (
        '<p class="muted">The same numbers for parts of the rows. q says whether a part flips more '
        "or less often than the rest beyond chance, over all parts looked at.</p>"
    )
    known = [each.flipped for each in document.slices]
    limit = document.gates.rows_flipped
    overall = document.together.flipped.rate or 0.0
    scale = scale_for([each for each in known if each.total >= document.gates.support], [limit])
    for slicing, parts in groupby(document.slices, key=lambda each: each.slicing):
        heads = (f"{escaped(slicing)}", f"rows flipped by any rule, 95% interval{axis(scale)}",
                 ">flipped", ">rate", ">q", ">rows", ">accuracy", ">worst rewording")  # fmt: skip
        rows = [
            _slice(
                each,
                interval_bar(each.flipped, scale, limit=limit, kind=_contrast(each, overall)),
            )
            for each in parts
        ]
        yield f"<h3>By {escaped(slicing)}</h3>"
        yield table(heads, rows, caption=f"By {slicing}")


def _parts(document: AuditDocument) -> Iterator[str]:
    """Accuracy by part, where no rule took part."""
    known = [(each, each.accuracy) for each in document.slices if each.accuracy is not None]
    if not known:
        return
    yield "<h2>Accuracy by part</h2>"
    yield '<p class="muted">The dot is the share of rows that the model has right; the line is its '
    yield "95% interval.</p>"
    whole = Scale(1.0)
    for slicing, parts in groupby(known, key=lambda each: each[0].slicing):
        rows = [
            f"<tr><td>{escaped(each.value)}</td><td>{interval_bar(right, whole)}</td>"
            f'<td class="n">{right.count:,} of {right.total:,}</td>'
            f'<td class="n">{rate_with_interval(right)}</td></tr>'
            for each, right in parts
        ]
        yield f"<h3>By {escaped(slicing)}</h3>"
        heads = (escaped(slicing), f"accuracy, 95% interval{axis(whole)}", ">right", ">accuracy")
        yield table(heads, rows, caption=f"By {slicing}")


def _contrast(part: SliceResult, overall: float) -> str:
    """Coloured where there is evidence that the part differs from the rest."""
    if part.q_value is None or part.q_value >= CERTAIN or part.flipped.rate is None:
        return ""
    return "failed" if part.flipped.rate > overall else "passed"


def _slice(part: SliceResult, chart: str) -> str:
    q = "–" if part.q_value is None else f"{part.q_value:.3f}"
    return (
        f"<tr><td>{escaped(part.value)}</td><td>{chart}</td>"
        f'<td class="n">{part.flipped.count:,} / {part.flipped.total:,}</td>'
        f'<td class="n">{percent(part.flipped.rate)}</td><td class="n">{q}</td>'
        f'<td class="n">{part.rows:,}</td>'
        f'<td class="n">{rate_with_interval(part.accuracy)}</td>'
        f'<td class="n">{rate_with_interval(part.worst)}</td></tr>'
    )


def _overlap(document: AuditDocument) -> str:
    overlaps = document.together.overlaps
    if not overlaps:
        return ""
    flipping = sorted(
        (each for each in document.rules if each.expect == "same" and each.flips.count),
        key=lambda each: (-each.flips.count, each.id),
    )[:_MATRIX]
    place = {each.id: number for number, each in enumerate(flipping)}
    both = [[0] * len(flipping) for _ in flipping]
    for each in overlaps:
        if each.first in place and each.second in place:
            one, other = place[each.first], place[each.second]
            both[one][other] = both[other][one] = each.both
    names = "".join(
        f'<li><code>{escaped(each.rule)}</code> <span class="muted">{each.flips.count:,} '
        f"{_plural(each.flips.count, 'flip')}, {each.flips_alone:,} alone</span></li>"
        for each in flipping
    )
    text = {each.id: each.rule for each in document.rules}
    pairs = "".join(
        f"<li><code>{escaped(text[each.first])}</code> and "
        f"<code>{escaped(text[each.second])}</code>: {each.both:,} of {each.either:,} rows</li>"
        for each in overlaps[:_PAIRS]
    )
    matrix = overlap_matrix(
        [each.rule for each in flipping], [each.flips.count for each in flipping], both
    )
    return (
        "<h2>Rules that flip the same rows</h2>"
        '<p class="muted">Rows that two rules both flip: rules that share most of their flips show '
        "one weakness, rules that share none show two.</p>"
        f'<div class="card split"><div>{matrix}</div><div><ol class="facts-list small">{names}</ol>'
        f'<h3>Pairs that share most</h3><ul class="facts-list small">{pairs}</ul></div></div>'
    )


def _reading(document: AuditDocument) -> str:
    gates = document.gates
    how = {
        "rate": "its failure rate is above its limit",
        "evidence": f"there is evidence that it fails more often than its limit (q < {CERTAIN})",
        "proof": "the interval of its failure rate reaches above its limit",
    }[gates.judge_by]
    of_rules = (
        f"A rule fails when {how}, and always when q < {CERTAIN}. With "
        f"fewer than {gates.support} rows to test on it is not judged.",
        "A rule that expects “same” fails a row by turning a right answer wrong; “flip” by leaving "
        "the answer as it was; “label” by any other answer, tested on all rows that it changes.",
        "Intervals are Wilson's, at 95%. p is the exact binomial probability of so many failures "
        "if the model failed exactly as often as the limit allows; q controls the share of false "
        "discoveries over all rules (Benjamini and Hochberg).",
        "S says how far a rewrite keeps the meaning, from 0 to 1; from τ on two texts count as "
        "equivalent."
        if document.scorer
        else "Meaning was not scored: S is not given.",
    )
    notes = [
        *document.notes,
        *(of_rules if document.rules else ("Intervals of shares are Wilson's, at 95%.",)),
    ]
    listed = "".join(f"<li>{escaped(note)}</li>" for note in notes)
    return f'<h2>How to read this</h2><ul class="facts-list">{listed}</ul>'


def _footer(document: AuditDocument) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in document.versions.items())
    rules = "; ".join(f"{each.name} {each.sha256[:12]}…" for each in document.rulesets)
    lines = [
        f"Data SHA-256 {document.data.sha256}.",
        f"Rules {rules}.",
        f"Tagger {document.tagger}; scope {document.scope}; unit {document.unit}; answers compared "
        f"{document.comparison}.",
        f"Scorer {document.scorer}, τ = {document.tau:.4g}, seed {document.seed}."
        if document.scorer and document.tau is not None
        else f"No scorer; seed {document.seed}.",
        *kept_and_drawn(document),
        f"{versions}.",
    ]
    return f"<footer>{''.join(f'<div>{escaped(line)}</div>' for line in lines)}</footer>"
