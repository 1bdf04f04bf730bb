"""What differs between a text and its rewrite, word by word.

Always holds: writing the new words over the old ones gives the rewrite, white space and the kind of
apostrophe aside. Equal texts have no changes. Changes are in order and do not touch. Of more than
``CHANGES`` changes, those closest together are merged. What both texts share at their beginning and
end is skipped at once, and only the rest is cut into words and aligned, by Myers' algorithm; texts
that differ in more than ``_DIFFERENCES`` words have one change. One change in a text of any usual
length takes some 20 microseconds.

Words are cut nearly as the taggers cut them: a clitic is a word (*do n't*, *do nt*, *it 's*, *can
not*), a run of one mark is a word, and so is a hyphen.

Source: E. Myers, An O(ND) difference algorithm and its variations, Algorithmica 1 (1986).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from sears_dsl.engine.rewrite.rewrites import common_ends

CHANGES = 8
_DIFFERENCES = 128
# So many characters before and after a change are looked at for the words beside it.
_BESIDE = 80

_BEFORE_NT = r"(?:do|does|did|ca|wo|is|are|was|were|has|have|had|could|would|should)"
_PLAIN = rf"(?:[^\W\d_]\.){{2,}}|\d+(?:[.,:]\d+)*\w*|can(?=not\b)|{_BEFORE_NT}(?=nt\b)"
_MARK = r"([^\w\s])\1*"
_WORDS = re.compile(rf"{_PLAIN}|\w+|{_MARK}", re.IGNORECASE)
_CLITIC = r"'(?:s|re|ve|ll|d|m)(?=\b|n't\b)"
_WORDS_AND_CLITICS = re.compile(
    rf"{_PLAIN}|\w+?(?=n't\b)|n't\b|{_CLITIC}|\w+(?:(?!{_CLITIC})'\w+)*|{_MARK}", re.IGNORECASE
)
_SPACE_BEFORE = re.compile(r".*\s", re.DOTALL)
_SPACE = re.compile(r"\s|\Z")
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


class Word(NamedTuple):
    """A word with its place in the text; its apostrophe is straight."""

    text: str
    start: int
    end: int


class Change(NamedTuple):
    """A run of words, and what the rewrite has instead."""

    old: tuple[str, ...]  # the words of the original; none for an insertion
    new: tuple[str, ...]  # the words of the rewrite; none for a deletion
    # Where ``old`` begins in the original, in characters; for an insertion, where the next word
    # begins, or the end of the text.
    start: int
    end: int
    first: int  # where ``new`` begins in the rewrite, in characters
    last: int


def words_of(text: str) -> list[Word]:
    """The words of a text."""
    return _cut(text.translate(_APOSTROPHES), 0, len(text))


def words_beside(text: str, change: Change, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Up to so many words of the original before a change, and as many after it."""
    low = max(0, change.start - _BESIDE)
    # The first word is a whole one.
    space = _SPACE.search(text, low, change.start) if low else None
    low = space.start() if space else low
    text = text.translate(_APOSTROPHES)
    before = _cut(text, low, change.start)[-count:]
    after = _cut(text, change.end, min(len(text), change.end + _BESIDE))[:count]
    return tuple(word.text for word in before), tuple(word.text for word in after)


# Each kind of evidence asks for the changes of the same rewrites.
@lru_cache(maxsize=1 << 14)
def changes_of(original: str, rewrite: str) -> tuple[Change, ...]:
    """The words in which two texts differ, in order."""
    if original == rewrite:
        return ()
    original, rewrite = original.translate(_APOSTROPHES), rewrite.translate(_APOSTROPHES)
    before, after = _shared_ends(original, rewrite)
    ours = _cut(original, before, len(original) - after)
    theirs = _cut(rewrite, before, len(rewrite) - after)
    left, right = [word.text for word in ours], [word.text for word in theirs]
    changes = []
    for start, end, first, last in _fewer(list(differing_runs(left, right))):
        begin, stop = _span(ours, start, end, len(original), after)
        begin_new, stop_new = _span(theirs, first, last, len(rewrite), after)
        old, new = tuple(left[start:end]), tuple(right[first:last])
        changes.append(Change(old, new, begin, stop, begin_new, stop_new))
    return tuple(changes)


def _cut(text: str, start: int, end: int) -> list[Word]:
    pattern = _WORDS_AND_CLITICS if "'" in text else _WORDS
    return [
        Word(match.group(), match.start(), match.end())
        for match in pattern.finditer(text, start, end)
    ]


def _shared_ends(original: str, rewrite: str) -> tuple[int, int]:
    """How many characters the texts share at their beginning and at their end, in whole words."""
    shorter = min(len(original), len(rewrite))
    before = _longest(shorter, lambda count: original[:count] == rewrite[:count])
    spaces = _SPACE_BEFORE.match(original, 0, before)
    before = spaces.end() if spaces else 0
    after = _longest(
        shorter - before,
        lambda count: original[len(original) - count :] == rewrite[len(rewrite) - count :],
    )
    space = _SPACE.search(original, len(original) - after)
    return before, len(original) - (space.start() if space else len(original))


def _longest(most: int, same: Callable[[int], bool]) -> int:
    """The largest count up to ``most`` that is the same, given that all smaller ones are."""
    if same(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return low


Run: TypeAlias = tuple[int, int, int, int]


def differing_runs(left: Sequence[object], right: Sequence[object]) -> Iterator[Run]:
    """The runs that differ, in order: where each begins and ends on the left, and on the right.

    Sequences that differ in more than ``_DIFFERENCES`` parts have one run.

    Example:
        >>> list(differing_runs("a fine film".split(), "a very fine movie".split()))
        [(1, 1, 1, 2), (2, 3, 3, 4)]
    """
    head, tail = common_ends(left, right)
    ours, theirs = left[head : len(left) - tail], right[head : len(right) - tail]
    at_left, at_right = 0, 0
    for same_left, same_right in [*_alignment(ours, theirs), (len(ours), len(theirs))]:
        if (same_left, same_right) != (at_left, at_right):
            yield head + at_left, head + same_left, head + at_right, head + same_right
        at_left, at_right = same_left + 1, same_right + 1


def _alignment(left: Sequence[object], right: Sequence[object]) -> list[tuple[int, int]]:
    """A longest common subsequence of words, as places; none where too many words differ.

    ``furthest[d]`` is how far on the left one gets on the diagonal ``d`` (left minus right) when
    ``count`` words are left out on either side. The steps are kept to walk back.
    """
    if len(left) <= 1 and len(right) <= 1:
        return []
    furthest = {1: 0}
    steps: list[dict[int, int]] = []
    for count in range(min(len(left) + len(right), _DIFFERENCES) + 1):
        steps.append(dict(furthest))
        for diagonal in range(-count, count + 1, 2):
            down = diagonal == -count or (
                diagonal != count and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            at = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            while (
                at < len(left) and at - diagonal < len(right) and left[at] == right[at - diagonal]
            ):
                at += 1
            furthest[diagonal] = at
            if at >= len(left) and at - diagonal >= len(right):
                return _walked_back(steps, diagonal, at)
    return []


def _walked_back(steps: list[dict[int, int]], diagonal: int, at: int) -> list[tuple[int, int]]:
    """The places of shared words on the path that `_alignment` took, from the beginning."""
    shared = []
    for count in range(len(steps) - 1, -1, -1):
        furthest = steps[count]
        down = diagonal == -count or (
            diagonal != count and furthest[diagonal - 1] < furthest[diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        begin = furthest[before] if down else furthest[before] + 1
        shared += [(place, place - diagonal) for place in range(at - 1, begin - 1, -1)]
        diagonal, at = before, furthest[before]
    return shared[::-1]


def _fewer(runs: list[Run]) -> list[Run]:
    """At most ``CHANGES`` runs: those with the fewest words between them are merged."""
    while len(runs) > CHANGES:
        gaps = [after[0] - before[1] for before, after in pairwise(runs)]
        at = gaps.index(min(gaps))
        (start, _, first, _), (_, end, _, last) = runs[at : at + 2]
        runs[at : at + 2] = [(start, end, first, last)]
    return runs


def _span(words: Sequence[Word], first: int, last: int, length: int, after: int) -> tuple[int, int]:
    """Where a run of words stands in the text; for an empty one, the place of the next word."""
    if first < last:
        return words[first].start, words[last - 1].end
    place = words[first].start if first < len(words) else length - after
    return place, place
