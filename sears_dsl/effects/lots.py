"""Rows drawn by lot, that is by a hash of their text, and rows that are held out by it.

What rules do to rows that took no part in finding them has no winner's curse. Since a hash of its
text puts a row on one side or the other, the same text is never on both sides, and rows that are
added later move no other row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

# More of the rows than this are not kept together because they share texts: nearly none, or nearly
# all, would be held out.
_LARGEST_GROUP = 0.1


def hold_out(
    texts: Sequence[str], *, seed: int, share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the rows to find rules on, and of those held out.

    About a `share` of the distinct texts, between 0 and 1, is held out.
    """
    held = lots(texts, f"held out {seed}") < share
    return np.flatnonzero(~held), np.flatnonzero(held)


def together(rows: Sequence[Sequence[str]]) -> list[str]:
    """For each row, of several texts, what is the same for all rows that share one of them.

    Rows that share texts with the same row stay together, too. It is the first of all their texts.
    Blank texts are not shared. Where more than a tenth of the rows would stay together, such as
    those that all ask the same question, only rows with all texts the same do.

    Example:
        >>> others = [(f"first {n}", f"second {n}") for n in range(40)]
        >>> together([("a", "b"), ("c", "d"), ("d", "B"), ("e", ""), ("f", ""), *others])[:5]
        ['a', 'a', 'a', 'e', 'f']
        >>> len(set(together([(f"first {n % 20}", "all the same") for n in range(40)])))
        20
    """
    first: dict[str, str] = {}

    def root(text: str) -> str:
        while (before := first.setdefault(text, text)) != text:
            first[text] = text = first[before]
        return text

    whole = [[" ".join(text.casefold().split()) for text in row] for row in rows]
    keys = [[text for text in row if text] or [""] for row in whole]
    for row in keys:
        least = min(map(root, row))
        first |= dict.fromkeys(map(root, row), least)
    groups = [root(row[0]) for row in keys]
    if max(Counter(groups).values(), default=0) > _LARGEST_GROUP * len(rows):
        return ["\n".join(row) for row in whole]
    return groups


def by_lot(texts: Sequence[str], purpose: str) -> NDArray[np.int64]:
    """The places of texts in an order by lot, equal texts in theirs."""
    return np.argsort(lots(texts, purpose), kind="stable")


def lots(texts: Sequence[str], purpose: str) -> NDArray[np.float64]:
    """A pseudorandom number in [0, 1) for each text, always the same for the same purpose.

    Texts that differ in case or white space alone are the same text.
    """
    hashed = [
        blake2b(
            " ".join((purpose, *text.casefold().split())).encode("utf-8", "surrogatepass"),
            digest_size=8,
        ).digest()
        for text in texts
    ]
    numbers = np.frombuffer(b"".join(hashed), "<u8")
    # A float holds 53 bits; more of them could be rounded up to 1.
    return np.asarray((numbers >> np.uint64(11)) / float(1 << 53), np.float64)
