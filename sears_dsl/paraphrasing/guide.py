"""What may follow the beginning of a paraphrase.

In: a sentence's natural form, the pieces of a model, the most words changed, constraints. Out: a
`Guide` for the beam search. Holds: exactly the outputs within the edit distance and the constraints
are complete; an all lower-case sentence gets lower-case paraphrases only.
Prefixes are banked by the words that they have changed so far, and each is offered the way back
into the sentence: without that a sentence that the model itself would put otherwise fills the beam
with outputs that change everything, and the small changes, which make rules, are never seen.
Costs: a few look-ups for each candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sears_dsl.paraphrasing.distance import DEAD, WordDistance
from sears_dsl.paraphrasing.word_constraints import SPACE, Constraints, LexicalGuide, LexicalState
from sears_dsl.translation.network import TranslationModel


class Progress(NamedTuple):
    """A prefix: the words that are over, the letters of the last one, what constraints know."""

    words: int
    last: str
    lexical: LexicalState | None


class ParaphraseGuide:
    """Admits what stays within the edit distance, the casing and the constraints.

    Args:
        plain: the sentence's natural form.
        model: whose pieces the paraphrases are written with.
        names: the model's vocabulary by id.
        maximum: most words put in, left out or replaced.
        constraints: words that must or must not be there.
    """

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
