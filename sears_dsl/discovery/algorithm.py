"""The search for rules: labelled rows and a black-box model in, a few rules out.

    rows ─▶ right rows ─▶ held out apart ─▶ known rules ─▶ paraphrases ─▶ changes of words
         ─▶ judged on text, narrowed ─▶ the model asked ─▶ selected by coverage ─▶ `Discovery`

The same input under the same settings gives the same result, also after an interruption, unless the
time budget cuts the search short, which the result says. The model is asked no more questions than
the limit allows. Nearly all of the cost is paraphrases and scores; the rest is seconds.

With several models, what a rule covers is not a row but a place: a row with one or two models,
worth S of its flip. With M models:

- ``shared``: a place is a row and a model that fails there. A rule is worth k/M, where k is the
  number of models in which it flips rows often enough, and nothing where k is 1: a rule of one
  model counts for none.
- ``apart``: a place is a row and two models of which the first alone fails there. A rule that has b
  such rows, and c rows the other way round, is worth (b - c)/b, so that alone it counts b - c: how
  much more often it makes the first fail. It counts only if that is often enough.

The diagram shows `MeaningFirst`; `search_in_paper_order` asks the model about all
paraphrases and all candidates, and judges what flips.

Source: Ribeiro, Singh, Guestrin, "Semantically Equivalent Adversarial Rules for Debugging NLP
Models", ACL 2018, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.adversaries import ParaphraseFlips
from sears_dsl.discovery.candidates import Candidates
from sears_dsl.discovery.counts import Funnel
from sears_dsl.discovery.known_rules import KnownRules, takes_place
from sears_dsl.discovery.orders import (
    BeforeSearch,
    MeaningFirst,
    OnKnown,
    Search,
    SearchOutcome,
    search_in_paper_order,
)
from sears_dsl.discovery.result.found_rules import Discovery, found_rules, near_rules
from sears_dsl.discovery.selection import (
    Coverage,
    RuleSelection,
    complete_scores,
    coverage_of,
    covering,
    select,
)
from sears_dsl.discovery.settings import CERTAIN, Budget, Settings, Stage
from sears_dsl.effects.asked_model import OnStage
from sears_dsl.effects.flips import RightRows, fails_of_models, flip_p_values, flip_q_values
from sears_dsl.effects.lots import hold_out
from sears_dsl.errors import DataError, UsageError
from sears_dsl.meaning.scorers import spread_of
from sears_dsl.models.predictor import Predictor
from sears_dsl.paraphrasing.plugins import AnyParaphraser, AnyScorer, as_paraphraser, as_scorer
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import Tagger


def across_models(
    coverage: Coverage, fails: NDArray[np.bool_], *, shared: bool, least: int
) -> Coverage:
    """The coverage of rows and models; ``fails``, bool (entries, models), says who fails.

    Rules are worth something if models share them or, unless ``shared``, if they tell models apart;
    ``least`` rows in a model, or more in one model than in another, are often enough.
    """
    rules, models = len(coverage), fails.shape[1]
    rule_of = np.repeat(np.arange(rules), coverage.sizes)
    if shared:
        flips = np.zeros((rules, models), np.int64)
        np.add.at(flips, rule_of, fails)
        sharing = (flips >= least).sum(axis=1)
        worth = np.where(sharing > 1, sharing / models, 0.0)
        entries, model = np.nonzero(fails)
        places = coverage.rows[entries].astype(np.int64) * models + model
        worths = worth[rule_of[entries]]
    else:
        alone = fails[:, :, None] & ~fails[:, None, :]
        more = np.zeros((rules, models, models), np.int64)
        np.add.at(more, rule_of, alone)
        net = more - more.transpose(0, 2, 1)
        share = np.where(net >= least, net / np.maximum(more, 1), 0.0)
        entries, first, second = np.nonzero(alone)
        places = (coverage.rows[entries].astype(np.int64) * models + first) * models + second
        worths = share[rule_of[entries], first, second]
    mask = worths > 0
    entries = entries[mask]
    return replace(
        coverage,
        offsets=np.searchsorted(rule_of[entries], np.arange(rules + 1)).astype(np.int64),
        rows=places[mask],
        weights=np.rint(coverage.weights[entries] * worths[mask]).astype(np.int64),
        row_count=coverage.row_count * (models if shared else models * models),
    )


def adversaries_of(
    data: LabelledRows,
    predictor: Predictor,
    *,
    paraphraser: AnyParaphraser,
    scorer: AnyScorer,
    settings: Settings,
    tagger: Tagger,
    journal: RunJournal,
    on_progress: OnStage = lambda stage, done, total: None,
    began: float | None = None,
) -> tuple[RightRows, ParaphraseFlips, int, tuple[Stage, ...]]:
    """The right rows and their adversaries: the first half of the paper's order.

    It also returns for how many rows time did not suffice, and the stages that it cut short.
    """
    budget = Budget(
        settings.budget_seconds, monotonic, order="paper", began=began, last="adversaries"
    )
    search = Search(
        data=data, predictor=predictor, paraphraser=as_paraphraser(paraphraser),
        scorer=as_scorer(scorer), tagger=tagger, settings=settings, journal=journal,
        on_progress=on_progress, budget=budget,
    )  # fmt: skip
    right = search.right()
    paraphrases, skipped = search.paraphrases(right)
    adversaries = search.adversaries(right, paraphrases, base=False)
    return right, adversaries, skipped, tuple(budget.reached)


def discover(
    data: LabelledRows,
    predictor: Predictor,
    *,
    paraphraser: AnyParaphraser,
    scorer: AnyScorer,
    tagger: Tagger,
    settings: Settings,
    text: Sequence[str] = (),
    known: KnownRules | None = None,
    journal: RunJournal | None = None,
    on_progress: OnStage = lambda stage, done, total: None,
    on_known: OnKnown = lambda _: None,
    before_search: BeforeSearch = lambda _: None,
    clock: Callable[[], float] = monotonic,
    began: float | None = None,
) -> Discovery:
    """Find the rules that make a model fail most without changing the meaning.

    Rules use the tags of ``tagger``. Where meaning comes first, they are judged on ``text`` as
    well, and ``known`` rules, which readers have accepted, are tried first: ``on_known`` is called
    several times with what they do. ``before_search`` is called with the searched rows before the
    costly stages begin, and what it raises ends the search. The budget counts seconds of ``clock``
    from ``began``, or from now.
    """
    search = Search(
        data=data, predictor=predictor, paraphraser=as_paraphraser(paraphraser),
        scorer=as_scorer(scorer), tagger=tagger, settings=settings,
        journal=journal or RunJournal(None, task=""), on_progress=on_progress,
        budget=Budget(settings.budget_seconds, clock, order=settings.order, began=began),
        text=text, known=known, on_known=on_known, before_search=before_search,
    )  # fmt: skip
    right = search.right()
    if settings.across != "any" and not right.models:
        raise UsageError(
            f"--across {settings.across} needs several models, and one is given",
            help="name several: --model every:SPEC,SPEC",
        )
    here, held = _split_right_rows(right, settings)
    searched, apart = right.part(here), search.held_out(right.part(held))
    outcome = (
        search_in_paper_order(search, searched)
        if settings.order == "paper"
        else MeaningFirst(search=search, right=searched, held_out=apart).run()
    )
    candidates = outcome.candidates
    on_progress("selecting rules", 0, len(candidates.passed))
    p_values = flip_p_values(
        candidates.counted, candidates.answers.flips, base_rate=outcome.base_rate,
        base_rows=outcome.base_rows, proposed_here=settings.order == "paper",
    )  # fmt: skip
    q_values = flip_q_values(candidates.counted, p_values)
    # The paper's selection, or with rules that surely flip more often than rewordings in general.
    certain = None if settings.order == "paper" else q_values <= CERTAIN
    outcome, coverage, scores, selection = _selected(search, outcome, searched, certain)
    candidates, closest = outcome.candidates, outcome.closest(outcome.candidates)
    scores = complete_scores(
        candidates.applications, candidates.passed[list(selection.rules)],
        scorer=search.remembered, scores=scores,
    )  # fmt: skip
    rules, held_out_flipped, held_out_unasked = found_rules(
        searched, candidates, selection=selection, scores=scores, tau=search.tau,
        q_values=q_values, held_out=apart,
    )  # fmt: skip
    texts = candidates.keep(candidates.passed).texts
    return Discovery(
        data=data, settings=settings, models=right.models, tau=search.tau, rules=rules,
        readers_forecast=settings.order == "meaning" and spread_of(search.scorer) is not None,
        collapsed=tuple(
            (texts[each.rule], texts[each.into], each.reason) for each in selection.collapsed
        ),
        closest=closest, known=outcome.known,
        near_rules=near_rules(
            searched.texts, outcome.near, closest, least=settings.flips(len(searched)),
            taken=[each.id for each in rules],
        ),
        cut_short=tuple(search.budget.reached),
        question_limit_reached=search.questions.left == 0
        or (right.asked < len(data.rows) and "rows" not in search.budget.reached)
        or (candidates.answers.cut and not search.budget.reached),
        base_rate=outcome.base_rate, base_rows=outcome.base_rows,
        funnel=_funnel(
            search, outcome, right, searched, coverage=coverage, selection=selection,
            held_out=len(held), held_out_flipped=held_out_flipped,
            held_out_unasked=held_out_unasked,
        ),
    )  # fmt: skip


def _funnel(
    search: Search,
    outcome: SearchOutcome,
    right: RightRows,
    searched: RightRows,
    *,
    coverage: Coverage,
    selection: RuleSelection,
    held_out: int,
    held_out_flipped: int | None,
    held_out_unasked: int,
) -> Funnel:
    candidates = outcome.candidates
    known = candidates.known[candidates.passed]
    too_long = getattr(search.paraphraser, "too_long", None)
    return Funnel(
        rows=len(search.data.rows), unasked=len(search.data.rows) - right.asked,
        right=len(right), held_out=held_out, searched=len(searched),
        too_long=0 if too_long is None else sum(too_long(searched.texts)),
        applications=len(candidates.applications),
        distinct_rewrites=len(np.unique(candidates.applications.rewrites)),
        passing=len(candidates.passed), collapsed=len(selection.collapsed),
        selected=len(selection.rules), without_place=len(selection.without_place),
        new_without_place=int((~known[list(selection.without_place)]).sum()),
        rows_flipped=int(coverage.covered(selection.rules).sum()),
        rows_flipped_with_inverses=int(coverage.covered(selection.with_inverses).sum()),
        held_out_flipped=held_out_flipped, held_out_unasked=held_out_unasked,
        questions=search.questions.asked, question_limit=search.questions.most, **outcome.counts,
    )  # fmt: skip


def _selected(
    search: Search, outcome: SearchOutcome, right: RightRows, certain: NDArray[np.bool_] | None
) -> tuple[SearchOutcome, Coverage, NDArray[np.float64], RuleSelection]:
    """The selected rules, with what the rules that pass cover and S of their flips.

    Known rules that flip too few rows only fill places that are left; where none is, they do not
    pass. ``certain``, bool (rules,), are rules that surely flip more often than rewordings do.
    """
    candidates, size = outcome.candidates, search.settings.rules

    def select_from(
        passing: Candidates, start: Sequence[int] = ()
    ) -> tuple[Coverage, NDArray[np.float64], RuleSelection]:
        coverage, across, scores = _covered(search, passing, right)
        surely = None if certain is None else certain[passing.passed]
        return coverage, scores, select(across, size, certain=surely, start=start)

    few = candidates.known & (candidates.flips < search.settings.known_flips(len(right)))
    enough = outcome.without(few)
    passed = enough.candidates.passed
    coverage, scores, selection = select_from(enough.candidates)
    if len(selection.rules) == size or len(passed) == len(candidates.passed):
        return enough, coverage, scores, selection
    start = np.searchsorted(candidates.passed, passed[list(selection.rules)]).tolist()
    return outcome, *select_from(candidates, start)


def _covered(
    search: Search, candidates: Candidates, right: RightRows
) -> tuple[Coverage, Coverage, NDArray[np.float64]]:
    """What rules that passed cover, of rows and of what they are selected by, and S of their flips.

    They are selected by rows or, across models, by rows and models.
    """
    settings, tau, flips = search.settings, search.tau, candidates.answers.flips
    passed = candidates.keep(candidates.passed)
    applications = passed.applications
    scores = complete_scores(
        applications, range(len(passed)), scorer=search.remembered, among=flips
    )
    # People accepted what known rules write, whatever S says.
    weights = np.where(candidates.trusted, 1.0, scores)
    coverage = coverage_of(
        passed.rules, passed.texts, applications, flips=flips, scores=weights, tau=tau,
        known=np.array([bool(each.source) and takes_place(each.rule) for each in passed.rows]),
        without_wider=settings.order != "paper",
    )  # fmt: skip
    if settings.across == "any":
        return coverage, coverage, scores
    entries = covering(applications, flips=flips, scores=weights, tau=tau)
    fails = fails_of_models(applications, right, flips)[applications.rewrites[entries]]
    shared, least = settings.across == "shared", settings.known_flips(len(right))
    return coverage, across_models(coverage, fails, shared=shared, least=least), scores


def _split_right_rows(right: RightRows, settings: Settings) -> tuple[Sequence[int], Sequence[int]]:
    """The right rows to find rules on, and those that are held out to measure the rules."""
    share = settings.share_held_out(len(right))
    if not share:
        return range(len(right)), ()
    to_search, held = hold_out(right.of_file, seed=settings.seed, share=share)
    if not len(to_search):
        raise DataError(
            f"all {len(right)} rows that the model gets right are held out; none is left to search",
            help="rows with the same text are held out together: add other rows, or --holdout 0",
        )
    return to_search.tolist(), held.tolist()
