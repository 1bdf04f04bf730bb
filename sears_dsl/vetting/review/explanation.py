"""A rule for people who do not know its language: in words, with every tag and sign explained.

In: a rule and the ruleset around it. Out: a sentence, and a list of (sign, meaning) pairs. The list
has every tag of the rule, each once, in the order of the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sears_dsl.errors import listed
from sears_dsl.glossary import FUNCTION_MEANINGS, TAG_MEANINGS
from sears_dsl.language import rule as syntax
from sears_dsl.language.printer import print_rule, print_test
from sears_dsl.language.words import print_function, print_share

_QUOTED = re.compile(r'"[^"\\]+"')
# How many members of a set are shown.
_MEMBERS = 8
_ATTRIBUTES = {
    "text": "word written",
    "lower": "word (any casing)",
    "lemma": "word whose base form is",
    "pos": "word with the tag",
    "tag": "word with the tag",
}


class Sides(NamedTuple):
    """The parts of a rule as text; the consequent and the context may be empty."""

    antecedent: str
    consequent: str
    context: str


def sides(rule: syntax.Rule) -> Sides:
    """Split the canonical text of a rule into its parts."""
    plain = print_rule(replace(rule, left=(), right=()))
    old = print_rule(replace(rule, consequent=(), left=(), right=())).removesuffix(" -> <>")
    context = print_rule(rule)[len(plain) + len(" / ") :]
    return Sides(old, plain[len(old) + len(" -> ") :], context)


def in_words(rule: syntax.Rule) -> str:
    """The rule as the study of the paper put it: replace the first … with ….

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> in_words(parse("is -> ~'s / WP __").rules[0])
        "Replace the first “is” after “WP” with “'s”, glued to the word before."
        >>> in_words(parse('"movie" -> film').rules[0])
        'Replace the first “movie” with “film”.'
    """
    old, new = map(_unquoted, sides(rule)[:2])
    before = _unquoted(sides(replace(rule, right=())).context.removesuffix("__").strip())
    after = _unquoted(sides(replace(rule, left=())).context.removeprefix("__").strip())
    places = ([f" after “{before}”"] if before else []) + ([f" before “{after}”"] if after else [])
    where = " and".join(places)
    new = f"“{new.removeprefix('~')}”"
    glue = ", glued to the word before" if rule.consequent and rule.consequent[0].glued else ""
    if not rule.antecedent:
        return f"Insert {new} at the first place{where}{glue}."
    if not rule.consequent:
        return f"Remove the first “{old}”{where}."
    return f"Replace the first “{old}”{where} with {new}{glue}."


def _unquoted(text: str) -> str:
    """The text without its quotation marks if it is one quoted word, else as it is."""
    return text[1:-1] if _QUOTED.fullmatch(text) else text


def explained(rule: syntax.Rule, scope: syntax.RuleScope) -> tuple[tuple[str, str], ...]:
    """The tags and signs of a rule with what they mean."""
    meanings: dict[str, str] = {}
    for sign, meaning in _signs(rule, scope):
        meanings.setdefault(sign, meaning)
    return tuple(meanings.items())


def _signs(rule: syntax.Rule, scope: syntax.RuleScope) -> Iterator[tuple[str, str]]:
    yield from _of_elements(rule.elements, scope)
    if rule.consequent and rule.consequent[0].glued:
        yield "~", "no space: glued to the word before"
    for piece in rule.consequent:
        if isinstance(piece, syntax.TagCopy):
            yield piece.tag, TAG_MEANINGS.get(piece.tag, "a tag")
        elif isinstance(piece, syntax.Drawn):
            members = ", ".join(map(print_test, scope.members(piece.reference)))
            yield f"@{piece.reference.full_name}", f"one of these, drawn: {members}"
        elif isinstance(piece, syntax.Reference):
            sign = f"${piece.target}"
            yield sign, _reference(piece.target)
            for function in piece.functions:
                yield f".{print_function(function)}", _function(function)


def _unit(scope: syntax.RuleScope) -> str:
    return scope.options.unit or "text"


def _of_elements(
    elements: Sequence[syntax.Element], scope: syntax.RuleScope
) -> Iterator[tuple[str, str]]:
    for element in elements:
        body = element.body
        if isinstance(body, syntax.Anchor):
            sign = "<s>" if body.side == "start" else "</s>"
            yield sign, f"the {body.side} of the {_unit(scope)}"
        elif isinstance(body, syntax.WholeUnit):
            yield "<unit>", f"the whole {_unit(scope)}"
        elif isinstance(body, syntax.Group):
            if len(body.alternatives) > 1:
                yield "(…|…)", "one of these"
            for alternative in body.alternatives:
                yield from _of_elements(alternative, scope)
        else:
            yield from _of_test(body, scope)
        bounds = (element.minimum, element.maximum)
        if bounds == (0, 1):
            yield "…?", "may be missing"
        elif bounds != (1, 1):
            yield f"…{{{bounds[0]},{bounds[1]}}}", f"{bounds[0]} to {bounds[1]} times"


def _of_test(test: syntax.Test, scope: syntax.RuleScope) -> Iterator[tuple[str, str]]:
    if isinstance(test, syntax.Tag):
        yield test.name, TAG_MEANINGS.get(test.name, "a tag")
    elif isinstance(test, syntax.Wildcard):
        yield "_", "any word"
    elif isinstance(test, syntax.SetReference):
        members = [print_test(member, place="group") for member in scope.members(test)]
        yield print_test(test), f"one of: {listed(members, _MEMBERS)}"
        for member in scope.members(test):
            if isinstance(member, syntax.Tag):
                yield from _of_test(member, scope)
    elif isinstance(test, syntax.Regex):
        yield print_test(test), "a word that this regular expression matches"
    elif isinstance(test, syntax.AttributeTest):
        yield from _of_attribute(test)
    elif isinstance(test, syntax.Conjunction):
        for each in test.tests:
            yield from _of_attribute(each)
    elif isinstance(test, syntax.Negation):
        operand = test.operand
        sign = "(…)" if isinstance(operand, syntax.Group) else print_test(operand)
        yield f"!{sign}", "a word that is not this"
        if isinstance(operand, syntax.Group):
            for alternative in operand.alternatives:
                yield from _of_elements(alternative, scope)
        else:
            yield from _of_test(operand, scope)


def _of_attribute(test: syntax.AttributeTest) -> Iterator[tuple[str, str]]:
    sign = f"{test.attribute}{'!=' if test.negated else '='}{test.value}"
    meaning = TAG_MEANINGS.get(test.value, "") if test.attribute in ("pos", "tag") else ""
    phrase = f"{_ATTRIBUTES[test.attribute]} “{test.value}”" + (f" ({meaning})" if meaning else "")
    yield sign, f"not a {phrase}" if test.negated else f"a {phrase}"


def _reference(target: int | str) -> str:
    if target == 0:
        return "all that was matched"
    if isinstance(target, str):
        return f"what the element named {target} matched"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(target, "th")
    return f"what the {target}{ending} element matched"


def _function(function: str | syntax.Noise) -> str:
    if isinstance(function, str):
        return FUNCTION_MEANINGS[function]
    meaning = FUNCTION_MEANINGS[function.kind]
    if function.share is not None:
        return f"{meaning}: {print_share(function.share)} of all"
    return meaning + (f": {function.places} places" if function.places > 1 else "")
