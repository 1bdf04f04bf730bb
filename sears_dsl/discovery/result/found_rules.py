"""What discovery found: the selected rules with their numbers, and the counts on the way.

All numbers are counts over right rows that a rule changes and that the model was asked about, or
shares of these. Nothing is rounded. Counting costs the tags, questions and scores of the held-out
rows, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.candidates import Candidates
from sears_dsl.discovery.counts import Flip, Funnel, NearMiss, RowNumbers, TextVerdict
from sears_dsl.discovery.known_rules import KnownFlips
from sears_dsl.discovery.names import names_of, valid_ids
from sears_dsl.discovery.selection import RuleSelection
from sears_dsl.discovery.settings import Settings, Stage
from sears_dsl.effects.flips import RightRows, ask_about, fails_of_models
from sears_dsl.effects.lots import lots
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, cut_contractions

if TYPE_CHECKING:
    from sears_dsl.meaning.scorers import Scorer

# Sentences kept for examples and tests; a few more than are shown, since some may not do.
_KEPT = 8


@dataclass(frozen=True, slots=True)
class FoundRule:
    """A selected rule."""

    rule: Rule
    text: str
    id: str  # made of its words; a known rule keeps its own
    # The ruleset that it was known from, such as ``contractions/expand``; empty for a new one
    source: str
    # The ruleset whose options and sets a known rule is read under; None for a new one
    scope: Ruleset | None
    # The verdict on its rewrites of text; None for a known rule, and in the paper's order
    judged: TextVerdict | None
    changed: int  # searched rows that it changes
    # How many of them the model was asked about, a random sample if not all; what follows is
    # counted on these
    asked: int
    flips: int  # how many of these the model then has wrong, whatever S says
    interval: tuple[float, float]  # 95% (Wilson) of flips over asked
    q_value: float  # the false-discovery rate at which it would just be a discovery
    at_tau: int  # how many of the rows asked about have S ≥ τ
    flips_at_tau: int  # how many of the flips have S ≥ τ
    mean_score: float  # mean S over the rows asked about
    # With several models, how many of the rows asked about each then has wrong, in the order of
    # `Discovery.models`; else empty
    flips_of_models: tuple[int, ...]
    # What it adds to the weighted coverage of the rules before it. This and the examples are of all
    # rows that it is known to flip, also beyond those asked about for it
    gain: float
    # Flips with S ≥ τ, those that read best first; for a known rule, whatever S is
    examples: tuple[Flip, ...]
    # (original, rewritten) of rows that it changes, those that read best first
    firing: tuple[tuple[str, str], ...]
    silent: tuple[str, ...]  # rows that it leaves alone, those that share a word with it first
    held_out: RowNumbers | None  # what it does to held-out rows; None where none were held out

    def __repr__(self) -> str:
        return f"<FoundRule {self.id}: {self.text}, flips {self.flips} of {self.asked} rows>"

    @property
    def at_tau_interval(self) -> tuple[float, float]:
        """95% (Wilson) of at_tau over asked."""
        low, high = wilson_interval(self.at_tau, self.asked)
        return float(low), float(high)

    @property
    def is_one_flip(self) -> bool:
        """Whether a single row is all the evidence for it, held-out rows included."""
        return self.flips == 1 and (self.held_out is None or not self.held_out.flips)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearRule:
    """A rule that flips enough rows, but of which text does not prove that it keeps the meaning."""

    rule: Rule
    id: str  # made of its words; no selected rule has it
    scope: Ruleset | None  # the ruleset that it is read under; None for a mined rule
    numbers: NearMiss
    # (original, rewritten) of rows that it changes, flips first, then shorter ones
    firing: tuple[tuple[str, str], ...]
    silent: tuple[str, ...]  # rows that it leaves alone, those that share a word with it first


@dataclass(frozen=True, eq=False, kw_only=True)
class Discovery:
    """The result of a run."""

    data: LabelledRows
    settings: Settings
    models: tuple[str, ...]  # the names, if several models answered together; else empty
    tau: float
    # Whether S is the chance that readers accept, with a known error, as that of the shipped judges
    readers_forecast: bool
    rules: tuple[FoundRule, ...]  # the selected rules, in the order of selection
    # (rule, rule that stands for it, reason) of those left out as twins
    collapsed: tuple[tuple[str, str, str], ...]
    closest: tuple[NearMiss, ...]  # rules that came closest of those that do not
    near_rules: tuple[NearRule, ...]  # the first of these: all that flip enough rows
    known: KnownFlips | None  # what known rules do to the searched rows; None where there are none
    # The share of rows that a rewording that keeps the meaning flips; see `effects.flips`
    base_rate: float
    base_rows: int  # how many rows that share was counted on
    cut_short: tuple[Stage, ...]  # the stages that the time budget cut short
    question_limit_reached: bool  # whether the limit of questions did
    funnel: Funnel

    @property
    def flips_at_least(self) -> bool:
        """Whether a rule may flip more rows, since not all that it changes were asked about."""
        return any(each.asked < each.changed for each in self.rules)

    @property
    def budget_reached(self) -> bool:
        """Whether the time budget cut a stage short."""
        return bool(self.cut_short)

    def is_accepted(self, text: str) -> bool:
        """Whether readers accepted the known rule of this text; else it only counts as such."""
        if self.known is None:
            return False
        known = self.known.known
        pairs = zip(known.rules, known.accepted.tolist(), strict=True)
        return any(accepted and print_rule(rule) == text for rule, accepted in pairs)

    def least_flips(self, *, known: bool) -> int:
        """How many rows a rule had to flip, a known one or a new one."""
        searched = self.funnel.searched
        return self.settings.known_flips(searched) if known else self.settings.flips(searched)


@dataclass(frozen=True, eq=False, kw_only=True)
class HeldOutRows:
    """Right rows that took no part in finding rules."""

    right: RightRows
    tagger: Tagger
    scorer: Scorer
    # Called before each batch of questions to the model; rewrites not asked about do not count
    in_time: Callable[[], bool] | None = None

    @cached_property
    def _tokens(self) -> Tokens:
        return cut_contractions(self.tagger.tag(self.right.texts))

    def count_changed(self, rules: Candidates) -> NDArray[np.int64]:
        """How many of the rows each rule changes."""
        return self._applied(rules).applications.changed if len(rules) else np.zeros(0, np.int64)

    def measure(self, rules: Candidates, *, tau: float) -> tuple[list[RowNumbers], int, int]:
        """What each rule does to the rows, and how many rows any of them flips with S ≥ τ.

        Rows count, in an order by lot, up to the first one that could not be asked about; the last
        number is that of the others.
        """
        if not len(rules):
            return [], 0, 0
        rules = self._applied(rules)
        applications = rules.applications
        ask = partial(self.right.ask_in_time, in_time=self.in_time)
        turns = lots(self.right.texts, "asked")
        turn = turns[applications.rows]
        flips, answered = ask_about(applications, self.right, np.argsort(turn, kind="stable"), ask)
        end = turn[~answered].min(initial=np.inf)
        answered, flips = turn < end, flips & (turn < end)
        fails = fails_of_models(applications, self.right, flips)
        scores = np.zeros(len(answered))
        scores[answered] = self.scorer.scores(applications.pairs(np.flatnonzero(answered)))
        numbers = [
            _numbers(rewrites[answered[rewrites]], flips, fails, scores, tau)
            for rewrites in map(applications.of_rule, range(len(rules)))
        ]
        equivalent = rules.trusted | (scores >= tau)
        flipped = np.unique(applications.rows[flips & equivalent])
        return numbers, len(flipped), int((turns >= end).sum())

    def _applied(self, rules: Candidates) -> Candidates:
        return rules.apply(self._tokens, tagger=self.tagger, guards=self.right.guards)


def _numbers(
    rewrites: NDArray[np.integer],
    flips: NDArray[np.bool_],
    fails: NDArray[np.bool_],
    scores: NDArray[np.float64],
    tau: float,
) -> RowNumbers:
    """The numbers of a rule by some of its rewrites, of searched or of held-out rows."""
    flipped, of_rule = flips[rewrites], scores[rewrites]
    counts = int(flipped.sum()), int((of_rule >= tau).sum())
    ends = (wilson_interval(count, len(rewrites)) for count in counts)
    interval, at_tau_interval = ((float(low), float(high)) for low, high in ends)
    return RowNumbers(
        changed=len(rewrites), flips=counts[0], interval=interval, at_tau=counts[1],
        at_tau_interval=at_tau_interval, flips_at_tau=int((flipped & (of_rule >= tau)).sum()),
        mean_score=float(of_rule.mean()) if len(of_rule) else None,
        flips_of_models=tuple(fails[rewrites].sum(axis=0).tolist()),
    )  # fmt: skip


def found_rules(
    right: RightRows,
    candidates: Candidates,
    *,
    selection: RuleSelection,
    scores: NDArray[np.float64],
    tau: float,
    q_values: NDArray[np.float64],
    held_out: HeldOutRows | None,
) -> tuple[tuple[FoundRule, ...], int | None, int]:
    """The selected rules with their numbers, and how many held-out rows they flip together.

    The last number is that of the held-out rows that could not be asked about.
    ``scores`` are S of all that selected rules write.
    """
    chosen = candidates.passed[list(selection.rules)]
    rules = candidates.keep(chosen)
    measured, flipped, unasked = (
        held_out.measure(rules, tau=tau)
        if held_out is not None
        else ([None] * len(chosen), None, 0)
    )
    new = names_of([each.rule for each in rules.rows if not each.name])
    new_ids = iter(valid_ids(new, taken=[each.name for each in rules.rows]))
    applications, flips = candidates.applications, candidates.answers.flips
    fails = fails_of_models(applications, right, flips)
    results = []
    for number, each, text, gain, held in zip(
        chosen.tolist(), rules.rows, rules.texts, selection.gains, measured, strict=True
    ):
        numbers = _numbers(candidates.counted.of_rule(number), flips, fails, scores, tau)
        examples, firing = _shown(right, candidates, number, scores, tau)
        rows = applications.rows[applications.of_rule(number)]
        results.append(FoundRule(
            rule=each.rule, text=text, id=each.name or next(new_ids), source=each.source,
            scope=each.scope, judged=each.judged, changed=len(rows), asked=numbers.changed,
            flips=numbers.flips, interval=numbers.interval, at_tau=numbers.at_tau,
            flips_at_tau=numbers.flips_at_tau, mean_score=numbers.mean_score or 0.0,
            flips_of_models=numbers.flips_of_models, q_value=float(q_values[number]),
            gain=gain, examples=examples, firing=firing,
            silent=_silent(right.texts, set(rows.tolist()), text), held_out=held,
        ))  # fmt: skip
    return tuple(results), flipped, unasked


def near_rules(
    texts: Sequence[str],
    near: Candidates,
    closest: Sequence[NearMiss],
    *,
    least: int,
    taken: Sequence[str],
) -> tuple[NearRule, ...]:
    """Those of the closest rules that flip ``least`` of the rows, in the same order.

    ``near`` are the rules that were asked about although text did not let them pass, and of these
    only those that ``passed`` may be reported so. No id is among those that are ``taken``.
    """
    places = {near.texts[place]: place for place in near.passed.tolist()}
    misses = [
        each for each in closest
        if each.rule in places and each.lacks in ("meaning", "text") and each.flips >= least
    ]  # fmt: skip
    rows = [near.rows[places[each.rule]] for each in misses]
    names = valid_ids(names_of([each.rule for each in rows]), taken=taken)
    results = []
    for each, row, name in zip(misses, rows, names, strict=True):
        rewrites = near.applications.of_rule(places[each.rule])
        lengths = np.array([len(near.applications.texts[at]) for at in rewrites.tolist()])
        order = np.lexsort((lengths, ~near.answers.flips[rewrites]))
        changed = set(near.applications.rows[rewrites].tolist())
        results.append(NearRule(
            rule=row.rule, id=name, scope=row.scope, numbers=each,
            firing=tuple(dict.fromkeys(near.applications.pairs(rewrites[order])))[:_KEPT],
            silent=_silent(texts, changed, each.rule),
        ))  # fmt: skip
    return tuple(results)


def _shown(
    right: RightRows, candidates: Candidates, number: int, scores: NDArray[np.float64], tau: float
) -> tuple[tuple[Flip, ...], tuple[tuple[str, str], ...]]:
    """The flips of a rule that read best, and its rewrites for tests.

    Rewrites with S ≥ τ come first; among these, flips do; then those with a clearly higher S, then
    shorter ones.
    """
    applications = candidates.applications
    rewrites = applications.of_rule(number)
    of_rule, flipped = scores[rewrites], candidates.answers.flips[rewrites]
    lengths = np.array([len(applications.texts[each]) for each in rewrites.tolist()], np.int64)
    keeps = (of_rule >= tau) | candidates.trusted[rewrites]
    order = np.lexsort((lengths, -np.round(of_rule, 1), ~flipped, ~keeps))
    shown = rewrites[order[(flipped & keeps)[order]]][:_KEPT]
    places = applications.rows[shown].tolist()
    written = [applications.texts[each] for each in shown.tolist()]
    answers = right.ask(places, written)
    flips = tuple(
        Flip(right.texts[place], new, right.predictions[place], answer, score)
        for place, new, answer, score in zip(
            places, written, answers, scores[shown].tolist(), strict=True
        )
    )
    return flips, tuple(applications.pairs(rewrites[order[: 2 * _KEPT]]))


def _silent(texts: Sequence[str], changed: set[int], rule: str) -> tuple[str, ...]:
    """Rows that the rule leaves alone, those that share most words with it first."""
    words = {word for word in rule.split() if word.isalpha()}
    others = [
        (-len(words.intersection(text.split())), len(text), text)
        for number, text in enumerate(texts)
        if number not in changed and text.strip()
    ]
    return tuple(text for _, _, text in sorted(others)[:_KEPT])
