"""Predictions on disk, so that an interrupted run does not ask a slow model again.

In: the identity of a model, keys of rows, labels or answers. Out: the same. Always holds: a label
is found only under the identity that gave it; a batch is stored whole or not at all, and a process
that is killed leaves a readable file (SQLite with a write-ahead log); several processes may use
the file at once; a file of another program or another version is refused. The file holds keys
(hashes) and labels, no text. Costs about 60 bytes a row and some microseconds to read one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sears_dsl.errors import CacheError
from sears_dsl.models.predictor import Answer
from sears_dsl.runtime.closing import Closing

SCHEMA_VERSION = 2
_APPLICATION_ID = 0x53504C42  # "SPLB", in the header of the file
_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, identity TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS predictions (
    model INTEGER, key BLOB, label TEXT, confidence REAL, PRIMARY KEY (model, key)) WITHOUT ROWID;
"""
# In the column `confidence`, NULL stands for "nobody asked", this for "asked, and not given".
_NOT_GIVEN = -1.0
_KEYS_A_QUERY = 1_000
_SECONDS_TO_WAIT = 60.0


class PredictionStore(Closing):
    """A file of predictions; close it, or use it in a ``with`` statement.

    Args:
        path: the file; it and its folder are made where they are not there.

    Raises:
        CacheError: the file cannot be used.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with PredictionStore(Path(folder, "predictions.sqlite3")) as store:
        ...         store.put("demo:predict", {"0a": "positive"})
        ...         store.get("demo:predict", ["0a", "0b"]), store.get("another", ["0a"])
        ({'0a': 'positive'}, {})
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._told("opened"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path,
                timeout=_SECONDS_TO_WAIT,
                isolation_level=None,
                # A page asks its model in another thread than the one that opened the file;
                # one thread at a time, which the callers see to.
                check_same_thread=False,
            )
        try:
            with self._told("opened"):
                self._prepare()
        except CacheError:
            self.close()
            raise

    def get(self, identity: str, keys: Sequence[str]) -> dict[str, str]:
        """The labels that this model gave for those of the keys that are known.

        Raises:
            CacheError: the file cannot be read.
        """
        return {key: label for key, label, _ in self._rows(identity, keys)}

    def get_answers(self, identity: str, keys: Sequence[str]) -> dict[str, Answer]:
        """The answers to those of the keys about which the model was asked for its confidence.

        Raises:
            CacheError: the file cannot be read.
        """
        return {
            key: Answer(label, None if confidence == _NOT_GIVEN else confidence)
            for key, label, confidence in self._rows(identity, keys)
            if confidence is not None
        }

    def _rows(self, identity: str, keys: Sequence[str]) -> Iterator[tuple[str, str, float | None]]:
        with self._told("read"):
            model = self._model(identity)
            for first in range(0, len(keys) if model is not None else 0, _KEYS_A_QUERY):
                some = [bytes.fromhex(key) for key in keys[first : first + _KEYS_A_QUERY]]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, label, confidence FROM predictions WHERE model = ? AND key IN ({marks})"  # noqa: S608, E501
                for key, label, confidence in self._connection.execute(query, [model, *some]):
                    if not isinstance(label, str) or not isinstance(confidence, float | None):
                        raise sqlite3.DatabaseError(f"it holds {label!r:.80} as a label")
                    yield key.hex(), label, confidence

    def put(self, identity: str, labels: Mapping[str, str]) -> None:
        """Keep what a model gave: all of it, or nothing where this fails.

        Raises:
            CacheError: the file cannot be written.
        """
        self._put(identity, [(key, label, None) for key, label in labels.items()])

    def put_answers(self, identity: str, answers: Mapping[str, Answer]) -> None:
        """Keep labels with their confidences: all of them, or nothing where this fails.

        Raises:
            CacheError: the file cannot be written.
        """
        self._put(
            identity,
            [
                (key, label, _NOT_GIVEN if confidence is None else confidence)
                for key, (label, confidence) in answers.items()
            ],
        )

    def _put(self, identity: str, rows: Sequence[tuple[str, str, float | None]]) -> None:
        with self._told("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute(
                    "INSERT OR IGNORE INTO models (identity) VALUES (?)", (identity,)
                )
                model = self._model(identity)
                self._connection.executemany(
                    "INSERT OR REPLACE INTO predictions VALUES (?, ?, ?, ?)",
                    [(model, bytes.fromhex(key), *rest) for key, *rest in rows],
                )
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _model(self, identity: str) -> int | None:
        query = "SELECT id FROM models WHERE identity = ?"
        row = self._connection.execute(query, (identity,)).fetchone()
        return None if row is None else int(row[0])

    def _prepare(self) -> None:
        marks = self._pragma("application_id"), self._pragma("user_version")
        tables = self._connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
        if marks != (_APPLICATION_ID, SCHEMA_VERSION) and (tables or any(marks)):
            raise CacheError(
                f"{self.path} is no file of predictions of this version of sears",
                help="name another file, or move this one away",
            )
        # A file may come from elsewhere: what its tables are made of runs no functions.
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute("PRAGMA journal_mode = WAL")
        # Safe when a process is killed; after a power failure the last batches may be missing.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {_APPLICATION_ID}; "
            f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
        )

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            raise CacheError(
                f"the file of predictions {self.path} could not be {done}: {error}",
                help="make room, name another file, or delete this one: the model is then asked "
                "again",
            ) from error
