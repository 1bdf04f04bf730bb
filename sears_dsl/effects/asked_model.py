"""The model as it is asked: one count of questions, one memory, one way to tell how far it is.

In: rows. Out: labels, or answers that say how sure the model is. Always holds: a distinct row is a
question once, whether its answer is remembered from elsewhere or not; there are never more than the
limit; what was answered before a failure is kept. Discovery, audits and vetting ask through this
alone. Before a long run the model is tried on a few rows, so that what cannot work fails at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from time import monotonic
from typing import TypeAlias

from sears_dsl.answers import REFUSED, Comparison, is_right
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.errors import DataError, NothingRightError, UsageError, counted
from sears_dsl.models.cached import CachedPredictor, OnAnswered
from sears_dsl.models.predictor import WRITE_ALIKE, Answer, Predictor, Row, row_key

OnStage: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a stage, how many are done and how many there are; None where nobody knows."""

# Rows that a model is tried on before anything else begins, and of these asked about again.
_TRIED = 16
_ASKED_AGAIN = 4
# Seconds after which a slow model is tried on no further row.
_PATIENCE = 5.0


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
    if classes and not any(is_right(answer, labels, comparison=comparison) for answer in answers):
        raise nothing_right(data, answers, labels)
    # A slow model is not asked for nothing, and what is read from a file does not change.
    if all_at_once or monotonic() > over or REFUSED in answers[:_ASKED_AGAIN]:
        return ""
    with predictor.aside():
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
    if hasattr(predictor.predictor, "predict_with_confidence"):
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


def nothing_right(data: LabelledRows, answers: Sequence[str], labels: Sequence[str]) -> DataError:
    """The error where a model has none of these rows right."""
    rows = f"{len(data.rows):,} rows of {data.path}"
    refuses, wrong = f"the model refuses the {rows}", f"the model has none of the {rows} right"
    if len(answers) < len(data.rows):
        some = f"of {counted(len(answers), 'row')} tried (of {rows}) the model"
        refuses, wrong = f"{some} refuses all", f"{some} has none right"
    labels_given = sorted(set(answers) - {REFUSED})
    if answers and not labels_given:
        advice = "without --on-error skip the command ends with what it says of the first one"
        return NothingRightError(refuses, help=advice)
    examples = ", ".join(map(repr, labels_given[:5]))
    advice = f"it says {examples}; the labels are {', '.join(map(repr, labels[:5]))}; "
    return NothingRightError(wrong, help=f"{advice}do they mean the same? {WRITE_ALIKE}")
