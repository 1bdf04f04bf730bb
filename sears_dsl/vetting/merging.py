"""Journals of several reviewers → what they decide together, and how far they agree.

In: journals about one ruleset. Out: exactly one `ReviewOutcome` for each rule and template, and
`Agreement`. A rule is disputed if a majority is needed and as many reviewers keep it as reject it.
It is also disputed if they keep it, but several new wordings, and not the original, share the most
voices. A disputed rule is not accepted. The order of the journals makes no difference. κ is 1 if
all agree on items of more than one category. It is None if there are no items, or if chance alone
would give full agreement (there is one category).

Sources: Cohen, "A Coefficient of Agreement for Nominal Scales", 1960; Fleiss, "Measuring Nominal
Scale Agreement Among Many Raters", 1971; the interval of Cohen's κ: Fleiss, Cohen, Everitt, "Large
Sample Standard Errors of Kappa and Weighted Kappa", 1969; chance that is known, not estimated:
Brennan, Prediger, "Coefficient Kappa: Some Uses, Misuses, and Alternatives", 1981.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.language.printer import print_rule, template_ids
from sears_dsl.language.rule import NO_METADATA
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.statistics import wilson_interval
from sears_dsl.vetting.decisions import ReviewState, RuleVerdict, replay
from sears_dsl.vetting.journal import Header, check_ruleset, read_journal, ruleset_digest

_Z = NormalDist().inv_cdf(0.975)
_NO_ERROR = 1e-7


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement of reviewers on the items that all of them judged; None if it is not defined.

    The 95% interval of Cohen's κ comes from its large-sample error. For the choices of two
    reviewers it comes from Wilson's interval of the observed share. It is None for more reviewers,
    and if the large-sample error is 0 (all agree, or one reviewer gave only one category), which
    is no sign of certainty.
    """

    items: int
    observed: float | None
    value: float | None
    interval: tuple[float, float] | None = None


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> Kappa:
    """Agreement of two reviewers on the same items.

    Example:
        >>> kappa = cohen_kappa(["yes", "yes", "no", "no"], ["yes", "no", "no", "no"])
        >>> kappa.observed, kappa.value
        (0.75, 0.5)
    """
    count = len(first)
    if not count:
        return Kappa(0, None, None)
    names = sorted({*first, *second})
    places = {name: place for place, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for one, other in zip(first, second, strict=True):
        table[places[one], places[other]] += 1
    shares = table / count
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float(np.trace(shares)), float(rows @ columns)
    if len(names) == 1:
        return Kappa(count, observed, None)
    value = (observed - expected) / (1 - expected)
    error = _cohen_error(shares, kappa=value, count=count)
    if error < _NO_ERROR:
        return Kappa(count, observed, value)
    return Kappa(
        count, observed, value, (max(-1.0, value - _Z * error), min(1.0, value + _Z * error))
    )


def _cohen_error(shares: NDArray[np.float64], *, kappa: float, count: int) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    expected = float(rows @ columns)
    diagonal = np.diag(shares)
    agreed = float((diagonal * (1 - (rows + columns) * (1 - kappa)) ** 2).sum())
    across = shares * (columns[:, None] + rows[None, :]) ** 2
    apart = (1 - kappa) ** 2 * float(across.sum() - np.trace(across))
    chance = (kappa - expected * (1 - kappa)) ** 2
    return sqrt(max(0.0, agreed + apart - chance) / count) / (1 - expected)


def fleiss_kappa(ratings: Sequence[Sequence[str]]) -> Kappa:
    """Agreement of several reviewers, from the categories that all of them gave each item."""
    if not ratings:
        return Kappa(0, None, None)
    raters = len(ratings[0])
    names = sorted(set().union(*ratings))
    counts = np.array([[list(of_item).count(name) for name in names] for of_item in ratings])
    shares = counts.sum(axis=0) / counts.sum()
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    observed, expected = float(agreeing.mean()), float((shares**2).sum())
    value = None if len(names) == 1 else (observed - expected) / (1 - expected)
    return Kappa(len(ratings), observed, value)


def choice_kappa(choices: Sequence[Sequence[str]], options: Sequence[int]) -> Kappa:
    """Agreement of reviewers who choose among options that differ from item to item.

    Options that belong to one item have no shares from which chance could be estimated. Two
    reviewers who choose blindly agree on an item of n options with probability 1/n, so that is the
    chance here.

    `choices` has, for each item, what each reviewer chose, and `options` how many options there
    were, "none of these" included.
    """
    if not choices:
        return Kappa(0, None, None)
    raters = len(choices[0])
    agreeing = [
        sum(of_item.count(one) - 1 for one in of_item) / (raters * (raters - 1))
        for of_item in map(list, choices)
    ]
    observed = sum(agreeing) / len(agreeing)
    chance = sum(1 / count for count in options) / len(options)

    def kappa(share: float) -> float:
        return (share - chance) / (1 - chance)

    interval = None
    if raters == 2:
        low, high = wilson_interval(sum(agreeing), len(agreeing))
        interval = (kappa(float(low)), kappa(float(high)))
    return Kappa(len(choices), observed, kappa(observed), interval)


Policy: TypeAlias = Literal["majority", "all", "any"]
"""How many of those who judged a rule have to accept it."""

_Item: TypeAlias = tuple[str, ...]
"""What reviewers judge: a rule's id, or a sentence and the adversaries that were shown of it."""

Judged: TypeAlias = Literal["rules", "templates"]
"""What an outcome is about."""

Agreed: TypeAlias = Literal["rules", "templates", "picks"]
"""What reviewers can agree on."""

Decided: TypeAlias = Literal["kept", "edited", "rejected", "disputed", "unjudged"]


@dataclass(frozen=True, slots=True)
class Review:
    """A journal as read: its first line, what holds now, and the time of the last decision.

    `rules` has her verdicts on rules of the ruleset. Who writes one of them anew, or edits another
    one into it, and did not judge it accepts it.
    """

    header: Header
    state: ReviewState
    ended: str
    rules: Mapping[str, RuleVerdict]


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """The outcome for a rule or template, its new text if it was edited, and all verdicts.

    A rule with a new text that is not `edited` is left out with the rule that has this text.
    """

    rule: str
    decided: Decided
    new: str
    verdicts: Mapping[str, RuleVerdict]

    @property
    def verdicts_in_words(self) -> str:
        """Who decided what: ``ana accept, ben reject``."""
        return ", ".join(f"{name} {each.verdict}" for name, each in self.verdicts.items())


@dataclass(frozen=True, slots=True)
class VettingOutcomes:
    """The outcomes of rules and of templates; None for a kind that was not up for judgement."""

    rules: Sequence[ReviewOutcome] | None
    templates: Sequence[ReviewOutcome] | None
    policy: Policy = "majority"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far reviewers agree: each two on what both judged, and more on what all judged.

    κ is Cohen's for two and Fleiss' for more. For picks it is that of `choice_kappa`. `together` is
    None if there are not more than two.
    """

    reviewers: tuple[str, ...]
    pairs: Mapping[tuple[str, str], Kappa]
    together: Kappa | None


def read_reviews(paths: Sequence[Path], ruleset: Ruleset) -> list[Review]:
    """Read journals, sorted by reviewer."""
    digest = ruleset_digest(ruleset)
    reviews: dict[str, Review] = {}
    for path in paths:
        header, entries = read_journal(path)
        check_ruleset(header, path, digest, ruleset.path)
        if header.reviewer in reviews:
            raise UsageError(
                f"two of the journals are by {header.reviewer}",
                help="name each journal once; each reviewer counts once",
            )
        ended = entries[-1].time if entries else header.began
        state = replay(entries)
        rules = _rule_verdicts(state, ruleset)
        reviews[header.reviewer] = Review(header, state, ended, rules)
    return [reviews[name] for name in sorted(reviews)]


def outcomes(
    ruleset: Ruleset,
    reviews: Sequence[Review],
    *,
    policy: Policy = "majority",
    of: Judged = "rules",
) -> list[ReviewOutcome]:
    """The outcome for each rule, or for each template, in the order of the ruleset.

    One is kept if more than half, all or any of those who judged it accept it, as it is or edited.
    Skipping is not judging. What is edited into a rule that is left out is left out with it, and is
    rejected or disputed as that one is.
    """
    names = ruleset.rule_ids if of == "rules" else template_ids(ruleset.templates)
    judgements = {
        review.header.reviewer: review.rules if of == "rules" else review.state.templates
        for review in reviews
    }
    decided = [_outcome(name, judgements, policy) for name in names]
    if of == "templates":
        return decided
    texts = [(print_rule(rule), rule.effect) for rule in ruleset.rules]
    pairs = list(zip(decided, texts, strict=True))
    out = {text: each.decided for each, text in pairs if each.decided in ("rejected", "disputed")}
    return [
        replace(each, decided=out.get((each.new, effect), each.decided))
        for each, (_, effect) in pairs
    ]


def _rule_verdicts(state: ReviewState, ruleset: Ruleset) -> dict[str, RuleVerdict]:
    """See `Review.rules`."""
    rules = dict(zip(ruleset.rule_ids, ruleset.rules, strict=True))
    judged = {name: each for name, each in state.rules.items() if each.verdict != "skip"}
    wanted = {
        (each.new, rules[name].effect): replace(each, verdict="accept", new="")
        for name, each in judged.items()
        if each.verdict == "edit" and name in rules
    }
    wanted |= {
        (each.text, NO_METADATA): RuleVerdict(
            "", "accept", each.number, each.time, shown=each.examples
        )
        for each in state.written
    }
    accepted = {
        name: replace(verdict, rule=name)
        for name, rule in rules.items()
        if (verdict := wanted.get((print_rule(rule), rule.effect))) is not None
    }
    return accepted | judged


def vetting_outcomes(
    ruleset: Ruleset, reviews: Sequence[Review], *, policy: Policy = "majority"
) -> VettingOutcomes:
    """The outcomes of the rules, and of the templates.

    A file may hold both, but they are judged on separate pages. If only one kind was judged, the
    other kind stays as it is, even if some of it was skipped.
    """
    states = [review.state for review in reviews]
    of_templates = any(_kept_or_not(each.templates) or each.rejected for each in states)
    of_rules = any(review.rules or review.state.written for review in reviews)
    if not of_rules and not of_templates:
        of_templates = any(each.templates for each in states)
    return VettingOutcomes(
        policy=policy,
        rules=outcomes(ruleset, reviews, policy=policy) if of_rules or not of_templates else None,
        templates=outcomes(ruleset, reviews, policy=policy, of="templates")
        if of_templates
        else None,
    )


def _outcome(
    name: str, judgements: Mapping[str, Mapping[str, RuleVerdict]], policy: Policy
) -> ReviewOutcome:
    verdicts = {
        reviewer: of_reviewer[name]
        for reviewer, of_reviewer in judgements.items()
        if name in of_reviewer and of_reviewer[name].verdict != "skip"
    }
    if not verdicts:
        return ReviewOutcome(name, "unjudged", "", verdicts)
    keeping = [each for each in verdicts.values() if each.verdict != "reject"]
    needed = {"majority": len(verdicts) // 2 + 1, "all": len(verdicts), "any": 1}[policy]
    if len(keeping) < needed:
        tied = is_tie(len(keeping), len(verdicts), policy)
        return ReviewOutcome(name, "disputed" if tied else "rejected", "", verdicts)
    # The wording with the most voices. In a tie the original one wins, since somebody accepted it.
    wordings = Counter(each.new for each in keeping)
    most = max(wordings.values())
    first, *others = sorted(text for text, voices in wordings.items() if voices == most)
    if first and others:
        return ReviewOutcome(name, "disputed", "", verdicts)
    return ReviewOutcome(name, "edited" if first else "kept", first, verdicts)


def is_tie(keeping: int, judging: int, policy: Policy) -> bool:
    """Whether a majority is needed, and as many reviewers keep a rule as reject it."""
    return policy == "majority" and 2 * keeping == judging


def agreement(reviews: Sequence[Review], on: Agreed = "rules") -> Agreement:
    """How far reviewers agree.

    On rules or templates: whether to keep (as they are, or edited) or reject them. On picks: which
    adversary of a sentence is closest, or none.
    """
    by_reviewer = {review.header.reviewer: _RATINGS[on](review) for review in reviews}
    pairs = {names: _kappa(by_reviewer, names, on) for names in combinations(by_reviewer, 2)}
    together = _kappa(by_reviewer, tuple(by_reviewer), on) if len(by_reviewer) > 2 else None
    return Agreement(tuple(by_reviewer), pairs, together)


def _kappa(
    by_reviewer: Mapping[str, Mapping[_Item, str]], names: Sequence[str], on: Agreed
) -> Kappa:
    items = sorted(set.intersection(*(set(by_reviewer[name]) for name in names)))
    ratings = [[by_reviewer[name][item] for name in names] for item in items]
    if on == "picks":
        # An item is a sentence and its adversaries, so its length counts "none of these" as well.
        return choice_kappa(ratings, [len(item) for item in items])
    if len(names) == 2:
        return cohen_kappa([one for one, _ in ratings], [other for _, other in ratings])
    return fleiss_kappa(ratings)


def _kept_or_not(verdicts: Mapping[str, RuleVerdict]) -> dict[_Item, str]:
    return {
        (name,): "reject" if each.verdict == "reject" else "keep"
        for name, each in verdicts.items()
        if each.verdict != "skip"
    }


def _of_picks(review: Review) -> dict[_Item, str]:
    """Picks by question; only reviewers who saw the same adversaries answered the same one."""
    return {
        (f"{each.row or ''} {each.original}", *sorted(set(each.shown))): each.choice or ""
        for each in review.state.picks.values()
        if each.shown
    }


_RATINGS: Mapping[Agreed, Callable[[Review], dict[_Item, str]]] = {
    "rules": lambda review: _kept_or_not(review.rules),
    "templates": lambda review: _kept_or_not(review.state.templates),
    "picks": _of_picks,
}
