"""What the builders share: reports, nodes of parse trees, and the text of quoted strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

# A parse tree or a leaf of one; only parser.py knows the library that they come from.
Node: TypeAlias = Any

Place: TypeAlias = tuple[int, int]
"""Positions in a line, from 0, the second exclusive."""

Report: TypeAlias = Callable[[str, str, Place, str], None]
"""Called with code, message, where it is, and help."""

Reads: TypeAlias = Callable[[str], bool]
"""Whether a line is read without an error; what help suggests has to be."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic within one line."""

    code: str
    message: str
    place: Place
    help: str = ""


def decode(quoted: str, start: int, report: Report) -> str:
    """The text of a quoted literal (without suffix ``i``); reports escapes that JSON has not."""
    try:
        text = json.loads(quoted, strict=False)
    except ValueError:
        report(
            "E104",
            "an escape that JSON does not know",
            (start, start + len(quoted)),
            r"escapes are \" \\ \/ \b \f \n \r \t and \u with four hex digits",
        )
        return "?"
    if any("\ud800" <= character <= "\udfff" for character in text):
        report(
            "E104",
            "half of a surrogate pair",
            (start, start + len(quoted)),
            "the character itself may stand there",
        )
        return "?"
    return cast(str, text)


def plain_string(leaf: Node, report: Report) -> str:
    """The text of a quoted string where the suffix ``i`` has no meaning."""
    text = str(leaf)
    if text.endswith("i"):
        report(
            "E104",
            "`i` after a quoted string",
            (leaf.end_pos - 1, leaf.end_pos),
            "leave it out: only a literal that is looked for can ignore case",
        )
        text = text[:-1]
    return decode(text, leaf.start_pos, report)
