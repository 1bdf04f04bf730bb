"""The time that a run may take, and how much of it each stage may have.

Always holds: a stage that begins may take its share of the time that is then left, so that what one
stage saves is there for those after it, and none is left without; without a limit a stage may go on
for ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from sears_dsl.discovery.settings import Order

Stage: TypeAlias = Literal[
    "rows", "known", "paraphrases", "answers", "adversaries", "judging", "rules", "filter",
    "telling",
]  # fmt: skip

# What stages need beside each other, in their order: asking the model about the rows, trying known
# rules, searching paraphrases, what the base rate takes, judging rules on text, asking about those
# that are left, what is told.
_MEANING: Mapping[Stage, float] = {
    "rows": 3, "known": 2, "paraphrases": 8, "adversaries": 1, "judging": 8, "rules": 3,
    "telling": 2,
}  # fmt: skip
# In the paper's order paraphrases are asked about, those that flip scored; rules asked about, then
# filtered.
_PAPER: Mapping[Stage, float] = {
    "rows": 3, "paraphrases": 8, "answers": 2, "adversaries": 2, "rules": 4, "filter": 5,
    "telling": 3,
}  # fmt: skip
NEEDS: Mapping[Order, Mapping[Stage, float]] = {"meaning": _MEANING, "paper": _PAPER}
"""What the stages of a search need beside each other, in their order."""


class Budget:
    """The time that is left, and what of it a stage may have; ``reached`` names those cut short."""

    def __init__(
        self,
        seconds: float | None,
        clock: Callable[[], float],
        *,
        order: Order = "meaning",
        began: float | None = None,
        last: Stage = "telling",
    ) -> None:
        self._clock = clock
        self._end = math.inf
        if seconds is not None:
            self._end = (clock() if began is None else began) + seconds
        stages = list(NEEDS[order])
        self._needs = {each: NEEDS[order][each] for each in stages[: stages.index(last) + 1]}
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
                stages = list(self._needs)
                rest = stages[stages.index(name) :]
                share = self._needs[name] / sum(self._needs[each] for each in rest)
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
