"""The natural form of a sentence, its paraphrases written as it is written, its whole words.

A sentence may be tokenized (``it 's a good movie .``), with odd spaces or characters that a model
normalizes or does not have. It differs from its natural form in white space only.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import accumulate

from sears_dsl.translation.alphabet import INVISIBLE

_CLITIC = "(?:s|re|ve|ll|d|m)"
_JOINED = re.compile(
    rf"\s+(?=(?:n['’]t|['’]{_CLITIC})\b)"  # clitics
    r"|(?<=\S)\s+(?=[.,;:!?)\]}…])"  # closing punctuation
    r"|(?<=[(\[{])\s+(?=\S)",  # opening punctuation
    re.IGNORECASE,
)
# A word, with what nobody sees and with accents that stand after their letters, or signs.
_WITHIN = rf"{INVISIBLE}\u0300-\u036f"
_ATOM = re.compile(rf"[{_WITHIN}]*\w[\w{_WITHIN}]*|[^\w\s]+")
_QUOTES = re.compile(r"['\"]+")
# Straight quotes with their curly halves, and where a straight one opens something: a clitic of a
# tokenized text does not.
_CURLY = (
    ("'", "‘", "’", re.compile(rf"(?<![^\s(\[{{])'(?!{_CLITIC}\b)(?=\S)")),
    ('"', "“", "”", re.compile(r'(?<![^\s(\[{])"(?=\S)')),
)


def natural_form(text: str) -> str:
    """The text with the spaces of tokenization taken out."""
    return " ".join(_JOINED.sub("", text).split())


class Surface:
    """Writes paraphrases as their sentence is written: with its spacing and its characters.

    A paraphrase that changes nothing becomes the very same sentence. If the model's normalized text
    cannot be matched to the sentence token by token, paraphrases stay as the model wrote them; a
    sentence with characters outside of ASCII, which they would lose, then has none.
    """

    def __init__(self, original: str, plain: str) -> None:
        self._original = original
        self._plain = plain
        natural = natural_form(original)
        spans = [match.span() for match in _ATOM.finditer(natural)]
        places = [place for place, character in enumerate(original) if not character.isspace()]
        # The number of characters other than spaces before each character.
        rank = list(accumulate((not each.isspace() for each in natural), initial=0))
        self._spans = [(places[rank[begin]], places[rank[end - 1]] + 1) for begin, end in spans]
        self._plain_spans = [match.span() for match in _ATOM.finditer(plain)]
        self._matched = len(self._spans) == len(self._plain_spans)

    def restore(self, paraphrase: str) -> str | None:
        """A paraphrase of the plain text; what it keeps is written as in the original."""
        spans = [match.span() for match in _ATOM.finditer(paraphrase)]
        matched = self._matched and spans and self._spans
        if self._original == self._plain or not matched:
            return paraphrase if matched or self._original.isascii() else None
        source = self._sources([paraphrase[begin:end] for begin, end in spans])
        written = [self._original[: self._spans[0][0]]]
        for place, (begin, end) in enumerate(spans):
            source_place = source[place]
            if place:
                gap = paraphrase[spans[place - 1][1] : begin]
                written.append(self._gap(source[place - 1], source_place, gap))
            written.append(
                paraphrase[begin:end]
                if source_place is None
                else self._original[slice(*self._spans[source_place])]
            )
        written.append(self._original[self._spans[-1][1] :])
        return self._curled("".join(written))

    def _curled(self, text: str) -> str:
        """The text with curly quotes and long dashes, where the original has no others."""
        if "‘" in self._original and not set('"“”').intersection(self._original):
            text = text.replace('"', "'")
        for straight, opening, closing, where_it_opens in _CURLY:
            if closing in self._original and straight not in self._original:
                if opening in self._original:
                    text = where_it_opens.sub(opening, text)
                text = text.replace(straight, closing)
        for dash in "–—":
            if f" {dash} " in self._original and " - " not in self._original:
                text = text.replace(" - ", f" {dash} ")
        return text

    def _sources(self, atoms: list[str]) -> list[int | None]:
        """For each atom of a paraphrase the place of the atom of the plain text that it keeps."""
        ours = [self._plain[begin:end] for begin, end in self._plain_spans]
        source: list[int | None] = [None] * len(atoms)
        matcher = SequenceMatcher(None, ours, atoms, autojunk=False)
        for ours_at, theirs_at, count in matcher.get_matching_blocks():
            source[theirs_at : theirs_at + count] = range(ours_at, ours_at + count)
        if not set("‘’“”").isdisjoint(self._original):  # which is an opening one, `_curled` says
            source = [
                None if _QUOTES.fullmatch(atom) else place
                for atom, place in zip(atoms, source, strict=True)
            ]
        return source

    def _gap(self, left: int | None, right: int | None, gap: str) -> str:
        """The white space between two atoms: the original's where the plain text agrees."""
        if right is not None and right > 0:
            between = right - 1, right
        elif left is not None and left + 1 < len(self._spans):
            between = left, left + 1
        else:
            return gap
        if left is not None and right is not None and left + 1 != right:
            return gap
        before, after = between
        plain = self._plain[self._plain_spans[before][1] : self._plain_spans[after][0]]
        own = self._original[self._spans[before][1] : self._spans[after][0]]
        return own if plain == gap else gap


def whole_word(word: str, *, closed: bool = True) -> str:
    """A pattern for a word or phrase as a whole; a clitic and its host are two words.

    Unless the text is ``closed``, a word at its end may still grow, so that a match needs the
    character after it.

    Example:
        >>> import re
        >>> [bool(re.search(whole_word(word), "It isn't.")) for word in ("n't", "is", "sn")]
        [True, True, False]
    """
    edge = r"(?!\w)" if closed else r"(?=\W)"
    begin = r"(?<!\w)" if word[:1].isalnum() and not re.match("n['’]t", word, re.I) else ""
    end = rf"(?:{edge}|(?=n['’]t{edge}))" if word[-1:].isalnum() else ""
    return begin + re.sub("['’]", "['’]", re.escape(word)) + end
