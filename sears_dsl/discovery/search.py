"""A search for rules: who takes part, how far it is, and the stages that every order has.

In: the rows, the model, a source of paraphrases, a scorer, a tagger, settings; text, known rules.
Out: right rows, paraphrases, adversaries, each stage in its time and within the limit of questions.
Always holds: what is scored or paraphrased is in the journal; the model is asked through one
counter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.adversaries import ParaphraseFlips, find_adversaries
from sears_dsl.discovery.budget import Budget, Stage
from sears_dsl.discovery.candidates import Candidates
from sears_dsl.discovery.counts import Closest
from sears_dsl.discovery.filtering.corpus import Corpus
from sears_dsl.discovery.known_rules import KnownFlips, KnownRules
from sears_dsl.discovery.result.found import HeldOutRows
from sears_dsl.discovery.settings import Settings
from sears_dsl.effects.asked_model import Questions
from sears_dsl.effects.asking import Ask
from sears_dsl.effects.right_rows import RightRows
from sears_dsl.meaning.scorer import Scorer
from sears_dsl.models.predictor import Predictor
from sears_dsl.paraphrasing.remembered import (
    ParaphraseSource,
    RememberedScorer,
    remembered_paraphrases,
)
from sears_dsl.runtime.journal import RunJournal
from sears_dsl.tagging.tagger import Tagger


class SearchProgress(NamedTuple):
    """How far a stage is; ``total`` is None where nobody knows."""

    stage: str
    done: int
    total: int | None


OnSearchProgress = Callable[[SearchProgress], None]
OnKnown = Callable[[KnownFlips], None]
BeforeSearch = Callable[[RightRows], None]


# Pairs that a scorer gets at once: so many are a second of work or so, and so many half a minute.
_TIMED, _UNTIMED = 64, 1024
# Of a limit of questions what the rows themselves may take.
_OF_ROWS = 0.5


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
    on_progress: OnSearchProgress
    budget: Budget
    text: Sequence[str] = ()
    known: KnownRules | None = None
    on_known: OnKnown = lambda _: None
    before_search: BeforeSearch = lambda _: None
    remembered: RememberedScorer = field(init=False)
    questions: Questions = field(init=False)

    def __post_init__(self) -> None:
        self.remembered = RememberedScorer(
            self.scorer, self.journal, on_portion=self.shown("scoring rewordings")
        )
        self.questions = Questions()

    @cached_property
    def tau(self) -> float:
        """The threshold; the scorer's own is read late, since that loads it."""
        tau = self.settings.tau
        return self.scorer.tau if tau is None else tau

    def shown(self, stage: str) -> Callable[[int, int], None]:
        """What tells how far a stage is."""
        return lambda done, total: self.on_progress(SearchProgress(stage, done, total))

    def no_time(self, stage: Stage) -> Callable[[], bool]:
        """Whether a stage has to stop."""
        in_time = self.budget.stage(stage)
        return lambda: not in_time()

    @property
    def portion(self) -> int:
        """Pairs that the scorer gets at once: few where time is limited."""
        return _TIMED if self.budget.limited else _UNTIMED

    def right(self) -> RightRows:
        """The rows that the model has right, and from then on the limit of questions."""
        most = self.settings.max_questions
        self.questions.most = None if most is None else max(1, round(_OF_ROWS * most))
        right = RightRows(
            self.data,
            self.predictor,
            comparison=self.settings.comparison,
            in_time=self.budget.stage("rows") if self.budget.limited else None,
            on_progress=self.shown("asking the model"),
            questions=self.questions,
        )
        self.questions.most = self.settings.questions(len(right))
        return right

    def asker(self, right: RightRows, *, shown: str, stage: Stage) -> Ask:
        """Asks the model about right rows with other texts, while there is time."""
        in_time = self.budget.stage(stage) if self.budget.limited else None
        return lambda rows, texts: right.ask_in_time(
            rows, texts, in_time=in_time, on_progress=self.shown(shown)
        )

    def paraphrases(self, right: RightRows) -> tuple[list[list[str]], int]:
        """The paraphrases of each row, and how many rows there was no time for.

        One that lacks what has to stay in its row is none.
        """
        paraphrases = remembered_paraphrases(
            self.paraphraser,
            right.texts,
            self.journal,
            on_portion=self.shown("paraphrasing"),
            in_time=self.budget.stage("paraphrases"),
        )
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
        """Those paraphrases that flip the model and keep the meaning."""
        shown = "looking for adversaries"
        self.on_progress(SearchProgress(shown, 0, sum(map(len, paraphrases))))
        return find_adversaries(
            right, paraphrases, scorer=self.remembered, tau=self.tau,
            ask=self.asker(right, shown=shown, stage="answers"),
            stop=self.no_time("adversaries"), portion=self.portion, base=base,
        )  # fmt: skip

    def held_out(self, right: RightRows) -> HeldOutRows | None:
        """Right rows that take no part; None where there are none."""
        if not len(right):
            return None
        in_time = self.budget.stage("telling") if self.budget.limited else None
        return HeldOutRows(
            right, tagger=self.tagger, scorer=self.remembered, tau=self.settings.tau,
            in_time=in_time,
        )  # fmt: skip

    def corpus(self, held_out: HeldOutRows | None) -> Corpus:
        """The text on which rules are judged: no held-out row is in it."""
        self.on_progress(SearchProgress("reading text", 0, None))
        apart = frozenset(() if held_out is None else held_out.texts)
        return Corpus.of(self.data.texts, self.text, tagger=self.tagger, without=apart)


@dataclass(kw_only=True)
class SearchOutcome:
    """What one of the orders found.

    Attributes:
        candidates: rules that the model was asked about, and which of them pass.
        base_rate: how often a paraphrase that keeps the meaning flips its row.
        base_rows: how many rows that was counted on.
        counts: of the `Funnel`, what only this order knows.
    """

    candidates: Candidates
    base_rate: float
    base_rows: int
    counts: dict[str, Any]
    closest: tuple[Closest, ...] = ()
    known: KnownFlips | None = None
