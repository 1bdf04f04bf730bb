"""What a run counts and shows: plain records that the result and its manifest share.

Values alone, so that a manifest is read without loading the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf


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
    """What the rewrites of a rule on text say of it.

    Attributes:
        sampled: how many were judged.
        accepted: how many of them have S ≥ τ.
        low: the share that readers would accept at least: of the shipped judge with a chance of
            80%, of any other scorer the lower end of the one-sided 90% interval (Wilson's) of
            accepted over sampled.
        places: in how many texts the rule acts.
        few: whether all its rewrites were to be judged, since there are not more.
        passed: whether the bound, over all that were to be judged, is at least 1 - δ.
    """

    sampled: int
    accepted: int
    low: float
    places: int
    few: bool
    passed: bool


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What a rule does to rows that took no part in finding it.

    Attributes:
        changed: right rows that it changes, of those that the model was asked about.
        flips: how many of them the model then has wrong.
        interval: 95% (Wilson) of flips over changed.
        at_tau: how many of the changed rows have S ≥ τ.
        at_tau_interval: 95% (Wilson) of at_tau over changed.
        flips_at_tau: how many flips have S ≥ τ.
        mean_score: mean S over the changed rows; None also where it changes none.
        flips_of_models: of several models how many of the changed rows each has wrong then.
    """

    changed: int
    flips: int
    interval: tuple[float, float]
    at_tau: int
    at_tau_interval: tuple[float, float]
    flips_at_tau: int
    mean_score: float | None
    flips_of_models: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Closest:
    """A rule that was not found, and what it lacked: it came closer than others.

    Attributes:
        rule: its canonical text.
        lacks: ``meaning``, where too many of its rewrites on text fall below τ; ``flips``, where
            the model bears with it; ``rate``, where it surely flips more rarely than rewordings of
            the rows do in general; ``text``, where it acts at too few places to be judged.
        changed: searched rows that it changes.
        asked: how many of them the model was asked about.
        flips: how many of these the model then has wrong.
        judged: what its rewrites on text say; None for a rule that was known.
    """

    rule: str
    lacks: OneOf["meaning", "flips", "rate", "text"]
    changed: int
    asked: int
    flips: int
    judged: TextVerdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many there were after each stage, in the order of the stages.

    Attributes:
        rows: rows of the data.
        unasked: rows that the model was not asked about: there was no time, or no question left.
        right: rows that the model has right.
        held_out: right rows that took no part in finding rules.
        searched: right rows that rules were found on, the others.
        known: known rules that change a searched row.
        skipped: searched rows that there was no time to reword.
        too_long: searched rows of which no sentence, or not every one, is short enough to be
            reworded.
        paraphrases: of the searched rows.
        adversaries: those of them that flip the model with S ≥ τ; the paper's order alone.
        rows_with_adversary: rows that have one.
        candidates: rules that paraphrases propose.
        texts: texts that rules were judged on.
        judged: candidates that act in enough of these to be judged.
        narrowed: rules that pass in some contexts only.
        keep_meaning: rules that the model was asked about, without the known ones.
        applications: rows that rules which the model was asked about change, rule by rule.
        distinct_rewrites: texts that these write.
        not_asked: rules that the model was not asked about completely, for want of time or of
            questions.
        with_enough_flips: rules that flip enough rows.
        pairs_scored: pairs of a text and its rewrite that were judged.
        pairs_without_stopping: how many there would have been without stopping early; the paper's
            order alone.
        undecided: rules that there was no time to judge to the end.
        passing: rules that flip and keep the meaning.
        collapsed: those of them that another one stands for.
        selected: rules that were selected.
        rows_flipped: searched rows that a selected rule flips with S ≥ τ, or a known one at all.
        rows_flipped_with_inverses: with the rules that change back what selected ones change.
        held_out_flipped: held-out rows that they flip so.
        questions: distinct rows that the model was asked about in all.
        question_limit: how many there might have been.
    """

    rows: int
    unasked: int = 0
    right: int
    held_out: int
    searched: int
    known: int = 0
    skipped: int
    too_long: int = 0
    paraphrases: int
    adversaries: int = 0
    rows_with_adversary: int = 0
    candidates: int
    texts: int = 0
    judged: int = 0
    narrowed: int = 0
    keep_meaning: int = 0
    applications: int
    distinct_rewrites: int
    not_asked: int = 0
    with_enough_flips: int
    pairs_scored: int
    pairs_without_stopping: int | None = None
    undecided: int = 0
    passing: int
    collapsed: int
    selected: int
    rows_flipped: int
    rows_flipped_with_inverses: int = 0
    held_out_flipped: int | None = None
    questions: int
    question_limit: int | None = None
