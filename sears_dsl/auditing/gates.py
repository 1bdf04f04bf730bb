"""What a user demands of a model: how often it may fail which rules, and each rule judged by it.

In: limits for all rules or for some, and effects. Out: `Gates`, which knows the limit of each rule,
and a `Judgement` of each rule. The most specific limit counts: that of the rule, then of its tags,
of its severity, of all rules. A gate that matches no rule and no template is an error, since a gate
that gates nothing looks like one that holds. One all of whose rules have a more specific limit
decides nothing. A rule that was tested on too few rows is not judged: it neither passes nor fails,
however it did. p is the exact probability of at least so many
failures if the model failed at the rate of the limit. q is p after Benjamini and Hochberg, over all
rules that were tested. Costs one binomial tail a rule.

A rule without a limit is tested against the tolerated rate. Its default is the share of rows in
which a discovered rule may change the meaning (δ = 0.1); any failures beyond that are the model's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias, get_args

import numpy as np

from sears_dsl.effects.rule_effects import RuleEffect
from sears_dsl.errors import UsageError, counted
from sears_dsl.language.rule import Metadata, Rule, Template
from sears_dsl.statistics import Share, binomial_tail, percent, q_values, share_of

JudgeBy: TypeAlias = Literal["rate", "evidence", "proof"]
"""What makes a rule fail: its ``rate`` is above the limit, there is ``evidence`` of that
(q < 0.05), or there is no ``proof`` of the contrary (the interval reaches above the limit)."""

Demand: TypeAlias = Literal[
    "failures", "robust", "invariant", "local", "mean", "corrected", "above-constant"
]
"""What a gate demands. ``failures``: each rule fails on few rows. ``robust``: over all its rules
together, accuracy falls by no more than a tolerance; ``invariant``: nor does it rise by more.
``local``: at least a share of the rows is robust each by itself. The others demand at least a rate:
of the mean over rules or templates (``mean``), of p′ rescaled so that a guess is 0 (``corrected``),
or of p′ minus what the best constant answer would score (``above-constant``)."""

_SEVERITIES = ("low", "medium", "high")
_TAG, _SEVERITY, _TEMPLATE = "tag:", "severity:", "template:"
_OF_ROBUSTNESS: tuple[Demand, ...] = get_args(Demand)[1:]
_ALL = "all"


@dataclass(frozen=True, slots=True)
class Gate:
    """One demand; its rate is the highest failure rate, the tolerance, or the least share or rate.

    A selector is a rule's id, ``tag:NAME`` or ``severity:high``. In a gate about robustness it is
    a rule's id, ``template:ID``, ``tag:NAME`` or ``all``.
    """

    selector: str
    rate: float
    demand: Demand = "failures"

    def is_about(self, effect: RuleEffect) -> bool:
        """Whether a gate about robustness includes this rule."""
        return self.selector in (_ALL, *_of_rule(effect.id, effect.rule))

    def is_about_template(self, name: str, template: Template) -> bool:
        """Whether this is a gate about robustness that includes a template of this id."""
        known = (_ALL, *_of_template(name, template))
        return self.demand != "failures" and self.selector in known

    def tolerance(self, of_run: float) -> float:
        """The τ at which the gate is judged: its own rate, or that of the run."""
        return self.rate if self.demand in ("robust", "invariant") else of_run

    @property
    def name(self) -> str:
        """The gate as it is written, without its rate."""
        return self.selector if self.demand == "failures" else f"{self.demand}:{self.selector}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """All demands on a model."""

    flip_rate: float | None = None  # limit of every rule that expects ``same``; None for none
    miss_rate: float | None = None  # likewise of ``flip`` or ``label``; None takes `flip_rate`
    # Limit for the right rows that any rule of the first kind flips, of those that any changes.
    rows_flipped: float | None = None
    own: tuple[Gate, ...] = ()
    judge_by: JudgeBy = "rate"
    support: int = 20  # rules that are tested on fewer rows are not judged
    require_support: bool = False  # whether such a rule fails the gate
    tolerated: float = 0.1  # the rate that a rule without a limit is tested against

    def __post_init__(self) -> None:
        rates = [self.flip_rate, self.miss_rate, self.rows_flipped, self.tolerated]
        rates += [gate.rate for gate in self.own]
        if not all(rate is None or 0 <= rate <= 1 for rate in rates) or self.support < 1:
            raise UsageError(
                f"{self} cannot be met by any model",
                help="give rates between 0 and 1 and a support of at least 1",
            )
        if self.require_support and not self.any_limit:
            raise UsageError(
                "--require-support has no limit to judge rules by",
                help="set a limit as well, such as --max-flip-rate 5%",
            )
        names = [gate.name for gate in self.own]
        twice = [each for each in names if names.count(each) > 1]
        if twice:
            raise UsageError(f"the gate {twice[0]} is given twice", help="give it one rate")

    @property
    def any_limit(self) -> bool:
        """Whether anything is demanded."""
        limits = (self.flip_rate, self.miss_rate, self.rows_flipped)
        return bool(self.own) or any(limit is not None for limit in limits)

    @property
    def of_robustness(self) -> tuple[Gate, ...]:
        """The gates about robustness."""
        return tuple(gate for gate in self.own if gate.demand != "failures")

    def limits_of(self, effect: RuleEffect) -> Iterator[tuple[float, str]]:
        """The limits on a rule, each with what sets it; the first counts, the most specific."""
        metadata = effect.rule.metadata
        own = sorted(self.own, key=lambda gate: gate.rate)
        for of_kind in (_ids(effect.id, effect.rule), _tags(metadata), _severity(metadata)):
            for gate in own:
                if gate.demand == "failures" and gate.selector in of_kind:
                    yield gate.rate, f"gate {gate.selector}"
        if effect.expect.kind != "same" and self.miss_rate is not None:
            yield self.miss_rate, "maximum miss rate"
        elif self.flip_rate is not None:
            yield self.flip_rate, "maximum flip rate"

    def check(
        self, rules: Iterable[tuple[str, Rule]], templates: Iterable[tuple[str, Template]] = ()
    ) -> None:
        """Refuse a gate that selects no rule and, if it is about robustness, no template."""
        of_failures, of_robustness = set[str](), {_ALL}
        for name, rule in rules:
            of_robustness.update(_of_rule(name, rule))
            of_failures.update(_of_rule(name, rule), _severity(rule.metadata))
        for name, template in templates:
            of_robustness.update(_of_template(name, template))
        for gate in self.own:
            known, noun = of_robustness, "rule and no template"
            others = "template:ID, tag:NAME or all"
            if gate.demand == "failures":
                known, noun = of_failures, "rule"
                others = "tag:NAME or severity:high; for templates, write robust:, mean: …"
            if gate.selector not in known:
                near = difflib.get_close_matches(gate.selector, sorted(known), n=1)
                guess = f"did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f"the gate {gate.name} matches no {noun}",
                    help=f"{guess}a gate names a rule's id, {others}",
                )


def _of_rule(name: str, rule: Rule) -> tuple[str, ...]:
    """The selectors of a rule, whatever is demanded; its severity is one for failures alone."""
    return (*_ids(name, rule), *_tags(rule.metadata))


def _of_template(name: str, template: Template) -> tuple[str, ...]:
    return (_TEMPLATE + name, *_tags(template.metadata))


def _ids(name: str, rule: Rule) -> tuple[str, ...]:
    """The id of a rule, with the name of its ruleset if two rules share it, and without."""
    return (name, rule.name or name)


def _tags(metadata: Metadata) -> tuple[str, ...]:
    return tuple(_TAG + tag for tag in metadata.tags)


def _severity(metadata: Metadata) -> tuple[str, ...]:
    return () if metadata.severity is None else (_SEVERITY + metadata.severity,)


def read_gate(written: str) -> Gate:
    """Parse a gate as written on a command line: ``SELECTOR=RATE``.

    Example:
        >>> gate = read_gate("robust:tag:negation=5%")
        >>> gate.selector, gate.rate, gate.demand
        ('tag:negation', 0.05, 'robust')
    """
    name, _, number = written.rpartition("=")
    demand: Demand = "failures"
    selector = name
    for each in _OF_ROBUSTNESS:
        if name.startswith(f"{each}:"):
            demand, selector = each, name.removeprefix(f"{each}:")
    rate = read_rate(number)
    severity = selector.removeprefix(_SEVERITY)
    unknown = severity != selector and severity not in _SEVERITIES
    if not selector or not 0 <= rate <= 1 or unknown:
        raise UsageError(
            f"{written!r} is not a gate",
            help="write a rule's id, tag:NAME or severity:low|medium|high, then = and a rate: "
            "wh-which=0.02 or severity:high=2%; or robust:, invariant:, local:, mean:, corrected: "
            "or above-constant: before a rule's id, template:ID, tag:NAME or all: "
            "robust:tag:negation=5%",
        )
    return Gate(selector, rate, demand)


def read_rate(written: str) -> float:
    """Parse a rate such as ``0.02`` or ``2%``; returns -1 if it is none.

    Percentages are divided as decimals, since the float 0.7 / 100 is less than 0.007.
    """
    try:
        return float(Decimal(str(float(written[:-1]))) / 100 if written.endswith("%") else written)
    except ValueError:
        return -1.0


JudgementOutcome: TypeAlias = Literal["failed", "passed", "not judged", "measured"]
"""``measured``: enough rows, and no limit to judge by. Documents count outcomes in this order."""

#: Below this q there is evidence that the true failure rate is above the limit.
CERTAIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The judgement of a rule by the tested rows on which the model does not do as expected.

    p is about the rate `against`: the limit or, if there is none, the tolerated rate. It is None
    if no row was tested. q is p after control of false discoveries.
    """

    outcome: JudgementOutcome
    reason: str
    failures: Share
    limit: float | None
    limit_from: str
    against: float
    p_value: float | None
    q_value: float | None


def judge(effects: Sequence[RuleEffect], gates: Gates) -> tuple[Judgement, ...]:
    """Judge each rule by gates that were checked when the rules were compiled."""
    limits = [next(gates.limits_of(effect), (None, "")) for effect in effects]
    shares = [share_of(int(each.failed.sum()), int(each.tested.sum())) for each in effects]
    against = [gates.tolerated if limit is None else limit for limit, _ in limits]
    p = {
        place: float(binomial_tail(share.count, share.total, against[place]))
        for place, share in enumerate(shares)
        if share.total
    }
    q = dict(zip(p, q_values(np.array(list(p.values()))).tolist(), strict=True))
    judgements = []
    for place, effect in enumerate(effects):
        share, (limit, limit_from) = shares[place], limits[place]
        outcome, reason = judge_share(
            share,
            limit=limit,
            q_value=q.get(place),
            gates=gates,
            changed=len(effect),
            lost=lost_rewrites(effect.refused, effect.rejected),
        )
        judgements.append(
            Judgement(
                outcome=outcome,
                reason=reason,
                failures=share,
                limit=limit,
                limit_from=limit_from,
                against=against[place],
                p_value=p.get(place),
                q_value=q.get(place),
            )
        )
    return tuple(judgements)


def lost_rewrites(refused: int, rejected: int) -> str:
    """Say why rewrites do not count; "" if all of them do."""
    words = []
    if refused:
        words.append(
            f"the model refused {counted(refused, 'rewrite or its row', 'rewrites or their rows')}"
        )
    if rejected:
        words.append(f"the oracle rejected {counted(rejected, 'rewrite')}")
    return " and ".join(words)


def unrounded(limit: float) -> str:
    """A limit in per cent, with up to six digits."""
    return f"{100 * limit:g}%"


def beside_limit(rate: float, limit: float) -> str:
    """A rate with as many digits as show whether it is above the limit; below 1 it is not 100%.

    Example:
        >>> [beside_limit(each, 0.12) for each in (0.118, 0.126, 0.1204)]
        ['12%', '13%', '12.04%']
        >>> beside_limit(0.9999, 0.99989)
        '99.99%'
    """
    digits = [percent(rate), *(f"{100 * rate:.{places}f}%" for places in range(1, 16))]
    shown = ((each, float(each[:-1]) / 100) for each in digits)
    agreeing = (
        each
        for each, value in shown
        if (value > limit) == (rate > limit) and (value < 1 or rate == 1)
    )
    return next(agreeing, digits[-1])


def judge_share(
    share: Share,
    *,
    limit: float | None,
    q_value: float | None,
    gates: Gates,
    changed: int,
    lost: str = "",
) -> tuple[JudgementOutcome, str]:
    """Return the outcome of a share of failures, and the reason for it.

    `changed` is the number of changed rows, and `lost` says why rewrites do not count.
    """
    if share.rate is None:
        none_right = "the model gets none of the changed rows right"
        nothing = none_right if changed else lost or "the rule changes no row"
        return "not judged", f"nothing to test: {nothing}"
    if share.total < gates.support:
        tested = f"{share.total} {'row' if share.total == 1 else 'rows'} tested"
        rows = f"{tested}, {gates.support} needed"
        few = f"too little support: {rows}; {share.count} of {share.total} fail"
        return "not judged", few
    if limit is None:
        return "measured", "no limit is set"
    most = unrounded(limit)
    shown = f"{share.count:,} of {share.total:,} fail ({beside_limit(share.rate, limit)})"
    if q_value is not None and q_value < CERTAIN:
        return "failed", f"{shown}, clearly above {most}"
    if gates.judge_by == "proof":
        interval = f"{shown}; the 95% interval ends at {beside_limit(share.high, limit)}"
        if share.high > limit:
            return "failed", f"{interval}, above {most}"
        return "passed", f"{interval}, within {most}"
    if share.rate <= limit:
        return "passed", f"{shown}, at most {most}"
    doubt = f"{shown}, above {most}, though this may be chance"
    return ("failed" if gates.judge_by == "rate" else "passed"), doubt
