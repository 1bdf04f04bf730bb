"""What a run counts and shows: plain records that the result and its manifest share.

They hold plain values alone, so that reading a manifest does not load the engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, get_type_hints
from typing import Literal as OneOf

LEAST = 8
"""The fewest rewrites on text that prove anything: of a rule with fewer none is judged."""
BELIEF = 0.8
"""The chance with which readers have to accept enough of a rule's rewrites."""
HALF = 0.5
"""A rule of which readers may reject half of the rewrites is not close to passing at any δ."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A right row that a rule flips; ``label`` is the model's right answer to the original."""

    original: str
    rewritten: str
    label: str
    prediction: str
    score: float


def nearly_enough(delta: float) -> float:
    """The least share of accepted rewrites from which on a rule nearly passes.

    Of a rule with less, readers may reject four times as many rewrites as δ allows, or half.
    """
    return min(max(HALF, 1 - 4 * delta), 1 - delta)


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """The verdict on a rule by its rewrites of text."""

    sampled: int  # how many were judged
    accepted: int  # how many of them have S ≥ τ
    # The least share that readers would accept. With the shipped judge it holds with a chance of
    # 80%; with any other scorer it is the lower end of the one-sided 90% interval (Wilson's) of
    # accepted over sampled
    low: float
    places: int  # in how many texts the rule acts
    few: bool  # whether all its rewrites were to be judged, since there are so few
    passed: bool  # whether the bound, over all that were to be judged, is at least 1 - δ
    # Whether all of this is of one half of the texts; the other one chose a rule's condition
    of_half: bool = False
    # Mean S of those that were judged, of which the smallest count as 0; of a scorer that is taken
    # at its word, the share with S ≥ τ
    mean_score: float = 0.0

    @property
    def is_rare(self) -> bool:
        """Whether it acts in too few texts to be judged."""
        return self.places < LEAST

    def is_doubted(self, delta: float) -> bool:
        """Whether it was judged and does not even nearly pass."""
        return not self.is_rare and self.low < nearly_enough(delta)


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """What a rule does to right rows, held out or searched."""

    changed: int  # rows that it changes and that the model was asked about
    flips: int  # how many of them the model then has wrong
    interval: tuple[float, float]  # 95% (Wilson) of flips over changed
    at_tau: int  # how many of the changed rows have S ≥ τ
    at_tau_interval: tuple[float, float]  # 95% (Wilson) of at_tau over changed
    flips_at_tau: int  # how many flips have S ≥ τ
    mean_score: float | None  # mean S over the changed rows; None also where it changes none
    # With several models, how many of the changed rows each of them then has wrong
    flips_of_models: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A rule that was not found but came closer than others, and what it lacked."""

    rule: str  # its canonical text
    # ``meaning``: too many of its rewrites on text fall below τ; ``flips``: it flips too few rows;
    # ``rate``: it surely flips more rarely than rewordings of the rows do in general; ``text``: it
    # acts at too few places to be judged
    lacks: OneOf["meaning", "flips", "rate", "text"]
    changed: int  # searched rows that it changes
    asked: int  # how many of them the model was asked about
    flips: int  # how many of these the model then has wrong
    judged: TextVerdict | None  # by its rewrites of text; None for a known rule

    def is_cut_short(self, delta: float) -> bool:
        """Whether its judged rewrites are good enough for δ, and only the others are missing."""
        return self.judged is not None and self.judged.low >= 1 - delta


# A word with a tag that narrows it, and a word in quotes.
_TAGGED = re.compile(r"\[(?:lower|text)=(\S+) & (?:pos|tag)=\w+\$?\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def change_of(rule: str) -> tuple[str, str]:
    """What a rule replaces and by what, without its conditions and its signs of spacing.

    Example:
        >>> change_of("I -> And I / <s> __"), change_of(". -> ~!")
        (('I', 'And I'), ('.', '!'))
        >>> change_of("[lower=movie & pos=NOUN] -> flick")
        ('movie', 'flick')
    """
    # What is in quotes is no arrow and begins no condition.
    signs = _QUOTED.sub(lambda word: "_" * len(word[0]), rule)
    arrow, end = signs.find(" -> "), (signs + " / ").find(" / ")
    old, new = rule[:arrow], rule[arrow + len(" -> ") : end]
    return _TAGGED.sub(r"\1", old).replace("~", ""), new.replace("~", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many there were after each stage, in the order of the stages."""

    rows: Annotated[int, "rows of the data"]
    unasked: Annotated[int, "rows not tried within the limits of time and questions"] = 0
    right: Annotated[int, "rows that the model gets right"]
    held_out: Annotated[int, "of these held out"]  # they took no part in finding rules
    searched: Annotated[int, "of these searched"]  # the others, that rules were found on
    known: Annotated[int, "known rules that change a searched row"] = 0
    skipped: Annotated[int, "rows not paraphrased for lack of time"]
    too_long: Annotated[int, "rows too long to be paraphrased, in part or as a whole"] = 0
    paraphrases: Annotated[int, "paraphrases of the searched rows"]
    # With S ≥ τ; the paper's order alone
    adversaries: Annotated[int, "paraphrases that flip the model"] = 0
    rows_with_adversary: Annotated[int, "rows with such a paraphrase"] = 0
    candidates: Annotated[int, "candidate rules"]
    listed: Annotated[int, "of these changes that readers accept elsewhere"] = 0
    texts: Annotated[int, "texts on which they were judged"] = 0
    judged: Annotated[int, "candidates that change enough of these"] = 0
    narrowed: Annotated[int, "candidates that pass only in some contexts"] = 0
    # The model was asked about these, and about known rules
    keep_meaning: Annotated[int, "candidates that keep the meaning there"] = 0
    applications: Annotated[int, "changes of searched rows by candidates and known rules"]
    distinct_rewrites: Annotated[int, "different texts among these"]
    # For want of time or of questions
    not_asked: Annotated[int, "rules not tried to the end"] = 0
    with_enough_flips: Annotated[int, "rules that flip enough rows"]
    pairs_scored: Annotated[int, "pairs scored to judge candidates"]  # a text, its rewrite
    # The paper's order alone
    pairs_without_stopping: Annotated[
        int | None, "pairs that would have been scored without stopping early"
    ] = None
    undecided: Annotated[int, "candidates not judged to the end"] = 0  # for want of time
    passing: Annotated[int, "rules that keep the meaning and flip enough rows"]
    collapsed: Annotated[int, "of these left out because another says the same"]
    selected: Annotated[int, "selected rules"]
    without_place: Annotated[int, "rules that would add something but had no place"] = 0
    new_without_place: Annotated[int, "of these new ones"] = 0
    # With S ≥ τ, or a known rule at all
    rows_flipped: Annotated[int, "searched rows that they flip"]
    rows_flipped_with_inverses: Annotated[int, "the same, with their inverses"] = 0
    held_out_flipped: Annotated[int | None, "held-out rows that they flip"] = None
    held_out_unasked: Annotated[int, "held-out rows not asked about"] = 0
    questions: Annotated[int, "questions to the model"]  # distinct rows, all of them
    question_limit: Annotated[int | None, "limit of questions"] = None


COUNT_NAMES: dict[str, str] = {
    name: of.__metadata__[0] for name, of in get_type_hints(Funnel, include_extras=True).items()
}
"""What each count of a `Funnel` is."""
