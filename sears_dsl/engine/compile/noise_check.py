"""Noise that cannot work, told when a rule is compiled.

In: a rule. Out: `Diagnostic`s: E329 for a function of characters on words that the rule itself
fixes and in which nothing can change. Always holds: a rule without findings can be rendered on some
instance, as far as the rule tells. Costs nothing for rules without noise.
"""

from __future__ import annotations

from collections.abc import Iterator

from sears_dsl.engine.noise.characters import has_place
from sears_dsl.errors import Diagnostic
from sears_dsl.language.amounts import print_function
from sears_dsl.language.rule import Element, Group, Literal, Noise, Reference, Rule
from sears_dsl.language.words import code


def noise_diagnostics(rule: Rule) -> Iterator[Diagnostic]:
    """The functions of a rule that can never change anything.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> [finding] = noise_diagnostics(parse("trunk -> $1.homoglyph").rules[0])
        >>> print(finding.code, finding.message)
        E329 no character of `trunk` can change by `.homoglyph`
    """
    for piece in rule.consequent:
        if not isinstance(piece, Reference) or not piece.functions:
            continue
        function = piece.functions[0]
        if not isinstance(function, Noise) or function.kind in {"neighbor", "paraphrase"}:
            continue
        words = _words(rule, piece.target)
        if words and not any(has_place(function, word) for word in words):
            yield Diagnostic(
                "E329",
                f"no character of {', '.join(map(code, words))} can change by "
                f"{code('.' + print_function(function))}",
                piece.span or rule.span,
                "take another function, or other words",
            )


def _words(rule: Rule, target: int | str) -> list[str]:
    """The words that an element can be, where the rule says so; else none."""
    if target == 0:
        target = 1 if len(rule.antecedent) == 1 else 0
    if isinstance(target, int):
        element = rule.antecedent[target - 1] if 0 < target <= len(rule.antecedent) else None
    else:
        elements = (*rule.left, *rule.antecedent, *rule.right)
        element = next((each for each in elements if each.name == target), None)
    return [] if element is None else list(_literals(element)) or []


def _literals(element: Element) -> Iterator[str]:
    body = element.body
    if isinstance(body, Literal):
        yield body.text
    elif isinstance(body, Group):
        inner = [each for alternative in body.alternatives for each in alternative]
        if all(isinstance(each.body, Literal) for each in inner):
            yield from (each.body.text for each in inner if isinstance(each.body, Literal))
