"""What a person may choose about a search, and how much of its time each stage may have.

The defaults are the paper's where it names one. A stage that begins may take its share of the time
that is then left, so that what one stage saves is there for those after it, and none is left
without time. Without a budget a stage may take any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, SupportsFloat, TypeAlias

from sears_dsl.answers import Comparison
from sears_dsl.defaults import PAPER_TAU
from sears_dsl.errors import UsageError

HOLDOUT, HOLDOUT_FROM = 0.3, 100
"""The default share of right rows that is held out, and from how many right rows on."""

MINIMUM_FLIPS = 3
"""How many rows a new rule has to flip by default: intervals and q-values say what few flips mean;
the paper's authors took 6."""

FEW_ROWS = 200
"""With fewer searched rows than this, a rule has to flip one row less, if meaning comes first."""

KNOWN_FLIPS, FEWEST_KNOWN_FLIPS = 2, 1
"""How many rows a known rule has to flip by default, and how many where fewer rules than are wanted
flip enough: people have accepted its rewrites, so that each of these flips is a mistake of
the model, however rare."""

CERTAIN = 0.05
"""The false-discovery rate among rules that surely flip more rows than rewordings in general."""

QUESTIONS_A_ROW = 20
"""The default limit of questions to the model, for each right row; all questions count."""

# The share of a limit of questions that the rows themselves may take.
_OF_ROWS = 0.5

Order: TypeAlias = Literal["meaning", "paper"]
"""What comes first: rules are judged on text and the model is asked only about those that keep the
meaning, or, as in the paper, it is asked about all paraphrases and rules, which are then judged."""

ProposeFrom: TypeAlias = Literal["paraphrases", "adversaries"]
"""What rules generalize: every small paraphrase, or, as in the paper, those that flip the model."""


Across: TypeAlias = Literal["any", "shared", "apart"]
"""For several models: rules that make any of them fail, that they share, that tell them apart."""


_RANGES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (("rules", "minimum_flips", "max_questions"), lambda number: number >= 1, "1 or more"),
    (("tau", "minimum_frequency"), lambda share: 0 <= share <= 1, "a number from 0 to 1"),
    (("delta", "holdout"), lambda share: 0 <= share < 1, "a number from 0 up to, not including, 1"),
    (("budget_seconds",), lambda seconds: isinstance(seconds, SupportsFloat) and float(seconds) > 0,
     "more than 0 seconds"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices of a run."""

    rules: int = 10  # B, how many rules to select
    # The least S of two texts that count as equivalent; None for the scorer's own threshold
    tau: float | None = None
    delta: float = 0.1  # the share of a rule's rows that may fall below τ
    # Rules that flip fewer rows are ignored; None for what `flips` and `known_flips` say
    minimum_flips: int | None = None
    minimum_frequency: float = 0.005  # the share of right rows that an antecedent has to be in
    # What rules generalize in the paper's order. A change that flips no row where the search
    # proposed it may flip others, so ``paraphrases`` finds more, for more questions to the model.
    # Where meaning comes first it is always the paraphrases
    propose_from: ProposeFrom = "paraphrases"
    # The share of right rows that take no part in finding rules; found rules are measured on them.
    # 0 is none; None for `HOLDOUT`
    holdout: float | None = None
    order: Order = "meaning"  # whether meaning or the model is asked first
    # The most questions to the model, including those about the untouched rows; None for what
    # `questions` says
    max_questions: int | None = None
    comparison: Comparison = "exact"
    # Which rules are selected for several models; see `across_models`
    across: Across = "any"
    seed: int = 0
    budget_seconds: float | None = None  # time for everything; None for no limit

    def __post_init__(self) -> None:
        for names, is_right, wanted in _RANGES:
            for name in names:
                value = getattr(self, name)
                if value is not None and not is_right(value):
                    option = name.replace("_", "-")
                    raise UsageError(f"--{option} {value!r} is not valid", help=f"give {wanted}")

    def share_held_out(self, right: int) -> float:
        """The share that is held out of this many right rows."""
        if self.holdout is not None:
            return self.holdout
        return HOLDOUT if right >= HOLDOUT_FROM else 0.0

    def flips(self, searched: int) -> int:
        """How many rows a rule has to flip when this many are searched."""
        if self.minimum_flips is not None:
            return self.minimum_flips
        few = self.order == "meaning" and searched < FEW_ROWS
        return MINIMUM_FLIPS - 1 if few else MINIMUM_FLIPS

    def known_flips(self, searched: int) -> int:
        """How many rows a known rule has to flip when this many are searched."""
        return self.flips(searched) if self.minimum_flips is not None else KNOWN_FLIPS

    @property
    def fewest_known_flips(self) -> int:
        """How many rows a known rule has to flip where fewer rules than wanted flip enough."""
        return FEWEST_KNOWN_FLIPS if self.minimum_flips is None else self.minimum_flips

    def questions(self, right: int) -> int | None:
        """The limit of questions to a model that has this many rows right; None if unlimited."""
        if self.max_questions is not None or self.order == "paper":
            return self.max_questions
        return QUESTIONS_A_ROW * right

    @property
    def questions_for_rows(self) -> int | None:
        """How many of the questions may go to the rows themselves; None if unlimited."""
        most = self.max_questions
        return None if most is None else max(1, round(_OF_ROWS * most))


# What the paper chose. It has no known rules and no further text, and sets no limit of questions.
_PAPER: Mapping[str, Any] = {
    "scorer": "pivot", "tau": PAPER_TAU, "delta": 0.1, "minimum_flips": 6,
    "minimum_frequency": 0.005, "propose_from": "adversaries", "no_known": True,
}  # fmt: skip


def paper_choices(choices: Mapping[str, Any], **unused: bool) -> dict[str, Any]:
    """All that the paper chooses: scorer, settings, no known rules; ``choices`` come first.

    Options that its order cannot use are refused, by name, if they are given. τ is the paper's only
    with the paper's scorer: for another one it would mean nothing.

    Example:
        >>> chosen = paper_choices({"scorer": "judge", "minimum_flips": 3})
        >>> chosen["propose_from"], chosen["minimum_flips"], "tau" in chosen
        ('adversaries', 3, False)

    Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
    Models", ACL 2018.
    """
    if refused := [f"--{name}" for name, is_given in unused.items() if is_given]:
        raise UsageError(
            f"--paper has no use for {' and for '.join(refused)}",
            help="the paper tries no known rules and judges rules on the rows alone: leave out "
            "one or the other",
        )
    own_scorer = choices.get("scorer", _PAPER["scorer"]) != _PAPER["scorer"]
    papers = {name: value for name, value in _PAPER.items() if name != "tau" or not own_scorer}
    return {name: choices.get(name, value) for name, value in papers.items()}


Stage: TypeAlias = Literal[
    "rows", "known", "paraphrases", "answers", "adversaries", "judging", "rules", "filter",
    "telling",
]  # fmt: skip
STAGE_NAMES: Mapping[Stage, str] = {
    "rows": "asking about rows", "known": "trying known rules", "paraphrases": "paraphrasing",
    "answers": "asking about paraphrases", "adversaries": "trying paraphrases",
    "judging": "judging rules on text", "rules": "asking about rules", "filter": "scoring rules",
    "telling": "measuring rules on held-out rows",
}  # fmt: skip
"""What people read about a stage."""

NEEDS: Mapping[Order, Mapping[Stage, float]] = {
    "meaning": {
        "rows": 3, "known": 2, "paraphrases": 8, "adversaries": 1, "judging": 8, "rules": 3,
        "telling": 2,
    },
    # The model is asked about paraphrases, and those that flip are scored; it is asked about rules,
    # and these are filtered.
    "paper": {
        "rows": 3, "paraphrases": 8, "answers": 2, "adversaries": 2, "rules": 4, "filter": 5,
        "telling": 3,
    },
}  # fmt: skip
"""How much time the stages of a search need relative to each other, in their order."""


class Budget:
    """The time that is left, and each stage's share of it; ``reached`` names those cut short."""

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
        """A test whether a stage may go on; the stage begins with the first call."""
        end: float | None = None

        def in_time() -> bool:
            nonlocal end
            now = self._clock()
            if end is None:
                needs = list(self._needs.values())[list(self._needs).index(name) :]
                end = now + max(0.0, self._end - now) * (needs[0] / sum(needs))
            if now < end:
                return True
            if name not in self.reached:
                self.reached.append(name)
            return False

        return in_time

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return self._end != math.inf
