"""A function as it is written behind what it changes, ``cap`` or ``swap(2)``, → its node.

Always holds: an amount that is none (E121) and an amount of a function that takes none (E326) are
reported with their places; whether there is such a function is not asked here.
"""

from __future__ import annotations

import re

from sears_dsl.language.amounts import read_places, read_share
from sears_dsl.language.parsing.leaves import Finding, Place, Report
from sears_dsl.language.rule import FUNCTIONS, NAMED_FUNCTIONS, NOISE_KINDS, Noise
from sears_dsl.language.words import code

_WITHOUT_AMOUNT = (*NAMED_FUNCTIONS, "neighbor", "paraphrase")
_NOISE_BEFORE = re.compile(rf"\.({'|'.join(NOISE_KINDS)})([ \t]*)$")
_PARENTHESIS = re.compile(r"\([^()]*\)?")


def read_function(written: str, start: int, report: Report, *, shown: str) -> str | Noise:
    """The function that is written.

    Args:
        shown: how help writes a call, with ``*`` for the function.
    """
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
