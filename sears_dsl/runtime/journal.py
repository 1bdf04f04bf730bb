"""What a run has found out so far, on disk, so that an interrupted one need not do it again.

In: keys and JSON values, under a kind ("paraphrases", "decisions", …). Out: the values of keys
that are there. Always holds: a call of `put_many` is stored whole or not at all, also under
kill -9; a journal belongs to one task (the settings that its values depend on), and refuses another
one, so that nobody's work is lost by a slip. Costs one SQLite transaction a call; nothing is kept
in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.runtime.database import Database, rows_of, transaction
from sears_dsl.runtime.files import parse_json


class RunJournal(Database):
    """A file of findings, or without a path what is kept in memory.

    The task is what they depend on, a choice a line; or a function that says so, which is called
    when the first of them is asked for or put in. The findings of another task are refused then,
    with what differs, by a `UsageError`; a file that is not a journal by a `DataError`.

    Example:
        >>> with RunJournal(None, task="tau 0.01") as journal:
        ...     journal.put_many("label", {"A fun film.": "positive"})
        ...     journal.get_many("label", ["A fun film.", "A dull film."])
        {'A fun film.': 'positive'}
    """

    version = 1
    tables = """
CREATE TABLE task (text TEXT NOT NULL);
CREATE TABLE findings (
    kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, key)
    ) WITHOUT ROWID;
"""

    def __init__(self, path: Path | None, *, task: str | Callable[[], str]) -> None:
        self._task: Callable[[], str] | None = (lambda: task) if isinstance(task, str) else task
        super().__init__(path)
        try:
            if isinstance(task, str):
                self._begin()
        except SearsError:
            self.close()
            raise

    def _begin(self) -> None:
        """What is left to do before the first finding, since the task is known only then."""
        if self._task is None:
            return
        task = self._task()
        with self.using("opened") as connection, transaction(connection):
            before = connection.execute("SELECT text FROM task").fetchone()
            if before is None:
                connection.execute("INSERT INTO task VALUES (?)", (task,))
            elif before != (task,):
                raise self._another(str(before[0]).splitlines(), task.splitlines())
        self._task = None

    def _another(self, before: Sequence[str], now: Sequence[str]) -> UsageError:
        old = ", ".join(line for line in before if line not in now) or "nothing of this"
        new = ", ".join(line for line in now if line not in before) or "nothing of that"
        return UsageError(
            f"the interrupted run in {self.path} worked with {old}; this one with {new}",
            help="give the same options to go on, or --restart to begin anew",
        )

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, Any]:
        """The values of those keys that are there."""
        self._begin()
        query = "SELECT key, value FROM findings WHERE kind = ? AND key IN"
        try:
            with self.using("read") as connection:
                rows = rows_of(connection, query, keys, kind)
                return {key: parse_json(value) for key, value in rows}
        except (ValueError, TypeError) as error:
            raise self.unusable(error, "read") from error

    def put_many(self, kind: str, values: Mapping[str, Any]) -> None:
        """Store values; what is stored under the same kind and keys is replaced."""
        rows = [(kind, key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
        self._begin()
        with self.using("written") as connection, transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO findings VALUES (?, ?, ?)", rows)

    def damaged(self, kind: str) -> DataError:
        """The error for a value that no version of sears wrote under this kind."""
        return self.unusable(ValueError(f"what it holds as {kind} is nothing of the kind"), "read")

    def refused(self, version: int | None) -> DataError:
        """The error for a file of another version."""
        return DataError(
            f"{self.path} was written by another version of sears",
            help="--restart begins anew; the version that wrote it can go on with it",
        )

    def unusable(self, error: Exception, action: str) -> DataError:
        """The error for a file that could not be read or written."""
        return DataError(
            f"{self.path}: the journal of the run cannot be used: {error}",
            help="make room, then go on with --resume; where the file is damaged, begin anew with "
            "--restart",
        )
