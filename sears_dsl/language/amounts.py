"""Shares and amounts as they are written: ``25%``, ``(25%)``, ``(3)``.

Always holds: a share is more than 0% and at most 100%, with at most four decimals, so that it is a
whole number of millionths; it is printed without zeros behind it.
"""

from __future__ import annotations

import re

from sears_dsl.language.rule import Noise

WHOLE = 1_000_000
"""All of something, in millionths."""

_SHARE = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,4}))?%", re.ASCII)
_PLACES = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


def read_share(text: str) -> int | None:
    """A share in millionths; None where the text is none."""
    match = _SHARE.fullmatch(text)
    if match is None:
        return None
    share = int(match[1]) * 10_000 + int((match[2] or "").ljust(4, "0"))
    return share if 0 < share <= WHOLE else None


def print_share(share: int) -> str:
    """A share as it is written."""
    whole, rest = divmod(share, 10_000)
    decimals = f"{rest:04}".rstrip("0")
    return f"{whole}.{decimals}%" if decimals else f"{whole}%"


def read_places(text: str) -> int | None:
    """A number of places from 1 on; None where the text is none."""
    return int(text) if _PLACES.fullmatch(text) else None


def print_function(function: str | Noise) -> str:
    """A function as it is written behind its reference, without the dot."""
    if isinstance(function, str):
        return function
    if function.share is not None:
        return f"{function.kind}({print_share(function.share)})"
    return function.kind if function.places == 1 else f"{function.kind}({function.places})"
