"""What a person may choose about discovery; the defaults are the paper's where it names one.

In: numbers. Out: `Settings`. Always holds: they mean something. Costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sears_dsl.discovery.filtering import MINIMUM_FLIPS
from sears_dsl.errors import UsageError
from sears_dsl.models.predictor import Comparison

__all__ = ["HOLDOUT", "HOLDOUT_FROM", "ProposeFrom", "Settings"]

HOLDOUT, HOLDOUT_FROM = 0.3, 100
"""The share of right rows that is held out where nobody says, and from how many on."""

ProposeFrom: TypeAlias = Literal["paraphrases", "adversaries"]
"""What rules generalize: every small paraphrase, or, as in the paper, those that flip the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices of a run.

    Attributes:
        rules: B, how many rules to select.
        tau: S from which on two texts count as equivalent; None for the scorer's own.
        delta: the share of a rule's rows that may fall below τ.
        minimum_flips: rules that flip fewer rows are not looked at.
        minimum_frequency: the share of right rows that an antecedent has to be in.
        propose_from: what rules generalize. A change that flips no row where the search proposed it
            may flip others, so ``paraphrases`` finds more, for more questions to the model.
        context: most unchanged words on each side of a change.
        join_contexts: whether a change that keeps the meaning only beside certain tags becomes a
            rule over these together.
        holdout: the share of right rows that take no part in finding rules, and say what the found
            ones do; 0 for none. None is 0.3 from a hundred right rows on, and 0 below.
        comparison: how answers are compared with labels.
        seed: of the holdout.
        budget_seconds: time for everything; None for no limit.
    """

    rules: int = 10
    tau: float | None = None
    delta: float = 0.1
    minimum_flips: int = MINIMUM_FLIPS
    minimum_frequency: float = 0.005
    propose_from: ProposeFrom = "paraphrases"
    context: int = 1
    join_contexts: bool = True
    holdout: float | None = None
    comparison: Comparison = "exact"
    seed: int = 0
    budget_seconds: float | None = None

    def __post_init__(self) -> None:
        wrong = {
            "rules": self.rules < 1,
            "tau": self.tau is not None and not 0 <= self.tau <= 1,
            "delta": not 0 <= self.delta < 1,
            "minimum_flips": self.minimum_flips < 1,
            "minimum_frequency": not 0 <= self.minimum_frequency <= 1,
            "context": self.context < 0,
            "holdout": self.holdout is not None and not 0 <= self.holdout < 1,
            "budget_seconds": self.budget_seconds is not None and self.budget_seconds <= 0,
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise UsageError(
                    f"{name} is {getattr(self, name)}",
                    help="counts are at least 1, shares and tau between 0 and 1",
                )

    def share_held_out(self, right: int) -> float:
        """The share of so many right rows that is held out.

        Example:
            >>> Settings().share_held_out(99), Settings().share_held_out(100)
            (0.0, 0.3)
        """
        if self.holdout is not None:
            return self.holdout
        return HOLDOUT if right >= HOLDOUT_FROM else 0.0
