"""Noise that cannot work, told when a rule is compiled.

In: a rule and what it sees of its ruleset. Out: `Diagnostic`s of a function of characters on words
that the rule or its sets fix: E329 where nothing can change in any of them, W622 where nothing can
in some. Always holds: a rule without E329 can be rendered on some instance, as far as the rule
tells. Costs nothing for rules without noise.
"""

from __future__ import annotations

from collections.abc import Iterator

from sears_dsl.engine.noise.characters import has_place
from sears_dsl.errors import Diagnostic
from sears_dsl.language.amounts import print_function
from sears_dsl.language.rule import (
    Element,
    Group,
    Literal,
    Noise,
    Reference,
    Rule,
    RuleScope,
    SetReference,
)
from sears_dsl.language.words import code

# So many words are told.
_MOST_TOLD = 5


def noise_diagnostics(rule: Rule, scope: RuleScope) -> Iterator[Diagnostic]:
    r"""The functions of a rule that can never change anything, or not in some of its words.

    Args:
        rule: the rule.
        scope: where the sets stand that it names.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("trunk -> $1.homoglyph\n(trunk|film) -> $1.homoglyph")
        >>> for rule in rules.rules:
        ...     [finding] = noise_diagnostics(rule, rules)
        ...     print(finding.code, finding.message)
        E329 no character of `trunk` can change by `.homoglyph`
        W622 no character of `trunk` can change by `.homoglyph`
    """
    for piece in rule.consequent:
        if not isinstance(piece, Reference) or not piece.functions:
            continue
        function = piece.functions[0]
        if not isinstance(function, Noise) or function.kind in {"neighbor", "paraphrase"}:
            continue
        words = _words(rule, piece.target, scope)
        unable = [word for word in words if not has_place(function, word)]
        if unable:
            none_can = len(unable) == len(words)
            more = f" and {len(unable) - _MOST_TOLD} more" if len(unable) > _MOST_TOLD else ""
            yield Diagnostic(
                "E329" if none_can else "W622",
                f"no character of {', '.join(map(code, unable[:_MOST_TOLD]))}{more} can change by "
                f"{code('.' + print_function(function))}",
                piece.span or rule.span,
                "take another function, or other words"
                if none_can
                else "these instances stay as they are; leave the words out, or take another "
                "function",
            )


def _words(rule: Rule, target: int | str, scope: RuleScope) -> list[str]:
    """What an element can be, where the rule and its sets say so by words alone; else nothing."""
    if target == 0:
        target = 1 if len(rule.antecedent) == 1 else 0
    if isinstance(target, int):
        element = rule.antecedent[target - 1] if 0 < target <= len(rule.antecedent) else None
    else:
        elements = (*rule.left, *rule.antecedent, *rule.right)
        element = next((each for each in elements if each.name == target), None)
    texts = [] if element is None else list(_texts(element, scope))
    return [text for text in texts if text is not None] if None not in texts else []


def _texts(element: Element, scope: RuleScope) -> Iterator[str | None]:
    """The texts of an element; None for what is no fixed text."""
    if (element.minimum, element.maximum) != (1, 1):
        yield None
    elif isinstance(element.body, Group):
        for alternative in element.body.alternatives:
            parts = [list(_texts(each, scope)) for each in alternative]
            # Of several elements after one another there may be many: one text each is enough.
            first = [texts[0] for texts in parts]
            known = [text for text in first if text is not None]
            if len(parts) == 1:
                yield from parts[0]
            else:
                yield " ".join(known) if len(known) == len(first) else None
    else:
        yield from _members(element.body, scope)


def _members(test: object, scope: RuleScope) -> Iterator[str | None]:
    if isinstance(test, Literal):
        yield test.text
    elif isinstance(test, SetReference):
        for member in scope.members(test):
            yield from _members(member, scope)
    else:
        yield None
