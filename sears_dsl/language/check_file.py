"""A whole file → what is wrong with its templates, and with how it uses what it defines.

Always holds: a template without errors has a label, finds its sets, and writes at most a million
sentences, those of a file at most five million together. What is not used or not tested is warned
of where there are no errors; E330 is about members that are to be written and have no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language.printer import print_test
from sears_dsl.language.rule import (
    FUNCTIONS,
    Drawn,
    Literal,
    Noise,
    Rule,
    RuleScope,
    SetReference,
    Slot,
    SlotCopy,
    Template,
    Test,
)
from sears_dsl.language.ruleset import Ruleset, references_in
from sears_dsl.language.words import code, nearest

MOST_SENTENCES = 1_000_000
"""How many sentences a template may stand for."""
MOST_OF_FILE = 5_000_000
"""And all templates of a file: what draws some of the sentences numbers all of them."""


def check_template(template: Template, scope: RuleScope) -> Iterator[Diagnostic]:
    """What is wrong with the label and the names of one template."""
    if template.metadata.label is None:
        yield Diagnostic(
            "E321",
            "a template without a label",
            template.span,
            "say which label its sentences have: `label: positive`, indented below it",
        )
    known = [slot.name for slot in template.slots if slot.name]
    names = set()
    for part in template.parts:
        if isinstance(part, SlotCopy) and part.name not in names:
            yield Diagnostic(
                "E209",
                f"{code(f'{{${part.name}}}')} refers to nothing",
                part.span,
                _named_before(part.name, template, known),
            )
        if not isinstance(part, str):
            yield from _lookups(part)
        if not isinstance(part, Slot):
            continue
        if part.name in names:
            yield Diagnostic(
                "E215",
                f"two slots named `{part.name}`",
                part.span,
                f"give one another name; the same choice again is {code(f'{{${part.name}}}')}",
            )
        if part.name:
            names.add(part.name)
        try:
            scope.members(part.reference)
        except KeyError:
            yield _unknown(part, scope)


def _named_before(name: str, template: Template, known: Sequence[str]) -> str:
    """How to write the slot that a copy repeats."""
    for slot in template.slots:
        if name == slot.reference.name and not slot.name:
            of = print_test(slot.reference).removeprefix("@")
            first, again = code(f"{{one:{of}}}"), code("{$one}")
            return f"a slot that is repeated has a name: {first}, and then {again}"
    if known and name not in known:
        return nearest(name, known)
    return f"the slot that it repeats stands before it: {code(f'{{{name}:SET}}')}"


def _unknown(slot: Slot, scope: RuleScope) -> Diagnostic:
    """A slot of a set that is not there: `{DEGREE.capp}` is a set with no such function."""
    sets = scope.set_names()
    if slot.reference.module in sets:
        what = f"`.{slot.reference.name}` is no function"
        return Diagnostic("E208", what, slot.span, nearest(slot.reference.name, FUNCTIONS))
    name = print_test(slot.reference).removeprefix("@")
    return Diagnostic("E206", f"there is no set `{name}`", slot.span, nearest(name, sets))


def _lookups(part: Slot | SlotCopy) -> Iterator[Diagnostic]:
    """Functions that look a word or a text up, which a template has not got."""
    for function in part.functions:
        if isinstance(function, Noise) and function.kind in {"neighbor", "paraphrase"}:
            anything = "movie" if function.kind == "neighbor" else "<unit>"
            rule = code(f"{anything} -> $0.{function.kind}")
            yield Diagnostic(
                "E327",
                f"`.{function.kind}` in a slot: it is about texts, and sentences are made of words",
                part.span,
                f"`sears generate` the sentences, then `sears apply` a rule to them: {rule}",
            )


def sentence_findings(ruleset: Ruleset) -> Iterator[Diagnostic]:
    """Members of sets that have no text, and more sentences than templates may have."""
    counts = []
    for template in ruleset.templates:
        sizes = []
        for slot in template.slots:
            members = ruleset.members(slot.reference)
            yield from textless(members, slot.reference, slot.span)
            sizes.append(len({each.text for each in members if isinstance(each, Literal)}))
            sizes[-1] += slot.optional
        counts.append(count := prod(sizes))
        if count > MOST_SENTENCES:
            yield Diagnostic(
                "E324",
                f"a template of {count:,} sentences",
                template.span,
                f"at most {MOST_SENTENCES:,}; give its sets fewer members, or make two templates "
                "of it",
            )
    total = sum(counts)
    if total > MOST_OF_FILE and max(counts) <= MOST_SENTENCES:
        yield Diagnostic(
            "E324",
            f"templates of {total:,} sentences in one file",
            ruleset.templates[-1].span,
            f"at most {MOST_OF_FILE:,}; give their sets fewer members, or put some into another "
            "file",
        )


def usage_warnings(ruleset: Ruleset) -> Iterator[Diagnostic]:
    """W601 to W604; a file of sets alone is a library, whose sets are used elsewhere."""
    nodes: tuple[Rule | Template, ...] = (*ruleset.rules, *ruleset.templates)
    if ruleset.name is not None:
        for node in nodes:
            yield from _missing_tests(node)
    if not nodes:
        return
    used = used_sets(ruleset)
    used |= {slot.reference for template in ruleset.templates for slot in template.slots}
    for definition in ruleset.sets:
        if SetReference(definition.name) not in used:
            advice, message = "delete it", f"set `{definition.name}` is not used"
            if any(_mentions(template, definition.name) for template in ruleset.templates):
                advice = f"a template writes it in braces: {code(f'{{{definition.name}}}')}"
            yield Diagnostic("W603", message, definition.span, advice)
    modules = {reference.module for reference in used}
    for each in ruleset.imports:
        if each.name not in modules:
            yield Diagnostic("W604", f"import `{each.name}` is not used", each.span, "delete it")


def _mentions(template: Template, name: str) -> bool:
    """Whether the name of a set stands among the words of a template, as in ``<NAME>``."""
    words = "".join(part for part in template.parts if isinstance(part, str))
    return re.search(rf"\b{re.escape(name)}\b", words) is not None


def _missing_tests(rule: Rule | Template) -> Iterator[Diagnostic]:
    silent = [test.expected is None for test in rule.metadata.tests]
    kind, out = ("rule", "out") if isinstance(rule, Rule) else ("template", "label")
    if all(silent):
        message = f"a published {kind} without a test that fires"
        yield Diagnostic("W601", message, rule.span, f'write `test "in" => "{out}"` under it')
    if not any(silent):
        message = f"a published {kind} without a test that stays silent"
        yield Diagnostic("W602", message, rule.span, 'write `test "in" => none` under it')


def used_sets(ruleset: Ruleset) -> set[SetReference]:
    """The references in rules and sets of a file."""
    bodies: list[object] = [each for definition in ruleset.sets for each in definition.members]
    for rule in ruleset.rules:
        bodies += [element.body for element in (*rule.left, *rule.antecedent, *rule.right)]
        bodies += [SetReference(p.name, p.module) for p in rule.consequent if isinstance(p, Drawn)]
    return set(references_in(bodies))


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
