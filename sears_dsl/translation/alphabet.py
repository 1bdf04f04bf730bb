"""What a translation model makes of characters that its vocabulary does not have.

Such a character would become the unknown piece, which no model writes. So P(x | x), by which scores
are divided, would be next to nothing, and each text without the character would score 1. The
shipped models lack curly quotes, dashes, most letters with accents, and signs such as ``£`` or
``@``. A text is therefore spelled with what there is: ``’`` as ``'``, ``ü`` as ``u``, and each run
of other characters as a placeholder, which translations keep like any name or sign. What is behind
placeholders has to be compared by itself: see `Alphabet.unreadable`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import groupby

from sears_dsl.errors import readable

# Marks that mean the same, where the first of a line is the one that vocabularies have.
_MARKS = ("'’‘‛`´ʼ′", '"“”„‟«»″', "-‐‑‒–—―−")
_PLAIN = {mark: same[0] for same in _MARKS for mark in same}
#: Stands for a run of signs.
PLACEHOLDER = "*"
# Stands for a run of letters or digits; small, since texts in lower case stay in lower case.
_LETTERS = "x"
# Joins two emoji to one; vocabularies have it as white space.
_JOINER = "\u200d"


class Alphabet:
    """The characters that a vocabulary has, as ``reads`` says of each by itself; all if None.

    >>> ascii_only = Alphabet(str.isascii)
    >>> ascii_only.spelled("It’s 5 £ for a naïve 東京 tour 😍😍!")
    "It's 5 * for a naive x tour *!"
    >>> ascii_only.unreadable("It’s 5 £ for a naïve 東京 tour 😍😍!")
    '£東京😍😍'
    """

    def __init__(self, reads: Callable[[str], bool] | None = None) -> None:
        self._readers = [] if reads is None else [reads]
        # character → how it is spelled, and whether that is a placeholder
        self._spellings: dict[str, tuple[str, bool]] = {}

    def limit_to(self, other: Alphabet) -> None:
        """Take out the characters that another vocabulary does not have."""
        self._readers += other._readers
        self._spellings.clear()

    def spelled(self, text: str) -> str:
        """The text in characters that the vocabulary has."""
        text = self._composed(text)
        if all(self._spellings[each][0] == each for each in set(text)):
            return text
        runs = groupby(self._spellings[each] for each in text)
        return "".join(
            spelling if placeholder else spelling * len(list(same))
            for (spelling, placeholder), same in runs
        )

    def unreadable(self, text: str) -> str:
        """The characters, in order, for which there is but a placeholder."""
        return "".join(each for each in self._composed(text) if self._spellings[each][1])

    def _composed(self, text: str) -> str:
        """The text with one character for each letter, all of whose characters have a spelling."""
        if not text.isascii():
            text = unicodedata.normalize("NFC", readable(text))
        for each in set(text).difference(self._spellings):
            self._spellings[each] = self._spelling(each)
        return text

    def _reads(self, character: str) -> bool:
        return all(reads(character) for reads in self._readers)

    def _spelling(self, character: str) -> tuple[str, bool]:
        """How a character is spelled, and whether that is a placeholder."""
        if character != _JOINER and self._reads(character):
            return character, False
        base = "".join(
            part
            for part in unicodedata.normalize("NFKD", _PLAIN.get(character, character))
            if not unicodedata.combining(part)
        )
        if base and base != character and all(map(self._reads, base)):
            return base, False
        return (_LETTERS if character.isalnum() or character == "_" else PLACEHOLDER), True
