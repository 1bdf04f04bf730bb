"""How sure one can be that a rule flips a model: intervals and false-discovery control.

In: applications of all candidates, which rewrites flip. Out: `FlipEvidence`, an entry a rule.
Always holds: the flip rate is flips over the rows that the rule changed (and the model had right);
its interval is Wilson's. Costs array operations and one hash a rule.

The test. Any rewording flips a brittle model now and then, so a rule is a discovery if it flips
more often than a rewording does: H0 says that each row that it changes flips with at most the base
rate, the share of flips among paraphrases of equal meaning. The p-value is the exact binomial tail.
A rule proposed by a row flips that row by construction (nobody would look at it otherwise), so
where rules are judged on the rows that proposed them, one row and one flip are left out: given
that some row proposed the rule, its flips are stochastically at most one more than a binomial of
the others. With many thousands of candidates that test is strict; a holdout (`hold_out`), where
only the rules that passed are tested, on rows that took no part, has more power and gives flip
rates without the winner's curse. q-values are Benjamini and Hochberg's over all distinct
candidates: those that write the same rewrites are one hypothesis. Rules that share rows rise and
fall together, which that procedure allows; ``dependence="any"`` assumes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.application import Applications
from sears_dsl.errors import UsageError
from sears_dsl.statistics import Dependence, binomial_tail, q_values, wilson_interval

__all__ = ["FlipEvidence", "flip_evidence", "hold_out"]


@dataclass(frozen=True, slots=True, eq=False)
class FlipEvidence:
    """Flips of rules, with what they are worth; arrays with an entry a rule.

    Attributes:
        changed: int64: rows that the rule changes.
        flips: int64: how many of them the model then answers otherwise.
        rates: flips over changed; 0 for a rule that changes nothing.
        low: lower end of the rate's 95% interval.
        high: upper end.
        p_values: of the hypothesis that the rule flips no more often than any rewording.
        q_values: the false-discovery rate at which the rule would just be a discovery.
        base_rate: how often any rewording flips.
        tests: how many hypotheses there were.
    """

    changed: NDArray[np.int64]
    flips: NDArray[np.int64]
    rates: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_values: NDArray[np.float64]
    q_values: NDArray[np.float64]
    base_rate: float
    tests: int


def flip_evidence(
    applications: Applications,
    flips: NDArray[np.bool_],
    *,
    base_rate: float,
    proposed_here: bool = True,
    dependence: Dependence = "positive",
    confidence: float = 0.95,
) -> FlipEvidence:
    """Intervals and tests for every candidate.

    Args:
        applications: of all rules that were looked at, not only of those that passed.
        flips: bool (rewrites,): whether the model answers a rewrite otherwise than its row.
        base_rate: the share of flips among all paraphrases of equal meaning that were tried.
        proposed_here: whether these rows proposed the rules; False for held-out rows.
        dependence: what q-values assume; see `statistics.q_values`.
        confidence: of the intervals.

    Example:
        >>> from sears_dsl.language.ruleset import parse
        >>> from sears_dsl.text.pinned import PinnedTagger
        >>> from sears_dsl.discovery.application import apply_candidates
        >>> tagger = PinnedTagger()
        >>> rows = tagger.tag(["a movie", "the movie", "no movie"])
        >>> done = apply_candidates(parse("movie -> film").rules, rows, tagger=tagger)
        >>> found = flip_evidence(done, np.array([True, False, True]), base_rate=0.1)
        >>> found.flips.tolist(), round(float(found.p_values[0]), 2)
        ([2], 0.19)
    """
    changed, flipped = applications.changed, applications.count(flips)
    low, high = wilson_interval(flipped, changed, confidence=confidence)
    left_out = int(proposed_here)
    p_values = binomial_tail(
        np.maximum(flipped - left_out, 0), np.maximum(changed - left_out, 0), base_rate
    )
    hypothesis = _hypotheses(applications)
    first = np.unique(hypothesis, return_index=True)[1]
    return FlipEvidence(
        changed=changed,
        flips=flipped,
        rates=flipped / np.maximum(changed, 1),
        low=low,
        high=high,
        p_values=p_values,
        q_values=q_values(p_values[first], dependence=dependence)[hypothesis],
        base_rate=base_rate,
        tests=len(first),
    )


def _hypotheses(applications: Applications) -> NDArray[np.int64]:
    """A number for each rule; rules that write the same rewrites have the same."""
    numbers: dict[bytes, int] = {}
    return np.array(
        [
            numbers.setdefault(applications.of_rule(rule).tobytes(), len(numbers))
            for rule in range(applications.rule_count)
        ],
        np.int64,
    )


def hold_out(
    rows: int, *, seed: int, share: float = 0.5
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows at random: those to find rules on, and those to count their flips on.

    Args:
        rows: how many there are.
        seed: the same seed gives the same split.
        share: how many of them are held out.

    Returns:
        The positions of both kinds, each in order.

    Raises:
        UsageError: a share outside (0, 1).

    Example:
        >>> found, held = hold_out(4, seed=0)
        >>> sorted([*found.tolist(), *held.tolist()]), len(held)
        ([0, 1, 2, 3], 2)
    """
    if not 0 < share < 1:
        raise UsageError(f"the share is {share}", help="give a number between 0 and 1")
    order = np.random.default_rng(seed).permutation(rows)
    cut = round(rows * share)
    return np.sort(order[cut:]), np.sort(order[:cut])
