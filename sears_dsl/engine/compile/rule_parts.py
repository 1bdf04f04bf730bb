"""Numbers for the elements and pieces of many rules, so that each distinct one is examined once.

In: the rules of rulesets. Out: `RuleParts`, which numbers the elements of their antecedents and the
pieces of their consequents; `VariantTests`, the predicates that variants test. Always holds: a
number stands for one object of one ruleset, and numbers follow the order in which objects first
occur. Hundreds of thousands of mined rules share a few thousand elements and pieces, so a question
about all rules is asked of the distinct parts, and arrays carry the answers to the rules. Costs
some tenths of a microsecond for each element and piece, and no object.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, count, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sears_dsl.language.rule import Rule, RuleScope, RuleSource, TagCopy, Text
from sears_dsl.runtime.array_types import Int32Array, Int64Array, offsets_of, places_of

# Pieces that draw nothing, look nothing up and cannot be wrong.
_PLAIN = (Text, TagCopy)


class NumberedParts(NamedTuple):
    """The elements, or the pieces, of some rules."""

    numbers: Int32Array  # that of each part, rule after rule
    offsets: Int64Array  # (rules + 1,): where the numbers of each rule begin
    distinct: Sequence[Any]  # what each number stands for

    def have(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rules have a flagged part; ``flags`` has an entry for each distinct part."""
        if not flags.any():
            return np.zeros(len(self.offsets) - 1, np.bool_)
        before = np.append(0, np.cumsum(flags[self.numbers]))[self.offsets]
        having: NDArray[np.bool_] = before[1:] > before[:-1]
        return having

    def of(self, rules: NDArray[np.integer]) -> NumberedParts:
        """The parts of some rules, whose positions are ascending."""
        if len(rules) == len(self.offsets) - 1:
            return self
        offsets, places = places_of(self.offsets, rules)
        return NumberedParts(self.numbers[places], offsets, self.distinct)


def numbered(rows: Sequence[Sequence[object]]) -> NumberedParts:
    """Number the parts of rules by object identity; the rules must keep the objects alive.

    Example:
        >>> the, film = "the", "film"
        >>> numbers, offsets, distinct = numbered([(the, film), (), (film,)])
        >>> numbers.tolist(), offsets.tolist(), distinct
        ([0, 1, 1], [0, 2, 2, 3], ['the', 'film'])
    """
    offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)), np.int64)
    flat = list(chain.from_iterable(rows))
    number_of: defaultdict[int, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(number_of.__getitem__, map(id, flat)), np.int32, len(flat))
    first = np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))
    return NumberedParts(numbers, offsets, [flat[place] for place in first.tolist()])


class RuleParts(NamedTuple):
    """The elements and pieces of rules, and the scopes in which they are read."""

    scopes: Sequence[RuleScope]  # one for each ruleset
    scope_of: Int32Array  # (rules,): which of the scopes each rule is read in
    bare: NDArray[np.bool_]  # (rules,): whether a rule has no context
    elements: NumberedParts  # of the antecedents
    element_scope_of: Int32Array  # (distinct elements,): which of the scopes each is read in
    pieces: NumberedParts  # of the consequents

    @classmethod
    def of(cls, rules: Sequence[Rule], scope: RuleScope) -> RuleParts:
        """The parts of the rules of one ruleset."""
        elements = numbered([rule.antecedent for rule in rules])
        return cls(
            scopes=[scope],
            scope_of=np.zeros(len(rules), np.int32),
            bare=np.array([not (rule.left or rule.right) for rule in rules], np.bool_),
            elements=elements,
            element_scope_of=np.zeros(len(elements.distinct), np.int32),
            pieces=numbered([rule.consequent for rule in rules]),
        )

    @classmethod
    def joined(cls, parts: Sequence[RuleParts]) -> RuleParts:
        """The parts of the rules of several rulesets, one after another."""
        if len(parts) == 1:
            return parts[0]
        numbers = np.arange(len(parts), dtype=np.int32)
        return cls(
            scopes=[each.scopes[0] for each in parts],
            scope_of=np.repeat(numbers, [len(each.bare) for each in parts]),
            bare=np.concatenate([np.zeros(0, np.bool_), *(each.bare for each in parts)]),
            elements=_joined([each.elements for each in parts]),
            element_scope_of=np.repeat(numbers, [len(each.elements.distinct) for each in parts]),
            pieces=_joined([each.pieces for each in parts]),
        )

    @property
    def calling(self) -> list[int]:
        """The positions of the rules that write more than words and copies by tag."""
        kinds = [not isinstance(piece, _PLAIN) for piece in self.pieces.distinct]
        rules: list[int] = np.flatnonzero(self.pieces.have(np.array(kinds, np.bool_))).tolist()
        return rules


def _joined(parts: Sequence[NumberedParts]) -> NumberedParts:
    numbers, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    distinct: list[Any] = []
    for each in parts:
        numbers.append(each.numbers + np.int32(len(distinct)))
        counts.append(np.diff(each.offsets))
        distinct += each.distinct
    offsets = offsets_of(np.concatenate(counts), np.int64)
    return NumberedParts(np.concatenate(numbers), offsets, distinct)


class ScopedRules(Sequence[tuple[Rule, RuleSource]]):
    r"""The rules of some rulesets, each with its ruleset; a pair is created when it is read.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rulesets = [parse("movie -> film\na -> the"), parse("is -> was")]
        >>> rule, ruleset = ScopedRules(rulesets)[2]
        >>> ruleset is rulesets[1] and rule is ruleset.rules[0]
        True
    """

    def __init__(self, rulesets: Sequence[RuleSource]) -> None:
        self.rules = tuple(chain.from_iterable(ruleset.rules for ruleset in rulesets))
        self._rulesets = rulesets
        self._ends = list(accumulate(len(ruleset.rules) for ruleset in rulesets))

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def __getitem__(self, index: int) -> tuple[Rule, RuleSource]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Rule, RuleSource]]: ...

    def __getitem__(
        self, index: int | slice
    ) -> tuple[Rule, RuleSource] | Sequence[tuple[Rule, RuleSource]]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self[place] for place in places]
        return self.rules[places], self._rulesets[bisect_right(self._ends, places)]


class VariantTests:
    """The predicates that each variant tests, as a tuple that is created when it is read.

    Example:
        >>> tests = VariantTests(np.array([3, 4, 3], np.int32), np.array([0, 2, 3]))
        >>> list(tests), tests[1], tests.lengths.tolist()
        ([(3, 4), (3,)], (3,), [2, 1])
    """

    def __init__(self, flat: Int32Array, offsets: Int64Array) -> None:
        self.flat = flat  # the predicates of all variants, one variant after another
        self.offsets = offsets  # (variants + 1,): where each begins

    @property
    def lengths(self) -> Int64Array:
        """How many tokens each variant tests, int64 (variants,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> tuple[int, ...]:
        return tuple(self.flat[self.offsets[number] : self.offsets[number + 1]].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        flat = self.flat.tolist()
        return (tuple(flat[low:high]) for low, high in pairwise(self.offsets.tolist()))
