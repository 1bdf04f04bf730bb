"""How many words a growing text differs from a sentence by, told on its prefixes.

In: the words of a sentence and the most words that may be changed (put in, left out or replaced).
Out: an automaton that is fed word by word: a state, or DEAD where every continuation differs by
more. Holds: a text is accepted exactly where the Levenshtein distance of the word lists is within
the bound; no prefix of an accepted text is dead or has too
many changes.
Costs: a row of the distance table per new (state, word), at most 2 · bound + 1 cells; both are
remembered, so that the many hypotheses of one sentence share them.
"""

from __future__ import annotations

from collections.abc import Sequence

DEAD = -1

# A row of the distance table: position in the sentence → changes so far, cells over the bound
# left out.
_Row = tuple[tuple[int, int], ...]


class WordDistance:
    """Bounded Levenshtein distance to one sentence, as an automaton over words.

    Args:
        maximum: most words changed.

    Example:
        >>> automaton = WordDistance(["a", "good", "movie"], 1)
        >>> state = automaton.follow(automaton.follow(0, "a"), "good")
        >>> automaton.accepts(automaton.follow(state, "film"))
        True
        >>> automaton.follow(automaton.follow(0, "the"), "bad") == DEAD
        True
    """

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
        """The fewest changes so far, whatever is still to come; over the maximum: too many.

        Args:
            state: after the words that are over.
            beginning: the letters of the word that is being written, if one is.
        """
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
