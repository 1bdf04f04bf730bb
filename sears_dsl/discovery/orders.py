"""The two orders of a search, meaning first and the paper's, and the stages that both have.

`MeaningFirst` needs only a few questions a row, since a rule has to keep the meaning on much text
before the model is asked about it, and its limit of questions leaves some for the held-out rows.
The paper's order asks the model about all paraphrases and candidates, and filters those that flip.
All scores and paraphrases go to the journal, and all questions to the model through one counter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.adversaries import (
    Adversary,
    ParaphraseFlips,
    find_adversaries,
    one_paraphrase_a_row,
)
from sears_dsl.discovery.candidates import CandidateRule, Candidates
from sears_dsl.discovery.closest import closest_rules, lacking
from sears_dsl.discovery.counts import HALF, NearMiss, change_of, nearly_enough
from sears_dsl.discovery.filtering.paper_filter import filter_candidates
from sears_dsl.discovery.filtering.text_filter import JUDGING, Corpus, RuleJudge, RuleJudgements
from sears_dsl.discovery.known_rules import KnownFlips, KnownRules, takes_place
from sears_dsl.discovery.proposing.changes import Rewording, single_changes
from sears_dsl.discovery.proposing.proposal import CONTEXT, propose, where_english
from sears_dsl.discovery.proposing.synonyms import propose_synonyms, without_listed
from sears_dsl.discovery.result.found_rules import HeldOutRows
from sears_dsl.discovery.selection import complete_scores, words_replaced
from sears_dsl.discovery.settings import Budget, Settings, Stage
from sears_dsl.effects.asked_model import OnStage, Questions
from sears_dsl.effects.flips import Ask, RightRows, RuleAnswers, ask_everything, ask_in_rounds
from sears_dsl.effects.lots import by_lot
from sears_dsl.language.rule import Literal, Rule, Text
from sears_dsl.meaning.scorers import Scorer, spread_of
from sears_dsl.models.predictor import Predictor
from sears_dsl.paraphrasing.memory import ParaphraseSource, RememberedScorer, remembered_paraphrases
from sears_dsl.runtime.database import RunJournal
from sears_dsl.statistics import wilson_interval
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, cut_contractions

OnKnown = Callable[[KnownFlips], None]
BeforeSearch = Callable[[RightRows], None]


# Pairs that a scorer gets at once: a second of work if time is limited, else half a minute.
_TIMED, _UNTIMED = 64, 1024


@dataclass(kw_only=True)
class Search:
    """Who takes part, and the stages that both orders share."""

    data: LabelledRows
    predictor: Predictor
    paraphraser: ParaphraseSource
    scorer: Scorer
    tagger: Tagger
    settings: Settings
    journal: RunJournal
    on_progress: OnStage
    budget: Budget
    text: Sequence[str] = ()
    known: KnownRules | None = None
    on_known: OnKnown = lambda _: None
    before_search: BeforeSearch = lambda _: None
    questions: Questions = field(init=False, default_factory=Questions)

    @cached_property
    def remembered(self) -> RememberedScorer:
        """The scorer, which asks about no pair twice."""
        shows = partial(self.on_progress, "scoring rewordings")
        return RememberedScorer(self.scorer, self.journal, on_portion=shows)

    @cached_property
    def tau(self) -> float:
        """The threshold; reading the scorer's own loads the scorer, so this is done late."""
        tau = self.settings.tau
        return self.scorer.tau if tau is None else tau

    def in_time(self, stage: Stage) -> Callable[[], bool] | None:
        """Whether a stage may go on; None where time is not limited."""
        return self.budget.stage(stage) if self.budget.limited else None

    @property
    def portion(self) -> int:
        """Pairs that the scorer gets at once: few where time is limited."""
        return _TIMED if self.budget.limited else _UNTIMED

    def right(self) -> RightRows:
        """The rows that the model has right; also sets the limit of questions from then on."""
        self.questions.most = self.settings.questions_for_rows
        right = RightRows(
            self.data, self.predictor, comparison=self.settings.comparison,
            in_time=self.in_time("rows"), questions=self.questions,
            on_progress=partial(self.on_progress, "asking about rows"),
        )  # fmt: skip
        self.questions.most = self.settings.questions(len(right))
        return right

    def asker(self, right: RightRows, *, shown: str, in_time: Callable[[], bool] | None) -> Ask:
        """What asks the model about right rows with other texts, while there is time."""
        shows = partial(self.on_progress, shown)
        return partial(right.ask_in_time, in_time=in_time, on_progress=shows)

    def paraphrases(self, right: RightRows) -> tuple[list[list[str]], int]:
        """The paraphrases of each row, and how many rows there was no time for.

        Paraphrases that lack what has to stay in their row are left out.
        """
        paraphrases = remembered_paraphrases(
            self.paraphraser, right.texts, self.journal,
            on_portion=partial(self.on_progress, "paraphrasing"),
            in_time=self.budget.stage("paraphrases"),
        )  # fmt: skip
        skipped, guards = sum(each is None for each in paraphrases), right.guards
        if guards is None:
            return [each or [] for each in paraphrases], skipped
        staying = [
            [text for text in each or () if guard.stays_in(text)]
            for each, guard in zip(paraphrases, guards.rows, strict=True)
        ]
        return staying, skipped

    def adversaries(
        self, right: RightRows, paraphrases: list[list[str]], *, base: bool = True
    ) -> ParaphraseFlips:
        """The paraphrases that flip the model and keep the meaning."""
        shown = "looking for adversaries"
        self.on_progress(shown, 0, sum(map(len, paraphrases)))
        return find_adversaries(
            right, paraphrases, scorer=self.remembered, tau=self.tau,
            ask=self.asker(right, shown=shown, in_time=self.in_time("answers")),
            in_time=self.budget.stage("adversaries"), portion=self.portion, base=base,
            on_portion=partial(self.on_progress, "judging flips"),
        )  # fmt: skip

    def held_out(self, right: RightRows) -> HeldOutRows | None:
        """Right rows that take no part; None where there are none."""
        if not len(right):
            return None
        return HeldOutRows(
            right=right, tagger=self.tagger, scorer=self.remembered,
            in_time=self.in_time("telling"),
        )  # fmt: skip

    def corpus(self, held_out: HeldOutRows | None) -> Corpus:
        """The text on which rules are judged: no held-out row is in it."""
        self.on_progress("reading text", 0, None)
        apart = frozenset(() if held_out is None else held_out.right.texts)
        return Corpus.of(self.data.texts, self.text, tagger=self.tagger, without=apart)


@dataclass(kw_only=True)
class SearchOutcome:
    """What one of the orders found."""

    candidates: Candidates  # rules that the model was asked about, and which of them pass
    base_rate: float  # how often a rewording that keeps the meaning flips its row
    base_rows: int  # how many rows that was counted on
    counts: dict[str, Any]  # the counts of the `Funnel` that only the order knows
    # The rules that lacked least, given the candidates and which of them pass
    closest: Callable[[Candidates], tuple[NearMiss, ...]] = lambda candidates: ()
    # Rules that text did not let pass and that the model was asked about though; those may be
    # reported that pass here
    near: Candidates = field(default_factory=lambda: Candidates(()))
    known: KnownFlips | None = None

    def without(self, few: NDArray[np.bool_]) -> SearchOutcome:
        """The outcome where these rules, bool (rules,), flip too few rows to pass."""
        passed = self.candidates.passed
        enough = passed[~few[passed]]
        with_enough_flips = self.counts["with_enough_flips"] - (len(passed) - len(enough))
        return replace(
            self, candidates=replace(self.candidates, passed=enough),
            counts={**self.counts, "with_enough_flips": with_enough_flips},
        )  # fmt: skip


# Shares of the questions that are left: what known rules may take, what may be asked about rules
# before they are narrowed, and what is kept at most to measure rules on held-out rows.
_OF_KNOWN, _OF_NARROWING, _OF_HELD_OUT = 0.25, 0.15, 0.3
# So many rules that nearly enough readers accept are asked about, since a larger δ is worth it only
# for those that flip; so many that too little text has; and so many of those that are doubted, and
# whose mean S is above this.
_MOST_NEAR, _MOST_RARE, _MOST_DOUBTED = 150, 60, 250
_LEAST_DOUBTED = 0.15


@dataclass(kw_only=True)
class MeaningFirst:
    """Asks about rules that keep the meaning on text, and about known ones before all others."""

    search: Search
    right: RightRows  # the searched rows
    held_out: HeldOutRows | None

    def __post_init__(self) -> None:
        self.settings, self.questions = self.search.settings, self.search.questions
        self.tagger = self.search.tagger
        self.tokens = cut_contractions(self.tagger.tag(self.right.texts))
        self.least = self.settings.flips(len(self.right))  # rows that a new rule has to flip

    def run(self) -> SearchOutcome:
        """All stages in their order."""
        known = self._try_known_rules()
        self.search.before_search(self.right)
        paraphrases, skipped = self.search.paraphrases(self.right)
        base_rate, base_rows = self._base_rate(paraphrases, known)
        changes = self._changes(paraphrases)
        corpus = self.search.corpus(self.held_out)
        judgements = self._judged(changes, corpus)
        accepted = self._known_rules()
        same = {text for row, text in zip(accepted.rows, accepted.texts, strict=True)
                if takes_place(row.rule)}  # fmt: skip
        tried = self._ask_about_rules(
            judgements.passed.without(same).joined_to(accepted),
            held_out=self.held_out, base_rate=base_rate,
        )  # fmt: skip
        enough = tried.flips >= self._least_flips(tried)
        _, high = wilson_interval(tried.flips, tried.counted.changed)
        often = high >= self._least_rates(tried, base_rate)
        tried = replace(tried, passed=np.flatnonzero(enough & often))
        # Where others were not asked about to the end, no time or question is left over for these.
        failed = Candidates(()) if tried.answers.cut else judgements.failed
        near = self._ask_though_refused(failed, base_rate=base_rate)
        return SearchOutcome(
            candidates=tried, base_rate=base_rate, base_rows=base_rows, known=known, near=near,
            closest=lambda candidates: self._with_changed(
                closest_rules(candidates, often, judgements.failed, near, self.least,
                              nearly=nearly_enough(self.settings.delta)),
                judgements.failed,
            ),
            counts={
                "known": 0 if known is None else known.acting, "skipped": skipped,
                "paraphrases": sum(map(len, paraphrases)), "candidates": len(changes),
                "listed": sum(each.scope is not None for each in changes.rows),
                "texts": len(corpus.tokens), "judged": len(changes) - judgements.too_few,
                "narrowed": sum(each.narrowed for each in judgements.passed.rows),
                "keep_meaning": len(judgements.passed),
                "not_asked": int((~tried.answers.complete).sum()) if tried.answers.cut else 0,
                "with_enough_flips": int(enough.sum()),
                "pairs_scored": judgements.decisions, "undecided": judgements.undecided,
            },
        )  # fmt: skip

    def _try_known_rules(self) -> KnownFlips | None:
        """What known rules do to the rows; reported after each round of questions."""
        known, search = self.search.known, self.search
        if known is None:
            return None
        shown = "trying known rules"
        search.on_progress(shown, 0, None)
        applications = known.apply(self.tokens, guards=self.right.guards)

        def flips_of(answers: RuleAnswers) -> KnownFlips:
            return KnownFlips(
                known=known, applications=applications.where(answers.counted),
                flips=answers.flips, right=self.right,
                acting=int((applications.changed > 0).sum()),
                not_asked=int((~answers.complete).sum()) if answers.cut else 0,
            )  # fmt: skip

        with self.questions.at_most(self.questions.share(_OF_KNOWN)):
            answers = ask_in_rounds(
                applications, self.right,
                search.asker(self.right, shown=shown, in_time=search.in_time("known")),
                minimum_flips=1, seed=self.settings.seed,
                on_round=lambda some: search.on_known(flips_of(some)),
            )  # fmt: skip
        return flips_of(answers)

    def _base_rate(
        self, paraphrases: Sequence[Sequence[str]], known: KnownFlips | None
    ) -> tuple[float, int]:
        """How often a rewording that keeps the meaning flips its row, and on how many rows.

        One rewording a row counts: a random rewrite by a known rule, or else a paraphrase.
        """
        search, right = self.search, self.right
        in_time = search.in_time("adversaries")  # one end, for scores and for questions
        drawn: dict[int, str] = {}
        if known is not None:
            applications = known.applications
            written = np.unique(applications.rewrites)
            order = by_lot([applications.texts[each] for each in written], "base")
            drawn = {
                int(applications.rows[each]): applications.texts[each]
                for each in written[order].tolist()
            }
        search.on_progress("judging paraphrases", 0, None)
        drawn |= dict(
            one_paraphrase_a_row(
                right,
                [(row, text) for row, some in enumerate(paraphrases) if row not in drawn
                 for text in some],
                scorer=search.remembered, tau=search.tau, in_time=in_time or (lambda: True),
                portion=search.portion,
            )
        )  # fmt: skip
        ask = search.asker(right, shown="asking about paraphrases", in_time=in_time)
        places = [place for place in by_lot(right.texts, "base").tolist() if place in drawn]
        answers = ask(places, [drawn[place] for place in places])
        answer_count = sum(answer is not None for answer in answers)
        return int(right.flips(places, answers).sum()) / max(1, answer_count), answer_count

    def _changes(self, paraphrases: list[list[str]]) -> Candidates:
        """The changes of words in paraphrases, and those that readers accepted, without contexts.

        Insertions name a neighbouring word, since they have to go somewhere.
        """
        self.search.on_progress("proposing rules", 0, None)
        rewordings = single_changes(self.right.texts, paraphrases, tagger=self.tagger)
        share = self.least / max(1, len(self.right))
        share = min(1.0, max(share, self.settings.minimum_frequency))
        plain, beside = (
            propose(rewordings, self.tokens, tagger=self.tagger, context=context,
                    minimum_frequency=share, accepts=accepts)
            for context, accepts in ((0, _may_be_proposed), (1, _inserts_words))
        )  # fmt: skip
        changes = plain.joined_to(beside)
        if self.tagger.language != "en":
            return changes
        mined = Candidates(
            tuple(replace(each, rule=where_english(each.rule)) for each in changes.rows)
        )
        if spread_of(self.search.scorer) is None:
            # Only a scorer that knows what readers accepted can tell where they would not.
            return mined
        listed = propose_synonyms(self.tokens, tagger=self.tagger, least=self.least)
        return without_listed(mined, listed).joined_to(listed)

    def _judged(self, changes: Candidates, corpus: Corpus) -> RuleJudgements:
        """Which changes keep the meaning on text, narrowed where they have to be."""
        search = self.search
        search.on_progress(JUDGING, 0, len(changes))
        in_time = search.in_time("judging")  # one end, for scores and for questions
        ask = search.asker(self.right, shown="asking about rules", in_time=in_time)

        def acts_enough(candidates: Candidates) -> NDArray[np.bool_]:
            return self._apply(candidates).applications.changed >= self.least

        return RuleJudge(
            corpus, scorer=search.remembered.quietly(), tau=search.tau,
            delta=self.settings.delta, spread=spread_of(search.scorer),
            worth_narrowing=partial(self._may_flip_enough, ask), supported=acts_enough,
            in_time=in_time or (lambda: True), portion=search.portion,
            on_progress=search.on_progress,
        ).judge_rules(changes)  # fmt: skip

    def _may_flip_enough(self, ask: Ask, candidates: Candidates) -> NDArray[np.bool_]:
        """Which rules may flip enough rows, as far as few questions tell.

        A narrower rule flips no more, up to rows in which it acts at another place.
        """
        self.search.on_progress("applying rules", 0, len(candidates))
        applied = self._apply(candidates)
        with self.questions.at_most(self.questions.share(_OF_NARROWING)):
            answers = ask_in_rounds(
                applied.applications, self.right, ask, minimum_flips=self.least, until=self.least,
                seed=self.settings.seed,
            )  # fmt: skip
        applied = replace(applied, answers=answers)
        unasked = applied.applications.changed - applied.counted.changed
        return np.asarray(applied.flips + unasked >= self.least)

    def _known_rules(self) -> Candidates:
        """The known rules that a found file can hold."""
        known = self.search.known
        rules = () if known is None else (
            CandidateRule(known.rules[each], source=known.sources[each], scope=known.scopes[each],
                          name=known.ids[each])
            for each in np.flatnonzero(known.writable).tolist()
        )  # fmt: skip
        return Candidates(tuple(rules))

    def _ask_about_rules(
        self, candidates: Candidates, *, held_out: HeldOutRows | None, base_rate: float
    ) -> Candidates:
        """Ask the model about those rules that act in enough rows."""
        search, settings = self.search, self.settings
        search.on_progress("applying rules", 0, len(candidates))
        active = self._apply(candidates)
        least = self._least_flips(active)
        enough = np.flatnonzero(active.applications.changed >= least)
        active, least = active.keep(enough), least[enough]
        spare = self.questions.left
        if held_out is not None and spare is not None:
            most = np.sort(held_out.count_changed(active))[::-1][: settings.rules]
            spare -= min(int(most.sum()), round(_OF_HELD_OUT * spare))
        with self.questions.at_most(spare):
            answers = ask_in_rounds(
                active.applications, self.right,
                search.asker(self.right, shown="asking about rules",
                             in_time=search.in_time("rules")),
                minimum_flips=least, base_rate=self._least_rates(active, base_rate),
                seed=settings.seed,
            )  # fmt: skip
        return replace(active, answers=answers)

    def _ask_though_refused(self, failed: Candidates, *, base_rate: float) -> Candidates:
        """Ask about rules that nearly enough readers accept: they are reported, but not found.

        Readers surely reject less than half of their rewrites, and at most four times as many as δ
        allows; or there is too little text to judge them, which says nothing against them. Rules
        that readers may reject more often are reported if most of their rows surely flip: the judge
        may be wrong. Of rules that make the same change under several conditions, the best is asked
        about. They get only questions that neither other rules nor held-out rows can need.
        """
        lows = np.array([each.judged.low if each.judged else 0.0 for each in failed.rows])
        support = np.array([each.support for each in failed.rows], np.int64)
        of_change: dict[tuple[str, str], int] = {}
        for rule in np.lexsort((-support, -lows)).tolist():
            of_change.setdefault(change_of(failed.texts[rule]), rule)
        best = np.array(list(of_change.values()), np.int64)
        rare, doubted = lacking(failed)[best] == "text", self._are_doubted(failed)[best]
        means = np.array([each.judged.mean_score if each.judged else 0.0 for each in failed.rows])
        by_mean = best[doubted][np.argsort(-means[best[doubted]], kind="stable")]
        near = failed.keep(np.concatenate([
            best[~rare & ~doubted][:_MOST_NEAR], best[rare][:_MOST_RARE],
            by_mean[means[by_mean] > _LEAST_DOUBTED][:_MOST_DOUBTED],
        ]))  # fmt: skip
        left, most = self.questions.left, self.questions.most
        spare = None if left is None or most is None else left - round(_OF_HELD_OUT * most)
        with self.questions.at_most(spare):
            near = self._ask_about_rules(near, held_out=None, base_rate=base_rate)
        # What no text has judged is judged where it flips.
        unjudged, flips = lacking(near) == "text", near.answers.flips
        scores = complete_scores(
            near.applications, np.flatnonzero(unjudged), scorer=self.search.remembered, among=flips
        )
        keeping = near.counted.count(flips & (scores >= self.search.tau))
        enough = keeping >= np.minimum(near.flips, self.least)
        flip_share, _ = wilson_interval(near.flips, near.counted.changed)
        most_flip = ~self._are_doubted(near) | (flip_share > HALF)
        return replace(near, passed=np.flatnonzero(np.where(unjudged, enough, most_flip)))

    def _are_doubted(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Whether readers may reject more of each rule's rewrites than is nearly enough."""
        delta = self.settings.delta
        verdicts = (each.judged for each in candidates.rows)
        return np.array([each is not None and each.is_doubted(delta) for each in verdicts], bool)

    def _least_rates(self, candidates: Candidates, base_rate: float) -> NDArray[np.float64]:
        """The share of its rows that each rule has to flip.

        A rule that flips more rarely than rewordings do is no new rule, however many rows it flips:
        what flips may be the rewordings among its rewrites. People accepted those of a known rule.
        """
        of_new = np.where(self._are_doubted(candidates), HALF, base_rate)
        return np.where(candidates.known, 0.0, of_new)

    def _with_changed(self, misses: Sequence[NearMiss], failed: Candidates) -> tuple[NearMiss, ...]:
        """The rules with how many rows they change, also those that nobody was asked about."""
        places = {text: place for place, text in enumerate(failed.texts)}
        unasked = [each.rule for each in misses if not each.asked and each.rule in places]
        applied = self._apply(failed.keep([places[rule] for rule in unasked]))
        changed = dict(zip(unasked, applied.applications.changed.tolist(), strict=True))
        return tuple(replace(each, changed=changed.get(each.rule, each.changed)) for each in misses)

    def _least_flips(self, candidates: Candidates) -> NDArray[np.int64]:
        """How many rows each rule has to flip to get a place at all: int64 (rules,)."""
        return np.where(candidates.known, self.settings.fewest_known_flips, self.least)

    def _apply(self, candidates: Candidates) -> Candidates:
        return candidates.apply(self.tokens, tagger=self.tagger, guards=self.right.guards)


_HANDLE = re.compile(r"@\w|https?:|www\.", re.IGNORECASE)


def _may_be_proposed(rule: Rule) -> bool:
    """Whether a rule names in words all that it replaces, so that its text says what is lost.

    Rules that write dots for the end of a sentence are left out: readers find that they change the
    tone. So are rules about a handle or a link, which say nothing of other texts.
    """
    old = [each.body.text for each in rule.antecedent if isinstance(each.body, Literal)]
    new = "".join(each.text for each in rule.consequent if isinstance(each, Text))
    writes_dots = not {".", "!", "?"}.isdisjoint(old) and (".." in new or "…" in new)
    is_about_one = any(_HANDLE.match(word) for word in old)
    return len(old) == len(rule.antecedent) and not (writes_dots or is_about_one)


def _inserts_words(rule: Rule) -> bool:
    """Whether a rule only adds words, beside a word that stays: beside a tag they fit nowhere."""
    return len(rule.antecedent) == 1 and _may_be_proposed(rule) and not words_replaced(rule)


def search_in_paper_order(search: Search, right: RightRows) -> SearchOutcome:
    """Ask about all paraphrases and all rules, and filter those that flip by S."""
    settings = search.settings
    tokens = cut_contractions(search.tagger.tag(right.texts))
    search.before_search(right)
    paraphrases, skipped = search.paraphrases(right)
    flips = search.adversaries(right, paraphrases)
    candidates = _candidates(search, right, paraphrases, flips.adversaries, tokens)
    search.on_progress("applying rules", 0, len(candidates))
    candidates = candidates.apply(tokens, tagger=search.tagger, guards=right.guards)
    applications = candidates.applications

    # Where time is limited, those that promise most come first.
    order = (
        _most_promising(candidates) if search.budget.limited else np.arange(len(applications.texts))
    )
    ask = search.asker(right, shown="asking about rewrites", in_time=search.in_time("rules"))
    candidates = replace(candidates, answers=ask_everything(applications, right, ask, order))
    filtered = filter_candidates(
        candidates.counted, candidates.answers.flips, scorer=search.remembered, tau=search.tau,
        delta=settings.delta, minimum_flips=settings.flips(len(right)), batch=search.portion,
        in_waves=search.budget.limited, in_time=search.budget.stage("filter"),
        progress=partial(search.on_progress, "scoring rules"),
    )  # fmt: skip
    return SearchOutcome(
        candidates=replace(candidates, passed=filtered.passed),
        base_rate=flips.base_rate, base_rows=flips.base_rows,
        counts={
            "skipped": skipped, "paraphrases": flips.paraphrases, "candidates": len(candidates),
            "adversaries": len(flips.adversaries),
            "rows_with_adversary": len({each.row for each in flips.adversaries}),
            "not_asked": int((~candidates.answers.complete).sum()),
            "with_enough_flips": int((filtered.flips >= settings.flips(len(right))).sum()),
            "pairs_scored": filtered.asked,
            "pairs_without_stopping": filtered.without_stopping,
            "undecided": len(filtered.undecided),
        },
    )  # fmt: skip


def _candidates(
    search: Search,
    right: RightRows,
    paraphrases: list[list[str]],
    adversaries: Sequence[Adversary],
    tokens: Tokens,
) -> Candidates:
    """The rules that generalize adversaries, or the changes of all paraphrases."""
    settings = search.settings
    search.on_progress("proposing rules", 0, None)
    rewordings = dict.fromkeys(Rewording(right.texts[each.row], each.text) for each in adversaries)
    flipping = len(rewordings)
    if settings.propose_from == "paraphrases":
        rewordings |= dict.fromkeys(single_changes(right.texts, paraphrases, tagger=search.tagger))
    candidates = propose(
        list(rewordings), tokens, tagger=search.tagger, context=CONTEXT,
        minimum_frequency=settings.minimum_frequency,
    )  # fmt: skip
    # What flips nothing where it was proposed has to be proposed more than once.
    sources = [each.sources for each in candidates.rows]
    return candidates.keep(
        [rule for rule, of in enumerate(sources) if of[0] < flipping or len(of) > 1]
    )


def _most_promising(candidates: Candidates) -> NDArray[np.int64]:
    """The rewrites rule by rule, those that many rewordings proposed first, then those on few rows.

    They go by rule, since a rule counts only if the model was asked about all that it writes.
    """
    applications = candidates.applications
    sources = np.array([len(each.sources) for each in candidates.rows], np.int64)
    order = np.lexsort((applications.changed, -sources))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    first = np.full(len(applications.texts), len(order), np.int64)
    np.minimum.at(first, applications.rewrites, ranks[applications.rules])
    return np.argsort(first, kind="stable")
