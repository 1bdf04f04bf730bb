"""Flips: rows that a model gets right and, rewritten, wrong; and what they prove of a rule.

`RightRows` are the rows that a model has right: its answer is one of the row's labels, under the
comparison of its field (labels exactly, answers normalized as SQuAD does). Where the data has no
labels, the model's answer to the untouched row counts as right. A flip is a right row that is not
right after the rewrite.

`ask_in_rounds` and `ask_everything` turn the applications of all candidates into `RuleAnswers`.
`flip_p_values` and `flip_q_values` say what these prove of each rule, by array operations and one
hash a rule.

Questions. Each distinct rewrite is asked about once. The rows of a rule are asked about in random
order, and only those before the first one that was not asked about count, so that the rule's rate
is that of a random sample. A rule is dropped as soon as it cannot flip ``minimum_flips`` rows any
more, or surely flips more rarely than a rewording does.

The test. Any rewording flips a brittle model now and then, so a rule is a discovery if it flips
more often than a rewording does: H0 says that each row that it changes flips with at most the base
rate, the chance that a rewording that keeps the meaning flips its row: what a known rule writes,
which people have accepted, or a paraphrase with S ≥ τ. That rate is itself counted, one rewording a
row, so the p-value is that of Fisher's exact test, one-sided: flips of the rule among the rows that
it changes against flips of rewordings among the rows that have one. All flips of a rule count,
since nobody asks for their S before it passes; if it passes, at most δ are below τ.

A rule proposed by a row flips that row by construction (nobody would look at it otherwise), so
where rules are judged on the rows that proposed them, one row and one flip are left out: given
that some row proposed the rule, its flips are stochastically at most one more than a binomial of
the others. With many thousands of candidates that test is strict. q-values are Benjamini and
Hochberg's over all distinct candidates: those that write the same rewrites are one hypothesis.
Rules that share rows depend on each other positively, which that procedure allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import REFUSED, Comparison, carry_back, each_equal, is_right
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Guards
from sears_dsl.effects.applications import Applications
from sears_dsl.effects.asked_model import AskedModel, Questions, in_turn
from sears_dsl.effects.label_names import nothing_right
from sears_dsl.effects.lots import by_lot, together
from sears_dsl.errors import DataError
from sears_dsl.models.cached import OnAnswered
from sears_dsl.models.predictor import Predictor, Row
from sears_dsl.statistics import excess_exact, q_values, wilson_interval


def right_labels(data: LabelledRows, answers: Sequence[str | None]) -> Sequence[tuple[str, ...]]:
    """The labels that are right for each row: the data's or, without any, the model's answer."""
    if data.labels is not None:
        return data.labels
    return [(REFUSED if answer is None else answer,) for answer in answers]


def are_right(
    data: LabelledRows, predictor: Predictor, *, comparison: Comparison = "exact"
) -> NDArray[np.bool_]:
    """Which rows a model has right, bool (rows,); of none it is no error, unlike `RightRows`."""
    answers = AskedModel(predictor).labels(data.rows)
    pairs = zip(answers, right_labels(data, answers), strict=True)
    return np.array([is_right(*each, comparison=comparison) for each in pairs], np.bool_)


class RightRows:
    """The rows that a model has right, numbered from 0 in the order of the data.

    `in_time` is called before each batch of questions. Once it says no, or `questions` are at their
    limit, the remaining rows are left out. It is an error if the model has no row right.
    """

    def __init__(
        self,
        data: LabelledRows,
        predictor: Predictor,
        *,
        comparison: Comparison = "exact",
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
        questions: Questions | None = None,
    ) -> None:
        self._data = data
        self._model = AskedModel(predictor, questions=questions)
        self.questions = self._model.questions
        self.models = self._model.models
        self._comparison = comparison
        # Where a limit may leave rows out, those asked about are a random sample.
        order = in_turn(data, self.questions.most)
        answers = self._model.labels_in_time(
            [data.rows[place] for place in order], in_time=in_time, on_progress=on_progress
        )
        model_answers = [answer for _, answer in sorted(zip(order, answers, strict=True))]
        answered = {
            place: answer for place, answer in enumerate(model_answers) if answer is not None
        }
        labels = right_labels(data, model_answers)
        self.asked = len(answered)
        # The position of each right row in the data; further down, the model's answer to it.
        self.positions = [
            place
            for place, answer in answered.items()
            if is_right(answer, labels[place], comparison=comparison)
        ]
        if not self.positions:
            if not answered:
                raise DataError(
                    "the time ran out before the model had answered a row",
                    help="give it more time; --resume continues with its answers so far",
                )
            limited = self.questions.left == 0
            raise nothing_right(data, list(answered.values()), limited=limited)
        self.texts = [data.texts[position] for position in self.positions]
        self.predictions = [answered[position] for position in self.positions]
        self._labels = [labels[position] for position in self.positions]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def guards(self) -> Guards | None:
        """What has to stay in the texts; None if nothing has to."""
        guards = self._data.guards
        return None if guards is None else guards.part(self.positions)

    @property
    def of_file(self) -> Sequence[str]:
        """What is the same for right rows that have to stay together, since they share a text.

        It is the text of the row, unless rules rewrite either of two texts; see `together`.
        """
        columns = set(self._data.rewritten_columns or ())
        if len(columns) <= 1:
            return self.texts
        names = sorted(set(chain.from_iterable(columns)))
        rows = [self._data.rows[each] for each in self.positions]
        return together([[row[name] for name in names] for row in rows])

    def part(self, numbers: Sequence[int]) -> RightRows:
        """Some of the right rows, numbered anew in the order given."""
        part = copy(self)
        for name in ("positions", "texts", "predictions", "_labels"):
            values = getattr(self, name)
            setattr(part, name, [values[number] for number in numbers])
        return part

    def ask(self, numbers: Sequence[int], texts: Sequence[str]) -> list[str]:
        """The model's answers to right rows with other texts."""
        answers = self._model.labels(self._rows(numbers, texts))
        pairs = zip(numbers, texts, answers, strict=True)
        return [self._carried_back(*each) for each in pairs]

    def ask_in_time(
        self,
        numbers: Sequence[int],
        texts: Sequence[str],
        *,
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
    ) -> list[str | None]:
        """The same, with None where there was no time, or no question left."""
        rows = self._rows(numbers, texts)
        answers = self._model.labels_in_time(rows, in_time=in_time, on_progress=on_progress)
        return [
            None if answer is None else self._carried_back(number, text, answer)
            for number, text, answer in zip(numbers, texts, answers, strict=True)
        ]

    def flips(self, numbers: Sequence[int], answers: Sequence[str | None]) -> NDArray[np.bool_]:
        """Which answers to rewritten right rows are flips; None never is."""
        pairs = zip(numbers, answers, strict=True)
        return np.array(
            [answer is not None and self.is_flip(number, answer) for number, answer in pairs],
            np.bool_,
        )

    def is_flip(self, number: int, answer: str) -> bool:
        """Whether an answer to a rewritten right row is a flip; a refusal is none."""
        right = is_right(answer, self._labels[number], comparison=self._comparison)
        return answer != REFUSED and not right

    def fails_of_each(self, numbers: Sequence[int], texts: Sequence[str]) -> NDArray[np.bool_]:
        """Which of several models fail at right rows with other texts: bool (rows, models).

        Where one of them refuses, none fails. Nothing that was asked before is asked again.
        """
        models, how = len(self.models), self._comparison
        fails = np.zeros((len(numbers), models), np.bool_)
        for place, answer in enumerate(self.ask(numbers, texts)):
            if answer != REFUSED:
                labels = self._labels[numbers[place]]
                fails[place] = ~np.array(each_equal(answer, labels, models, comparison=how))
        return fails

    def _carried_back(self, number: int, text: str, answer: str) -> str:
        return carry_back(answer, self.texts[number], text, comparison=self._comparison)

    def _rows(self, numbers: Sequence[int], texts: Sequence[str]) -> list[Row]:
        return list(self._data.rewritten([self.positions[number] for number in numbers], texts))


# ---------------------------------------------------------------- what flips are worth


def flip_p_values(
    applications: Applications,
    flips: NDArray[np.bool_],
    *,
    base_rate: float,
    base_rows: int,
    proposed_here: bool = True,
) -> NDArray[np.float64]:
    """The p-value of each rule, float64 (rules,): H0 is that it flips no more than rewordings do.

    ``flips``: bool (rewrites,). ``base_rate`` is the share of flips among ``base_rows`` rewordings
    that keep the meaning. ``proposed_here``: these rows proposed the rules, so that one row and one
    flip of each rule are left out.
    """
    changed, flipped = applications.changed, applications.count(flips)
    left_out = int(proposed_here)
    some, trials = np.maximum(flipped - left_out, 0), np.maximum(changed - left_out, 0)
    return excess_exact(some, trials, round(base_rate * base_rows), base_rows)


def flip_q_values(applications: Applications, p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The false-discovery rate at which each rule would just be a discovery, float64 (rules,).

    The table has to hold all rules that were looked at. Rules that write the same rewrites are one
    hypothesis.
    """
    numbers: dict[bytes, int] = {}
    hypothesis = np.array(
        [
            numbers.setdefault(applications.of_rule(rule).tobytes(), len(numbers))
            for rule in range(applications.rule_count)
        ],
        np.int64,
    )
    first = np.unique(hypothesis, return_index=True)[1]
    return q_values(p_values[first])[hypothesis]


# ---------------------------------------------------------------- few questions

Ask: TypeAlias = Callable[[Sequence[int], Sequence[str]], Sequence[str | None]]
"""The model's answers to right rows with other texts; None where it was not asked."""

# Rows of each rule in the first round; in each further one there are twice as many.
_FIRST_ROUND = 4


@dataclass(frozen=True, eq=False)
class RuleAnswers:
    """What the model says of rules."""

    flips: NDArray[np.bool_]  # (rewrites,): which ones flip the model
    counted: NDArray[np.bool_]  # (applications,): which ones count for the rate of their rule
    complete: NDArray[np.bool_]  # (rules,): whether all of their rewrites were asked about
    cut: bool  # whether questions were left out for want of time, or because of the limit


def ask_everything(
    applications: Applications, right: RightRows, ask: Ask, order: NDArray[np.int64]
) -> RuleAnswers:
    """Ask about every rewrite, in the given order.

    If time ran out before all rewrites of a rule were asked about, the rule has no honest numbers,
    and none of its applications counts.
    """
    flips, asked = ask_about(applications, right, order, ask)
    complete = applications.count(~asked) == 0
    return RuleAnswers(flips, complete[applications.rules], complete, cut=not asked.all())


def ask_in_rounds(
    applications: Applications,
    right: RightRows,
    ask: Ask,
    *,
    minimum_flips: int | NDArray[np.int64],
    base_rate: float | NDArray[np.float64] = 0.0,
    until: int | None = None,
    seed: int = 0,
    on_round: Callable[[RuleAnswers], None] = lambda _: None,
) -> RuleAnswers:
    """Ask about a few rows of each rule, then about more rows of the rules that may flip enough.

    A rule has to flip `minimum_flips` rows, and to reach the `base_rate`, at which a rewording
    that keeps the meaning flips its row; each is one number, or an array with one a rule. A rule
    that flips ``until`` rows is asked about no further.
    """
    order = _by_lot(applications, right.texts, seed)
    sizes = applications.changed
    first = applications.rule_offsets[:-1]
    flips = np.zeros(len(applications.texts), np.bool_)
    asked = flips.copy()
    requests = np.zeros(applications.rule_count, np.int64)  # rows that were asked for, rule by rule
    portion = _FIRST_ROUND
    while True:
        answers = _counted(applications, order, flips, asked, requests)
        counted = applications.where(answers.counted)
        answer_counts, hits = counted.changed, counted.count(flips)
        if requests.any():
            on_round(answers)
        _, high = wilson_interval(hits, answer_counts)
        live = (answer_counts < sizes) & (answer_counts >= requests)
        live &= (hits + sizes - answer_counts >= minimum_flips) & (high >= base_rate)
        if until is not None:
            live &= hits < until
        rules = np.flatnonzero(live)
        if not len(rules):
            return answers
        queue = [
            (-int(hits[rule]), place, -int(sizes[rule]), rule, int(order[first[rule] + place]))
            for rule in rules.tolist()
            for place in range(answer_counts[rule], min(answer_counts[rule] + portion, sizes[rule]))
        ]
        rewrites = applications.rewrites[[each[-1] for each in sorted(queue)]].astype(np.int64)
        new = np.fromiter(dict.fromkeys(rewrites[~asked[rewrites]].tolist()), np.int64)
        some_flip, some_asked = ask_about(applications, right, new, ask)
        flips |= some_flip
        asked |= some_asked
        requests[rules] = np.minimum(answer_counts[rules] + portion, sizes[rules])
        portion *= 2


def ask_about(
    applications: Applications, right: RightRows, rewrites: NDArray[np.int64], ask: Ask
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of these rewrites flip the model, and about which it was asked."""
    rows = applications.rows[rewrites].tolist()
    answers = ask(rows, [applications.texts[each] for each in rewrites.tolist()])
    flips = np.zeros(len(applications.texts), np.bool_)
    asked = flips.copy()
    asked[rewrites] = [answer is not None for answer in answers]
    flips[rewrites] = right.flips(rows, answers)
    return flips, asked


def fails_of_models(
    applications: Applications, right: RightRows, flips: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which of several models each flip makes fail: bool (rewrites, models).

    Of one model there are no columns. Nothing is asked that was not asked before.
    """
    fails = np.zeros((len(flips), len(right.models)), np.bool_)
    if right.models:
        some = np.flatnonzero(flips)
        texts = [applications.texts[each] for each in some.tolist()]
        fails[some] = right.fails_of_each(applications.rows[some].tolist(), texts)
    return fails


def _by_lot(applications: Applications, texts: Sequence[str], seed: int) -> NDArray[np.int64]:
    """The applications of each rule in a random order of rows, which all rules share."""
    ranks = np.empty(len(texts), np.int64)
    ranks[by_lot(texts, f"asked {seed}")] = np.arange(len(texts))
    rows = applications.rows[applications.rewrites]
    order: NDArray[np.int64] = np.lexsort((ranks[rows], applications.rules))
    return order


def _counted(
    applications: Applications,
    order: NDArray[np.int64],
    flips: NDArray[np.bool_],
    asked: NDArray[np.bool_],
    requests: NDArray[np.int64],
) -> RuleAnswers:
    """What counts of each rule: its rows up to the first one that was not asked about."""
    missing = ~asked[applications.rewrites[order]]
    before = np.cumsum(missing)
    start = np.append(0, before)[applications.rule_offsets[:-1]]
    counted = np.zeros(len(order), np.bool_)
    counted[order] = before == start[applications.rules[order]]
    counts = applications.where(counted).changed
    cut = bool((counts < requests).any())
    return RuleAnswers(flips.copy(), counted, counts == applications.changed, cut)
