"""The quoted text of a template → text and slots.

In: the quoted string as it stands in the line, ``"This {CATEGORY} movie is {DEGREE?} {GOOD}."``.
Out: the parts of a `Template`. Always holds: ``{{`` and ``}}`` are braces; what is no slot is
reported with its place, and the rest is read; whether there is such a set is not asked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sears_dsl.errors import Span
from sears_dsl.language.parsing.functions import read_function
from sears_dsl.language.parsing.leaves import Report, decode
from sears_dsl.language.rule import FUNCTIONS, Noise, SetReference, Slot, SlotCopy
from sears_dsl.language.words import code, nearest

_PIECE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]|(?:\\.|[^{}\\])+")
_WORD = r"[A-Za-z][A-Za-z0-9_]*"
_CALLS = rf"((?:\.{_WORD}(?:\([^()]*\))?)*)"
_SLOT = re.compile(rf"(?:({_WORD}):)?({_WORD})(?:\.({_WORD})(?!\())?{_CALLS}(\?)?{_CALLS}")
_COPY = re.compile(rf"\$({_WORD}){_CALLS}")
_CALL = re.compile(rf"\.({_WORD}(?:\([^()]*\))?)")


def template_parts(
    quoted: str, start: int, line: int, report: Report
) -> tuple[str | Slot | SlotCopy, ...]:
    """The parts of a template.

    Args:
        quoted: the string with its quotation marks, as it was written.
        start: where it begins in the line.
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
    begin = place + piece.index(inner) if inner else place
    span = Span(line, place + 1, end + 1)
    copy = _COPY.fullmatch(inner)
    if copy:
        return SlotCopy(copy[1], tuple(_functions(copy, 2, begin, report)), span)
    slot = _SLOT.fullmatch(inner)
    if slot is None:
        report(
            "E120",
            f"{code(piece)} is no slot",
            place,
            end,
            "name the choices, `set WHO = Uma | Bruce`, and write `{WHO}`"
            if "|" in inner
            else "a slot is the name of a set, `{CATEGORY}`; it may be named, `{who:NAME}`, left "
            "out, `{DEGREE?}`, and written again, `{$who}`",
        )
        return None
    # `w.DEGREE.cap`: an import, a set, a function; `DEGREE.cap`: a set and a function.
    second = slot[3] or ""
    calls: list[str | Noise] = []
    reference = SetReference(second, slot[2]) if second else SetReference(slot[2])
    if second in FUNCTIONS:
        reference = SetReference(slot[2])
        calls += _function(second, begin + slot.start(3), report)
    calls += [*_functions(slot, 4, begin, report), *_functions(slot, 6, begin, report)]
    return Slot(reference, slot[1], slot[5] is not None, tuple(calls), span)


def _functions(
    slot: re.Match[str], group: int, begin: int, report: Report
) -> Iterator[str | Noise]:
    for call in _CALL.finditer(slot[group]):
        yield from _function(call[1], begin + slot.start(group) + call.start(1), report)


def _function(written: str, start: int, report: Report) -> Iterator[str | Noise]:
    """A function of a slot, unless there is none of its name."""
    name = written.partition("(")[0]
    if name in FUNCTIONS:
        yield read_function(written, start, report, shown="{NAME.*}")
    else:
        hint = nearest(name, FUNCTIONS)
        report("E208", f"`.{name}` is no function", start - 1, start + len(written), hint)
