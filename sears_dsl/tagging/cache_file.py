"""The file of the tag cache: opened by one process or many, refused where it does not fit.

In: a path. Out: a connection to a SQLite file with our tables, for one thread at a time. Always
holds: a file of another program, of another version of the format or damaged is refused with a
`CacheError`; several processes may open, read and write it at once; after a fork the child opens
it itself; a process that is killed leaves a readable file (write-ahead log).
Costs some milliseconds to open.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sears_dsl.errors import CacheError

# What SQLite adds to the name of the file for the files beside it.
PART_SUFFIXES = ("", "-wal", "-shm")
CLEAR = "empty it with `sears cache clear`, or go on without it: --no-cache"

# Raised whenever the tables or the blobs change: other versions are refused.
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x53454152  # "SEAR", in the header of the file

# Tag pairs and taggers are never deleted: a process may hold their numbers while another one
# empties the cache.
_SCHEMA = """
CREATE TABLE taggers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, version TEXT, UNIQUE (name, version));
CREATE TABLE tag_pairs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, coarse TEXT, fine TEXT, UNIQUE (coarse, fine));
CREATE TABLE texts (
    key BLOB PRIMARY KEY, tagger INTEGER, stored INTEGER, checksum INTEGER, tokens BLOB
    ) WITHOUT ROWID;
"""
_SECONDS_TO_WAIT = 60.0


class CacheFile:
    """A SQLite file with the tables of the cache.

    Args:
        path: the file; it and its folder are made where they are not there.

    Raises:
        CacheError: it cannot be made, or is not a file of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        with self.using("opened"):
            pass

    def close(self) -> None:
        """Close the file; using it again opens it again."""
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._process)
                self._connection = None

    @contextmanager
    def using(self, done: str) -> Iterator[sqlite3.Connection]:
        """The open file, for one thread at a time; what goes wrong with it is told."""
        with self._lock:
            try:
                yield self._open()
            except sqlite3.DatabaseError as error:
                raise self._told(error, done) from error

    def _open(self) -> sqlite3.Connection:
        # After a fork the parent's connection must be neither used nor closed here; its
        # finalizer knows whose it is.
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        try:
            # What is tagged may be private: a new folder is for this user alone.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(
                f"the folder of the tag cache, {self.path.parent}, could not be made: "
                f"{error.strerror}",
                help="set SEARS_CACHE to a folder of your own, or go on without it: --no-cache",
            ) from error
        connection = sqlite3.connect(
            self.path, timeout=_SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
        )
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
        # A file may come from elsewhere: what its tables are made of runs no functions.
        connection.execute("PRAGMA trusted_schema = OFF")
        if _is_new(connection):
            _write_ahead(connection)
            with transaction(connection):
                if _is_new(connection):
                    for statement in _SCHEMA.split(";")[:-1]:
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if pragma(connection, "application_id") != _APPLICATION_ID:
            raise CacheError(f"{self.path} is no tag cache of sears", help=CLEAR)
        version = pragma(connection, "user_version")
        if version != SCHEMA_VERSION:
            raise CacheError(
                f"the tag cache {self.path} was written by another version of sears "
                f"(its format is {version}, this one reads {SCHEMA_VERSION})",
                help=CLEAR,
            )
        # Safe when a process is killed; after a power failure the last texts may be missing.
        connection.execute("PRAGMA synchronous = NORMAL")

    def damaged(self) -> CacheError:
        """The error for a file whose content cannot be right."""
        return CacheError(f"the tag cache {self.path} is damaged", help=CLEAR)

    def _told(self, error: sqlite3.DatabaseError, done: str) -> CacheError:
        reason = getattr(error, "sqlite_errorname", "")
        if reason.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return self.damaged()
        if reason.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return CacheError(
                f"the tag cache {self.path} could not be {done}: another process holds it",
                help="try again when that process is done, or go on without it: --no-cache",
            )
        return CacheError(
            f"the tag cache {self.path} could not be {done}: {error}",
            help="make room or set SEARS_CACHE to a folder of your own, or go on without it: "
            "--no-cache",
        )


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number that SQLite keeps about the file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _is_new(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    marks = (pragma(connection, "application_id"), pragma(connection, "user_version"))
    return tables == 0 and marks == (0, 0)


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch a new file to a write-ahead log; SQLite does not wait for others here itself."""
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


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; others wait to write meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def number_of(
    connection: sqlite3.Connection, table: str, columns: tuple[str, str], values: tuple[str, str]
) -> int:
    """The number of a pair in a table, new if need be."""
    first, second = columns
    query = f"SELECT id FROM {table} WHERE {first} = ? AND {second} = ?"  # noqa: S608
    row = connection.execute(query, values).fetchone()
    if row is None:
        insert = f"INSERT INTO {table} ({first}, {second}) VALUES (?, ?)"  # noqa: S608
        return int(connection.execute(insert, values).lastrowid or 0)
    return int(row[0])


def _close(connection: sqlite3.Connection, process: int) -> None:
    """Close a connection in the process that opened it, and nowhere else."""
    if process == os.getpid():
        connection.close()
