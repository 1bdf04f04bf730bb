"""Two texts in one, with what changed between them marked.

In: a text and what became of it. Out: pieces in order: kept, removed, inserted. Always holds: kept
and removed pieces together are the first text, kept and inserted ones the second.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from sears_dsl.engine.rewrite.shown_edits import ShownPiece, change

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def marked(original: str, rewritten: str) -> tuple[ShownPiece, ...]:
    """The change between two texts, in whole words.

    Example:
        >>> for piece in marked("What color is it?", "Which color is it?"):
        ...     print(piece.kind, repr(piece.text))
        old 'What'
        new 'Which'
        same ' color is it?'
    """
    old, new = _WORDS.findall(original), _WORDS.findall(rewritten)
    pieces: list[ShownPiece] = []
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, low, high in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(ShownPiece("same", "".join(old[first:last])))
            continue
        if first < last:
            pieces.append(ShownPiece("old", "".join(old[first:last])))
        if low < high:
            pieces.append(ShownPiece("new", "".join(new[low:high])))
    return tuple(_joined(pieces))


def _joined(pieces: list[ShownPiece]) -> list[ShownPiece]:
    """Changes with only white space between them are one change: ``a b`` → ``c d``."""
    joined: list[ShownPiece] = []
    place = 0
    while place < len(pieces):
        if pieces[place].kind == "same":
            joined.append(pieces[place])
            place += 1
            continue
        old = new = ""
        while place < len(pieces):
            piece = pieces[place]
            between = piece.kind == "same" and not piece.text.strip() and place + 1 < len(pieces)
            if piece.kind == "same" and not between:
                break
            old += piece.text if piece.kind != "new" else ""
            new += piece.text if piece.kind != "old" else ""
            place += 1
        joined += change(old, new)
    return joined
