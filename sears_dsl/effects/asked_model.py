"""The model as it is asked: one count of questions, one memory, one report of progress.

Discovery, audits and vetting ask the model through this module alone. A distinct row counts as one
question, whether or not its answer is remembered from elsewhere; `labels_in_time` asks no more than
the limit. What was answered before a failure is kept. Before a long run `try_model` asks about a
few of the rows that the run will ask about, so that what cannot work fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice, zip_longest
from time import monotonic
from typing import TypeAlias

from sears_dsl.answers import REFUSED, Comparison, each_answer, is_right
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.label_names import (
    ENOUGH_OF_A_LABEL,
    TRIED,
    all_labels,
    hardly_repeat,
    never_answered,
    nothing_right,
)
from sears_dsl.effects.lots import by_lot
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.cached import CachedPredictor, OnAnswered
from sears_dsl.models.predictor import Answer, Predictor, Row, row_key

OnStage: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a stage, the number of items done and the number of all, None if unknown."""

# Of the rows that a model is tried on before anything else begins, so many are asked about twice.
_ASKED_AGAIN = 4
# Seconds after which a slow model is tried on no further row.
_PATIENCE = 5.0


class Questions:
    """Counts the distinct rows that a model is asked about, of which there may be `most`."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._keys: set[str] = set()

    @property
    def asked(self) -> int:
        """How many questions were asked."""
        return len(self._keys)

    @property
    def left(self) -> int | None:
        """How many more questions may be asked; None without a limit."""
        return None if self.most is None else max(0, self.most - self.asked)

    def share(self, part: float) -> int | None:
        """How many questions are such a part of those that are left; None without a limit."""
        return None if self.left is None else round(part * self.left)

    @contextmanager
    def at_most(self, more: int | None) -> Iterator[None]:
        """Inside the block at most ``more`` further questions may be asked; None adds no limit."""
        before = self.most
        if more is not None:
            limit = self.asked + max(0, more)
            self.most = limit if before is None else min(before, limit)
        try:
            yield
        finally:
            self.most = before

    def admitted(self, keys: Sequence[str]) -> list[bool]:
        """Which of these rows may be asked about, by key; the limit admits the first ones."""
        if self.most is None:
            return [True] * len(keys)
        new = islice((key for key in dict.fromkeys(keys) if key not in self._keys), self.left)
        among = self._keys.union(new)
        return [key in among for key in keys]

    def count(self, keys: Iterable[str]) -> None:
        """Count rows that were answered, by key."""
        self._keys.update(keys)


class AskedModel:
    """A model with a memory of its answers and a count of the questions to it."""

    def __init__(self, predictor: Predictor, *, questions: Questions | None = None) -> None:
        if not isinstance(predictor, CachedPredictor):
            predictor = CachedPredictor(predictor)
        self._predictor = predictor
        self.questions = Questions() if questions is None else questions
        self.models = predictor.models  # the names, if several answer together; else empty

    def labels(self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None) -> list[str]:
        """The model's labels for rows; no limit applies to these questions."""
        labels = self._predictor.predict(rows, on_progress=on_progress)
        self.questions.count(map(row_key, rows))
        return labels

    def answers(
        self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None
    ) -> list[Answer]:
        """The same, with the model's confidence where it gives one."""
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
        """The model's labels for rows, None where there was no time or no question left.

        `in_time` is called before each batch; once it says no, the rest is not asked.
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


def try_model(
    data: LabelledRows,
    predictor: CachedPredictor,
    *,
    comparison: Comparison = "exact",
    most: int | None = None,
    all_may_be_wrong: bool = False,
) -> tuple[str, ...]:
    """Ask a model about a few rows, or all at once, so that what cannot work fails at once.

    Only `most` distinct rows, the first `in_turn`, may be asked about. It is an error if labels or
    answers are classes and no answer is a label, unless all may be wrong. Returns warnings: if
    labels are never answered (see `never_answered`), or the model answers differently when it is
    asked again.
    """
    all_at_once = predictor.batch_size is None
    admitted = _admitted(data, most)
    places = admitted if all_at_once else _of_each_label(data, admitted)
    rows = [data.rows[place] for place in places]
    end = monotonic() + _PATIENCE
    first_answers = AskedModel(predictor).labels_in_time(rows, in_time=lambda: monotonic() < end)
    answers = [answer for answer in first_answers if answer is not None]
    labels = all_labels(data)
    # Answers to questions are free text; labels of classes repeat, and so do answers.
    repeat = len(answers) >= ENOUGH_OF_A_LABEL and 2 * len(set(answers)) <= len(answers)
    other_column = comparison == "exact" and repeat and hardly_repeat(data)
    classes = data.labels is not None and (_are_classes(data) or other_column)
    right = (is_right(answer, labels, comparison=comparison) for answer in answers)
    if classes and not all_may_be_wrong and not any(right):
        limited = len(answers) == len(rows) and len(admitted) < len(data.rows)
        raise nothing_right(data, answers, limited=limited)
    of_place = {
        place: answer
        for place, answer in zip(places, first_answers, strict=True)
        if answer is not None
    }
    never = never_answered(data, of_place, comparison=comparison, models=predictor.models)
    # A slow model is not asked again for this, and what is read from a file does not change.
    unsteady = all_at_once or monotonic() > end or REFUSED in answers[:_ASKED_AGAIN]
    return tuple(filter(None, (never, "" if unsteady else _unsteady(predictor, rows, answers))))


def _unsteady(predictor: CachedPredictor, rows: Sequence[Row], answers: Sequence[str]) -> str:
    """The warning on a model that answers differently when it is asked again; else empty."""
    # Nothing is remembered here, and a refusal is a change like any other.
    with predictor.surround():
        again = CachedPredictor(predictor.predictor, on_error="skip").predict(rows[:_ASKED_AGAIN])
    changed = sum(answer != first for answer, first in zip(again, answers, strict=False))
    if not changed:
        return ""
    return (
        f"the model changes its answer to {changed} of {len(again)} rows when asked again; its "
        "first answer counts, so some flips may be its own noise"
    )


def with_labels_of(
    data: LabelledRows, predictor: CachedPredictor, *, most: int | None = None
) -> LabelledRows:
    """The rows with names of classes as labels, if they number classes and the model names them.

    Only `most` distinct rows, the first `in_turn`, may be asked about. Where the name of a class is
    the number of another, answers do not tell which is meant: names count, and a note says so.

    Raises:
        ModelError: the name of a class is the number of another, and an answer is but a number.
    """
    if not data.class_names or data.labels is None:
        return data
    # Of what several models say together, each answer names or numbers a class.
    answers = [
        own
        for answer in AskedModel(predictor).labels(_first_rows(data, predictor, most))
        for own in each_answer(answer, len(predictor.models) or 1)
    ]
    if not (ambiguous := data.ambiguous_classes):
        return data.as_answered(answers)
    numbers = {str(number) for number in range(len(data.class_names))}
    bare_numbers = numbers.difference(data.class_names)
    # The labels of a set have | between them.
    classes = (each for answer in answers for each in answer.split("|"))
    bare = next((each for each in classes if each in bare_numbers), None)
    example = f"{ambiguous[0]!r} is the name of one class and the number of another"
    if bare is not None:
        raise ModelError(
            f"the model answers {bare!r}, the number of a class; but {example}, so answers are "
            "read as names",
            help="let the model answer with names, or make the column plain numbers: "
            "dataset.cast_column(…, Value('int64'))",
        )
    note = f"of the classes of the label, {example}; answers are read as names"
    return replace(data.as_named(), notes=(*data.notes, note))


def require_confidence(data: LabelledRows, predictor: CachedPredictor) -> None:
    """Refuse a model that does not say how sure it is, after a few rows at most."""
    if hasattr(predictor.predictor, "predict_with_confidence"):
        answers = AskedModel(predictor).answers(_first_rows(data, predictor))
        if any(each.confidence is not None or each.label == REFUSED for each in answers):
            return
    raise UsageError(
        "the model gives no confidences, which measure how important words are",
        help="use --avoid-important 0, or see docs/models.md on how a model gives confidences",
    )


def _first_rows(
    data: LabelledRows, predictor: CachedPredictor, most: int | None = None
) -> Sequence[Row]:
    """A few rows, or all of them where they are asked about at once."""
    rows = [data.rows[place] for place in _admitted(data, most)]
    return rows if predictor.batch_size is None else rows[:TRIED]


def _admitted(data: LabelledRows, most: int | None) -> list[int]:
    """The places of the rows that a limit of so many questions admits."""
    order = in_turn(data, most)
    admitted = Questions(most).admitted([row_key(data.rows[place]) for place in order])
    return sorted(place for place, may in zip(order, admitted, strict=True) if may)


def in_turn(data: LabelledRows, most: int | None) -> Sequence[int]:
    """The places of all rows in the order of questions: by lot, if there are at most so many."""
    return range(len(data.rows)) if most is None else by_lot(data.texts, "asked").tolist()


def _of_each_label(data: LabelledRows, places: Sequence[int]) -> list[int]:
    """A few of the places, with as many labels as there are, in the order of the data."""
    among, of_label = frozenset(places), data.places_by_label()
    turns = chain.from_iterable(zip_longest(*of_label.values()))
    most = max(TRIED, ENOUGH_OF_A_LABEL * len(of_label) if _are_classes(data) else 0)
    return sorted(islice((place for place in turns if place in among), most))


def _are_classes(data: LabelledRows) -> bool:
    """Whether labels repeat, as those of classes do."""
    return 2 * len(all_labels(data)) <= len(data.rows)
