"""Templates → what is wrong with what they mean.

Always holds: a template without errors has a label, finds its sets, and writes at most a million
sentences, those of a file at most five million together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from sears_dsl.errors import Diagnostic
from sears_dsl.language.printer import print_test
from sears_dsl.language.rule import FUNCTIONS, Literal, Noise, RuleScope, Slot, SlotCopy, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.usage import textless
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
