"""Audits of the same rows in a grid of rules and models, each model compared with the first.

In: `AuditDocument`s. Out: `GridDocument`. A cell is the failure rate on the rows that its own audit
tested. Comparisons are those of `comparison`; all of them, of all models, are one family after
Holm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from sears_dsl import statistics
from sears_dsl.auditing import comparison as comparisons
from sears_dsl.auditing import document as documents
from sears_dsl.auditing.gates import JudgementOutcome
from sears_dsl.errors import UsageError, listed
from sears_dsl.language.printer import rule_called

_FEW = 10  # so many rules are named
_LEAST = 2
# The place of a model among those after the first; a rule by its id, or an accuracy by its name.
_GridTest: TypeAlias = tuple[int, Literal["rule", "accuracy"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A model against the first on the same rows: how often something happened, with p after Holm.

    q, the false-discovery rate over the same tests, decides nothing.
    """

    paired: comparisons.Paired
    q_value: float | None
    outcome: comparisons.RateChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A rule on one model, None if its audit has no such rule, and compared with the first."""

    failures: statistics.Share | None
    against_first: Contrast | None

    @property
    def is_tested(self) -> bool:
        """Whether the audit tested the rule on a row."""
        return self.failures is not None and self.failures.total > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GridModel:
    """A column of the grid, by a name that distinguishes its audit from the others.

    The accuracies are those on the untouched rows and against the worst rule for each row, None
    without labels, and on template sentences beside the rows. Comparisons with the first model are
    over the rules that both have.
    """

    name: str
    model: str
    verdict: JudgementOutcome
    flipped: statistics.Share
    accuracy: statistics.Share | None
    worst: statistics.Share | None
    accuracy_against_first: Contrast | None
    worst_against_first: Contrast | None
    sentences: statistics.Share | None = None
    sentences_against_first: Contrast | None = None

    @property
    def accuracies(self) -> dict[str, tuple[statistics.Share | None, Contrast | None]]:
        """The accuracies by their names, each compared with that of the first model."""
        return {
            comparisons.ACCURACY: (self.accuracy, self.accuracy_against_first),
            comparisons.AGAINST_WORST: (self.worst, self.worst_against_first),
            comparisons.ON_SENTENCES: (self.sentences, self.sentences_against_first),
        }


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
        return any(cell.is_tested for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanConfidence:
    """The mean confidence of a model in its right and wrong answers; None if there are none."""

    right: float | None
    right_answers: int
    wrong: float | None
    wrong_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridConfidence:
    """The confidence of each model when it is right and wrong, on untouched rows or after a rule.

    None for a model that does not say how sure it is.
    """

    name: str
    cells: tuple[MeanConfidence | None, ...]


class GridDocument(documents.DocumentRecord):
    """Several audits side by side; the first model is what the others are compared with."""

    format: Literal["sears-grid"] = "sears-grid"
    version: Literal[1] = 1
    data_sha256: str
    rows: int
    models: tuple[GridModel, ...]
    rules: tuple[GridRule, ...]
    worse: bool
    summary: tuple[str, ...]
    confidences: tuple[GridConfidence, ...] = ()

    @property
    def nothing_compared(self) -> bool:
        """Whether of some model neither a rule nor an accuracy is compared with the first."""
        of_models = (
            (
                *(rule.cells[place].against_first for rule in self.rules),
                *(contrast for _, contrast in model.accuracies.values()),
            )
            for place, model in enumerate(self.models[1:], 1)
        )
        return any(
            not any(each and each.paired.rows for each in contrasts) for contrasts in of_models
        )


def grid(audits: Mapping[str, documents.AuditDocument]) -> GridDocument:
    """Set audits side by side, by the names of their columns, and compare them with the first."""
    if len(audits) < _LEAST:
        raise UsageError("a grid needs more than one audit", help="name two audits or more")
    (_, first), *others = audits.items()
    pairs = [comparisons.compare(first, other) for _, other in others]
    contrasts = _contrasts(pairs)
    models = tuple(
        GridModel(
            name=name,
            model=audit.model,
            verdict=audit.verdict.outcome,
            flipped=audit.together.flipped,
            accuracy=None if accuracy is None else accuracy.before,
            worst=accuracy.worst if accuracy and audit.together.changed else None,
            accuracy_against_first=contrasts.get((place, "accuracy", comparisons.ACCURACY)),
            worst_against_first=contrasts.get((place, "accuracy", comparisons.AGAINST_WORST)),
            sentences=None
            if sentences is None
            else statistics.share_of(sentences.right.count("1"), len(sentences.right)),
            sentences_against_first=contrasts.get((place, "accuracy", comparisons.ON_SENTENCES)),
        )
        for place, (name, audit) in enumerate(audits.items(), -1)
        for accuracy, sentences in [(audit.together.accuracy, audit.sentences)]
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
            *_grid_summary(models, rules),
            *_changed_rules([name for name, _ in others], pairs),
            *comparisons.different_inputs(list(audits.values())),
        ),
        confidences=tuple(_confidences(audits.values())),
    )


def _confidences(audits: Iterable[documents.AuditDocument]) -> Iterator[GridConfidence]:
    """Confidences on untouched rows, then after each rule, if any model says how sure it is."""
    known = [
        {(each.id, each.name): each for each in documents.answer_confidences(audit)}
        for audit in audits
    ]
    for key in dict.fromkeys(key for of_audit in known for key in of_audit):
        cells = [of_audit.get(key) for of_audit in known]
        yield GridConfidence(
            name=key[1], cells=tuple(None if each is None else _mean(each) for each in cells)
        )


def _mean(confidences: documents.AnswerConfidence) -> MeanConfidence:
    return MeanConfidence(
        right=fmean(confidences.right) if confidences.right else None,
        right_answers=len(confidences.right),
        wrong=fmean(confidences.wrong) if confidences.wrong else None,
        wrong_answers=len(confidences.wrong),
    )


def _contrasts(pairs: Sequence[comparisons.ComparisonDocument]) -> dict[_GridTest, Contrast]:
    tests: dict[_GridTest, comparisons.Paired] = {}
    for place, pair in enumerate(pairs):
        tests |= {(place, "rule", each.id): each.failures for each in pair.rules}
        tests |= {(place, "accuracy", name): paired for name, paired in pair.accuracies.items()}
    # For accuracies more is better, for failures fewer.
    return {
        key: Contrast(
            paired=paired,
            q_value=q,
            outcome=comparisons.rate_change(paired, more_is_better=key[1] != "rule"),
        )
        for key, (paired, q) in comparisons.one_family(tests).items()
    }


def _verdicts(audits: Mapping[str, documents.AuditDocument]) -> Iterator[str]:
    """The verdict on each model whose audit has gates."""
    for name, audit in audits.items():
        verdict = audit.verdict
        if verdict.outcome != "measured":
            yield ": ".join((name, verdict.outcome, *filter(None, ["; ".join(verdict.reasons)])))


def _grid_summary(models: Sequence[GridModel], rules: Sequence[GridRule]) -> Iterator[str]:
    first = models[0]
    for place, model in enumerate(models[1:], 1):
        outcomes = [
            cell.against_first.outcome
            for cell in (rule.cells[place] for rule in rules)
            if cell.against_first is not None
        ]
        parts = [comparisons.changes_in_words(outcomes)] if rules else []
        parts += [
            f"{name} {contrast.paired.in_percent}, p = {contrast.paired.adjusted_p_value:.2g} "
            "(Holm)"
            for name, (_, contrast) in model.accuracies.items()
            if contrast is not None and name != comparisons.AGAINST_WORST
        ]
        yield f"{model.name} against {first.name} on {'; '.join(parts)}"
    yield from _shared(models, rules)


def _changed_rules(
    names: Sequence[str], pairs: Sequence[comparisons.ComparisonDocument]
) -> Iterator[str]:
    """Rules that were changed under their id since the first audit; missing ones show in cells."""
    for name, pair in zip(names, pairs, strict=True):
        changed = [
            f"{rule_called(each.rule, each.id)} ({each.note})"
            for each in pair.rules
            if each.changed
        ]
        if changed:
            yield f"not compared, because changed in {name}: {listed(changed, _FEW)}"


def _shared(models: Sequence[GridModel], rules: Sequence[GridRule]) -> Iterator[str]:
    """Rules that every model fails, and rules that only one fails; counts prove nothing yet."""
    every: list[str] = []
    alone: dict[str, list[str]] = {}
    for rule in rules:
        failing = [
            model.name
            for model, cell in zip(models, rule.cells, strict=True)
            if cell.failures is not None and cell.failures.count
        ]
        if len(failing) == len(models):
            every.append(rule_called(rule.rule, rule.id))
        elif len(failing) == 1 and all(cell.is_tested for cell in rule.cells):
            alone.setdefault(failing[0], []).append(rule_called(rule.rule, rule.id))
    if every:
        yield f"every model fails on {listed(every, _FEW)}"
    for name, rules_of_it in alone.items():
        yield f"only {name} fails on {listed(rules_of_it, _FEW)}"
