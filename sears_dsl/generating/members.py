"""Members of sets in slots: what they become by the functions that are written there.

In: a template with its sets, a draw. Out: texts of members, or `Diagnostic`s: E350 and E351 for
members without the inflection that is asked for, E329 for noise that changes none of them. Always
holds: a member becomes the same in every sentence, so that a sentence is computed from its number
alone: inflections take it as a base form, noise is drawn by its own text. Costs some microseconds
a member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sears_dsl.engine.noise.characters import PlacedText, changed, shared
from sears_dsl.engine.noise.draws import FIRST_DRAW, Draw
from sears_dsl.engine.rewrite.casing import CASE_FUNCTIONS
from sears_dsl.errors import Diagnostic, Span
from sears_dsl.language.amounts import print_function
from sears_dsl.language.printer import print_slot, print_statements
from sears_dsl.language.rule import Literal, Noise, SetReference, Slot, SlotCopy, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import code
from sears_dsl.tagging.inflection import Inflection, inflect, keep_casing


def set_texts(ruleset: Ruleset, reference: SetReference) -> tuple[str, ...]:
    """The texts of a set's literal members, in order, each once."""
    members = ruleset.members(reference)
    return tuple(dict.fromkeys(each.text for each in members if isinstance(each, Literal)))


def written_member(
    member: str, functions: Sequence[str | Noise], draw: Draw = FIRST_DRAW
) -> str | Inflection:
    """What stands in a slot for a member; the forms of an inflection that has not just one.

    Args:
        member: as the set has it; "" stays empty.
        functions: left to right; a text in which nothing can change stays as it is.

    Example:
        >>> written_member("watch", ["VBD", "cap"])
        'Watched'
        >>> written_member("wonderful", [Noise("swap")])
        'wonderufl'
        >>> written_member("be", ["VBD"]).forms
        ('was', 'were')
    """
    text = member
    for function in functions if member else ():
        if isinstance(function, Noise):
            text = _noisy(text, function, member, draw)
        elif function in CASE_FUNCTIONS:
            text = CASE_FUNCTIONS[function](text)
        else:
            form = inflect(text, None, function) if text.split() == [text] else Inflection(())
            if form.unique is None:
                return form
            text = keep_casing(form.unique, text)
    return text


def _noisy(text: str, noise: Noise, unit: str, draw: Draw) -> str:
    instance = PlacedText(0, text)
    if noise.share is not None:
        return shared(noise, noise.share, [instance], unit, draw)[0]
    return changed(noise, instance, unit, draw) or text


def member_findings(template: Template, ruleset: Ruleset) -> list[Diagnostic]:
    """What is wrong with the functions of a template's slots."""
    slots = {slot.name: slot for slot in template.slots if slot.name}
    findings: list[Diagnostic] = []
    for part in template.parts:
        if isinstance(part, Slot | SlotCopy) and not set(part.functions) <= CASE_FUNCTIONS.keys():
            slot = part if isinstance(part, Slot) else slots[part.name]
            members = set_texts(ruleset, slot.reference)
            findings += (
                of_template(each, template, ruleset, slot=part)
                for each in _of_members(part.functions, members)
            )
    return findings


def of_template(
    finding: Diagnostic,
    template: Template,
    ruleset: Ruleset,
    *,
    slot: Slot | SlotCopy | None = None,
) -> Diagnostic:
    """The finding with its file, its line and, as the place, a slot or the whole template."""
    source = print_statements([template]).partition("\n")[0]
    line = template.span.line if template.span is not None else 1
    shown = source if slot is None else print_slot(slot)
    start = source.index(shown) + 1
    place = Span(line, start, start + len(shown))
    return replace(finding, span=place, path=ruleset.path, source=source)


def _of_members(functions: Sequence[str | Noise], members: Sequence[str]) -> Iterator[Diagnostic]:
    for place, function in enumerate(functions):
        before = [written_member(each, functions[:place]) for each in members]
        after = [written_member(each, functions[: place + 1]) for each in members]
        if any(isinstance(text, Inflection) for text in before):
            return
        if isinstance(function, Noise):
            if function.share is None and before == after:
                yield Diagnostic(
                    "E329",
                    f"no character of {', '.join(map(code, members))} can change by "
                    f"{code('.' + print_function(function))}",
                    help="take another function, or other words",
                )
            continue
        for member, text in zip(members, after, strict=True):
            if not isinstance(text, Inflection):
                continue
            if text.ambiguous:
                forms = ", ".join(text.forms)
                number, message = "E350", f"has more than one form for {function}: {forms}"
            else:
                number, message = "E351", f"has no form for {function}"
            advice = "members are single words in their base form here; write the forms into a set"
            yield Diagnostic(number, f"{code(member)} {message}", help=f"{advice} of their own")
