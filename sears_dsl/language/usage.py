"""What a ruleset uses of its sets, what it writes of them and cannot, and which tests it lacks.

Of files without errors: warnings, and E330 for members that are to be written and have no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language.printer import print_test
from sears_dsl.language.rule import (
    Drawn,
    Literal,
    Rule,
    RuleScope,
    SetDefinition,
    SetReference,
    Template,
    Test,
)
from sears_dsl.language.ruleset import Import, references_in
from sears_dsl.language.words import code


def usage_warnings(
    rules: Sequence[Rule],
    sets: Sequence[SetDefinition],
    imports: Sequence[Import],
    *,
    templates: Sequence[Template] = (),
    published: bool,
) -> Iterator[Diagnostic]:
    """W601 to W604; a file of sets alone is a library, whose sets are used elsewhere."""
    if published:
        for rule in rules:
            yield from _missing_tests(rule)
        for template in templates:
            yield from _missing_tests(template)
    if not rules and not templates:
        return
    used = used_sets(rules, sets)
    used |= {slot.reference for template in templates for slot in template.slots}
    for definition in sets:
        if SetReference(definition.name) not in used:
            advice = "delete it"
            if any(_mentions(template, definition.name) for template in templates):
                advice = f"a template writes it in braces: {code(f'{{{definition.name}}}')}"
            yield Diagnostic(
                "W603", f"set `{definition.name}` is not used", definition.span, advice
            )
    modules = {reference.module for reference in used}
    for each in imports:
        if each.name not in modules:
            yield Diagnostic("W604", f"import `{each.name}` is not used", each.span, "delete it")


def _mentions(template: Template, name: str) -> bool:
    """Whether the name of a set stands among the words of a template, as in ``<NAME>``."""
    words = "".join(part for part in template.parts if isinstance(part, str))
    return re.search(rf"\b{re.escape(name)}\b", words) is not None


def _missing_tests(rule: Rule | Template) -> Iterator[Diagnostic]:
    tests = rule.metadata.tests
    kind = "rule" if isinstance(rule, Rule) else "template"
    out = "out" if isinstance(rule, Rule) else "label"
    if not any(test.expected is not None for test in tests):
        yield Diagnostic(
            "W601",
            f"a published {kind} without a test that fires",
            rule.span,
            f'write `test "in" => "{out}"` under it',
        )
    if not any(test.expected is None for test in tests):
        yield Diagnostic(
            "W602",
            f"a published {kind} without a test that stays silent",
            rule.span,
            'write `test "in" => none` under it',
        )


def used_sets(rules: Sequence[Rule], sets: Sequence[SetDefinition]) -> set[SetReference]:
    """The references in rules and sets of a file."""
    bodies: list[object] = [
        element.body for rule in rules for element in (*rule.left, *rule.antecedent, *rule.right)
    ]
    bodies.extend(member for definition in sets for member in definition.members)
    drawn = (
        SetReference(piece.name, piece.module)
        for rule in rules
        for piece in rule.consequent
        if isinstance(piece, Drawn)
    )
    return {*references_in(bodies), *drawn}


def drawn_findings(rule: Rule, scope: RuleScope) -> Iterator[Diagnostic]:
    """Members of drawn sets that have no text, of sets among them too."""
    for piece in rule.consequent:
        if isinstance(piece, Drawn):
            reference = SetReference(piece.name, piece.module)
            yield from textless(scope.members(reference), reference, piece.span or rule.span)


def textless(
    members: Sequence[Test], reference: SetReference, span: Span | None
) -> Iterator[Diagnostic]:
    """E330, where a set is written of which a member has no text."""
    test = next((each for each in members if not isinstance(each, Literal)), None)
    if test is not None:
        yield Diagnostic(
            "E330",
            f"{code(print_test(test, place='group'))} in the set `@{reference.name}` is a test and "
            "has no text to write",
            span,
            "members that are written are words, or quoted text: `set NAME = good | nice`",
        )
