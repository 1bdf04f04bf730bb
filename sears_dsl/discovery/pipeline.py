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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sears_dsl.discovery.adversary import Adversaries, find_adversaries
from sears_dsl.discovery.application import Applications, apply_candidates
from sears_dsl.discovery.budget import PARAPHRASES, QUESTIONS, SCORES, Budget
from sears_dsl.discovery.changes import Rewording, single_changes
from sears_dsl.discovery.contexts import join_contexts
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
from sears_dsl.language.printer import print_rule
from sears_dsl.language.rule import Rule
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


# Rows of a question to the model where time is limited; a slow model may answer one a second.
_QUESTION = 64


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
    budget: Budget
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
            in_time=self.budget.until(PARAPHRASES),
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
        """The rules that generalize adversaries, or the changes of all paraphrases."""
        self.on_progress(Progress("proposing rules", 0, None))
        rewordings = dict.fromkeys(
            Rewording(each.original, each.text) for each in adversaries.found
        )
        flipping = len(rewordings)
        if self.settings.propose_from == "paraphrases":
            found = single_changes(right.texts, paraphrases, tagger=self.tagger)
            rewordings |= dict.fromkeys(found)
        candidates = propose(
            list(rewordings),
            tokens,
            tagger=self.tagger,
            context=self.settings.context,
            minimum_frequency=self.settings.minimum_frequency,
        )
        # What flips nothing where it was proposed has to be proposed more than once.
        return candidates.keep(
            [
                rule
                for rule, sources in enumerate(candidates.sources)
                if sources[0] < flipping or len(sources) > 1
            ]
        )

    def flips(
        self, right: RightRows, applications: Applications, wanted: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rewrites flip the model, of those wanted, and for which it was asked."""
        rows, texts = applications.rows.tolist(), applications.texts
        flipped = np.zeros(len(texts), np.bool_)
        known = np.zeros(len(texts), np.bool_)
        in_time = self.budget.until(QUESTIONS)
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

    def tried(self, right: RightRows, candidates: Candidates, tokens: Tokens) -> _Tried:
        """What candidates do to the rows, and to the model; with those that join contexts."""
        self.on_progress(Progress("applying rules", 0, len(candidates)))
        applications = apply_candidates(candidates.rules, tokens, tagger=self.tagger)
        order = (
            _most_promising(applications, candidates)
            if self.budget.limited
            else np.arange(len(applications.texts))
        )
        flips, known = self.flips(right, applications, order)
        # A rule that the model was not asked about completely has no honest numbers.
        complete = np.flatnonzero(applications.count(~known) == 0)
        applications = applications.select(complete)
        rules = [candidates.rules[each] for each in complete]
        texts = [candidates.texts[each] for each in complete]
        tried = _Tried(rules, texts, applications, flips, 0)
        return self._with_contexts(tried, right, tokens) if self.settings.join_contexts else tried

    def _with_contexts(self, tried: _Tried, right: RightRows, tokens: Tokens) -> _Tried:
        self.on_progress(Progress("joining contexts", 0, None))
        joined = join_contexts(
            tried.rules, tried.applications, tried.flips, tokens,
            tagger=self.tagger, scorer=self.remembered, tau=self.tau,
            delta=self.settings.delta, minimum_flips=self.settings.minimum_flips,
            stop=self.out_of_time(SCORES),
        )  # fmt: skip
        if not joined:
            return tried
        theirs = apply_candidates(joined, tokens, tagger=self.tagger)
        both = tried.applications.joined_to(theirs)
        new = np.arange(len(tried.flips), len(both.texts))
        flips, known = self.flips(right, both, new)
        flips[: len(tried.flips)] = tried.flips
        known[: len(tried.flips)] = True
        complete = np.flatnonzero(both.count(~known) == 0)
        rules = [*tried.rules, *joined]
        texts = [*tried.texts, *map(print_rule, joined)]
        return _Tried(
            [rules[each] for each in complete],
            [texts[each] for each in complete],
            both.select(complete),
            flips,
            int((complete >= len(tried.rules)).sum()),
        )

    def out_of_time(self, share: float) -> Callable[[], bool]:
        """A test whether a stage that may use a share of the budget has to end."""
        in_time = self.budget.until(share)
        return lambda: not in_time()

    def filtered(self, applications: Applications, flips: NDArray[np.bool_]) -> Filtered:
        return filter_candidates(
            applications,
            flips,
            scorer=self.remembered,
            tau=self.tau,
            delta=self.settings.delta,
            minimum_flips=self.settings.minimum_flips,
            stop=self.out_of_time(SCORES),
            progress=self._scoring,
        )

    def _scoring(self, done: Round) -> None:
        decided = done.passed + done.rejected
        self.on_progress(Progress("scoring", decided, decided + done.open))


class _Tried(NamedTuple):
    """Candidates, the last ``joined`` of which join contexts, and what they do."""

    rules: Sequence[Rule]
    texts: Sequence[str]
    applications: Applications
    flips: NDArray[np.bool_]
    joined: int


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
        budget=Budget(settings.budget_seconds, monotonic),
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
        budget=Budget(settings.budget_seconds, clock),
    )  # fmt: skip
    right = run.right()
    here, held = _parts(len(right), settings)
    looked_at = right.part(here)
    paraphrases, skipped = run.paraphrases(looked_at)
    adversaries = run.adversaries(looked_at, paraphrases)
    tokens = tagger.tag(looked_at.texts)
    candidates = run.candidates(looked_at, paraphrases, adversaries, tokens)
    tried = run.tried(looked_at, candidates, tokens)
    applications, flips = tried.applications, tried.flips
    filtered = run.filtered(applications, flips)

    passed = filtered.passed
    chosen = applications.select(passed)
    rules = [tried.rules[each] for each in passed]
    texts = [tried.texts[each] for each in passed]
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
            candidates=len(tried.rules),
            joined_contexts=tried.joined,
            applications=len(applications),
            distinct_rewrites=len(applications.texts),
            with_enough_flips=int((filtered.flips >= settings.minimum_flips).sum()),
            pairs_scored=filtered.asked,
            pairs_without_stopping=filtered.without_stopping,
            passing=len(rules),
            collapsed=len(selection.collapsed),
            selected=len(selection.rules),
            rows_flipped=int(coverage.covered(selection.rules).sum()),
            rows_flipped_with_inverses=int(coverage.covered(selection.with_inverses).sum()),
        ),
    )


def _parts(rows: int, settings: Settings) -> tuple[Sequence[int], Sequence[int]]:
    """The right rows to find rules on, and those that only count flips."""
    if not settings.holdout:
        return range(rows), ()
    here, held = hold_out(rows, seed=settings.seed, share=settings.holdout)
    return here.tolist(), held.tolist()
