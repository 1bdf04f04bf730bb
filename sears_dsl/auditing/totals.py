"""What the rules of a ruleset do together: rows that any of them flips, overlaps, accuracy.

In: effects. Out: `Together`. Only rules that expect ``same`` take part, since the others change
what is right. A row counts once, however many rules flip it. The accuracies before and after are
about all rows, including those that no rule changes. Costs an array of flags a rule, and a step for
each pair of rules that flip the same row.

There are three accuracies: before any rule; the mean over the rules that change a row (the row is
reworded by one of its rules at random); and against the rule that is worst for each row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.rule_effects import Effects, RuleEffect
from sears_dsl.statistics import Share, share_of

#: So many rules that flip the most rows are shown in a matrix of all their pairs.
IN_MATRIX = 12
# So many other pairs are recorded.
_OVERLAPS = 100


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of rows that the model has right, in the three ways above."""

    before: Share
    mean: float
    worst: Share


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two rules that flip the same rows: how many both flip, and how many at least one of them."""

    first: str
    second: str
    both: int
    either: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """The ruleset as a whole: rows that any rule changes, and those that any flips or makes right.

    `accuracy` is None without labels. The pairs of rules that share most flips come first; all
    pairs of the `IN_MATRIX` rules with the most flips are there.
    """

    changed: int
    flipped: Share
    gained: int
    accuracy: Accuracy | None
    overlaps: tuple[Overlap, ...]


def label_keeping(effects: Effects) -> list[RuleEffect]:
    """The rules after which the answer should stay the same."""
    return [effect for effect in effects.rules if effect.expect.kind == "same"]


def count_together(effects: Effects) -> Together:
    """Count what the rules that expect ``same`` do together."""
    rules = label_keeping(effects)
    right = effects.right
    changed = effects.among_rows([(each, np.ones(len(each), np.bool_)) for each in rules])
    flipped = effects.among_rows([(each, each.flipped) for each in rules])
    gained = effects.among_rows([(each, each.gained) for each in rules])
    return Together(
        changed=int(changed.sum()),
        flipped=share_of(int(flipped.sum()), int((changed & right).sum())),
        gained=int(gained.sum()),
        accuracy=Accuracy(
            before=share_of(int(right.sum()), len(right)),
            mean=_mean_accuracy(right, rules),
            worst=share_of(int((right & ~flipped).sum()), len(right)),
        )
        if effects.labelled
        else None,
        overlaps=_overlaps(rules),
    )


def flips_alone(effects: Effects) -> list[int]:
    """For each rule, how many rows it alone flips; 0 if it does not expect ``same``."""
    rules = label_keeping(effects)
    times = np.zeros(len(effects.right), np.int64)
    for effect in rules:
        times[effect.rows[effect.flipped]] += 1
    return [
        int((times[effect.rows[effect.flipped]] == 1).sum()) if effect.expect.kind == "same" else 0
        for effect in effects.rules
    ]


def _mean_accuracy(right: NDArray[np.bool_], rules: Sequence[RuleEffect]) -> float:
    times = np.zeros(len(right))
    good = np.zeros(len(right))
    for effect in rules:
        times[effect.rows] += 1
        good[effect.rows] += effect.right_after
    after = np.where(times > 0, good / np.maximum(times, 1), right)
    return float(after.mean())


def _overlaps(rules: Sequence[RuleEffect]) -> tuple[Overlap, ...]:
    by_row: dict[int, list[int]] = {}
    for number, effect in enumerate(rules):
        for row in effect.rows[effect.flipped].tolist():
            by_row.setdefault(row, []).append(number)
    shared = Counter(pair for of_row in by_row.values() for pair in combinations(of_row, 2))
    flips = [int(effect.flipped.sum()) for effect in rules]
    overlaps = [
        Overlap(rules[one].id, rules[other].id, both, flips[one] + flips[other] - both)
        for (one, other), both in shared.items()
    ]
    overlaps.sort(key=lambda each: (-each.both, each.either, each.first, each.second))
    by_flips = sorted(range(len(rules)), key=lambda number: (-flips[number], rules[number].id))
    most = {rules[number].id for number in by_flips[:IN_MATRIX]}
    return tuple(
        each
        for place, each in enumerate(overlaps)
        if place < _OVERLAPS or {each.first, each.second} <= most
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRule:
    """A rule that draws, over several draws: the same rows with other noise.

    `rates` has each draw's share of tested rows that fail, None if none was tested. `mean` and
    `worst` summarize these, and `any_draw` has the rows that fail in at least one draw.
    """

    id: str
    rule: str
    rates: tuple[float | None, ...]
    mean: float | None
    worst: float | None
    any_draw: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePoint:
    """The accuracy on all rows at one rate of noise; rate 0 is the untouched data.

    Rows that the rule changes are judged by what it expects.
    """

    rate: float
    changed: int
    accuracy: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCurve:
    """A rule that draws, at several rates from 0 on: the same rows with more and more noise."""

    id: str
    rule: str
    points: tuple[RatePoint, ...]


def over_rates(effects: Effects, by_rate: Sequence[tuple[float, Effects]]) -> Iterator[RateCurve]:
    """The accuracy under the rules that draw, at several rates of their noise, ascending."""
    clean = share_of(int(effects.right.sum()), len(effects.right))
    for written in effects.rules:
        points = [RatePoint(rate=0.0, changed=0, accuracy=clean)]
        for rate, at_rate in by_rate:
            for each in at_rate.rules:
                if each.id == written.id:
                    right = effects.right.copy()
                    right[each.rows] = each.as_expected
                    accuracy = share_of(int(right.sum()), len(right))
                    points.append(RatePoint(rate=rate, changed=len(each), accuracy=accuracy))
        if len(points) > 1:
            yield RateCurve(id=written.id, rule=written.text, points=tuple(points))


def over_draws(effects: Effects, later: Sequence[Effects]) -> Iterator[DrawnRule]:
    """What each rule that draws does over several draws; nothing if there is only one draw."""
    for first in effects.rules:
        others = [each for draw in later for each in draw.rules if each.id == first.id]
        if not others:
            continue
        drawn = (first, *others)
        tested = effects.among_rows([(each, each.tested) for each in drawn])
        failed = effects.among_rows([(each, each.failed) for each in drawn])
        rates = [share_of(int(e.failed.sum()), int(e.tested.sum())).rate for e in drawn]
        known = [rate for rate in rates if rate is not None]
        yield DrawnRule(
            id=first.id,
            rule=first.text,
            rates=tuple(rates),
            mean=sum(known) / len(known) if known else None,
            worst=max(known, default=None),
            any_draw=share_of(int(failed.sum()), int(tested.sum())),
        )
