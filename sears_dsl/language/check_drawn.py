"""Noise, drawn sets and templates → findings about what is drawn, looked up or generated.

In: rules that write noise or members of sets, and templates; other rules need not come here. Out:
E325 (`<unit>` beside something), E327 (a function that needs one token, or a whole unit), E330 (a
member that is to be written and has no text), W605 (look-alikes of look-alikes), W619 (a share of
one instance), W620 (noise before rules that read). Always holds: a template without errors has a
label, its sets exist, and it writes at most a million sentences, and all templates of a file at
most five million. What needs the table of look-alikes is reported when a rule is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from math import prod

from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import draws, every_element, is_unit, longest, noise_in, shortest
from sears_dsl.language.printer import print_test
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import code, nearest

MOST_SENTENCES = 1_000_000
"""How many sentences a template may stand for."""
MOST_OF_FILE = 5_000_000
"""The same for all templates of a file, since drawing some sentences numbers all of them."""
_LOOKED_UP = {"neighbor", "paraphrase"}


def check_template(template: syntax.Template, scope: syntax.RuleScope) -> Iterator[Diagnostic]:
    """What is wrong with the label and the names of one template."""
    if template.metadata.label is None:
        advice = "give its sentences a label: `label: positive`, indented below the template"
        yield Diagnostic("E321", "this template has no label", template.span, advice)
    named = [slot.name for slot in template.slots if slot.name]
    names = set()
    for part in template.parts:
        if isinstance(part, syntax.SlotCopy) and part.name not in names:
            message = f"{code(f'{{${part.name}}}')} refers to nothing"
            yield Diagnostic("E209", message, part.span, _named_before(part.name, template, named))
        if not isinstance(part, str):
            yield from _lookups(part)
        if not isinstance(part, syntax.Slot):
            continue
        if part.name in names:
            advice = f"rename one; to repeat the same choice, write {code(f'{{${part.name}}}')}"
            yield Diagnostic("E215", f"two slots are named `{part.name}`", part.span, advice)
        if part.name:
            names.add(part.name)
        try:
            scope.members(part.reference)
        except KeyError:
            yield _unknown(part, scope, names)


def _named_before(name: str, template: syntax.Template, named: Sequence[str]) -> str:
    """How to write the slot that a copy repeats."""
    for slot in template.slots:
        if name == slot.reference.name and not slot.name:
            first = code(f"{{one:{slot.reference.full_name}}}")
            return f"to repeat a slot, name it: {first}, and then write `{{$one}}`"
    if named and name not in named:
        return nearest(name, named)
    return f"the slot that it repeats must come before it: {code(f'{{{name}:SET}}')}"


def _unknown(slot: syntax.Slot, scope: syntax.RuleScope, named: Set[str]) -> Diagnostic:
    """The error for a slot without a set; `{DEGREE.capp}` has a set, but no such function."""
    sets = scope.set_names()
    if slot.reference.module in sets:
        what = f"`.{slot.reference.name}` is not a function"
        return Diagnostic("E208", what, slot.span, nearest(slot.reference.name, syntax.FUNCTIONS))
    name = slot.reference.full_name
    again = f"to repeat that slot, write {code(f'{{${name}}}')}" if name in named else ""
    return Diagnostic("E206", f"there is no set `{name}`", slot.span, again or nearest(name, sets))


def _lookups(part: syntax.Slot | syntax.SlotCopy) -> Iterator[Diagnostic]:
    """Errors for functions that look up a word or a text, which a template does not have."""
    for function in part.functions:
        if isinstance(function, syntax.Noise) and function.kind in _LOOKED_UP:
            anything = "movie" if function.kind == "neighbor" else "<unit>"
            rule = code(f"{anything} -> $0.{function.kind}")
            yield Diagnostic(
                "E327",
                f"`.{function.kind}` is not allowed in a slot, which holds words and no text",
                part.span,
                f"run `sears generate`, then `sears apply` with a rule: {rule}",
            )


def text_findings(ruleset: Ruleset) -> Iterator[Diagnostic]:
    """Members without text of sets that are written, and more sentences than there may be."""
    for rule in ruleset.rules:
        for piece in rule.consequent:
            if isinstance(piece, syntax.Drawn):
                yield from _textless(ruleset, piece.reference, piece.span or rule.span)
    counts = []
    for template in ruleset.templates:
        sizes = []
        for slot in template.slots:
            yield from _textless(ruleset, slot.reference, slot.span)
            members = ruleset.members(slot.reference)
            texts = {each.text for each in members if isinstance(each, syntax.Literal)}
            sizes.append(len(texts) + slot.optional)
        counts.append(count := prod(sizes))
        if count > MOST_SENTENCES:
            message = f"this template stands for {count:,} sentences"
            advice = f"at most {MOST_SENTENCES:,} are allowed; shorten its sets or split it"
            yield Diagnostic("E324", message, template.span, advice)
    total = sum(counts)
    if total > MOST_OF_FILE and max(counts) <= MOST_SENTENCES:
        message = f"the templates of this file stand for {total:,} sentences"
        advice = (
            f"at most {MOST_OF_FILE:,} are allowed; shorten their sets or move some to another file"
        )
        yield Diagnostic("E324", message, ruleset.templates[-1].span, advice)


def _textless(
    ruleset: Ruleset, reference: syntax.SetReference, span: Span | None
) -> Iterator[Diagnostic]:
    """E330: a set is written, and one of its members has no text."""
    members = ruleset.members(reference)
    test = next((each for each in members if not isinstance(each, syntax.Literal)), None)
    if test is not None:
        message = (
            f"{code(print_test(test, place='group'))} in the set `@{reference.name}` is a test and "
            "has no text to write"
        )
        advice = "a set that is written needs words or quoted text: `set NAME = good | nice`"
        yield Diagnostic("E330", message, span, advice)


# ---------------------------------------------------------------- noise


def check_noise(rule: syntax.Rule) -> Iterator[Diagnostic]:
    """What is wrong with the noise in a rule."""
    yield from _units(rule)
    for piece in rule.consequent:
        if isinstance(piece, syntax.Reference):
            yield from _functions(rule, piece)
    if rule.metadata.rate is not None and _stands_in_one_place(rule):
        message = "this rule has one instance per unit, and `rate` applies to that one alone"
        advice = "remove the `rate` line or the anchor"
        yield Diagnostic("W619", message, rule.span, advice)


def chain_findings(rulesets: Sequence[syntax.RuleSource]) -> list[Diagnostic]:
    """W620: rules of a chain that change characters before others that read words or tags."""
    noise: syntax.Rule | None = None
    for ruleset in rulesets:
        for name, rule in zip(ruleset.rule_ids, ruleset.rules, strict=True):
            changes_characters = noise_in(rule) - _LOOKED_UP
            # Rules about any tokens or whole units read no words or tags.
            bodies = (element.body for element in rule.elements)
            takes_any = all(isinstance(each, syntax.Wildcard | syntax.WholeUnit) for each in bodies)
            if noise is not None and not takes_any:
                message = f"rule {name} comes after rules that change characters"
                advice = (
                    "it adds noise to noise; for one kind alone, use a file with only its rule"
                    if changes_characters
                    else "it sees changed words; move the noise to the end"
                )
                return [Diagnostic("W620", message, help=advice, path=ruleset.path)]
            if changes_characters:
                noise = rule
    return []


def _units(rule: syntax.Rule) -> Iterator[Diagnostic]:
    for element in every_element(rule):
        if not isinstance(element.body, syntax.WholeUnit):
            continue
        plain = (element.minimum, element.maximum) == (1, 1)
        if len(rule.elements) > 1 or rule.antecedent != (element,) or not plain:
            message = "`<unit>` has something beside it"
            advice = "it must be the whole antecedent, without a context: `<unit> -> $0.paraphrase`"
            yield Diagnostic("E325", message, element.span or rule.span, advice)


def _functions(rule: syntax.Rule, piece: syntax.Reference) -> Iterator[Diagnostic]:
    kinds = {function.kind for function in piece.functions if isinstance(function, syntax.Noise)}
    if "paraphrase" in kinds and not is_unit(rule):
        yield Diagnostic(
            "E327",
            "`.paraphrase` needs a whole unit",
            piece.span or rule.span,
            "write `<unit> -> $0.paraphrase`; `option unit = sentence` makes each sentence one",
        )
    for one, other in pairwise(piece.functions):
        if one == other and isinstance(one, syntax.Noise) and one.kind == "homoglyph":
            message = "the second `.homoglyph` turns back what the first one changed"
            yield Diagnostic("W605", message, piece.span or rule.span, "remove one of them")
    if "neighbor" in kinds and _most_tokens(rule, piece.target) > 1:
        message = f"`.neighbor` needs one token, but `${piece.target}` can be several"
        advice = "name the word inside: `(DET? x:NOUN) -> $x.neighbor`"
        yield Diagnostic("E327", message, piece.span or rule.span, advice)


def _most_tokens(rule: syntax.Rule, target: int | str) -> int:
    """Most tokens that a reference can stand for; 1 if it refers to nothing."""
    if target == 0:
        return sum(map(longest, rule.antecedent))
    if isinstance(target, int):
        return longest(rule.antecedent[target - 1]) if target <= len(rule.antecedent) else 1
    return next((longest(each) for each in every_element(rule) if each.name == target), 1)


def _stands_in_one_place(rule: syntax.Rule) -> bool:
    """Whether a rule that draws nothing but its instances can have at most one in a unit."""
    drawn = syntax.Rule(rule.antecedent, rule.consequent)
    if draws(drawn):
        return False
    # What stands between an anchor and the instance keeps it in place if it has one length.
    contexts = (rule.left, rule.right)
    fixed = [part for part in contexts if all(shortest(each) == longest(each) for each in part)]
    beside = (each.body for part in (rule.antecedent, *fixed) for each in part)
    return is_unit(rule) or any(isinstance(body, syntax.Anchor) for body in beside)
