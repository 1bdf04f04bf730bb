"""A memory of scores and paraphrases, so that a resumed run does not compute them again.

What is not in the journal yet is asked in an order and in portions that depend on the texts alone.
Each portion is written to the journal as soon as it is answered, so that a killed run loses only
those in progress. A look-up adds some microseconds a pair to the cost of the scorer.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import HALF_CHARACTER, UsageError
from sears_dsl.meaning.scorers import Pair, Scorer, scores_from
from sears_dsl.paraphrasing.restoring import whole_word
from sears_dsl.runtime.database import RunJournal

OnPortion = Callable[[int, int], None]
"""Called with the number of items that are done and the number of all."""

GROUP = 16
"""Sentences that are searched together, however many the caller asks about."""

# Pairs and sentences of a portion. A thousand pairs take seconds: a killed run may lose these.
_PAIRS = 1024
_FEW = 128  # up to so many pairs are scored without reports of progress
_SENTENCES = 64


class FoundParaphrase(Protocol):
    """A paraphrase as a source of paraphrases gives it."""

    @property
    def text(self) -> str:
        """The paraphrase."""


_Found: TypeAlias = Sequence[FoundParaphrase | str]
_Question = TypeVar("_Question")
_Answers: TypeAlias = Callable[[Iterable[list[_Question]]], Iterable[Sequence[_Found]]]


class ParaphraseSource(Protocol):
    """Something that rewords sentences.

    It may have further methods. ``paraphrase_without`` takes each sentence with the words that its
    paraphrases must lack. ``too_long`` tells of each text whether one of its sentences is too long
    to be reworded. ``paraphrase_each`` yields for groups of sentences, in their order, what
    `paraphrase` returns for them, and takes the next group only when there is room for it.
    """

    def paraphrase(self, sentences: Sequence[str]) -> Sequence[_Found]:
        """The paraphrases of each sentence, best first: texts, or objects with a ``text``."""


class RememberedScorer:
    """Remembers the scores of another scorer."""

    def __init__(
        self, scorer: Scorer, journal: RunJournal, *, on_portion: OnPortion = lambda *_: None
    ) -> None:
        self._scorer = scorer
        self._journal = journal
        self._on_portion = on_portion
        self._known: dict[str, dict[str, float]] = {}
        # A user's scorer may know no quicker way to a yes or no than S, which is then asked once.
        self._decides_sooner: bool = getattr(scorer, "decides_sooner", True)

    def quietly(self) -> RememberedScorer:
        """The same memory without progress of its own, for a stage that shows how far it is."""
        quiet = copy(self)
        quiet._on_portion = lambda done, total: None
        return quiet

    @property
    def name(self) -> str:
        """The name of the other scorer."""
        return self._scorer.name

    @property
    def identity(self) -> str:
        """The identity of the other scorer."""
        return self._scorer.identity

    @property
    def tau(self) -> float:
        """The default threshold of the other scorer."""
        return self._scorer.tau

    def scores(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """S of each pair."""
        return self._look_up_or_ask("score", pairs, self._scorer.scores)

    def at_least(self, pairs: Sequence[Pair], tau: float) -> NDArray[np.bool_]:
        """Whether S of each pair is at least τ."""
        if not self._decides_sooner:
            return self.scores(pairs) >= tau
        decisions = self._look_up_or_ask(
            f"at least {tau!r}",
            pairs,
            lambda some: self._scorer.at_least(some, tau).astype(np.float64),
        )
        return decisions > 0

    def scores_from(self, pairs: Sequence[Pair], least: float) -> NDArray[np.float64]:
        """S of each pair, or 0 where it is below ``least``."""
        if not self._decides_sooner:
            scores = self.scores(pairs)
            return np.where(scores >= least, scores, 0.0)
        return self._look_up_or_ask(
            f"score from {least!r}", pairs, lambda some: scores_from(self._scorer, some, least)
        )

    def _look_up_or_ask(
        self, kind: str, pairs: Sequence[Pair], ask: Callable[[Sequence[Pair]], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        known = self._known.setdefault(kind, {})
        keys = [_key(pair) for pair in pairs]
        distinct = dict(zip(keys, pairs, strict=True))
        missing = [key for key in distinct if key not in known]
        journaled = self._journal.get_many(kind, missing)
        if not all(isinstance(score, int | float) for score in journaled.values()):
            raise self._journal.damaged(kind)
        known.update(journaled)
        # Pairs of one sentence stay together: scorers share work between them.
        missing = [key for key in missing if key not in known]
        missing.sort(key=lambda key: (len(distinct[key][0]), distinct[key]))
        behind: Any = self._scorer
        for first in range(0, len(missing), _PAIRS):
            batch = missing[first : first + _PAIRS]
            show = partial(self._show, first, len(missing))
            show(0)
            if hasattr(behind, "on_scored"):
                behind.on_scored = show
            answers = ask([distinct[key] for key in batch])
            portion = dict(zip(batch, answers.tolist(), strict=True))
            self._journal.put_many(kind, portion)
            known.update(portion)
            show(len(batch))
        return np.fromiter((known[key] for key in keys), np.float64, len(keys))

    def _show(self, before: int, total: int, done: int) -> None:
        if total > _FEW:
            self._on_portion(before + done, total)


def remembered_paraphrases(
    source: ParaphraseSource,
    sentences: Sequence[str],
    journal: RunJournal,
    *,
    on_portion: OnPortion = lambda done, total: None,
    in_time: Callable[[], bool] = lambda: True,
) -> list[list[str] | None]:
    """The paraphrases of each sentence, best first; None once ``in_time`` has said no."""
    distinct = sorted(set(sentences), key=lambda text: (len(text), text))
    paraphrase_each: _Answers[str] | None = getattr(source, "paraphrase_each", None)
    answers = paraphrase_each or partial(map, source.paraphrase)
    size = GROUP if paraphrase_each else _SENTENCES
    known = _look_up_or_ask(
        "paraphrases", {_text_key(text): text for text in distinct}, answers, journal,
        size=size, on_portion=on_portion, in_time=in_time,
    )  # fmt: skip
    return [known.get(_text_key(text)) for text in sentences]


def remembered_paraphrases_without(
    source: ParaphraseSource,
    sentences: Sequence[tuple[str, tuple[str, ...]]],
    journal: RunJournal,
    *,
    on_portion: OnPortion = lambda done, total: None,
) -> list[list[str]]:
    """The paraphrases of each sentence, best first, without its forbidden words in any casing.

    If the source cannot search under constraints, paraphrases with such a word are dropped.
    """
    distinct = sorted(set(sentences), key=lambda pair: (len(pair[0]), pair))
    keys = {pair: _text_key(pair[0], *pair[1]) for pair in distinct}

    constrained = getattr(source, "paraphrase_without", None)

    def without(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> list[list[str]]:
        reworded: Sequence[_Found] = (
            source.paraphrase([sentence for sentence, _ in pairs])
            if constrained is None
            else constrained(pairs)
        )
        return [
            [text for text in map(_text_of, of_one) if not _has_word(text, words)]
            for (_, words), of_one in zip(pairs, reworded, strict=True)
        ]

    known = _look_up_or_ask(
        "paraphrases without", {keys[pair]: pair for pair in distinct}, partial(map, without),
        journal, size=_SENTENCES, on_portion=on_portion, in_time=lambda: True,
    )  # fmt: skip
    return [known[keys[pair]] for pair in sentences]


def _look_up_or_ask(
    kind: str,
    questions: Mapping[str, _Question],
    answers: _Answers[_Question],
    journal: RunJournal,
    *,
    size: int,
    on_portion: OnPortion,
    in_time: Callable[[], bool],
) -> dict[str, list[str]]:
    """Paraphrases by key: those in the journal and, while there is time, the others."""
    keys = list(questions)
    known: dict[str, list[str]] = journal.get_many(kind, keys)
    if not all(map(_are_texts, known.values())):
        raise journal.damaged(kind)
    in_progress: deque[list[str]] = deque()

    def missing_groups() -> Iterator[list[_Question]]:
        # Known sentences stay in their groups, so that a resumed run searches the same groups.
        for first in range(0, len(keys), size):
            group = keys[first : first + size]
            if all(key in known for key in group):
                continue
            if not in_time():
                return
            in_progress.append(group)
            yield [questions[key] for key in group]

    on_portion(len(known), len(keys))
    for reworded in answers(missing_groups()):
        texts = [list(map(_text_of, each)) for each in reworded]
        portion = dict(zip(in_progress.popleft(), texts, strict=True))
        journal.put_many(kind, portion)
        known.update(portion)
        on_portion(len(known), len(keys))
    return known


def _has_word(text: str, words: Sequence[str]) -> bool:
    """Whether a text contains one of these words, whole and in any casing."""
    return any(re.search(whole_word(word), text, re.IGNORECASE) for word in words)


def _text_of(paraphrase: FoundParaphrase | str) -> str:
    text = paraphrase if isinstance(paraphrase, str) else getattr(paraphrase, "text", None)
    if not isinstance(text, str):
        raise UsageError(
            f"an object of type {type(paraphrase).__name__} is not a paraphrase",
            help="return a list of texts for each sentence, or of objects with a `text`",
        )
    return text


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _key(texts: Sequence[str]) -> str:
    # In JSON, since a separator could be in a text too. Escapes would give a character the key of
    # its two halves.
    content = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).hexdigest()


def _text_key(*texts: str) -> str:
    """The texts themselves, or their hash where one has the separator, or half a character.

    The latter keeps them from the journal.
    """
    key = "\0".join(texts)
    plain = HALF_CHARACTER.search(key) is None and key.count("\0") < len(texts)
    return key if plain else _key(texts)
