"""What a run counts and shows: plain records that the result and its manifest share.

In: numbers and sentences. Out: `Flip`, `HeldOut`, `Funnel`. Always holds: values alone, so that a
manifest is read without loading the engine. Costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Flip", "Funnel", "HeldOut"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A right row that a rule flips.

    Attributes:
        original: its text.
        rewritten: the text after the rule.
        label: what the model says of the original, rightly.
        prediction: what it says of the rewritten text.
        score: S of both.
    """

    original: str
    rewritten: str
    label: str
    prediction: str
    score: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What a rule does to rows that took no part in finding it."""

    changed: int
    flips: int
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many there were after each stage, in the order of the stages."""

    rows: int
    right: int
    held_out: int
    skipped: int
    paraphrases: int
    adversaries: int
    rows_with_adversary: int
    candidates: int
    joined_contexts: int = 0
    applications: int
    distinct_rewrites: int
    with_enough_flips: int
    pairs_scored: int
    pairs_without_stopping: int
    passing: int
    collapsed: int
    selected: int
    rows_flipped: int
    rows_flipped_with_inverses: int = 0
