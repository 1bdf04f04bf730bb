"""The model as it is asked: one count of questions, one memory, one way to tell how far it is.

In: rows. Out: labels, or answers that say how sure the model is. Always holds: a distinct row is a
question once, whether its answer is remembered from elsewhere or not; there are never more than the
limit; what was answered before a failure is kept. Discovery, audits and vetting ask through this
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeAlias

from sears_dsl.models.cached import CachedPredictor, OnAnswered
from sears_dsl.models.predictor import Answer, Predictor, Row, row_key

OnStage: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a stage, how many are done and how many there are; None where nobody knows."""


class Questions:
    """The distinct rows that a model is asked about, and how many there may be at `most`."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._keys: set[str] = set()

    @property
    def asked(self) -> int:
        """How many there were."""
        return len(self._keys)

    @property
    def left(self) -> int | None:
        """How many there may still be; None without a limit."""
        return None if self.most is None else max(0, self.most - self.asked)

    @contextmanager
    def at_most(self, more: int | None) -> Iterator[None]:
        """For a while a stricter limit: so many more questions; None for no stricter one."""
        before = self.most
        if more is not None:
            limit = self.asked + max(0, more)
            self.most = limit if before is None else min(before, limit)
        try:
            yield
        finally:
            self.most = before

    def admitted(self, keys: Sequence[str]) -> list[bool]:
        """Which rows, by their keys in order, may be asked about."""
        if self.most is None:
            return [True] * len(keys)
        new = islice((key for key in dict.fromkeys(keys) if key not in self._keys), self.left)
        among = self._keys.union(new)
        return [key in among for key in keys]

    def count(self, keys: Iterable[str]) -> None:
        """These were answered."""
        self._keys.update(keys)


class AskedModel:
    """A model that remembers what it said, and the questions that it was asked."""

    def __init__(self, predictor: Predictor, *, questions: Questions | None = None) -> None:
        if not isinstance(predictor, CachedPredictor):
            predictor = CachedPredictor(predictor)
        self._predictor = predictor
        self.questions = Questions() if questions is None else questions
        self.models = predictor.models  # names of several that answer together; none of one

    def labels(self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None) -> list[str]:
        """What the model says of rows; nothing limits these questions."""
        labels = self._predictor.predict(rows, on_progress=on_progress)
        self.questions.count(map(row_key, rows))
        return labels

    def answers(
        self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None
    ) -> list[Answer]:
        """The same, and how sure the model is where it says so."""
        answers = self._predictor.predict_with_confidence(rows, on_progress=on_progress)
        self.questions.count(map(row_key, rows))
        return answers

    def labels_in_time(
        self,
        rows: Sequence[Row],
        *,
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
    ) -> list[str | None]:
        """What the model says of rows, None where there was no time or no question left.

        When `in_time`, asked before each batch, says no, the rest is left.
        """
        keys = [row_key(row) for row in rows]
        places = [place for place, may in enumerate(self.questions.admitted(keys)) if may]
        labels = self._predictor.predict_in_time(
            [rows[place] for place in places], in_time=in_time, on_progress=on_progress
        )
        row_labels: list[str | None] = [None] * len(rows)
        for place, label in zip(places, labels, strict=True):
            row_labels[place] = label
        self.questions.count(
            key for key, label in zip(keys, row_labels, strict=True) if label is not None
        )
        return row_labels
