"""What a run has found out so far, on disk, so that an interrupted one need not do it again.

In: keys and JSON values, under a kind ("paraphrases", "decisions", …). Out: the values of keys
that are there. Always holds: a call of `put_many` is stored whole or not at all, also under
kill -9; a journal belongs to one task (the settings that its values depend on), and refuses another
one, so that nobody's work is lost by a slip. Costs one SQLite transaction a call; nothing is kept
in memory.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.runtime.closing import Closing
from sears_dsl.runtime.documents import parse_json

_VERSION = 1
_KEYS_A_QUERY = 500


class Journal(Closing):
    """A file of findings.

    Args:
        path: the file; None keeps everything in memory.
        task: what the findings depend on, a choice a line; or a function that says so, which is
            called when the first of them is asked for or put in.

    Raises:
        DataError: the file cannot be written, or is no journal of this version.
        UsageError: it holds the findings of another task; says what differs. With a function both
            are raised when it is called.

    Example:
        >>> with Journal(None, task="tau 0.01") as journal:
        ...     journal.put_many("label", {"A fun film.": "positive"})
        ...     journal.get_many("label", ["A fun film.", "A dull film."])
        {'A fun film.': 'positive'}
    """

    def __init__(self, path: Path | None, *, task: str | Callable[[], str]) -> None:
        self.path = path
        self._task: Callable[[], str] | None = None
        try:
            self._connection = sqlite3.connect(path or ":memory:")
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        try:
            # A file may come from elsewhere: what its tables are made of runs no functions.
            self._connection.execute("PRAGMA trusted_schema=OFF")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            if isinstance(task, str):
                self._open(task)
            else:
                self._task = task
        except sqlite3.Error as error:
            self.close()
            raise self._unusable(error) from error
        except SearsError:
            self.close()
            raise

    def _open(self, task: str) -> None:
        with self._connection:
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise DataError(
                    f"{self.path} was written by another version of sears",
                    help="--restart begins anew; the version that wrote it can go on with it",
                )
            self._connection.execute(f"PRAGMA user_version={_VERSION}")
            self._connection.execute("CREATE TABLE IF NOT EXISTS task (text TEXT NOT NULL)")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS findings (kind TEXT NOT NULL, key TEXT NOT NULL, "
                "value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID"
            )
            before = self._connection.execute("SELECT text FROM task").fetchone()
            if before is None:
                self._connection.execute("INSERT INTO task VALUES (?)", (task,))
            elif before != (task,):
                raise self._another(before[0].splitlines(), task.splitlines())

    def _begin(self) -> None:
        """What is left to do before the first finding, where the task was not known until now."""
        if self._task is not None:
            task = self._task()
            self._open(task)
            self._task = None

    def _another(self, before: Sequence[str], now: Sequence[str]) -> UsageError:
        had = ", ".join(line for line in before if line not in now) or "nothing of this"
        has = ", ".join(line for line in now if line not in before) or "nothing of that"
        return UsageError(
            f"the interrupted run in {self.path} worked with {had}; this one with {has}",
            help="give the same options to go on, or --restart to begin anew",
        )

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, Any]:
        """The values of those keys that are there.

        Raises:
            DataError: the file cannot be read.
        """
        found: dict[str, Any] = {}
        try:
            self._begin()
            for first in range(0, len(keys), _KEYS_A_QUERY):
                some = keys[first : first + _KEYS_A_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, value FROM findings WHERE kind = ? AND key IN ({marks})"  # noqa: S608
                for key, value in self._connection.execute(query, (kind, *some)):
                    found[key] = parse_json(value)
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise self._unusable(error) from error
        return found

    def put_many(self, kind: str, values: Mapping[str, Any]) -> None:
        """Store values; what is stored under the same kind and keys is replaced.

        Raises:
            DataError: the file cannot be written.
        """
        rows = [(kind, key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        insertion = "INSERT OR REPLACE INTO findings VALUES (?, ?, ?)"
        try:
            self._begin()
            with self._connection:
                self._connection.executemany(insertion, rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def damaged(self, kind: str) -> DataError:
        """The error for a value that no version of sears wrote under this kind."""
        return self._unusable(ValueError(f"what it holds as {kind} is nothing of the kind"))

    def close(self) -> None:
        """Close the file; the journal is of no use afterwards."""
        self._connection.close()

    def _unusable(self, error: Exception) -> DataError:
        return DataError(
            f"{self.path}: the journal of the run cannot be used: {error}",
            help="make room, then go on with --resume; where the file is damaged, begin anew with "
            "--restart",
        )
