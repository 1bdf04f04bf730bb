"""What to think of an audit, in one sentence.

In: the document of an audit. Out: a sentence for people who read nothing else. Always holds: it
claims no more than the verdict and q allow; rules that were tested on too few rows are counted and
never called good.
"""

from __future__ import annotations

from collections.abc import Sequence

from sears_dsl.auditing.document import AuditDocument, RuleRecord
from sears_dsl.auditing.gates import CERTAIN, JudgementOutcome
from sears_dsl.auditing.shares import percent
from sears_dsl.auditing.template_answers import OF_SENTENCES
from sears_dsl.runtime.wording import counted


def conclusion(document: AuditDocument) -> str:
    """The sentence, the same in the terminal, in Markdown and on the page."""
    judged = [
        each for each in document.rules if each.judgement.failures.total >= document.gates.support
    ]
    few = len(document.rules) - len(judged)
    if not judged:
        broken = _of_robustness(document, "failed")
        return f"The model fails: {broken}." if broken else _nothing_judged(document)
    rest = f"; {counted(few, 'rule')} changed too few rows to be judged" if few else ""
    outcome = document.verdict.outcome
    if outcome == "failed":
        return f"The model fails: {_failures(document, judged)}{rest}."
    if outcome == "not judged":
        return f"The model cannot be judged by these rows: {document.verdict.reasons[0]}."
    if outcome == "passed" and not _limits_failures(document):
        return f"The model passes: {_of_robustness(document, 'passed')}{rest}."
    clear = [each for each in judged if _clear(each)]
    if outcome == "measured" and clear:
        than = _than(clear, one=len(clear) == 1)
        return (
            f"{_subject(clear, judged)} clearly {_verb(judged, clear)} {than}{_worst(clear)}{rest}."
        )
    than = _than([each for each in judged if each.judgement.limit is not None] or judged, one=True)
    passes = "The model passes: no" if outcome == "passed" else "No"
    sure = "" if outcome == "passed" and document.gates.judge_by != "evidence" else " clearly"
    return f"{passes} rule{sure} {_verb(judged, judged[:1])} {than}{rest}."


def _clear(record: RuleRecord) -> bool:
    q = record.judgement.q_value
    return q is not None and q < CERTAIN


def _nothing_judged(document: AuditDocument) -> str:
    most = max((each.judgement.failures.total for each in document.rules), default=0)
    if not document.rules and document.together.accuracy is not None:
        right = document.together.accuracy.before
        sentences = "".join(
            f", and {percent(each.pooled.rate)} of {each.pooled.total:,} sentences of templates"
            for each in document.columns
            if each.column == OF_SENTENCES
        )
        rows = f"{percent(right.rate)} of the rows right"
        return f"No rule took part; the model has {rows}{sentences}."
    if not most:
        return (
            "Nothing can be said about the model: no rule changes a row that the model has right."
        )
    rows = counted(most, "row")
    return (
        f"Too little was tested to judge the model: no rule changes more than {rows} that the "
        f"model has right, and {document.gates.support} are needed."
    )


def _failures(document: AuditDocument, judged: Sequence[RuleRecord]) -> str:
    failed = [each for each in judged if each.judgement.outcome == "failed"]
    whole = document.together.flipped
    if failed:
        one = len(failed) == 1
        doubt = f", though {'it' if one else 'each of them'} may be chance"
        return (
            f"{_subject(failed, judged)} {_verb(judged, failed)} {_than(failed, one=one)}"
            f"{_worst(failed)}{'' if any(map(_clear, failed)) else doubt}"
        )
    if document.verdict.all_rules == "failed":
        return (
            f"all rules together flip more rows than they may, {whole.count:,} of {whole.total:,} "
            f"({percent(whole.rate)})"
        )
    return _of_robustness(document, "failed") or "what was demanded could not be judged"


def _limits_failures(document: AuditDocument) -> bool:
    """Whether something is demanded beside robustness."""
    limited = any(each.judgement.limit is not None for each in document.rules)
    return limited or document.gates.rows_flipped is not None


def _of_robustness(document: AuditDocument, outcome: JudgementOutcome) -> str:
    """The first gate about robustness with this outcome, and how many more there are."""
    gates = () if document.robustness is None else document.robustness.gates
    of_outcome = [each for each in gates if each.outcome == outcome]
    if not of_outcome:
        return ""
    more = f", and {len(of_outcome) - 1} more alike" if len(of_outcome) > 1 else ""
    return f"{of_outcome[0].gate}: {of_outcome[0].reason}{more}"


def _subject(some: Sequence[RuleRecord], judged: Sequence[RuleRecord]) -> str:
    return f"{len(some):,} of {counted(len(judged), 'rule')}"


def _verb(judged: Sequence[RuleRecord], subject: Sequence[RuleRecord]) -> str:
    one = len(subject) == 1
    if all(each.expect == "same" for each in judged):
        return "flips" if one else "flip"
    return "fails on" if one else "fail on"


def _than(records: Sequence[RuleRecord], *, one: bool) -> str:
    """What the rates of these rules were held against; `one` where a single rule is spoken of."""
    limits = {each.judgement.against for each in records}
    own = "its" if one else "the"
    if len(limits) > 1:
        return f"more of {own} tested rows than allowed"
    return f"more than {percent(limits.pop())} of {own} tested rows"


def _worst(records: Sequence[RuleRecord]) -> str:
    worst = max(records, key=lambda each: (each.judgement.failures.rate or 0.0, each.id))
    failures = worst.judgement.failures
    share = f"{failures.count:,} of {failures.total:,}, {percent(failures.rate)}"
    return f"{', most of all' if len(records) > 1 else ':'} {worst.name}, {share}"
