"""Which sets rules and sets refer to, how another file names them, which set contains which.

These look at one file; `ruleset` resolves names, through imports too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from sears_dsl.language.rule import (
    Drawn,
    Element,
    Group,
    Negation,
    Rule,
    SetReference,
    Test,
)

DEEPEST = 100
"""How deeply sets may contain sets, through imports too."""

LARGEST = 1_000_000
"""How many tests a set may stand for, with sets under its negations written out."""


def sets_of(rule: Rule) -> Iterator[SetReference]:
    """The sets that a rule names, including those under negations and in the consequent."""
    yield from references_in(element.body for element in rule.elements)
    yield from (piece.reference for piece in rule.consequent if isinstance(piece, Drawn))


def references_in(tests: Iterable[object]) -> Iterator[SetReference]:
    """The sets that tests, groups or anchors refer to, including those under negations."""
    return (test for test in leaves_in(tests) if isinstance(test, SetReference))


def leaves_in(bodies: Iterable[object]) -> Iterator[object]:
    """The tests, anchors and the like in these bodies, inside groups and negations too."""
    for body in bodies:
        if isinstance(body, Negation):
            yield from leaves_in((body.operand,))
        elif isinstance(body, Group):
            for alternative in body.alternatives:
                yield from leaves_in(element.body for element in alternative)
        else:
            yield body


def sets_in_order(sets: Mapping[str, Sequence[Test]]) -> tuple[list[str], list[list[str]]]:
    """The names, each after those that its set contains, and the circles that are met on the way.

    A circle is a path from a set of this file back to itself. ``sets`` has the members as written.
    """

    def inside(name: str) -> Iterator[str]:
        references = references_in(sets[name])
        return (each.name for each in references if each.module is None and each.name in sets)

    order: dict[str, None] = {}
    circles: list[list[str]] = []
    for first in sets:
        if first in order:
            continue
        way = {first: inside(first)}
        while way:
            name, following = next(reversed(way.items()))
            inner = next(following, None)
            if inner is None:
                del way[name]
                order.setdefault(name)
            elif inner in way:
                names = list(way)
                circles.append([*names[names.index(inner) :], inner])
            elif inner not in order:
                way[inner] = inside(inner)
    return list(order), circles


def qualified(test: Test, module: str | None) -> Test:
    """A test of the file that is imported as ``module``, with names as the importer sees them."""
    if module is None:
        return test
    if isinstance(test, SetReference):
        return SetReference(test.name, f"{module}.{test.module}" if test.module else module)
    if not isinstance(test, Negation):
        return test
    if not isinstance(test.operand, Group):
        return Negation(qualified(test.operand, module))

    def through(element: Element) -> Element:
        # What is negated is a group of single tests; the checker refuses anything else.
        return replace(element, body=qualified(cast(Test, element.body), module))

    alternatives = (tuple(map(through, each)) for each in test.operand.alternatives)
    return Negation(Group(tuple(alternatives)))
