"""`option repair = on`: ``a`` and ``an`` agree with the word after them, where an edit changed it.

In: a text and an edit of it. Out: the edit, wider by an article before it where that has to change.
Always holds: articles are looked at inside of new text, just before it, and where it ends with one;
nothing else changes. Sounds are told by spelling: vowel letters, with short lists for ``hour``,
``one`` and ``union``, numbers by their first digits, and acronyms by the names of their letters
if they have up to three letters or no vowel. Costs two searches in some fifty characters an edit.
"""

from __future__ import annotations

import re
import unicodedata

from sears_dsl.engine.matches import Edit
from sears_dsl.engine.rewrite.casing import begins_sentence

_ARTICLE = re.compile(r"(?<![\w'’ʼ-])(a|an)(\s+[(\[{\"'“‘]*)([^\W_]+)", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s*[(\[{\"'“‘]*[^\W_]+")
_EIGHTS = re.compile(r"8\d*|(?:11|18)(?:\d{3})*")
_SILENT_H = re.compile(r"hour|honest|honou?r|heir")
_AS_IN_YOU = re.compile(
    r"eu|ewe|u(?:biq|fo|k[ru]|nanim|ni(?!mp|mag|n|de|gn|ss)|ra[ln]|re|ri[cn]|rol|s[aeu]|t[aeio])"
)
_AS_IN_WON = frozenset(("one", "ones", "once", "oneself", "ouija"))
_LETTERS_WITH_AN = frozenset("AEFHILMNORSX")
_LONGEST_ACRONYM = 3
# How far before an edit an article is looked for, and a word behind it.
_REACH = 48


def wants_an(word: str, *, shout: bool = False) -> bool:
    """Whether the article before a word is ``an``.

    Where all around is in capitals too (``shout``), the word is no acronym.

    Example:
        >>> words = ("apple", "hour", "union", "unimportant", "one", "FBI", "NASA", "8", "x", "US")
        >>> [word for word in words if wants_an(word)]
        ['apple', 'hour', 'unimportant', 'FBI', '8', 'x']
    """
    plain = unicodedata.normalize("NFD", word)
    if plain[0].isdigit():
        digits = re.match(r"\d+", plain)
        return digits is not None and _EIGHTS.fullmatch(digits[0]) is not None
    low = plain.lower()
    spelled = plain.isupper() and not shout
    short = len(plain) <= _LONGEST_ACRONYM or not set(low) & set("aeiouy")
    if len(plain) == 1 or (spelled and short):
        return plain[0].upper() in _LETTERS_WITH_AN
    if low in _AS_IN_WON or _AS_IN_YOU.match(low):
        return False
    return low[0] in "aeiou" or _SILENT_H.match(low) is not None


def agreed(text: str, edit: Edit, *, limit: int) -> Edit:
    """An edit whose articles agree with what they stand before; left of the limit they stay.

    Example:
        >>> agreed("A good film", Edit(2, 6, "good", "excellent"), limit=0)
        Edit(start=0, end=6, old='A good', new='An excellent')
    """
    low = max(limit, edit.start - _REACH)
    head = text[low : edit.start]
    following = _NEXT_WORD.match(text, edit.end)
    tail = "" if following is None else following[0]
    window = head + edit.new + tail
    first, last = len(head), len(head) + len(edit.new)
    # The row itself tells what stands before the window.
    row, shift = text[:low] + window, low
    pieces: list[str] = []
    start = place = first
    for match in _ARTICLE.finditer(window):
        if match.start() >= last or match.start(3) < first:
            continue
        article = _agreeing(match, row, shift)
        if article == match[1]:
            continue
        if match.start() < first:
            start = place = match.start()
        pieces += [window[place : match.start()], article]
        place = match.end(1)
    if not pieces:
        return edit
    new = "".join([*pieces, window[place:last]])
    return Edit(low + start, edit.end, text[low + start : edit.end], new)


def _agreeing(match: re.Match[str], row: str, shift: int) -> str:
    """The article of a match as it should be; as it is where it is no article."""
    article, word = match[1], match[3]
    shout = article.isupper() and row.isupper() and len(word) > 1
    if article[0] == "A" and not shout and not begins_sentence(row, shift + match.start()):
        return article  # such as in `Vitamin A`
    right = "an" if wants_an(word, shout=shout) else "a"
    if shout:
        return right.upper()
    return right.capitalize() if article[0] == "A" else right
