"""Paraphrases and scores by several processes: the costly half of discovery on all cores.

Work is cut into portions by the texts alone, and one thread does each portion, so that any number
of processes gives the same answers, bit for bit. A sentence is translated once, whichever process
does it. Nothing is loaded before the first question, and then only what the recipe asks for. Each
process holds a copy of the models. Several processes of one thread do about twice the work of one
process of several threads here, since the arrays are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sears_dsl.defaults import BEAM_WIDTH, DEFAULT_SCORER
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.meaning import scorers
from sears_dsl.paraphrasing.memory import GROUP
from sears_dsl.runtime.interrupts import import_whole
from sears_dsl.runtime.processes import Children

if TYPE_CHECKING:
    from sears_dsl.judge.readings import Reading, Readings
    from sears_dsl.meaning.pivot_score import PivotScorer
    from sears_dsl.paraphrasing.paraphraser import Paraphrase, Paraphraser, SearchBounds
    from sears_dsl.translation.pivots import Pivot

# Pairs that are scored together: at least _PAIRS, and then the rest of the original's rewrites,
# since scorers read an original once for all of them; but at most _MOST_PAIRS.
_PAIRS, _MOST_PAIRS = 32, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to make a paraphraser, a scorer or both; it is sent to other processes."""

    pivots: tuple[str, ...] = ()  # names as `load_pivots` takes them; none for the embedded pair
    # A name as `load_scorer` takes it; None where somebody else scores
    scorer: str | None = DEFAULT_SCORER
    paraphrases: bool = True
    beam: int = BEAM_WIDTH
    # The threshold of the run; None for the scorer's own. The search uses it as well
    tau: float | None = None
    device: str = "cpu"
    readings: tuple[Reading, ...] = ()  # the user's own readings of rewrites, for the judge

    @property
    def translates(self) -> bool:
        """Whether translation models take part."""
        return self.paraphrases or scorers.translates(self.scorer)


class _Question(NamedTuple):
    """A question to a process, with the translations that are known already."""

    kind: str
    items: Sequence[Any]
    tau: float
    known: dict[str, tuple[str, ...]]


class Loaded(NamedTuple):
    """What the processes have loaded.

    ``name``, ``identity`` and ``tau`` are the scorer's; ``pivots`` are the identities of the
    translation models. ``search`` bounds the search besides its beam, None where nothing is
    reworded; ``threads`` are those of each process; ``readings`` are those that the judge knows.
    """

    name: str
    identity: str
    tau: float | None
    pivots: tuple[str, ...]
    search: SearchBounds | None
    threads: int
    readings: Readings | None


class _Reply(NamedTuple):
    """The answer, and the translations that it took."""

    answer: Any
    translations: dict[str, tuple[str, ...]]


class _Member:
    """What one process has loaded: each part is loaded when it is first asked for.

    Torch and transformers take seconds and hundreds of megabytes, so the parts import them.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    @cached_property
    def pivots(self) -> list[Pivot]:
        if not self._recipe.translates:
            return []
        from sears_dsl.translation.pivots import load_pivots  # noqa: PLC0415

        return load_pivots(self._recipe.pivots or None, device=self._recipe.device)

    @cached_property
    def scorer(self) -> scorers.Scorer | None:
        recipe = self._recipe
        if recipe.scorer is None:
            return None
        return scorers.load_scorer(
            recipe.scorer, pivots=self.pivots if scorers.translates(recipe.scorer) else None,
            tau=recipe.tau, device=recipe.device, readings=recipe.readings,
        )  # fmt: skip

    @cached_property
    def translator(self) -> PivotScorer | None:
        """Translates, and remembers translations, for the scorer and the search."""
        if not self.pivots:
            return None
        from sears_dsl.meaning.pivot_score import PivotScorer  # noqa: PLC0415

        scorer = self.scorer if scorers.translates(self._recipe.scorer) else None
        return scorer if isinstance(scorer, PivotScorer) else PivotScorer(self.pivots)

    @cached_property
    def paraphraser(self) -> Paraphraser | None:
        if not self._recipe.paraphrases:
            return None
        from sears_dsl.paraphrasing.paraphraser import Paraphraser  # noqa: PLC0415

        scorer = self.scorer if scorers.translates(self._recipe.scorer) else None
        # The threshold of a scorer that does not translate is none for the search.
        tau = scorers.shipped_numbers("pivot").tau if scorer is None else scorer.tau
        # What the search finds is scored again where it matters: where it flips the model.
        return Paraphraser(
            self.pivots, beam=self._recipe.beam, tau=tau, exact=False, scorer=self.translator
        )

    def reply(self, question: _Question) -> _Reply:
        with one_thread():
            if question.known and self.translator is not None:
                self.translator.remember(question.known)
            answer, sentences = self._answer(question)
            known = {} if self.translator is None else self.translator.remembered(sentences)
            return _Reply(answer, known)

    def _answer(self, question: _Question) -> tuple[Any, Sequence[str]]:
        """The answer, and the sentences that were translated for it."""
        items = question.items
        if question.kind == "about":
            return self._loaded(), ()
        if question.kind in ("too long", "paraphrase"):
            paraphraser = self.paraphraser
            if paraphraser is None:
                raise UsageError("this team rewords nothing", help="Recipe(paraphrases=True)")
            if question.kind == "too long":
                return paraphraser.too_long(items), ()
            sentences = [sentence for sentence, _ in items]
            forbidden = [words for _, words in items]
            return paraphraser.paraphrase(sentences, forbidden=forbidden), sentences
        scorer = self.scorer
        if scorer is None:
            raise UsageError("this team scores nothing", help="name a scorer in its Recipe")
        sentences = list(dict.fromkeys(original for original, _ in items))
        if question.kind == "scores":
            return scorer.scores(items), sentences
        if question.kind == "scores from":
            return scorers.scores_from(scorer, items, question.tau), sentences
        return scorer.at_least(items, question.tau), sentences

    def _loaded(self) -> Loaded:
        import torch  # noqa: PLC0415 - as above

        scorer, paraphraser = self.scorer, self.paraphraser
        return Loaded(
            name="none" if scorer is None else scorer.name,
            identity="none" if scorer is None else scorer.identity,
            tau=None if scorer is None else scorer.tau,
            pivots=tuple(
                model.identity for pivot in self.pivots for model in (pivot.forward, pivot.back)
            ),
            search=None if paraphraser is None else paraphraser.bounds,
            threads=torch.get_num_threads(),
            readings=getattr(scorer, "readings", None),
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Work in one thread, as children do: sums of floats depend on the number of threads."""
    import_whole("torch")
    import torch  # noqa: PLC0415 - as above

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def answerer(recipe: Recipe) -> Callable[[_Question], _Reply]:
    """What answers questions in a process."""
    return _Member(recipe).reply


class Team:
    """A paraphraser and a scorer in one, run by as many processes as there are ``jobs``.

    The first question calls ``on_loading``, starts the processes and has them load their models; a
    missing model is an error only then. With one job everything runs in this process, in one
    thread.
    """

    def __init__(
        self, recipe: Recipe, *, jobs: int = 1, on_loading: Callable[[], None] = lambda: None
    ) -> None:
        self.recipe = recipe
        self.jobs = jobs
        self._on_loading = on_loading
        self._known: dict[str, tuple[str, ...]] = {}
        self._children: Children | None = None
        # Called after each portion, of a second or ten, with the number of pairs scored so far.
        self.on_scored: Callable[[int], None] = lambda _: None

    @property
    def name(self) -> str:
        """The name of the scorer."""
        return self.loaded.name

    @property
    def identity(self) -> str:
        """The identity of the scorer."""
        return self.loaded.identity

    @property
    def tau(self) -> float:
        """The scorer's threshold."""
        if self.loaded.tau is None:
            raise UsageError("this team scores nothing", help="name a scorer in its Recipe")
        return self.loaded.tau

    @property
    def readings(self) -> Readings | None:
        """The readings of changes that the judge knows; None for another scorer."""
        return self.loaded.readings

    @cached_property
    def loaded(self) -> Loaded:
        """What the processes have loaded; asking loads it."""
        if not self.recipe.paraphrases and self.recipe.scorer is None:
            return Loaded("none", "none", None, (), None, 0, None)  # the user's parts do it all
        [about] = self._ask("about", [()])
        return cast("Loaded", about)

    @cached_property
    def _replies(self) -> Callable[[Iterable[_Question]], Iterator[_Reply]]:
        """What answers questions; the first use starts the processes."""
        self._on_loading()
        if self.jobs == 1:
            member = _Member(self.recipe)
            return lambda questions: map(member.reply, questions)
        self._children = Children(
            partial(answerer, self.recipe), jobs=self.jobs, error=ModelError,
            doing="translates" if self.recipe.translates else "scores",
        )  # fmt: skip
        return self._children.ask_each

    def paraphrase(self, sentences: Sequence[str]) -> list[list[Paraphrase]]:
        """The paraphrases of each sentence, best first."""
        return self.paraphrase_without([(sentence, ()) for sentence in sentences])

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[Paraphrase]]:
        """Each sentence's paraphrases without its forbidden words in any casing, best first."""
        distinct = sorted(set(sentences), key=lambda pair: (len(pair[0]), pair))
        groups = [distinct[first : first + GROUP] for first in range(0, len(distinct), GROUP)]
        return self._ask_in_portions("paraphrase", sentences, groups)

    def too_long(self, sentences: Sequence[str]) -> list[bool]:
        """Whether each text has a sentence that is not reworded, since it is too long."""
        [answer] = self._ask("too long", [sentences])
        return list(answer)

    def paraphrase_each(self, groups: Iterable[Sequence[str]]) -> Iterator[list[list[Paraphrase]]]:
        """The paraphrases of each group of sentences, in order."""
        return self._ask("paraphrase", ([(each, ()) for each in group] for group in groups))

    def scores(self, pairs: Sequence[scorers.Pair]) -> NDArray[np.float64]:
        """S of each pair."""
        return np.array(self._scored("scores", pairs), np.float64)

    def at_least(self, pairs: Sequence[scorers.Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S of each pair is at least τ."""
        return np.array(self._scored("at_least", pairs, tau=tau), np.bool_)

    def scores_from(self, pairs: Sequence[scorers.Pair], least: float) -> NDArray[np.float64]:
        """S of each pair, or 0 where it is below ``least``."""
        return np.array(self._scored("scores from", pairs, tau=least), np.float64)

    def close(self) -> None:
        """End the processes."""
        if self._children is not None:
            self._children.close()

    def _scored(self, kind: str, pairs: Sequence[scorers.Pair], *, tau: float = 0.0) -> list[Any]:
        distinct = sorted(set(pairs), key=lambda pair: (len(pair[0]), pair))
        portions = list(_portions(distinct))
        return self._ask_in_portions(kind, pairs, portions, tau=tau, on_answered=self.on_scored)

    def _ask_in_portions(
        self, kind: str, items: Sequence[Any], portions: Sequence[Sequence[Any]], *,
        tau: float = 0.0, on_answered: Callable[[int], None] = lambda _: None,
    ) -> list[Any]:  # fmt: skip
        """The answer to each item, asked in portions of distinct items."""
        by_item: dict[Any, Any] = {}
        answers = self._ask(kind, portions, tau=tau)
        for portion, answer in zip(portions, answers, strict=True):
            by_item.update(zip(portion, answer, strict=True))
            on_answered(len(by_item))
        return [by_item[item] for item in items]

    def _ask(
        self, kind: str, portions: Iterable[Sequence[Any]], *, tau: float = 0.0
    ) -> Iterator[Any]:
        questions = (
            _Question(kind, each, tau, self._translations(kind, each)) for each in portions
        )
        for reply in self._replies(questions):
            self._known.update(reply.translations)
            yield reply.answer

    def _translations(self, kind: str, portion: Sequence[Any]) -> dict[str, tuple[str, ...]]:
        """The known translations of a portion's sentences."""
        if kind == "too long":
            return {}
        return {text: self._known[text] for text, _ in portion if text in self._known}


def _portions(pairs: Sequence[scorers.Pair]) -> Iterator[list[scorers.Pair]]:
    """Sorted pairs in portions; those of one original stay together, up to `_MOST_PAIRS`."""
    portion: list[scorers.Pair] = []
    for pair in pairs:
        size = len(portion)
        if size >= _MOST_PAIRS or (size >= _PAIRS and pair[0] != portion[-1][0]):
            yield portion
            portion = []
        portion.append(pair)
    if portion:
        yield portion
