"""From judgements of rules to the decision about the model.

In: effects, a judgement for each rule, what the rules do together, gates. Out: a `Verdict`. Always
holds: a gate of which nothing could be judged is never passed, whatever became of the other gates;
something failed only if a reason says what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sears_dsl.auditing.document import Verdict
from sears_dsl.auditing.gates import Gates
from sears_dsl.auditing.robustness import Robustness
from sears_dsl.auditing.totals import Together
from sears_dsl.auditing.verdicts import Judgement, JudgementOutcome, judge_share
from sears_dsl.effects.rule_effects import Effects
from sears_dsl.statistics import binomial_tail


def decide(
    effects: Effects,
    judgements: Sequence[Judgement],
    whole: Together,
    gates: Gates,
    robustness: Robustness | None = None,
) -> Verdict:
    """The decision, with its reasons: what failed first, then what could not be judged.

    Args:
        effects: what the rules do.
        judgements: one for each of them.
        whole: what they do together.
        gates: what is demanded.
        robustness: what came of the gates that ask about it; None where none does.
    """
    counts: Counter[JudgementOutcome] = Counter(each.outcome for each in judgements)
    told_counts: dict[JudgementOutcome, int] = {
        outcome: counts[outcome] for outcome in ("failed", "passed", "not judged", "measured")
    }
    if not gates.any_limit:
        return Verdict(outcome="measured", reasons=("no limit is set",), counts=told_counts)
    all_rules, about_all = _judge_all(whole, gates)
    fails = ("failed", "not judged") if gates.require_support else ("failed",)
    failures = [
        f"{effect.name}: {judgement.reason}"
        for effect, judgement in zip(effects.rules, judgements, strict=True)
        if judgement.outcome in fails
    ]
    told_of_all = f"all rules together: {about_all}"
    if all_rules in fails:
        failures.append(told_of_all)
    of_robustness = () if robustness is None else robustness.gates
    failures += [f"{each.gate}: {each.reason}" for each in of_robustness if each.outcome in fails]
    unjudged = list(_unjudged(judgements))
    unjudged += [
        f"{each.gate}: {each.reason}"
        for each in of_robustness
        if each.outcome == "not judged" and each.outcome not in fails
    ]
    if all_rules == "not judged" and all_rules not in fails:
        unjudged.append(told_of_all)
    passed = counts["passed"] or "passed" in (all_rules, *(each.outcome for each in of_robustness))
    if not (failures or unjudged or passed):
        unjudged.append("no rule was tested on enough rows to be judged")
    outcome: JudgementOutcome = "failed" if failures else "not judged" if unjudged else "passed"
    return Verdict(
        outcome=outcome,
        reasons=(*failures, *unjudged) if outcome != "passed" else (),
        counts=told_counts,
        all_rules=all_rules,
        all_rules_reason=about_all,
    )


def _unjudged(judgements: Sequence[Judgement]) -> Iterator[str]:
    """The gates whose rules could all not be judged."""
    of_gate: dict[str, set[JudgementOutcome]] = {}
    for judgement in judgements:
        if judgement.limit is not None:
            of_gate.setdefault(judgement.limit_from, set()).add(judgement.outcome)
    for gate, outcomes in of_gate.items():
        if outcomes == {"not judged"}:
            yield f"{gate}: no rule was tested on enough rows to be judged"


def _judge_all(whole: Together, gates: Gates) -> tuple[JudgementOutcome, str]:
    """Rows that any rule flips, judged as one test of its own."""
    limit, flipped = gates.rows_flipped, whole.flipped
    if limit is None:
        return "measured", "no limit is set"
    return judge_share(
        flipped,
        limit=limit,
        q_value=float(binomial_tail(flipped.count, flipped.total, limit)),
        support=gates.support,
        judge_by=gates.judge_by,
        changed=whole.changed,
    )
