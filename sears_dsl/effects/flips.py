"""Flips: which rows a model has right, and which of them it has wrong when they are rewritten.

In: labelled rows and a model. Out: `RightRows`. Always holds: a row is right when its answer is one
of its labels, under the comparison of its field (labels exactly, answers normalized as SQuAD does);
where the data has no labels, what the model says of the untouched row counts as right. A flip is a
right row that is not right after the rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import chain, islice, zip_longest
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sears_dsl.answers import Comparison, answers_equal, carried_back
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.data.protection import Guards
from sears_dsl.effects.asked_model import AskedModel, Questions
from sears_dsl.errors import DataError, UsageError
from sears_dsl.models.cached import CachedPredictor, OnAnswered
from sears_dsl.models.predictor import REFUSED, ConfidentPredictor, Predictor, Row
from sears_dsl.models.vote import each_answer

# Rows that a model is tried on before anything else begins, and of these asked about again.
_TRIED = 16
_ASKED_AGAIN = 4
# Seconds after which a slow model is tried on no further row.
_PATIENCE = 5.0


def try_model(
    data: LabelledRows, predictor: CachedPredictor, *, comparison: Comparison = "exact"
) -> str:
    """Ask a model about a few rows, or all at once, so that what cannot work fails at once.

    A model that says no label of any row is an error; what else is strange comes back in a
    sentence, which is empty where nothing is.
    """
    all_at_once = predictor.batch_size is None
    places = range(len(data.rows)) if all_at_once else _of_each_label(data)
    rows = [data.rows[place] for place in places]
    over = monotonic() + _PATIENCE
    first_answers = AskedModel(predictor).labels_in_time(rows, in_time=lambda: monotonic() < over)
    answers = [answer for answer in first_answers if answer is not None]
    labels = sorted({label for of_row in data.labels or () for label in of_row})
    # Answers to questions are free text; labels of classes repeat.
    classes = data.labels is not None and 2 * len(labels) <= len(data.rows)
    if classes and not any(
        answers_equal(answer, labels, comparison=comparison) for answer in answers
    ):
        raise _nothing_right(data, answers, labels)
    # A slow model is not asked for nothing, and what is read from a file does not change.
    if all_at_once or monotonic() > over or REFUSED in answers[:_ASKED_AGAIN]:
        return ""
    again = predictor.predictor.predict(rows[:_ASKED_AGAIN])
    others = sum(answer != first for answer, first in zip(again, answers, strict=False))
    if not others:
        return ""
    return (
        f"the model answers {others} of {len(again)} rows otherwise when asked again: its first "
        "answer counts, and some of what it is said to flip will be its own doing"
    )


def require_confidence(data: LabelledRows, predictor: CachedPredictor) -> None:
    """Refuse a model that does not say how sure it is, after a few rows at most."""
    if isinstance(predictor.predictor, ConfidentPredictor):
        few = None if predictor.batch_size is None else _TRIED
        answers = AskedModel(predictor).answers(data.rows[:few])
        if any(each.confidence is not None or each.label == REFUSED for each in answers):
            return
    raise UsageError(
        "the model does not say how sure it is, and by that the importance of words is measured",
        help="--avoid-important 0 rewords without it; docs/models.md says how a model gives "
        "confidences",
    )


def _of_each_label(data: LabelledRows) -> list[int]:
    """Places of a few rows, of as many labels as there are, in the order of the data."""
    of_label: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(data.rows)):
        of_label.setdefault(data.labels[place] if data.labels else (), []).append(place)
    turns = chain.from_iterable(zip_longest(*of_label.values()))
    return sorted(islice((place for place in turns if place is not None), _TRIED))


def _nothing_right(data: LabelledRows, answers: Sequence[str], labels: Sequence[str]) -> DataError:
    some = "the" if len(answers) == len(data.rows) else f"{len(answers):,} of the"
    examples = ", ".join(map(repr, sorted(set(answers))[:5]))
    return DataError(
        f"the model has none of {some} {len(data.rows):,} rows of {data.path} right",
        help=f"it says {examples}; the labels are {', '.join(map(repr, labels[:5]))}; "
        "do they mean the same?",
    )


class RightRows:
    """The rows that a model has right, numbered from 0 in the order of the data.

    `in_time` is asked before each batch of questions; when it says no, the rest is left, and so it
    is where there may be no more `questions`: of the rows the first ones are asked about. That the
    model has no row right is an error.
    """

    def __init__(
        self,
        data: LabelledRows,
        predictor: Predictor,
        *,
        comparison: Comparison = "exact",
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
        questions: Questions | None = None,
    ) -> None:
        self._data = data
        self._model = AskedModel(predictor, questions=questions)
        self.questions = self._model.questions
        self.models = self._model.models
        self._comparison = comparison
        model_answers = self._model.labels_in_time(
            data.rows, in_time=in_time, on_progress=on_progress
        )
        answered = {
            place: answer for place, answer in enumerate(model_answers) if answer is not None
        }
        labels = data.labels or tuple(
            (answered.get(place, REFUSED),) for place in range(len(model_answers))
        )
        self.asked = len(answered)
        # For each right row its position in the data, and below what the model says of it.
        self.positions = [
            place
            for place, answer in answered.items()
            if answer != REFUSED and answers_equal(answer, labels[place], comparison=comparison)
        ]
        answers = list(answered.values())
        if not self.positions:
            if not answers:
                raise DataError(
                    "the time was over before the model had answered a row",
                    help="give it more time; --resume goes on with what it has answered",
                )
            known = sorted({label for of_row in labels for label in of_row})
            raise _nothing_right(data, answers, known)
        self.texts = [data.texts[position] for position in self.positions]
        self.predictions = [answered[position] for position in self.positions]
        self._labels = [labels[position] for position in self.positions]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def guards(self) -> Guards | None:
        """What has to stay in the texts; None where nothing has to."""
        guards = self._data.guards
        return None if guards is None else guards.part(self.positions)

    @property
    def of_file(self) -> Sequence[str]:
        """What tells the rows of the file apart: both texts, where either of two is rewritten."""
        if len(set(self._data.rewritten_columns or ())) <= 1:
            return self.texts
        return ["\n".join(self._data.rows[each].values()) for each in self.positions]

    def part(self, numbers: Sequence[int]) -> RightRows:
        """Some of the right rows, numbered anew in the order given."""
        part = copy(self)
        for name in ("positions", "texts", "predictions", "_labels"):
            values = getattr(self, name)
            setattr(part, name, [values[number] for number in numbers])
        return part

    def ask(self, numbers: Sequence[int], texts: Sequence[str]) -> list[str]:
        """What the model says of right rows with other texts."""
        answers = self._model.labels(self._rows(numbers, texts))
        pairs = zip(numbers, texts, answers, strict=True)
        return [self._carried_back(*each) for each in pairs]

    def ask_in_time(
        self,
        numbers: Sequence[int],
        texts: Sequence[str],
        *,
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
    ) -> list[str | None]:
        """What the model says of right rows with other texts, None where it was not asked.

        There was no time for it, or no question left.
        """
        rows = self._rows(numbers, texts)
        answers = self._model.labels_in_time(rows, in_time=in_time, on_progress=on_progress)
        return [
            None if answer is None else self._carried_back(number, text, answer)
            for number, text, answer in zip(numbers, texts, answers, strict=True)
        ]

    def flips(self, numbers: Sequence[int], answers: Sequence[str | None]) -> NDArray[np.bool_]:
        """Which answers to rewritten right rows are not right any more; none that is None."""
        pairs = zip(numbers, answers, strict=True)
        return np.array(
            [answer is not None and self.flipped(number, answer) for number, answer in pairs],
            np.bool_,
        )

    def flipped(self, number: int, answer: str) -> bool:
        """Whether an answer to a rewritten right row is not right any more."""
        return answer != REFUSED and not answers_equal(
            answer, self._labels[number], comparison=self._comparison
        )

    def fails_of_each(self, numbers: Sequence[int], texts: Sequence[str]) -> NDArray[np.bool_]:
        """Which of several models fail at right rows with other texts: bool (rows, models).

        Nothing that was asked before is asked again.
        """
        fails = np.zeros((len(numbers), len(self.models)), np.bool_)
        together = self._model.labels(self._rows(numbers, texts))
        for place, (number, text) in enumerate(zip(numbers, texts, strict=True)):
            answers = each_answer(together[place], len(self.models))
            fails[place] = [
                self.flipped(number, self._carried_back(number, text, each)) for each in answers
            ]
        return fails

    def _carried_back(self, number: int, text: str, answer: str) -> str:
        return carried_back(answer, self.texts[number], text, comparison=self._comparison)

    def _rows(self, numbers: Sequence[int], texts: Sequence[str]) -> list[Row]:
        return list(self._data.rewritten([self.positions[number] for number in numbers], texts))
