"""What may follow the beginning of a paraphrase.

Holds: exactly the outputs within the edit distance and the constraints are complete; an all
lower-case sentence gets lower-case paraphrases only. The distance is Levenshtein's of the lists of
words, told on prefixes: no prefix of a text within it is `DEAD`. Prefixes are banked by the words
that they have changed so far, and each is offered the way back into the sentence: without that a
sentence that the model itself would put otherwise fills the beam with outputs that change
everything, and the small changes, which make rules, are never seen. Costs: a few look-ups for each
candidate.

An output is complete for the constraints exactly where its text has every required phrase and no
forbidden one, as whole words, however it is cut into pieces. Costs a look at the last few
characters for each piece; the pieces of required phrases are compared with the last few pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sears_dsl.errors import UsageError
from sears_dsl.translation.network import TranslationModel

# How SentencePiece writes the space before a word.
SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the paraphrases of one sentence must and must not say."""

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    ignore_case: bool = True  # whether ``Film`` does for ``film``


def check_constraints(constraints: Constraints) -> None:
    """Refuse phrases without a word in them."""
    for name, phrases in (
        ("required", constraints.required),
        ("forbidden", constraints.forbidden),
    ):
        for phrase in phrases:
            if not phrase.strip():
                raise UsageError(
                    f"a {name} phrase is empty", help="leave it out, or write the words"
                )


class LexicalState(NamedTuple):
    """What an output has said so far, as far as constraints need it."""

    tail: str
    recent: tuple[int, ...]
    met: int


class _Required(NamedTuple):
    within: re.Pattern[str]
    closed: re.Pattern[str]
    variants: tuple[tuple[int, ...], ...]


class LexicalGuide:
    """The constraints of one sentence, over one model's pieces."""

    def __init__(
        self, constraints: Constraints, model: TranslationModel, names: Sequence[str]
    ) -> None:
        check_constraints(constraints)
        flags = re.IGNORECASE if constraints.ignore_case else 0
        self._texts = names
        forbidden = [_normal(phrase, model) for phrase in constraints.forbidden]
        required = [_normal(phrase, model) for phrase in constraints.required]
        self._within = re.compile(_any(forbidden, closed=False), flags) if forbidden else None
        self._closed = re.compile(_any(forbidden, closed=True), flags) if forbidden else None
        self._required = [
            _Required(
                re.compile(_any([phrase], closed=False), flags),
                re.compile(_any([phrase], closed=True), flags),
                _variants(phrase, model, constraints.ignore_case),
            )
            for phrase in required
        ]
        # One character more on the left, which tells whether a word begins there.
        self._window = 1 + max(map(len, [*forbidden, *required]), default=0)
        variants = [variant for phrase in self._required for variant in phrase.variants]
        self._pieces = max(map(len, variants), default=0)
        #: The pieces of required phrases.
        self.pieces = frozenset(piece for variant in variants for piece in variant)

    def start(self) -> LexicalState:
        """Nothing said."""
        return LexicalState("", (), 0)

    def extend(self, state: LexicalState, piece: int) -> LexicalState | None:
        """One piece more; None where a forbidden phrase is said and its last word is over."""
        text = state.tail + self._texts[piece].replace(SPACE, " ")
        if self._within is not None and self._within.search(text):
            return None
        met = state.met
        for number, phrase in enumerate(self._required):
            if not met >> number & 1 and phrase.within.search(text):
                met |= 1 << number
        recent = (*state.recent, piece)[-self._pieces :] if self._pieces else ()
        return LexicalState(text[-self._window :], recent, met)

    def complete(self, state: LexicalState) -> bool:
        """Whether an output that ends here says all that it must, and nothing that it must not."""
        if self._closed is not None and self._closed.search(state.tail):
            return False
        return all(self._has(state, number) for number in range(len(self._required)))

    def bank(self, state: LexicalState) -> int:
        """How many pieces of what is required are said."""
        total = 0
        for number, phrase in enumerate(self._required):
            lengths = [len(variant) for variant in phrase.variants]
            if self._has(state, number):
                total += min(lengths)
            else:
                progress = max(_progress(state.recent, variant) for variant in phrase.variants)
                total += min(progress, min(lengths) - 1)
        return total

    def extra_pieces(self, state: LexicalState) -> list[int]:
        """The pieces that go on with what is still to be said."""
        pieces = set()
        for number, phrase in enumerate(self._required):
            if not self._has(state, number):
                for variant in phrase.variants:
                    progress = _progress(state.recent, variant)
                    pieces.add(variant[progress] if progress < len(variant) else variant[0])
        return sorted(pieces)

    def _has(self, state: LexicalState, number: int) -> bool:
        """Whether a required phrase is said, if the output ended here."""
        if state.met >> number & 1:
            return True
        return self._required[number].closed.search(state.tail) is not None


def _normal(phrase: str, model: TranslationModel) -> str:
    """The phrase as the model writes it."""
    return model.text(model.target_pieces(phrase)).strip()


def _any(phrases: Sequence[str], *, closed: bool) -> str:
    """A pattern of the phrases as whole words.

    Where a text is not closed a word at its end may still grow, so that what comes after it must
    be seen.
    """
    parts = []
    for phrase in phrases:
        begin = r"(?<!\w)" if phrase[:1].isalnum() else ""
        end = (r"(?!\w)" if closed else r"(?=\W)") if phrase[-1:].isalnum() else ""
        parts.append(begin + re.escape(phrase) + end)
    return "|".join(parts)


def _variants(
    phrase: str, model: TranslationModel, ignore_case: bool
) -> tuple[tuple[int, ...], ...]:
    """The pieces of a phrase, in its casings where these are as good."""
    texts = [phrase]
    if ignore_case:
        texts += [phrase.lower(), phrase[:1].upper() + phrase[1:], phrase.upper()]
    return tuple(dict.fromkeys(tuple(model.target_pieces(text)[:-1]) for text in texts))


def _progress(recent: Sequence[int], variant: Sequence[int]) -> int:
    """How many of the variant's first pieces were the last ones said."""
    for count in range(min(len(recent), len(variant)), 0, -1):
        if tuple(recent[-count:]) == tuple(variant[:count]):
            return count
    return 0


DEAD = -1

# A row of the distance table: position in the sentence → changes so far, cells over the bound
# left out.
_Row = tuple[tuple[int, int], ...]


class WordDistance:
    """Bounded Levenshtein distance to one sentence, as an automaton over words."""

    def __init__(self, words: Sequence[str], maximum: int) -> None:
        self._words = tuple(words)
        self._maximum = maximum
        first: _Row = tuple((place, place) for place in range(min(maximum, len(words)) + 1))
        self._rows = [first]
        self._numbers = {first: 0}
        self._next: dict[tuple[int, str], int] = {}
        self._fewest: dict[tuple[int, str], int] = {}

    def follow(self, state: int, word: str) -> int:
        """The state after a whole word; the first state is 0, DEAD where none is left."""
        key = state, word
        known = self._next.get(key)
        if known is None:
            row = self._row(state, word)
            known = self._numbers.setdefault(row, len(self._rows)) if row else DEAD
            if known == len(self._rows):
                self._rows.append(row)
            self._next[key] = known
        return known

    def changes(self, state: int, beginning: str = "") -> int:
        """The fewest changes so far, whatever is still to come; over the maximum: too many."""
        key = state, beginning
        known = self._fewest.get(key)
        if known is None:
            known = self._maximum + 1
            for place, changes in self._rows[state]:
                # One more change, unless the word may become the sentence's next one.
                is_next_word = not beginning or (
                    place < len(self._words) and self._words[place].startswith(beginning)
                )
                known = min(known, changes if is_next_word else changes + 1)
            self._fewest[key] = known
        return known

    def accepts(self, state: int) -> bool:
        """Whether a text that ends here is within the bound."""
        if state == DEAD:
            return False
        last = len(self._words)
        return any(place == last for place, _ in self._rows[state])

    def positions(self, state: int) -> list[int]:
        """Where in the sentence the text may be, by the fewest changes."""
        fewest = self.changes(state)
        return [place for place, changes in self._rows[state] if changes == fewest]

    def _row(self, state: int, word: str) -> _Row:
        """The next row of the table."""
        before = dict(self._rows[state])
        after: dict[int, int] = {}
        over = self._maximum + 1
        last = max(before)
        for place in range(min(before), len(self._words) + 1):
            changes = min(before.get(place, over), after.get(place - 1, over)) + 1
            if place - 1 in before:
                changes = min(changes, before[place - 1] + (self._words[place - 1] != word))
            if changes <= self._maximum:
                after[place] = changes
            elif place > last:
                break
        return tuple(after.items())


class Progress(NamedTuple):
    """A prefix: the words that are over, the letters of the last one, what constraints know."""

    words: int
    last: str
    lexical: LexicalState | None


class ParaphraseGuide:
    """Admits what stays within the edit distance, the casing and the constraints."""

    def __init__(
        self,
        plain: str,
        model: TranslationModel,
        names: Sequence[str],
        *,
        maximum: int,
        constraints: Constraints | None = None,
    ) -> None:
        self._names = names
        self._lower = plain == plain.lower()
        words: list[list[int]] = []
        for piece in model.target_pieces(plain)[:-1]:
            if names[piece].startswith(SPACE) or not words:
                words.append([])
            words[-1].append(piece)
        texts = ["".join(names[piece] for piece in word).lstrip(SPACE) for word in words]
        self._pieces = [word for word, text in zip(words, texts, strict=True) if text]
        self._distance = WordDistance([text for text in texts if text], maximum)
        self._maximum = maximum
        # (word of the sentence, its letters so far) → its next piece
        self._onward: dict[tuple[int, str], int] = {}
        for number, word in enumerate(self._pieces):
            text = ""
            for piece in word:
                self._onward.setdefault((number, text), piece)
                text += names[piece].lstrip(SPACE)
        self._lexical = None if constraints is None else LexicalGuide(constraints, model, names)
        #: All pieces that may be wanted.
        self.pieces = frozenset(self._onward.values())
        if self._lexical is not None:
            self.pieces |= self._lexical.pieces

    def start(self) -> Progress:
        """Nothing said."""
        return Progress(0, "", None if self._lexical is None else self._lexical.start())

    def extend(self, state: Progress, piece: int) -> Progress | None:
        """One piece more, or None."""
        name = self._names[piece]
        if self._lower and name != name.lower():
            return None
        words, last = state.words, state.last
        if name.startswith(SPACE):
            words = self._over(state)
            last = name[len(SPACE) :]
        else:
            last += name
        if words == DEAD or self._distance.changes(words, last) > self._maximum:
            return None
        lexical = state.lexical
        if self._lexical is not None and lexical is not None:
            lexical = self._lexical.extend(lexical, piece)
            if lexical is None:
                return None
        return Progress(words, last, lexical)

    def complete(self, state: Progress) -> bool:
        """Whether the output may end here."""
        if not self._distance.accepts(self._over(state)):
            return False
        return (
            self._lexical is None or state.lexical is None or self._lexical.complete(state.lexical)
        )

    def bank(self, state: Progress) -> int:
        """By what is said of the required phrases, then by words changed."""
        changes = self._distance.changes(state.words, state.last)
        if self._lexical is None or state.lexical is None:
            return changes
        return self._lexical.bank(state.lexical) * (self._maximum + 1) + changes

    def extra_pieces(self, state: Progress) -> list[int]:
        """The pieces that lead back into the sentence, and to required phrases."""
        pieces = set()
        if state.last:
            for place in self._distance.positions(state.words):
                piece = self._onward.get((place, state.last))
                if piece is not None:
                    pieces.add(piece)
        over = self._over(state)
        if over != DEAD:
            for place in self._distance.positions(over):
                piece = self._onward.get((place, ""))
                if piece is not None:
                    pieces.add(piece)
        if self._lexical is not None and state.lexical is not None:
            pieces.update(self._lexical.extra_pieces(state.lexical))
        return sorted(pieces)

    def _over(self, state: Progress) -> int:
        """The words, if the last one is over."""
        return self._distance.follow(state.words, state.last) if state.last else state.words
