"""From fine tags to coarse ones: by word and fine tag, and by context where these leave it open.

In: a row's fine tags. Out: its coarse (UPOS) tags. Always holds: depends on the row alone. Words
that are cases of their own have a group; for nearly all groups and fine tags the coarse tag is in a
table. It is open for some fifty words, for which the fine tags around them decide with weights of
their own: whether `have` and `do` are auxiliaries, `like` and `after` introduce a clause, `this`
stands for itself.
Costs some ten nanoseconds a token; eight lookups for one in eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sears_dsl._compiled import kernel
from sears_dsl.text.fast.features import AFTER, BEFORE, NO_TAG, mixed

__all__ = ["COARSE_KEYS", "coarse_keys", "landmarks"]

#: Features of a token of which the coarse tag is open.
COARSE_KEYS = 8

#: How far to look ahead for a verb.
_AHEAD = 8

_VERB = 1
_STOP = 2


def landmarks(fine: Sequence[str]) -> Any:
    """uint8 (tags + 1,): whether a fine tag is a verb's (1), or ends the look ahead for one (2)."""
    stops = {".", ",", ":", "-RRB-", "NFP"}
    kinds = [
        _VERB if tag == "MD" or tag.startswith("VB") else _STOP if tag in stops else 0
        for tag in fine
    ]
    return np.array([*kinds, 0], np.uint8)


@kernel
def coarse_keys(  # noqa: PLR0917 - arrays, then places
    group: Any, fine: Any, contexts: Any, marks: Any, start: Any, place: Any, end: Any, keys: Any
) -> None:
    """Write the keys of a token into ``keys``.

    Args:
        group: the group of its word.
        fine: the fine tag of each token.
        contexts: the context of each token.
        marks: `landmarks`.
        start: first token of the row.
        place: the token.
        end: one past the last token of the row.
        keys: int64 (COARSE_KEYS,), written here.
    """
    own = np.int64(group) << 6 | np.int64(fine[place])
    before = after = second = np.int64(NO_TAG)
    left = np.int64(BEFORE)
    right = np.int64(AFTER)
    if place > start:
        before = np.int64(fine[place - 1])
        left = np.int64(contexts[place - 1])
    if place + 1 < end:
        after = np.int64(fine[place + 1])
        right = np.int64(contexts[place + 1])
    if place + 2 < end:
        second = np.int64(fine[place + 2])
    ahead = np.int64(0)
    for other in range(place + 1, min(place + _AHEAD, end)):
        found = marks[fine[other]]
        if found == _STOP:
            break
        if found == _VERB:
            ahead = np.int64(fine[other]) << 2 | np.int64(min(other - place, 3))
            break
    keys[0] = mixed(201, own << 12 | after << 6 | second)
    keys[1] = mixed(202, own << 6 | before)
    keys[2] = mixed(203, own << 12 | before << 6 | after)
    keys[3] = mixed(204, own << 16 | right)
    keys[4] = mixed(205, own << 16 | left)
    keys[5] = mixed(206, own << 6 | after)
    keys[6] = mixed(207, own << 10 | ahead)
    keys[7] = mixed(208, np.int64(fine[place]) << 12 | after << 6 | second)
