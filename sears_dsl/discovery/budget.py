"""The time that a run may take, and how far into it each stage may go.

In: seconds, a clock. Out: `Budget`. Always holds: a stage that asks may go on until its share of
the time is over, counted from the beginning of the run; without a limit it may go on for ever.
Costs a look at the clock a question.
"""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["PARAPHRASES", "QUESTIONS", "SCORES", "Budget"]

# Of the time budget: paraphrases end here, questions to the model here, scores here.
PARAPHRASES, QUESTIONS, SCORES = 0.4, 0.7, 0.95


class Budget:
    """The time that is left; each stage may use the run up to a share of it."""

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = math.inf if seconds is None else seconds
        self._begin = clock()
        self.reached = False

    def until(self, share: float) -> Callable[[], bool]:
        """A test whether the stage may go on."""

        def in_time() -> bool:
            if self._clock() - self._begin < share * self._end:
                return True
            self.reached = True
            return False

        return in_time

    @property
    def limited(self) -> bool:
        """Whether there is an end at all."""
        return self._end != math.inf
