"""The few rules that together cover the most adversaries.

The sum over rows of the best score that a selected rule has there, the paper's Equation 3, is
maximized. Each rule taken adds the most of all that are left, so the sum is at least 1 - 1/e of
what any rules of that number reach among those left after twins are collapsed (Nemhauser, Wolsey,
Fisher 1978). Gains never grow, equal gains go to the simpler rule, and the result is that of trying
every rule in every step. It costs a heap of rules and, since a gain can only fall, new gains for
the few rules on top of it (Minoux 1978).

Before that, rules that say the same as another one are collapsed into it (`Twins`). Such a rule
writes, on the same rows, nothing (redundant) or hardly anything (more specific) that the other does
not write, or undoes it (inverse). The one that stays covers at least as many rows, or was given.
Of rules that write exactly the same, one that people know stays.
Outside the paper's order, a rule goes, too, if it flips rows by the change of another one and more.

Scores are kept as whole multiples of 2⁻⁴⁰: sums are exact, whatever the order of adding.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018, Equation 3.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from sears_dsl.effects.applications import Applications
from sears_dsl.engine.rewrite.rewrites import common_ends
from sears_dsl.errors import UsageError
from sears_dsl.language.rule import Conjunction, Literal, Rule, Tag, TagCopy, Text
from sears_dsl.runtime.array_types import offsets_of

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer

# Words and marks: by these, rewrites tell what they take away and put in.
_WORDS = re.compile(r"\w+|[^\w\s]")

OVERLAP = 0.8
"""A rule that writes at least this share of another one's rewrites stands for that one: no two
rules are to count the same mistakes of the model."""

TwinReason: TypeAlias = OneOf["redundant", "inverse", "more specific"]
"""Why a rule goes: the other one changes the same rows to the same texts (``redundant``), does
nearly all of that and more, or flips the same rows by less (``more specific``), or changes back
what this one changes (``inverse``)."""


class CollapsedRule(NamedTuple):
    """A rule that another one stands for; rules by position."""

    rule: int
    into: int
    reason: TwinReason


Twins: TypeAlias = Sequence[Sequence[tuple[int, TwinReason]]]
"""For each rule the rules that can stand for it, with the reason, by position."""


def _contained(applications: Applications) -> Iterator[tuple[int, int, TwinReason]]:
    """Pairs of rules of which the second writes (nearly) every rewrite of the first."""
    count = applications.rule_count
    common = np.bincount(applications.rewrites, minlength=len(applications.texts))
    by_rewrite = np.argsort(applications.rewrites, kind="stable")
    first = offsets_of(common, np.int64)
    rules_of = applications.rules[by_rewrite]
    changed = applications.changed
    inside = np.zeros(len(common), np.bool_)
    sizes = changed.tolist()
    for rule in range(count):
        own = applications.of_rule(rule)
        needed = math.ceil(OVERLAP * len(own) - 1e-9)
        # A rule that writes ``needed`` of these also writes one of any ``len(own) - needed + 1``:
        # the rarest lead to the fewest other rules.
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


def _wider(applications: Applications, entries: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pairs of rules of which the second flips all rows of the first by a part of its change.

    Where *movie → film* flips the model, *this movie → the film* says nothing more of it.
    """
    rewrites = applications.rewrites[entries]
    rules = np.searchsorted(applications.rule_offsets, entries, side="right") - 1
    changes: list[dict[int, _ChangedWords]] = [{} for _ in range(applications.rule_count)]
    rules_of: dict[int, list[int]] = {}
    for rule, row, pair in zip(
        rules.tolist(), applications.rows[rewrites].tolist(), applications.pairs(rewrites),
        strict=True,
    ):  # fmt: skip
        changes[rule][row] = _ChangedWords.of(*(_WORDS.findall(text.lower()) for text in pair))
        rules_of.setdefault(row, []).append(rule)
    for rule, own in enumerate(changes):
        for other in rules_of[next(iter(own))] if own else ():
            parts = changes[other]
            if other != rule and all(
                row in parts and parts[row].is_part_of(change) for row, change in own.items()
            ):
                yield rule, other


class _ChangedWords(NamedTuple):
    """The words that a rewrite takes away (False) and puts in (True), and the words it replaces."""

    words: frozenset[tuple[bool, str]]
    start: int
    end: int

    @classmethod
    def of(cls, old: Sequence[str], new: Sequence[str]) -> _ChangedWords:
        front, back = common_ends(old, new)
        words = frozenset((word in new, word) for word in {*old} ^ {*new})
        return cls(words, front, len(old) - back)

    def is_part_of(self, other: _ChangedWords) -> bool:
        """Whether it changes something, and the other one all of that at the same place."""
        inside = other.start <= self.start and self.end <= other.end
        return inside and frozenset() < self.words <= other.words


_Core: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


def _inverse(rules: Sequence[Rule]) -> Iterator[tuple[int, int, TwinReason]]:
    """Pairs of rules of which each changes back the words that the other one changes.

    The words have to be written alike. What stands around them does not count, but a condition on
    the replaced word itself does: ``[lower=movie & tag=NN] -> film`` is no inverse of ``film ->
    movie``, and both may be selected.
    """
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
    old = [_word(element.body) for element in rule.antecedent]
    new = [_word(piece) for piece in rule.consequent]
    front, back = common_ends(old, new)
    return tuple(old[front : len(old) - back]), tuple(new[front : len(new) - back])


def words_replaced(rule: Rule) -> tuple[str, ...]:
    """What a rule replaces, without the neighbours that it writes as they are.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> words_replaced(parse("the movie is -> the film is").rules[0])
        ('movie',)
    """
    return _core(rule)[0]


def _word(part: object) -> str:
    # A tag and a word that is spelled like it must not be taken for each other.
    match part:
        case Tag(name) | TagCopy(name):
            return f"tag {name}"
        case Literal(text) | Text(text):
            return text
    return repr(part)


_ONE = 1 << 40


@dataclass(frozen=True, eq=False)
class Coverage:
    """What each rule covers."""

    # int64 (rules + 1,): the entries of rule r are ``offsets[r]:offsets[r + 1]``
    offsets: NDArray[np.int64]
    rows: NDArray[np.integer]  # int (entries,): rows that the rule flips with S ≥ τ
    weights: NDArray[np.int64]  # int64 (entries,): S as a multiple of 2⁻⁴⁰
    row_count: int
    # int64 (rules,): the place of each rule by simplicity; all are different
    ranks: NDArray[np.int64]
    twins: Twins

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each rule covers: int64 (rules,)."""
        return np.diff(self.offsets)

    @cached_property
    def weight(self) -> NDArray[np.int64]:
        """What each rule covers alone: int64 (rules,)."""
        sums = offsets_of(self.weights, np.int64)
        return sums[self.offsets[1:]] - sums[self.offsets[:-1]]

    def covered(self, rules: Iterable[int]) -> NDArray[np.bool_]:
        """Which rows some of these rules flip: bool (rows,)."""
        flags = np.zeros(self.row_count, np.bool_)
        for rule in rules:
            flags[self.rows[self.offsets[rule] : self.offsets[rule + 1]]] = True
        return flags


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Rules that were selected."""

    # Their positions: the given start, then in the order in which they were taken
    rules: tuple[int, ...]
    gains: tuple[float, ...]  # what each added to the sum of Equation 3
    collapsed: tuple[CollapsedRule, ...]  # rules that were left out since another one says the same
    # Rules that would add something, or are certain, and for which no place was left; ascending
    without_place: tuple[int, ...]

    @property
    def with_inverses(self) -> tuple[int, ...]:
        """The selected rules, and those that only change back what these change."""
        inverses = (
            each.rule
            for each in self.collapsed
            if each.reason == "inverse" and each.into in self.rules
        )
        return (*self.rules, *inverses)


def complete_scores(
    applications: Applications,
    rules: Sequence[int] | NDArray[np.integer],
    *,
    scorer: Scorer,
    among: NDArray[np.bool_] | None = None,
    scores: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """S of what some rules write, float64 (rewrites,), each scored once; NaN where not asked.

    Only rewrites ``among`` are scored, such as those that flip. ``scores`` are those known already;
    they are not changed.
    """
    known = np.full(len(applications.texts), np.nan) if scores is None else scores.copy()
    mask = np.zeros(len(known), np.bool_)
    mask[applications.select(np.asarray(rules, np.int64)).rewrites] = True
    if among is not None:
        mask &= among
    missing = np.flatnonzero(mask & np.isnan(known))
    if len(missing):
        known[missing] = scorer.scores(applications.pairs(missing))
    return known


def coverage_of(
    rules: Sequence[Rule],
    texts: Sequence[str],
    applications: Applications,
    *,
    flips: NDArray[np.bool_],
    scores: NDArray[np.float64],
    tau: float,
    known: NDArray[np.bool_] | None = None,
    without_wider: bool = False,
) -> Coverage:
    """What rules that passed the filter cover; ``applications`` has these rules and no others.

    ``flips`` says which rewrites flip the model, and ``scores`` are read for these only. A
    ``known`` rule, bool (rules,), stands for others that write exactly the same. With
    ``without_wider``, a rule that flips its rows by another one's change and more is that one's
    twin; the paper has no such twins.
    """
    rewrites = applications.rewrites
    entries = covering(applications, flips=flips, scores=scores, tau=tau)
    if known is None:
        known = np.zeros(len(rules), np.bool_)
    twins: list[list[tuple[int, TwinReason]]] = [[] for _ in rules]
    for rule, other, reason in (*_contained(applications), *_inverse(rules)):
        twins[rule].append((other, reason))
    if without_wider:
        for rule, other in _wider(applications, entries):
            twins[rule].append((other, "more specific"))
    return Coverage(
        offsets=np.searchsorted(entries, applications.rule_offsets).astype(np.int64),
        rows=applications.rows[rewrites[entries]],
        weights=np.rint(scores[rewrites[entries]] * _ONE).astype(np.int64),
        row_count=len(applications.originals), twins=twins,
        ranks=_ranks(rules, texts, applications, known),
    )  # fmt: skip


def _ranks(
    rules: Sequence[Rule],
    texts: Sequence[str],
    applications: Applications,
    known: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The place of each rule by simplicity, int64 (rules,).

    Rules that write exactly the same are as simple as the simplest of them; known ones go first.
    """
    changed = applications.changed.tolist()
    plain = [
        (len(rule.antecedent), -count, _conditions(rule), text)
        for rule, count, text in zip(rules, changed, texts, strict=True)
    ]
    written = [applications.of_rule(rule).tobytes() for rule in range(len(rules))]
    simplest: dict[bytes, tuple[int, int, int, str]] = {}
    for rewrites, place in zip(written, plain, strict=True):
        simplest[rewrites] = min(place, simplest.get(rewrites, place))
    order = sorted(
        range(len(rules)),
        key=lambda rule: (simplest[written[rule]], not known[rule], plain[rule]),
    )
    ranks = np.empty(len(rules), np.int64)
    ranks[order] = np.arange(len(rules))
    return ranks


def _conditions(rule: Rule) -> int:
    """How many tests a rule makes of tokens, those around it included."""
    bodies = [each.body for each in (*rule.left, *rule.antecedent, *rule.right)]
    return sum(len(each.tests) if isinstance(each, Conjunction) else 1 for each in bodies)


def covering(
    applications: Applications, *, flips: NDArray[np.bool_], scores: NDArray[np.float64], tau: float
) -> NDArray[np.int64]:
    """The applications that flip the model with S ≥ τ, which are the entries of a `Coverage`."""
    rewrites = applications.rewrites
    flipped = flips[rewrites]
    if np.isnan(scores[rewrites[flipped]]).any():
        raise UsageError(
            "a rewrite that flips the model has no score",
            help="ask for them first: complete_scores(…, among=flips)",
        )
    counted = flipped.copy()
    counted[flipped] = scores[rewrites[flipped]] >= tau
    return np.flatnonzero(counted)


def select(
    coverage: Coverage, size: int, *, start: Sequence[int] = (), excluded: Iterable[int] = (),
    certain: NDArray[np.bool_] | None = None,
) -> RuleSelection:  # fmt: skip
    """Select rules that together cover the most; fewer than ``size`` where no other adds anything.

    Rules in ``start``, at most ``size``, are in anyway, such as those that a person accepted.
    ``excluded``, others, are out, such as those that a person rejected; rules that were collapsed
    into them have a chance again.
    Places that are left go to ``certain`` rules, bool (rules,), those with most weight first: they
    say what else makes the model fail, although only in rows that others cover.
    """
    out = frozenset(excluded)
    collapsed = _collapsed(coverage, start=start, excluded=out)
    gone = out | {each.rule for each in collapsed} | set(start)
    best = np.zeros(coverage.row_count, np.int64)
    gains = [_take(coverage, rule, best) for rule in start]
    chosen = list(start)
    # The gain of a rule only falls, so an old one says how much it can be at most.
    heap = [
        (-gain, rank, rule)
        for rule, (gain, rank) in enumerate(
            zip(coverage.weight.tolist(), coverage.ranks.tolist(), strict=True)
        )
        if gain > 0 and rule not in gone
    ]
    heapq.heapify(heap)
    while heap and len(chosen) < size:
        _, rank, rule = heap[0]
        current = (-_gain(coverage, rule, best), rank, rule)
        if current[0] == 0:
            heapq.heappop(heap)
        elif current != heap[0]:
            heapq.heapreplace(heap, current)
        else:
            heapq.heappop(heap)
            gains.append(_take(coverage, rule, best))
            chosen.append(rule)
    without_place = {rule for _, _, rule in heap if _gain(coverage, rule, best)}
    if certain is not None:
        order = np.lexsort((coverage.ranks, -coverage.weight))
        others = order[certain[order] & (coverage.weight[order] > 0)].tolist()
        more = [rule for rule in others if rule not in gone and rule not in chosen]
        places = size - len(chosen)
        chosen += more[:places]
        gains += [0] * (len(chosen) - len(gains))
        without_place.update(more[places:])
    return RuleSelection(
        tuple(chosen), tuple(gain / _ONE for gain in gains), tuple(collapsed),
        tuple(sorted(without_place)),
    )  # fmt: skip


def _collapsed(
    coverage: Coverage, *, start: Sequence[int], excluded: frozenset[int]
) -> list[CollapsedRule]:
    """Which rules go, given those that are in (``start``) or out (``excluded``) anyway.

    Rules that cover more rows are looked at first, of as many rows the simpler ones; each goes if
    one that stays stands for it.
    """
    stays = set(start)
    collapsed = []
    for rule in np.lexsort((coverage.ranks, -coverage.sizes)).tolist():
        if rule in stays or rule in excluded:
            continue
        for other, reason in coverage.twins[rule]:
            if other in stays:
                collapsed.append(CollapsedRule(rule, other, reason))
                break
        else:
            stays.add(rule)
    return collapsed


def _gain(coverage: Coverage, rule: int, best: NDArray[np.int64]) -> int:
    """What a rule adds to the best scores so far."""
    span = slice(coverage.offsets[rule], coverage.offsets[rule + 1])
    return int(np.maximum(coverage.weights[span] - best[coverage.rows[span]], 0).sum())


def _take(coverage: Coverage, rule: int, best: NDArray[np.int64]) -> int:
    """Add a rule to the best scores; return what it added."""
    gain = _gain(coverage, rule, best)
    span = slice(coverage.offsets[rule], coverage.offsets[rule + 1])
    rows = coverage.rows[span]  # a rule changes a row in one way, so each row is there once
    best[rows] = np.maximum(best[rows], coverage.weights[span])
    return gain
