"""An audit to read in a pull request: the decision, the rules, where it fails, what it rests on.

In: the document of an audit. Out: Markdown. No text of a row or a rule can break a table or become
markup. Every number is that of the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sears_dsl.auditing.document import AuditDocument, Example, RuleRecord, conclusion
from sears_dsl.auditing.reports.answer_parts import confidence_markdown, fillers_markdown
from sears_dsl.auditing.reports.robustness_parts import noise_markdown, robustness_markdown
from sears_dsl.auditing.slices import SliceResult
from sears_dsl.engine.rewrite.rewrites import with_code_points
from sears_dsl.errors import counted
from sears_dsl.language.printer import rule_in_brief
from sears_dsl.runtime import markdown_tables as tables
from sears_dsl.statistics import Share, percent

_OUTCOMES = {"failed": "failed", "passed": "passed", "not judged": "not judged", "measured": "–"}
_ALERTS = {"failed": "CAUTION", "passed": "TIP", "not judged": "WARNING", "measured": "NOTE"}
_SLICES_SHOWN = 10
_RULES_IN_SUMMARY = 10
# As many as a comment on a pull request can hold; audit.json has all of them.
_RULES_SHOWN = 100


def audit_markdown(document: AuditDocument) -> str:
    """The audit as Markdown, most important first."""
    records = worst_first(document.rules)
    lines = [
        f"# Audit: {document.verdict.outcome}",
        "",
        *_summary(document),
        "",
        *(_rules(records) if document.rules else ()),
        *robustness_markdown(document),
        *noise_markdown(document),
        *fillers_markdown(document),
        *confidence_markdown(document),
        *_slices(document.slices),
        *_overlap(document),
        *_in_full(records[:_RULES_SHOWN]),
        "## How to read this",
        "",
        *(f"- {tables.markdown_text(note)}" for note in document.notes),
        "- A rule is tested on the rows that it changes and that the model gets right; with fewer "
        f"than {document.gates.support} such rows it is not judged. Intervals are 95% Wilson "
        "intervals. q is the false-discovery rate over all rules (exact binomial tests, Benjamini "
        "and Hochberg).",
        f"- Model: {tables.code_span(document.model)}. Data: {document.data.rows:,} rows, SHA-256 "
        f"`{document.data.sha256}`. Scorer: {document.scorer or 'none, S is not given'}. Tagger: "
        f"{tables.code_span(document.tagger)}.",
        *(f"- {tables.markdown_text(line)}" for line in protection_and_noise(document)),
    ]
    return "\n".join(lines) + "\n"


def protection_and_noise(document: AuditDocument) -> Iterator[str]:
    """Lines on what had to stay in the texts, and on what decided the noise, if anything did."""
    if document.data.protect:
        yield f"Protected: {', '.join(document.data.protect)}."
    if document.noise:
        yield f"Noise: {', '.join(f'{name} {value}' for name, value in document.noise.items())}."


def audit_summary(document: AuditDocument) -> str:
    """The audit for the page of a pull request: the decision, what failed, examples folded away.

    GitHub shows the first lines as an alert. Rules that did not pass are in a table, the worst
    first, and those that passed are counted.
    """
    outcome = document.verdict.outcome
    records = worst_first(document.rules)
    shown = [each for each in records if each.judgement.outcome != "passed"][:_RULES_IN_SUMMARY]
    lines = [
        f"### Robustness: {outcome}",
        "",
        f"> [!{_ALERTS[outcome]}]",
        f"> {tables.markdown_text(conclusion(document))}",
        "",
    ]
    if shown:
        rows = (
            (rule_cell(each.rule, each.id), _OUTCOMES[each.judgement.outcome],
             f"{failures.count:,} of {failures.total:,}", _rated(failures))
            for each in shown
            for failures in [each.judgement.failures]
        )  # fmt: skip
        heads = ("rule", "verdict", "failures", "rate (95%)")
        lines += [*tables.markdown_table(heads, "llrr", rows), ""]
    counts = document.verdict.counts
    if document.rules:
        lines += [
            f"{counted(counts['failed'], 'rule')} failed, {counts['passed']:,} passed, "
            f"{counts['not judged']:,} not judged, {counts['measured']:,} without a limit.",
            "",
        ]
    failed = [each.examples[0] for each in shown if each.examples and each.examples[0].failed]
    if failed:
        lines += ["<details><summary>Examples</summary>", ""]
        lines += [f"- {change_cell(each)}" for each in failed]
        lines += ["", "</details>", ""]
    lines.append(f"Model {tables.code_span(document.model)}, {document.data.rows:,} rows.")
    return "\n".join(lines) + "\n"


def _rules(records: Sequence[RuleRecord]) -> Iterator[str]:
    heads = ("rule", "expects", "verdict", "failures", "95%", "q", "flips", "change in confidence",
             "meaning kept", "example")  # fmt: skip
    rows = map(_rule, records[:_RULES_SHOWN])
    yield from tables.section("Rules", tables.markdown_table(heads, "lllrrrrrrl", rows))
    yield from tables.more_in("audit.json", len(records) - _RULES_SHOWN, " rules")


def _summary(document: AuditDocument) -> Iterator[str]:
    yield f"**{tables.markdown_text(conclusion(document))}**"
    yield ""
    for reason in document.verdict.reasons[:_RULES_SHOWN]:
        yield f"- {tables.markdown_text(reason)}"
    if document.verdict.reasons:
        yield ""
    if not document.rules:
        return
    counts = document.verdict.counts
    yield (
        f"{counted(len(document.rules), 'rule')}: "
        f"{counts['failed']} failed, {counts['passed']} passed, "
        f"{counts['not judged']} not judged, {counts['measured']} without a limit."
    )
    for line in together_in_words(document):
        yield from ("", line)


def together_in_words(document: AuditDocument) -> Iterator[str]:
    """Sentences on what rules do together; only rules that expect the same answer count."""
    whole, keeping = document.together, same_answer_note(document)
    flipped, accuracy = whole.flipped, whole.accuracy
    if flipped.total:
        yield (
            f"Rules{keeping} change {counted(flipped.total, 'row')} that the model gets right; "
            f"{flipped.count:,} become wrong under at least one rule ({_rated(flipped)})."
        )
    if accuracy is not None:
        line = f"Accuracy is {number(accuracy.before)}"
        if whole.changed:
            line += (
                f". It is {percent(accuracy.mean)} with a random rewrite of each row and "
                f"{number(accuracy.worst)} with the worst rewrite"
            )
            line += f", by rules{keeping}" if keeping else ""
        yield f"{line}."


def same_answer_note(document: AuditDocument) -> str:
    """What to add to "rules" if only some of the rules count in numbers over all rules."""
    same = all(each.expect == "same" for each in document.rules)
    return "" if same else " that expect the same answer"


def worst_first(rules: Iterable[RuleRecord]) -> list[RuleRecord]:
    """The rules that change a row, by failure rate; failed ones first, those not judged last."""
    order = {"failed": 0, "passed": 1, "measured": 1, "not judged": 2}
    return sorted(
        (each for each in rules if each.changed),
        key=lambda each: (
            order[each.judgement.outcome],
            -(each.judgement.failures.rate or 0.0),
            -each.judgement.failures.total,
        ),
    )


def _rule(record: RuleRecord) -> tuple[str, ...]:
    judgement = record.judgement
    confidence, meaning = record.confidence, record.meaning
    failures = judgement.failures
    return (
        rule_cell(record.rule, record.id),
        tables.markdown_text(record.expect),
        _OUTCOMES[judgement.outcome],
        f"{failures.count} / {failures.total}",
        interval(failures),
        "–" if judgement.q_value is None else f"{judgement.q_value:.2g}",
        f"{record.flips.count} / {record.flips.total}",
        "not given" if confidence is None else f"{confidence.change:+z.2f}",
        "not given" if meaning is None else percent(meaning.at_tau.rate),
        change_cell(record.examples[0]) if record.examples else "",
    )


def _slices(slices: tuple[SliceResult, ...]) -> Iterator[str]:
    """The slices that differ most from the rest, or accuracy by part if none could be compared."""
    known = [each for each in slices if each.q_value is not None]
    known.sort(key=lambda each: (each.q_value or 0.0, -(each.flipped.rate or 0.0)))
    if not known:
        yield from _parts(slices)
        return
    heads = ("slice", "rows", "accuracy", "accuracy, worst rewrites", "flipped", "q")
    rows = (
        (
            f"{tables.markdown_text(each.slicing)}: {tables.markdown_text(each.value)}",
            f"{each.rows:,}",
            percent(None if each.accuracy is None else each.accuracy.rate),
            percent(None if each.worst is None else each.worst.rate),
            f"{each.flipped.count} / {each.flipped.total} ({percent(each.flipped.rate)})",
            f"{each.q_value:.2g}",
        )
        for each in known[:_SLICES_SHOWN]
    )
    title = "Slices that differ most from the rest"
    yield from tables.section(title, tables.markdown_table(heads, "lrrrrr", rows))


def lowest_first(slices: Iterable[SliceResult]) -> list[tuple[SliceResult, Share]]:
    """The slices with a known accuracy, each with that accuracy, the lowest first."""
    known = [(each, each.accuracy) for each in slices if each.accuracy is not None]
    return sorted(known, key=lambda pair: (pair[1].rate or 0.0, pair[0].slicing, pair[0].value))


def _parts(slices: tuple[SliceResult, ...]) -> Iterator[str]:
    """Accuracy by part, if no rule took part or none was tested."""
    rows = (
        (
            f"{tables.markdown_text(each.slicing)}: {tables.markdown_text(each.value)}",
            f"{right.count:,}",
            f"{right.total:,}",
            f"{percent(right.rate)} ({interval(right)})",
        )
        for each, right in lowest_first(slices)
    )
    table = tables.markdown_table(("part", "right", "of", "accuracy (95%)"), "lrrr", rows)
    return tables.section("Accuracy by part, lowest first", table)


def _overlap(document: AuditDocument) -> Iterator[str]:
    shown = document.together.overlaps[:_SLICES_SHOWN]
    if not shown:
        return
    text = {each.id: each.rule for each in document.rules}
    lines = (
        f"- {_called(text, each.first)} and {_called(text, each.second)}: {each.both:,} of "
        f"{each.either:,} flipped rows"
        for each in shown
    )
    yield from tables.section("Rules that flip the same rows", lines)


def _called(text: Mapping[str, str], rule: str) -> str:
    return f"{tables.code_span(rule_in_brief(text[rule]))} ({tables.markdown_text(rule)})"


def _in_full(records: Sequence[RuleRecord]) -> Iterator[str]:
    """The whole text of the rules that tables show in brief."""
    lines = [
        f"- {tables.markdown_text(each.id)}: {tables.code_span(each.rule)}"
        for each in records
        if rule_in_brief(each.rule) != each.rule
    ]
    if lines:
        yield from tables.section("Long rules in full", lines)


def rule_cell(rule: str, rule_id: str) -> str:
    """A rule and its id as a cell; of a long rule the beginning."""
    return f"{tables.code_cell(rule_in_brief(rule))}<br>{tables.markdown_text(rule_id)}"


def number(share: Share) -> str:
    """A share in per cent, with its counts."""
    return f"{percent(share.rate)} ({share.count:,} of {share.total:,})"


def interval(share: Share) -> str:
    """The 95% interval of a share; a dash if nothing was counted."""
    return "–" if share.rate is None else f"{percent(share.low)}–{percent(share.high)}"


def _rated(share: Share) -> str:
    if share.rate is None:
        return "nothing to count"
    return f"{percent(share.rate)}, 95% {interval(share)}"


def change_cell(example: Example) -> str:
    """A row before and after, as the cell of a table."""
    became = with_code_points(example.original, example.rewritten)
    return (
        f"{tables.markdown_text(example.original)} → {tables.markdown_text(became)} "
        f"({tables.markdown_text(example.before)} → {tables.markdown_text(example.after)})"
    )
