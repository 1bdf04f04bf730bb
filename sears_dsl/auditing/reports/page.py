"""An audit as one HTML file: the decision for a manager on top, every row for an engineer below.

In: the document of an audit. Out: HTML that needs nothing but a browser. Every number is that of
the document, and the page says what was not measured. Text of rows and rules stays text. Every row
of the table of rules links to the details of its rule. Changes are marked with ``del`` and ``ins``,
so that they can be told without colour. Costs some milliseconds and some kilobytes a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sears_dsl.auditing import document as documents
from sears_dsl.auditing.gates import CERTAIN, unrounded
from sears_dsl.auditing.reports import markdown, sheet
from sears_dsl.auditing.reports.answer_parts import confidence_section, fillers_section
from sears_dsl.auditing.reports.robustness_parts import noise_sections, robustness_section
from sears_dsl.auditing.reports.sheet import escaped
from sears_dsl.auditing.slices import SliceResult
from sears_dsl.auditing.totals import IN_MATRIX
from sears_dsl.engine.matches import Edit
from sears_dsl.engine.rewrite.rewrites import marked_html
from sears_dsl.errors import counted, listed, printable
from sears_dsl.language.printer import rule_in_brief
from sears_dsl.pictures import picture_address
from sears_dsl.runtime.markdown_tables import more_in
from sears_dsl.statistics import Share, percent

_SIGNS = {"failed": "✕", "passed": "✓", "not judged": "?", "measured": "•"}
_TITLES = {
    "failed": "The model fails",
    "passed": "The model passes",
    "not judged": "The model cannot be judged",
    "measured": "Measured; no limit is set",
}
_REASONS = 6
_NAMES = 3
_PAIRS = 8


def audit_page(document: documents.AuditDocument) -> str:
    """The page of an audit."""
    names = [
        f"{each.name} {each.version}" if each.version else each.name for each in document.rulesets
    ]
    title = listed(names, _NAMES)
    rows = f"{counted(document.data.rows, 'row')}, column {document.data.column}"
    about = f"<code>{escaped(document.model)}</code> on {escaped(rows)}"
    body = "\n".join(
        (
            sheet.header("sears audit", title, about),
            "<main>",
            _verdict(document),
            sheet.tiles((_tiles if document.rules else _tiles_without_rules)(document)),
            *(_rules(document) if document.rules else ()),
            robustness_section(document),
            *noise_sections(document),
            fillers_section(document),
            *(_details_and_slices if document.rules else _parts)(document),
            _overlap(document),
            _reading(document),
            "</main>",
            _footer(document),
        )
    )
    return sheet.page(f"Audit of {title}: {document.verdict.outcome}", body)


def _rules(document: documents.AuditDocument) -> Iterator[str]:
    yield _summary(document)
    yield "<h2>Rules</h2>"
    yield (
        '<p class="muted">The dot is the share of tested rows on which the model does not do what '
        "the rule expects, the line its 95% interval, and the dashed mark the limit. A rule is "
        "tested on the rows that it changes and that the model gets right.</p>"
    )
    yield _rule_table(document)
    yield _silent(document)


def _details_and_slices(document: documents.AuditDocument) -> Iterator[str]:
    """A card for each rule with its numbers and examples; then confidences, and rows by part."""
    records = _shown(document)
    left_out = sum(1 for each in document.rules if each.changed) - len(records)
    yield "<h2>Each rule in detail</h2>" if records else ""
    yield "".join(_card(record, place, document) for place, record in enumerate(records)) + (
        sheet.paragraphs(more_in("audit.json", left_out, " rules"))
    )
    yield from confidence_section(document)
    yield from _slices(document)


def _verdict(document: documents.AuditDocument) -> str:
    verdict = document.verdict
    sentence = documents.conclusion(document)
    reasons = [reason for reason in verdict.reasons[:_REASONS] if reason not in sentence]
    if len(verdict.reasons) > _REASONS:
        reasons.append(f"and {len(verdict.reasons) - _REASONS} more")
    counts = ", ".join(f"{count} {name}" for name, count in verdict.counts.items() if count)
    rules = counted(len(document.rules), "rule")
    outcomes = f"<p>{rules}: {escaped(counts)}.</p>" if document.rules else ""
    demanded = reasons and verdict.outcome != "measured"
    listed = f"<ul>{sheet.items(reasons)}</ul>" if demanded else ""
    sign, title = _SIGNS[verdict.outcome], _TITLES[verdict.outcome]
    untitled = sentence.removeprefix(f"{title}: ")
    content = f"<p>{escaped(untitled[:1].upper() + untitled[1:])}</p>{outcomes}{listed}"
    return sheet.verdict(verdict.outcome, sign, title, content)


def _tiles(document: documents.AuditDocument) -> Iterator[tuple[str, str, str]]:
    whole = document.together
    keeping = markdown.same_answer_note(document)
    if whole.accuracy is not None and whole.changed:
        before, worst = whole.accuracy.before, whole.accuracy.worst
        yield (
            f"{percent(before.rate)} → {percent(worst.rate)}",
            f"accuracy, originally and with the worst rewrites{keeping and f' by rules{keeping}'}",
            f"{before.count:,} → {worst.count:,} of {before.total:,} rows",
        )
    elif whole.accuracy is not None:
        yield percent(whole.accuracy.before.rate), "accuracy", _with_interval(whole.accuracy.before)
    flipped = whole.flipped
    if flipped.total:
        yield (
            percent(flipped.rate),
            f"of the right rows that rules{keeping} change become wrong under at least one of them",
            _with_interval(flipped),
        )
    counts = document.verdict.counts
    # Without a limit no rule can fail, and "0 of 41" would read as praise.
    limited = any(each.judgement.limit is not None for each in document.rules)
    yield (
        f"{counts['failed' if limited else 'measured']} of {len(document.rules):,}",
        "rules failed" if limited else "rules measured; none has a limit",
        f"{counts['not judged']} changed too few rows to be judged",
    )
    sure = "flips with high confidence"
    known = [each.confidence for each in document.rules if each.confidence is not None]
    if known:
        from_there = f"at least {percent(known[0].sure_from)} before and after the rewrite"
        yield f"{sum(each.sure_flips for each in known):,}", sure, f"{from_there}, over all rules"
    else:
        yield "not given", sure, "the model reports no confidence"


def _tiles_without_rules(document: documents.AuditDocument) -> Iterator[tuple[str, str, str]]:
    """Tiles for templates alone: accuracy, its mean over templates, and the constant answer's."""
    accuracy = document.together.accuracy
    if accuracy is not None:
        yield percent(accuracy.before.rate), "accuracy", _with_interval(accuracy.before)
    for column in document.columns:
        label = f"mean accuracy over {column.values:,} values of {column.column}"
        yield percent(column.mean), label, "each value counts the same, whatever its number of rows"
        if column.constant is not None:
            constant = column.constant
            beside = f"{percent(constant.mean)} as a mean over values"
            yield percent(constant.rate), f"by always answering “{constant.answer}”", beside


def _with_interval(share: Share) -> str:
    return f"{share.count:,} of {share.total:,} rows, 95% {markdown.interval(share)}"


def _summary(document: documents.AuditDocument) -> str:
    """The result in words, beside a chart of the three accuracies."""
    whole = document.together
    same = sum(each.expect == "same" and each.changed > 0 for each in document.rules)
    sentences = [
        f"{same:,} of {counted(len(document.rules), 'rule')} rewrite rows so that the answer "
        f"should stay the same. Together they change {counted(whole.changed, 'row')}.",
        *markdown.together_in_words(document),
    ]
    if whole.gained:
        rows = counted(whole.gained, "wrong row becomes", "wrong rows become")
        sentences.append(f"{rows} right under at least one rule.")
    worst = [each for each in document.rules if each.expect == "same" and each.flips.count]
    if worst:
        most = max(worst, key=lambda each: each.flips.count)
        sentences.append(
            f"The rule “{most.name}” flips the most rows: {most.flips.count:,} of "
            f"{most.flips.total:,}."
        )
    card = f'<div class="card"><h3>In words</h3>{sheet.paragraphs(sentences)}</div>'
    if whole.accuracy is None or not whole.changed:
        return card
    accuracy = whole.accuracy
    chart = sheet.bars(
        [
            ("original rows", accuracy.before.rate or 0.0, accuracy.before),
            ("random rewrites", accuracy.mean, None),
            ("worst rewrites", accuracy.worst.rate or 0.0, accuracy.worst),
        ]
    )
    beside = f'<div class="card"><h3>Accuracy</h3>{chart}</div>'
    return f'<div class="split">{card}{beside}</div>'


def _silent(document: documents.AuditDocument) -> str:
    silent = [each for each in document.rules if not each.changed]
    if not silent:
        return ""
    listed = "".join(
        f'<li><code>{escaped(each.rule)}</code> <span class="muted">'
        f"{escaped(' · '.join(filter(None, (each.id, documents.why_lost([each])))))}</span></li>"
        for each in silent[:200]
    )
    return (
        f'<details class="rule card"><summary><span>{counted(len(silent), "rule")} '
        "changed no row</span></summary><div>"
        f'<ul class="facts-list">{listed}</ul></div></details>'
    )


def _slices(document: documents.AuditDocument) -> Iterator[str]:
    yield "<h2>Where it fails</h2>"
    yield (
        '<p class="muted">The same numbers by part of the data. A small q is evidence that a part '
        "flips more or less often than the rest, corrected for the number of parts.</p>"
    )
    known = [each.flipped for each in document.slices]
    limit = document.gates.rows_flipped
    overall = document.together.flipped.rate or 0.0
    enough = [each for each in known if each.total >= document.gates.support]
    top = sheet.top_for(enough, [limit], [each.rate for each in known])
    for slicing, parts in groupby(document.slices, key=lambda each: each.slicing):
        name, axis = escaped(slicing), sheet.axis(top)
        heads = (name, f"rows flipped by any rule, 95% interval{axis}", ">flipped", ">rate", ">q",
                 ">rows", ">accuracy", ">accuracy, worst rewrites")  # fmt: skip
        rows = [_slice(each, top, limit, overall) for each in parts]
        yield f"<h3>By {name}</h3>"
        yield sheet.table(heads, rows, caption=f"By {slicing}")


def _parts(document: documents.AuditDocument) -> Iterator[str]:
    """Accuracy by part, for an audit without rules."""
    known = [(each, each.accuracy) for each in document.slices if each.accuracy is not None]
    if not known:
        return
    yield "<h2>Accuracy by part</h2>"
    yield '<p class="muted">The dot is the share of rows that the model gets right; the line is '
    yield "its 95% interval.</p>"
    for slicing, parts in groupby(known, key=lambda each: each[0].slicing):
        name, axis = escaped(slicing), sheet.axis(1.0)
        rows = [
            (escaped(each.value), sheet.interval_bar(right, 1.0),
             f"{right.count:,} of {right.total:,}", sheet.rate_with_interval(right))
            for each, right in parts
        ]  # fmt: skip
        yield f"<h3>By {name}</h3>"
        heads = (name, f"accuracy, 95% interval{axis}", ">right", ">accuracy")
        yield sheet.table(heads, rows, caption=f"By {slicing}")


def _slice(part: SliceResult, top: float, limit: float | None, overall: float) -> tuple[str, ...]:
    rate, kind = part.flipped.rate, ""
    if part.q_value is not None and part.q_value < CERTAIN and rate is not None:
        kind = "failed" if rate > overall else "passed"
    return (
        escaped(part.value), sheet.interval_bar(part.flipped, top, limit=limit, kind=kind),
        f"{part.flipped.count:,} / {part.flipped.total:,}", percent(rate),
        "–" if part.q_value is None else f"{part.q_value:.3f}", f"{part.rows:,}",
        *map(sheet.rate_with_interval, (part.accuracy, part.worst)),
    )  # fmt: skip


def _overlap(document: documents.AuditDocument) -> str:
    overlaps = document.together.overlaps
    if not overlaps:
        return ""
    flipping = sorted(
        (each for each in document.rules if each.expect == "same" and each.flips.count),
        key=lambda each: (-each.flips.count, each.id),
    )[:IN_MATRIX]
    place = {each.id: number for number, each in enumerate(flipping)}
    shared = [[0] * len(flipping) for _ in flipping]
    for each in overlaps:
        if each.first in place and each.second in place:
            one, other = place[each.first], place[each.second]
            shared[one][other] = shared[other][one] = each.both
    name = {each.id: each.name for each in document.rules}
    names = "".join(
        f'<li><code>{escaped(each.name)}</code> <span class="muted">'
        f"{counted(each.flips.count, 'flip')}, {each.flips_alone:,} alone</span></li>"
        for each in flipping
    )
    pairs = "".join(
        f"<li><code>{escaped(name[each.first])}</code> and "
        f"<code>{escaped(name[each.second])}</code>: {each.both:,} of {each.either:,} rows</li>"
        for each in overlaps[:_PAIRS]
    )
    matrix = sheet.overlap_matrix(
        [each.name for each in flipping], [each.flips.count for each in flipping], shared
    )
    return (
        "<h2>Rules that flip the same rows</h2>"
        '<p class="muted">How many rows each pair of rules flips. Rules that share most of their '
        "flips point to one weakness, rules that share none to two.</p>"
        f'<div class="card split"><div>{matrix}</div><div><ol class="facts-list small">{names}</ol>'
        f'<h3>Pairs that share the most</h3><ul class="facts-list small">{pairs}</ul></div></div>'
    )


def _reading(document: documents.AuditDocument) -> str:
    gates = document.gates
    how = {
        "rate": "its failure rate is above its limit",
        "evidence": f"there is evidence that it fails more often than its limit (q < {CERTAIN})",
        "proof": "the 95% interval of its failure rate reaches above its limit",
    }[gates.judge_by]
    of_rules = (
        f"A rule fails if {how}, and always if q < {CERTAIN}. A rule tested on fewer than "
        f"{gates.support} rows is not judged.",
        "If a rule expects “same”, a wrong answer fails; if “flip”, the same answer as before; if "
        "“label”, any other answer, and then every row that the rule changes is tested.",
        "Intervals are 95% Wilson intervals. p is the exact binomial probability of at least this "
        "many failures if the model failed exactly as often as the limit allows. q controls the "
        "false-discovery rate over all rules (Benjamini and Hochberg).",
        "S, from 0 to 1, says how well a rewrite keeps the meaning; from τ on, two texts count as "
        "equivalent."
        if document.scorer
        else "Meaning was not scored, so S is not given.",
    )
    notes = [
        *document.notes,
        *(of_rules if document.rules else ("Intervals of shares are 95% Wilson intervals.",)),
    ]
    return f'<h2>How to read this</h2><ul class="facts-list">{sheet.items(notes)}</ul>'


def _footer(document: documents.AuditDocument) -> str:
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
        *markdown.protection_and_noise(document),
        f"{versions}.",
    ]
    return f"<footer>{''.join(f'<div>{escaped(line)}</div>' for line in lines)}</footer>"


# Rules beyond this number are only in the JSON, since a page of thousands helps nobody.
_MOST = 300


def _rule_table(document: documents.AuditDocument) -> str:
    """All rules that change a row, worst first, with a search field.

    Rules that expect another answer have a table and a scale of their own, since their rates mean
    something else.
    """
    numbered = list(enumerate(_shown(document)))
    parts = {
        "The answer should stay the same": [e for e in numbered if e[1].expect == "same"],
        "The answer should change": [e for e in numbered if e[1].expect != "same"],
    }
    return _tools(document) + "".join(
        f"<h3>{title}</h3>{_table(records, document.gates.support, title)}"
        for title, records in parts.items()
        if records
    )


def _table(numbered: Sequence[tuple[int, documents.RuleRecord]], support: int, title: str) -> str:
    shares = [each.judgement.failures for _, each in numbered]
    enough = [each for each in shares if each.total >= support]
    # The intervals of few rows may end beyond the axis, but no rate does.
    top = sheet.top_for(
        enough or shares, [each.judgement.limit for _, each in numbered], [s.rate for s in shares]
    )
    rows = [_row(record, place, top) for place, record in numbered]
    attributes = [_searched(record) for _, record in numbered]
    heads = ("rule", "verdict", f"failure rate, 95% interval{sheet.axis(top)}", ">failures",
             ">rate", ">q", ">meaning kept", ">flips, high confidence")  # fmt: skip
    return sheet.table(heads, rows, caption=title, attributes=attributes)


def _shown(document: documents.AuditDocument) -> list[documents.RuleRecord]:
    return markdown.worst_first(document.rules)[:_MOST]


def _tools(document: documents.AuditDocument) -> str:
    present = [name for name, count in document.verdict.counts.items() if count]
    buttons = "".join(
        f'<button type="button" data-show="{name}" aria-pressed="{str(name == "all").lower()}">'
        f"{name}</button>"
        for name in ("all", *present)
    )
    shown = counted(len(_shown(document)), "rule")
    return (
        '<div class="tools"><label for="search" class="small muted">Find</label>'
        '<input id="search" type="search" placeholder="rule, tag or word" autocomplete="off">'
        f'{buttons}<span id="count" class="small muted" role="status">{shown}</span></div>'
    )


def _searched(record: documents.RuleRecord) -> str:
    """The attributes by which a rule is found: its outcome, and its words for the search field."""
    words = escaped(" ".join((record.id, record.rule, record.expect, *record.tags)).lower())
    return f' data-outcome="{record.judgement.outcome}" data-words="{words}"'


def _row(record: documents.RuleRecord, place: int, top: float) -> tuple[str, ...]:
    judgement = record.judgement
    failures = judgement.failures
    kind = sheet.css_class(judgement.outcome)
    about = record.id if record.expect == "same" else f"{record.id} · expects {record.expect}"
    q = judgement.q_value
    by_chance = judgement.outcome == "failed" and q is not None and q >= CERTAIN
    link = f'<a class="code" href="#rule-{place}">{escaped(rule_in_brief(record.rule))}</a>'
    return (
        f'<td class="rule">{link}{sheet.remark(about)}</td>',
        sheet.chip(judgement.outcome) + sheet.remark("may be chance" if by_chance else ""),
        sheet.interval_bar(failures, top, limit=judgement.limit, kind=kind),
        f"{failures.count:,} / {failures.total:,}",
        percent(failures.rate),
        _probability(judgement.q_value),
        _kept_meaning(record),
        "–" if record.confidence is None else f"{record.confidence.sure_flips:,}",
    )


def _kept_meaning(record: documents.RuleRecord) -> str:
    """The share of its rewrites that keep the meaning, marked if it is clearly too small."""
    if record.meaning is None:
        return percent(None)
    rate = percent(record.meaning.at_tau.rate)
    if record.expect != "same" or not record.meaning.in_doubt:
        return rate
    return f'<span class="wrong">{rate}</span>{sheet.remark("meaning changes")}'


def _probability(value: float | None) -> str:
    if value is None:
        return "–"
    return "&lt;0.001" if value < 0.001 else f"{value:.3f}"


def _card(record: documents.RuleRecord, place: int, document: documents.AuditDocument) -> str:
    judgement = record.judgement
    failures = judgement.failures
    why = f"<p>{escaped(record.why)}</p>" if record.why else ""
    severity = [f"severity {record.severity}"] if record.severity else []
    about = " · ".join((record.id, f"expects {record.expect}", *severity, *record.tags))
    reason = f"{judgement.reason[:1].upper()}{judgement.reason[1:]}."
    examples = '<p class="muted">No examples were kept.</p>'
    if record.examples:
        examples = f'<ul class="examples">{"".join(map(_example, record.examples))}</ul>'
    return (
        f'<details class="rule card" id="rule-{place}"{_searched(record)}>'
        f'<summary><span class="code">{escaped(record.rule)}</span>'
        f'<span class="nowrap small">{failures.count:,} of {failures.total:,} fail</span>'
        f"{sheet.chip(judgement.outcome)}</summary><div>"
        f'<p class="small muted">{escaped(about)}</p>{why}'
        f"<p>{escaped(reason)}</p>{_numbers(record, document)}"
        f"<h3>Examples</h3>{examples}</div></details>"
    )


def _numbers(record: documents.RuleRecord, document: documents.AuditDocument) -> str:
    judgement = record.judgement
    entries = [
        ("rows changed", f"{record.changed:,}"),
        ("of these, right before", f"{record.right:,}"),
        ("failure rate", sheet.rate_with_interval(judgement.failures)),
        ("limit", "none" if judgement.limit is None else unrounded(judgement.limit)),
        (f"p, against {percent(judgement.against)}", _probability(judgement.p_value)),
        ("q, over all rules", _probability(judgement.q_value)),
        ("flips", f"{record.flips.count:,} of {record.flips.total:,}"),
        ("flips by no other rule", f"{record.flips_alone:,}"),
        ("wrong before, right after", f"{record.gained:,}" if document.labelled else "not given"),
    ]
    if document.labelled:
        right_after = record.right - record.flips.count + record.gained
        entries += [
            ("accuracy on changed rows", f"{percent(record.right / record.changed)} → "
             f"{percent(right_after / record.changed)}"),
            ("p of this difference (McNemar)", _probability(record.accuracy_p_value)),
        ]  # fmt: skip
    entries += _confidence(record.confidence)
    entries += _meaning(record.meaning, document.tau)
    return sheet.facts(entries)


def _confidence(confidence: documents.Confidence | None) -> list[tuple[str, str]]:
    if confidence is None:
        return [("confidence", "not given")]
    unchanged = "–" if confidence.change_kept is None else f"{confidence.change_kept:+z.3f}"
    change = f"{confidence.change:+z.3f}"
    if confidence.change_interval is not None:
        low, high = confidence.change_interval
        change += f' <span class="muted">({low:+z.3f} to {high:+z.3f})</span>'
    return [
        ("mean confidence", f"{confidence.before:.2f} → {confidence.after:.2f}"),
        ("mean change in confidence", change),
        ("the same, where the answer stays", unchanged),
        (f"flips with confidence ≥ {percent(confidence.sure_from)}", f"{confidence.sure_flips:,}"),
    ]


def _meaning(meaning: documents.Meaning | None, tau: float | None) -> list[tuple[str, str]]:
    if meaning is None or tau is None:
        return [("S", "not given")]
    return [
        (f"mean S of {meaning.scored:,} rows", f"{meaning.mean:.3f}"),
        (f"rows with S ≥ {tau:.3g}", sheet.rate_with_interval(meaning.at_tau)),
        (f"flips with S ≥ {tau:.3g}", f"{meaning.flips_at_tau.count:,} of "
         f"{meaning.flips_at_tau.total:,}"),
    ]  # fmt: skip


def _example(each: documents.Example) -> str:
    edits = [Edit(*edit) for edit in each.edits]
    known, wrong = each.label, each.wrong_before
    if wrong is None:  # an audit of an earlier version
        wrong = known is not None and each.before != known
    before = sheet.answer(each.before, each.confidence_before, wrong=wrong)
    after = sheet.answer(each.after, each.confidence_after, wrong=each.failed)
    meta = [f"row {each.row:,}"]
    meta += [] if known is None else [f"label {known}"]
    meta += [] if each.score is None else [f"S = {each.score:.3f}"]
    meta.append("fails" if each.failed else "as expected")
    return (
        f'<li>{_picture(each)}<span class="text">'
        f"{printable(marked_html(each.original, edits))}</span>"
        f'<span class="answers">{before}<span class="to">→</span>{after}</span>'
        f'{_choices(each)}<span class="meta">{escaped(" · ".join(meta))}</span></li>'
    )


def _picture(each: documents.Example) -> str:
    if each.picture is None:
        return ""
    address = picture_address(each.picture)
    if not address:
        return f'<span class="picture">{escaped(each.picture)}</span>'
    return f'<img class="picture" src="{address}" alt="the picture of row {each.row:,}">'


def _choices(each: documents.Example) -> str:
    """The possible answers, marked as right, and as chosen before and after."""
    items = "".join(
        f'<li class="{"chosen" if choice == each.after else ""}">{escaped(choice)}'
        + "".join(
            f' <b class="{name}">{name}</b>'
            for name, own in (("right", each.label), ("before", each.before), ("after", each.after))
            if own == choice
        )
        + "</li>"
        for choice in each.choices
    )
    return f'<ul class="choices">{items}</ul>' if items else ""
