"""The rules that were not found and lacked least: what a search reports beside what it found.

No rule is reported twice: of rules that make the same change under several conditions, in another
casing or beside another word, the closest one stands for all, and what a found rule writes as well
is left out. It costs nothing but the comparison of what a few rules write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.candidates import Candidates
from sears_dsl.discovery.counts import HALF, NearMiss, change_of
from sears_dsl.discovery.selection import OVERLAP
from sears_dsl.engine.rewrite.rewrites import common_ends

# So many rules of each kind that were not found are reported, and so many that flip enough rows and
# of which readers nearly accept enough.
_CLOSEST, _FLIPPING = 3, 10
_ARTICLE = {"an": "a"}


def lacking(failed: Candidates) -> NDArray[np.str_]:
    """What rules lack that text does not let pass: that they keep the meaning, or more text."""
    rare = [each.judged is not None and each.judged.is_rare for each in failed.rows]
    return np.where(rare, "text", "meaning")


def closest_rules(
    tried: Candidates,
    often: NDArray[np.bool_],
    failed: Candidates,
    near: Candidates,
    least: int,
    *,
    nearly: float,
) -> tuple[NearMiss, ...]:
    """The rules that were not found and lacked least, some of each kind.

    First come those that flip enough rows, ``least``, but that readers do not surely accept, those
    with a bound below ``nearly`` behind the others. Then come those that keep the meaning and flip
    too few. What lacks both is not close, unless the model was not asked about it, and readers may
    reject half of it only where nothing is closer, asked or not.
    """
    passed = [_written(tried, rule) for rule in tried.passed.tolist()]
    not_passing = [
        each
        for number, each in enumerate(tried.near_misses(np.where(often, "flips", "rate")))
        # A known rule that flips nothing is one of hundreds.
        if (each.flips or (each.asked and each.judged is not None))
        and number not in tried.passed
        and not _is_among(passed, tried, number)
    ]
    not_passing.sort(key=lambda each: (-each.flips, each.asked, each.rule))
    asked = {each.rule: each for each in near.near_misses(lacking(near))}
    unproven = {text for number, text in enumerate(near.texts) if number not in near.passed}
    left_out = {
        text
        for number, (text, lacks) in enumerate(zip(near.texts, lacking(near), strict=True))
        if (text in unproven and lacks == "text") or _is_among(passed, near, number)
    }
    judged = [
        asked.get(each.rule, each)
        for each in failed.near_misses(lacking(failed))
        # What nobody had time to judge is close to nothing.
        if each.judged and (each.judged.sampled or each.judged.is_rare)
    ]
    judged = [each for each in judged if each.rule not in left_out]
    judged.sort(key=lambda each: -each.judged.low if each.judged else 0)
    # Those that flip enough, and of these those that text has judged, come first.
    judged.sort(key=lambda each: -each.flips if each.flips >= least else 0)
    flipping = [each for each in judged if each.flips >= least and each.rule not in unproven]
    losing = [
        each for each in judged
        if each.lacks != "text" and (not each.asked or each.rule in unproven)
    ]  # fmt: skip
    losing.sort(key=lambda each: -each.judged.low if each.judged else 0)
    if flipping or not_passing:
        losing = [each for each in losing if each.judged and each.judged.low > HALF]
    # More text with a rule that was tried and flips nothing would not help.
    rare = [
        each for each in judged
        if each.flips < least and each.lacks == "text" and (each.flips or not each.asked)
    ]  # fmt: skip
    rare.sort(key=lambda each: (-each.changed, each.rule))
    reported: set[str] = set()
    doubted = [
        each for each in flipping
        if each.lacks == "meaning" and each.judged and each.judged.low < nearly
    ]  # fmt: skip
    likely = [each for each in flipping if each not in doubted]
    kinds = ((likely, _FLIPPING), (doubted, _CLOSEST), (not_passing, _CLOSEST),
             (losing, _CLOSEST), (rare, _CLOSEST))  # fmt: skip
    return tuple(each for kind, most in kinds for each in _one_a_change(kind, reported)[:most])


def _one_a_change(misses: Sequence[NearMiss], reported: set[str]) -> list[NearMiss]:
    """The first rule of each change that is not yet reported; all of them then are."""
    by_change: dict[str, NearMiss] = {}
    for each in misses:
        by_change.setdefault(_core_of(each.rule), each)
    new = [each for change, each in by_change.items() if change not in reported]
    reported.update(by_change)
    return new


def _core_of(rule: str) -> str:
    """What a rule replaces by what, whatever the casing, its article and the words that it keeps.

    Example:
        >>> [_core_of(each) for each in ("a whole -> an entire", "Every -> Every single", "i -> I")]
        ['whole -> entire', ' -> single', 'i -> I']
    """
    old, new = (side.replace('"', "").split() for side in change_of(rule))
    lower = [[_ARTICLE.get(word, word) for word in map(str.lower, side)] for side in (old, new)]
    if lower[0] != lower[1]:
        old, new = lower
    front, back = common_ends(old, new)
    return f"{' '.join(old[front : len(old) - back])} -> {' '.join(new[front : len(new) - back])}"


def _written(rules: Candidates, rule: int) -> frozenset[tuple[int, str]]:
    """What a rule writes: rows, and the texts that they become."""
    applications = rules.applications
    return frozenset(
        (int(applications.rows[each]), applications.texts[each])
        for each in applications.of_rule(rule).tolist()
    )


def _is_among(passed: list[frozenset[tuple[int, str]]], rules: Candidates, rule: int) -> bool:
    """Whether one of the rules that passed writes nearly all that this one writes."""
    own = _written(rules, rule)
    needed = math.ceil(OVERLAP * len(own) - 1e-9)
    return bool(own) and any(len(own & each) >= needed for each in passed)
