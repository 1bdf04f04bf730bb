"""What may follow the beginning of a paraphrase.

Holds: exactly the outputs within the edit distance and without forbidden phrases (whole words in
any casing, however cut into pieces) are complete; an all lower-case sentence gets lower-case
paraphrases only. The distance is Levenshtein's of the lists of words, told on prefixes: no prefix
of a text within it is `DEAD`. Prefixes are banked by the words that they have changed so far, and
each is offered the way back into the sentence: without that a sentence that the model itself would
put otherwise fills the beam with outputs that change everything, and the small changes, which make
rules, are never seen. Costs: a few look-ups for each candidate, and a look at the last few
characters where phrases are forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sears_dsl.translation.beam_search import Guide
from sears_dsl.translation.network import TranslationModel

# How SentencePiece writes the space before a word.
SPACE = "\u2581"


def _any(phrases: Sequence[str], *, closed: bool) -> re.Pattern[str] | None:
    """A pattern of the phrases as whole words, None where there are none.

    Where a text is not closed a word at its end may still grow, so that what comes after it must
    be seen.
    """
    parts = []
    for phrase in phrases:
        begin = r"(?<!\w)" if phrase[:1].isalnum() else ""
        end = (r"(?!\w)" if closed else r"(?=\W)") if phrase[-1:].isalnum() else ""
        parts.append(begin + re.escape(phrase) + end)
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


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
    """A prefix: the words that are over, the letters of the last one, its last characters."""

    words: int
    last: str
    tail: str


class ParaphraseGuide(Guide):
    """Admits what stays within the edit distance and the casing, and has no forbidden phrase."""

    def __init__(
        self,
        plain: str,
        model: TranslationModel,
        names: Sequence[str],
        *,
        maximum: int,
        forbidden: Sequence[str] = (),
    ) -> None:
        self._names = names
        self._lower = plain == plain.lower()
        words: list[list[int]] = []
        for piece in model.target_pieces(plain)[:-1]:
            if names[piece].startswith(SPACE) or not words:
                words.append([])
            words[-1].append(piece)
        texts = ["".join(names[piece] for piece in word).lstrip(SPACE) for word in words]
        self._distance = WordDistance([text for text in texts if text], maximum)
        self._maximum = maximum
        # (word of the sentence, its letters so far) → its next piece
        self._onward: dict[tuple[int, str], int] = {}
        spelled = [word for word, text in zip(words, texts, strict=True) if text]
        for number, word in enumerate(spelled):
            text = ""
            for piece in word:
                self._onward.setdefault((number, text), piece)
                text += names[piece].lstrip(SPACE)
        # The phrases as the model writes them.
        phrases = [model.text(model.target_pieces(phrase)).strip() for phrase in forbidden]
        self._within = _any(phrases, closed=False)
        self._closed = _any(phrases, closed=True)
        # One character more on the left, which tells whether a word begins there.
        self._window = 1 + max(map(len, phrases), default=0)
        #: All pieces that may be wanted.
        self.pieces = frozenset(self._onward.values())

    def start(self) -> Progress:
        """Nothing said."""
        return Progress(0, "", "")

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
        tail = ""
        if self._within is not None:
            tail = state.tail + name.replace(SPACE, " ")
            if self._within.search(tail):
                return None
            tail = tail[-self._window :]
        return Progress(words, last, tail)

    def complete(self, state: Progress) -> bool:
        """Whether the output may end here."""
        if not self._distance.accepts(self._over(state)):
            return False
        return self._closed is None or self._closed.search(state.tail) is None

    def bank(self, state: Progress) -> int:
        """By words changed."""
        return self._distance.changes(state.words, state.last)

    def extra_pieces(self, state: Progress) -> list[int]:
        """The pieces that lead back into the sentence."""
        pieces = set()
        for words, last in {(state.words, state.last), (self._over(state), "")}:
            if words != DEAD:
                for place in self._distance.positions(words):
                    pieces.add(self._onward.get((place, last)))
        return sorted(piece for piece in pieces if piece is not None)

    def _over(self, state: Progress) -> int:
        """The words, if the last one is over."""
        return self._distance.follow(state.words, state.last) if state.last else state.words
