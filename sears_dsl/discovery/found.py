"""What discovery found: the selected rules with their numbers, and the counts on the way.

In: the arrays of the last stages. Out: `Discovery` and its `FoundRule`s. Always holds: numbers are
counts over the right rows that a rule changes, and shares of them; nothing is rounded. Costs what
the held-out rows cost to tag and to ask about, if there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.counted import Flip, Funnel, HeldOut
from sears_dsl.discovery.labelled import LabelledRows
from sears_dsl.discovery.rightness import RightRows
from sears_dsl.discovery.selection import Selection
from sears_dsl.discovery.settings import Settings
from sears_dsl.language.printer import rule_id
from sears_dsl.language.rule import Rule
from sears_dsl.statistics import wilson_interval
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

__all__ = ["Discovery", "FoundRule", "found_rules"]

# Sentences kept for examples and tests; a few more than are shown, since some may not do.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A selected rule.

    Attributes:
        rule: as an object.
        text: its canonical text.
        id: its id.
        changed: right rows that it changes.
        flips: how many of them the model then has wrong.
        interval: 95% (Wilson) of flips over changed.
        q_value: the false-discovery rate at which it would just be a discovery.
        at_tau: how many of the changed rows have S ≥ τ.
        mean_score: mean S over the changed rows.
        gain: what it adds to the weighted coverage of the rules before it.
        examples: flips with S ≥ τ, best first.
        firing: (original, rewritten) of rows that it changes, flips first.
        silent: rows that it leaves alone, those that share a word with it first.
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
    mean_score: float
    gain: float
    examples: tuple[Flip, ...]
    firing: tuple[tuple[str, str], ...]
    silent: tuple[str, ...]
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
        base_rate: the share of paraphrases that flip the model.
        budget_reached: whether the time budget cut a stage short.
        funnel: the counts on the way.
    """

    data: LabelledRows
    settings: Settings
    tau: float
    rules: tuple[FoundRule, ...]
    collapsed: tuple[tuple[str, str, str], ...]
    passing: tuple[str, ...]
    base_rate: float
    budget_reached: bool
    funnel: Funnel


def found_rules(
    right: RightRows,
    rules: Sequence[Rule],
    texts: Sequence[str],
    applications: Applications,
    *,
    selection: Selection,
    flips: NDArray[np.bool_],
    scores: NDArray[np.float64],
    tau: float,
    q_values: NDArray[np.float64],
    held_out: RightRows | None,
    tagger: Tagger,
) -> tuple[FoundRule, ...]:
    """The selected rules with their numbers.

    Args:
        right: the rows that the rules were found on.
        rules: the rules that passed the filter.
        texts: their canonical texts.
        applications: what they make of the rows.
        selection: which of them were selected.
        flips: bool (rewrites,): whether the model answers otherwise.
        scores: float64 (rewrites,): S of all that selected rules write.
        tau: the threshold.
        q_values: of each rule.
        held_out: right rows that took no part; None for none.
        tagger: tags them.
    """
    held = _held_out([rules[each] for each in selection.rules], held_out, tagger)
    return tuple(
        _found(
            right,
            rules[position],
            texts[position],
            applications,
            rewrites=applications.of_rule(position),
            flips=flips,
            scores=scores,
            tau=tau,
            q_value=float(q_values[position]),
            gain=gain,
            held=beside,
        )
        for position, gain, beside in zip(selection.rules, selection.gains, held, strict=True)
    )


def _found(
    right: RightRows,
    rule: Rule,
    text: str,
    applications: Applications,
    *,
    rewrites: NDArray[np.int32],
    flips: NDArray[np.bool_],
    scores: NDArray[np.float64],
    tau: float,
    q_value: float,
    gain: float,
    held: HeldOut | None,
) -> FoundRule:
    of_rule, flipped = scores[rewrites], flips[rewrites]
    rows = applications.rows[rewrites]
    best_first = np.lexsort((rows, -of_rule, ~flipped))
    shown = best_first[flipped[best_first] & (of_rule[best_first] >= tau)][:_KEPT]
    numbers = [int(rows[each]) for each in shown]
    written = [applications.texts[rewrites[each]] for each in shown]
    answers = right.ask(numbers, written)
    low, high = wilson_interval(int(flipped.sum()), len(rewrites))
    return FoundRule(
        rule=rule,
        text=text,
        id=rule_id(rule),
        changed=len(rewrites),
        flips=int(flipped.sum()),
        interval=(float(low), float(high)),
        q_value=q_value,
        at_tau=int((of_rule >= tau).sum()),
        mean_score=float(of_rule.mean()),
        gain=gain,
        examples=tuple(
            Flip(right.texts[number], new, right.predictions[number], answer, float(score))
            for number, new, answer, score in zip(
                numbers, written, answers, of_rule[shown], strict=True
            )
        ),
        firing=tuple(applications.pairs(rewrites[best_first[: 2 * _KEPT]])),
        silent=_silent(right.texts, set(rows.tolist()), text),
        held_out=held,
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


def _held_out(
    rules: Sequence[Rule], right: RightRows | None, tagger: Tagger
) -> list[HeldOut | None]:
    if right is None:
        return [None] * len(rules)
    tokens: Tokens = tagger.tag(right.texts)
    done = apply_candidates(rules, tokens, tagger=tagger)
    rows = done.rows.tolist()
    answers = right.ask(rows, done.texts)
    flipped = np.array(
        [right.flipped(row, answer) for row, answer in zip(rows, answers, strict=True)], np.bool_
    )
    counts = done.count(flipped)
    lows, highs = wilson_interval(counts, done.changed)
    return [
        HeldOut(int(changed), int(count), (float(low), float(high)))
        for changed, count, low, high in zip(done.changed, counts, lows, highs, strict=True)
    ]
