"""What the builders share: reports, nodes of parse trees, the text of quoted strings, functions.

A function as it is written behind what it changes, ``cap`` or ``swap(2)``, becomes its node. Always
holds: an amount that is none (E121) and an amount of a function that takes none (E326) are reported
with their places; whether there is such a function is not asked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from sears_dsl.language.rule import FUNCTIONS, NAMED_FUNCTIONS, NOISE_KINDS, Noise
from sears_dsl.language.words import code, read_places, read_share

_WITHOUT_AMOUNT = (*NAMED_FUNCTIONS, "neighbor", "paraphrase")
_NOISE_BEFORE = re.compile(rf"\.({'|'.join(NOISE_KINDS)})([ \t]*)$")
_PARENTHESIS = re.compile(r"\([^()]*\)?")

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


def read_function(written: str, start: int, report: Report, *, shown: str) -> str | Noise:
    """The function that is written; help writes a call as ``shown``, with ``*`` for it."""
    name, _, amount = written.rstrip(")").partition("(")
    if amount and name in _WITHOUT_AMOUNT:
        report(
            "E326",
            f"`.{name}` takes no amount",
            (start - 1, start + len(written)),
            f"write {code(shown.replace('*', name))}; amounts are those of `.homoglyph` and of the "
            f"slips of typing, as in {code(shown.replace('*', 'swap(2)'))}",
        )
    elif amount and name in FUNCTIONS:
        places, share = read_places(amount), read_share(amount)
        if places is None and share is None:
            place = start + len(name), start + len(written)
            no_amount(f"`({amount})`", name, place, report, shown=shown)
        return Noise(name, places or 1, share)
    return Noise(name) if name in NOISE_KINDS else name


def unreadable_amount(line: str, position: int) -> Finding | None:
    """What is wrong where the grammar stops at the parenthesis behind a function, as in ``2 %``."""
    function = _NOISE_BEFORE.search(line[:position])
    amount = _PARENTHESIS.match(line, position)
    if function is None or amount is None:
        return None
    findings: list[Finding] = []
    apart = " with a space before it" if function[2] else ""
    no_amount(
        f"`{amount[0]}`{apart}",
        function[1],
        amount.span(),
        lambda *finding: findings.append(Finding(*finding)),
        shown="$1.*",
    )
    return findings[0]


def no_amount(what: str, name: str, place: Place, report: Report, *, shown: str) -> None:
    """Report what stands for an amount and is none."""
    places, share = (shown.replace("*", f"{name}({amount})") for amount in ("2", "25%"))
    hint = f"a whole number of places, {code(places)}, or a share of the characters, {code(share)}"
    report("E121", f"{what} is no amount", place, hint)
