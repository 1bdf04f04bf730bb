"""Tags written in the text, for tests that need no tagger: ``What/PRON/WP color/NOUN/NN ?``.

Always holds: a word without tags in a text that has some gets empty tags, so that no rule about
tags can take it for something else. Costs a regular expression a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sears_dsl.tagging.tokens import Token, Tokens

# Coarse tags of either tagset; a fine tag is recognized by its characters. The word itself may have
# slashes (and/or/CCONJ/CC).
_PINNED_WORD = re.compile(
    r"(?P<word>.+)/(?P<coarse>ADJ|ADP|ADV|AUX|CCONJ|CONJ|DET|INTJ|NOUN|NUM|PART|PRON|PROPN|PUNCT"
    r"|SCONJ|SYM|VERB|X)/(?P<fine>[-A-Z$.,:`'#]+)",
    re.DOTALL,
)
# A clitic, a run of letters and digits (with hyphens inside), or any other single character.
_PLAIN_TOKEN = re.compile(
    r"n't\b|(?:(?!n't\b)\w)+(?:-\w+)*|['’](?:s|re|ve|ll|d|m)\b|\S", re.IGNORECASE
)
_SENTENCE_END = frozenset(".!?")


def parse_pinned(text: str) -> tuple[str, list[Token]] | None:
    """The plain text and the tokens of a text in pinned notation; None if no word is pinned."""
    words = text.split()
    parts = [_PINNED_WORD.fullmatch(word) for word in words]
    if not any(parts):
        return None
    tokens: list[Token] = []
    start = 0
    for word, part in zip(words, parts, strict=True):
        spelled, coarse, fine = part.group("word", "coarse", "fine") if part else (word, "", "")
        tokens.append(Token(spelled, coarse, fine, start, start + len(spelled)))
        start += len(spelled) + 1
    return " ".join(token.text for token in tokens), tokens


class PinnedTagger:
    """A tagger for tests, without any dependency.

    A text in pinned notation gets the tags that it says, and the batch that is returned has the
    text without them. A plain text is cut at white space, punctuation and clitics. Its words get
    the (coarse, fine) that ``tags`` has for them, as written or in lower case, or empty tags.
    """

    name = "pinned"
    language = "en"

    def __init__(self, tags: Mapping[str, tuple[str, str]] | None = None) -> None:
        self._tags = dict(tags or {})

    @property
    def version(self) -> str:
        """It has the dictionary in it: with other words this is another tagger."""
        return "1" if not self._tags else f"1 {sorted(self._tags.items())!r}"

    def tokenize(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text, without tags."""
        plain, rows = self._parse(texts)
        bare = [[token._replace(coarse="", fine="") for token in row] for row in rows]
        return Tokens.from_rows(plain, bare, tagged=False)

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with the tags that are pinned or in the dictionary."""
        return Tokens.from_rows(*self._parse(texts))

    def split(self, words: str) -> tuple[str, ...]:
        """The tokens of a word of a rule."""
        return tuple(_PLAIN_TOKEN.findall(words))

    def sentences(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Sentences end after a free-standing ``.``, ``!`` or ``?``."""
        _, rows = self._parse(texts)
        sentences: list[list[tuple[int, int]]] = []
        for row in rows:
            breaks = [
                place
                for place, (token, following) in enumerate(pairwise(row), start=1)
                if token.text in _SENTENCE_END and following.text not in _SENTENCE_END
            ]
            cuts = [0, *breaks, len(row)] if row else []
            sentences.append([(row[low].start, row[high - 1].end) for low, high in pairwise(cuts)])
        return sentences

    def _parse(self, texts: Sequence[str]) -> tuple[list[str], list[list[Token]]]:
        plain: list[str] = []
        rows: list[list[Token]] = []
        for text in texts:
            spelled, row = parse_pinned(text) or (text, self._look_up(text))
            plain.append(spelled)
            rows.append(row)
        return plain, rows

    def _look_up(self, text: str) -> list[Token]:
        row: list[Token] = []
        for match in _PLAIN_TOKEN.finditer(text):
            word = match.group()
            tags = self._tags.get(word) or self._tags.get(word.lower()) or ("", "")
            row.append(Token(word, *tags, match.start(), match.end()))
        return row
