"""What rules do to the rows and to the model: the facts that a reviewer sees and picks from.

In: a ruleset, labelled and tagged rows, a model, perhaps a scorer; a file that ``sears adversaries
--top 5`` wrote. Out: a `RuleTable` of the ruleset's rules, and of rules that a reviewer writes;
`AdversaryChoice`s. The model is asked once for each distinct row. A flip is a row that the model
has right and whose rewrite it has wrong. If the rule expects another label, it is a row that the
model has right and whose rewrite does not get that label. A sentence has one to five distinct
adversaries, best scored first. The start costs a prediction for every row and every distinct
rewrite; later only new rules cost predictions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from math import isfinite
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import Comparison, answers_equal, carry_back, steps_between
from sears_dsl.data.dataset import Dataset, require_column
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.selection import Coverage, coverage_of
from sears_dsl.effects.applications import Applications, applications_of
from sears_dsl.effects.asked_model import AskedModel, OnStage
from sears_dsl.effects.flips import RightRows
from sears_dsl.effects.oracle import Oracle, accepted_rewrites
from sears_dsl.engine.rewrite.rewrites import Rewrites, ShownPiece, change
from sears_dsl.errors import DataError, UsageError, shortened
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Expectation, Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Row
from sears_dsl.paraphrasing.for_rules import compile_with_sources
from sears_dsl.pictures import shown_picture
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens
from sears_dsl.vetting.decisions import MarkedRewrite, Pair, ReviewState, Sentence

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer


def change_pieces(original: str, rewritten: str) -> tuple[ShownPiece, ...]:
    """The pieces that show the change between two texts, in whole words."""
    pieces: list[ShownPiece] = []
    before = after = ""
    steps = steps_between(original, rewritten)
    for number, (kind, first, last, low, high) in enumerate(steps, 1):
        was, now = original[first:last], rewritten[low:high]
        # Changes with only white space between them are one change: ``a b`` → ``c d``.
        between = not was.strip() and (before or after) and number < len(steps)
        if kind == "equal" and not between:
            pieces += [*change(before, after), ShownPiece("same", was)]
            before = after = ""
        else:
            before, after = before + was, after + now
    return (*pieces, *change(before, after))


_Value = TypeVar("_Value", bound=np.generic)

# The most characters of a text that is shown beside the one that changed.
_BESIDE = 300
# Pixels of a picture on the page, along its longer side.
_PICTURE = 320


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """Counts of one rule: changed rows, right ones of these, and flips, with Wilson's 95%."""

    changed: int
    right: int
    flips: int
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A row that a rule changes; `row` is its place, `number` that in the file, both from 1.

    Any of `labels` is right. `before` and `after` are the model's answers, `after` None if it was
    not asked yet, and `score` is S, None if nothing scored it. In a `flip` the model does not do as
    the rule expects. `Workbench.picture` gives the picture. `beside` has the column and the text,
    cut if long, of what else the model reads.
    """

    row: int
    number: int
    original: str
    rewritten: str
    pieces: tuple[ShownPiece, ...]
    labels: tuple[str, ...]
    before: str
    after: str | None
    right: bool
    flip: bool
    score: float | None
    picture: bool = False
    choices: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Some rules, their rewrites of the rows, and the model's answers and S for these.

    A rewrite is there once for all rules that write it and expect the same. For each, `answers` has
    the model's answer, None if it was not asked. `flips` says whether the row is right and the
    model does not do as the rules expect. `scores` has S for flips of labels that should stay, and
    is NaN otherwise; without a scorer it is None. A flip counts if S ≥ `tau`, which is 0 without a
    scorer.
    """

    rules: tuple[Rule, ...]
    applications: Applications
    answers: tuple[str | None, ...]
    flips: NDArray[np.bool_]
    scores: NDArray[np.float64] | None
    tau: float

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The canonical texts of the rules."""
        return tuple(map(print_rule, self.rules))

    @cached_property
    def expectations(self) -> list[Expectation]:
        """What is expected of each rewrite; each has rules that write it, which expect the same."""
        writer = np.zeros(len(self.answers), np.int64)
        writer[self.applications.rewrites] = self.applications.rules
        return [self.rules[each].expectation for each in writer.tolist()]

    @property
    def complete(self) -> bool:
        """Whether the model was asked about all rewrites."""
        return None not in self.answers

    def score(self, rewrite: int) -> float | None:
        """S of a rewrite; None if nothing scored it."""
        score = np.nan if self.scores is None else float(self.scores[rewrite])
        return None if np.isnan(score) else score

    @cached_property
    def coverage(self) -> Coverage:
        """What each rule covers, for Equation 3.

        A flip counts as S = 1 if there is no scorer, or if the label may change, of which S says
        nothing.
        """
        scores = np.full(len(self.flips), np.nan) if self.scores is None else self.scores
        scores = np.where(self.flips & np.isnan(scores), 1.0, scores)
        return coverage_of(
            self.rules, self.texts, self.applications, flips=self.flips, scores=scores, tau=self.tau
        )

    def rows_flipped(self, rule: int) -> frozenset[int]:
        """The rows that a rule flips."""
        rewrites = self.applications.of_rule(rule)
        return frozenset(self.applications.rows[rewrites[self.flips[rewrites]]].tolist())

    def joined_to(self, others: RuleTable) -> RuleTable:
        """These rules followed by others on the same rows; nothing is applied or asked again."""
        rules = (*self.rules, *others.rules)
        applications = _by_expectation(self.applications.joined_to(others.applications), rules)

        def of_rewrites(own: NDArray[_Value], others_own: NDArray[_Value]) -> NDArray[_Value]:
            of_all = [own[self.applications.rewrites], others_own[others.applications.rewrites]]
            values = np.empty(len(applications.texts), own.dtype)
            values[applications.rewrites] = np.concatenate(of_all)
            return values

        scores = None
        if self.scores is not None and others.scores is not None:
            scores = of_rewrites(self.scores, others.scores)
        answers = (np.array(each.answers, np.object_) for each in (self, others))
        return RuleTable(
            rules=rules,
            applications=applications,
            answers=tuple(of_rewrites(*answers).tolist()),
            flips=of_rewrites(self.flips, others.flips),
            scores=scores,
            tau=self.tau,
        )


def _by_expectation(applications: Applications, rules: Sequence[Rule]) -> Applications:
    """The applications with a rewrite for each expectation that the rules writing it have.

    A rewrite may be a mistake by one rule and what another one expects.
    """
    numbers: dict[Expectation, int] = {}
    expected = [numbers.setdefault(rule.expectation, len(numbers)) for rule in rules]
    if len(numbers) < 2:
        return applications
    both = applications.rewrites * np.int64(len(numbers)) + np.array(expected)[applications.rules]
    distinct, rewrites = np.unique(both, return_inverse=True)
    former = distinct // len(numbers)
    return replace(
        applications,
        rewrites=rewrites.astype(np.int32),
        rows=applications.rows[former],
        texts=[applications.texts[each] for each in former.tolist()],
    )


class Workbench:
    """Rows, their tokens and a model, ready for questions about rules.

    Rules that reviewers write are read under the options and sets of the ruleset to vet.
    """

    def __init__(
        self,
        ruleset: Ruleset,
        data: LabelledRows,
        predictor: CachedPredictor,
        *,
        tokens: Tokens,
        tagger: Tagger,
        scorer: Scorer | None = None,
        tau: float | None = None,
        oracle: Oracle | None = None,
        comparison: Comparison = "exact",
        on_progress: OnStage = lambda _stage, _done, _total: None,
    ) -> None:
        self.oracle = oracle
        self.rejected = 0
        self.ruleset = ruleset
        self.data = data
        self.predictor = predictor
        self.tagger = tagger
        self.scorer = scorer
        self.tau = 0.0 if scorer is None else scorer.tau if tau is None else tau
        self._scores: dict[tuple[str, str], float] = {}
        self.tokens = tokens
        self._model = AskedModel(predictor)
        self.before = self._model.labels(
            data.rows, on_progress=partial(on_progress, "asking about rows")
        )
        self._comparison = comparison
        self._right = RightRows(
            data, predictor, comparison=comparison, questions=self._model.questions
        )
        self._number = {row: number for number, row in enumerate(self._right.positions)}
        self.right = np.zeros(len(data.rows), np.bool_)
        self.right[self._right.positions] = True
        self.table = self.table_of(ruleset.rules, on_progress=on_progress)

    def apply(self, rules: Sequence[Rule]) -> RuleTable:
        """Apply rules to the rows; the model is not asked."""
        scoped = replace(self.ruleset, rules=tuple(rules), layout=(), trailing=())
        matcher = compile_with_sources([scoped], tagger=self.tagger)
        applications = _by_expectation(
            applications_of(
                matcher, self.tokens, guards=self.data.guards, keep=partial(self._keep, rules)
            ),
            rules,
        )
        count = len(applications.texts)
        return RuleTable(
            rules=tuple(rules), applications=applications, answers=(None,) * count,
            flips=np.zeros(count, np.bool_), scores=None, tau=self.tau,
        )  # fmt: skip

    def _keep(self, rules: Sequence[Rule], rewrites: Rewrites) -> Rewrites:
        """The rewrites of rules that the oracle keeps; the others are counted."""
        if self.oracle is None:
            return rewrites
        allowed, rejected = accepted_rewrites(rewrites, rules, self.data, self.oracle, needed=False)
        self.rejected += rejected.total()
        return allowed

    def ask_until(self, table: RuleTable, deadline: float) -> RuleTable:
        """Return the table with more answers: at least some, and more until the deadline."""
        may_begin = chain([True], iter(lambda: monotonic() < deadline, None))
        answers = self._model.labels_in_time(self._rows(table), in_time=partial(next, may_begin))
        return self._with_answers(table, answers)

    def _rows(self, table: RuleTable) -> list[Row]:
        """The distinct rewrites, as rows that the model reads."""
        applications = table.applications
        return list(self.data.rewritten(applications.rows.tolist(), applications.texts))

    def _with_answers(self, table: RuleTable, answers: Sequence[str | None]) -> RuleTable:
        rows = table.applications.rows.tolist()
        texts = self.data.texts
        answers = [
            answer and carry_back(answer, texts[row], rewritten, comparison=self._comparison)
            for row, rewritten, answer in zip(rows, table.applications.texts, answers, strict=True)
        ]
        flips = [
            answer is not None and row in self._number and self._fails(row, answer, expect)
            for row, answer, expect in zip(rows, answers, table.expectations, strict=True)
        ]
        return replace(table, answers=tuple(answers), flips=np.array(flips, np.bool_))

    def table_of(
        self, rules: Sequence[Rule], *, on_progress: OnStage = lambda _stage, _done, _total: None
    ) -> RuleTable:
        """Apply rules, ask the model about the rewrites and, with a scorer, score the flips."""
        applied = self.apply(rules)
        asking = partial(on_progress, "asking about rewrites")
        answers = self._model.labels(self._rows(applied), on_progress=asking)
        table = self._with_answers(applied, answers)
        if self.scorer is None:
            return table
        stays = np.array([each.kind == "same" for each in table.expectations], np.bool_)
        flipping = np.flatnonzero(table.flips & stays)
        on_progress("scoring flips", 0, len(flipping))
        scores = np.full(len(table.flips), np.nan)
        scores[flipping] = self._scored(table.applications.pairs(flipping))
        return replace(table, scores=scores)

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """S of pairs; each pair is scored only once, since a reviewer returns to the same rules."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]
        if self.scorer is not None and missing:
            scores = self.scorer.scores(missing).tolist()
            self._scores.update(zip(missing, scores, strict=True))
        return [self._scores[pair] for pair in pairs]

    def _fails(self, row: int, answer: str, expect: Expectation) -> bool:
        """Whether the answer to a rewritten row is not what its rule expects."""
        if expect.kind == "label":
            return not answers_equal(answer, expect.label, comparison=self._comparison)
        return self._right.is_flip(self._number[row], answer) == (expect.kind == "same")

    def summary(self, table: RuleTable, rule: int) -> RuleSummary:
        """Count what one rule does."""
        rewrites = table.applications.of_rule(rule)
        right = int(self.right[table.applications.rows[rewrites]].sum())
        flips = int(table.flips[rewrites].sum())
        low, high = wilson_interval(flips, right)
        return RuleSummary(len(rewrites), right, flips, (float(low), float(high)))

    def examples(
        self, table: RuleTable, rule: int, *, mistakes: bool, first: int = 0, most: int = 20
    ) -> tuple[int, list[ExampleRow]]:
        """How many rows a rule changes, and some of them: flips first, best scored ones first."""
        rewrites = table.applications.of_rule(rule)
        flips = table.flips[rewrites]
        if mistakes:
            rewrites, flips = rewrites[flips], flips[flips]
        scores = np.zeros(len(rewrites)) if table.scores is None else table.scores[rewrites]
        right = self.right[table.applications.rows[rewrites]]
        order = np.lexsort((rewrites, ~right, -np.nan_to_num(scores), ~flips))
        chosen = rewrites[order[first : first + most]].tolist()
        return len(rewrites), [self._example(table, rewrite) for rewrite in chosen]

    def _example(self, table: RuleTable, rewrite: int) -> ExampleRow:
        row = int(table.applications.rows[rewrite])
        original, rewritten = self.data.texts[row], table.applications.texts[rewrite]
        return ExampleRow(
            row=row + 1,
            number=self.data.number(row),
            original=original,
            rewritten=rewritten,
            pieces=change_pieces(original, rewritten),
            labels=self.labels(row),
            before=self.before[row],
            after=table.answers[rewrite],
            right=bool(self.right[row]),
            flip=bool(table.flips[rewrite]),
            score=table.score(rewrite),
            picture=self.data.image is not None,
            choices=self.data.choices_at(row),
            beside=tuple(
                (name, shortened(text, _BESIDE)) for name, text in self.data.other_texts(row)
            ),
        )

    def labels(self, row: int) -> tuple[str, ...]:
        """The right answers to a row, by its place from 0."""
        return (self.before[row],) if self.data.labels is None else self.data.labels[row]

    def to_mark(self, rule: Rule, row: int, pair: Pair) -> MarkedRewrite:
        """A rule's rewrite of a row, by its place from 0, as a reviewer marks it."""
        if rule.keeps_label:
            return MarkedRewrite(*pair)
        return MarkedRewrite(*pair, str(rule.expectation), self.labels(row))

    def marked(self, table: RuleTable, rule: int, state: ReviewState) -> dict[int, MarkedRewrite]:
        """Row → its rewrite by one rule, where the reviewer marked that."""
        pairs = {mark[:2] for mark in state.marks}
        if not pairs:
            return {}
        rewrites = table.applications.of_rule(rule)
        rows = table.applications.rows[rewrites].tolist()
        candidates = {
            row: self.to_mark(table.rules[rule], row, pair)
            for row, pair in zip(rows, table.applications.pairs(rewrites), strict=True)
            if pair in pairs
        }
        return {row: each for row, each in candidates.items() if state.mark(each) is not None}

    def picture(self, row: int) -> bytes:
        """The picture of a row, by its place from 1, as a small PNG."""
        column = self.data.image
        if column is None or not 1 <= row <= len(self.data.rows):
            raise UsageError(f"there is no picture of row {row}", help="reload the page")
        return shown_picture(self.data.rows[row - 1][column], side=_PICTURE)


MOST = 5
"""How many adversaries of a sentence are shown at most, as in the paper's study."""

_COLUMNS = ("original", "adversary", "prediction")


@dataclass(frozen=True, slots=True)
class PickableAdversary:
    """A rewrite that the model answers differently: its text, the answer, and S if known."""

    text: str
    prediction: str
    score: float | None


@dataclass(frozen=True, slots=True)
class AdversaryChoice:
    """A sentence, the model's right answer to it, and its adversaries.

    `row` is the number of its row in the file if other rows have the same text.
    """

    original: str
    label: str
    adversaries: tuple[PickableAdversary, ...]
    row: int | None = None

    @property
    def sentence(self) -> Sentence:
        """What tells the sentence from others."""
        return self.original, self.row, frozenset(each.text for each in self.adversaries)


def read_choices(path: str) -> tuple[AdversaryChoice, ...]:
    """Read the sentences of a file of adversaries, in its order."""
    dataset = Dataset(path)
    for name in _COLUMNS:
        require_column(dataset.names, name, where=path)
    choices: dict[object, AdversaryChoice] = {}
    for batch in dataset.batches():
        for index in range(batch.rows):
            value = {name: column[index] for name, column in batch.columns.items()}
            if not all(isinstance(value[name], str) for name in _COLUMNS):
                raise DataError(
                    f"{path}: row {batch.row_number(index)} lacks one of {', '.join(_COLUMNS)}",
                    help="give the file that `sears adversaries --top 5` wrote",
                )
            new = PickableAdversary(
                value["adversary"], value["prediction"], _score(value.get("score"))
            )
            label = "" if (right := value.get("label")) is None else str(right)
            row = str(value.get("row") or "")
            key = value["original"], label, row
            before = choices[key].adversaries if key in choices else ()
            choices[key] = AdversaryChoice(
                value["original"], label, (*before, new), int(row) if row.isdecimal() else None
            )
    best: dict[object, AdversaryChoice] = {}
    for choice in map(_best, choices.values()):
        # Whoever reads the file sees no more of a row, so equal ones are one question.
        best.setdefault(replace(choice, row=None), choice)
    return _told_apart(best.values())


def _told_apart(choices: Iterable[AdversaryChoice]) -> tuple[AdversaryChoice, ...]:
    """The choices; only those whose text others have too keep the number of their row."""
    choices = tuple(choices)
    count = Counter(each.original for each in choices)
    return tuple(each if count[each.original] > 1 else replace(each, row=None) for each in choices)


def _score(value: object) -> float | None:
    try:
        score = float(str(value))
    except ValueError:
        return None
    # JSON has no other numbers.
    return score if isfinite(score) else None


def _best(choice: AdversaryChoice) -> AdversaryChoice:
    distinct = {each.text: each for each in reversed(choice.adversaries)}
    best = sorted(distinct.values(), key=lambda each: (-(each.score or 0.0), each.text))
    return replace(choice, adversaries=tuple(best[:MOST]))


def choices_of_rules(bench: Workbench, table: RuleTable) -> tuple[AdversaryChoice, ...]:
    """The rows that rules flip, with the rewrites as adversaries; equal rows are there once.

    Rows with more adversaries come first, as they offer more choice. Rules after which the label
    should change give none, since their rewrites are not meant to be close to the row.
    """
    rows: dict[int, list[PickableAdversary]] = {}
    for rewrite in np.flatnonzero(table.flips).tolist():
        if table.expectations[rewrite].kind == "same":
            text, answer = table.applications.texts[rewrite], table.answers[rewrite] or ""
            adversary = PickableAdversary(text, answer, table.score(rewrite))
            rows.setdefault(int(table.applications.rows[rewrite]), []).append(adversary)
    data = bench.data
    distinct: dict[object, AdversaryChoice] = {}
    for row in sorted(rows):
        choice = AdversaryChoice(
            data.texts[row], bench.before[row], tuple(rows[row]), data.number(row)
        )
        content = tuple(sorted(data.rows[row].items()))
        distinct.setdefault((choice.original, content, bench.labels(row)), _best(choice))
    return _told_apart(sorted(distinct.values(), key=lambda each: -len(each.adversaries)))
