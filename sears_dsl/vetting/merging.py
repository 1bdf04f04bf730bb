"""Journals of several reviewers → what they say together, and how far they agree.

In: journals about one ruleset. Out: a `ReviewOutcome` for each of its rules and templates, and
`Agreement`. Always holds: each of them has exactly one outcome; without a majority of those who
judged it a rule is disputed, and so is one that most keep but in different wordings, none of which
has more voices than the others; what is disputed is not accepted; the order of the journals makes
no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias

from sears_dsl.errors import UsageError
from sears_dsl.language.printer import template_ids
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.vetting.agreement import Kappa, choice_kappa, cohen_kappa, fleiss_kappa
from sears_dsl.vetting.decisions import ReviewState, RuleVerdict, replay
from sears_dsl.vetting.journal import Header, check_ruleset, read_journal, ruleset_digest

Policy: TypeAlias = Literal["majority", "all", "any"]
"""How many of those who judged a rule have to accept it."""

_Item: TypeAlias = tuple[str, ...]
"""What reviewers judged: a rule's id; a sentence and the adversaries that were shown of it."""

Judged: TypeAlias = Literal["rules", "templates"]
"""What an outcome is about."""

Agreed: TypeAlias = Literal["rules", "templates", "picks"]
"""What reviewers can agree on."""

Decided: TypeAlias = Literal["kept", "edited", "rejected", "disputed", "unjudged"]


@dataclass(frozen=True, slots=True)
class Review:
    """A journal, read: its first line, what holds now, the time of the last decision."""

    header: Header
    state: ReviewState
    ended: str

    @property
    def reviewer(self) -> str:
        """Who."""
        return self.header.reviewer


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """What became of a rule, or of a template.

    Attributes:
        rule: its id.
        decided: what the reviewers said together.
        new: the rule instead, where it was edited.
        verdicts: reviewer → verdict, of those who judged it.
    """

    rule: str
    decided: Decided
    new: str
    verdicts: Mapping[str, RuleVerdict]


@dataclass(frozen=True, slots=True)
class VettingOutcomes:
    """What became of rules and templates; None of a kind that was not up for judgement."""

    rules: Sequence[ReviewOutcome] | None
    templates: Sequence[ReviewOutcome] | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far reviewers agree on something.

    Attributes:
        reviewers: who.
        pairs: κ of every two reviewers, on what both judged: Cohen's of rules, `choice_kappa` of
            picks.
        together: of all reviewers, on what all judged, Fleiss' or `choice_kappa`; None for fewer
            than two reviewers.
    """

    reviewers: tuple[str, ...]
    pairs: Mapping[tuple[str, str], Kappa]
    together: Kappa | None


def read_reviews(paths: Sequence[Path], ruleset: Ruleset) -> list[Review]:
    """Read journals, sorted by reviewer.

    Raises:
        DataError: a journal is damaged or is about another version of the ruleset.
        UsageError: two journals are of the same reviewer.
    """
    digest = ruleset_digest(ruleset)
    reviews: dict[str, Review] = {}
    for path in paths:
        header, entries = read_journal(path)
        check_ruleset(header, path, digest, ruleset.path)
        if header.reviewer in reviews:
            raise UsageError(
                f"two of the journals are of {header.reviewer}",
                help="name each journal once; each reviewer counts once",
            )
        ended = entries[-1].time if entries else header.began
        reviews[header.reviewer] = Review(header, replay(entries), ended)
    return [reviews[name] for name in sorted(reviews)]


def outcomes(
    ruleset: Ruleset,
    reviews: Sequence[Review],
    *,
    policy: Policy = "majority",
    of: Judged = "rules",
) -> list[ReviewOutcome]:
    """What became of each rule, or of each template, in the order of the ruleset.

    Args:
        ruleset: the rules.
        reviews: of each reviewer.
        policy: a rule is kept if ``majority`` (more than half), ``all`` or ``any`` of those who
            judged it accept it, as it is or edited. Skipping is not judging.
        of: rules or templates.
    """
    names = ruleset.rule_ids if of == "rules" else template_ids(ruleset.templates)
    judgements = {review.reviewer: getattr(review.state, of) for review in reviews}
    return [_outcome(name, judgements, policy) for name in names]


def vetting_outcomes(
    ruleset: Ruleset, reviews: Sequence[Review], *, policy: Policy = "majority"
) -> VettingOutcomes:
    """What became of the rules, and of the templates.

    A file may hold both, which are judged on pages of their own: those of which nobody judged any,
    while others were judged, stay as they are.
    """
    of_templates = any(each.state.templates or each.state.rejected for each in reviews)
    of_rules = any(each.state.rules or each.state.written for each in reviews)
    return VettingOutcomes(
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
    wanting = [each for each in verdicts.values() if each.verdict != "reject"]
    needed = {"majority": len(verdicts) // 2 + 1, "all": len(verdicts), "any": 1}[policy]
    if len(wanting) < needed:
        tied = policy == "majority" and 2 * len(wanting) == len(verdicts)
        return ReviewOutcome(name, "disputed" if tied else "rejected", "", verdicts)
    # The wording that most of them want; of equals the original one, which somebody accepted.
    wordings = Counter(each.new for each in wanting)
    most = max(wordings.values())
    first, *others = sorted(text for text, voices in wordings.items() if voices == most)
    if first and others:
        return ReviewOutcome(name, "disputed", "", verdicts)
    return ReviewOutcome(name, "edited" if first else "kept", first, verdicts)


def agreement(reviews: Sequence[Review], on: Agreed = "rules") -> Agreement:
    """How far reviewers agree.

    Args:
        reviews: of each reviewer.
        on: ``rules`` or ``templates``, kept (as they are or edited) or rejected; or ``picks``,
            which adversary of a sentence is closest, or none.
    """
    by_reviewer = {review.reviewer: _RATINGS[on](review.state) for review in reviews}
    pairs = {names: _kappa(by_reviewer, names, on) for names in combinations(by_reviewer, 2)}
    together = _kappa(by_reviewer, tuple(by_reviewer), on) if len(by_reviewer) > 1 else None
    return Agreement(tuple(by_reviewer), pairs, together)


def _kappa(
    by_reviewer: Mapping[str, Mapping[_Item, str]],
    names: Sequence[str],
    on: Agreed,
) -> Kappa:
    """Agreement of these reviewers on what all of them judged."""
    items = sorted(set.intersection(*(set(by_reviewer[name]) for name in names)))
    ratings = [[by_reviewer[name][item] for name in names] for item in items]
    if on == "picks":
        # An item is a sentence and what was shown, and "none of these" is an option too.
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


def _of_picks(state: ReviewState) -> dict[_Item, str]:
    """Only who saw the same adversaries answered the same question."""
    return {
        (name, *sorted(set(each.shown))): each.choice or ""
        for name, each in state.picks.items()
        if each.shown
    }


_RATINGS: Mapping[Agreed, Callable[[ReviewState], dict[_Item, str]]] = {
    "rules": lambda state: _kept_or_not(state.rules),
    "templates": lambda state: _kept_or_not(state.templates),
    "picks": _of_picks,
}
