"""Three audits of the same rows and more: a grid of models and rules, each held against the first.

In: audits by name. Out: `GridDocument`. Always holds: every cell is the failure rate on the rows
that its own audit tested; how sure a model is stands there where it says so, and is never 0 where
it does not; a model is compared with the first on the rows that both tested, as two audits are; all
these tests, of all models, rules and accuracies, are one family after Holm, so that anything in a
grid is called worse or better by mistake in at most one of twenty grids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from sears_dsl.auditing.comparison import (
    ComparisonDocument,
    Paired,
    RateChange,
    changes_in_words,
    compare,
    compared_draws,
    one_family,
    rate_change,
)
from sears_dsl.auditing.document import (
    AnswerConfidence,
    AuditDocument,
    DocumentRecord,
    answer_confidences,
)
from sears_dsl.auditing.gates import JudgementOutcome
from sears_dsl.errors import UsageError
from sears_dsl.language.printer import rule_called
from sears_dsl.statistics import Share, percent

_LEAST = 2
_FEW = 10
# The place of a model among those after the first, what is compared, and the id of a rule.
_Test: TypeAlias = tuple[int, Literal["rule", "accuracy", "worst"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A model against the first on the same rows: how often something happened, with p after Holm.

    q, the false-discovery rate over the same tests, decides nothing.
    """

    paired: Paired
    q_value: float | None
    outcome: RateChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A rule on a model, with None where its audit has no such rule, held against the first."""

    failures: Share | None
    against_first: Contrast | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridModel:
    """A column of the grid, by the name that tells its audit from the others.

    Accuracies are of the untouched rows and against the worst rule for each row, None without
    labels. What is held against the first model is over the rules that both have.
    """

    name: str
    model: str
    verdict: JudgementOutcome
    flipped: Share
    accuracy: Share | None
    worst: Share | None
    accuracy_against_first: Contrast | None
    worst_against_first: Contrast | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRule:
    """A row of the grid."""

    id: str
    rule: str
    expect: str
    cells: tuple[Cell, ...]

    @property
    def is_tested(self) -> bool:
        """Whether any audit tested it on a row."""
        return any(cell.failures is not None and cell.failures.total for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanConfidence:
    """How sure a model is of right and wrong answers, where it says so; None of no answers."""

    right: float | None
    right_answers: int
    wrong: float | None
    wrong_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridConfidence:
    """How sure each model is where it is right and where it is wrong: rows as they are, or a rule.

    None of a model that does not say how sure it is.
    """

    name: str
    cells: tuple[MeanConfidence | None, ...]


class GridDocument(DocumentRecord):
    """Several audits side by side; the first model is what the others are held against."""

    format: Literal["sears-grid"] = "sears-grid"
    version: Literal[1] = 1
    data_sha256: str
    rows: int
    models: tuple[GridModel, ...]
    rules: tuple[GridRule, ...]
    worse: bool
    summary: tuple[str, ...]
    confidences: tuple[GridConfidence, ...] = ()


def grid(audits: Mapping[str, AuditDocument]) -> GridDocument:
    """Set audits side by side, by the names of their columns, held against the first."""
    if len(audits) < _LEAST:
        raise UsageError("one audit is not a grid", help="name two audits or more")
    (_, first), *others = audits.items()
    pairs = [compare(first, other) for _, other in others]
    contrasts = _contrasts(pairs)
    models = tuple(
        GridModel(
            name=name,
            model=audit.model,
            verdict=audit.verdict.outcome,
            flipped=audit.together.flipped,
            accuracy=None if accuracy is None else accuracy.before,
            worst=None if accuracy is None else accuracy.worst,
            accuracy_against_first=contrasts.get((place, "accuracy", "")),
            worst_against_first=contrasts.get((place, "worst", "")),
        )
        for place, (name, audit) in enumerate(audits.items(), -1)
        for accuracy in [audit.together.accuracy]
    )
    records = [{each.id: each for each in audit.rules} for audit in audits.values()]
    ids = list(dict.fromkeys(name for of_audit in records for name in of_audit))
    rules = []
    for name in ids:
        known = next(of_audit[name] for of_audit in records if name in of_audit)
        cells = tuple(
            Cell(
                failures=of_audit[name].judgement.failures if name in of_audit else None,
                against_first=contrasts.get((place, "rule", name)),
            )
            for place, of_audit in enumerate(records, -1)
        )
        rules.append(GridRule(id=name, rule=known.rule, expect=known.expect, cells=cells))
    return GridDocument(
        data_sha256=first.data.sha256,
        rows=first.data.rows,
        models=models,
        rules=tuple(rules),
        worse=any(each.outcome == "worse" for each in contrasts.values()),
        summary=(
            *_verdicts(audits),
            *_summary(models, rules),
            *_changed_rules([name for name, _ in others], pairs),
            *compared_draws(list(audits.values())),
        ),
        confidences=tuple(_confidences(audits.values())),
    )


def _confidences(audits: Iterable[AuditDocument]) -> Iterator[GridConfidence]:
    """Of the untouched rows, then of each rule, where any model says how sure it is."""
    known = [{(each.id, each.name): each for each in answer_confidences(audit)} for audit in audits]
    for key in dict.fromkeys(key for of_audit in known for key in of_audit):
        cells = [of_audit.get(key) for of_audit in known]
        yield GridConfidence(
            name=key[1], cells=tuple(None if each is None else _mean(each) for each in cells)
        )


def _mean(confidences: AnswerConfidence) -> MeanConfidence:
    return MeanConfidence(
        right=fmean(confidences.right) if confidences.right else None,
        right_answers=len(confidences.right),
        wrong=fmean(confidences.wrong) if confidences.wrong else None,
        wrong_answers=len(confidences.wrong),
    )


def _contrasts(pairs: Sequence[ComparisonDocument]) -> dict[_Test, Contrast]:
    tests: dict[_Test, Paired] = {}
    for place, pair in enumerate(pairs):
        for each in pair.rules:
            tests[place, "rule", each.id] = each.failures
        if pair.accuracy is not None:
            tests[place, "accuracy", ""] = pair.accuracy
        if pair.worst_accuracy is not None:
            tests[place, "worst", ""] = pair.worst_accuracy
    # Of accuracies more is better, of failures fewer.
    return {
        key: Contrast(
            paired=paired, q_value=q, outcome=rate_change(paired, more_is_better=key[1] != "rule")
        )
        for key, (paired, q) in one_family(tests).items()
    }


def _verdicts(audits: Mapping[str, AuditDocument]) -> Iterator[str]:
    """What the gates say of each model, where any are set."""
    for name, audit in audits.items():
        verdict = audit.verdict
        if verdict.outcome != "measured":
            yield ": ".join((name, verdict.outcome, *filter(None, ["; ".join(verdict.reasons)])))


def _summary(models: Sequence[GridModel], rules: Sequence[GridRule]) -> Iterator[str]:
    first = models[0]
    for place, model in enumerate(models[1:], 1):
        outcomes = [
            cell.against_first.outcome
            for cell in (rule.cells[place] for rule in rules)
            if cell.against_first is not None
        ]
        changes = changes_in_words(outcomes, " rules")
        sentence = f"{model.name} against {first.name}: {changes}"
        contrast = model.accuracy_against_first
        if contrast is not None:
            paired = contrast.paired
            sentence += (
                f"; accuracy {percent(paired.first_rate)} → {percent(paired.second_rate)}, "
                f"p = {paired.adjusted_p_value:.2g} (Holm)"
            )
        yield sentence
    yield from _shared(models, rules)


def _changed_rules(names: Sequence[str], pairs: Sequence[ComparisonDocument]) -> Iterator[str]:
    """Rules that were changed under their id since the first audit; what one lacks, a cell says."""
    for name, pair in zip(names, pairs, strict=True):
        changed = [
            f"{rule_called(each.rule, each.id)} ({each.note})"
            for each in pair.rules
            if each.changed
        ]
        if changed:
            more = f" and {len(changed) - _FEW:,} more" if changed[_FEW:] else ""
            yield f"changed in {name}, and not compared: {', '.join(changed[:_FEW])}{more}"


def _shared(models: Sequence[GridModel], rules: Sequence[GridRule]) -> Iterator[str]:
    """Which rules make every model fail, and which only one: by counts, which prove nothing yet."""
    every: list[str] = []
    alone: dict[str, list[str]] = {}
    for rule in rules:
        failing = [
            model.name
            for model, cell in zip(models, rule.cells, strict=True)
            if cell.failures is not None and cell.failures.count
        ]
        if len(failing) == len(models):
            every.append(rule.id)
        elif len(failing) == 1 and all(cell.failures is not None for cell in rule.cells):
            alone.setdefault(failing[0], []).append(rule.id)
    if every:
        yield f"every model fails at {_listed(every)}"
    for name, ids in alone.items():
        yield f"{name} alone fails at {_listed(ids)}"


def _listed(ids: Sequence[str]) -> str:
    more = len(ids) - _FEW
    return ", ".join(ids[:_FEW]) + (f" and {more:,} more" if more > 0 else "")
