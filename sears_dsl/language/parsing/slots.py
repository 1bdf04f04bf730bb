"""The quoted text of a template → text and slots.

In: the quoted string as it stands in the line, ``"This {CATEGORY} movie is {DEGREE?} {GOOD}."``.
Out: the parts of a `Template`. Always holds: ``{{`` and ``}}`` are braces; what is no slot is
reported with its place, and the rest is read; whether there is such a set is not asked here. Costs
one look at each character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sears_dsl.errors import Span
from sears_dsl.language.parsing.leaves import Report, decode
from sears_dsl.language.rule import FUNCTIONS, SetReference, Slot, SlotCopy
from sears_dsl.language.words import code, nearest

SLOT_FUNCTIONS = ("lower", "upper", "cap", "uncap")
"""Functions that a slot may have: those that need no token of a tagged text."""

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|(?:\\.|[^{}\\])+")
_WORD = r"[A-Za-z][A-Za-z0-9_]*"
_SLOT = re.compile(rf"(?:({_WORD}):)?({_WORD}(?:\.{_WORD})*)(\?)?((?:\.{_WORD})*)")
_COPY = re.compile(rf"\$({_WORD})((?:\.{_WORD})*)")


def template_parts(
    quoted: str, start: int, line: int, report: Report
) -> tuple[str | Slot | SlotCopy, ...]:
    """The parts of a template.

    Args:
        quoted: the string with its quotation marks, as it was written.
        start: where it begins in the line.
        line: the number of the line.
        report: told what is wrong.
    """
    parts: list[str | Slot | SlotCopy] = []
    text = ""
    for piece, place in _pieces(quoted, start):
        if piece in ("{{", "}}"):
            text += piece[0]
        elif piece[0] in "{}":
            part = _slot(piece, place, line, report)
            if part is not None:
                parts += [text, part] if text else [part]
                text = ""
        else:
            text += decode(f'"{piece}"', place, report)
    return (*parts, text) if text else tuple(parts)


def _pieces(quoted: str, start: int) -> Iterator[tuple[str, int]]:
    for match in _PIECE.finditer(quoted, 1, len(quoted) - 1):
        yield match[0], start + match.start()


def _slot(piece: str, place: int, line: int, report: Report) -> Slot | SlotCopy | None:
    end = place + len(piece)
    if piece in ("{", "}"):
        report(
            "E120",
            "a slot that is not closed" if piece == "{" else "a brace that closes no slot",
            place,
            end,
            "a slot is the name of a set in braces, as in `{CATEGORY}`; a brace itself is `{{` or "
            "`}}`",
        )
        return None
    inner = piece[1:-1].strip(" \t")
    span = Span(line, place + 1, end + 1)
    copy = _COPY.fullmatch(inner)
    if copy:
        return SlotCopy(copy[1], _functions(copy[2].split(".")[1:], place, end, report), span)
    slot = _SLOT.fullmatch(inner)
    if slot is None:
        report(
            "E120",
            f"{code(piece)} is no slot",
            place,
            end,
            "a slot is the name of a set, `{CATEGORY}`; it may be named, `{who:NAME}`, left out, "
            "`{DEGREE?}`, and written again, `{$who}`",
        )
        return None
    names = slot[2].split(".")
    # `w.DEGREE.cap`: an import, a set, a function; `DEGREE.cap`: a set and a function.
    reach = 1 if len(names) == 1 or names[1] in FUNCTIONS else 2
    reference = SetReference(names[reach - 1], names[0] if reach == 2 else None)
    written = (*names[reach:], *slot[4].split(".")[1:])
    functions = _functions(written, place, end, report)
    return Slot(reference, slot[1], slot[3] is not None, functions, span)


def _functions(
    names: tuple[str, ...] | list[str], place: int, end: int, report: Report
) -> tuple[str, ...]:
    for name in names:
        if name not in SLOT_FUNCTIONS:
            report(
                "E208",
                f"a slot has no function `{name}`",
                place,
                end,
                nearest(name, SLOT_FUNCTIONS),
            )
    return tuple(name for name in names if name in SLOT_FUNCTIONS)
