"""An edit without the words that it leaves as they are, for people to look at.

In: an `Edit`. Out: an `Edit`. Always holds: applying it gives the same text; nothing smaller than
a word is cut off. Costs the length of the edit.
"""

from __future__ import annotations

from collections.abc import Iterable

from sears_dsl.engine.matches import Edit

__all__ = ["narrowed"]


def narrowed(edit: Edit) -> Edit:
    """The edit without the whole words that stand on both sides of it unchanged.

    Example:
        >>> narrowed(Edit(0, 10, "What color", "Which color"))
        Edit(start=0, end=4, old='What', new='Which')
    """
    old, new = _words(edit.old), _words(edit.new)
    front = _common(old, new)
    back = _common(reversed(old[front:]), reversed(new[front:]))
    start = edit.start + sum(map(len, old[:front]))
    taken = "".join(old[front : len(old) - back])
    return Edit(start, start + len(taken), taken, "".join(new[front : len(new) - back]))


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
