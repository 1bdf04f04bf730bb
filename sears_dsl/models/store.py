"""Predictions on disk, so that an interrupted run does not ask a slow model again.

Always holds: a label is found only under the identity that gave it; a batch is stored whole or not
at all, and a process that is killed leaves a readable file (SQLite with a write-ahead log); several
processes may use the file at once; a file of another program or another version is refused. The
file holds keys (hashes) and labels, no text. Costs about 60 bytes a row and some microseconds to
read one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from sears_dsl.errors import CacheError
from sears_dsl.models.predictor import Answer
from sears_dsl.runtime.database import Database, rows_of, transaction

# In the column `confidence`, NULL stands for "nobody asked", this for "asked, and not given".
_NOT_GIVEN = -1.0


class PredictionStore(Database):
    """A file of predictions; close it, or use it in a ``with`` statement.

    Raises:
        CacheError: the file cannot be used.
    """

    version = 2
    mark = 0x53504C42  # "SPLB"
    tables = """
CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT UNIQUE);
CREATE TABLE predictions (
    model INTEGER, key BLOB, label TEXT, confidence REAL, PRIMARY KEY (model, key)) WITHOUT ROWID;
"""

    def get(self, identity: str, keys: Sequence[str]) -> dict[str, str]:
        """The labels that this model gave for those of the keys that are known."""
        return {key: label for key, label, _ in self._rows(identity, keys)}

    def get_answers(self, identity: str, keys: Sequence[str]) -> dict[str, Answer]:
        """The answers to those of the keys about which the model was asked for its confidence."""
        return {
            key: Answer(label, None if confidence == _NOT_GIVEN else confidence)
            for key, label, confidence in self._rows(identity, keys)
            if confidence is not None
        }

    def _rows(self, identity: str, keys: Sequence[str]) -> Iterator[tuple[str, str, float | None]]:
        query = "SELECT key, label, confidence FROM predictions WHERE model = ? AND key IN"
        with self.using("read") as connection:
            model = _model(connection, identity)
            if model is None:
                return
            for key, label, confidence in rows_of(
                connection, query, [bytes.fromhex(key) for key in keys], model
            ):
                if not isinstance(label, str) or not isinstance(confidence, float | None):
                    raise sqlite3.DatabaseError(f"it holds {label!r:.80} as a label")
                yield key.hex(), label, confidence

    def put(self, identity: str, labels: Mapping[str, str]) -> None:
        """Keep what a model gave: all of it, or nothing where this fails."""
        self._put(identity, [(key, label, None) for key, label in labels.items()])

    def put_answers(self, identity: str, answers: Mapping[str, Answer]) -> None:
        """Keep labels with their confidences: all of them, or nothing where this fails."""
        self._put(
            identity,
            [
                (key, label, _NOT_GIVEN if confidence is None else confidence)
                for key, (label, confidence) in answers.items()
            ],
        )

    def _put(self, identity: str, rows: Sequence[tuple[str, str, float | None]]) -> None:
        with self.using("written") as connection, transaction(connection):
            connection.execute("INSERT OR IGNORE INTO models (identity) VALUES (?)", (identity,))
            model = _model(connection, identity)
            connection.executemany(
                "INSERT OR REPLACE INTO predictions VALUES (?, ?, ?, ?)",
                [(model, bytes.fromhex(key), *rest) for key, *rest in rows],
            )

    def refused(self, version: int | None) -> CacheError:
        """The error for a file of another program or version."""
        return CacheError(
            f"{self.path} is not a file of predictions of this version of sears",
            help="name another file, or move this one away",
        )

    def unusable(self, error: Exception, action: str) -> CacheError:
        """The error for a file that could not be opened, read or written."""
        return CacheError(
            f"the file of predictions {self.path} could not be {action}: {error}",
            help="make room, name another file, or delete this one: the model is then asked again",
        )


def _model(connection: sqlite3.Connection, identity: str) -> int | None:
    query = "SELECT id FROM models WHERE identity = ?"
    row = connection.execute(query, (identity,)).fetchone()
    return None if row is None else int(row[0])
