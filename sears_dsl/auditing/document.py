"""An audit as one JSON document: everything that the reports show, and what a comparison needs.

In: the JSON file of an audit. Out: `AuditDocument`, checked field by field. The reports are made of
it alone, so that all of them say the same. It holds what decided the result and nothing else, no
date and no path of ours, so that the same audit writes the same bytes. What was not given is null,
never 0. Rows are counted from 1, as in the file.

Each rule has the rows that it changes and their outcomes in two strings, so that a comparison of
two audits can be paired. ``rows`` has their numbers, and ``outcomes`` a letter for each:

    k  kept: right before the rule and after it       g  gained: wrong before, right after
    f  flipped: right before, wrong after             w  wrong before and after

For a rule that expects ``label``, right after the rule means: that label. Strings also hold the
number of words of each answer and the model's confidence in it, for rewritten and for untouched
rows. An unknown value is a dash there, which is read as None, never as 0.

`conclusion` sums the audit up in one sentence, for people who read nothing else. It claims no more
than the verdict and q allow. Rules that were tested on too few rows are counted, but never called
good.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from sears_dsl.auditing.gates import (
    CERTAIN,
    Judgement,
    JudgementOutcome,
    beside_limit,
    lost_rewrites,
    unrounded,
)
from sears_dsl.auditing.robustness import ColumnAccuracy, Robustness
from sears_dsl.auditing.slices import SliceResult
from sears_dsl.auditing.template_answers import FillerGrid
from sears_dsl.auditing.totals import DrawnRule, RateCurve, Together
from sears_dsl.discovery.result.manifest import DataIdentity, JsonRecord
from sears_dsl.errors import DataError, UsageError, counted
from sears_dsl.language.printer import rule_called
from sears_dsl.runtime.files import is_folder, read_document, write_atomically
from sears_dsl.statistics import Share, binomial_tail, percent, share_of

_UNKNOWN = "-"


def per_row_text(numbers: Iterable[float | None]) -> str:
    """Write numbers with all digits that tell them apart and spaces between; "" if none is known.

    Rounded, a confidence below a limit could reach it.
    """
    words = [_UNKNOWN if each is None or math.isnan(each) else _digits(each) for each in numbers]
    return "" if all(each == _UNKNOWN for each in words) else " ".join(words)


def _digits(number: float) -> str:
    return f"{number:.0f}" if float(number).is_integer() else repr(float(number))


def per_row_numbers(text: str, rows: int) -> Sequence[float | None]:
    """Read the numbers of `rows` rows, None for unknown ones."""
    if not text:
        return [None] * rows
    return [None if each == _UNKNOWN else float(each) for each in text.split()]


#: The name of the answers to untouched rows.
UNTOUCHED_ROWS = "rows as they are"

#: The least share of equivalent rewrites of a rule that keeps the meaning (1 - δ).
EQUIVALENT = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The model's confidence in its answers to the tested rows of a rule, where it is known.

    `before`, `after` and `change` are means, whatever the answers are. `change_interval` is the 95%
    interval of the change (Student's; None for a single row). `change_kept` is the mean change on
    rows whose answer stays. `sure_flips` counts flips with at least `sure_from` before and after.
    """

    rows: int
    before: float
    after: float
    change: float
    change_interval: tuple[float, float] | None
    change_kept: float | None
    sure_from: float
    sure_flips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """How far the rewrites of a rule keep the meaning, by the scorer, on rows drawn at random.

    `at_tau` is the share of these with S ≥ τ, and `flips_at_tau` that of the flips among them.
    """

    scored: int
    mean: float
    at_tau: Share
    flips_at_tau: Share

    @property
    def in_doubt(self) -> bool:
        """Whether the rule clearly changes the meaning of more rows than a discovered one may.

        By the exact binomial test, at 5%.
        """
        changed = self.at_tau.total - self.at_tau.count
        return float(binomial_tail(changed, self.at_tau.total, 1 - EQUIVALENT)) < CERTAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A row before and after a rule; `row` is its number in the file, from 1.

    `edits` has start, end, old and new text of each change. Values are None if the data or the
    model does not give them, or nothing was scored. `label` is the first of several right answers,
    and `wrong_before` says whether the first answer is none of them (None in audits of earlier
    versions). `failed` says that the model does not do as expected. `picture` is a path, and
    `choices` are what the answer is chosen from.
    """

    row: int
    original: str
    rewritten: str
    edits: tuple[tuple[int, int, str, str], ...]
    label: str | None
    before: str
    after: str
    confidence_before: float | None
    confidence_after: float | None
    score: float | None
    failed: bool
    picture: str | None = None
    choices: tuple[str, ...] = ()
    wrong_before: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """Everything about one rule; None for what the rule or the model leaves out, or nobody scored.

    `flips` is the share of right rows that are wrong after the rule. `flips_alone` counts those
    that no other rule flips, `gained` wrong rows that are right after it. `accuracy_p_value` is
    McNemar's exact test of flips and gained rows. `unrenderable` counts instances that were left
    alone, for example for want of a single inflection. Rewrites that the oracle `rejected` or the
    model `refused` count nowhere else. Examples of failures come first. `reading` is what decides,
    besides the text, what the rule does (see `readings`); None in audits of earlier versions.
    """

    id: str
    rule: str
    expect: str
    severity: str | None
    tags: tuple[str, ...]
    why: str | None
    changed: int
    right: int
    flips: Share
    flips_alone: int
    gained: int
    accuracy_p_value: float
    judgement: Judgement
    confidence: Confidence | None
    meaning: Meaning | None
    unrenderable: int
    examples: tuple[Example, ...]
    rows: str
    outcomes: str
    rejected: int = 0
    refused: int = 0
    reading: dict[str, str] | None = None
    answer_words: str = ""
    confidences: str = ""

    def __repr__(self) -> str:
        counts, outcome = self.judgement.failures, self.judgement.outcome
        failed = f"fails on {counts.count} of {counts.total} rows"
        return f"<RuleRecord {self.id}: {self.rule}, {failed}, {outcome}>"

    @property
    def name(self) -> str:
        """The name of the rule in reports."""
        return rule_called(self.rule, self.id)

    @property
    def row_numbers(self) -> list[int]:
        """The rows that the rule changes, from 1."""
        return [int(row) for row in self.rows.split()]

    @property
    def tested(self) -> list[bool]:
        """For each of these rows, whether it shows if the model does as expected."""
        tested = "kfgw" if self.expect.startswith("label") else "kf"
        return [letter in tested for letter in self.outcomes]

    @property
    def as_expected(self) -> list[bool]:
        """For each of these rows, whether the answer after the rule is what the rule expects."""
        expected = "fw" if self.expect == "flip" else "kg"
        return [letter in expected for letter in self.outcomes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision, its reasons (failures before gates that could not be judged), and counts.

    ``passed``: every demand that could be judged is met. ``not judged``: a gate could not be judged
    at all, or no row is right. ``measured``: nothing is demanded.
    """

    outcome: JudgementOutcome
    reasons: tuple[str, ...]
    counts: dict[JudgementOutcome, int]
    all_rules: JudgementOutcome = "measured"
    all_rules_reason: str = ""


class DocumentRecord(JsonRecord):
    """The base of documents about audits, and of their parts."""


class RulesetIdentity(DocumentRecord):
    """A ruleset: its name (or file name), its version if any, and a hash of its canonical text."""

    name: str
    version: str | None
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rules: int


class GateRecord(DocumentRecord):
    """What was demanded; see `gates.Gates`."""

    flip_rate: float | None
    miss_rate: float | None
    rows_flipped: float | None
    own: dict[str, float]
    judge_by: Literal["rate", "evidence", "proof"]
    support: int
    require_support: bool
    tolerated: float


class SentenceAnswers(DocumentRecord):
    """The answers to template sentences: a mark for each, ``1`` if it is right.

    The hash is that of the sentences with their labels and templates. Equal hashes mean the same
    sentences in the same order.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    right: str


class AuditDocument(DocumentRecord):
    """Everything about an audit; `sentences` are those of templates beside rows of data.

    An answer is sure from the confidence `sure_from` on; None in audits of earlier versions.
    """

    format: Literal["sears-audit"] = "sears-audit"
    version: Literal[1] = 1
    verdict: Verdict
    model: str
    data: DataIdentity
    labelled: bool
    comparison: str
    rulesets: tuple[RulesetIdentity, ...]
    tagger: str
    scope: Literal["first", "all"]
    unit: Literal["text", "sentence"]
    scorer: str | None
    tau: float | None
    score_at_most: int | None
    seed: int
    gates: GateRecord
    together: Together
    rules: tuple[RuleRecord, ...]
    slices: tuple[SliceResult, ...]
    notes: tuple[str, ...]
    right_rows: str
    answer_words: str = ""
    confidences: str = ""
    versions: dict[str, str]
    robustness: Robustness | None = None
    columns: tuple[ColumnAccuracy, ...] = ()
    draws: int = 1
    drawn: tuple[DrawnRule, ...] = ()
    rates: tuple[RateCurve, ...] = ()
    fillers: FillerGrid | None = None
    oracle: str | None = None
    noise: dict[str, str] = Field(default_factory=dict)
    sentences: SentenceAnswers | None = None
    sure_from: float | None = None

    def __repr__(self) -> str:
        return f"<AuditDocument of {self.model}: {conclusion(self)}>"


@dataclass(frozen=True, slots=True)
class AnswerConfidence:
    """Ascending confidences in right and wrong answers: to untouched rows, or after a rule."""

    name: str
    id: str
    right: tuple[float, ...]
    wrong: tuple[float, ...]

    def sure_and_wrong(self, sure_from: float) -> Share:
        """The share of the wrong answers that the model is sure of."""
        return share_of(sum(each >= sure_from for each in self.wrong), len(self.wrong))


def answer_confidences(document: AuditDocument) -> list[AnswerConfidence]:
    """The known confidences in answers to untouched rows, then after each rule.

    Rules that expect ``flip`` are left out, since they do not say which answer is right.
    """
    marks = [mark == "1" for mark in document.right_rows]
    splits = [_split(UNTOUCHED_ROWS, "", marks, document.confidences)] if document.labelled else []
    splits += [
        _split(each.rule, each.id, each.as_expected, each.confidences)
        for each in document.rules
        if each.expect != "flip"
    ]
    return [each for each in splits if each.right or each.wrong]


def _split(name: str, identity: str, right: Sequence[bool], written: str) -> AnswerConfidence:
    known = list(zip(right, per_row_numbers(written, len(right)), strict=True))
    return AnswerConfidence(
        name,
        identity,
        tuple(sorted(sure for good, sure in known if good and sure is not None)),
        tuple(sorted(sure for good, sure in known if not good and sure is not None)),
    )


def write_document(document: DocumentRecord, path: Path) -> None:
    """Write a document as JSON, entirely or not at all."""
    write_atomically(path, (document.model_dump_json(indent=1) + "\n").encode("utf-8"))


def read_audit(path: Path) -> AuditDocument:
    """Read and check a document; a folder stands for the ``audit.json`` in it."""
    file = path / "audit.json" if is_folder(path) else path
    advice = "name the folder that `sears audit` wrote, or the audit.json in it"
    try:
        return AuditDocument.model_validate_json(read_document(file))
    except OSError as error:
        raise DataError(f"{file} could not be read: {error.strerror}", help=advice) from error
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise DataError(f"{file} is not an audit: it is not JSON", help=advice) from error
        raise DataError(
            f"{file} is not an audit that this version reads: "
            f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}",
            help="run `sears audit` again with this version of sears; it writes audit.json",
        ) from error


def read_audits(paths: Sequence[Path]) -> dict[str, AuditDocument]:
    """Read audits by the names of their folders, or by their paths if two names are the same."""
    folders = [path.parent if path.name == "audit.json" else path for path in paths]
    places = [folder.resolve() for folder in folders]
    for path, place in zip(paths, places, strict=True):
        if places.count(place) > 1:  # a gate on such a comparison would always pass
            raise UsageError(f"the audit {path} is named twice", help="name each audit once")
    # A folder is called as it was named, even through a link.
    names = [Path(os.path.abspath(folder)).name for folder in folders]
    if len(set(names)) < len(names):
        names = list(map(str, paths))
    return {name: read_audit(path) for name, path in zip(names, paths, strict=True)}


def require_same_rows(
    first: AuditDocument, other: AuditDocument, *, called: str = "the audits are"
) -> None:
    """Raise an error unless both audits are of the same rows."""
    if other.data.sha256 != first.data.sha256:
        raise UsageError(
            f"{called} of different rows: {counted(first.data.rows, 'row')} (SHA-256 "
            f"{first.data.sha256[:12]}…) and {counted(other.data.rows, 'row')} "
            f"({other.data.sha256[:12]}…)",
            help="audit the models on the same file, columns and labels",
        )


def conclusion(document: AuditDocument) -> str:
    """Sum an audit up in one sentence, the same for the terminal, Markdown and the page."""
    judged = [
        each for each in document.rules if each.judgement.failures.total >= document.gates.support
    ]
    few = len(document.rules) - len(judged)
    outcome = document.verdict.outcome
    if not judged:
        gates = _of_other_gates(document, outcome)
        does = {"failed": "fails", "passed": "passes"}.get(outcome)
        return f"The model {does}: {gates}." if does and gates else _nothing_judged(document)
    rest = f"; {counted(few, 'rule')} changed too few rows to be judged" if few else ""
    # A rule that was not judged may flip more than the limit in the few rows that it changed.
    rule = "judged rule" if few else "rule"
    if outcome == "failed":
        return f"The model fails: {_failures(document, judged)}{rest}."
    if outcome == "not judged":
        return f"The model cannot be judged on these rows: {document.verdict.reasons[0]}."
    limited = [each for each in judged if each.judgement.limit is not None]
    if outcome == "passed" and not limited:
        return f"The model passes: {_of_other_gates(document, 'passed')}{rest}."
    clear = [each for each in judged if _clear(each)]
    if outcome == "measured" and clear:
        than = _than(clear, one=len(clear) == 1)
        return (
            f"{_subject(clear, judged)} clearly {_verb(judged, clear)} {than}{_worst(clear)}{rest}."
        )
    if outcome == "measured":
        than = _than(judged, one=True)
        return f"No {rule} clearly {_verb(judged, judged[:1])} {than}{rest}."
    rule += "" if len(limited) == len(judged) else " with a limit"
    sure = " clearly" if document.gates.judge_by == "evidence" else ""
    does = f"{_verb(limited, limited[:1])} {_than(limited, one=True)}"
    return f"The model passes: no {rule}{sure} {does}{rest}."


def _clear(record: RuleRecord) -> bool:
    q = record.judgement.q_value
    return q is not None and q < CERTAIN


def _nothing_judged(document: AuditDocument) -> str:
    most = max((each.judgement.failures.total for each in document.rules), default=0)
    lost = why_lost(document.rules)
    sentences = [
        f"{percent(each.pooled.rate)} of {each.pooled.total:,} template sentences"
        for each in document.columns
        if each.of_sentences
    ]
    accuracy = document.together.accuracy
    if not most and (sentences or (accuracy is not None and not document.rules)):
        gets = [] if accuracy is None else [f"{percent(accuracy.before.rate)} of the rows"]
        why = f", because {lost}" if lost else ""
        return f"No rule was tested{why}; the model gets {' and '.join(gets + sentences)} right."
    if lost and not any(each.changed for each in document.rules):
        return f"Nothing can be said about the model: no rewrite is left, because {lost}."
    also = f"; {lost}" if lost else ""
    if not most:
        why = " about the model: no rule changes a row that the model gets right"
        if "1" not in document.right_rows:
            why = ": the model gets no row right; labels and answers may be spelled differently"
        return f"Nothing can be said{why}{also}."
    rows = counted(most, "row")
    return (
        f"Too few rows were tested to judge the model: no rule changes more than {rows} that the "
        f"model gets right, and {document.gates.support} are needed{also}."
    )


def why_lost(records: Sequence[RuleRecord]) -> str:
    """Say why rewrites of these rules do not count; "" if all of them do."""
    return lost_rewrites(
        sum(each.refused for each in records), sum(each.rejected for each in records)
    )


def _failures(document: AuditDocument, judged: Sequence[RuleRecord]) -> str:
    failed = [each for each in judged if each.judgement.outcome == "failed"]
    whole, gates = document.together.flipped, document.gates
    if failed:
        one = len(failed) == 1
        if gates.judge_by == "proof" and not all(map(_clear, failed)):
            no_more = _than(failed, one=one).replace("more", "no more", 1)
            return (
                f"it is not proven that {_subject(failed, judged)} {_verb(judged, failed)} "
                f"{no_more}{_worst(failed)}"
            )
        doubt = f", though {'this' if one else 'each of these'} may be chance"
        return (
            f"{_subject(failed, judged)} {_verb(judged, failed)} {_than(failed, one=one)}"
            f"{_worst(failed)}{'' if any(map(_clear, failed)) else doubt}"
        )
    if document.verdict.all_rules == "failed" and (whole.rate or 0.0) > (gates.rows_flipped or 0.0):
        return (
            f"all rules together flip more rows than allowed: {whole.count:,} of {whole.total:,} "
            f"({percent(whole.rate)})"
        )
    return _of_other_gates(document, "failed") or "what is required could not be judged"


def _of_other_gates(document: AuditDocument, outcome: JudgementOutcome) -> str:
    """The first gate that is not about a single rule with this outcome, and how many more."""
    verdict = document.verdict
    gates = [("all rules together", verdict.all_rules, verdict.all_rules_reason)]
    if document.robustness is not None:
        gates += [(each.gate, each.outcome, each.reason) for each in document.robustness.gates]
    reasons = [f"{gate}: {reason}" for gate, judged, reason in gates if judged == outcome]
    if not reasons:
        return ""
    more = f" (and {counted(len(reasons) - 1, 'more gate')})" if reasons[1:] else ""
    return f"{reasons[0]}{more}"


def _subject(some: Sequence[RuleRecord], judged: Sequence[RuleRecord]) -> str:
    return f"{len(some):,} of {counted(len(judged), 'rule')}"


def _verb(judged: Sequence[RuleRecord], subject: Sequence[RuleRecord]) -> str:
    one = len(subject) == 1
    if all(each.expect == "same" for each in judged):
        return "flips" if one else "flip"
    return "fails on" if one else "fail on"


def _than(records: Sequence[RuleRecord], *, one: bool) -> str:
    """The limit that these rules exceed, in words; `one` if the sentence is about one rule."""
    limits = {each.judgement.against for each in records}
    own = "its" if one else "their"
    if len(limits) > 1:
        return f"more of {own} tested rows than allowed"
    return f"more than {unrounded(limits.pop())} of {own} tested rows"


def _worst(records: Sequence[RuleRecord]) -> str:
    worst = max(records, key=lambda each: (each.judgement.failures.rate or 0.0, each.id))
    failures = worst.judgement.failures
    rate = beside_limit(failures.rate or 0.0, worst.judgement.against)
    share = f"{failures.count:,} of {failures.total:,} ({rate})"
    return f"{', above all' if len(records) > 1 else ':'} {worst.name} with {share}"
