"""The model is asked last and least: about rules in rounds, and no more of those that are hopeless.

In: applications of rules, the right rows, a way to ask that may be limited. Out: `Answers`. Always
holds: each distinct rewrite is asked about once; a rule is asked about in an order of the rows that
has nothing to do with what they say, and only the rows before the first one that was not asked
about count, so that its rate is that of a sample drawn by lot. A rule is left as soon as it cannot
flip ``minimum_flips`` rows any more, or surely flips more rarely than a paraphrase does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import Applications
from sears_dsl.effects.evidence import lots
from sears_dsl.effects.right_rows import RightRows
from sears_dsl.statistics import wilson_interval

Ask: TypeAlias = Callable[[Sequence[int], Sequence[str]], Sequence[str | None]]
"""What the model says of right rows with other texts; None where it was not asked."""

# Rows of each rule in the first round; in each further one there are twice as many.
_FIRST_ROUND = 4


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model says of rules.

    Attributes:
        flips: bool (rewrites,): whether it answers a rewrite otherwise than its row.
        counted: bool (applications,): which ones count for the rate of their rule.
        complete: bool (rules,): whether all of their rewrites were asked about.
        cut: whether questions were left out for want of time, or since there was a limit.
    """

    flips: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    cut: bool


def ask_everything(
    applications: Applications, right: RightRows, ask: Ask, order: NDArray[np.int64]
) -> Answers:
    """Ask about every rewrite, in an order of the rewrites.

    A rule of which a rewrite was not asked about, since there was no time, has no honest numbers:
    none of its applications counts.
    """
    flips, known = ask_about(applications, right, order, ask)
    complete = applications.count(~known) == 0
    return Answers(flips, complete[applications.rules], complete, cut=not known.all())


def ask_in_rounds(
    applications: Applications,
    right: RightRows,
    ask: Ask,
    *,
    minimum_flips: int | NDArray[np.int64],
    base_rate: float | NDArray[np.float64] = 0.0,
    seed: int = 0,
    on_round: Callable[[Answers], None] = lambda _: None,
) -> Answers:
    """Ask about rules, a few rows each, then more of those that may flip enough.

    A rule has to flip `minimum_flips` rows, and to reach the base rate, at which a paraphrase that
    keeps the meaning flips its row; each is one number, or one a rule.
    """
    order = _by_lot(applications, right.texts, seed)
    sizes = applications.changed
    first = applications.rule_offsets[:-1]
    flips = np.zeros(len(applications.texts), np.bool_)
    known = flips.copy()
    requests = np.zeros(applications.rule_count, np.int64)  # rows that were asked for, rule by rule
    portion = _FIRST_ROUND
    while True:
        answers = _counted(applications, order, flips, known, requests)
        counted = applications.where(answers.counted)
        answer_counts, hits = counted.changed, counted.count(flips)
        if requests.any():
            on_round(answers)
        _, high = wilson_interval(hits, answer_counts)
        live = (answer_counts < sizes) & (answer_counts >= requests)
        live &= (hits + sizes - answer_counts >= minimum_flips) & (high >= base_rate)
        rules = np.flatnonzero(live)
        if not len(rules):
            return answers
        queue = [
            (-int(hits[rule]), place, -int(sizes[rule]), rule, int(order[first[rule] + place]))
            for rule in rules.tolist()
            for place in range(answer_counts[rule], min(answer_counts[rule] + portion, sizes[rule]))
        ]
        rewrites = applications.rewrites[[each[-1] for each in sorted(queue)]].astype(np.int64)
        new = np.fromiter(dict.fromkeys(rewrites[~known[rewrites]].tolist()), np.int64)
        some_flip, some_known = ask_about(applications, right, new, ask)
        flips |= some_flip
        known |= some_known
        requests[rules] = np.minimum(answer_counts[rules] + portion, sizes[rules])
        portion *= 2


def ask_about(
    applications: Applications, right: RightRows, rewrites: NDArray[np.int64], ask: Ask
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which of some rewrites flip the model, and of which it was asked."""
    rows = applications.rows[rewrites].tolist()
    answers = ask(rows, [applications.texts[each] for each in rewrites.tolist()])
    flips = np.zeros(len(applications.texts), np.bool_)
    known = flips.copy()
    known[rewrites] = [answer is not None for answer in answers]
    flips[rewrites] = right.flips(rows, answers)
    return flips, known


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
    """The applications of each rule in an order by lot, the same for equal rows of all rules."""
    ranks = np.empty(len(texts), np.int64)
    ranks[np.argsort(lots(texts, f"asked {seed}"), kind="stable")] = np.arange(len(texts))
    rows = applications.rows[applications.rewrites]
    order: NDArray[np.int64] = np.lexsort((ranks[rows], applications.rules))
    return order


def _counted(
    applications: Applications,
    order: NDArray[np.int64],
    flips: NDArray[np.bool_],
    known: NDArray[np.bool_],
    requests: NDArray[np.int64],
) -> Answers:
    """What counts of each rule: its rows up to the first one that was not asked about."""
    missing = ~known[applications.rewrites[order]]
    before = np.cumsum(missing)
    start = np.append(0, before)[applications.rule_offsets[:-1]]
    counted = np.zeros(len(order), np.bool_)
    counted[order] = before == start[applications.rules[order]]
    counts = applications.where(counted).changed
    cut = bool((counts < requests).any())
    return Answers(flips.copy(), counted, counts == applications.changed, cut)
