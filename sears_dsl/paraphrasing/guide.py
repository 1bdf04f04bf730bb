"""What may follow the beginning of a paraphrase.

Holds: exactly the outputs within the edit distance and the constraints are complete; an all
lower-case sentence gets lower-case paraphrases only. The distance is Levenshtein's of the lists of
words, told on prefixes: no prefix of a text within it is `DEAD`. Prefixes are banked by the words
that they have changed so far, and each is offered the way back into the sentence: without that a
sentence that the model itself would put otherwise fills the beam with outputs that change
everything, and the small changes, which make rules, are never seen. Costs: a few look-ups for each
candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sears_dsl.paraphrasing.word_constraints import SPACE, Constraints, LexicalGuide, LexicalState
from sears_dsl.translation.network import TranslationModel

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
