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
from sears_dsl.discovery.budget import Budget, Stage
from sears_dsl.discovery.changes import Rewording, single_changes
from sears_dsl.discovery.contexts import Trials, join_contexts
from sears_dsl.discovery.counted import Funnel
from sears_dsl.discovery.evidence import flip_evidence, hold_out, parts_of
from sears_dsl.discovery.filtering import (
    Filtered,
    Verdict,
    complete_scores,
    filter_candidates,
)
from sears_dsl.discovery.found import Discovery, HeldOutRows, found_rules
from sears_dsl.discovery.journal import Journal
from sears_dsl.discovery.labelled import LabelledRows
from sears_dsl.discovery.proposal import Candidates, propose
from sears_dsl.discovery.remembered import (
    BoundedSource,
    ParaphraseSource,
    RememberedScorer,
    remembered_paraphrases,
)
from sears_dsl.discovery.rightness import RightRows
from sears_dsl.discovery.selection import coverage_of, select
from sears_dsl.discovery.semantics import Scorer
from sears_dsl.discovery.sequential import Round
from sears_dsl.discovery.settings import Settings
from sears_dsl.errors import DataError
from sears_dsl.language.printer import print_rule
from sears_dsl.models.predictor import Predictor
from sears_dsl.text.contractions import separated
from sears_dsl.text.tagger import Tagger
from sears_dsl.text.tokens import Tokens

__all__ = ["OnProgress", "Progress", "adversaries_of", "discover"]


class Progress(NamedTuple):
    """How far a stage is; ``total`` is None where nobody knows."""

    stage: str
    done: int
    total: int | None


OnProgress = Callable[[Progress], None]


# Pairs that a scorer gets at once: so many are a second of work or so, and so many half a minute.
_TIMED, _UNTIMED = 64, 1024


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
        self.remembered = RememberedScorer(
            self.scorer, self.journal, on_portion=self._shown("scoring rewordings")
        )

    def right(self) -> RightRows:
        return RightRows(
            self.data,
            self.predictor,
            comparison=self.settings.comparison,
            in_time=self.budget.stage("rows") if self.budget.limited else None,
            on_progress=self._shown("asking the model"),
        )

    def _shown(self, stage: str) -> Callable[[int, int], None]:
        return lambda done, total: self.on_progress(Progress(stage, done, total))

    def paraphrases(self, right: RightRows) -> tuple[list[list[str]], int]:
        """The paraphrases of each row, and how many rows there was no time for."""
        found = remembered_paraphrases(
            self.paraphraser,
            right.texts,
            self.journal,
            on_portion=self._shown("paraphrasing"),
            in_time=self.budget.stage("paraphrases"),
        )
        return [each or [] for each in found], sum(each is None for each in found)

    def adversaries(
        self, right: RightRows, paraphrases: list[list[str]], *, base: bool = True
    ) -> Adversaries:
        """Those paraphrases that flip the model and keep the meaning."""
        stage = "looking for adversaries"

        def ask(rows: Sequence[int], texts: Sequence[str]) -> Sequence[str | None]:
            return self.ask(right, rows, texts, shown=stage, stage="answers")

        in_time = self.budget.stage("adversaries")
        return find_adversaries(
            right, paraphrases, scorer=self.remembered, tau=self.tau, ask=ask,
            stop=lambda: not in_time(), portion=self.portion, base=base,
        )  # fmt: skip

    @property
    def portion(self) -> int:
        """Pairs that the scorer gets at once: few where time is limited."""
        return _TIMED if self.budget.limited else _UNTIMED

    def ask(
        self,
        right: RightRows,
        rows: Sequence[int],
        texts: Sequence[str],
        *,
        shown: str,
        stage: Stage | None,
    ) -> list[str | None]:
        """What the model says of right rows with other texts; None where there was no time.

        Without a stage there always is.
        """
        in_time = None
        if stage is not None and self.budget.limited:
            in_time = self.budget.stage(stage)
        self.on_progress(Progress(shown, 0, len(texts)))
        return right.ask_in_time(rows, texts, in_time=in_time, on_progress=self._shown(shown))

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
        self,
        right: RightRows,
        applications: Applications,
        wanted: NDArray[np.int64],
        stage: Stage | None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rewrites flip the model, of those wanted, and for which it was asked."""
        rows = applications.rows[wanted].tolist()
        texts = [applications.texts[each] for each in wanted.tolist()]
        answers = self.ask(right, rows, texts, shown="asking about rewrites", stage=stage)
        flipped = np.zeros(len(applications.texts), np.bool_)
        known = np.zeros(len(applications.texts), np.bool_)
        known[wanted] = [answer is not None for answer in answers]
        flipped[wanted] = [
            answer is not None and right.flipped(row, answer)
            for row, answer in zip(rows, answers, strict=True)
        ]
        return flipped, known

    def tried(
        self, right: RightRows, candidates: Candidates, tokens: Tokens, *, parts: int
    ) -> Trials:
        """What candidates do to the rows, and to the model; with those that join contexts.

        Args:
            right: the rows.
            candidates: the rules.
            tokens: the rows, tagged.
            parts: into how many the rows are cut for joining contexts; 0 joins none.
        """
        self.on_progress(Progress("applying rules", 0, len(candidates)))
        applications = apply_candidates(candidates.rules, tokens, tagger=self.tagger)
        order = (
            _most_promising(applications, candidates)
            if self.budget.limited
            else np.arange(len(applications.texts))
        )
        flips, known = self.flips(right, applications, order, "rules")
        # A rule that the model was not asked about completely has no honest numbers.
        complete = np.flatnonzero(applications.count(~known) == 0)
        trials = Trials(
            rules=[candidates.rules[each] for each in complete],
            texts=[candidates.texts[each] for each in complete],
            applications=applications.select(complete),
            flips=flips,
            chosen_by=np.full(len(complete), -1, np.int64),
            parts=parts_of(right.texts, max(parts, 1), seed=self.settings.seed),
        )
        return self._with_contexts(trials, right, tokens) if parts else trials

    def _with_contexts(self, trials: Trials, right: RightRows, tokens: Tokens) -> Trials:
        self.on_progress(Progress("joining contexts", 0, None))
        in_time = self.budget.stage("contexts")
        joined = join_contexts(
            trials.rules, trials.applications, trials.flips, tokens,
            tagger=self.tagger, scorer=self.remembered, tau=self.tau,
            delta=self.settings.delta, minimum_flips=self.settings.minimum_flips,
            parts=trials.parts, stop=lambda: not in_time(), portion=self.portion,
        )  # fmt: skip
        if not joined:
            return trials
        theirs = apply_candidates([each.rule for each in joined], tokens, tagger=self.tagger)
        both = trials.applications.joined_to(theirs)
        before = len(trials.flips)
        # Nearly all that they write was asked about already; the rest is a few rows.
        flips, _ = self.flips(right, both, np.arange(before, len(both.texts)), None)
        flips[:before] = trials.flips
        return Trials(
            rules=[*trials.rules, *(each.rule for each in joined)],
            texts=[*trials.texts, *(print_rule(each.rule) for each in joined)],
            applications=both,
            flips=flips,
            chosen_by=np.append(trials.chosen_by, [each.chosen_by for each in joined]),
            parts=trials.parts,
        )

    def filtered(self, trials: Trials) -> Filtered:
        in_time = self.budget.stage("filter")
        return filter_candidates(
            trials.judged,
            trials.flips,
            scorer=self.remembered,
            tau=self.tau,
            delta=self.settings.delta,
            minimum_flips=self.settings.minimum_flips,
            batch=self.portion,
            in_waves=self.budget.limited,
            stop=lambda: not in_time(),
            progress=self._scoring,
        )

    def _scoring(self, done: Round) -> None:
        decided = done.passed + done.rejected
        self.on_progress(Progress("scoring", decided, decided + done.open))


def _most_promising(applications: Applications, candidates: Candidates) -> NDArray[np.int64]:
    """The rewrites rule by rule, those that many rewordings proposed first, then those on few rows.

    A rule counts only if the model was asked about all that it writes.
    """
    sources = np.array([len(of_rule) for of_rule in candidates.sources], np.int64)
    order = np.lexsort((applications.changed, -sources))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    first = np.full(len(applications.texts), len(order), np.int64)
    np.minimum.at(first, applications.rewrites, ranks[applications.rules])
    return np.argsort(first, kind="stable")


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
    began: float | None = None,
) -> tuple[RightRows, Adversaries, int, tuple[Stage, ...]]:
    """The first half of `discover`, with its arguments.

    Returns:
        The right rows, their adversaries, how many rows the time did not suffice for, and the
        stages that it cut short.
    """
    run = _Run(
        data=data, predictor=predictor, paraphraser=paraphraser, scorer=scorer, tagger=tagger,
        settings=settings, journal=journal, on_progress=on_progress,
        budget=Budget(settings.budget_seconds, monotonic, began=began, last="adversaries"),
    )  # fmt: skip
    right = run.right()
    paraphrases, skipped = run.paraphrases(right)
    adversaries = run.adversaries(right, paraphrases, base=False)
    return right, adversaries, skipped, tuple(run.budget.reached)


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
    began: float | None = None,
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
        began: when the time of the budget began to count, by the clock; now if None.

    Raises:
        DataError: the model has no row right, or the journal cannot be written.
        ModelError: the model fails.
        UsageError: settings that mean nothing.
    """
    run = _Run(
        data=data, predictor=predictor, paraphraser=paraphraser, scorer=scorer, tagger=tagger,
        settings=settings, journal=journal or Journal(None, task=""), on_progress=on_progress,
        budget=Budget(settings.budget_seconds, clock, began=began),
    )  # fmt: skip
    right = run.right()
    here, held = _parts(right, settings)
    searched = right.part(here)
    paraphrases, skipped = run.paraphrases(searched)
    too_long = (
        sum(paraphraser.too_long(searched.texts)) if isinstance(paraphraser, BoundedSource) else 0
    )
    adversaries = run.adversaries(searched, paraphrases)
    tokens = separated(tagger.tag(searched.texts))
    candidates = run.candidates(searched, paraphrases, adversaries, tokens)
    # Without held-out rows a third part says what joined rules do.
    parts = (2 if held else 3) if settings.join_contexts else 0
    trials = run.tried(searched, candidates, tokens, parts=parts)
    filtered = run.filtered(trials)
    evidence = flip_evidence(
        trials.judged,
        trials.flips,
        base_rate=adversaries.base_rate,
        base_rows=adversaries.base_rows,
    )
    apart = (
        HeldOutRows(
            right.part(held),
            tagger=tagger,
            scorer=run.remembered,
            tau=run.tau,
            in_time=run.budget.stage("telling") if run.budget.limited else None,
        )
        if held
        else None
    )
    passed = _with_numbers(filtered.passed, trials, apart)
    chosen = trials.looked_at.select(passed)
    rules = [trials.rules[each] for each in passed]
    texts = [trials.texts[each] for each in passed]
    on_progress(Progress("selecting", 0, len(rules)))
    scores = complete_scores(chosen, range(len(rules)), scorer=run.remembered, among=trials.flips)
    coverage = coverage_of(rules, texts, chosen, flips=trials.flips, scores=scores, tau=run.tau)
    selection = select(coverage, settings.rules)
    scores = complete_scores(
        trials.applications,
        passed[list(selection.rules)],
        scorer=run.remembered,
        scores=scores,
    )
    found, held_out_flipped = found_rules(
        searched,
        trials,
        passed,
        selection=selection,
        scores=scores,
        tau=run.tau,
        q_values=evidence.q_values,
        held_out=apart,
    )
    return Discovery(
        data=data,
        settings=settings,
        tau=run.tau,
        rules=found,
        collapsed=tuple(
            (texts[each.rule], texts[each.into], each.reason) for each in selection.collapsed
        ),
        passing=tuple(texts),
        budget_reached=bool(run.budget.reached),
        cut_short=tuple(run.budget.reached),
        base_rate=adversaries.base_rate,
        base_rows=adversaries.base_rows,
        funnel=Funnel(
            rows=len(data.rows),
            unasked=len(data.rows) - right.asked,
            right=len(right),
            held_out=len(held),
            searched=len(searched),
            skipped=skipped,
            too_long=too_long,
            paraphrases=adversaries.paraphrases,
            adversaries=len(adversaries.found),
            rows_with_adversary=len({each.row for each in adversaries.found}),
            candidates=len(trials.rules),
            joined_contexts=int((trials.chosen_by >= 0).sum()),
            applications=len(trials.applications),
            distinct_rewrites=len(trials.applications.texts),
            with_enough_flips=int((filtered.flips >= settings.minimum_flips).sum()),
            pairs_scored=filtered.asked,
            pairs_without_stopping=filtered.without_stopping,
            not_asked=len(candidates) - int((trials.chosen_by < 0).sum()),
            undecided=filtered.count(Verdict.UNDECIDED),
            passing=len(rules),
            collapsed=len(selection.collapsed),
            selected=len(selection.rules),
            rows_flipped=int(coverage.covered(selection.rules).sum()),
            rows_flipped_with_inverses=int(coverage.covered(selection.with_inverses).sum()),
            held_out_flipped=held_out_flipped,
        ),
    )


def _parts(right: RightRows, settings: Settings) -> tuple[Sequence[int], Sequence[int]]:
    """The right rows to find rules on, and those that only say what the rules do."""
    share = settings.share_held_out(len(right))
    if not share:
        return range(len(right)), ()
    here, held = hold_out(right.texts, seed=settings.seed, share=share)
    if not len(here):
        raise DataError(
            f"all of the {len(right)} right rows are held out, and none is left to find rules on",
            help="give more rows, or a smaller share to hold out",
        )
    return here.tolist(), held.tolist()


def _with_numbers(
    passed: NDArray[np.int64], trials: Trials, held_out: HeldOutRows | None
) -> NDArray[np.int64]:
    """Those rules that passed, without joined ones that change no row that may tell of them."""
    joined = passed[trials.chosen_by[passed] >= 0]
    changed = (
        trials.apart.changed[joined]
        if held_out is None
        else held_out.changed([trials.rules[each] for each in joined])
    )
    return np.setdiff1d(passed, joined[changed == 0])
