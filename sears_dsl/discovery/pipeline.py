"""Algorithm 1 of the paper, complete: labelled rows and a black box in, a few rules out.

    rows ─▶ right rows ─▶ paraphrases ─▶ adversaries (SEAs) ─▶ candidate rules
         ─▶ applications ─▶ flips ─▶ filtered by S ─▶ selected by coverage ─▶ `Discovery`

In: the rows, the model, a source of paraphrases, a scorer, a tagger, settings. Out: `Discovery`,
the rules with their numbers and all the counts on the way. Always holds: the same input under the
same settings gives the same result, also after an interruption, unless the time budget cuts it
short, which the result says. Costs: the paraphrases and the scores, nearly all of it; the rest is
seconds.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.adversary import Adversaries, find_adversaries
from sears_dsl.discovery.alignment import words_changed
from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.counted import Funnel
from sears_dsl.discovery.evidence import flip_evidence, hold_out
from sears_dsl.discovery.filtering import Filtered, complete_scores, filter_candidates
from sears_dsl.discovery.found import Discovery, found_rules
from sears_dsl.discovery.journal import Journal
from sears_dsl.discovery.labelled import LabelledRows
from sears_dsl.discovery.proposal import Candidates, propose
from sears_dsl.discovery.remembered import (
    ParaphraseSource,
    RememberedScorer,
    remembered_paraphrases,
)
from sears_dsl.discovery.rightness import RightRows
from sears_dsl.discovery.selection import coverage_of, select
from sears_dsl.discovery.semantics import Scorer
from sears_dsl.discovery.sequential import Round
from sears_dsl.discovery.settings import Settings
from sears_dsl.models.predictor import Predictor
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

__all__ = ["OnProgress", "Progress", "adversaries_of", "discover"]


class Progress(NamedTuple):
    """How far a stage is; ``total`` is None where nobody knows."""

    stage: str
    done: int
    total: int | None


OnProgress = Callable[[Progress], None]


class _Budget:
    """The time that is left; each stage may use the run up to a share of it."""

    def __init__(self, seconds: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = math.inf if seconds is None else seconds
        self._begin = clock()
        self.reached = False

    def until(self, share: float) -> Callable[[], bool]:
        """A test whether the stage may go on."""

        def in_time() -> bool:
            if self._clock() - self._begin < share * self._end:
                return True
            self.reached = True
            return False

        return in_time

    @property
    def limited(self) -> bool:
        """Whether there is an end at all."""
        return self._end != math.inf


# Of the time budget: paraphrases end here, questions to the model here, scores here.
_PARAPHRASES, _QUESTIONS, _SCORES = 0.4, 0.7, 0.95
# Rows of a question to the model where time is limited; a slow model may answer one a second.
_QUESTION = 64


# Paraphrases that do not flip the model propose rules too, but there are a hundred times as many of
# them as adversaries: they may change so many words at most, and so many have to agree on a rule.
# A rule that keeps the meaning nearly everywhere is proposed more than once.
_SMALL = 2
_OFTEN = 3


class _Rewording(NamedTuple):
    original: str
    text: str


@dataclass(kw_only=True)
class _Run:
    data: LabelledRows
    predictor: Predictor
    paraphraser: ParaphraseSource
    scorer: Scorer
    tagger: Tagger
    settings: Settings
    journal: Journal
    on_progress: OnProgress
    budget: _Budget
    tau: float = field(init=False)
    remembered: RememberedScorer = field(init=False)

    def __post_init__(self) -> None:
        tau = self.settings.tau
        self.tau = self.scorer.tau if tau is None else tau
        self.remembered = RememberedScorer(self.scorer, self.journal)

    def right(self) -> RightRows:
        self.on_progress(Progress("asking the model", 0, len(self.data.rows)))
        return RightRows(self.data, self.predictor, comparison=self.settings.comparison)

    def paraphrases(self, right: RightRows) -> tuple[list[list[str]], int]:
        """The paraphrases of each row, and how many rows there was no time for."""
        found = remembered_paraphrases(
            self.paraphraser,
            right.texts,
            self.journal,
            on_portion=lambda done, total: self.on_progress(Progress("paraphrasing", done, total)),
            in_time=self.budget.until(_PARAPHRASES),
        )
        return [each or [] for each in found], sum(each is None for each in found)

    def adversaries(self, right: RightRows, paraphrases: list[list[str]]) -> Adversaries:
        """Those paraphrases that flip the model and keep the meaning."""
        self.on_progress(Progress("looking for adversaries", 0, sum(map(len, paraphrases))))
        return find_adversaries(right, paraphrases, scorer=self.remembered, tau=self.tau)

    def candidates(
        self,
        right: RightRows,
        paraphrases: list[list[str]],
        adversaries: Adversaries,
        tokens: Tokens,
    ) -> Candidates:
        """The rules that generalize adversaries, or all small paraphrases."""
        self.on_progress(Progress("proposing rules", 0, None))
        rewordings = [_Rewording(each.original, each.text) for each in adversaries.found]
        flipping = len(rewordings)
        if self.settings.propose_from == "paraphrases":
            known = set(rewordings)
            rewordings += [
                reworded
                for original, found in zip(right.texts, paraphrases, strict=True)
                for reworded in (_Rewording(original, text) for text in found)
                if reworded not in known and words_changed(*reworded) <= _SMALL
            ]
        candidates = propose(
            rewordings,
            tokens,
            tagger=self.tagger,
            context=self.settings.context,
            minimum_frequency=self.settings.minimum_frequency,
        )
        return candidates.keep(
            [
                rule
                for rule, sources in enumerate(candidates.sources)
                if sources[0] < flipping or len(sources) >= _OFTEN
            ]
        )

    def flips(
        self, right: RightRows, applications: Applications, candidates: Candidates
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rewrites flip the model, and for which it was asked."""
        rows, texts = applications.rows.tolist(), applications.texts
        flipped = np.zeros(len(texts), np.bool_)
        known = np.zeros(len(texts), np.bool_)
        in_time = self.budget.until(_QUESTIONS)
        order = _most_promising(applications, candidates) if self.budget.limited else None
        wanted = np.arange(len(texts)) if order is None else order
        size = _QUESTION if self.budget.limited else max(1, len(texts))
        for first in range(0, len(wanted), size):
            if not in_time():
                break
            self.on_progress(Progress("asking about rewrites", first, len(wanted)))
            some = wanted[first : first + size]
            answers = right.ask([rows[each] for each in some], [texts[each] for each in some])
            known[some] = True
            flipped[some] = [
                right.flipped(rows[each], answer)
                for each, answer in zip(some, answers, strict=True)
            ]
        return flipped, known

    def filtered(self, applications: Applications, flips: NDArray[np.bool_]) -> Filtered:
        in_time = self.budget.until(_SCORES)
        return filter_candidates(
            applications,
            flips,
            scorer=self.remembered,
            tau=self.tau,
            delta=self.settings.delta,
            minimum_flips=self.settings.minimum_flips,
            stop=lambda: not in_time(),
            progress=self._scoring,
        )

    def _scoring(self, done: Round) -> None:
        decided = done.passed + done.rejected
        self.on_progress(Progress("scoring", decided, decided + done.open))


def _most_promising(applications: Applications, candidates: Candidates) -> NDArray[np.int64]:
    """The rewrites, those of rules that many adversaries proposed first."""
    sources = np.array([len(of_rule) for of_rule in candidates.sources], np.int64)
    best = np.zeros(len(applications.texts), np.int64)
    np.maximum.at(best, applications.rewrites, sources[applications.rules])
    return np.argsort(-best, kind="stable")


def adversaries_of(
    data: LabelledRows,
    predictor: Predictor,
    *,
    paraphraser: ParaphraseSource,
    scorer: Scorer,
    settings: Settings,
    tagger: Tagger,
    journal: Journal,
    on_progress: OnProgress = lambda _: None,
) -> tuple[RightRows, Adversaries, int]:
    """The first half of `discover`, with its arguments.

    Returns:
        The right rows, their adversaries, and how many rows the time did not suffice for.
    """
    run = _Run(
        data=data, predictor=predictor, paraphraser=paraphraser, scorer=scorer, tagger=tagger,
        settings=settings, journal=journal, on_progress=on_progress,
        budget=_Budget(settings.budget_seconds, monotonic),
    )  # fmt: skip
    right = run.right()
    paraphrases, skipped = run.paraphrases(right)
    return right, run.adversaries(right, paraphrases), skipped


def discover(
    data: LabelledRows,
    predictor: Predictor,
    *,
    paraphraser: ParaphraseSource,
    scorer: Scorer,
    tagger: Tagger,
    settings: Settings,
    journal: Journal | None = None,
    on_progress: OnProgress = lambda _: None,
    clock: Callable[[], float] = monotonic,
) -> Discovery:
    """Find the rules that make a model fail most without changing the meaning.

    Args:
        data: labelled rows.
        predictor: the model; asked for many rewrites of each row, so best a cached one.
        paraphraser: proposes rewordings of rows.
        scorer: S, which says whether a rewording keeps the meaning.
        tagger: the rules are over its tags.
        settings: τ, δ and the like.
        journal: remembers what an interrupted run found; None remembers nothing.
        on_progress: told how far each stage is.
        clock: seconds, for the budget.

    Raises:
        DataError: the model has no row right, or the journal cannot be written.
        ModelError: the model fails.
        UsageError: settings that mean nothing.
    """
    run = _Run(
        data=data, predictor=predictor, paraphraser=paraphraser, scorer=scorer, tagger=tagger,
        settings=settings, journal=journal or Journal(None, task=""), on_progress=on_progress,
        budget=_Budget(settings.budget_seconds, clock),
    )  # fmt: skip
    right = run.right()
    here, held = _parts(len(right), settings)
    looked_at = right.part(here)
    paraphrases, skipped = run.paraphrases(looked_at)
    adversaries = run.adversaries(looked_at, paraphrases)
    tokens = tagger.tag(looked_at.texts)
    candidates = run.candidates(looked_at, paraphrases, adversaries, tokens)
    on_progress(Progress("applying rules", 0, len(candidates)))
    applications = apply_candidates(candidates.rules, tokens, tagger=tagger)
    flips, known = run.flips(looked_at, applications, candidates)
    # A rule that the model was not asked about completely has no honest numbers.
    complete = np.flatnonzero(applications.count(~known) == 0)
    applications = applications.select(complete)
    filtered = run.filtered(applications, flips)

    passed = filtered.passed
    chosen = applications.select(passed)
    rules = [candidates.rules[complete[each]] for each in passed]
    texts = [candidates.texts[complete[each]] for each in passed]
    scores = complete_scores(chosen, range(len(rules)), scorer=run.remembered, among=flips)
    coverage = coverage_of(rules, texts, chosen, flips=flips, scores=scores, tau=run.tau)
    on_progress(Progress("selecting", 0, len(rules)))
    selection = select(coverage, settings.rules)
    scores = complete_scores(chosen, selection.rules, scorer=run.remembered, scores=scores)
    evidence = flip_evidence(applications, flips, base_rate=adversaries.base_rate)
    return Discovery(
        data=data,
        settings=settings,
        tau=run.tau,
        rules=found_rules(
            looked_at,
            rules,
            texts,
            chosen,
            selection=selection,
            flips=flips,
            scores=scores,
            tau=run.tau,
            q_values=evidence.q_values[passed],
            held_out=right.part(held) if len(held) else None,
            tagger=tagger,
        ),
        collapsed=tuple(
            (texts[each.rule], texts[each.into], each.reason) for each in selection.collapsed
        ),
        passing=tuple(texts),
        budget_reached=run.budget.reached,
        base_rate=adversaries.base_rate,
        funnel=Funnel(
            rows=len(data.rows),
            right=len(looked_at),
            held_out=len(held),
            skipped=skipped,
            paraphrases=adversaries.paraphrases,
            adversaries=len(adversaries.found),
            rows_with_adversary=len({each.row for each in adversaries.found}),
            candidates=len(candidates),
            applications=len(applications),
            distinct_rewrites=len(applications.texts),
            with_enough_flips=int((filtered.flips >= settings.minimum_flips).sum()),
            pairs_scored=filtered.asked,
            pairs_without_stopping=filtered.without_stopping,
            passing=len(rules),
            collapsed=len(selection.collapsed),
            selected=len(selection.rules),
            rows_flipped=int(coverage.covered(selection.rules).sum()),
        ),
    )


def _parts(rows: int, settings: Settings) -> tuple[Sequence[int], Sequence[int]]:
    """The right rows to find rules on, and those that only count flips."""
    if not settings.holdout:
        return range(rows), ()
    here, held = hold_out(rows, seed=settings.seed, share=settings.holdout)
    return here.tolist(), held.tolist()
