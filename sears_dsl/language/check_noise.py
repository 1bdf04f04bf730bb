"""Rules that write noise → what is wrong with them.

E325 (`<unit>` beside something), E327 (a function that needs one token, or a whole unit), W619 (a
share of one instance). What needs the table of look-alikes is told when a rule is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sears_dsl.errors import Diagnostic
from sears_dsl.language.measure import draws, is_unit, longest
from sears_dsl.language.rule import (
    Anchor,
    Element,
    Group,
    Noise,
    Reference,
    Rule,
    RuleSource,
    WholeUnit,
    Wildcard,
)


def check_noise(rule: Rule) -> Iterator[Diagnostic]:
    """What is wrong with the noise in a rule."""
    yield from _units(rule)
    for piece in rule.consequent:
        if isinstance(piece, Reference):
            yield from _functions(rule, piece)
    if rule.metadata.rate is not None and _stands_in_one_place(rule):
        yield Diagnostic(
            "W619",
            "`rate` of a rule that has one instance in a unit",
            rule.span,
            "the share is of that one instance; leave the line out, or the anchor",
        )


def chain_findings(rulesets: Sequence[RuleSource]) -> list[Diagnostic]:
    """W620: rules of a chain that change characters before others that read words or tags."""
    noise: Rule | None = None
    for ruleset in rulesets:
        for name, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True):
            if noise is not None and not _reads_anything(rule):
                message = f"rule {name} comes after rules that change characters"
                advice = (
                    "it puts noise on noise; for one kind alone take a file with its rule"
                    if _changes_characters(rule)
                    else "it sees changed words; put the noise last"
                )
                return [Diagnostic("W620", message, help=advice, path=ruleset.path)]
            if _changes_characters(rule):
                noise = rule
    return []


def _changes_characters(rule: Rule) -> bool:
    return any(
        isinstance(function, Noise) and function.kind not in {"neighbor", "paraphrase"}
        for piece in rule.consequent
        if isinstance(piece, Reference)
        for function in piece.functions
    )


def _reads_anything(rule: Rule) -> bool:
    """Whether a rule is about any token, or about shapes of words that noise leaves as they are."""
    elements = (*rule.left, *rule.antecedent, *rule.right)
    return all(isinstance(element.body, Wildcard | WholeUnit) for element in elements)


def _units(rule: Rule) -> Iterator[Diagnostic]:
    elements = (*rule.left, *rule.antecedent, *rule.right)
    for element in _all(elements):
        if not isinstance(element.body, WholeUnit):
            continue
        plain = (element.minimum, element.maximum) == (1, 1)
        if len(elements) > 1 or rule.antecedent != (element,) or not plain:
            yield Diagnostic(
                "E325",
                "`<unit>` with something beside it",
                element.span or rule.span,
                "it is the whole antecedent, without a context: `<unit> -> $0.paraphrase`",
            )


def _all(elements: Sequence[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        if isinstance(element.body, Group):
            for alternative in element.body.alternatives:
                yield from _all(alternative)


def _functions(rule: Rule, piece: Reference) -> Iterator[Diagnostic]:
    kinds = {function.kind for function in piece.functions if isinstance(function, Noise)}
    if "paraphrase" in kinds and not (piece.target in {0, 1} and is_unit(rule)):
        yield Diagnostic(
            "E327",
            "a paraphrase of less than a whole unit",
            piece.span or rule.span,
            "write `<unit> -> $0.paraphrase`; `option unit = sentence` makes it one of sentences",
        )
    if "neighbor" in kinds and _most_tokens(rule, piece.target) > 1:
        yield Diagnostic(
            "E327",
            f"`.neighbor` needs one token, `${piece.target}` can be several",
            piece.span or rule.span,
            "name the word inside: `(DET? x:NOUN) -> $x.neighbor`",
        )


def _most_tokens(rule: Rule, target: int | str) -> int:
    """Most tokens that a reference can stand for; 1 where there is nothing of that name."""
    if target == 0:
        return sum(map(longest, rule.antecedent))
    if isinstance(target, int):
        return longest(rule.antecedent[target - 1]) if target <= len(rule.antecedent) else 1
    elements = _all((*rule.left, *rule.antecedent, *rule.right))
    return next((longest(element) for element in elements if element.name == target), 1)


def _stands_in_one_place(rule: Rule) -> bool:
    """Whether a rule that draws nothing else can have one instance in a unit at most."""
    drawn = Rule(rule.antecedent, rule.consequent)
    if draws(drawn):
        return False
    elements = (*rule.left, *rule.antecedent, *rule.right)
    return is_unit(rule) or any(isinstance(element.body, Anchor) for element in elements)
