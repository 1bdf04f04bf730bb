"""White space around new text: what a deletion, an insertion and glue take along or add.

In: a text and the place of a change in it. Out: the `Edit` that makes it. Always holds: only
white space next to the place is taken along; what is inserted stands apart from words by one
space, and attached to where it belongs (clitics and closing punctuation to the left, opening
punctuation to the right). Costs a few character tests.
"""

from __future__ import annotations

from functools import lru_cache

from sears_dsl.engine.matches import Edit
from sears_dsl.text.tokens import Token

__all__ = [
    "CLITIC_INITIALS",
    "attached",
    "begins_with_clitic",
    "deletion",
    "insertion",
    "is_punctuation",
    "stand_apart",
]

CLITICS = frozenset(
    f"{mark}{rest}" for mark in "'’" for rest in ("s", "re", "ve", "ll", "d", "m")
) | {"n't", "n’t"}
"""Words that are written without a space before them, in lower case."""

CLITIC_INITIALS = "'’nN"
"""What a clitic begins with."""

_CLOSING = frozenset(",.;:!?)]}%…’”")
_OPENING = frozenset("([{“‘")
# Straight quotes are both; which one is told by the side on which they touch a word.
_QUOTES = frozenset("\"'")


def begins_with_clitic(text: str) -> bool:
    """Whether the text begins with a clitic, which takes no space before it.

    Example:
        >>> begins_with_clitic("'s"), begins_with_clitic("N'T"), begins_with_clitic("'twas")
        (True, True, False)
    """
    if text[:1] not in CLITIC_INITIALS or not text:
        return False
    first, _, _ = text.partition(" ")
    return first.lower() in CLITICS


@lru_cache(maxsize=1 << 12)
def is_punctuation(text: str) -> bool:
    """Whether there is no letter and no digit in the text."""
    return not any(character.isalnum() for character in text)


def _space_before(text: str, place: int, limit: int) -> int:
    """Where the white space that ends at a place begins, not before the limit."""
    while place > limit and text[place - 1].isspace():
        place -= 1
    return place


def _space_after(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def deletion(text: str, start: int, end: int, *, before: str, limit: int = 0) -> Edit:
    """Delete characters start:end with one of the gaps beside them.

    Args:
        text: the original row.
        start: first character of the span.
        end: one past its last.
        before: what stands before the span after the edits so far.
        limit: where the edit before this one ends; nothing left of it can be taken along.
    """
    left = _space_before(text, start, limit)
    right = _space_after(text, end)
    kept = before.rstrip()
    following = text[right : right + 1]
    if not kept:
        left = start  # at the row's start the right gap goes
    elif not following:
        right = end  # at its end the left gap goes
    elif following in _CLOSING or (right == end and following in _QUOTES):
        right = end
    elif right == end:
        left = start
    elif len(kept) == len(before):
        # Nothing to take on the left; the word before keeps its space unless it opens something.
        left = start
        if kept[-1] not in _OPENING and kept[-1] not in _QUOTES:
            right = end
    elif kept[-1] not in _OPENING and text[left:start] == " ":
        right = end
    else:
        left = start
    return Edit(left, right, text[left:right], "")


def attached(text: str, start: int, end: int, new: str, *, limit: int = 0) -> Edit:
    """Replace characters start:end and the white space before them: new text glued to the left."""
    left = _space_before(text, start, limit)
    return Edit(left, end, text[left:end], new)


def stand_apart(old: str, new: str) -> str:
    """New text for a span that touches the token before it.

    A word in place of a clitic gets a space (``don't`` → ``do not``).

    Example:
        >>> stand_apart("n't", "not"), stand_apart("'s", "'re"), stand_apart("?", "!")
        (' not', "'re", '!')
    """
    if new[0].isalnum() and begins_with_clitic(old) and not begins_with_clitic(new):
        return " " + new
    return new


def insertion(
    text: str, previous: Token | None, following: Token | None, new: str, *, glued: bool
) -> Edit:
    """Insert a text between two tokens.

    Args:
        text: the original row.
        previous: the token before; None at the row's start.
        following: the token after; None at the row's end.
        new: what is inserted.
        glued: attached to the token before.
    """
    if previous is None:
        if following is None:
            return Edit(0, 0, "", new)
        space = "" if following.text[0] in _CLOSING else " "
        return Edit(following.start, following.start, "", new + space)
    if glued or begins_with_clitic(new):
        return Edit(previous.end, previous.end, "", new)
    if following is None:
        return Edit(previous.end, previous.end, "", " " + new)
    if previous.end < following.start:
        return Edit(following.start, following.start, "", new + " ")
    space_before = "" if _opens(text, previous.end) else " "
    space_after = "" if _attaches(following.text) else " "
    return Edit(following.start, following.start, "", space_before + new + space_after)


def _attaches(token: str) -> bool:
    """Whether a token that touches the one before it belongs to it."""
    return token[0] in _CLOSING or token[0] in _QUOTES or begins_with_clitic(token)


def _opens(text: str, end: int) -> bool:
    """Whether the character before a place opens something."""
    character = text[end - 1]
    if character in _QUOTES:
        return end < 2 or text[end - 2].isspace()
    return character in _OPENING
