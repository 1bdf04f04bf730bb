"""Edits for people to look at: the words that changed, and nothing beside them.

In: an `Edit`; a text and its edits. Out: an `Edit`; the text in `Piece`s. Always holds: applying a
narrowed edit gives the same text; nothing smaller than a word is cut off, and the blanks beside it;
the pieces that are kept or removed are together the text, but for the blank that comes with an
inserted word. Costs the length of the edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from sears_dsl.engine.matches import Edit

__all__ = ["Piece", "narrowed", "pieces"]


class Piece(NamedTuple):
    """A part of a text to look at: ``same``, ``old`` (removed) or ``new`` (inserted)."""

    kind: Literal["same", "old", "new"]
    text: str


def narrowed(edit: Edit) -> Edit:
    """The edit without the whole words and blanks that stand on both sides of it unchanged.

    Example:
        >>> narrowed(Edit(0, 16, "What color is it", "Which color is it"))
        Edit(start=0, end=4, old='What', new='Which')
        >>> narrowed(Edit(5, 11, " movie", " film"))
        Edit(start=6, end=11, old='movie', new='film')
    """
    old, new = _words(edit.old), _words(edit.new)
    front = _common(old, new)
    back = _common(reversed(old[front:]), reversed(new[front:]))
    start = edit.start + sum(map(len, old[:front]))
    taken = "".join(old[front : len(old) - back])
    given = "".join(new[front : len(new) - back])
    blanks = _common_blanks(taken, given)
    start, taken, given = start + blanks, taken[blanks:], given[blanks:]
    blanks = _common_blanks(taken[::-1], given[::-1])
    taken, given = taken[: len(taken) - blanks], given[: len(given) - blanks]
    return Edit(start, start + len(taken), taken, given)


def pieces(original: str, edits: Sequence[Edit]) -> Iterator[Piece]:
    """The text with each change marked.

    The blank that goes with a removed word, or comes with an inserted one, is not marked.

    Example:
        >>> [tuple(each) for each in pieces("a really good film", [Edit(2, 9, "really ", "")])]
        [('same', 'a '), ('old', 'really'), ('same', ' '), ('same', 'good film')]
    """
    position = 0
    for start, _, old, new in map(narrowed, edits):
        yield from _given("same", original[position:start])
        if old.strip() and new.strip():
            yield from (Piece("old", old), Piece("new", new))
        else:
            yield from _bared("old", old)
            yield from _bared("new", new)
        position = start + len(old)
    yield from _given("same", original[position:])


def _bared(kind: Literal["old", "new"], text: str) -> Iterator[Piece]:
    """The piece without its outer blanks, and these beside it; blanks alone stay what they are."""
    bare = text.strip()
    if not bare:
        yield from _given(kind, text)
        return
    first = text.index(bare)
    yield from _given("same", text[:first])
    yield Piece(kind, bare)
    yield from _given("same", text[first + len(bare) :])


def _given(kind: Literal["same", "old", "new"], text: str) -> Iterator[Piece]:
    if text:
        yield Piece(kind, text)


def _common_blanks(one: str, other: str) -> int:
    """How many white characters both begin with."""
    count = _common(one, other)
    return len(one[:count]) - len(one[:count].lstrip())


def _words(text: str) -> list[str]:
    """The text cut before every space, so that joining gives it back."""
    words: list[str] = []
    for character in text:
        if character.isspace() or not words:
            words.append(character)
        else:
            words[-1] += character
    return words


def _common(left: Iterable[str], right: Iterable[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
