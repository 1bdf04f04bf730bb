"""Rows by lot: a number drawn for each text, always the same one, and rows that are held out by it.

In: texts. Out: numbers, or places of rows. What rules do to rows that took no part in finding them
has no winner's curse. Always holds: rows fall on one side or the other by a hash of their text, so
that the same text is never on both, and rows that are added later move no other row.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import UsageError


def hold_out(
    texts: Sequence[str], *, seed: int, share: float = 0.5
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows by their texts: those to find rules on, and those that take no part.

    Each text falls by its hash, about a `share` of them into the second kind.
    """
    if not 0 < share < 1:
        raise UsageError(f"the share is {share}", help="give a number between 0 and 1")
    held = lots(texts, f"held out {seed}") < share
    return np.flatnonzero(~held), np.flatnonzero(held)


def lots(texts: Sequence[str], purpose: str) -> NDArray[np.float64]:
    """A number in [0, 1) for each text, as good as drawn, and always the same for a purpose.

    Texts that differ in case or white space alone are the same text.
    """
    hashed = [
        blake2b(
            " ".join((purpose, *text.casefold().split())).encode("utf-8", "surrogatepass"),
            digest_size=8,
        ).digest()
        for text in texts
    ]
    whole = np.frombuffer(b"".join(hashed), "<u8")
    # 53 bits are what a float holds, so that no place is rounded up to 1.
    return np.asarray((whole >> np.uint64(11)) / float(1 << 53), np.float64)
