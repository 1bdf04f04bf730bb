"""The pieces of a consequent as functions from an instance to a piece of new text.

In: a rule, once. Out: one function a piece, which gives a `Chunk`, or an `Unrendered` where an
inflection has no single form. Always holds: what a piece gives depends on its instance alone; an
optional element that matched nothing gives an empty chunk. Costs a slice an instance for copies,
a cached look-up for inflections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.engine.rewrite.spacing import is_punctuation
from sears_dsl.errors import CompileError
from sears_dsl.language.rule import Inflected, Literal, Reference, Rule, TagCopy, Text
from sears_dsl.tagging.inflection import (
    INFLECTION_TAGS,
    Inflection,
    inflect,
    inflect_like,
    keep_casing,
)
from sears_dsl.tagging.tokens import Token


class Unrendered(Enum):
    """Why an instance makes no edit.

    The two about inflection are counted by reports (`is_inflection`); a rule that would write
    what is there already is silent.
    """

    UNCHANGED = "the new text is the old one"
    AMBIGUOUS = "an inflection has more than one form"
    NO_FORM = "an inflection has no form"

    @property
    def is_inflection(self) -> bool:
        """Whether a form was missing, which reports count."""
        return self is not Unrendered.UNCHANGED


class Chunk(NamedTuple):
    """A piece of new text.

    ``tokens`` are those that it copies; ``tight`` says on which sides (left, right) punctuation
    that is kept touched its neighbours; ``as_is`` that the rule itself says its casing.
    """

    text: str
    glued: bool
    literal: bool
    tokens: TokenRange | None = None
    tight: tuple[bool, bool] = (False, False)
    as_is: bool = False


class Instance(NamedTuple):
    """What a piece is rendered from."""

    text: str
    tokens: Sequence[Token]
    binding: Binding


Part: TypeAlias = Callable[[Instance], Chunk | Unrendered]


def parts_of(rule: Rule, kept: Mapping[int, int]) -> Iterator[Part]:
    """A function for each piece of the consequent."""
    copied: dict[str, int] = {}
    for number, piece in enumerate(rule.consequent):
        match piece:
            case Text():
                yield _text_part(piece, kept.get(number))
            case TagCopy(tag):
                yield _tag_part(piece, copied.get(tag, 0))
                copied[tag] = copied.get(tag, 0) + 1
            case Reference():
                yield _reference_part(piece, _target(rule, piece))
            case Inflected():
                yield _inflected_part(piece, _target(rule, piece))


def _text_part(piece: Text, element: int | None) -> Part:
    plain = Chunk(piece.text, piece.glued, literal=True)

    def part(instance: Instance) -> Chunk:
        if element is None:
            return plain
        tokens = instance.tokens
        place = instance.binding.elements[element]
        return plain._replace(tight=(_touching(tokens, place.start), _touching(tokens, place.end)))

    return part


def _touching(tokens: Sequence[Token], place: int) -> bool:
    """Whether the tokens on both sides of a place have no white space between them."""
    return 0 < place < len(tokens) and tokens[place - 1].end == tokens[place].start


def _tag_part(piece: TagCopy, number: int) -> Part:
    def part(instance: Instance) -> Chunk:
        places = instance.binding.tags.get(piece.tag, ())
        if number >= len(places):
            return Chunk("", piece.glued, literal=False)
        place = TokenRange(places[number], places[number] + 1)
        return Chunk(_copied(instance, place), piece.glued, literal=False, tokens=place)

    return part


def _reference_part(piece: Reference, target: Callable[[Binding], TokenRange]) -> Part:
    as_is = not _CASE_FUNCTIONS.keys().isdisjoint(piece.functions)

    def part(instance: Instance) -> Chunk | Unrendered:
        place = target(instance.binding)
        word = _copied(instance, place)
        fine = instance.tokens[place.start].fine if place.start < place.end else ""
        for function in piece.functions if word else ():
            if function not in INFLECTION_TAGS:
                word = _CASE_FUNCTIONS[function](word)
                continue
            if place.end - place.start > 1:
                return Unrendered.NO_FORM
            form = inflect(word, fine, function)
            if form.unique is None:
                return _refused(form)
            word, fine = keep_casing(form.unique, word), function
        copied = place if word else None
        return Chunk(word, piece.glued, literal=False, tokens=copied, as_is=as_is)

    return part


def _inflected_part(piece: Inflected, target: Callable[[Binding], TokenRange]) -> Part:
    def part(instance: Instance) -> Chunk | Unrendered:
        place = target(instance.binding)
        if place.end - place.start != 1:
            return Unrendered.NO_FORM
        model = instance.tokens[place.start]
        form = inflect_like(piece.word, model.text, model.fine)
        if form.unique is None:
            return _refused(form)
        return Chunk(form.unique, piece.glued, literal=True)

    return part


_CASE_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "cap": lambda word: word[:1].title() + word[1:],
}


def _refused(form: Inflection) -> Unrendered:
    return Unrendered.AMBIGUOUS if form.ambiguous else Unrendered.NO_FORM


def _copied(instance: Instance, place: TokenRange) -> str:
    if place.start == place.end:
        return ""
    tokens = instance.tokens
    return instance.text[tokens[place.start].start : tokens[place.end - 1].end]


def _target(rule: Rule, piece: Reference | Inflected) -> Callable[[Binding], TokenRange]:
    """Where a binding keeps what a reference refers to."""
    target = piece.target
    if isinstance(target, str):
        return lambda binding: binding.names[target]
    if target == 0:
        return lambda binding: TokenRange(binding.start, binding.end)
    if target > len(rule.antecedent):
        raise CompileError(
            f"`${target}` refers to nothing: the antecedent has {len(rule.antecedent)} elements",
            help="elements are counted as written, a group as one",
        )
    return lambda binding: binding.elements[target - 1]


def kept_punctuation(rule: Rule) -> dict[int, int]:
    """Pieces that write punctuation of the antecedent again, and which element that is.

    Such punctuation keeps to the sides that it touched: ``What NOUN ? -> Which NOUN ?`` gives
    ``Which color?`` for ``What color?``.
    """
    if not any(isinstance(piece, Text) and is_punctuation(piece.text) for piece in rule.consequent):
        return {}
    waiting: dict[str, list[int]] = {}
    for number, element in enumerate(rule.antecedent):
        body = element.body
        once = (element.minimum, element.maximum) == (1, 1)
        if isinstance(body, Literal) and once and is_punctuation(body.text):
            waiting.setdefault(body.text, []).append(number)
    kept: dict[int, int] = {}
    for number, piece in enumerate(rule.consequent):
        if isinstance(piece, Text) and waiting.get(piece.text):
            kept[number] = waiting[piece.text].pop(0)
    return kept
