"""The file of the tag cache: its tables, and what is wrong with a file that is no such cache.

In: a path. Out: a `Database` whose folder is for this user alone.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sears_dsl.errors import CacheError
from sears_dsl.runtime.database import Database

# What SQLite adds to the name of the file for the files beside it.
PART_SUFFIXES = ("", "-wal", "-shm")
CLEAR = "empty it with `sears cache clear`, or go on without it: --no-cache"


class CacheFile(Database):
    """A SQLite file with the tables of the cache.

    Tag pairs and taggers are never deleted: a process may hold their numbers while another one
    empties the cache.
    """

    version = 1
    mark = 0x53454152  # "SEAR"
    tables = """
CREATE TABLE taggers (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, version TEXT, UNIQUE (name, version));
CREATE TABLE tag_pairs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, coarse TEXT, fine TEXT, UNIQUE (coarse, fine));
CREATE TABLE texts (
    key BLOB PRIMARY KEY, tagger INTEGER, stored INTEGER, checksum INTEGER, tokens BLOB
    ) WITHOUT ROWID;
"""

    def _make_folder(self, folder: Path) -> None:
        try:
            # What is tagged may be private: a new folder is for this user alone.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(
                f"the folder of the tag cache, {folder}, could not be made: {error.strerror}",
                help="set SEARS_CACHE to a folder of your own, or go on without it: --no-cache",
            ) from error

    def damaged(self) -> CacheError:
        """The error for a file whose content cannot be right."""
        return CacheError(f"the tag cache {self.path} is damaged", help=CLEAR)

    def refused(self, version: int | None) -> CacheError:
        """The error for a file of another program or version."""
        if version is None:
            return CacheError(f"{self.path} is no tag cache of sears", help=CLEAR)
        return CacheError(
            f"the tag cache {self.path} was written by another version of sears "
            f"(its format is {version}, this one reads {self.version})",
            help=CLEAR,
        )

    def unusable(self, error: Exception, action: str) -> CacheError:
        """The error for a file that could not be opened, read or written."""
        reason = getattr(error, "sqlite_errorname", "")
        if reason.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return self.damaged()
        if reason.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return CacheError(
                f"the tag cache {self.path} could not be {action}: another process holds it",
                help="try again when that process is done, or go on without it: --no-cache",
            )
        return CacheError(
            f"the tag cache {self.path} could not be {action}: {error}",
            help="make room or set SEARS_CACHE to a folder of your own, or go on without it: "
            "--no-cache",
        )


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
