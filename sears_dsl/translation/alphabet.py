"""How a text is spelled for translation models that do not have all of its characters.

Such a character would become the unknown piece, which no model writes. So P(x | x), by which scores
are divided, would be next to nothing, and each text without the character would score 1. The
shipped models lack curly quotes, dashes, most letters with accents, and signs such as ``£`` or
``@``. A text is therefore spelled with what there is: ``’`` as ``'``, ``ü`` as ``u``, and each run
of other characters as a placeholder, which translations keep like any name or sign. What is behind
placeholders has to be compared by itself: see `Alphabet.unreadable` and `Alphabet.keeps_in_place`.
Characters that nobody sees, such as soft hyphens, are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby

from sears_dsl.errors import readable

# Marks that mean the same, where the first of a line is the one that vocabularies have.
_MARKS = ("'’‘‛`´ʼ′", '"“”„‟«»″', "-‐‑‒–—―−")
_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th"}
_CAPITALS = {letter.upper(): plain.upper() for letter, plain in _LETTERS.items()}
_PLAIN = _CAPITALS | _LETTERS | {mark: same[0] for same in _MARKS for mark in same}
#: Format characters and variation selectors, which nobody sees, as a class of a pattern has them.
INVISIBLE = r"\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# What may stand for a run of signs, and for a run of letters or digits, which is small since texts
# in lower case stay in lower case. The first that a vocabulary has is taken.
_FOR_SIGNS, _FOR_LETTERS = "*-.", "xae"
_WORD = re.compile(r"\w+")


class Alphabet:
    """The characters that vocabularies have, as ``reads`` says of each by itself; all if None.

    >>> ascii_only = Alphabet(str.isascii)
    >>> ascii_only.spelled("It’s 5 £ for a naïve 東京 tour 😍😍!")
    "It's 5 * for a naive x tour *!"
    >>> ascii_only.unreadable("It’s 5 £ for a naïve 東京 tour 😍😍!")
    '£東京😍😍'
    """

    def __init__(self, reads: Callable[[str], bool] | None = None) -> None:
        self._reads = reads or (lambda _: True)
        #: Stands for a run of signs.
        self.sign = next(filter(self._reads, _FOR_SIGNS), "")
        self._letter = next(filter(self._reads, _FOR_LETTERS), "")
        # character → how it is spelled, and whether that is a placeholder
        self._spellings: dict[str, tuple[str, bool]] = {}

    def spelled(self, text: str) -> str:
        """The text in characters that the vocabularies have."""
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

    def keeps_in_place(self, text: str, rewrite: str) -> bool:
        """Whether a rewrite has the unreadable characters of a text, each where it was.

        A run of them is in its place if it has the spaces that it had, and the word before it or
        the one behind it is as before. A rewrite with a placeholder too many has lost one.
        """
        places, others = list(self._places(text)), list(self._places(rewrite))
        if places and self._stray(rewrite) > self._stray(text):
            return False
        return len(places) == len(others) and all(
            run == other and spaces == other_spaces and (before == left or behind == right)
            for (run, spaces, before, behind), (other, other_spaces, left, right) in zip(
                places, others, strict=True
            )
        )

    def _stray(self, text: str) -> int:
        """How often a text has a placeholder's characters."""
        signs = text.count(self.sign) if self.sign else 0
        return signs + _WORD.findall(text).count(self._letter)

    def _places(self, text: str) -> Iterator[tuple[str, tuple[bool, bool], str, str]]:
        """Each unreadable run, whether spaces are beside it, the words before and behind it."""
        text = self._composed(text)
        if not any(self._spellings[each][1] for each in set(text)):
            return
        end = 0
        for unreadable, same in groupby(text, lambda each: self._spellings[each][1]):
            run = "".join(same)
            start, end = end, end + len(run)
            if unreadable:
                before, behind = _WORD.findall(text[:start]), _WORD.search(text, end)
                spaces = text[start - 1 : start].isspace(), text[end : end + 1].isspace()
                yield run, spaces, "".join(before[-1:]), behind.group() if behind else ""

    def _composed(self, text: str) -> str:
        """The text with one character for each visible letter; all of these have a spelling."""
        if not text.isascii():
            text = _INVISIBLE.sub("", unicodedata.normalize("NFC", readable(text)))
        for each in set(text).difference(self._spellings):
            self._spellings[each] = self._spelling(each)
        return text

    def _spelling(self, character: str) -> tuple[str, bool]:
        """How a character is spelled, and whether that is a placeholder."""
        parts = unicodedata.normalize("NFKD", _PLAIN.get(character, character))
        base = "".join(each for each in parts if not unicodedata.combining(each))
        # A sign that is spelled in letters, such as ™, would join the word beside it.
        is_word = _is_word(character)
        if base.strip() and any(_is_word(each) != is_word for each in base):
            return (self._letter if is_word else self.sign), True
        if self._reads(character):
            return character, False
        for spelling in (base, base.lower()):
            if spelling.strip() and all(map(self._reads, spelling)):
                return spelling, False
        return (self._letter if is_word else self.sign), True


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
