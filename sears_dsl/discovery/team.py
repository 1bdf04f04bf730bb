"""Paraphrases and scores by several processes: the costly half of discovery on all cores.

In: a `Recipe`, then sentences and pairs as a paraphraser and a scorer take them. Out: the same
answers. Always holds: work is cut into portions by the texts alone, and each is done by one thread,
so that any number of processes gives the same answers, bit for bit; a sentence is translated once,
whichever process did it. Costs a copy of the models for each process. Several processes of one
thread each do about twice the work of one process of several threads here: the arrays are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sears_dsl._children import Children
from sears_dsl.discovery.combined import CombinedScorer
from sears_dsl.discovery.paraphrase import Paraphrase, Paraphraser, SearchBounds
from sears_dsl.discovery.pivots import load_pivots
from sears_dsl.discovery.remembered import GROUP
from sears_dsl.discovery.scorers import load_scorer, search_tau
from sears_dsl.discovery.semantics import PivotScorer, Scorer
from sears_dsl.discovery.strict import StrictScorer
from sears_dsl.errors import ModelError

__all__ = ["Recipe", "Team", "load_team"]

Pair = tuple[str, str]

# Pairs that are scored together.
_PAIRS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to make a paraphraser and a scorer; goes to other processes.

    Attributes:
        pivots: names as `load_pivots` takes them; none for the embedded pair.
        scorer: a name as `load_scorer` takes it.
        beam: prefixes that the search keeps.
        tau: the threshold of the run; None for the scorer's own. The search follows it.
        floor: of the scorer ``strict``; None for the shipped one.
        device: where to compute.
    """

    pivots: tuple[str, ...] = ()
    scorer: str = "strict"
    beam: int = 30
    tau: float | None = None
    floor: float | None = None
    device: str = "cpu"

    def build(self) -> _Member:
        """Load everything."""
        pivots = load_pivots(self.pivots or None, device=self.device)
        scorer = load_scorer(
            self.scorer, pivots=pivots, tau=self.tau, floor=self.floor, device=self.device
        )
        inner = scorer.pivot if isinstance(scorer, (CombinedScorer, StrictScorer)) else scorer
        through = inner if isinstance(inner, PivotScorer) else PivotScorer(pivots)
        # What the search finds is scored again where it matters: where it flips the model.
        paraphraser = Paraphraser(
            pivots, beam=self.beam, tau=search_tau(scorer), exact=False, scorer=through
        )
        names = tuple(model.identity for pivot in pivots for model in (pivot.forward, pivot.back))
        return _Member(paraphraser, scorer, through, names)


class _Question(NamedTuple):
    """What a process is asked, with the translations that are known already."""

    kind: str
    items: Sequence[Any]
    tau: float
    known: dict[str, tuple[str, ...]]


class _About(NamedTuple):
    """What was loaded."""

    name: str
    identity: str
    tau: float
    pivots: tuple[str, ...]
    search: SearchBounds
    threads: int


class _Reply(NamedTuple):
    """The answer, and the translations that it took."""

    answer: Any
    translations: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Member:
    """Everything loaded, in one process."""

    paraphraser: Paraphraser
    scorer: Scorer
    through: PivotScorer
    pivots: tuple[str, ...]

    def reply(self, question: _Question) -> _Reply:
        with _one_thread():
            return self._reply(question)

    def _reply(self, question: _Question) -> _Reply:
        self.through.remember(question.known)
        items = question.items
        answer: Any
        sentences: list[str] = []
        if question.kind == "about":
            scorer = self.scorer
            answer = _About(
                scorer.name, scorer.identity, scorer.tau, self.pivots, self.paraphraser.bounds,
                torch.get_num_threads(),
            )  # fmt: skip
        elif question.kind == "too long":
            answer = self.paraphraser.too_long(items)
        elif question.kind == "paraphrase":
            answer, sentences = self.paraphraser.paraphrase(items), list(items)
        else:
            sentences = list(dict.fromkeys(original for original, _ in items))
            if question.kind == "scores":
                answer = self.scorer.scores(items)
            else:
                answer = self.scorer.at_least(items, question.tau)
        return _Reply(answer, self.through.remembered(sentences))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums of floats depend on how many threads share them; a child has one, so has everybody."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def answering(recipe: Recipe) -> Callable[[_Question], _Reply]:
    """Make a process ready."""
    return recipe.build().reply


class Team:
    """A paraphraser and a scorer in one, by as many processes as there are jobs.

    Args:
        recipe: what each process loads.
        jobs: how many processes; 1 does everything in this one, by one thread.

    Attributes:
        name: of the scorer.
        identity: of the scorer.
        tau: the scorer's threshold.
        pivots: identities of the translation models.
        beam: prefixes that the search keeps.
        search: the other bounds of the search.
        device: where the processes compute.
        threads: how many threads each of them has.
    """

    def __init__(self, recipe: Recipe, *, jobs: int) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self._member = recipe.build() if jobs == 1 else None
        self._children = None
        if jobs > 1:
            ready = f"{__name__}:{answering.__name__}"
            self._children = Children(
                ready, (recipe,), jobs=jobs, error=ModelError, doing="translates"
            )
        [about] = self._ask("about", [()])
        self.name: str = about.name
        self.identity: str = about.identity
        self.tau: float = about.tau
        self.pivots: tuple[str, ...] = about.pivots
        self.beam = recipe.beam
        self.search: SearchBounds = about.search
        self.device = recipe.device
        self.threads: int = about.threads

    def paraphrase(self, sentences: Sequence[str]) -> list[list[Paraphrase]]:
        """The paraphrases of each sentence, best first."""
        distinct = sorted(set(sentences), key=lambda text: (len(text), text))
        groups = [distinct[first : first + GROUP] for first in range(0, len(distinct), GROUP)]
        found = {
            text: paraphrases
            for group, answer in zip(groups, self.paraphrase_each(groups), strict=True)
            for text, paraphrases in zip(group, answer, strict=True)
        }
        return [found[text] for text in sentences]

    def too_long(self, sentences: Sequence[str]) -> list[bool]:
        """Whether some sentence of each text is not reworded, since it is too long."""
        [answer] = self._ask("too long", [sentences])
        return list(answer)

    def paraphrase_each(self, groups: Iterable[Sequence[str]]) -> Iterator[list[list[Paraphrase]]]:
        """The paraphrases of each group of sentences, in order."""
        return self._ask("paraphrase", groups)

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """S of each pair."""
        return np.array(self._scored("scores", pairs), np.float64)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S of each pair is at least τ."""
        return np.array(self._scored("at_least", pairs, tau=tau), np.bool_)

    def close(self) -> None:
        """End the processes."""
        if self._children is not None:
            self._children.close()

    def _scored(self, kind: str, pairs: Sequence[Pair], *, tau: float = 0.0) -> list[float]:
        distinct = sorted(set(pairs), key=lambda pair: (len(pair[0]), pair))
        portions = [distinct[first : first + _PAIRS] for first in range(0, len(distinct), _PAIRS)]
        answers = self._ask(kind, portions, tau=tau)
        found = {
            pair: value
            for portion, answer in zip(portions, answers, strict=True)
            for pair, value in zip(portion, answer.tolist(), strict=True)
        }
        return [found[pair] for pair in pairs]

    def _ask(
        self, kind: str, portions: Iterable[Sequence[Any]], *, tau: float = 0.0
    ) -> Iterator[Any]:
        questions = (_Question(kind, portion, tau, self._of(kind, portion)) for portion in portions)
        if self._member is not None:
            replies: Iterator[_Reply] = map(self._member.reply, questions)
        elif self._children is not None:
            replies = self._children.ask_each(questions)
        for reply in replies:
            self._known.update(reply.translations)
            yield reply.answer

    def _of(self, kind: str, portion: Sequence[Any]) -> dict[str, tuple[str, ...]]:
        """The known translations of a portion's sentences."""
        if kind == "too long":
            return {}
        sentences = portion if kind == "paraphrase" else [original for original, _ in portion]
        return {text: self._known[text] for text in sentences if text in self._known}


def load_team(recipe: Recipe, *, jobs: int = 1) -> Team:
    """Load the models, here or in several processes.

    Args:
        recipe: what to load.
        jobs: how many processes; 1 does everything in this one.

    Raises:
        ModelError: a model is not installed.

    Example:
        >>> team = load_team(Recipe(scorer="pivot", beam=4))
        >>> [bool(same) for same in team.at_least([("Good movie!", "Good film!")], team.tau)]
        [True]
    """
    return Team(recipe, jobs=jobs)
