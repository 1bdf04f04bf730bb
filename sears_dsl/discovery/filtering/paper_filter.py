"""Which candidates are worth a person's time, as in the paper: they flip and keep the meaning.

A rule passes exactly if it flips at least ``minimum_flips`` rows and the share of the rows that it
changes with S ≥ τ is at least 1 - δ (the paper's E[S ≥ τ] ≥ 1 - δ). The scorer is asked about no
pair that cannot change a verdict any more, and about a pair once, or in waves once a wave. A rule
that the budget left undecided does not pass. Filtering costs the scores of the pairs in ``asked``,
and in every round some passes over the applications of rules that are still open.

It is decided as if every rewrite had been asked about. A rule is rejected as soon as it has
more failures than it may have among all its rows, and accepted as soon as the rows not asked about
could not make them too many. Only the order of the questions is an estimate. It is greedy: a
question decides more the more open rules share the rewrite, the likelier it fails (rewrites that
change the same words the same way fail together), and the shorter the row is. Each question of a
round allows for what the ones before it will probably decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.settings import MINIMUM_FLIPS
from sears_dsl.effects.applications import Applications
from sears_dsl.engine.rewrite.rewrites import common_ends

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer

# Failures count as likely before anything is known, and what is known of one change of words
# counts after some questions.
_FIRST_FAILURES, _FIRST_QUESTIONS, _DOUBT = 1.0, 2.0, 2.0
# No question is worthless: rules that will pass have to be asked about as well.
_LEAST_VALUE = 0.02
# Characters that asking about any row costs beyond its own.
_OVERHEAD = 10
# A round is chosen in so many steps; each takes into account what the ones before may decide.
_STEPS = 8
# A round is a small share of the rewrites left, since its answers guide the next one, but no
# smaller than scorers need to work in batches.
_SHARE, _LEAST_BATCH = 256, 64


def allowed_failures(changed: NDArray[np.int64], delta: float) -> NDArray[np.int64]:
    """How many of the changed rows may fail while at least a share of 1 - delta does not."""
    # 0.1 of 30 rows is 3 of them, though 0.1 * 30 may come out below.
    return np.asarray(np.floor(delta * changed + 1e-9), np.int64)


class _State:
    """What is known so far; arrays of applications shrink with the rules that are open."""

    def __init__(self, applications: Applications, delta: float) -> None:
        self.allowed = allowed_failures(applications.changed, delta)
        self.failures = np.zeros(applications.rule_count, np.int64)
        self.unknown = applications.changed.copy()
        self.rules = applications.rules.astype(np.int64)
        self.rewrites = applications.rewrites.astype(np.int64)
        self.known = np.zeros(len(applications.texts), np.bool_)
        self.left = len(self.known)  # how many rewrites are worth asking about
        used = np.unique(self.rewrites)
        self.kinds = np.zeros(len(applications.texts), np.int64)
        # Equal changes of words are of one kind.
        changes = [_changed_words(*pair) for pair in applications.pairs(used)]
        numbers = {each: number for number, each in enumerate(dict.fromkeys(changes))}
        self.kinds[used] = [numbers[each] for each in changes]
        self.cost = np.ones(len(applications.texts))
        lengths = [len(applications.originals[row]) for row in applications.rows[used].tolist()]
        self.cost[used] = np.sqrt(np.array(lengths, np.float64) + _OVERHEAD)
        count = int(self.kinds.max(initial=0)) + 1
        self.kind_questions, self.kind_failed = np.zeros(count), np.zeros(count)

    @property
    def passed(self) -> NDArray[np.bool_]:
        return self.failures + self.unknown <= self.allowed

    @property
    def undecided(self) -> NDArray[np.bool_]:
        return ~self.passed & (self.failures <= self.allowed)

    def prune(self) -> bool:
        """Drop applications that decide nothing any more; return whether any are left."""
        useful = self.undecided[self.rules] & ~self.known[self.rewrites]
        self.rules, self.rewrites = self.rules[useful], self.rewrites[useful]
        left = np.zeros(len(self.known), np.bool_)
        left[self.rewrites] = True
        self.left = int(left.sum())
        return self.left > 0

    def choose(self, most: int) -> NDArray[np.int64]:
        """The rewrites to ask about next, in their order."""
        failing = self._failing()
        worth = (failing + _LEAST_VALUE) / self.cost
        needed = (self.allowed + 1 - self.failures).astype(np.float64)
        chosen = np.zeros(len(self.known), np.bool_)
        step = -(-most // _STEPS)
        for room in range(most, 0, -step):
            live = needed[self.rules] > 0
            sharing = np.bincount(self.rewrites[live], minlength=len(chosen))
            value = sharing * worth
            value[chosen] = 0
            best = _largest(value, min(step, room))
            if not len(best):
                break
            chosen[best] = True
            new = np.zeros(len(chosen), np.bool_)
            new[best] = True
            hit = new[self.rewrites]
            expected = failing[self.rewrites[hit]]
            needed -= np.bincount(self.rules[hit], weights=expected, minlength=len(needed))
        return np.flatnonzero(chosen)

    def _failing(self) -> NDArray[np.float64]:
        """How likely each rewrite is to fail, judged by those with the same change of words."""
        overall = (self.kind_failed.sum() + _FIRST_FAILURES) / (
            self.kind_questions.sum() + _FIRST_QUESTIONS
        )
        of_kind = (self.kind_failed + _DOUBT * overall) / (self.kind_questions + _DOUBT)
        return np.asarray(of_kind[self.kinds])

    def learn(self, chosen: NDArray[np.int64], answers: NDArray[np.bool_]) -> None:
        """Take in the answers."""
        self.known[chosen] = True
        failed = np.zeros(len(self.known), np.bool_)
        failed[chosen[~answers]] = True
        is_known = self.known[self.rewrites]
        rules = len(self.failures)
        self.unknown -= np.bincount(self.rules[is_known], minlength=rules)
        self.failures += np.bincount(self.rules[failed[self.rewrites]], minlength=rules)
        kinds = len(self.kind_questions)
        self.kind_questions += np.bincount(self.kinds[chosen], minlength=kinds)
        self.kind_failed += np.bincount(self.kinds[chosen[~answers]], minlength=kinds)


def _largest(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The places of the largest positive values; of equal ones the first."""
    places = np.flatnonzero(values > 0)
    if len(places) <= most:
        return places
    positive = values[places]
    least = np.partition(positive, len(positive) - most)[len(positive) - most]
    above = places[positive > least]
    return np.concatenate([above, places[positive == least][: most - len(above)]])


def _changed_words(original: str, rewritten: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words between the common beginning and the common end of two texts."""
    old, new = original.split(" "), rewritten.split(" ")
    front, back = common_ends(old, new)
    return tuple(old[front : len(old) - back]), tuple(new[front : len(new) - back])


# ---------------------------------------------------------------- candidates

# Rules in the first wave, which is decided first where time may end.
_FIRST_WAVE = 32


@dataclass(frozen=True, slots=True, eq=False)
class FilterOutcome:
    """What became of the candidates."""

    passed: NDArray[np.int64]  # the rules that passed, by position, in order
    undecided: NDArray[np.int64]  # those that flip enough rows and were not judged to the end
    flips: NDArray[np.int64]  # int64 (rules,): rows that each rule flips
    asked: int  # distinct pairs that the scorer was asked about
    # Distinct pairs that it would have been asked about to score every rule with enough flips on
    # every row
    without_stopping: int


def filter_candidates(
    applications: Applications,
    flips: NDArray[np.bool_],
    *,
    scorer: Scorer,
    tau: float,
    delta: float = 0.1,
    minimum_flips: int = MINIMUM_FLIPS,
    batch: int = 1024,
    in_waves: bool = False,
    in_time: Callable[[], bool] = lambda: True,
    progress: Callable[[int, int], None] = lambda decided, total: None,
) -> FilterOutcome:
    """Judge each candidate; ``flips`` says of each rewrite whether it flips the model.

    With ``in_waves``, for searches whose time may end too early, the rules that flip most are
    decided before others are asked about; this takes some more questions. Once ``in_time`` says no
    between batches, the rest is left undecided. ``progress`` gets the numbers decided and in all.
    """
    counts = applications.count(flips)
    enough = np.flatnonzero(counts >= minimum_flips)
    scored = np.zeros(len(applications.texts), np.bool_)
    passed, undecided = np.zeros((2, applications.rule_count), np.bool_)
    undecided[enough] = True
    for wave in _waves(enough, counts) if in_waves else [enough]:
        state = _State(applications.select(wave), delta)
        while state.prune() and in_time():
            chosen = state.choose(min(batch, max(_LEAST_BATCH, state.left // _SHARE)))
            answers = scorer.at_least(applications.pairs(chosen), tau)
            scored[chosen] = True
            state.learn(chosen, np.asarray(answers, np.bool_))
            undecided[wave] = state.undecided
            progress(len(enough) - int(undecided.sum()), len(enough))
        passed[wave], undecided[wave] = state.passed, state.undecided
    return FilterOutcome(
        passed=np.flatnonzero(passed),
        undecided=np.flatnonzero(undecided),
        flips=counts,
        asked=int(scored.sum()),
        without_stopping=len(np.unique(applications.select(enough).rewrites)),
    )


def _waves(rules: NDArray[np.int64], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rules, those that flip most first, in portions that grow fourfold."""
    order = rules[np.argsort(-counts[rules], kind="stable")]
    ends, size = [0], _FIRST_WAVE
    while ends[-1] < len(order):
        ends.append(ends[-1] + size)
        size *= 4
    return [order[first:last] for first, last in pairwise(ends)]
