"""The sentences of a template, each computed from its number, and how slots write set members.

    template "It is {LIE} that this {CATEGORY?} movie is {GOOD}."
    slots      LIE: 2 choices   CATEGORY: 3 with none   GOOD: 2
    sentence   j = (lie * 3 + category) * 2 + good, computed from j alone

In: a template and the ruleset with its sets. Out: `Sentences`, which counts the sentences, writes
each from its number and tells whether a text is one of them. Unfit functions give `Diagnostic`s:
E350 and E351 if an inflection has several forms or none, E329 if noise can change no member.

Slots count from left to right, and the last one changes fastest. A named slot is one choice
wherever it is written, and each place applies its own functions. An empty slot goes as a rule's
deletion of its first word would (`parts`). Two choices that write the same sentence have two
numbers. A function writes a member alike in every sentence: inflections take it as a base form, and
noise is drawn by the member's own text. Costs some microseconds a member, and some 200 ns a
sentence of many, as shared parts are written only once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import label_text
from sears_dsl.engine.noise.characters import PlacedText, change_places, change_share
from sears_dsl.engine.noise.draws import FIRST_DRAW, Draw
from sears_dsl.engine.rewrite.pieces import CASE_FUNCTIONS
from sears_dsl.engine.rewrite.placing import wants_an
from sears_dsl.errors import Diagnostic, RuleSyntaxError, Span, counted
from sears_dsl.generating.parts import (
    Numbers,
    Part,
    Texts,
    between,
    blocks_of,
    ending,
    parts_of,
)
from sears_dsl.language.printer import print_slot, print_statements
from sears_dsl.language.rule import Literal, Noise, SetReference, Slot, SlotCopy, Template
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.language.words import code, print_function
from sears_dsl.tagging.inflection import Inflection, inflect, keep_casing


def set_texts(ruleset: Ruleset, reference: SetReference) -> tuple[str, ...]:
    """The texts of a set's literal members, in order, each once."""
    members = ruleset.members(reference)
    return tuple(dict.fromkeys(each.text for each in members if isinstance(each, Literal)))


def member_text(
    member: str, functions: Sequence[str | Noise], draw: Draw = FIRST_DRAW
) -> str | Inflection:
    """Return what a slot writes for a member, or an `Inflection` that has not exactly one form.

    Functions apply from left to right. "" and a text that noise cannot change stay as they are.

    Example:
        >>> member_text("watch", ["VBD", "cap"])
        'Watched'
        >>> member_text("wonderful", [Noise("swap")])
        'wonderufl'
        >>> member_text("be", ["VBD"]).forms
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
        return change_share(noise, noise.share, [instance], unit, draw)[0]
    return change_places(noise, instance, unit, draw) or text


def member_findings(template: Template, ruleset: Ruleset) -> list[Diagnostic]:
    """What is wrong with the functions of a template's slots."""
    slots = {slot.name: slot for slot in template.slots if slot.name}
    findings: list[Diagnostic] = []
    for part in template.parts:
        if isinstance(part, Slot | SlotCopy) and not set(part.functions) <= CASE_FUNCTIONS.keys():
            slot = part if isinstance(part, Slot) else slots[part.name]
            members = set_texts(ruleset, slot.reference)
            findings += (
                place_in_template(each, template, ruleset, slot=part)
                for each in _of_members(part.functions, members)
            )
    return findings


def place_in_template(
    finding: Diagnostic,
    template: Template,
    ruleset: Ruleset,
    *,
    slot: Slot | SlotCopy | None = None,
) -> Diagnostic:
    """Return the finding with its file and its place: the slot, or else the template's line."""
    source = print_statements([template]).partition("\n")[0]
    line = template.span.line if template.span is not None else 1
    shown = source if slot is None else print_slot(slot)
    start = source.index(shown) + 1
    place = Span(line, start, start + len(shown))
    return replace(finding, span=place, path=ruleset.path, source=source)


def _of_members(functions: Sequence[str | Noise], members: Sequence[str]) -> Iterator[Diagnostic]:
    for place, function in enumerate(functions):
        before = [member_text(each, functions[:place]) for each in members]
        after = [member_text(each, functions[: place + 1]) for each in members]
        if any(isinstance(text, Inflection) for text in before):
            return
        if isinstance(function, Noise):
            if function.share is None and before == after:
                yield Diagnostic(
                    "E329",
                    f"{code('.' + print_function(function))} can change no character of "
                    f"{', '.join(map(code, members))}",
                    help="use another function or other words",
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


_BASE, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
# The ending of a text of which nothing counts; and the first text, for all sentences.
_ANY, _FIRST = "", np.zeros(1, np.int64)


@dataclass(frozen=True, slots=True)
class Choice:
    """A slot and its members before functions, with "" first if the slot may be empty.

    Its column in a table has the name of the slot, or else of its set. From the second column of
    the same name on, a number is appended.
    """

    column: str
    slot: Slot
    members: tuple[str, ...]


class Sentences:
    """The sentences of one template, whose sets in the ruleset have only literal members."""

    def __init__(self, template: Template, ruleset: Ruleset, draw: Draw = FIRST_DRAW) -> None:
        if findings := member_findings(template, ruleset):
            raise RuleSyntaxError(findings)
        self.template = template
        self._draw = draw
        self.choices = tuple(_choices(template, ruleset))
        sizes = [len(choice.members) for choice in self.choices]
        self._count = prod(sizes)
        self._strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> str:
        """The sentence of a number, which counts from 0."""
        if not 0 <= number < self._count:
            raise IndexError(f"sentence {number} of {self._count}")
        text: str = self.texts(np.array([number]))[0]
        return text

    def __iter__(self) -> Iterator[str]:
        for first in range(0, self._count, 1 << 16):
            yield from self.texts(np.arange(first, min(first + (1 << 16), self._count))).tolist()

    def __contains__(self, text: object) -> bool:
        """Whether a text is one of the sentences."""
        if not isinstance(text, str):
            return False
        # Different texts may have equal marks, so the texts decide.
        return text in self.texts(np.flatnonzero(self.marks == _mark(text)[0]))

    @property
    def label(self) -> str:
        """The label of the template, as models and data have it: 1.0 is 1."""
        return label_text(self.template.metadata.label) or ""

    @property
    def may_be_blank(self) -> bool:
        """Whether one of the sentences is empty or only white space."""
        if any(part.place is None and part.texts[0] for part in self._parts) or not all(
            any(not member.strip() for member in choice.members) for choice in self.choices
        ):
            return False
        return any(not text.strip() for text in self)

    def members(self, numbers: Numbers) -> list[tuple[list[str], Numbers]]:
        """For each slot, its members as written, and the index of the one that each sentence has.

        A slot that may be empty has "" among its members.
        """
        return [
            (self._formed(choice, choice.slot.functions).tolist(), which)
            for choice, which in zip(self.choices, self._digits(numbers).values(), strict=True)
        ]

    def texts(self, numbers: Numbers) -> Texts:
        """The sentences of these numbers, in the same order."""
        return self._joined(self._blocks, self._digits(numbers), len(numbers))

    @cached_property
    def distinct(self) -> Numbers:
        """The numbers of the sentences that no smaller number writes, in ascending order."""
        order = np.argsort(self.marks)
        same = np.flatnonzero(self.marks[order[1:]] == self.marks[order[:-1]])
        if not len(same):
            return np.arange(self._count)
        # Different texts may have equal marks, so the texts decide.
        alike = np.unique(order[np.concatenate([same, same + 1])])
        first: dict[str, int] = {}
        for number, text in zip(alike.tolist(), self.texts(alike), strict=True):
            first.setdefault(text, number)
        again = np.setdiff1d(alike, np.fromiter(first.values(), np.int64, len(first)))
        return np.setdiff1d(np.arange(self._count), again, assume_unique=True)

    @cached_property
    def marks(self) -> NDArray[np.uint64]:
        """A 64-bit hash of each sentence, which depends on its text and not on the choices.

        The hash reads the characters as the digits of a number to a large odd base, modulo 2**64.
        """
        marks = np.zeros(self._count, np.uint64)
        digits = self._digits(np.arange(self._count))
        for block in self._blocks:
            for rows, texts, which in self._written(block, digits, self._count):
                bits, powers = np.array([_mark(text) for text in texts], np.uint64).T
                marks[rows] = marks[rows] * powers[which] + bits[which]
        return marks

    def _formed(self, choice: Choice, functions: Sequence[str | Noise]) -> Texts:
        """The members of a choice after the functions of one place where it is written."""
        formed = np.empty(len(choice.members), object)
        formed[:] = [member_text(each, functions, self._draw) for each in choice.members]
        return formed

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        place_of = {choice.slot.name: place for place, choice in enumerate(self.choices)}
        numbers = iter(range(len(self.choices)))

        def part_of(slot: Slot | SlotCopy) -> Part:
            place = next(numbers) if isinstance(slot, Slot) else place_of[slot.name]
            choice = self.choices[place]
            return Part("", self._formed(choice, slot.functions), place, choice.slot.optional)

        return parts_of(self.template.parts, part_of)

    @cached_property
    def _blocks(self) -> tuple[tuple[int, int], ...]:
        return tuple(blocks_of(self._parts))

    @cached_property
    def _endings(self) -> list[tuple[tuple[str, ...], Numbers]]:
        """For each part, the different endings of its texts, and which of them each text has."""
        endings = []
        for part in self._parts:
            numbers: dict[str, int] = {}
            of_texts = [numbers.setdefault(ending(text), len(numbers)) for text in part.texts]
            endings.append((tuple(numbers), np.array(of_texts, np.int64)))
        return endings

    def _digits(self, numbers: Numbers) -> dict[int, Numbers]:
        """For each choice, by its place, the index of the member that each sentence has."""
        return {
            place: numbers // self._strides[place] % len(choice.members)
            for place, choice in enumerate(self.choices)
        }

    def _joined(
        self, blocks: Sequence[tuple[int, int]], digits: Mapping[int, Numbers], count: int
    ) -> Texts:
        """Join blocks into `count` texts; `digits` has each slot's member for each of them."""
        places = list(self._places(blocks))
        sizes = [len(self.choices[place].members) for place in places]
        distinct = prod(sizes)
        if distinct < count:
            which = np.zeros(count, np.int64)
            for place, size in zip(places, sizes, strict=True):
                which = which * size + digits[place]
            indexes = np.unravel_index(np.arange(distinct), sizes) if sizes else ()
            return self._joined(blocks, dict(zip(places, indexes, strict=True)), distinct)[which]
        if len(blocks) > 1:
            half = len(blocks) // 2
            left, right = (
                self._joined(some, digits, count) for some in (blocks[:half], blocks[half:])
            )
            joined: Texts = left + right
            return joined
        texts: Texts = np.full(count, "", object)
        for rows, written, which in self._written(blocks[0], digits, count):
            texts[rows] += np.array(written, object)[which]
        return texts

    def _places(self, blocks: Sequence[tuple[int, int]]) -> dict[int, None]:
        """The choices that decide what blocks write."""
        places: dict[int, None] = {}
        for first, last in blocks:
            low = first if last - first > 1 and len(self._endings[first][0]) > 1 else first + 1
            parts = self._parts[low : last + 1]
            places |= dict.fromkeys(part.place for part in parts if part.place is not None)
        return places

    def _written(
        self, block: tuple[int, int], digits: Mapping[int, Numbers], count: int
    ) -> Iterator[tuple[Numbers | slice, list[str], Numbers]]:
        """What a block adds to texts, in turn: to which of them, some texts, and which of these."""
        first, stop = block
        if stop - first == 1:
            yield slice(None), *self._between(first, stop, digits, slice(None))
            return
        last = np.full(count, first)
        for at in range(first + 1, stop + 1):
            part = self._parts[at]
            is_there = np.ones(count, np.bool_)
            if part.optional and part.place is not None:
                is_there = digits[part.place] != 0
            for before in range(first, at):
                rows = np.flatnonzero(is_there & (last == before))
                if len(rows):
                    yield rows, *self._between(before, at, digits, rows)
            last[is_there] = at

    def _between(
        self, before: int, at: int, digits: Mapping[int, Numbers], rows: Numbers | slice
    ) -> tuple[list[str], Numbers]:
        """What a part and all that stands between it and one before may be; and what it is."""
        first, *_, part = parts = self._parts[before : at + 1]
        ends, end_of = self._endings[before] if len(parts) > 2 else ((_ANY,), _FIRST)
        texts = [between(parts, end, text) + text for end in ends for text in part.texts]
        which = _FIRST if part.place is None else digits[part.place][rows]
        if len(ends) > 1 and first.place is not None:
            which = which + end_of[digits[first.place][rows]] * len(part.texts)
        return texts, which


def _mark(text: str) -> tuple[int, int]:
    """The 64-bit hash of a text, and the base to the power of its length; both modulo 2**64."""
    mark, power = 0, 1
    for character in text:
        mark, power = (mark * _BASE + ord(character) + 1) & _MASK, (power * _BASE) & _MASK
    return mark, power


def _choices(template: Template, ruleset: Ruleset) -> Iterator[Choice]:
    names = [slot.name or slot.reference.name for slot in template.slots]
    columns: list[str] = []
    for slot, name in zip(template.slots, names, strict=True):
        column, number = name, 1
        while column in columns or (number > 1 and column in names):
            number += 1
            column = f"{name}_{number}"
        columns.append(column)
        texts = set_texts(ruleset, slot.reference)
        yield Choice(column, slot, ("", *texts) if slot.optional else texts)


class Contradiction(NamedTuple):
    """A sentence that two templates write with different labels, by their places."""

    text: str
    one: int
    other: int


def contradictions(
    templates: Sequence[Sentences], numbers: Sequence[Numbers]
) -> list[Contradiction]:
    r"""Sentences that have different labels, each once, among those of each template's numbers.

    If more than two templates write one, it comes with two of them whose labels differ.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> fine = [f'template {each}: "Fine{{M}}"\n  label: {each}' for each in ("so", "no")]
        >>> rules = parse("\n".join(['set M = "." | "!"', *fine]))
        >>> both = [Sentences(each, rules) for each in rules.templates]
        >>> contradictions(both, [np.array([0, 1]), np.array([1])])
        [Contradiction(text='Fine!', one=0, other=1)]
    """
    labels = [each.label for each in templates]
    if len(set(labels)) < 2:
        return []
    label_of = np.unique(labels, return_inverse=True)[1]
    owners = np.repeat(np.arange(len(templates)), [len(some) for some in numbers])
    marks = np.concatenate(
        [each.marks[some] for each, some in zip(templates, numbers, strict=True)]
    )
    order = np.argsort(marks, kind="stable")
    pairs = np.stack([order[:-1], order[1:]])
    alike = marks[pairs[0]] == marks[pairs[1]]
    pairs = pairs[:, alike & np.diff(label_of[owners[pairs]], axis=0)[0].astype(np.bool_)]
    pairs = pairs[:, np.argsort(pairs[1])]
    places, paired = owners[pairs], np.concatenate(numbers)[pairs]
    texts: Texts = np.empty(pairs.shape, object)
    for place in np.unique(places).tolist():
        own = places == place
        texts[own] = templates[place].texts(paired[own])
    both = zip(*texts.tolist(), *places.tolist(), strict=True)
    named: dict[str, Contradiction] = {}
    for text, same, one, other in both:
        if text == same:  # different texts may have equal marks
            named.setdefault(text, Contradiction(text, one, other))
    return list(named.values())


def template_findings(ruleset: Ruleset) -> list[Diagnostic]:
    """What is wrong with the sentences of a ruleset's templates."""
    findings: list[Diagnostic] = []
    written: list[tuple[str, Sentences]] = []
    for name, template in ruleset.named_templates:
        try:
            sentences = Sentences(template, ruleset)
        except RuleSyntaxError as error:
            findings += error.diagnostics
            continue
        written.append((name, sentences))
        repeated = len(sentences) - len(sentences.distinct)
        if repeated:
            finding = Diagnostic(
                "W621",
                f"a template writes the same sentence twice: {repeated:,} of {len(sentences):,}",
                help="each is generated once; take a slot that may be empty only once, or name it",
            )
            findings.append(place_in_template(finding, template, ruleset))
        if sentences.may_be_blank:
            finding = Diagnostic(
                "W623",
                "a template writes an empty sentence",
                help="write words around its slots, or let one slot always have a word",
            )
            findings.append(place_in_template(finding, template, ruleset))
    return findings + _contradictory(written, ruleset)


def _contradictory(written: Sequence[tuple[str, Sentences]], ruleset: Ruleset) -> list[Diagnostic]:
    """W627 for two templates that write one sentence with different labels, once a sentence."""
    templates = [sentences for _, sentences in written]
    of_pairs: dict[tuple[int, int], list[str]] = {}
    for text, one, other in contradictions(templates, [each.distinct for each in templates]):
        of_pairs.setdefault((one, other), []).append(text)
    findings = []
    for (one, other), texts in sorted(of_pairs.items()):
        finding = Diagnostic(
            "W627",
            f"{code(written[one][0])} also writes {counted(len(texts), 'sentence')} of this "
            f"template, with the label {templates[one].label}: {code(texts[0])}",
            help="reword one of the two, or take the words that meet out of a set",
        )
        findings.append(place_in_template(finding, templates[other].template, ruleset))
    return findings


_BEFORE_SLOT = re.compile(r"(?<![\w'’-])(an?)\s+[(\[\"'“‘]*$", re.IGNORECASE)
_FIRST_WORD = re.compile(r"[^\W_]+")
# How many odd articles a note names.
_NAMED = 3


def odd_articles(rulesets: Sequence[Ruleset]) -> list[str]:
    r"""`a` before members that want `an`, and the other way round, as templates write them.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> odd_articles([parse('set WHO = woman | artist\ntemplate "I am a {WHO}."\n  label: ok')])
        ['a artist']
    """
    odd: dict[str, None] = {}
    for ruleset in rulesets:
        parts = (pairwise(each.parts) for each in ruleset.templates)
        for before, slot in chain.from_iterable(parts) if ruleset.options.language == "en" else ():
            article = _BEFORE_SLOT.search(before) if isinstance(before, str) else None
            if article is not None and isinstance(slot, Slot):
                for member in set_texts(ruleset, slot.reference):
                    word = _FIRST_WORD.match(member)
                    if word and wants_an(word[0]) != (len(article[1]) > 1):
                        odd[f"{article[1]} {member}"] = None
    return list(odd)


def note_on_articles(rulesets: Sequence[Ruleset]) -> str:
    """Return a note on odd articles, without a full stop, or "" if there are none."""
    odd = odd_articles(rulesets)
    if not odd:
        return ""
    more = ", …" if odd[_NAMED:] else ""
    return (
        f"templates write {', '.join(map(repr, odd[:_NAMED]))}{more}: articles are not adapted, so "
        "choose members that all take the same article"
    )
