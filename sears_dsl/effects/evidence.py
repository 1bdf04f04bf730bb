"""How sure one can be that a rule flips a model: intervals and false-discovery control.

In: applications of all candidates, which rewrites flip. Out: `FlipEvidence`, an entry a rule.
Always holds: the flip rate is flips over the rows that the rule changed (and the model had right);
its interval is Wilson's. Costs array operations and one hash a rule.

The test. Any rewording flips a brittle model now and then, so a rule is a discovery if it flips
more often than a rewording does: H0 says that each row that it changes flips with at most the base
rate, the chance that a paraphrase that keeps the meaning (S ≥ τ) flips its row. That rate is itself
counted, one paraphrase a row (`adversaries.base_flips`), so the p-value is that of Fisher's exact
test, one-sided: flips of the rule among the rows that it changes against flips of paraphrases among
the rows that have one. Where the rate is known for certain it is the binomial tail. All flips of a
rule count, S of which nobody asks before a rule passes; of one that passes at most δ lie below τ.

A rule proposed by a row flips that row by construction (nobody would look at it otherwise), so
where rules are judged on the rows that proposed them, one row and one flip are left out: given
that some row proposed the rule, its flips are stochastically at most one more than a binomial of
the others. With many thousands of candidates that test is strict. q-values are Benjamini and
Hochberg's over all distinct candidates: those that write the same rewrites are one hypothesis.
Rules that share rows rise and fall together, which that procedure allows.

Splits. What rules do to rows that took no part in finding them has no winner's curse. Rows fall on
one side or the other by a hash of their text (`hold_out`): the same text is never on
both, and rows that are added later move no other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import Applications
from sears_dsl.errors import UsageError
from sears_dsl.statistics import binomial_tail, excess_exact, q_values, wilson_interval


@dataclass(frozen=True, slots=True, eq=False)
class FlipEvidence:
    """Flips of rules, with what they are worth; arrays with an entry a rule.

    Attributes:
        changed: int64: rows that the rule changes.
        flips: int64: how many of them the model then answers otherwise.
        rates: flips over changed; 0 for a rule that changes nothing.
        low: lower end of the rate's 95% interval.
        high: upper end.
        p_values: of the hypothesis that the rule flips no more often than a paraphrase.
        q_values: the false-discovery rate at which the rule would just be a discovery.
        base_rate: how often a paraphrase flips.
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
    base_rows: int | None = None,
    proposed_here: bool = True,
) -> FlipEvidence:
    """Intervals and tests for every candidate, of all rules that were looked at.

    Flips, bool (rewrites,), are answers other than that to the row. The base rate is the share of
    flips among paraphrases that keep the meaning, counted on so many rows, or known for certain.
    """
    changed, flipped = applications.changed, applications.count(flips)
    low, high = wilson_interval(flipped, changed)
    left_out = int(proposed_here)
    some, trials = np.maximum(flipped - left_out, 0), np.maximum(changed - left_out, 0)
    p_values = (
        binomial_tail(some, trials, base_rate)
        if base_rows is None
        else excess_exact(some, trials, round(base_rate * base_rows), base_rows)
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
        q_values=q_values(p_values[first])[hypothesis],
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
    texts: Sequence[str], *, seed: int, share: float = 0.5
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows by their texts: those to find rules on, and those that take no part.

    Each text falls by its hash, about a `share` of them into the second kind.
    """
    if not 0 < share < 1:
        raise UsageError(f"the share is {share}", help="give a number between 0 and 1")
    held = lots(texts, f"held out {seed}") < share
    return np.flatnonzero(~held), np.flatnonzero(held)


def lots(texts: Sequence[str], purpose: str) -> NDArray[np.float64]:
    """A number in [0, 1) for each text, as good as drawn, and always the same for a purpose.

    Texts that differ in case or white space alone are the same text.
    """
    hashed = [
        blake2b(
            " ".join((purpose, *text.casefold().split())).encode("utf-8", "surrogatepass"),
            digest_size=8,
        ).digest()
        for text in texts
    ]
    whole = np.frombuffer(b"".join(hashed), "<u8")
    # 53 bits are what a float holds, so that no place is rounded up to 1.
    return np.asarray((whole >> np.uint64(11)) / float(1 << 53), np.float64)
