"""Sets of tests: what their names stand for, in the file where they were written.

In: a file with its sets and imports, and a reference from it. Out: the members, with every name
inside them as that file sees it: ``@c.OUT`` with the member ``!@INNER`` gives ``!@c.INNER``. This
is the one place that resolves names of sets; the reference engine follows them by itself. Always
holds: no member is itself a set; each file and set is looked at once, however many ways lead
there; nothing here recurses along references. Costs a walk over what is reachable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sears_dsl.language.rule import (
    Element,
    Group,
    Negation,
    SetDefinition,
    SetReference,
    Test,
)

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Import, Ruleset

__all__ = [
    "DEEPEST",
    "LARGEST",
    "circles",
    "home",
    "members",
    "references_in",
    "set_depths",
    "set_sizes",
]

DEEPEST = 100
"""How deep sets may contain sets, through imports too."""

LARGEST = 1_000_000
"""How many tests a set may stand for, sets under its negations written out."""


def home(file: Ruleset, module: str | None) -> Ruleset:
    """The file that names of imports lead to, such as ``c`` or ``c.words``.

    Raises:
        KeyError: nothing is imported under one of the names.
    """
    for name in module.split(".") if module else ():
        found = next((each.ruleset for each in file.imports if each.name == name), None)
        if found is None:
            raise KeyError(name)
        file = found
    return file


def members(file: Ruleset, reference: SetReference) -> tuple[Test, ...]:
    """The members of a set as ``file`` sees them, those of sets among them included, in order.

    Raises:
        KeyError: there is no such set or import.
    """
    tests: dict[Test, None] = {}
    seen: set[tuple[int, str]] = set()
    pending: list[Test] = [reference]
    while pending:
        test = pending.pop()
        if not isinstance(test, SetReference):
            tests.setdefault(test)
            continue
        owner = home(file, test.module)
        if (id(owner), test.name) not in seen:
            seen.add((id(owner), test.name))
            written = owner.written_sets[test.name]
            pending.extend(_seen_through(member, test.module) for member in reversed(written))
    return tuple(tests)


def _seen_through(test: Test, module: str | None) -> Test:
    """A test of the file that is imported as ``module``, with its names as the importer's."""
    if module is None:
        return test
    if isinstance(test, SetReference):
        return SetReference(test.name, f"{module}.{test.module}" if test.module else module)
    if not isinstance(test, Negation):
        return test
    if not isinstance(test.operand, Group):
        return Negation(_seen_through(test.operand, module))
    return Negation(
        Group(
            tuple(
                tuple(replace(each, body=_body_through(each, module)) for each in alternative)
                for alternative in test.operand.alternatives
            )
        )
    )


def _body_through(element: Element, module: str) -> Test:
    # What is negated is a group of single tests; the checker refuses anything else.
    return _seen_through(element.body, module)  # type: ignore[arg-type]


def references_in(tests: Iterable[object]) -> Iterator[SetReference]:
    """The sets that tests, groups or anchors refer to, under negations too."""
    for test in tests:
        if isinstance(test, SetReference):
            yield test
        elif isinstance(test, Negation):
            yield from references_in((test.operand,))
        elif isinstance(test, Group):
            for alternative in test.alternatives:
                yield from references_in(element.body for element in alternative)


# ---------------------------------------------------------------- circles and sizes


def circles(sets: Mapping[str, SetDefinition]) -> list[list[str]]:
    """Ways from a set of this file back to itself, one for each circle that a walk meets."""
    return _ordered(sets)[1]


def _ordered(sets: Mapping[str, SetDefinition]) -> tuple[list[str], list[list[str]]]:
    """The names, each after those that it contains, and the circles on the way."""
    ordered: dict[str, None] = {}
    found: list[list[str]] = []
    for first in sets:
        if first in ordered:
            continue
        way = {first: _own_references(sets, first)}
        while way:
            name, following = next(reversed(way.items()))
            inner = next(following, None)
            if inner is None:
                del way[name]
                ordered.setdefault(name)
            elif inner in way:
                names = list(way)
                found.append([*names[names.index(inner) :], inner])
            elif inner not in ordered:
                way[inner] = _own_references(sets, inner)
    return list(ordered), found


def _own_references(sets: Mapping[str, SetDefinition], name: str) -> Iterator[str]:
    return iter(
        [
            each.name
            for each in references_in(sets[name].members)
            if each.module is None and each.name in sets
        ]
    )


def set_depths(definitions: Sequence[SetDefinition], imports: Sequence[Import]) -> dict[str, int]:
    """How deep each set of a file without circles contains sets; 1 for one that has none."""
    sets = {definition.name: definition for definition in definitions}
    elsewhere = {each.name: each.ruleset.set_depths for each in imports}
    depths: dict[str, int] = {}
    for name in _ordered(sets)[0]:
        inner = [
            (depths if each.module is None else elsewhere.get(each.module, {})).get(each.name, 0)
            for each in references_in(sets[name].members)
        ]
        depths[name] = 1 + max(inner, default=0)
    return depths


def set_sizes(file: Ruleset) -> dict[str, int]:
    """For how many tests each set of a file stands, the sets under negations written out."""
    sizes: dict[str, int] = {}

    def size_of(reference: SetReference) -> int:
        if reference.module is None:
            return sizes[reference.name]
        return home(file, reference.module).set_sizes[reference.name]

    for name in _ordered({definition.name: definition for definition in file.sets})[0]:
        tests = members(file, SetReference(name))
        size = len(tests) + sum(map(size_of, references_in(tests)))
        sizes[name] = min(size, LARGEST + 1)
    return sizes
