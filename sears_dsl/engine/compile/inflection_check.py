"""Inflections that cannot work, told when a rule is compiled.

In: a rule and its scope. Out: `Diagnostic`s for inflections whose word the rule itself fixes, and
which have several forms or none under every tag that the word can have. Always holds: a rule
without findings can be rendered on some instance, as far as the rule tells. What depends on the
matched token is not told here: such an instance is not rewritten, and counted. Costs nothing for
rules without inflections; the word tables are loaded for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sears_dsl.errors import Diagnostic
from sears_dsl.language.rule import (
    AttributeTest,
    Conjunction,
    Element,
    Group,
    Inflected,
    Literal,
    Reference,
    Rule,
    RuleScope,
    Tag,
)
from sears_dsl.language.tagsets import COARSE
from sears_dsl.tagging.inflection import INFLECTION_TAGS, Inflection, inflect

# Tags that a word of unknown tag may have; None: as a base form.
_ANY_TAG = (None, "NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "JJ", "JJR", "JJS")


@dataclass(frozen=True, slots=True)
class _WordKnowledge:
    """What an element says about its token."""

    word: str | None = None
    lemma: str | None = None
    fine: str | None = None


def compile_diagnostics(rule: Rule, scope: RuleScope) -> list[Diagnostic]:
    """The inflections of a rule that fail on every instance.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> rules = parse("be -> $1.VBD")
        >>> [finding] = compile_diagnostics(rules.rules[0], rules)
        >>> print(finding.code, finding.message)
        E350 `be` has more than one form for VBD: was, were
    """
    findings: list[Diagnostic] = []
    for piece in rule.consequent:
        if isinstance(piece, Inflected):
            known = _known(_element(rule, piece.target), scope)
            if known.fine is not None:
                forms = _inflected(piece.word, known, known.fine)
                findings.extend(_findings(rule, piece, piece.word, known.fine, forms))
        elif isinstance(piece, Reference):
            tag = next((name for name in piece.functions if name in INFLECTION_TAGS), None)
            known = _known(_element(rule, piece.target), scope) if tag else _WordKnowledge()
            if tag is not None and (word := known.word or known.lemma) is not None:
                findings.extend(_findings(rule, piece, word, tag, _copied(known, tag)))
    return findings


def _inflected(word: str, known: _WordKnowledge, tag: str) -> list[Inflection]:
    """The forms of ``word.as($x)``; those of *be* may yet be told by the token."""
    form = inflect(word, None, tag)
    open_yet = word.lower() == "be" and form.ambiguous and known.lemma in (None, "be")
    return [] if open_yet else [form]


def _copied(known: _WordKnowledge, tag: str) -> list[Inflection]:
    """The forms of ``$1.VBD`` under every tag that the token can have."""
    if known.word is not None:
        tags = _ANY_TAG if known.fine is None else (known.fine,)
        return [inflect(known.word, fine, tag) for fine in tags]
    lemma = known.lemma or ""
    # A form of be tells by itself whether it was or were.
    return [] if lemma == "be" else [inflect(lemma, None, tag)]


def _findings(
    rule: Rule, piece: Reference | Inflected, word: str, tag: str, forms: Sequence[Inflection]
) -> Iterator[Diagnostic]:
    if not forms or any(form.unique is not None for form in forms):
        return
    span = piece.span or rule.span
    several = next((form for form in forms if form.ambiguous), None)
    if several is not None:
        yield Diagnostic(
            "E350",
            f"`{word}` has more than one form for {tag}: {', '.join(several.forms)}",
            span,
            "write the form that is meant as a literal",
        )
    else:
        yield Diagnostic(
            "E351",
            f"`{word}` has no form for {tag}",
            span,
            "write the word that is meant as a literal",
        )


def _element(rule: Rule, target: int | str) -> Element | None:
    """The element that a reference refers to; None for the whole span and for unknown ones."""
    if isinstance(target, int):
        if target == 0:
            return rule.antecedent[0] if len(rule.antecedent) == 1 else None
        return rule.antecedent[target - 1] if target <= len(rule.antecedent) else None
    waiting = [*rule.left, *rule.antecedent, *rule.right]
    while waiting:
        element = waiting.pop()
        if element.name == target:
            return element
        if isinstance(element.body, Group):
            for alternative in element.body.alternatives:
                waiting.extend(alternative)
    return None


def _known(element: Element | None, scope: RuleScope) -> _WordKnowledge:
    if element is None or element.maximum != 1:
        return _WordKnowledge()
    match element.body:
        case Literal(text):
            return _WordKnowledge(word=text)
        case Tag(name) if name not in COARSE[scope.options.tagset]:
            return _WordKnowledge(fine=name)
        case AttributeTest() as test:
            return _known_of([test])
        case Conjunction(tests):
            return _known_of(tests)
    return _WordKnowledge()


def _known_of(tests: Sequence[AttributeTest]) -> _WordKnowledge:
    values = {test.attribute: test.value for test in tests if not test.negated}
    lemma = values.get("lemma")
    return _WordKnowledge(
        word=values.get("text", values.get("lower")),
        lemma=None if lemma is None else lemma.lower(),
        fine=values.get("tag"),
    )
