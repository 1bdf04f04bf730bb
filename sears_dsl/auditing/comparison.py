"""Two audits of the same rows side by side: two models, or two versions of one.

In: two `AuditDocument`s. Out: `ComparisonDocument`. Only rows that both audits tested are compared,
so that no model is called better for having other rows right. Each comparison is McNemar's exact
test on these pairs. All tests of rules and accuracies (in a grid, those of all models against the
first) are one family after Holm: whatever else changed, at most one of twenty documents calls
anything worse by mistake. What rules do together is compared over rewrites that both audits have. A
rule that was changed under its id, or is read under other sets or options, is another one. What
cannot be compared is listed with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from sears_dsl import statistics
from sears_dsl.auditing import document as documents
from sears_dsl.auditing.gates import CERTAIN
from sears_dsl.auditing.robustness import points
from sears_dsl.errors import UsageError, counted, listed
from sears_dsl.language.diff import settings_difference
from sears_dsl.language.printer import rule_called

_Key = TypeVar("_Key")
_SOME = 3  # so many rules are named
ACCURACY = "accuracy"
#: Rules that expect another answer do not count, since they change what is right.
AGAINST_WORST = "accuracy with the worst rewrites by rules that expect the same answer"
ON_SENTENCES = "accuracy on template sentences"
RateChange: TypeAlias = Literal["worse", "better", "no evidence", "not compared"]
"""How a rate changed; ``no evidence`` if the difference may be chance (p ≥ 0.05, Holm)."""
NO_ROW = "no row was tested in both audits"
"""The note on a rule that has nothing to be compared on."""
FIRST_ALONE, SECOND_ALONE = "only the first audit has it", "only the second audit has it"
"""The notes on a rule that one audit lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """How often something happened to the same rows in both audits, and in either alone.

    The 95% interval is that of the second rate minus the first. p is that of McNemar's exact test,
    None if there are no rows. `adjusted_p_value` is p after Holm over all tests that decide the
    comparison, and None for a test that is not one of them.
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
        """The rate in the first audit; None if there are no rows."""
        return self.first / self.rows if self.rows else None

    @property
    def second_rate(self) -> float | None:
        """The rate in the second audit; None if there are no rows."""
        return self.second / self.rows if self.rows else None

    @property
    def in_percent(self) -> str:
        """Both rates."""
        return f"{statistics.percent(self.first_rate)} → {statistics.percent(self.second_rate)}"

    @property
    def in_points(self) -> str:
        """The difference in points with its interval."""
        if not self.rows:
            return "–"
        difference = (self.second - self.first) / self.rows
        return f"{points(difference)} ({points(self.low)} to {points(self.high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleComparison:
    """One rule in both audits, with its text in the second, or in the only one that has it.

    Failures are on the rows that both tested. q, the false-discovery rate over the same tests
    (Benjamini and Hochberg), decides nothing and is None if nothing is compared.
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
        """Whether both audits have a rule of this id, but not the same rule."""
        return bool(self.note) and self.note not in {NO_ROW, FIRST_ALONE, SECOND_ALONE}


class ComparisonDocument(documents.DocumentRecord):
    """Two audits side by side. Rates of accuracy are of rows that are right, not of failures.

    `sentence_accuracy` is that on template sentences beside the rows.
    """

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
    sentence_accuracy: Paired | None = None

    @property
    def accuracies(self) -> dict[str, Paired]:
        """The accuracies that are compared, by their names."""
        named = {
            ACCURACY: self.accuracy,
            AGAINST_WORST: self.worst_accuracy,
            ON_SENTENCES: self.sentence_accuracy,
        }
        return {name: each for name, each in named.items() if each is not None}

    @property
    def outcomes(self) -> set[RateChange]:
        """What became of the rules and of the accuracies."""
        of_accuracies = (rate_change(e, more_is_better=True) for e in self.accuracies.values())
        return {*(each.outcome for each in self.rules), *of_accuracies}

    @property
    def nothing_compared(self) -> bool:
        """Whether neither a rule nor an accuracy is compared."""
        return self.outcomes <= {"not compared"}


def compare(first: documents.AuditDocument, second: documents.AuditDocument) -> ComparisonDocument:
    """Compare two audits of the same rows, which must have been made with the same options."""
    _check(first, second)
    before, after = ({each.id: each for each in audit.rules} for audit in (first, second))
    records = {name: (before.get(name), after.get(name)) for name in (*after, *before)}
    # A rule that one audit alone has would make the model of that audit look worse.
    common = {
        name: (one, other) for name, (one, other) in records.items()
        if one and other and not _otherwise(one, other)
    }  # fmt: skip
    keeping = [both for both in common.values() if both[0].expect == "same"]
    changed, *flips = _changed_and_flipped(keeping)
    right = [_marked(each.right_rows) for each in (first, second)]
    every = set(range(1, first.data.rows + 1))
    accuracies: dict[str, Paired] = {}
    if first.labelled and second.labelled:
        accuracies[ACCURACY] = _pairs(every, *right)
        if changed:
            right_at_worst = [good - bad for good, bad in zip(right, flips, strict=True)]
            accuracies[AGAINST_WORST] = _pairs(every, *right_at_worst)
    one, other = first.sentences, second.sentences
    if one is not None and other is not None and one.sha256 == other.sha256:
        every = set(range(1, len(one.right) + 1))
        accuracies[ON_SENTENCES] = _pairs(every, *map(_marked, (one.right, other.right)))
    nothing = _pairs(set(), set(), set())
    of_rules = {name: _rule_pairs(*common[name]) if name in common else nothing for name in records}
    family = one_family(
        {("rule", name): paired for name, paired in of_rules.items()}
        | {("accuracy", name): paired for name, paired in accuracies.items()}
    )
    accuracies = {name: family["accuracy", name][0] for name in accuracies}
    compared = ComparisonDocument(
        first_model=first.model,
        second_model=second.model,
        data_sha256=first.data.sha256,
        rows=first.data.rows,
        rules=tuple(_change(name, *both, *family["rule", name]) for name, both in records.items()),
        rows_flipped=_pairs(right[0] & right[1], *flips),
        accuracy=accuracies.get(ACCURACY),
        worst_accuracy=accuracies.get(AGAINST_WORST),
        worse=False,
        summary=(),
        sentence_accuracy=accuracies.get(ON_SENTENCES),
    )
    summary = (*_summary(compared), *different_inputs([first, second]))
    worse = "worse" in compared.outcomes
    return compared.model_copy(update={"worse": worse, "summary": summary})


def _marked(marks: str) -> set[int]:
    """The numbers of the rows, from 1, whose mark says that they are right."""
    return {number for number, mark in enumerate(marks, 1) if mark == "1"}


def different_inputs(audits: Sequence[documents.AuditDocument]) -> Iterator[str]:
    """Lines on what is not compared: template sentences that differ, and draws after the first."""
    if len({each.sentences and each.sentences.sha256 for each in audits}) > 1:
        yield (
            "template sentences are not compared: the audits have different ones, or one of an "
            "earlier version does not say which are right"
        )
    draws = [each.draws for each in audits]
    if max(draws) > 1:
        counts = ", ".join(map(str, draws))
        yield f"draws of noise per audit: {counts}; only the first draw of each is compared"


def one_family(tests: Mapping[_Key, Paired]) -> dict[_Key, tuple[Paired, float | None]]:
    """Each test with p after Holm over all of them, and its q; None if nothing is compared."""
    p_values = {key: each.p_value for key, each in tests.items() if each.p_value is not None}
    values = list(p_values.values())
    adjusted = dict(zip(p_values, statistics.holm_values(values).tolist(), strict=True))
    q = dict(zip(p_values, statistics.q_values(values).tolist(), strict=True))
    return {
        key: (replace(each, adjusted_p_value=adjusted.get(key)), q.get(key))
        for key, each in tests.items()
    }


def rate_change(paired: Paired, *, more_is_better: bool = False) -> RateChange:
    """How a rate changed: fewer failures are better, or (`more_is_better`) more right answers."""
    if not paired.rows:
        return "not compared"
    if not paired.certain:
        return "no evidence"
    return "better" if (paired.second > paired.first) == more_is_better else "worse"


def _check(first: documents.AuditDocument, second: documents.AuditDocument) -> None:
    documents.require_same_rows(first, second)
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
                f"the first audit was made with {name} {one}, the second with {other}",
                help="run both audits with the same options",
            )


def _otherwise(first: documents.RuleRecord, second: documents.RuleRecord) -> str:
    """How the rule of an id was different in the first audit; "" if it is the same rule.

    Only then a difference is the model's. Audits of earlier versions do not say how rules are read.
    """
    if first.expect != second.expect:
        return f"it expected {first.expect} and now expects {second.expect}"
    if first.rule != second.rule:
        return f"the rule was {first.rule}"
    if first.reading is None or second.reading is None:
        return ""
    return settings_difference(first.reading, second.reading)


def _rule_pairs(first: documents.RuleRecord, second: documents.RuleRecord) -> Paired:
    tested, failed = zip(*map(_tested_and_failed, (first, second)), strict=True)
    return _pairs(tested[0] & tested[1], *failed)


def _tested_and_failed(record: documents.RuleRecord) -> tuple[set[int], set[int]]:
    """The numbers of the rows on which a rule was tested, and of those that failed."""
    tested = {row for row, each in zip(record.row_numbers, record.tested, strict=True) if each}
    as_expected = {
        row for row, each in zip(record.row_numbers, record.as_expected, strict=True) if each
    }
    return tested, tested - as_expected


def _changed_and_flipped(
    rules: Iterable[tuple[documents.RuleRecord, documents.RuleRecord]],
) -> tuple[set[int], set[int], set[int]]:
    """The rows that rules change in both audits, then those that they flip in each.

    A rewrite that one audit lost, refused or rejected by its oracle, counts in neither.
    """
    changed, first, second = set[int](), set[int](), set[int]()
    for one, other in rules:
        both = {*one.row_numbers}.intersection(other.row_numbers)
        changed |= both
        first |= _tested_and_failed(one)[1] & both
        second |= _tested_and_failed(other)[1] & both
    return changed, first, second


def _pairs(rows: set[int], first: set[int], second: set[int]) -> Paired:
    one, other = first & rows, second & rows
    only_first, only_second = len(one - other), len(other - one)
    low, high = statistics.paired_difference_interval(only_first, only_second, len(rows))
    return Paired(
        rows=len(rows),
        first=len(one),
        second=len(other),
        only_first=only_first,
        only_second=only_second,
        low=float(low),
        high=float(high),
        p_value=float(statistics.mcnemar_exact(only_first, only_second)) if rows else None,
    )


def _change(
    name: str,
    first: documents.RuleRecord | None,
    second: documents.RuleRecord | None,
    paired: Paired,
    q_value: float | None,
) -> RuleComparison:
    record = next(each for each in (second, first) if each is not None)
    if first is None or second is None:
        note = SECOND_ALONE if first is None else FIRST_ALONE
    else:
        note = _otherwise(first, second) or ("" if paired.rows else NO_ROW)
    return RuleComparison(
        id=name, rule=record.rule, expect=record.expect, failures=paired, q_value=q_value,
        outcome=rate_change(paired), note=note,
    )  # fmt: skip


def changes_in_words(outcomes: Sequence[RateChange]) -> str:
    """How many rules there are, and how many of them are better, worse, and neither."""
    return (
        f"{counted(len(outcomes), 'rule')}: "
        f"{outcomes.count('better')} better, {outcomes.count('worse')} worse, "
        f"{outcomes.count('no evidence')} with no evidence of a difference, "
        f"{outcomes.count('not compared')} not compared"
    )


def untested_rules(rules: Sequence[RuleComparison]) -> Iterator[str]:
    """A line on the rules that have nothing to be compared on, if there are any."""
    names = [rule_called(each.rule, each.id) for each in rules if each.note == NO_ROW]
    if names:
        are = counted(len(names), "rule is not compared", "rules are not compared")
        yield f"{are}, because {NO_ROW}: {listed(names, _SOME)}"


def _summary(comparison: ComparisonDocument) -> Iterator[str]:
    accuracies = comparison.accuracies
    if comparison.rules or not accuracies:
        yield changes_in_words([each.outcome for each in comparison.rules])
    for name, paired in accuracies.items():
        yield (
            f"{name}: {paired.in_percent}, a difference of {paired.in_points} points, "
            f"p = {paired.adjusted_p_value:.2g} (Holm)"
        )
