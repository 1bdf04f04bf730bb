"""Each rule judged by its own test, all of them together under control of false discoveries.

In: effects and gates. Out: a `Judgement` for each rule. Always holds: a rule that was tested on
too few rows is not judged, however it did: it neither passes nor fails. p is the exact
probability of so many failures or more if the model failed at the limit; q is p after Benjamini and
Hochberg, over all rules that were tested. Costs one binomial tail a rule.

A rule without a limit is tested against the tolerated rate. Its default is the share of rows of
which a discovered rule may change the meaning (δ = 0.1): more failures than that are the model's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sears_dsl.auditing.gates import Gates, JudgeBy
from sears_dsl.auditing.shares import Share, percent, share_of
from sears_dsl.effects.rule_effects import RuleEffect
from sears_dsl.language.rule import Template
from sears_dsl.statistics import binomial_tail, q_values

JudgementOutcome: TypeAlias = Literal["passed", "failed", "not judged", "measured"]
"""``measured``: enough rows, and no limit to judge by."""

#: Below this q there is evidence that the true failure rate is above the limit.
CERTAIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is to be said of a rule.

    Attributes:
        outcome: in a word.
        reason: in a sentence.
        failures: tested rows on which the model does not do as expected.
        limit: the failure rate that it may have; None where nothing is demanded.
        limit_from: who demands it.
        against: the rate that p is about: the limit, or the tolerated rate.
        p_value: of so many failures at that rate; None where no row was tested.
        q_value: after control of false discoveries.
    """

    outcome: JudgementOutcome
    reason: str
    failures: Share
    limit: float | None
    limit_from: str
    against: float
    p_value: float | None
    q_value: float | None


def judge(
    effects: Sequence[RuleEffect],
    gates: Gates,
    *,
    templates: Mapping[str, Template] | None = None,
) -> tuple[Judgement, ...]:
    """A judgement for each rule."""
    gates.check(((effect.id, effect.rule) for effect in effects), (templates or {}).items())
    limits = [gates.limit_of(effect) for effect in effects]
    shares = [share_of(int(each.failed.sum()), int(each.tested.sum())) for each in effects]
    against = [gates.tolerated if limit is None else limit.rate for limit in limits]
    tested = [place for place, share in enumerate(shares) if share.total]
    p_values = np.array(
        [
            float(binomial_tail(shares[place].count, shares[place].total, against[place]))
            for place in tested
        ]
    )
    p = dict(zip(tested, p_values.tolist(), strict=True))
    q = dict(zip(tested, q_values(p_values).tolist(), strict=True))
    judgements = []
    for place, (effect, share, limit) in enumerate(zip(effects, shares, limits, strict=True)):
        outcome, reason = judge_share(
            share,
            limit=None if limit is None else limit.rate,
            q_value=q.get(place),
            support=gates.support,
            judge_by=gates.judge_by,
            changed=len(effect),
        )
        judgements.append(
            Judgement(
                outcome=outcome,
                reason=reason,
                failures=share,
                limit=None if limit is None else limit.rate,
                limit_from="" if limit is None else limit.source,
                against=against[place],
                p_value=p.get(place),
                q_value=q.get(place),
            )
        )
    return tuple(judgements)


def judge_share(
    share: Share,
    *,
    limit: float | None,
    q_value: float | None,
    support: int,
    judge_by: JudgeBy,
    changed: int,
) -> tuple[JudgementOutcome, str]:
    """The outcome of one share of failures, and why.

    Args:
        share: failures of tested rows.
        limit: what it may be; None for no demand.
        q_value: of the test against the limit; None where nothing was tested.
        support: with fewer rows nothing is judged.
        judge_by: what counts as a failure.
        changed: rows that were changed, tested or not.

    Example:
        >>> judge_share(share_of(0, 3), limit=0.1, q_value=1.0, support=20, judge_by="rate",
        ...             changed=3)
        ('not judged', 'too little support: 3 rows tested, 20 are needed; 0 of 3 fail')
    """
    certain = q_value is not None and q_value < CERTAIN
    if share.rate is None:
        why = (
            "the model has none of the rows that it changes right"
            if changed
            else ("it changes no row")
        )
        return "not judged", f"nothing to test on: {why}"
    counted = f"{share.count:,} of {share.total:,} fail ({percent(share.rate)})"
    if share.total < support:
        rows = "row" if share.total == 1 else "rows"
        return (
            "not judged",
            f"too little support: {share.total} {rows} tested, {support} are needed; "
            f"{share.count} of {share.total} fail",
        )
    if limit is None:
        return "measured", "no limit is set"
    if certain:
        return "failed", f"{counted}, clearly above {percent(limit)}"
    if judge_by == "proof":
        if share.high > limit:
            return (
                "failed",
                f"{counted}; it may be {percent(share.high)}, above {percent(limit)}",
            )
        return "passed", f"{counted}, surely at most {percent(limit)}"
    if share.rate <= limit:
        return "passed", f"{counted}, at most {percent(limit)}"
    doubt = f"{counted}, above {percent(limit)}, though it may be chance"
    return ("failed" if judge_by == "rate" else "passed"), doubt
