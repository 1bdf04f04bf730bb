"""The pieces of a consequent as functions from an instance to a piece of new text.

In: a rule, once. Out: a function for each piece, which gives a `Chunk`, or an `Unrendered` if the
piece cannot be rendered. Always holds: what a piece gives depends on its instance alone; an
optional element that matched nothing gives an empty chunk. Costs, for each instance, a slice for a
copy, a cached look-up for an inflection, and some random numbers for what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.engine.noise import draws
from sears_dsl.engine.noise.characters import PlacedText, change_places
from sears_dsl.engine.noise.draws import FIRST_DRAW, Draw, below
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.rewrite.placing import PRONOUN, Unrendered
from sears_dsl.engine.rewrite.spacing import OPENING_MARKS, QUOTES
from sears_dsl.errors import CompileError
from sears_dsl.language import rule as syntax
from sears_dsl.language.measure import every_element
from sears_dsl.language.rule import Noise, Reference, Rule, RuleScope, Text
from sears_dsl.tagging import inflection
from sears_dsl.tagging.tokens import Token, touching


class Chunk(NamedTuple):
    """A piece of new text.

    ``tokens`` are those that it copies. ``tight`` says on which sides (left, right) no space goes,
    since a mark touched its neighbour there. ``as_is`` says that the rule itself sets the casing.
    """

    text: str
    glued: bool
    literal: bool
    tokens: TokenRange | None = None
    tight: tuple[bool, bool] = (False, False)
    as_is: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """What noise is made from in one unit."""

    draw: Draw = FIRST_DRAW  # seed of the run and of the rule, and number of the draw
    sources: Sources = NO_SOURCES  # vectors and paraphrases
    # Key of a `NoiseCall` → place of an instance → new text that was worked out before. A function
    # with a share that has none here is only asked whether anything in the instance can change, so
    # it changes all that can.
    written: Mapping[tuple[int, int], Mapping[int, str]] = field(default_factory=dict, hash=False)


# Functions that look their text up, instead of changing characters.
_LOOKED_UP = frozenset({"neighbor", "paraphrase"})

UNDRAWN = Drawing()
"""Seed 0, and nothing to look up in."""


class Instance(NamedTuple):
    """What a piece is rendered from."""

    text: str
    tokens: Sequence[Token]
    binding: Binding
    drawing: Drawing = UNDRAWN

    @property
    def place(self) -> int:
        """The first character of the instance in its unit; for an insertion, where it goes."""
        tokens, start = self.tokens, self.binding.start
        if start < len(tokens):
            return tokens[start].start
        return tokens[-1].end if tokens else 0


Part: TypeAlias = Callable[[Instance], Chunk | Unrendered]


def in_place(rule: Rule) -> Noise | None:
    """The function that changes characters of the span, if the rule does nothing else; or None.

    The rule then looks at nothing around the span: no space, no mark and no capital.
    """
    if len(rule.consequent) != 1:
        return None
    [piece] = rule.consequent
    if not isinstance(piece, Reference) or len(piece.functions) != 1 or piece.glued:
        return None
    [function] = piece.functions
    if not isinstance(function, Noise) or function.kind in _LOOKED_UP:
        return None
    is_whole = piece.target == 0 or (
        len(rule.antecedent) == 1 and piece.target in {1, rule.antecedent[0].name}
    )
    return function if is_whole else None


class NoiseCall(NamedTuple):
    """A function of a rule that changes characters of what it is given."""

    key: tuple[int, int]  # the number of its piece, and its own number there
    noise: Noise  # what it does
    before: Reference  # what it is given: its reference, with the functions before it
    target: Callable[[Binding], TokenRange]  # the tokens that this refers to

    def input_of(self, instance: Instance) -> str | Unrendered:
        """What it is given in an instance."""
        return _referred(instance, self.before, self.target(instance.binding), self.key[0])


def noise_calls(rule: Rule) -> Iterator[NoiseCall]:
    """The functions of a rule that change characters, in the order in which they are applied."""
    for piece_number, piece in enumerate(rule.consequent):
        if not isinstance(piece, Reference):
            continue
        for place, function in enumerate(piece.functions):
            if isinstance(function, Noise) and function.kind not in _LOOKED_UP:
                before = Reference(piece.target, piece.functions[:place])
                yield NoiseCall((piece_number, place), function, before, _target(rule, piece))


def sets_casing(piece: Reference) -> bool:
    """Whether a reference says how what it copies is cased, so that this is written as it is."""
    return any(isinstance(each, Noise) or each in CASE_FUNCTIONS for each in piece.functions)


def parts_of(rule: Rule, scope: RuleScope, punctuation: Mapping[int, int]) -> Iterator[Part]:
    """A function for each piece of the consequent."""
    copied: dict[str, int] = {}
    for number, piece in enumerate(rule.consequent):
        match piece:
            case Text():
                yield _text_part(piece, punctuation.get(number))
            case syntax.TagCopy(tag):
                yield _tag_part(piece, copied.get(tag, 0))
                copied[tag] = copied.get(tag, 0) + 1
            case Reference():
                yield _reference_part(piece, _target(rule, piece), number)
            case syntax.Inflected():
                yield _inflected_part(piece, _target(rule, piece))
            case syntax.Drawn():
                yield _drawn_part(piece, rule, scope, number)


def _text_part(piece: Text, element: int | None) -> Part:
    plain = Chunk(piece.text, piece.glued, literal=True)

    def part(instance: Instance) -> Chunk:
        if element is None:
            return plain
        tokens = instance.tokens
        place = instance.binding.elements[element]
        return plain._replace(tight=(touching(tokens, place.start), touching(tokens, place.end)))

    return part


def _opens(tokens: Sequence[Token], place: TokenRange) -> bool:
    """Whether copied tokens end with a bracket or a quote that opens what touches it."""
    last = tokens[place.end - 1].text
    if last not in OPENING_MARKS and last not in QUOTES:
        return False
    touches = touching(tokens, place.end)
    return touches and (last in OPENING_MARKS or not touching(tokens, place.end - 1))


def _tag_part(piece: syntax.TagCopy, number: int) -> Part:
    def part(instance: Instance) -> Chunk:
        places = instance.binding.tags.get(piece.tag, ())
        if number >= len(places):
            return Chunk("", piece.glued, literal=False)
        place = TokenRange(places[number], places[number] + 1)
        word, tight = _copied(instance, place), (False, _opens(instance.tokens, place))
        return Chunk(word, piece.glued, literal=False, tokens=place, tight=tight)

    return part


def _reference_part(
    piece: Reference, target: Callable[[Binding], TokenRange], piece_number: int
) -> Part:
    as_is = sets_casing(piece)

    def part(instance: Instance) -> Chunk | Unrendered:
        place = target(instance.binding)
        word = _referred(instance, piece, place, piece_number)
        if isinstance(word, Unrendered):
            return word
        copied = place if word else None
        tight = (False, copied is not None and _opens(instance.tokens, place))
        return Chunk(word, piece.glued, literal=False, tokens=copied, tight=tight, as_is=as_is)

    return part


def _referred(
    instance: Instance, piece: Reference, place: TokenRange, piece_number: int
) -> str | Unrendered:
    """The text that a reference stands for in an instance, with its functions applied."""
    word = _copied(instance, place)
    fine = instance.tokens[place.start].fine if place.start < place.end else ""
    for position, function in enumerate(piece.functions if word else ()):
        if isinstance(function, Noise):
            noisy = _noisy(instance, function, word, (piece_number, position))
            if isinstance(noisy, Unrendered):
                return noisy
            word = noisy
            continue
        if function not in inflection.INFLECTION_TAGS:
            word = CASE_FUNCTIONS[function](word)
            continue
        if place.end - place.start > 1:
            return Unrendered.NO_FORM
        form = inflection.inflect(word, fine, function)
        if form.unique is None:
            return _refused(form)
        word, fine = inflection.keep_casing(form.unique, word), function
    return word


def _noisy(instance: Instance, noise: Noise, word: str, call: tuple[int, int]) -> str | Unrendered:
    """A word or text with a function applied that writes noise."""
    drawing = instance.drawing
    if noise.kind == "neighbor":
        return drawing.sources.neighbor(word) or Unrendered.NO_NEIGHBOR
    if noise.kind == "paraphrase":
        return drawing.sources.paraphrase(word) or Unrendered.NO_PARAPHRASE
    written = drawing.written.get(call, {}).get(instance.place)
    if written is not None:
        return written
    if noise.share is not None:
        noise = Noise(noise.kind, places=len(word))
    placed_text = PlacedText(instance.place, word)
    return change_places(noise, placed_text, instance.text, drawing.draw) or word


def _drawn_part(piece: syntax.Drawn, rule: Rule, scope: RuleScope, piece_number: int) -> Part:
    reference = piece.reference
    tests = scope.members(reference)
    members = [test.text for test in tests if isinstance(test, syntax.Literal)]
    if not members or len(members) < len(tests):
        raise CompileError(
            f"the set `@{reference.name}` has members that are not text, which cannot be written",
            help="a set that is written needs words or quoted text: `set NAME = good | nice`",
        )
    name = reference.full_name
    # The elements of the rule that are this set, by their numbers in the antecedent and by names.
    places = [n for n, element in enumerate(rule.antecedent) if element.body == reference]
    elements = (each for each in every_element(rule) if each.body == reference)
    names = [each.name for each in elements if each.name is not None]

    def part(instance: Instance) -> Chunk:
        binding, tokens = instance.binding, instance.tokens
        ranges = [binding.elements[at] for at in places] + [binding.names[at] for at in names]
        matched_words = {tokens[at].text.lower() for low, high in ranges for at in range(low, high)}
        others = [member for member in members if member.lower() not in matched_words] or members
        draw, unit, place = instance.drawing.draw, instance.text, instance.place
        bits = draws.number(draw, f"set {name}", unit, place, piece_number)
        return Chunk(others[below(bits, len(others))], piece.glued, literal=True)

    return part


def _inflected_part(piece: syntax.Inflected, target: Callable[[Binding], TokenRange]) -> Part:
    def part(instance: Instance) -> Chunk | Unrendered:
        place = target(instance.binding)
        if place.end - place.start != 1:
            return Unrendered.NO_FORM
        model = instance.tokens[place.start]
        form = inflection.inflect_like(piece.word, model.text, model.fine)
        if form.unique is None:
            return _refused(form)
        return Chunk(form.unique, piece.glued, literal=True)

    return part


def _refused(form: inflection.Inflection) -> Unrendered:
    return Unrendered.AMBIGUOUS if form.ambiguous else Unrendered.NO_FORM


def _copied(instance: Instance, place: TokenRange) -> str:
    if place.start == place.end:
        return ""
    tokens = instance.tokens
    return instance.text[tokens[place.start].start : tokens[place.end - 1].end]


def _target(rule: Rule, piece: Reference | syntax.Inflected) -> Callable[[Binding], TokenRange]:
    """A function from a binding to the tokens that a reference refers to."""
    target = piece.target
    if isinstance(target, str):
        return lambda binding: binding.names[target]
    if target == 0:
        return lambda binding: TokenRange(binding.start, binding.end)
    if target > len(rule.antecedent):
        raise CompileError(
            f"`${target}` refers to nothing: the antecedent has {len(rule.antecedent)} elements",
            help="count elements as written, a group as one",
        )
    return lambda binding: binding.elements[target - 1]


@lru_cache(maxsize=1 << 12)
def is_punctuation(text: str) -> bool:
    """Whether there is no letter and no digit in the text."""
    return not any(character.isalnum() for character in text)


def kept_punctuation(rule: Rule) -> dict[int, int]:
    """Number of a piece that writes punctuation of the antecedent again → number of its element.

    Such punctuation touches its neighbours as it did before: ``What NOUN ? -> Which NOUN ?`` gives
    ``Which color?`` for ``What color?``.
    """
    if not any(isinstance(piece, Text) and is_punctuation(piece.text) for piece in rule.consequent):
        return {}
    waiting: dict[str, list[int]] = {}
    for number, element in enumerate(rule.antecedent):
        body = element.body
        once = (element.minimum, element.maximum) == (1, 1)
        if isinstance(body, syntax.Literal) and once and is_punctuation(body.text):
            waiting.setdefault(body.text, []).append(number)
    elements: dict[int, int] = {}
    for number, piece in enumerate(rule.consequent):
        if isinstance(piece, Text) and waiting.get(piece.text):
            elements[number] = waiting[piece.text].pop(0)
    return elements


def without_capital(text: str) -> str:
    """The text with a small first letter, unless its word is ``I`` or has another capital.

    Example:
        >>> [without_capital(each) for each in ("The film", '"The film"', "NASA says", "I am")]
        ['the film', '"the film"', 'NASA says', 'I am']
    """
    first = next((place for place, letter in enumerate(text) if letter.isalnum()), len(text))
    word = text[first:].split(maxsplit=1)[0] if first < len(text) else ""
    if not word or PRONOUN.match(word) or word[1:] != word[1:].lower():
        return text
    return text[:first] + text[first].lower() + text[first + 1 :]


CASE_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "cap": lambda word: word[:1].title() + word[1:],
    "uncap": without_capital,
}
"""The functions of rules that change the casing of a text."""
