"""The naive rewriting: what rules mean, those that draw by the definition of the draws alone.

In: a rule that draws, one unit with its tokens and the instances of the rule. Out: the edits, and
why those of other instances are missing. It works with whole numbers of Python, a character and an
instance at a time, and shares with the engine the table of look-alikes and how new text is laid
out (`rewrite.renderer`); numbers, slips, shares, rates and drawn members it has of its own, and the
engine is tested against them. Costs a number for each character, each time it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from sears_dsl.engine.matches import Binding, Edit, Scope, SpanMap, TokenRange
from sears_dsl.engine.noise import draws as numbered
from sears_dsl.engine.noise.characters import lookalikes
from sears_dsl.engine.reference import Split, candidates, is_protected
from sears_dsl.engine.rewrite.pieces import (
    CASE_FUNCTIONS,
    UNDRAWN,
    Chunk,
    Drawing,
    Instance,
    Part,
    parts_of,
)
from sears_dsl.engine.rewrite.placing import Rendered, Unrendered
from sears_dsl.engine.rewrite.renderer import Renderer, render_untouching
from sears_dsl.engine.rewrite.spacing import OPENING_MARKS, QUOTES
from sears_dsl.language.measure import draws
from sears_dsl.language.rule import (
    Drawn,
    Element,
    Group,
    Literal,
    Noise,
    Reference,
    Rule,
    RuleScope,
    SetReference,
)
from sears_dsl.tagging.inflection import inflect, keep_casing
from sears_dsl.tagging.tokens import Token

if TYPE_CHECKING:
    from sears_dsl.language.ruleset import Ruleset

_64_BITS = (1 << 64) - 1
_KINDS = ("swap", "drop", "double", "key")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def rewrite(
    rule: Rule,
    file: Ruleset,
    text: str,
    tokens: Sequence[Token],
    *,
    split: Split,
    extent: Scope = "first",
    protected: Sequence[tuple[int, int]] = (),
    drawing: Drawing = UNDRAWN,
) -> tuple[list[Edit], list[Unrendered]]:
    """The edits that a rule makes in one row, and why those of other instances are missing.

    An instance whose edit would touch a protected span, such as the white space that a deletion
    takes along, is none; others are looked for. See `find`.
    """
    every = candidates(rule, file, tokens, split=split)
    possible = [each for each in every if not is_protected(each, tokens, protected)]
    first = extent == "first"
    if draws(rule):
        naive = NaiveNoise(rule, file, text, tokens, drawing)
        return naive.edits(possible, first=first, protected=protected)
    return render_untouching(
        Renderer(rule, file), text, tokens, possible, first=first, protected=protected
    )


class NaiveNoise:
    """One rule in one unit.

    Args:
        drawing: the draw, and where words are looked up.
    """

    def __init__(
        self, rule: Rule, file: Ruleset, text: str, tokens: Sequence[Token], drawing: Drawing
    ) -> None:
        self._rule = rule
        self._text = text
        self._tokens = tokens
        self._sources = drawing.sources
        self._seed = drawing.draw.seed + (rule.metadata.seed or 0)
        self._draw = drawing.draw.number
        # (piece, function, place) → the text there after a share; None: all that can change.
        self._shares: dict[tuple[int, int, int], str] | None = None
        self._renderer = Renderer(rule, file, parts=self._parts)

    def edits(
        self, possible: Sequence[Binding], *, first: bool, protected: Sequence[tuple[int, int]]
    ) -> tuple[list[Edit], list[Unrendered]]:
        """The edits of the unit, and why those of other instances are missing.

        Instances come in the order of preference and may overlap; without a rate the first one may
        be wanted alone.
        """
        rate = self._rule.metadata.rate
        shares = any(
            isinstance(function, Noise) and function.share is not None
            for piece in self._rule.consequent
            if isinstance(piece, Reference)
            for function in piece.functions
        )
        if rate is None and not shares:
            return self._together(possible, first=first, protected=protected)
        every = self._apart(possible, protected)
        tried = every[:1] if first else every
        if rate is not None:
            tried = self._enough(rate, every)
        missing = [rendered for _, rendered in tried if isinstance(rendered, Unrendered)]
        if rate is not None:
            unchanged = Unrendered.UNCHANGED
            missing = [Unrendered.PASSED_OVER if why is unchanged else why for why in missing]
        tried.sort(key=lambda each: each[0].start)
        if shares:
            self._share_out([binding for binding, _ in tried])
        chosen = [binding for binding, rendered in tried if isinstance(rendered, Edit)]
        return self._together(chosen, first=False, protected=protected)[0], missing

    # ------------------------------------------------------------ which instances

    def _together(
        self, instances: Sequence[Binding], *, first: bool, protected: Sequence[tuple[int, int]]
    ) -> tuple[list[Edit], list[Unrendered]]:
        return render_untouching(
            self._renderer, self._text, self._tokens, instances, first=first, protected=protected
        )

    def _apart(
        self, possible: Sequence[Binding], protected: Sequence[tuple[int, int]]
    ) -> list[tuple[Binding, Rendered]]:
        """The instances that do not overlap, each with what becomes of it alone.

        Of those that would touch what is protected the leftmost is left out, and all are chosen
        anew, until none would.
        """
        refused: set[tuple[int, int]] = set()
        while True:
            instances: list[tuple[Binding, Rendered]] = []
            end = 0
            for binding in possible:
                if (binding.start, binding.end) not in refused and binding.start >= end:
                    end = max(binding.end, binding.start + 1)
                    rendered = self._renderer.render(
                        self._text, self._tokens, binding, protected=protected
                    )
                    instances.append((binding, rendered))
            touching = (each for each, rendered in instances if _touches(rendered, protected))
            first = next(touching, None)
            if first is None:
                return instances
            refused.add((first.start, first.end))

    def _enough(
        self, rate: int, every: Sequence[tuple[Binding, Rendered]]
    ) -> list[tuple[Binding, Rendered]]:
        """Take instances by their random numbers, until a share of all is rewritten."""
        left = how_many(rate, len(every), self._number("rate share"))
        tried: list[tuple[Binding, Rendered]] = []
        for each in sorted(every, key=lambda each: self._number("rate", self._place(each[0]))):
            if left:
                tried.append(each)
                left -= isinstance(each[1], Edit)
        return tried

    def _place(self, binding: Binding) -> int:
        if binding.start < len(self._tokens):
            return self._tokens[binding.start].start
        return self._tokens[-1].end if self._tokens else 0

    def _number(self, name: str, place: int = 0, count: int = 0) -> int:
        return number(self._seed, self._draw, name, self._text, place, count)

    # ------------------------------------------------------------ what they become

    def _parts(
        self, rule: Rule, scope: RuleScope, punctuation: Mapping[int, int]
    ) -> Iterator[Part]:
        """The pieces of the consequent; this module renders those that draw."""
        parts = parts_of(rule, scope, punctuation)
        for position, (piece, part) in enumerate(zip(rule.consequent, parts, strict=True)):
            if isinstance(piece, Drawn):
                yield self._drawn(piece, position, scope)
            elif isinstance(piece, Reference):
                yield self._referred(piece, position)
            else:
                yield part

    def _referred(self, piece: Reference, position: int) -> Part:
        def part(instance: Instance) -> Chunk | Unrendered:
            place = self._range(piece, instance.binding)
            word = self._after(piece, position, len(piece.functions), instance.binding)
            if isinstance(word, Unrendered):
                return word
            copied = place if word else None
            tight = (False, bool(word) and self._opens(place.end - 1))
            as_is = any(f in CASE_FUNCTIONS or isinstance(f, Noise) for f in piece.functions)
            return Chunk(word, piece.glued, literal=False, tokens=copied, tight=tight, as_is=as_is)

        return part

    def _opens(self, place: int) -> bool:
        """Whether a token is a bracket or a quote that opens what touches it."""
        token, before = self._tokens[place], self._tokens[:place][-1:]
        if [each.start for each in self._tokens[place + 1 : place + 2]] != [token.end]:
            return False
        stands_apart = [each.end for each in before] != [token.start]
        return token.text in OPENING_MARKS or (token.text in QUOTES and stands_apart)

    def _after(
        self, piece: Reference, position: int, upto: int, binding: Binding
    ) -> str | Unrendered:
        """The value of a reference after its functions up to ``upto``."""
        place = self._range(piece, binding)
        if place.start == place.end:
            return ""
        tokens = self._tokens[place.start : place.end]
        word, fine = self._text[tokens[0].start : tokens[-1].end], tokens[0].fine
        for at, function in enumerate(piece.functions[:upto]):
            if isinstance(function, Noise):
                noisy = self._noisy(function, word, self._place(binding), (position, at))
                if isinstance(noisy, Unrendered):
                    return noisy
                word = noisy
            elif function in CASE_FUNCTIONS:
                word = CASE_FUNCTIONS[function](word)
            else:
                form = inflect(word, fine, function)
                if len(tokens) > 1 or form.unique is None:
                    ambiguous = len(tokens) == 1 and form.ambiguous
                    return Unrendered.AMBIGUOUS if ambiguous else Unrendered.NO_FORM
                word, fine = keep_casing(form.unique, word), function
        return word

    def _noisy(
        self, noise: Noise, word: str, place: int, call: tuple[int, int]
    ) -> str | Unrendered:
        if noise.kind == "neighbor":
            return self._sources.neighbor(word) or Unrendered.NO_NEIGHBOR
        if noise.kind == "paraphrase":
            return self._sources.paraphrase(word) or Unrendered.NO_PARAPHRASE
        if noise.share is not None and self._shares is not None:
            return self._shares[*call, place]
        count = noise.places if noise.share is None else len(word)
        if noise.kind == "homoglyph":
            places = homoglyph_places(word)
            order = sorted(places, key=lambda i: self._number("homoglyph", place, i))
            return replaced(word, order[:count])
        return self._misspelt(noise.kind, word, place, count)

    def _share_out(self, tried: Sequence[Binding]) -> None:
        """Apply the functions with a share to all of their text."""
        self._shares = {}
        for position, piece in enumerate(self._rule.consequent):
            if not isinstance(piece, Reference):
                continue
            for at, function in enumerate(piece.functions):
                if not isinstance(function, Noise) or function.share is None:
                    continue
                words: dict[int, str] = {}
                for binding in tried:
                    word = self._after(piece, position, at, binding)
                    if isinstance(word, str):
                        words[self._place(binding)] = word
                shared = self._alike(function.share, words)
                if function.kind != "homoglyph":
                    shared = self._slipped(function, words)
                for place, word in shared.items():
                    self._shares[position, at, place] = word

    def _alike(self, share: int, words: Mapping[int, str]) -> dict[int, str]:
        """Replace a share of all characters, white space aside, by look-alikes."""
        size = sum(not character.isspace() for word in words.values() for character in word)
        left = how_many(share, size, self._number("homoglyph share"))
        able = [(place, i) for place, word in words.items() for i in homoglyph_places(word)]
        able.sort(key=lambda at: self._number("homoglyph", *at))
        changing = set(able[:left])
        return {
            place: replaced(word, [i for i in range(len(word)) if (place, i) in changing])
            for place, word in words.items()
        }

    def _slipped(self, noise: Noise, words: Mapping[int, str]) -> dict[int, str]:
        """Misspell a share of all letters, each where earlier slips leave room."""
        size = sum(character.isalpha() for word in words.values() for character in word)
        left = how_many(noise.share or 0, size, self._number(f"{noise.kind} share"))
        kinds = _KINDS if noise.kind == "typo" else (noise.kind,)
        able = [
            (place, i)
            for place, word in words.items()
            for i in range(len(word))
            if any(i in slip_places(kind, word) for kind in kinds)
        ]
        able.sort(key=lambda at: self._number(noise.kind, *at))
        slips: dict[int, list[Slip]] = {place: [] for place in words}
        for place, i in able:
            fitting = [kind for kind in kinds if i in open_places(kind, words[place], slips[place])]
            if fitting and left:
                bits = self._number("typo kind", place, i)
                kind = fitting[below(bits, len(fitting))] if noise.kind == "typo" else fitting[0]
                slips[place].append(self._slip(kind, words[place], i, place))
                left -= 1
        return {place: slipped(word, slips[place]) for place, word in words.items()}

    def _misspelt(self, name: str, word: str, place: int, count: int) -> str:
        """A word with ``count`` slips, or with as many as there is room for."""
        slips: list[Slip] = []
        for j in range(count):
            kinds = [
                kind
                for kind in (_KINDS if name == "typo" else (name,))
                if open_places(kind, word, slips)
            ]
            if not kinds:
                break
            drawn = below(self._number("typo", place, j), len(kinds)) if name == "typo" else 0
            kind = kinds[drawn]
            places = open_places(kind, word, slips)
            i = min(places, key=lambda i: (self._number(kind, place, i), i))
            slips.append(self._slip(kind, word, i, place))
        return slipped(word, slips)

    def _slip(self, kind: str, word: str, i: int, place: int) -> Slip:
        letter = word[i]
        if kind == "swap":
            return i, i + 2, cased(word[i + 1], letter) + cased(letter, word[i + 1])
        if kind == "drop":
            return i, i + 1, ""
        if kind == "double":
            return i, i + 1, letter + letter
        beside = keys_beside(letter.lower())
        drawn = below(self._number("key letter", place, i), len(beside))
        return i, i + 1, cased(beside[drawn], letter)

    def _drawn(self, piece: Drawn, position: int, scope: RuleScope) -> Part:
        reference = piece.reference
        members = [each.text for each in scope.members(reference) if isinstance(each, Literal)]
        name = reference.full_name

        def part(instance: Instance) -> Chunk:
            binding = instance.binding
            there = [
                token.text.lower()
                for low, high in self._matched_by(reference, binding)
                for token in self._tokens[low:high]
            ]
            others = [member for member in members if member.lower() not in there] or members
            bits = self._number(f"set {name}", self._place(binding), position)
            return Chunk(others[below(bits, len(others))], piece.glued, literal=True)

        return part

    def _matched_by(self, reference: SetReference, binding: Binding) -> Iterator[TokenRange]:
        """The words that a set matched: elements of the antecedent, and named ones anywhere."""
        for element, place in zip(self._rule.antecedent, binding.elements, strict=False):
            if element.body == reference:
                yield place
        rule = self._rule
        for element in _with_inner((*rule.left, *rule.antecedent, *rule.right)):
            if element.body == reference and element.name is not None:
                yield binding.names[element.name]

    def _range(self, piece: Reference, binding: Binding) -> TokenRange:
        if isinstance(piece.target, str):
            return binding.names[piece.target]
        if piece.target == 0:
            return TokenRange(binding.start, binding.end)
        return binding.elements[piece.target - 1]


def _touches(rendered: Rendered, protected: Sequence[tuple[int, int]]) -> bool:
    """Whether an edit would touch a protected span."""
    if isinstance(rendered, Unrendered):
        return False
    step = SpanMap([rendered])
    return any(low < high and step.touching(low, high) for low, high in protected)


def _with_inner(elements: Sequence[Element]) -> Iterator[Element]:
    for element in elements:
        yield element
        if isinstance(element.body, Group):
            for alternative in element.body.alternatives:
                yield from _with_inner(alternative)


# ---------------------------------------------------------------- numbers


def mixed(bits: int) -> int:
    """Mix 64 bits as SplitMix64 does."""
    bits = (bits + 0x9E3779B97F4A7C15) & _64_BITS
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return bits ^ (bits >> 31)


def hashed(text: str) -> int:
    """A name or a text as 64 bits."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def number(  # noqa: PLR0917 - as the definition has them
    seed: int, draw: int, name: str, unit: str, place: int = 0, count: int = 0
) -> int:
    """The 64 bits of one decision.

    Example:
        >>> hex(number(0, 0, "rate", "It is a good movie .", 8))
        '0x4c45fc6be89faee4'
    """
    bits = 0
    for part in (seed, draw, hashed(name), hashed(unit), place, count):
        bits = mixed(bits ^ (part & _64_BITS))
    return bits


def below(bits: int, bound: int) -> int:
    """A number from 0 to below a bound."""
    return ((bits >> 32) * bound) >> 32


def how_many(share: int, things: int, bits: int) -> int:
    """How many things a share, in millionths, of them is."""
    whole, rest = divmod(share * things, 1_000_000)
    return whole + 1 if below(bits, 1_000_000) < rest else whole


def chosen(
    places: Sequence[tuple[int, int]], unit: str, share: int, name: str, draw: numbered.Draw
) -> list[tuple[int, int]]:
    """A share, in millionths, of places of a unit, by the engine's numbers of them."""
    count = numbered.how_many(share, len(places), numbered.number(draw, f"{name} share", unit))
    ranks = numbered.numbers(draw, name, unit, places)
    return sorted(at for _, at in sorted(zip(ranks, places, strict=True))[:count])


# ---------------------------------------------------------------- characters

Slip: TypeAlias = tuple[int, int, str]
"""From a character to another, and what stands there instead."""


def homoglyph_places(word: str) -> list[int]:
    """Characters that have a look-alike."""
    return [i for i, character in enumerate(word) if character in lookalikes()]


def replaced(word: str, places: Sequence[int]) -> str:
    """A word with look-alikes at some places."""
    table = lookalikes()
    return "".join(table[c] if i in places else c for i, c in enumerate(word))


def keys_beside(letter: str) -> list[str]:
    """The letters whose keys touch that of a small letter."""
    for r, row in enumerate(_ROWS):
        c = row.find(letter)
        if c >= 0:
            spots = [(r, c - 1), (r, c + 1), (r - 1, c), (r - 1, c + 1), (r + 1, c - 1), (r + 1, c)]
            return [_ROWS[a][b] for a, b in spots if 0 <= a < 3 and 0 <= b < len(_ROWS[a])]
    return []


def cased(letter: str, like: str) -> str:
    """A letter in the casing of another."""
    return letter.upper() if like.isupper() else letter.lower()


def slip_places(kind: str, word: str) -> list[int]:
    """Where a slip can begin."""
    letters = [i for i, character in enumerate(word) if character.isalpha()]
    if kind == "swap":
        pairs = [i for i in letters if i + 1 in letters]
        return [i for i in pairs if word[i].casefold() != word[i + 1].casefold()]
    if kind == "drop":
        return letters if len(letters) > 1 else []
    if kind == "key":
        return [i for i in letters if keys_beside(word[i].lower())]
    return letters


def open_places(kind: str, word: str, slips: Sequence[Slip]) -> list[int]:
    """Where another slip can begin; a last letter is not dropped."""
    letters = sum(character.isalpha() for character in word)
    if kind == "drop" and letters - sum(new == "" for _, _, new in slips) < 2:
        return []
    width = 2 if kind == "swap" else 1
    return [
        i
        for i in slip_places(kind, word)
        if all(end <= i or start >= i + width for start, end, _ in slips)
    ]


def slipped(word: str, slips: Sequence[Slip]) -> str:
    """A word with slips made."""
    for start, end, new in sorted(slips, reverse=True):
        word = word[:start] + new + word[end:]
    return word
