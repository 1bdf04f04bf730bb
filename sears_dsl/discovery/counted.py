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
    """What a rule does to rows that took no part in finding it.

    Attributes:
        changed: right rows that it changes.
        flips: how many of them the model then has wrong.
        interval: 95% (Wilson) of flips over changed.
        at_tau: how many of the changed rows have S ≥ τ; None in files of earlier versions, which
            did not ask, as below.
        at_tau_interval: 95% (Wilson) of at_tau over changed.
        flips_at_tau: how many flips have S ≥ τ.
        mean_score: mean S over the changed rows; None also where it changes none.
    """

    changed: int
    flips: int
    interval: tuple[float, float]
    at_tau: int | None = None
    at_tau_interval: tuple[float, float] | None = None
    flips_at_tau: int | None = None
    mean_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many there were after each stage, in the order of the stages.

    Attributes:
        rows: rows of the data.
        unasked: rows that there was no time to ask the model about.
        right: rows that the model has right; in files of earlier versions those of them that were
            searched.
        held_out: right rows that took no part in finding rules.
        searched: right rows that rules were found on, the others.
        skipped: searched rows that there was no time to reword.
        too_long: searched rows of which no sentence, or not every one, is short enough to be
            reworded.
        not_asked: candidates that there was no time to ask the model about.
        undecided: candidates with enough flips that there was no time to score.
        rows_flipped: searched rows that a selected rule flips with S ≥ τ.
        held_out_flipped: held-out rows that a selected rule flips with S ≥ τ.
    """

    rows: int
    unasked: int = 0
    right: int
    held_out: int
    searched: int | None = None
    skipped: int
    too_long: int = 0
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
    not_asked: int = 0
    undecided: int = 0
    passing: int
    collapsed: int
    selected: int
    rows_flipped: int
    rows_flipped_with_inverses: int = 0
    held_out_flipped: int | None = None
