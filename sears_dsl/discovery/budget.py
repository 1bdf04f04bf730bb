"""The time that a run may take, and how much of it each stage may have.

In: seconds, a clock. Out: `Budget`. Always holds: a stage that begins may take its share of the
time that is then left, so that what one stage saves is there for those after it, and none is left
without; without a limit a stage may go on for ever. Costs a look at the clock a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ["Budget", "Stage"]

Stage: TypeAlias = Literal[
    "rows", "paraphrases", "answers", "adversaries", "rules", "contexts", "filter", "telling"
]

# What stages need beside each other, in their order: asking the model about the rows, searching
# paraphrases, asking about them, scoring those that flip; asking about rules, joining contexts,
# filtering, what is told.
_NEEDS: dict[Stage, float] = {
    "rows": 3, "paraphrases": 8, "answers": 2, "adversaries": 2, "rules": 4, "contexts": 2,
    "filter": 5, "telling": 3,
}  # fmt: skip


class Budget:
    """The time that is left, and what of it a stage may have.

    Args:
        seconds: that a run may take; None for no limit.
        clock: seconds.
        began: when the run began, by the clock; None for now.
        last: the stage with which it ends.

    Attributes:
        reached: the stages that were cut short, in their order.

    Example:
        >>> seconds = iter([0.0, 0.0, 7.0, 8.1, 18.0, 21.0])
        >>> budget = Budget(24, lambda: next(seconds))
        >>> in_time = budget.stage("paraphrases")
        >>> in_time(), in_time(), in_time()
        (True, True, False)
        >>> in_time = budget.stage("filter")
        >>> in_time(), in_time(), budget.reached
        (True, True, ['paraphrases'])
    """

    def __init__(
        self,
        seconds: float | None,
        clock: Callable[[], float],
        *,
        began: float | None = None,
        last: Stage = "telling",
    ) -> None:
        self._clock = clock
        self._end = math.inf
        if seconds is not None:
            self._end = (clock() if began is None else began) + seconds
        self._stages = list(_NEEDS)[: list(_NEEDS).index(last) + 1]
        self.reached: list[Stage] = []

    def stage(self, name: Stage) -> Callable[[], bool]:
        """A test whether a stage may go on; the stage begins with the first look."""
        end = math.nan

        def in_time() -> bool:
            nonlocal end
            if not self.limited:
                return True
            now = self._clock()
            if math.isnan(end):
                rest = self._stages[self._stages.index(name) :]
                share = _NEEDS[name] / sum(_NEEDS[each] for each in rest)
                end = now + max(0.0, self._end - now) * share
            if now < end:
                return True
            if name not in self.reached:
                self.reached.append(name)
            return False

        return in_time

    @property
    def limited(self) -> bool:
        """Whether there is an end at all."""
        return self._end != math.inf
