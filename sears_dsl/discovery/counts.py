"""What a run counts and shows: plain records that the result and its manifest share.

Values alone, so that a manifest is read without loading the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

LEAST = 8
"""Rewrites of a rule on text of which fewer prove nothing, so that none of them is judged."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A right row that a rule flips; ``label`` is what the model says of the original, rightly."""

    original: str
    rewritten: str
    label: str
    prediction: str
    score: float


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """What the rewrites of a rule on text say of it."""

    sampled: int  # how many were judged
    accepted: int  # how many of them have S ≥ τ
    # The share that readers would accept at least: of the shipped judge with a chance of 80%, of
    # any other scorer the lower end of the one-sided 90% interval (Wilson's) of accepted over
    # sampled
    low: float
    places: int  # in how many texts the rule acts
    few: bool  # whether all its rewrites were to be judged, since there are not more
    passed: bool  # whether the bound, over all that were to be judged, is at least 1 - δ


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What a rule does to rows that took no part in finding it."""

    changed: int  # right rows that it changes, of those that the model was asked about
    flips: int  # how many of them the model then has wrong
    interval: tuple[float, float]  # 95% (Wilson) of flips over changed
    at_tau: int  # how many of the changed rows have S ≥ τ
    at_tau_interval: tuple[float, float]  # 95% (Wilson) of at_tau over changed
    flips_at_tau: int  # how many flips have S ≥ τ
    mean_score: float | None  # mean S over the changed rows; None also where it changes none
    # Of several models how many of the changed rows each has wrong then
    flips_of_models: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closest:
    """A rule that was not found, and what it lacked: it came closer than others."""

    rule: str  # its canonical text
    # ``meaning``, where too many of its rewrites on text fall below τ; ``flips``, where the model
    # bears with it; ``rate``, where it surely flips more rarely than rewordings of the rows do in
    # general; ``text``, where it acts at too few places to be judged
    lacks: OneOf["meaning", "flips", "rate", "text"]
    changed: int  # searched rows that it changes
    asked: int  # how many of them the model was asked about
    flips: int  # how many of these the model then has wrong
    judged: TextVerdict | None  # what its rewrites on text say; None for a rule that was known

    @property
    def is_unjudged(self) -> bool:
        """Whether there was text enough, and no time to judge what the rule makes of it."""
        verdict = self.judged
        return verdict is not None and not verdict.sampled and verdict.places >= LEAST

    def is_cut_short(self, delta: float) -> bool:
        """Whether what was judged of it is good enough for δ, and only the rest is missing."""
        return self.judged is not None and self.judged.low >= 1 - delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many there were after each stage, in the order of the stages."""

    rows: int  # rows of the data
    # Rows that the model was not asked about: there was no time, or no question left
    unasked: int = 0
    right: int  # rows that the model has right
    held_out: int  # right rows that took no part in finding rules
    searched: int  # right rows that rules were found on, the others
    known: int = 0  # known rules that change a searched row
    skipped: int  # searched rows that there was no time to reword
    # Searched rows of which no sentence, or not every one, is short enough to be reworded
    too_long: int = 0
    paraphrases: int  # of the searched rows
    adversaries: int = 0  # those of them that flip the model with S ≥ τ; the paper's order alone
    rows_with_adversary: int = 0  # rows that have one
    candidates: int  # rules that paraphrases propose
    texts: int = 0  # texts that rules were judged on
    judged: int = 0  # candidates that act in enough of these to be judged
    narrowed: int = 0  # rules that pass in some contexts only
    keep_meaning: int = 0  # rules that the model was asked about, without the known ones
    applications: int  # rows that rules which the model was asked about change, rule by rule
    distinct_rewrites: int  # texts that these write
    # Rules that the model was not asked about completely, for want of time or of questions
    not_asked: int = 0
    with_enough_flips: int  # rules that flip enough rows
    pairs_scored: int  # pairs of a text and its rewrite that were judged
    # How many there would have been without stopping early; the paper's order alone
    pairs_without_stopping: int | None = None
    undecided: int = 0  # rules that there was no time to judge to the end
    passing: int  # rules that flip and keep the meaning
    collapsed: int  # those of them that another one stands for
    selected: int  # rules that were selected
    rows_flipped: int  # searched rows that a selected rule flips with S ≥ τ, or a known one at all
    rows_flipped_with_inverses: int = 0  # with the rules that change back what selected ones change
    held_out_flipped: int | None = None  # held-out rows that they flip so
    questions: int  # distinct rows that the model was asked about in all
    question_limit: int | None = None  # how many there might have been
