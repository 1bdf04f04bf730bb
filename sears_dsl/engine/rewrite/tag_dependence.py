"""Which rules write by tags: they inflect a word, or may move a clitic.

In: a rule and its scope. Out: whether its rows have to be tagged, even if it asks for no tag.
Always holds: what a rule writes depends on the rule and the text alone, whatever other rules have
the row tagged for. Costs a look at the pieces of a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from sears_dsl.engine.compile.requirements import inflects
from sears_dsl.engine.rewrite.pieces import sets_casing
from sears_dsl.engine.rewrite.spacing import begins_with_clitic
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import every_element, shortest
from sears_dsl.language.rule import Element, Reference, Rule, RuleScope


def writes_by_tags(rule: Rule, scope: RuleScope) -> bool:
    r"""Whether what a rule writes depends on tags: it inflects a word, or may move a clitic.

    A clitic that is copied behind another copy than before is written only where that bears it,
    which its tag may decide (see `spacing.bears`).

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("x:_ really z:_ -> $x $z\nx:_ z:_ -> so $x $z\nmovie -> film.as($1)")
        >>> [writes_by_tags(rule, rules) for rule in rules.rules]
        [True, False, True]
    """
    return inflects(rule) or any(
        isinstance(piece, Reference)
        and _may_follow_another(rule, number)
        and any(_may_be_clitic(each.body, scope) for each in _elements_of(rule, piece))
        for number, piece in enumerate(rule.consequent)
    )


def _may_follow_another(rule: Rule, number: int) -> bool:
    """Whether what a reference copies may come to stand behind another copy than in the text."""
    place = _element_of(rule, rule.consequent[number])
    for piece in reversed(rule.consequent[:number]):
        if isinstance(piece, syntax.TagCopy):
            continue  # what it copies is tagged anyway; it may also be empty
        if not isinstance(piece, Reference):
            return False
        before = _element_of(rule, piece)
        adjoins = before is not None and place is not None and before + 1 == place
        # Behind what the rule itself cases, a clitic is written whatever bears it.
        if not sets_casing(piece) and (piece.functions or not adjoins):
            return True
        if before is not None and shortest(rule.antecedent[before]):
            return False
        place = before if adjoins else None
    return False


def _element_of(rule: Rule, piece: syntax.Piece) -> int | None:
    """The number of the element that a reference copies, None where it is no single one."""
    if not isinstance(piece, Reference) or piece.target == 0:
        return None
    if isinstance(piece.target, int):
        return piece.target - 1
    names = [each.name for each in rule.antecedent]
    return names.index(piece.target) if piece.target in names else None


def _elements_of(rule: Rule, piece: Reference) -> Iterable[Element]:
    """The elements that a reference may copy."""
    if piece.target == 0:
        return rule.antecedent
    if isinstance(piece.target, int):
        return rule.antecedent[piece.target - 1 : piece.target]
    return (each for each in every_element(rule) if each.name == piece.target)


def _may_be_clitic(body: object, scope: RuleScope) -> bool:
    """Whether the body of an element may match a clitic, as far as its words tell."""
    match body:
        case syntax.Literal(text) | syntax.AttributeTest("text" | "lower", text, False):
            return begins_with_clitic(text)
        case syntax.Conjunction(tests):
            return all(_may_be_clitic(test, scope) for test in tests)
        case syntax.SetReference():
            return any(_may_be_clitic(member, scope) for member in scope.members(body))
        case syntax.Group(alternatives):
            elements = chain.from_iterable(alternatives)
            return any(_may_be_clitic(each.body, scope) for each in elements)
    return not isinstance(body, syntax.Anchor)
