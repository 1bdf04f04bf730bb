"""What discovery found: the selected rules with their numbers, and the counts on the way.

In: the arrays of the last stages. Out: `Discovery` and its `FoundRule`s. Always holds: numbers are
counts over right rows that a rule changes, and shares of them; nothing is rounded; the numbers of a
rule that joins contexts come from rows that neither chose nor judged it. Costs what the held-out
rows cost to tag, to ask about and to score, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.budget import Stage
from sears_dsl.discovery.contexts import Trials
from sears_dsl.discovery.counted import Flip, Funnel, HeldOut
from sears_dsl.discovery.labelled import LabelledRows
from sears_dsl.discovery.naming import names_of
from sears_dsl.discovery.rightness import RightRows
from sears_dsl.discovery.selection import Selection
from sears_dsl.discovery.settings import Settings
from sears_dsl.language.rule import Rule
from sears_dsl.statistics import wilson_interval
from sears_dsl.text.contractions import separated
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

if TYPE_CHECKING:
    from sears_dsl.discovery.semantics import Scorer

__all__ = ["Discovery", "FoundRule", "HeldOutRows", "found_rules"]

# Sentences kept for examples and tests; a few more than are shown, since some may not do.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A selected rule.

    Attributes:
        rule: as an object.
        text: its canonical text.
        id: made of its words.
        changed: right rows that it changes.
        flips: how many of them the model then has wrong, whatever S says.
        interval: 95% (Wilson) of flips over changed.
        q_value: the false-discovery rate at which it would just be a discovery.
        at_tau: how many of the changed rows have S ≥ τ.
        flips_at_tau: how many of the flips have S ≥ τ.
        mean_score: mean S over the changed rows.
        gain: what it adds to the weighted coverage of the rules before it.
        examples: flips with S ≥ τ, best first.
        firing: (original, rewritten) of rows that it changes, flips first.
        silent: rows that it leaves alone, those that share a word with it first.
        joined: whether it joins contexts. Then the numbers are counted on rows that neither chose
            nor judged its contexts: those held out, or a third of the others where none are;
            ``q_value`` on those that judged it, and ``gain`` on those that were searched.
        held_out: what it does to held-out rows; None where none were held out.
    """

    rule: Rule
    text: str
    id: str
    changed: int
    flips: int
    interval: tuple[float, float]
    q_value: float
    at_tau: int
    flips_at_tau: int
    mean_score: float
    gain: float
    examples: tuple[Flip, ...]
    firing: tuple[tuple[str, str], ...]
    silent: tuple[str, ...]
    joined: bool
    held_out: HeldOut | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Discovery:
    """The result of a run.

    Attributes:
        data: the rows.
        settings: what was chosen.
        tau: the threshold that was used.
        rules: the selected rules, in the order of selection.
        collapsed: (rule, rule that stands for it, reason) of those left out as twins.
        passing: the texts of all rules that passed the filter.
        base_rate: the share of rows of which a paraphrase that keeps the meaning, drawn by lot,
            flips the model.
        base_rows: how many rows that share was counted on.
        budget_reached: whether the time budget cut a stage short.
        cut_short: which stages.
        funnel: the counts on the way.
    """

    data: LabelledRows
    settings: Settings
    tau: float
    rules: tuple[FoundRule, ...]
    collapsed: tuple[tuple[str, str, str], ...]
    passing: tuple[str, ...]
    base_rate: float
    base_rows: int
    budget_reached: bool
    cut_short: tuple[Stage, ...]
    funnel: Funnel


class Numbers(NamedTuple):
    """What is counted of a rule on some rows; see `FoundRule`."""

    changed: int
    flips: int
    interval: tuple[float, float]
    at_tau: int
    flips_at_tau: int
    mean_score: float

    def as_held_out(self) -> HeldOut:
        low, high = wilson_interval(self.at_tau, self.changed)
        return HeldOut(
            changed=self.changed,
            flips=self.flips,
            interval=self.interval,
            at_tau=self.at_tau,
            at_tau_interval=(float(low), float(high)),
            flips_at_tau=self.flips_at_tau,
            mean_score=self.mean_score if self.changed else None,
        )


class HeldOutRows:
    """Right rows that took no part in finding rules.

    Args:
        right: the rows.
        tagger: tags them.
        scorer: S.
        tau: the threshold.
        in_time: asked before each batch of questions to the model; rewrites that it leaves are not
            counted.
    """

    def __init__(
        self,
        right: RightRows,
        *,
        tagger: Tagger,
        scorer: Scorer,
        tau: float,
        in_time: Callable[[], bool] | None = None,
    ) -> None:
        self._in_time = in_time
        self._right = right
        self._tagger = tagger
        self._scorer = scorer
        self._tau = tau

    @cached_property
    def _tokens(self) -> Tokens:
        return separated(self._tagger.tag(self._right.texts))

    def changed(self, rules: Sequence[Rule]) -> NDArray[np.int64]:
        """How many of the rows each rule changes."""
        return self._applied(rules).changed if rules else np.zeros(0, np.int64)

    def measured(self, rules: Sequence[Rule]) -> tuple[list[Numbers], int]:
        """What each rule does to the rows, and how many rows any of them flips with S ≥ τ."""
        if not rules:
            return [], 0
        done = self._applied(rules)
        rows = done.rows.tolist()
        answers = self._right.ask_in_time(rows, done.texts, in_time=self._in_time)
        asked = np.array([answer is not None for answer in answers], np.bool_)
        flips = np.array(
            [
                answer is not None and self._right.flipped(row, answer)
                for row, answer in zip(rows, answers, strict=True)
            ],
            np.bool_,
        )
        scores = np.zeros(len(rows))
        scores[asked] = self._scorer.scores(done.pairs(np.flatnonzero(asked)))
        numbers = [
            _numbers(rewrites[asked[rewrites]], flips, scores, self._tau)
            for rewrites in map(done.of_rule, range(len(rules)))
        ]
        flipped = np.unique(done.rows[flips & (scores >= self._tau)])
        return numbers, len(flipped)

    def _applied(self, rules: Sequence[Rule]) -> Applications:
        return apply_candidates(rules, self._tokens, tagger=self._tagger)


def _numbers(
    rewrites: NDArray[np.integer], flips: NDArray[np.bool_], scores: NDArray[np.float64], tau: float
) -> Numbers:
    flipped, of_rule = flips[rewrites], scores[rewrites]
    low, high = wilson_interval(int(flipped.sum()), len(rewrites))
    return Numbers(
        changed=len(rewrites),
        flips=int(flipped.sum()),
        interval=(float(low), float(high)),
        at_tau=int((of_rule >= tau).sum()),
        flips_at_tau=int((flipped & (of_rule >= tau)).sum()),
        mean_score=float(of_rule.mean()) if len(of_rule) else 0.0,
    )


def found_rules(
    right: RightRows,
    trials: Trials,
    passed: NDArray[np.int64],
    *,
    selection: Selection,
    scores: NDArray[np.float64],
    tau: float,
    q_values: NDArray[np.float64],
    held_out: HeldOutRows | None,
) -> tuple[tuple[FoundRule, ...], int | None]:
    """The selected rules with their numbers, and how many held-out rows they flip together.

    Args:
        right: the rows that the rules were found on.
        trials: the candidates, and what they do to these rows.
        passed: the candidates that passed the filter.
        selection: which of those that passed were selected.
        scores: float64 (rewrites,): S of all that selected rules write.
        tau: the threshold.
        q_values: of each candidate.
        held_out: right rows that took no part; None for none.
    """
    chosen = passed[list(selection.rules)].tolist()
    beside, flipped = (
        held_out.measured([trials.rules[each] for each in chosen])
        if held_out is not None
        else ([None] * len(chosen), None)
    )
    names = names_of([trials.rules[each] for each in chosen])
    found = tuple(
        _found(
            right,
            trials,
            number,
            name=name,
            scores=scores,
            tau=tau,
            q_value=float(q_values[number]),
            gain=gain,
            held=held,
        )
        for number, name, gain, held in zip(chosen, names, selection.gains, beside, strict=True)
    )
    return found, flipped


def _found(
    right: RightRows,
    trials: Trials,
    number: int,
    *,
    name: str,
    scores: NDArray[np.float64],
    tau: float,
    q_value: float,
    gain: float,
    held: Numbers | None,
) -> FoundRule:
    applications, text = trials.applications, trials.texts[number]
    rewrites = applications.of_rule(number)
    joined = bool(trials.chosen_by[number] >= 0)
    if joined and held is not None:
        counted = held
    else:
        telling = trials.apart.of_rule(number) if joined else rewrites
        counted = _numbers(telling, trials.flips, scores, tau)
    of_rule, flipped = scores[rewrites], trials.flips[rewrites]
    rows = applications.rows[rewrites]
    best_first = np.lexsort((rows, -of_rule, ~flipped))
    shown = best_first[flipped[best_first] & (of_rule[best_first] >= tau)][:_KEPT]
    places = [int(rows[each]) for each in shown]
    written = [applications.texts[rewrites[each]] for each in shown]
    answers = right.ask(places, written)
    return FoundRule(
        rule=trials.rules[number],
        text=text,
        id=name,
        changed=counted.changed,
        flips=counted.flips,
        interval=counted.interval,
        q_value=q_value,
        at_tau=counted.at_tau,
        flips_at_tau=counted.flips_at_tau,
        mean_score=counted.mean_score,
        gain=gain,
        examples=tuple(
            Flip(right.texts[place], new, right.predictions[place], answer, float(score))
            for place, new, answer, score in zip(
                places, written, answers, of_rule[shown], strict=True
            )
        ),
        firing=tuple(applications.pairs(rewrites[best_first[: 2 * _KEPT]])),
        silent=_silent(right.texts, set(rows.tolist()), text),
        joined=joined,
        held_out=None if held is None else held.as_held_out(),
    )


def _silent(texts: Sequence[str], changed: set[int], rule: str) -> tuple[str, ...]:
    """Rows that the rule leaves alone, those that share most words with it first."""
    words = {word for word in rule.split() if word.isalpha()}
    others = [
        (-len(words.intersection(text.split())), len(text), text)
        for number, text in enumerate(texts)
        if number not in changed and text.strip()
    ]
    return tuple(text for _, _, text in sorted(others)[:_KEPT])
