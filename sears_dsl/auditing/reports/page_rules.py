"""The rules of an audit on its page: a table of all, and behind each what happened row by row.

In: the records of rules. Out: HTML. Always holds: every row of the table leads to the details of
its rule; changes are marked with ``del`` and ``ins``, so that they can be told without colour.
"""

from __future__ import annotations

from collections.abc import Sequence

from sears_dsl.auditing.document import AuditDocument, Confidence, Example, Meaning, RuleRecord
from sears_dsl.auditing.reports.charts import Scale, axis, interval_bar, scale_for
from sears_dsl.auditing.reports.markdown import worst_first
from sears_dsl.auditing.reports.sheet import (
    answer,
    chip,
    css_class,
    escaped,
    facts,
    rate_with_interval,
    table,
    visible,
)
from sears_dsl.auditing.shares import percent
from sears_dsl.auditing.verdicts import CERTAIN
from sears_dsl.engine.matches import Edit
from sears_dsl.engine.rewrite.rewrites import marked
from sears_dsl.pictures import picture_address

# More rules than this are in the JSON alone: a page of thousands helps nobody.
_MOST = 300


def rule_table(document: AuditDocument) -> str:
    """All rules that change a row, worst first, with a field to search in them.

    Those that expect another answer have a table and a scale of their own: their rates say
    something else.
    """
    numbered = list(enumerate(_shown(document)))
    keeping = [each for each in numbered if each[1].expect == "same"]
    changing = [each for each in numbered if each[1].expect != "same"]
    parts = (
        ("The answer should stay the same", keeping),
        ("The answer should change", changing),
    )
    return _tools(document) + "".join(
        f"<h3>{title}</h3>{_table(records, document.gates.support, title)}"
        for title, records in parts
        if records
    )


def _table(numbered: Sequence[tuple[int, RuleRecord]], support: int, title: str) -> str:
    shares = [each.judgement.failures for _, each in numbered]
    enough = [each for each in shares if each.total >= support]
    scale = scale_for(enough or shares, [each.judgement.limit for _, each in numbered])
    rows = [_row(record, place, scale) for place, record in numbered]
    heads = ("rule", "verdict", f"failure rate, 95% interval{axis(scale)}", ">fails",
             ">rate", ">q", ">meaning kept", ">sure flips")  # fmt: skip
    return table(heads, rows, caption=title)


def _shown(document: AuditDocument) -> list[RuleRecord]:
    return [each for each in worst_first(document.rules) if each.changed][:_MOST]


def _tools(document: AuditDocument) -> str:
    present = [name for name, count in document.verdict.counts.items() if count]
    buttons = "".join(
        f'<button type="button" data-show="{name}" aria-pressed="{str(name == "all").lower()}">'
        f"{name}</button>"
        for name in ("all", *present)
    )
    records = _shown(document)
    return (
        '<div class="tools"><label for="search" class="small muted">Find</label>'
        '<input id="search" type="search" placeholder="rule, tag or word" autocomplete="off">'
        f'{buttons}<span id="count" class="small muted" role="status">{len(records)} '
        f"{'rule' if len(records) == 1 else 'rules'}</span></div>"
    )


def _words(record: RuleRecord) -> str:
    """What the search looks at."""
    return escaped(" ".join((record.id, record.rule, record.expect, *record.tags)).lower())


def _row(record: RuleRecord, place: int, scale: Scale) -> str:
    judgement = record.judgement
    failures = judgement.failures
    kind = css_class(judgement.outcome)
    sure = record.confidence
    return (
        f'<tr data-outcome="{judgement.outcome}" data-words="{_words(record)}">'
        f'<td class="rule"><a class="code" href="#rule-{place}">{escaped(record.rule)}</a>'
        f'<span class="id">{escaped(_about(record))}</span></td>'
        f"<td>{chip(judgement.outcome)}{_doubt(record)}</td>"
        f"<td>{interval_bar(failures, scale, limit=judgement.limit, kind=kind)}</td>"
        f'<td class="n">{failures.count:,} / {failures.total:,}</td>'
        f'<td class="n">{percent(failures.rate)}</td>'
        f'<td class="n">{_probability(judgement.q_value)}</td>'
        f'<td class="n">{_kept_meaning(record)}</td>'
        f'<td class="n">{"–" if sure is None else f"{sure.sure_flips:,}"}</td></tr>'
    )


def _about(record: RuleRecord) -> str:
    return record.id if record.expect == "same" else f"{record.id} · expects {record.expect}"


def _doubt(record: RuleRecord) -> str:
    """Said of a failure for which there is no evidence beyond this sample."""
    q = record.judgement.q_value
    if record.judgement.outcome != "failed" or q is None or q < CERTAIN:
        return ""
    return '<span class="id">may be chance</span>'


def _kept_meaning(record: RuleRecord) -> str:
    """The share of its rewrites that keep the meaning, marked where it is clearly too small."""
    if record.meaning is None:
        return percent(None)
    rate = percent(record.meaning.at_tau.rate)
    if record.expect != "same" or not record.meaning.in_doubt:
        return rate
    return f'<span class="wrong">{rate}</span><span class="id">meaning changes</span>'


def _probability(value: float | None) -> str:
    if value is None:
        return "–"
    return "&lt;0.001" if value < 0.001 else f"{value:.3f}"


def rule_details(document: AuditDocument) -> str:
    """A card for each rule: its numbers and its examples."""
    records = _shown(document)
    cards = "".join(_card(record, place, document) for place, record in enumerate(records))
    left_out = sum(1 for each in document.rules if each.changed) - len(records)
    more = f"<p>{left_out:,} more rules are in audit.json.</p>" if left_out else ""
    return cards + more


def _card(record: RuleRecord, place: int, document: AuditDocument) -> str:
    judgement = record.judgement
    failures = judgement.failures
    why = f"<p>{escaped(record.why)}</p>" if record.why else ""
    about = " · ".join(
        escaped(each)
        for each in (
            f"expects {record.expect}",
            *([f"severity {record.severity}"] if record.severity else []),
            *record.tags,
        )
    )
    return (
        f'<details class="rule card" id="rule-{place}" data-outcome="{judgement.outcome}" '
        f'data-words="{_words(record)}"><summary><span class="code">{escaped(record.rule)}</span>'
        f'<span class="nowrap small">{failures.count:,} of {failures.total:,} fail</span>'
        f"{chip(judgement.outcome)}</summary><div>"
        f'<p class="small muted">{escaped(record.id)} · {about}</p>{why}'
        f"<p>{escaped(_sentence(judgement.reason))}</p>{_numbers(record, document)}"
        f"<h3>Rows</h3>{_examples(record.examples)}</div></details>"
    )


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] + "."


def _numbers(record: RuleRecord, document: AuditDocument) -> str:
    judgement = record.judgement
    entries = [
        ("rows it changes", f"{record.changed:,}"),
        ("of these right before", f"{record.right:,}"),
        ("failure rate", rate_with_interval(judgement.failures)),
        ("limit", "none" if judgement.limit is None else percent(judgement.limit)),
        (f"p, against {percent(judgement.against)}", _probability(judgement.p_value)),
        ("q, over all rules", _probability(judgement.q_value)),
        ("flips", f"{record.flips.count:,} of {record.flips.total:,}"),
        ("flips that no other rule makes", f"{record.flips_alone:,}"),
        ("wrong before, right after", f"{record.gained:,}" if document.labelled else "not given"),
    ]
    if document.labelled:
        right_after = record.right - record.flips.count + record.gained
        entries += [
            ("accuracy on its rows", f"{_ratio(record.right, record.changed)} → "
             f"{_ratio(right_after, record.changed)}"),
            ("p of that change (McNemar)", _probability(record.accuracy_p_value)),
        ]  # fmt: skip
    entries += _confidence(record.confidence)
    entries += _meaning(record.meaning, document.tau)
    return facts(entries)


def _ratio(count: int, total: int) -> str:
    return percent(count / total) if total else "–"


def _confidence(confidence: Confidence | None) -> list[tuple[str, str]]:
    if confidence is None:
        return [("confidence", "not given")]
    unchanged = "–" if confidence.change_kept is None else f"{confidence.change_kept:+.3f}"
    change = f"{confidence.change:+.3f}"
    if confidence.change_interval is not None:
        low, high = confidence.change_interval
        change += f' <span class="muted">({low:+.3f} to {high:+.3f})</span>'
    return [
        ("mean confidence", f"{confidence.before:.2f} → {confidence.after:.2f}"),
        ("mean change of confidence", change),
        ("where the answer stays", unchanged),
        (f"flips it is sure of (≥ {percent(confidence.sure_from)})", f"{confidence.sure_flips:,}"),
    ]


def _meaning(meaning: Meaning | None, tau: float | None) -> list[tuple[str, str]]:
    if meaning is None or tau is None:
        return [("S", "not given")]
    return [
        (f"mean S of {meaning.scored:,} rows", f"{meaning.mean:.3f}"),
        (f"rows with S ≥ {tau:.3g}", rate_with_interval(meaning.at_tau)),
        (f"flips with S ≥ {tau:.3g}", f"{meaning.flips_at_tau.count:,} of "
         f"{meaning.flips_at_tau.total:,}"),
    ]  # fmt: skip


def _examples(examples: Sequence[Example]) -> str:
    if not examples:
        return '<p class="muted">None were kept.</p>'
    return f'<ul class="examples">{"".join(map(_example, examples))}</ul>'


def _example(each: Example) -> str:
    edits = [Edit(*edit) for edit in each.edits]
    known = each.label
    before = answer(
        each.before, each.confidence_before, wrong=known is not None and each.before != known
    )
    after = answer(each.after, each.confidence_after, wrong=each.failed)
    meta = [f"row {each.row:,}"]
    meta += [] if known is None else [f"label {known}"]
    meta += [] if each.score is None else [f"S = {each.score:.3f}"]
    meta.append("fails" if each.failed else "as expected")
    return (
        f'<li>{_picture(each)}<span class="text">{visible(marked(each.original, edits))}</span>'
        f'<span class="answers">{before}<span class="to">→</span>{after}</span>'
        f'{_choices(each)}<span class="meta">{escaped(" · ".join(meta))}</span></li>'
    )


def _picture(each: Example) -> str:
    if each.picture is None:
        return ""
    address = picture_address(each.picture)
    if not address:
        return f'<span class="picture">{escaped(each.picture)}</span>'
    return f'<img class="picture" src="{address}" alt="the picture of row {each.row:,}">'


def _choices(each: Example) -> str:
    """What could be answered: what is right, and what was chosen before and after."""
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
