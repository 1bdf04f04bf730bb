"""What a ruleset defines and does not use, and which tests a published one lacks.

In: the rules, sets and imports of a file without errors. Out: warnings. Costs a walk over the
trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sears_dsl.errors import Diagnostic
from sears_dsl.language.rule import Rule, SetDefinition
from sears_dsl.language.ruleset import Import
from sears_dsl.language.sets import references_in

__all__ = ["usage_warnings"]


def usage_warnings(
    rules: Sequence[Rule],
    sets: Sequence[SetDefinition],
    imports: Sequence[Import],
    *,
    published: bool,
) -> Iterator[Diagnostic]:
    """W601 to W604; a file without rules is a library, whose sets are used elsewhere."""
    if published:
        for rule in rules:
            yield from _missing_tests(rule)
    if not rules:
        return
    used = set(_used(rules, sets))
    for definition in sets:
        if (None, definition.name) not in used:
            yield Diagnostic(
                "W603", f"set `{definition.name}` is not used", definition.span, "delete it"
            )
    modules = {module for module, _ in used}
    for each in imports:
        if each.name not in modules:
            yield Diagnostic("W604", f"import `{each.name}` is not used", each.span, "delete it")


def _missing_tests(rule: Rule) -> Iterator[Diagnostic]:
    tests = rule.metadata.tests
    if not any(test.expected is not None for test in tests):
        yield Diagnostic(
            "W601",
            "a published rule without a test that fires",
            rule.span,
            'write test "in" => "out" under it',
        )
    if not any(test.expected is None for test in tests):
        yield Diagnostic(
            "W602",
            "a published rule without a test that stays silent",
            rule.span,
            'write test "in" => none under it',
        )


def _used(rules: Sequence[Rule], sets: Sequence[SetDefinition]) -> Iterator[tuple[str | None, str]]:
    for rule in rules:
        bodies = (element.body for element in (*rule.left, *rule.antecedent, *rule.right))
        for reference in references_in(bodies):
            yield reference.module, reference.name
    for definition in sets:
        for reference in references_in(definition.members):
            yield reference.module, reference.name
