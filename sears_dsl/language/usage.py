"""What a ruleset defines and does not use, and which tests a published one lacks.

In: the rules, sets and imports of a file without errors. Out: warnings. Costs a walk over the
trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sears_dsl.errors import Diagnostic
from sears_dsl.language.rule import Rule, SetDefinition, SetReference
from sears_dsl.language.ruleset import Import, references_in


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
    used = used_sets(rules, sets)
    for definition in sets:
        if SetReference(definition.name) not in used:
            yield Diagnostic(
                "W603", f"set `{definition.name}` is not used", definition.span, "delete it"
            )
    modules = {reference.module for reference in used}
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
            'write `test "in" => "out"` under it',
        )
    if not any(test.expected is None for test in tests):
        yield Diagnostic(
            "W602",
            "a published rule without a test that stays silent",
            rule.span,
            'write `test "in" => none` under it',
        )


def used_sets(rules: Sequence[Rule], sets: Sequence[SetDefinition]) -> set[SetReference]:
    """The references in rules and sets of a file."""
    bodies: list[object] = [
        element.body for rule in rules for element in (*rule.left, *rule.antecedent, *rule.right)
    ]
    bodies.extend(member for definition in sets for member in definition.members)
    return set(references_in(bodies))
