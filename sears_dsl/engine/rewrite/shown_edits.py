"""Edits for people to look at: the words that changed, and nothing beside them.

In: an `Edit`; a text and its edits. Out: an `Edit`; the text in `ShownPiece`s. Always holds:
applying a narrowed edit gives the same text; nothing smaller than a word is cut off, and the blanks
and marks beside it; the pieces that are kept or removed are together the text, but for the blank
that comes with an inserted word; a change of characters for others that look the same is followed
by their code points. Costs the length of the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from sears_dsl.engine.matches import Edit
from sears_dsl.engine.noise.characters import lookalikes


class ShownPiece(NamedTuple):
    """A part of a text to look at: ``same``, ``old`` (removed) or ``new`` (inserted).

    A ``note`` is no part of it: the code points of look-alikes in the ``new`` part before it.
    """

    kind: Literal["same", "old", "new", "note"]
    text: str


def code_points(old: str, new: str) -> str:
    """The characters of a new text that look as those of the old one do, with their code points.

    Empty where there are none, so that what is seen is what changed.

    Example:
        >>> code_points("a film", "\u0430 f\u0456lm")
        'а U+0430, і U+0456'
        >>> code_points("a film", "a movie")
        ''
    """
    table, before = lookalikes(), set(old)
    alike = {table[each] for each in before if each in table} - before
    return ", ".join(
        f"{each} U+{ord(each):04X}"
        for each in dict.fromkeys(new)
        if each in alike or (each not in before and table.get(each) in before)
    )


def with_code_points(old: str, new: str) -> str:
    """A new text as a line of a report says it, the code points of its look-alikes behind it.

    Example:
        >>> with_code_points("a film", "\u0430 film")
        'а film (а U+0430)'
        >>> with_code_points("a film", "a movie")
        'a movie'
    """
    points = code_points(old, new)
    return f"{new} ({points})" if points else new


def change(old: str, new: str) -> Iterator[ShownPiece]:
    """What a text was and became, and what cannot be seen of it.

    Example:
        >>> [tuple(each) for each in change("a", "\u0430")]
        [('old', 'a'), ('new', 'а'), ('note', 'а U+0430')]
    """
    yield from _pieces_of("old", old)
    yield from _pieces_of("new", new)
    yield from _pieces_of("note", code_points(old, new))


def narrowed(edit: Edit) -> Edit:
    """The edit without the whole words, blanks and marks that stand on both sides unchanged.

    Example:
        >>> narrowed(Edit(0, 16, "What color is it", "Which color is it"))
        Edit(start=0, end=4, old='What', new='Which')
        >>> narrowed(Edit(5, 11, " movie", " film"))
        Edit(start=6, end=11, old='movie', new='film')
        >>> narrowed(Edit(0, 6, "great,", "big,"))
        Edit(start=0, end=5, old='great', new='big')
    """
    old, new = _words(edit.old), _words(edit.new)
    front, back = common_ends(old, new)
    start = edit.start + sum(map(len, old[:front]))
    old_part = "".join(old[front : len(old) - back])
    new_part = "".join(new[front : len(new) - back])
    return Edit(start, start + len(old_part), old_part, new_part)


def pieces(original: str, edits: Sequence[Edit]) -> Iterator[ShownPiece]:
    """The text with each change marked.

    The blank that goes with a removed word, or comes with an inserted one, is not marked.

    Example:
        >>> [tuple(each) for each in pieces("a really good film", [Edit(2, 9, "really ", "")])]
        [('same', 'a '), ('old', 'really'), ('same', ' '), ('same', 'good film')]
    """
    position = 0
    for start, _, old, new in map(narrowed, edits):
        yield from _pieces_of("same", original[position:start])
        if old.strip() and new.strip():
            yield from change(old, new)
        else:
            yield from _bared("old", old)
            yield from _bared("new", new)
        position = start + len(old)
    yield from _pieces_of("same", original[position:])


def _bared(kind: Literal["old", "new"], text: str) -> Iterator[ShownPiece]:
    """The piece without its outer blanks, and these beside it; blanks alone stay what they are."""
    bare = text.strip()
    if not bare:
        yield from _pieces_of(kind, text)
        return
    first = text.index(bare)
    yield from _pieces_of("same", text[:first])
    yield ShownPiece(kind, bare)
    yield from _pieces_of("same", text[first + len(bare) :])


def _pieces_of(kind: Literal["same", "old", "new", "note"], text: str) -> Iterator[ShownPiece]:
    if text:
        yield ShownPiece(kind, text)


# What is no blank and no mark; an apostrophe is a part of its word, as signs are that combine.
_WORD = re.compile(r"""[^\s.,;:!?()\[\]{}"“”…—]+|.""", re.DOTALL)


def _words(text: str) -> list[str]:
    """The text in words, blanks and marks, so that joining gives it back."""
    return _WORD.findall(text)


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many parts two sequences begin with alike, and with how many others they end alike.

    Example:
        >>> common_ends(["a", "good", "film"], ["a", "bad", "bad", "film"])
        (1, 1)
    """
    front = _common(old, new)
    return front, _common(reversed(old[front:]), reversed(new[front:]))


def _common(left: Iterable[str], right: Iterable[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
