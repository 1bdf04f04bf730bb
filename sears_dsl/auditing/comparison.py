"""Two audits of the same rows side by side: two models, or two versions of one.

In: two `AuditDocument`s. Out: `ComparisonDocument`. Always holds: only rows that both audits tested
are compared, so that a model is not called better for having other rows right; each comparison is
McNemar's exact test on these pairs, and all of them, the rules and the accuracies, are one family
after Holm: whatever else changed, anything is called worse by mistake in at most one of twenty
comparisons; what rules do together is compared over those that both audits have; a rule that was
changed under its id, or is read under other sets or options, is another one; what cannot be
compared is listed with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from sears_dsl.auditing.document import AuditDocument, DocumentRecord, RuleRecord
from sears_dsl.auditing.gates import CERTAIN
from sears_dsl.errors import UsageError
from sears_dsl.language.diff import read_otherwise
from sears_dsl.statistics import (
    holm_values,
    mcnemar_exact,
    paired_difference_interval,
    percent,
    q_values,
)

_Key = TypeVar("_Key")
# What is compared: a rule by its id, or an accuracy.
_Test: TypeAlias = tuple[Literal["rule", "accuracy", "worst"], str]
RateChange: TypeAlias = Literal["worse", "better", "no evidence", "not compared"]
"""What became of a rule; ``no evidence`` where the difference may be chance (p ≥ 0.05, Holm)."""
NO_ROW = "no row was tested in both"
"""The note on a rule that has nothing to be compared on."""
FIRST_ALONE, SECOND_ALONE = "only the first audit has it", "only the second audit has it"
"""The notes on a rule that one audit lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How often something happened to the same rows in both audits, and in either alone.

    The 95% interval is that of the second rate minus the first; p is that of McNemar's exact test,
    None where there are no rows; adjusted after Holm, over all tests of the comparison, and None
    where the test is not one of those that decide.
    """

    rows: int
    first: int
    second: int
    only_first: int
    only_second: int
    low: float
    high: float
    p_value: float | None
    adjusted_p_value: float | None = None

    @property
    def certain(self) -> bool:
        """Whether the difference is beyond chance."""
        return self.adjusted_p_value is not None and self.adjusted_p_value < CERTAIN

    @property
    def first_rate(self) -> float | None:
        """None where there are no rows."""
        return self.first / self.rows if self.rows else None

    @property
    def second_rate(self) -> float | None:
        """None where there are no rows."""
        return self.second / self.rows if self.rows else None

    @property
    def in_points(self) -> str:
        """The difference in points with its interval."""
        if not self.rows:
            return "–"
        difference = 100 * (self.second - self.first) / self.rows
        return f"{difference:+.1f} ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleComparison:
    """One rule in both audits, by its text in the second, or in the only one that has it.

    Failures are on the rows that both tested. q, the false-discovery rate over the same tests
    (Benjamini and Hochberg), decides nothing; None where not compared.
    """

    id: str
    rule: str
    expect: str
    failures: Paired
    q_value: float | None
    outcome: RateChange
    note: str

    @property
    def changed(self) -> bool:
        """Whether both audits have a rule of this id, and not the same one."""
        return bool(self.note) and self.note not in {NO_ROW, FIRST_ALONE, SECOND_ALONE}


class ComparisonDocument(DocumentRecord):
    """Two audits side by side. Rates of accuracy are of rows that are right, not of failures."""

    format: Literal["sears-comparison"] = "sears-comparison"
    version: Literal[1] = 1
    first_model: str
    second_model: str
    data_sha256: str
    rows: int
    rules: tuple[RuleComparison, ...]
    rows_flipped: Paired
    accuracy: Paired | None
    worst_accuracy: Paired | None
    worse: bool
    summary: tuple[str, ...]


def compare(first: AuditDocument, second: AuditDocument) -> ComparisonDocument:
    """Set two audits of the same rows, changed and compared in the same ways, side by side."""
    _check(first, second)
    records = _matched(first.rules, second.rules)
    # A rule that one audit alone has would make the model of that audit look worse.
    common = [
        (one, other)
        for one, other in records.values()
        if one is not None
        and other is not None
        and not _otherwise(one, other)
        and one.expect == "same"
    ]
    flips: list[set[int]] = [set(), set()]
    for both in common:
        for flipped, record in zip(flips, both, strict=True):
            flipped.update(_tested_and_failed(record)[1])
    right = [
        {row for row, mark in enumerate(document.right_rows, 1) if mark == "1"}
        for document in (first, second)
    ]
    both_right = right[0] & right[1]
    every = set(range(1, first.data.rows + 1))
    tests: dict[_Test, Paired] = {
        ("rule", name): _rule_pairs(*both) for name, both in records.items()
    }
    if first.labelled and second.labelled:
        tests["accuracy", ""] = _pairs(every, *right)
        if common:
            right_at_worst = [good - bad for good, bad in zip(right, flips, strict=True)]
            tests["worst", ""] = _pairs(every, *right_at_worst)
    family = one_family(tests)
    rules = tuple(_change(name, *both, *family["rule", name]) for name, both in records.items())
    accuracy, worst = (
        family[kind, ""][0] if (kind, "") in family else None for kind in ("accuracy", "worst")
    )
    return ComparisonDocument(
        first_model=first.model,
        second_model=second.model,
        data_sha256=first.data.sha256,
        rows=first.data.rows,
        rules=rules,
        rows_flipped=_pairs(both_right, *flips),
        accuracy=accuracy,
        worst_accuracy=worst,
        worse=any(each.outcome == "worse" for each in rules)
        or any(
            rate_change(each, more_is_better=True) == "worse" for each in (accuracy, worst) if each
        ),
        summary=(*_summary(rules, accuracy, worst), *compared_draws([first, second])),
    )


def one_family(
    tests: Mapping[_Key, Paired],
) -> dict[_Key, tuple[Paired, float | None]]:
    """Each test with p after Holm over all of them, and its q; None where nothing is compared."""
    p_values = {key: each.p_value for key, each in tests.items() if each.p_value is not None}
    values = list(p_values.values())
    adjusted = dict(zip(p_values, holm_values(values).tolist(), strict=True))
    q = dict(zip(p_values, q_values(values).tolist(), strict=True))
    return {
        key: (replace(each, adjusted_p_value=adjusted.get(key)), q.get(key))
        for key, each in tests.items()
    }


def rate_change(paired: Paired, *, more_is_better: bool = False) -> RateChange:
    """What became of a rate; of failures fewer are better, of what is right more."""
    if not paired.rows:
        return "not compared"
    if not paired.certain:
        return "no evidence"
    return "better" if (paired.second > paired.first) == more_is_better else "worse"


def compared_draws(audits: Sequence[AuditDocument]) -> Iterator[str]:
    """What is compared where an audit has several draws: a line, or none."""
    draws = [each.draws for each in audits]
    if max(draws) > 1:
        counts = ", ".join(map(str, draws))
        yield f"draws of noise in each audit: {counts}; the first draw of each is what is compared"


def _check(first: AuditDocument, second: AuditDocument) -> None:
    if first.data.sha256 != second.data.sha256:
        raise UsageError(
            f"the audits are of other rows: {first.data.rows:,} rows "
            f"{first.data.sha256[:12]}… and {second.data.rows:,} rows {second.data.sha256[:12]}…",
            help="audit both models on the same file, columns and labels",
        )
    options = {name: (getattr(first, name), getattr(second, name))
               for name in ("comparison", "scope", "unit", "tagger")}  # fmt: skip
    options |= {name: (getattr(first.data, name), getattr(second.data, name))
                for name in ("protect", "spans")}  # fmt: skip
    # Audits of earlier versions do not say what their noise was drawn by.
    if first.noise and second.noise:
        options["noise"] = (first.noise, second.noise)
    for name, (one, other) in options.items():
        if one != other:
            raise UsageError(
                f"the audits differ in {name}: {one} and {other}",
                help="run both with the same options",
            )


def _matched(
    first: Sequence[RuleRecord], second: Sequence[RuleRecord]
) -> dict[str, tuple[RuleRecord | None, RuleRecord | None]]:
    """The rules of both, by id, in the order of the second; those of the first alone at the end."""
    before: Mapping[str, RuleRecord] = {each.id: each for each in first}
    after: Mapping[str, RuleRecord] = {each.id: each for each in second}
    return {name: (before.get(name), after.get(name)) for name in (*after, *before)}


def _otherwise(first: RuleRecord, second: RuleRecord) -> str:
    """How the rule of an id was another one in the first audit; nothing where it is the same.

    Only then a difference is the model's. Audits of earlier versions do not say how rules are read.
    """
    if first.expect != second.expect:
        return f"it expected {first.expect} and now expects {second.expect}"
    if first.rule != second.rule:
        return f"the rule was {first.rule}"
    if first.reading is None or second.reading is None:
        return ""
    return read_otherwise(first.reading, second.reading)


def _rule_pairs(first: RuleRecord | None, second: RuleRecord | None) -> Paired:
    if first is None or second is None or _otherwise(first, second):
        return _pairs(set(), set(), set())
    tested, failed = zip(*map(_tested_and_failed, (first, second)), strict=True)
    return _pairs(tested[0] & tested[1], *failed)


def _tested_and_failed(record: RuleRecord) -> tuple[set[int], set[int]]:
    """The numbers of the rows on which a rule was tested, and of those that failed."""
    rows = [int(row) for row in record.rows.split()]
    outcomes = dict(zip(rows, record.outcomes, strict=True))
    kind = record.expect.split(" ")[0]
    tested = "kfgw" if kind == "label" else "kf"
    failing = {"same": "f", "flip": "k", "label": "fw"}[kind]
    return (
        {row for row, letter in outcomes.items() if letter in tested},
        {row for row, letter in outcomes.items() if letter in failing},
    )


def _pairs(rows: set[int], first: set[int], second: set[int]) -> Paired:
    one, other = first & rows, second & rows
    only_first, only_second = len(one - other), len(other - one)
    low, high = paired_difference_interval(only_first, only_second, len(rows))
    return Paired(
        rows=len(rows),
        first=len(one),
        second=len(other),
        only_first=only_first,
        only_second=only_second,
        low=float(low),
        high=float(high),
        p_value=float(mcnemar_exact(only_first, only_second)) if rows else None,
    )


def _change(
    name: str,
    first: RuleRecord | None,
    second: RuleRecord | None,
    paired: Paired,
    q_value: float | None,
) -> RuleComparison:
    record = next(each for each in (second, first) if each is not None)
    note = ""
    if first is None or second is None:
        note = SECOND_ALONE if first is None else FIRST_ALONE
    else:
        note = _otherwise(first, second) or ("" if paired.rows else NO_ROW)
    return RuleComparison(
        id=name,
        rule=record.rule,
        expect=record.expect,
        failures=paired,
        q_value=q_value,
        outcome=rate_change(paired),
        note=note,
    )


def changes_in_words(outcomes: Sequence[RateChange], noun: str = "") -> str:
    """How many are better, worse, and neither."""
    return (
        f"{outcomes.count('better')}{noun} better, {outcomes.count('worse')} worse, "
        f"{outcomes.count('no evidence')} without evidence of a difference, "
        f"{outcomes.count('not compared')} not compared"
    )


def _summary(
    rules: Sequence[RuleComparison], accuracy: Paired | None, worst: Paired | None
) -> list[str]:
    rule_count = f"{len(rules)} rule{'s' * (len(rules) != 1)}"
    lines = [f"{rule_count}: {changes_in_words([each.outcome for each in rules])}"]
    for name, paired in (("accuracy", accuracy), ("accuracy against the worst rule", worst)):
        if paired is not None:
            lines.append(
                f"{name}: {percent(paired.first_rate)} → {percent(paired.second_rate)}, "
                f"difference {paired.in_points} points, p = {paired.adjusted_p_value:.2g} (Holm)"
            )
    return lines
