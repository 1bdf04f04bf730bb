"""A predictor that is asked in batches, once for each distinct row, and can be stopped between.

In: rows. Out: one label a row, those of the model behind. Always holds: the model is asked for a
row at most once (once more where its confidence is wanted later), in the order in which rows were
first seen; a batch that was answered is kept
before the next one is asked for, so that a model that fails, a deadline or a killed process loses
one batch at most. Costs some microseconds a row on top of the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.confident import Answer, ConfidentPredictor, answers_to
from sears_dsl.models.predictor import BatchPredictor, Predictor, Row, row_key
from sears_dsl.models.store import PredictionStore

__all__ = ["CachedPredictor", "DeadlineReached", "OnProgress"]

#: Called with how many of how many distinct rows have their prediction.
OnProgress: TypeAlias = Callable[[int, int], None]

_BATCH_SIZE = 64


class DeadlineReached(ModelError):  # noqa: N818 - the plan came true, nothing went wrong
    """The time for asking a model is over; what was answered is kept.

    Attributes:
        done: distinct rows of the call that have their prediction.
        total: distinct rows of the call.
    """

    def __init__(self, model: str, done: int, total: int) -> None:
        super().__init__(
            f"the time was over when {model} had answered {done} of {total} rows",
            help="give it more time; where there is a cache on disk, the answers are kept",
        )
        self.done = done
        self.total = total


class CachedPredictor:
    """A model that remembers what it said.

    Args:
        predictor: the model.
        store: keeps predictions on disk; without, they are remembered as long as this object.
        batch_size: rows that the model gets in a call; None leaves it to the model, 64 for one
            that does not say.

    Raises:
        UsageError: a batch size below 1.

    Example:
        >>> from sears_dsl.models.callable import CallablePredictor
        >>> asked = []
        >>> def predict(texts):
        ...     asked.extend(texts)
        ...     return ["long" if len(text) > 5 else "short" for text in texts]
        >>> model = CachedPredictor(CallablePredictor(predict))
        >>> model.predict([{"text": "Good!"}, {"text": "So good!"}, {"text": "Good!"}])
        ['short', 'long', 'short']
        >>> asked
        ['Good!', 'So good!']
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        store: PredictionStore | None = None,
        batch_size: int | None = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise UsageError(
                f"a batch of {batch_size} rows cannot be asked for", help="1 is the least"
            )
        self.predictor = predictor
        self._store = store
        if batch_size is None:
            batch_size = _BATCH_SIZE
            if isinstance(predictor, BatchPredictor):
                batch_size = predictor.batch_size
        self._batch_size = batch_size
        self._labels: dict[str, str] = {}
        self._answers: dict[str, Answer] = {}

    @property
    def identity(self) -> str:
        """The identity of the model behind."""
        return self.predictor.identity

    @property
    def batch_size(self) -> int | None:
        """Rows that the model gets in a call; None where it gets all of them."""
        return self._batch_size

    def predict(
        self,
        rows: Sequence[Row],
        *,
        deadline: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> list[str]:
        """One label for each row.

        Args:
            rows: what to ask about.
            deadline: no batch is begun at or after this time of ``time.monotonic()``.
            on_progress: called before the first batch and after each one.

        Raises:
            ModelError: the model failed; batches before it are kept.
            DeadlineReached: the time is over and rows are missing; batches before are kept.
            CacheError: the file of predictions cannot be used.
        """
        keys = [row_key(row) for row in rows]
        distinct = dict(zip(keys, rows, strict=True))
        self._ask_missing(distinct, self._missing(list(distinct)), self._ask, deadline, on_progress)
        return [self._labels[key] for key in keys]

    def predict_with_confidence(
        self, rows: Sequence[Row], *, on_progress: OnProgress | None = None
    ) -> list[Answer]:
        """One label for each row, with its confidence where the model gives one.

        Args:
            rows: what to ask about.
            on_progress: called before the first batch and after each one.

        Raises:
            ModelError: the model failed; batches before it are kept.
            CacheError: the file of predictions cannot be used.

        Example:
            >>> from sears_dsl.models.callable import CallablePredictor
            >>> model = CachedPredictor(CallablePredictor(lambda texts: [("long", 0.5)]))
            >>> model.predict_with_confidence([{"text": "So good!"}] * 2)[1].confidence
            0.5
        """
        if not isinstance(self.predictor, ConfidentPredictor):
            return [Answer(label) for label in self.predict(rows, on_progress=on_progress)]
        keys = [row_key(row) for row in rows]
        distinct = dict(zip(keys, rows, strict=True))
        self._ask_missing(
            distinct,
            self._missing_answers(list(distinct)),
            self._ask_for_answers,
            None,
            on_progress,
        )
        return [self._answers[key] for key in keys]

    def _ask_missing(
        self,
        distinct: Mapping[str, Row],
        missing: list[str],
        ask: Callable[[list[str], list[Row]], None],
        deadline: float | None,
        on_progress: OnProgress | None,
    ) -> None:
        """Ask about the missing ones of distinct rows, batch by batch."""
        size = max(1, len(missing)) if self._batch_size is None else self._batch_size
        for first in range(0, len(missing), size):
            done = len(distinct) - len(missing) + first
            if on_progress is not None and first == 0:
                on_progress(done, len(distinct))
            if deadline is not None and time.monotonic() >= deadline:
                raise DeadlineReached(self.identity, done, len(distinct))
            batch = missing[first : first + size]
            ask(batch, [distinct[key] for key in batch])
            if on_progress is not None:
                on_progress(done + len(batch), len(distinct))

    def _missing(self, keys: list[str]) -> list[str]:
        """The keys without a label, after a look into the store."""
        missing = [key for key in keys if key not in self._labels]
        if self._store is not None and missing:
            self._labels.update(self._store.get(self.identity, missing))
            missing = [key for key in missing if key not in self._labels]
        return missing

    def _missing_answers(self, keys: list[str]) -> list[str]:
        """The keys about whose confidence nobody asked, after a look into the store."""
        missing = [key for key in keys if key not in self._answers]
        if self._store is not None and missing:
            self._answers.update(self._store.get_answers(self.identity, missing))
            missing = [key for key in missing if key not in self._answers]
        return missing

    def _ask(self, keys: list[str], rows: list[Row]) -> None:
        labels = self.predictor.predict(rows)
        self._check_count(len(rows), len(labels))
        answered = dict(zip(keys, labels, strict=True))
        if self._store is not None:
            self._store.put(self.identity, answered)
        self._labels.update(answered)

    def _ask_for_answers(self, keys: list[str], rows: list[Row]) -> None:
        answers = answers_to(self.predictor, rows)
        self._check_count(len(rows), len(answers))
        answered = dict(zip(keys, answers, strict=True))
        if self._store is not None:
            self._store.put_answers(self.identity, answered)
        self._answers.update(answered)
        self._labels.update((key, answer.label) for key, answer in answered.items())

    def _check_count(self, asked: int, given: int) -> None:
        if given != asked:
            raise ModelError(
                f"{self.identity} was asked for {asked} predictions and gave {given}",
                help="a predictor gives one label for each row, in order",
            )
