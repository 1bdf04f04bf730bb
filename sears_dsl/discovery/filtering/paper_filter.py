"""Which candidates are worth a person's time: they flip the model and keep the meaning.

Always holds: a rule passes exactly if it flips at least ``minimum_flips`` rows and the share of the
rows that it changes with S ≥ τ is at least 1 - δ (the paper's E[S ≥ τ] ≥ 1 - δ); the scorer is
asked about a pair once at most, and about no pair that cannot change a verdict any more. A rule
that the budget left undecided does not pass. Costs what the scorer costs for the pairs in
``asked``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.filtering.sequential import Round, decide
from sears_dsl.effects.applications import Applications
from sears_dsl.errors import UsageError

if TYPE_CHECKING:
    from sears_dsl.meaning.scorer import Scorer

MINIMUM_FLIPS = 3
"""The default: intervals and q-values say what few flips mean; the paper's authors took 6."""


# Rules that are decided first where time may end.
_FIRST_WAVE = 32


class CandidateVerdict(IntEnum):
    """What became of a candidate."""

    FEW_FLIPS = 0
    REJECTED = 1
    PASSED = 2
    UNDECIDED = 3


_DECIDED = (CandidateVerdict.PASSED, CandidateVerdict.REJECTED)


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """What became of the candidates."""

    verdicts: NDArray[np.int8]  # int8 (rules,): a `CandidateVerdict` each
    flips: NDArray[np.int64]  # int64 (rules,): rows that each rule flips
    asked: int  # pairs that the scorer was asked about
    # Pairs that it would have been asked about to score every rule with enough flips on every row;
    # each distinct pair once
    without_stopping: int

    @property
    def passed(self) -> NDArray[np.int64]:
        """The rules that passed, by position, in order."""
        return np.flatnonzero(self.verdicts == CandidateVerdict.PASSED)

    def count(self, verdict: CandidateVerdict) -> int:
        """How many rules have a verdict."""
        return int((self.verdicts == verdict).sum())


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
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[Round], None] = lambda _: None,
) -> Filtered:
    """Give each candidate its verdict; ``flips`` says of each rewrite whether it flips the model.

    With ``in_waves`` the rules that flip most are decided before others are asked about, for some
    more questions: where time may end before the last rule is decided. ``stop``, asked between
    batches, leaves the rest undecided.
    """
    _check(applications, flips, delta=delta, minimum_flips=minimum_flips, batch=batch)
    counts = applications.count(flips)
    enough = np.flatnonzero(counts >= minimum_flips)
    scored = np.zeros(len(applications.texts), np.bool_)

    def question(rewrites: NDArray[np.int64]) -> NDArray[np.bool_]:
        scored[rewrites] = True
        return np.asarray(scorer.at_least(applications.pairs(rewrites), tau), np.bool_)

    def show(step: Round) -> None:
        passed, rejected = (int((verdicts == each).sum()) for each in _DECIDED)
        more = Round(step.asked, len(enough), step.passed + passed, step.rejected + rejected)
        progress(more._replace(open=len(enough) - more.passed - more.rejected))

    verdicts = np.full(applications.rule_count, CandidateVerdict.FEW_FLIPS, np.int8)
    verdicts[enough] = CandidateVerdict.UNDECIDED
    for wave in _waves(enough, counts) if in_waves else [enough]:
        passed, rejected = decide(
            applications.select(wave),
            question,
            delta=delta,
            batch=batch,
            stop=stop,
            progress=show,
        )
        verdicts[wave[passed]] = CandidateVerdict.PASSED
        verdicts[wave[rejected]] = CandidateVerdict.REJECTED
    return Filtered(
        verdicts=verdicts,
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


def complete_scores(
    applications: Applications,
    rules: Sequence[int] | NDArray[np.integer],
    *,
    scorer: Scorer,
    among: NDArray[np.bool_] | None = None,
    scores: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """S of what some rules write, float64 (rewrites,), each scored once; NaN where not asked.

    Only those ``among`` are scored, such as those that flip; ``scores`` are known already, and are
    not changed.
    """
    known = np.full(len(applications.texts), np.nan) if scores is None else scores.copy()
    mask = np.zeros(len(known), np.bool_)
    mask[applications.select(np.asarray(rules, np.int64)).rewrites] = True
    if among is not None:
        mask &= among
    missing = np.flatnonzero(mask & np.isnan(known))
    if len(missing):
        known[missing] = scorer.scores(applications.pairs(missing))
    return known


def _check(
    applications: Applications,
    flips: NDArray[np.bool_],
    *,
    delta: float,
    minimum_flips: int,
    batch: int,
) -> None:
    if len(flips) != len(applications.texts):
        raise UsageError(
            f"there are flips for {len(flips)} rewrites, but {len(applications.texts)} rewrites",
            help="ask the model about `applications.texts`, each once",
        )
    if not 0 <= delta < 1 or minimum_flips < 1 or batch < 1:
        raise UsageError(
            f"delta is {delta}, minimum_flips {minimum_flips}, batch {batch}",
            help="delta is at least 0 and below 1, the others at least 1",
        )
