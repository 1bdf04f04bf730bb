"""What changed in the words of a sentence that a bag of words, or a likely wording, hides.

In: two texts. Out: how many pairs of content words changed their order, and whether the number of
negations changed. What always holds: both are 0 for a text with itself, and the same in both
directions. Costs some microseconds a word; texts are cut by a pattern, no tagger is asked.

Content words are all but the closed classes of English; these and the negations are listed in
``english_words.json``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right, insort
from collections import Counter, defaultdict
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"n't\b|(?:(?!n't\b)[^\W_])+")


def exchanged_words(original: str, rewrite: str) -> int:
    """How many pairs of content words that both texts have stand in the other order.

    Of a word that occurs several times, the first occurrences belong together, then the second.

    Example:
        >>> exchanged_words("Dogs that chase cats are loud.", "Cats that chase dogs are loud.")
        3
        >>> exchanged_words("A fun film.", "A fun movie.")
        0
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(_words(rewrite)):
        places[word].append(place)
    seen: Counter[str] = Counter()
    passed: list[int] = []
    exchanged = 0
    for word in _words(original):
        if word in _listed("function words") or seen[word] >= len(places[word]):
            continue
        place = places[word][seen[word]]
        seen[word] += 1
        exchanged += len(passed) - bisect_right(passed, place)
        insort(passed, place)
    return exchanged


def negation_differs(original: str, rewrite: str) -> bool:
    """Whether one text has more negations than the other.

    Example:
        >>> negation_differs("I don't know.", "I do not know."), negation_differs("It is.", "No.")
        (False, True)
    """
    return _negations(original) != _negations(rewrite)


def word_count(text: str) -> int:
    """How many words a text has; a contracted ``n't`` is a word.

    Example:
        >>> word_count("It isn't fun.")
        4
    """
    return len(_words(text))


def _negations(text: str) -> int:
    return sum(word in _listed("negations") for word in _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


@cache
def _listed(name: str) -> frozenset[str]:
    content = files(__package__).joinpath("english_words.json").read_text("utf-8")
    return frozenset(json.loads(content)[name])
