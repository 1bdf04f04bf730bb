"""Arrays that grow at their end, as what is remembered grows with every batch.

In: entries. Out: an array of all so far. Always holds: an array that was given out stays as it is,
so threads may read one while another grows. Costs a copy each time that the length has doubled: a
few nanoseconds an entry, however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Growing:
    """Entries of one shape, appended in groups.

    Args:
        entries: the first ones; they tell shape and type.

    Example:
        >>> squares = Growing(np.array([0, 1]))
        >>> squares.extend([4, 9])
        >>> len(squares), squares.array.tolist()
        (4, [0, 1, 4, 9])
    """

    def __init__(self, entries: Any) -> None:
        self._room = np.array(entries)
        self._count = len(self._room)

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> Any:
        """All entries; not to be written to."""
        return self._room[: self._count]

    def extend(self, entries: Any) -> None:
        """Append entries."""
        count = self._count + len(entries)
        if count > len(self._room):
            larger = np.empty(
                (max(count, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype
            )
            larger[: self._count] = self.array
            self._room = larger
        self._room[self._count : count] = entries
        self._count = count
