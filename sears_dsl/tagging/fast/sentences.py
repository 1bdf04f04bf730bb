"""Where the sentences of a text end, from its characters and tokens, by rules.

Always holds: the sentences of a row are in order, disjoint, and leave out nothing but white space;
they depend on that row alone. A sentence ends after closing punctuation and the quotes and brackets
that close after it, unless it goes on in small letters; and at a blank line. Abbreviations have
their dot in one token, so they end none. Costs a few microseconds a sentence, besides the tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sears_dsl.tagging.fast.tokenizer import FastTokenizer

_CLOSING_PUNCTUATION = re.compile(r"[.?!…。？！]+")
_ELLIPSIS = re.compile(r"\.\.+|…+")
_EMOTICON = re.compile(r"[:;=8]['’o-]?[()\[\]/|*DPp3]+|[(\[]['’o-]?[:;=]|\^_*\^|<3")
_CLOSING = frozenset({")", "]", "}", "”", "’", "»", "''", "’’", "』", "」", "）"})
_QUOTES = frozenset({'"', "'"})  # which close only where they follow without a space
_OPENING = frozenset(
    {"(", "[", "{", "“", "‘", "«", "``", "『", "「", "（", "-", "--", "—", "–", "*"}
)
_BEFORE_WORDS = _OPENING | _QUOTES
_GOES_ON = frozenset({",", ";", ":"})
# Words whose dot is a token of its own, and after which a number or a small letter goes on.
_ABBREVIATED = frozenset(
    """
    al approx art attn cf ch dept ed eds esp est etc ext fig figs hr hrs incl lb lbs max min misc
    no nos oz pp sec ser tel vol vols
    """.split()  # noqa: SIM905 - a list of them is harder to read
)
_BLANK_LINE = re.compile(r"\n\s*\n")


def sentence_bounds(texts: Sequence[str], tokenizer: FastTokenizer) -> list[list[tuple[int, int]]]:
    """The sentences of each text."""
    cut = tokenizer.tokenize(texts)
    words = tokenizer.words.texts(cut.words.tolist())
    closing = set(filter(_CLOSING_PUNCTUATION.fullmatch, set(words)))
    starts, ends = cut.starts.tolist(), cut.ends.tolist()
    sentences: list[list[tuple[int, int]]] = []
    for text, (low, high) in zip(texts, pairwise(cut.row_offsets.tolist()), strict=True):
        row = words[low:high]
        candidates = [place for place, word in enumerate(row) if word in closing]
        sentences.append(_row(text, row, starts[low:high], ends[low:high], candidates))
    return sentences


def _row(
    text: str, words: list[str], starts: list[int], ends: list[int], candidates: list[int]
) -> list[tuple[int, int]]:
    """The sentences of one row, given the places of closing punctuation in it."""
    after_blank_lines = [0, *_after_blank_lines(text, starts)]
    firsts = set(after_blank_lines)
    first = following = 0
    for place in candidates:
        if place < following:
            continue
        following = _after_closing(words, starts, ends, place)
        begin = max(first, after_blank_lines[bisect_right(after_blank_lines, place) - 1])
        numbered = place == begin + 1 and words[place] == "." and words[begin].isdecimal()
        if following < len(words) and not numbered and _ends(words, starts, ends, place, following):
            first = following
            firsts.add(following)
    ordered = sorted(first for first in firsts if first < len(words))
    return [
        (starts[first], ends[after - 1])
        for first, after in zip(ordered, [*ordered[1:], len(words)], strict=False)
    ]


def _after_blank_lines(text: str, starts: list[int]) -> Iterator[int]:
    if "\n" in text:
        for blank in _BLANK_LINE.finditer(text):
            yield bisect_left(starts, blank.end())


def _after_closing(words: list[str], starts: list[int], ends: list[int], place: int) -> int:
    """The token after closing punctuation and all that closes with it."""
    place += 1
    while place < len(words):
        word = words[place]
        touches = starts[place] == ends[place - 1]
        if not (
            word in _CLOSING
            or (touches and word in _QUOTES)
            or _CLOSING_PUNCTUATION.fullmatch(word)
            or _EMOTICON.fullmatch(word)
        ):
            break
        place += 1
    return place


def _ends(words: list[str], starts: list[int], ends: list[int], place: int, after: int) -> bool:
    """Whether a sentence ends between closing punctuation at a place and the token after it."""
    following = after
    while following + 1 < len(words) and words[following] in _BEFORE_WORDS:
        following += 1
    begins = words[following][0]
    if words[after] in _GOES_ON:
        return False
    before = words[place - 1].lower() if place and words[place] == "." else ""
    if before in _ABBREVIATED:
        return not (begins.islower() or begins.isdecimal())
    if not begins.islower():
        return True
    # In small letters a sentence goes on after a quotation, an ellipsis, and in web addresses.
    return not (
        words[after - 1] in _CLOSING
        or words[after - 1] in _QUOTES
        or _ELLIPSIS.fullmatch(words[place])
        or starts[after] == ends[after - 1]
    )
