"""What a search will cost: questions to the model, and minutes.

A `SearchEstimate` is made from the rows to be searched, the time that the model took so far, and
the team that rewords. Nothing is asked, and nothing is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from sears_dsl.paraphrasing.prompted import PAIRS_A_ROW

if TYPE_CHECKING:
    from sears_dsl.effects.flips import RightRows
    from sears_dsl.models.cached import CachedPredictor
    from sears_dsl.paraphrasing.team import Team

_MOST_MINUTES, _MOST_QUESTIONS, _MOST_REQUESTS = 20, 50_000, 2_000
# Sentences of some twenty words that one process rewords in a second with a beam of 30
# (benchmarks/record, paraphrasing); pairs that a process judges in a second (docs/discovery.md, a
# worked example: 45 s where paraphrases took 58); seconds that loading the models takes.
_SENTENCES_A_SECOND = 2.8
_WORDS_A_SENTENCE = 20
_BEAM = 30
_PAIRS_A_SECOND = 140
_LOADING = 10.0
# Questions that the paper's order asks for each searched row.
_QUESTIONS_WITHOUT_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class SearchEstimate:
    """What a search will take: at most so many questions, or about so many if not ``limited``."""

    questions: int
    limited: bool
    minutes: float

    def __str__(self) -> str:
        """One line for people."""
        minutes = "a minute" if self.minutes < 1.5 else f"{ceil(self.minutes):,} minutes"
        # Those about the rows and known rules are over.
        many = f"{'at most' if self.limited else 'some'} {self.questions:,} more questions"
        return f"the search will take about {minutes} on an idle machine and ask the model {many}"

    def wants_an_answer(self, *, requests: int) -> bool:
        """Whether a person at a terminal is asked before the search goes on."""
        return (
            self.minutes > _MOST_MINUTES
            or self.questions > _MOST_QUESTIONS
            or requests > _MOST_REQUESTS
        )


def estimate_search(right: RightRows, predictor: CachedPredictor, team: Team) -> SearchEstimate:
    """What a search of these rows will take from now on, judged by the model's time so far."""
    texts, most, recipe = right.texts, right.questions.most, team.recipe
    questions = _QUESTIONS_WITHOUT_LIMIT * len(texts)
    if most is not None:
        questions = max(0, most - right.questions.asked)
    sentences = sum(max(1.0, len(text.split()) / _WORDS_A_SENTENCE) for text in texts)
    seconds = _LOADING + questions * predictor.seconds / max(1, predictor.asked)
    if recipe.paraphrases:
        seconds += sentences / (_SENTENCES_A_SECOND * team.jobs) * (0.5 + 0.5 * recipe.beam / _BEAM)
    seconds += PAIRS_A_ROW * len(texts) / (_PAIRS_A_SECOND * team.jobs)
    return SearchEstimate(questions, most is not None, seconds / 60)
