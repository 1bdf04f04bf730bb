"""A predictor that is asked in batches, once for each distinct row, and what it said on disk.

Always holds: the model is asked about a row at most once (once more where its confidence is wanted
later), in the order in which rows were first seen. A batch that was answered is kept before the
next one is asked, so that a failing model, too little time or a killed process loses one batch at
most, or one for each connection of a model that is asked in parallel. This takes some microseconds
a row on top of the model.

In a file (`PredictionStore`), a label is found only under the identity that gave it. A batch is
stored whole or not at all, and a process that is killed leaves a readable file. Several processes
may use it at once. A file of another program or version is refused. It holds no row but its key, a
hash, and what the model said: a label and a confidence, or a whole answer, which may repeat a text.
A row with a label takes about 60 bytes, and some microseconds to read.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TypeAlias, cast

from sears_dsl.answers import REFUSED, Comparison
from sears_dsl.errors import CacheError, ModelError, UsageError, counted
from sears_dsl.models.predictor import Answer, OnError, Predictor, Row, RowsRefused, row_key
from sears_dsl.runtime.database import Database, rows_of, transaction

#: What a model said of a row: a label, or an answer if it was asked for its confidence.
Prediction: TypeAlias = str | Answer

# In the column `confidence`, NULL stands for "nobody asked", this for "asked, and not given".
_NOT_GIVEN = -1.0


class PredictionStore(Database):
    """A file of predictions, to be closed; a `CacheError` where it cannot be used."""

    version = 2
    mark = 0x53504C42  # "SPLB"
    tables = """
CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT UNIQUE);
CREATE TABLE predictions (
    model INTEGER, key BLOB, label TEXT, confidence REAL, PRIMARY KEY (model, key)) WITHOUT ROWID;
"""

    def get(self, identity: str, keys: Sequence[str]) -> dict[str, Prediction]:
        """What this model said, for those keys that are stored."""
        query = "SELECT key, label, confidence FROM predictions WHERE model = ? AND key IN"
        known: dict[str, Prediction] = {}
        with self.using("read") as connection:
            model = _model(connection, identity)
            if model is None:
                return known
            for key, label, confidence in rows_of(
                connection, query, [bytes.fromhex(key) for key in keys], model
            ):
                if not isinstance(label, str) or not isinstance(confidence, float | None):
                    raise sqlite3.DatabaseError(f"it has {label!r:.80} as a label")
                sure = None if confidence == _NOT_GIVEN else confidence
                known[key.hex()] = label if confidence is None else Answer(label, sure)
        return known

    def put(self, identity: str, predictions: Mapping[str, Prediction]) -> None:
        """Store what a model said: all of it, or nothing where this fails."""
        with self.using("written") as connection, transaction(connection):
            connection.execute("INSERT OR IGNORE INTO models (identity) VALUES (?)", (identity,))
            model = _model(connection, identity)
            connection.executemany(
                "INSERT OR REPLACE INTO predictions VALUES (?, ?, ?, ?)",
                [
                    (model, bytes.fromhex(key), _label_of(each), _stored_confidence(each))
                    for key, each in predictions.items()
                ],
            )

    def refused(self, version: int | None) -> CacheError:
        """The error for a file of another program or version."""
        return CacheError(
            f"{self.path} is not a prediction store of this version of sears",
            help="name another file, or move this one away",
        )

    def unusable(self, error: Exception, action: str) -> CacheError:
        """The error for a file that could not be opened, read or written."""
        return CacheError(
            f"the prediction store {self.path} could not be {action}: {error}",
            help="make room, name another file, or delete this one; the model is then asked again",
        )


def _label_of(prediction: Prediction) -> str:
    return prediction if isinstance(prediction, str) else prediction.label


def _stored_confidence(prediction: Prediction) -> float | None:
    if isinstance(prediction, str):
        return None
    return _NOT_GIVEN if prediction.confidence is None else prediction.confidence


def _model(connection: sqlite3.Connection, identity: str) -> int | None:
    query = "SELECT id FROM models WHERE identity = ?"
    row = connection.execute(query, (identity,)).fetchone()
    return None if row is None else int(row[0])


#: Called with how many of how many distinct rows have their prediction.
OnAnswered: TypeAlias = Callable[[int, int], None]

_BATCH_SIZE = 64
# Where time is limited: rows of the first batch, and the seconds below which batches double.
_FIRST_BATCH = 1
_QUICK = 0.5


class CachedPredictor:
    """A model that remembers what it said, on disk where there is a store.

    Without a batch size, the model gets as many rows in a call as it wants, 64 where it does not
    say. With ``on_error="skip"``, the answer to a text that it refuses is `REFUSED`, which equals
    no label and is not stored. ``comparison`` is the one that it was loaded for, None where that
    does not matter. ``announce`` is called with what a round of questions will cost, before the
    round, if the model can tell.
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        store: PredictionStore | None = None,
        batch_size: int | None = None,
        on_error: OnError = "stop",
        comparison: Comparison | None = None,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.predictor = predictor
        self.store = store
        self.comparison = comparison
        own_size: int | None = getattr(predictor, "batch_size", _BATCH_SIZE)
        # Rows that the model gets in a call; None where it gets all of them.
        self.batch_size = own_size if batch_size is None else _at_least_one(batch_size)
        self._connections: int = getattr(predictor, "connections", 1)
        self._on_error = on_error
        self._announce = announce
        self._announced = 0
        # What surrounds its code: commands keep what it prints apart from what they print.
        self.surround: Callable[[], AbstractContextManager[None]] = nullcontext
        self._refused: set[str] = set()
        self._known: dict[str, Prediction] = {}
        self.asked = 0
        self.seconds = 0.0

    def in_batches_of(self, rows: int) -> CachedPredictor:
        """The same model with the same memory, asked in batches of so many rows."""
        resized = copy(self)
        resized.batch_size = _at_least_one(rows)
        return resized

    @property
    def identity(self) -> str:
        """The identity of the model that is asked."""
        return self.predictor.identity

    @property
    def models(self) -> tuple[str, ...]:
        """The names of models that must all be right about a row; empty for a single model."""
        names: tuple[str, ...] = getattr(self.predictor, "models", ())
        return names

    @property
    def refused(self) -> int:
        """How many texts were skipped because the model refused them."""
        return len(self._refused)

    @property
    def remarks(self) -> list[str]:
        """What was out of the ordinary so far, a sentence each."""
        sentences: list[str] = [*getattr(self.predictor, "remarks", ())]
        if self._refused:
            texts = counted(len(self._refused), "text")
            sentences.append(f"the model refused {texts}, left out and not counted as flips")
        return sentences

    def predict(self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None) -> list[str]:
        """One label for each row."""
        labels = self.predict_in_time(rows, on_progress=on_progress)
        return [label for label in labels if label is not None]

    def predict_in_time(
        self,
        rows: Sequence[Row],
        *,
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None = None,
    ) -> list[str | None]:
        """One label for each row, None where there was no time to ask.

        ``in_time`` is asked before each batch; once it says no, the rest is left. With it, batches
        are small at first, so that a slow model does not go far beyond the time.
        """
        keys = self._ask_missing(
            rows, self.predictor.predict, (str, Answer), in_time=in_time, on_progress=on_progress
        )
        return [_label_of(self._known[key]) if key in self._known else None for key in keys]

    def predict_with_confidence(
        self, rows: Sequence[Row], *, on_progress: OnAnswered | None = None
    ) -> list[Answer]:
        """One label for each row, with its confidence where the model gives one."""
        confident = getattr(self.predictor, "predict_with_confidence", None)
        if confident is None:
            return [Answer(label) for label in self.predict(rows, on_progress=on_progress)]
        keys = self._ask_missing(
            rows, lambda some: list(confident(some)), (Answer,), on_progress=on_progress
        )
        return [cast("Answer", self._known[key]) for key in keys]

    def _ask_missing(
        self,
        rows: Sequence[Row],
        ask: Callable[[list[Row]], Sequence[Prediction]],
        kinds: tuple[type, ...],
        *,
        in_time: Callable[[], bool] | None = None,
        on_progress: OnAnswered | None,
    ) -> list[str]:
        """Ask about rows without a prediction of the kinds, in batches; the keys of all rows."""
        keys = [row_key(row) for row in rows]
        distinct = dict(zip(keys, rows, strict=True))
        known = self._known
        missing = [key for key in distinct if not isinstance(known.get(key), kinds)]
        if self.store is not None and missing:
            known.update(self.store.get(self.identity, missing))
            missing = [key for key in missing if not isinstance(known.get(key), kinds)]
        answer_count = len(distinct) - len(missing)
        # Only a round that is larger than all before is announced, not each of hundreds.
        if len(missing) > self._announced and hasattr(self.predictor, "forecast"):
            self._announced = len(missing)
            self._announce(self.predictor.forecast([distinct[key] for key in missing]))
        if missing and on_progress is not None:
            on_progress(answer_count, len(distinct))

        batches = _Batches(missing, self.batch_size, in_time)

        def answers(batch: list[str]) -> Sequence[Prediction]:
            began = time.monotonic()
            of_batch = self._unless_refused([distinct[key] for key in batch], ask)
            batches.answered(len(batch), time.monotonic() - began)
            return of_batch

        began = time.monotonic()
        with self.surround():
            for batch, batch_answers in _in_threads(answers, batches, self._connections):
                self.asked += len(batch)
                self.seconds += time.monotonic() - began
                self._keep(dict(zip(batch, batch_answers, strict=True)))
                answer_count += len(batch)
                began = time.monotonic()
                if on_progress is not None:
                    on_progress(answer_count, len(distinct))
        return keys

    def _unless_refused(
        self, rows: list[Row], ask: Callable[[list[Row]], Sequence[Prediction]]
    ) -> Sequence[Prediction]:
        """What the model gives; refused rows that may be skipped are found by halving the batch."""
        try:
            answers = ask(rows)
        except RowsRefused:
            if self._on_error == "stop":
                raise
        else:
            if len(answers) != len(rows):
                raise ModelError(
                    f"{self.identity} was asked for {len(rows)} predictions and returned "
                    f"{len(answers)}",
                    help="a predictor has to return one label for each row, in order",
                )
            return answers
        if len(rows) > 1:
            middle = len(rows) // 2
            return [
                *self._unless_refused(rows[:middle], ask),
                *self._unless_refused(rows[middle:], ask),
            ]
        self._refused.add(row_key(rows[0]))
        return [Answer(REFUSED)]

    def _keep(self, predictions: dict[str, Prediction]) -> None:
        if self.store is not None:
            answered = {k: each for k, each in predictions.items() if _label_of(each) != REFUSED}
            self.store.put(self.identity, answered)
        self._known.update(predictions)


def _at_least_one(batch_size: int) -> int:
    if batch_size < 1:
        raise UsageError(f"the batch size is {batch_size}", help="it has to be 1 or more")
    return batch_size


class _Batches:
    """The keys in batches; where time is limited, small ones until the model proves quick.

    A batch has at most twice as many rows as one that was answered quickly, whatever the number of
    threads that take batches.
    """

    def __init__(
        self, keys: list[str], size: int | None, in_time: Callable[[], bool] | None
    ) -> None:
        self._keys = keys
        self._in_time = in_time
        self._most = max(1, len(keys)) if size is None else size
        small = in_time is not None and size is not None
        self._count = min(self._most, _FIRST_BATCH) if small else self._most
        self._first = 0

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> list[str]:
        over = self._in_time is not None and self._first < len(self._keys) and not self._in_time()
        if over or self._first >= len(self._keys):
            raise StopIteration
        batch = self._keys[self._first : self._first + self._count]
        self._first += len(batch)
        return batch

    def answered(self, rows: int, seconds: float) -> None:
        """Let the next batches be larger if this one was quick."""
        if seconds < _QUICK:
            self._count = max(self._count, min(self._most, 2 * rows))


def _in_threads(
    ask: Callable[[list[str]], Sequence[Prediction]], batches: _Batches, connections: int
) -> Iterator[tuple[list[str], Sequence[Prediction]]]:
    """Each batch with its answers, as they come; one thread a connection takes batch after batch.

    Where a thread fails, the others finish their batches, whose answers still come, and then the
    failure is raised.
    """
    if connections == 1:
        for batch in batches:
            yield batch, ask(batch)
        return
    turn = Lock()
    over = Event()
    answered: SimpleQueue[tuple[list[str], Sequence[Prediction]] | BaseException | None]
    answered = SimpleQueue()

    def work() -> None:
        try:
            while not over.is_set():
                with turn:
                    batch = next(batches, None)
                if batch is None:
                    break
                answered.put((batch, ask(batch)))
        except BaseException as error:
            over.set()
            answered.put(error)
        answered.put(None)

    # Daemons: an interrupt does not wait for an endpoint that does not answer.
    for _ in range(connections):
        Thread(target=work, daemon=True).start()
    failure: BaseException | None = None
    working = connections
    try:
        while working:
            match answered.get():
                case None:
                    working -= 1
                case BaseException() as error:
                    failure = failure or error
                case pair:
                    yield pair
    finally:
        over.set()
    if failure is not None:
        raise failure
