"""SQLite files that several processes may share, and the journal of a run, which is one of them.

In: a path, or None for memory. Out: a connection to a file with the tables of this package, for one
thread at a time. Always holds: a file that is damaged, or written by another program or version, is
refused with an error that says so. Several processes may open, read and write a file at once; after
a fork the child opens it itself. A process that is killed leaves a readable file (write-ahead log).
Opening costs some milliseconds.

A `RunJournal` keeps the results of a run so far, so that an interrupted run need not work them out
again. It holds keys with JSON values under a kind ("paraphrases", "decisions", …). A call of
`put_many` is stored whole or not at all, even under kill -9. A journal belongs to one task, the
settings that its values depend on, and refuses any other, so that no work is lost by a slip. Costs
one transaction a call; nothing is kept in memory.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from sears_dsl.errors import DataError, SearsError, UsageError
from sears_dsl.runtime.files import Closing, parse_json

_KEYS_A_QUERY = 500
_SECONDS_TO_WAIT = 60.0


class Database(Closing, ABC):
    """Base of our kinds of files. A missing file is made, with its folder; None is in memory."""

    tables: ClassVar[str]  # the statements that make its tables
    # Increased whenever the tables or their contents change; other versions are refused.
    version: ClassVar[int]
    mark: ClassVar[int] = 0  # the application id in the header of the file; 0 for none

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        with self.using("opened"):
            pass

    @abstractmethod
    def refused(self, version: int | None) -> SearsError:
        """The error for a file of another version, or, where that is None, of another program."""

    @abstractmethod
    def unusable(self, error: Exception, action: str) -> SearsError:
        """The error for a file that could not be opened, read or written, as ``action`` says."""

    @contextmanager
    def using(self, action: str) -> Iterator[sqlite3.Connection]:
        """The open file, for one thread at a time; its errors are raised as `unusable` has them."""
        with self._lock:
            try:
                yield self._open()
            except (sqlite3.Error, OSError) as error:
                raise self.unusable(error, action) from error

    def close(self) -> None:
        """Close the file; using it again opens it again."""
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._process)
                self._connection = None

    def _make_folder(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    def _open(self) -> sqlite3.Connection:
        # After a fork the parent's connection must be neither used nor closed here; its
        # finalizer knows which process owns it.
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self.path is not None:
            self._make_folder(self.path.parent)
        # A page asks its model in a thread other than the one that opened the file.
        connection = sqlite3.connect(
            self.path or ":memory:", timeout=_SECONDS_TO_WAIT, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        weakref.finalize(self, _close, connection, os.getpid())
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables in a new file; refuse one that is not ours or of another version."""
        # A file may come from elsewhere: its schema must not run functions.
        connection.execute("PRAGMA trusted_schema = OFF")
        if _is_new(connection):
            _write_ahead(connection)
            with transaction(connection):
                if _is_new(connection):
                    for statement in self.tables.split(";")[:-1]:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {self.mark}")
                    connection.execute(f"PRAGMA user_version = {self.version}")
        if pragma(connection, "application_id") != self.mark:
            raise self.refused(None)
        version = pragma(connection, "user_version")
        if version != self.version:
            raise self.refused(version)
        # Safe when a process is killed; a power failure may lose the last transactions.
        connection.execute("PRAGMA synchronous = NORMAL")


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number that SQLite keeps about the file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def rows_of(
    connection: sqlite3.Connection, query: str, keys: Sequence[Any], *fixed: object
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query that ends with ``key IN``, which is run for some hundred keys at once."""
    for first in range(0, len(keys), _KEYS_A_QUERY):
        part = keys[first : first + _KEYS_A_QUERY]
        marks = ",".join("?" * len(part))
        yield from connection.execute(f"{query} ({marks})", (*fixed, *part))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A block whose changes are stored all or not at all; other writers wait meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_new(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    marks = (pragma(connection, "application_id"), pragma(connection, "user_version"))
    return tables == 0 and marks == (0, 0)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch a new file to a write-ahead log; here SQLite does not wait for others by itself."""
    deadline = time.monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _close(connection: sqlite3.Connection, process: int) -> None:
    """Close a connection in the process that opened it, and nowhere else."""
    if process == os.getpid():
        connection.close()


class OtherTaskError(UsageError):
    """An interrupted run had another task, so this one cannot continue it."""


class RunJournal(Database):
    """The findings of a run, in a file, or without a path in memory.

    The task says what they depend on, one choice a line; lines that begin with "sears" are about
    this package. It may be a function, which is called when the first finding is asked for or
    stored. A journal of another task is refused then, with an `OtherTaskError` that says what
    differs; a file that is not a journal, with a `DataError`.

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
        """Compare or store the task before the first finding, since it may be known only then."""
        if self._task is None:
            return
        # A database takes no name of a file in other bytes than UTF-8.
        task = self._task().encode("utf-8", "backslashreplace").decode()
        with self.using("opened") as connection, transaction(connection):
            before = connection.execute("SELECT text FROM task").fetchone()
            if before is None:
                connection.execute("INSERT INTO task VALUES (?)", (task,))
            elif before != (task,):
                raise self._other_task(str(before[0]).splitlines(), task.splitlines())
        self._task = None

    def _other_task(self, before: Sequence[str], now: Sequence[str]) -> OtherTaskError:
        old = ", ".join(line for line in before if line not in now) or "nothing of this"
        new = ", ".join(line for line in now if line not in before) or "nothing of that"
        advice = "use the same options and packages to continue it, or --restart to start over"
        if any(line.startswith("sears ") for line in now if line not in before):
            advice = "sears itself has changed since: only --restart helps, which starts over"
        return OtherTaskError(
            f"the interrupted run in {self.path} used {old}, but this one uses {new}", help=advice
        )

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, Any]:
        """The stored values of these keys; a key without a value is left out."""
        self._begin()
        query = "SELECT key, value FROM findings WHERE kind = ? AND key IN"
        try:
            with self.using("read") as connection:
                rows = rows_of(connection, query, keys, kind)
                return {key: parse_json(value) for key, value in rows}
        except (ValueError, TypeError) as error:
            raise self.unusable(error, "read") from error

    def put_many(self, kind: str, values: Mapping[str, Any]) -> None:
        """Store values; they replace those of the same kind and keys."""
        # As ASCII, since a database takes no half of a character, which a text may have.
        rows = [(kind, key, json.dumps(value)) for key, value in values.items()]
        self._begin()
        with self.using("written") as connection, transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO findings VALUES (?, ?, ?)", rows)

    def damaged(self, kind: str) -> DataError:
        """The error for a value that no version of sears wrote under this kind."""
        return self.unusable(ValueError(f"what it has as {kind} is not of that kind"), "read")

    def refused(self, version: int | None) -> DataError:
        """The error for a file of another version."""
        return DataError(
            f"{self.path} was written by another version of sears",
            help="--restart starts over; the version that wrote it can continue it",
        )

    def unusable(self, error: Exception, action: str) -> DataError:
        """The error for a file that could not be read or written."""
        return DataError(
            f"{self.path}: the journal of the run cannot be used: {error}",
            help="make room, then continue with --resume; if the file is damaged, start over with "
            "--restart",
        )
