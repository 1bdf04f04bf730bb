"""Rules that say the same as another one, so that a selection shows a person only one of them.

In: rules and what they make of rows. Out: `Twins`, worked out once, and from it `Collapsed`: which
rule goes, into which, and why. Always holds: what goes has, in the same words on the same rows,
nothing (redundant) or hardly anything (more specific) that the other one lacks, or undoes it
(inverse); the one that stays covers at least as many rows, or was given; leaving a rule out brings
back what was collapsed into it. Costs a look at the rules that share a rule's rarest rewrites.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import Applications
from sears_dsl.engine.rewrite.shown_edits import common_ends
from sears_dsl.language.rule import Literal, Piece, Rule, Tag, TagCopy, Text

OVERLAP = 0.8
"""The share of a rule's rewrites from which on another rule that writes them too stands for it: no
two rules are to count the same mistakes of the model."""

TwinReason: TypeAlias = OneOf["redundant", "inverse", "more specific"]
"""Why a rule goes: the other one changes the same rows to the same texts (``redundant``), does
nearly all of that and more (``more specific``), or changes back what this one changes
(``inverse``)."""


class Collapsed(NamedTuple):
    """A rule that another one stands for; rules by position."""

    rule: int
    into: int
    reason: TwinReason


@dataclass(frozen=True, slots=True, eq=False)
class Twins:
    """For each rule the rules that can stand for it, with the reason, by position."""

    of_rule: tuple[tuple[tuple[int, TwinReason], ...], ...]

    @classmethod
    def of(cls, rules: Sequence[Rule], applications: Applications) -> Twins:
        """Compare rules by what they make of rows, and by their words.

        Args:
            rules: the rules.
            applications: what these rules, and no others, make of the rows.
        """
        twins_by_rule: list[list[tuple[int, TwinReason]]] = [[] for _ in rules]
        for rule, other, reason in (*_contained(applications), *_inverse(rules)):
            twins_by_rule[rule].append((other, reason))
        return cls(tuple(map(tuple, twins_by_rule)))


def collapse(
    twins: Twins,
    sizes: NDArray[np.int64],
    weight: NDArray[np.int64],
    ranks: NDArray[np.int64],
    *,
    start: Sequence[int],
    excluded: frozenset[int],
) -> list[Collapsed]:
    """Which rules go, given those that are in or out anyway.

    Rules are looked at from the one that covers most rows; each goes if one that stays stands for
    it.

    Args:
        twins: which rules can stand for which.
        sizes: how many rows each covers.
        weight: the sum of their scores; of as many rows the higher one comes first.
        ranks: the place of each by simplicity.
        start: rules that stay.
        excluded: rules that are out; they stand for nothing.
    """
    stays = set(start)
    collapsed = []
    for rule in np.lexsort((ranks, -weight, -sizes)).tolist():
        if rule in stays or rule in excluded:
            continue
        for other, reason in twins.of_rule[rule]:
            if other in stays:
                collapsed.append(Collapsed(rule, other, reason))
                break
        else:
            stays.add(rule)
    return collapsed


def _contained(applications: Applications) -> Iterator[tuple[int, int, TwinReason]]:
    """Pairs of rules of which the second writes (nearly) every rewrite of the first."""
    count = applications.rule_count
    common = np.bincount(applications.rewrites, minlength=len(applications.texts))
    by_rewrite = np.argsort(applications.rewrites, kind="stable")
    first = np.zeros(len(common) + 1, np.int64)
    np.cumsum(common, out=first[1:])
    rules_of = applications.rules[by_rewrite]
    changed = applications.changed
    inside = np.zeros(len(common), np.bool_)
    sizes = changed.tolist()
    for rule in range(count):
        own = applications.of_rule(rule)
        needed = math.ceil(OVERLAP * len(own) - 1e-9)
        # Who writes so many of them writes one of any few: the rarest tell of fewest others.
        rarest = own[np.argsort(common[own], kind="stable")[: len(own) - needed + 1]]
        near = [rules_of[first[each] : first[each + 1]] for each in rarest.tolist()]
        others = np.unique(np.concatenate(near)) if near else rarest
        others = others[(others != rule) & (changed[others] >= sizes[rule])]
        if not len(others):
            continue
        inside[own] = True
        for other in others.tolist():
            shared = int(inside[applications.of_rule(other)].sum())
            if shared >= needed:
                same = shared == sizes[rule] == sizes[other]
                yield rule, other, "redundant" if same else "more specific"
        inside[own] = False


_Core: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def _inverse(rules: Sequence[Rule]) -> Iterator[tuple[int, int, TwinReason]]:
    """Pairs of rules of which each changes back the words that the other one changes."""
    cores = [_core(rule) for rule in rules]
    by_core: dict[_Core, list[int]] = {}
    for rule, core in enumerate(cores):
        by_core.setdefault(core, []).append(rule)
    for rule, (old, new) in enumerate(cores):
        if old != new:
            for other in by_core.get((new, old), ()):
                yield rule, other, "inverse"


def _core(rule: Rule) -> _Core:
    """The words that a rule replaces and those that it writes, without what it only copies."""
    old = [_named(element.body) for element in rule.antecedent]
    new = [_written(piece) for piece in rule.consequent]
    front, back = common_ends(old, new)
    return tuple(old[front : len(old) - back]), tuple(new[front : len(new) - back])


def words_replaced(rule: Rule) -> tuple[str, ...]:
    """What a rule replaces, without the neighbours that it writes as they are.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> words_replaced(parse("the movie is -> the film is").rules[0])
        ('movie',)
    """
    old, _ = _core(rule)
    return old


def _named(body: object) -> str:
    # A tag and a word that is spelled like it must not be taken for each other.
    if isinstance(body, Tag):
        return f"tag {body.name}"
    return body.text if isinstance(body, Literal) else repr(body)


def _written(piece: Piece) -> str:
    if isinstance(piece, TagCopy):
        return f"tag {piece.tag}"
    return piece.text if isinstance(piece, Text) else repr(piece)
