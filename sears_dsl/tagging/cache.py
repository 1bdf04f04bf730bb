"""Tagged texts on disk, so that the same text is tagged once.

Always holds: the key is a hash of the text with the tagger's name and version, so a tagger finds
nothing that another one, or an older version, stored; the file holds places and tags, no text; what
is read back is checked, and a file that is damaged or of another version is refused, never misread.
Several processes may read and write at once, and one that is killed leaves a readable file (SQLite
with a write-ahead log). A cache that cannot be used is an error: nothing is lost, and the caller
may go on without it. Costs about 12 bytes a token and 60 a text on disk, and a microsecond a token
to read. Beyond `max_bytes`, the texts that were stored longest ago are deleted.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from sears_dsl.errors import CacheError, TaggerError, UsageError
from sears_dsl.runtime.array_types import Int32Array, Int64Array
from sears_dsl.runtime.database import Database, pragma, rows_of, transaction
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Tokens, text_groups

# What SQLite adds to the name of the file for the files beside it.
PART_SUFFIXES = ("", "-wal", "-shm")
CLEAR = "empty it with `sears cache clear`, or run without it: --no-cache"


FILE_NAME = "tags.sqlite3"
# A token is three of these: first character, one past the last, number of its tag pair.
_CELL = np.dtype("<i4")
_TOKEN_BYTES = 3 * _CELL.itemsize
# So much is tagged before it is stored; no more is lost when a process is killed.
_CHARACTERS_A_STEP = 1_000_000


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    path: Path
    entries: int
    bytes: int
    taggers: dict[str, int]


class TagCache(Database):
    """A file of tagged texts.

    Tag pairs and taggers are never deleted: a process may hold their numbers while another one
    empties the cache.

    Args:
        path: the folder of the file, made if need be; None takes the environment variable
            SEARS_CACHE, else the user's cache folder.
        max_bytes: size at which old entries make room.

    Raises:
        CacheError: the folder cannot be written, or the file is damaged or of another version.
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

    def __init__(self, path: Path | None = None, *, max_bytes: int = 4 << 30) -> None:
        self._max_bytes = max_bytes
        self.file = _folder(path) / FILE_NAME
        super().__init__(self.file)

    def in_front_of(self, tagger: Tagger) -> CachedTagger:
        """A tagger that stores here what it tags."""
        return CachedTagger(tagger, self)

    def get_many(
        self, tagger: str, version: str, texts: Sequence[str]
    ) -> tuple[NDArray[np.bool_], Tokens]:
        """Which of the texts are there, and the tokens of those that are, in order."""
        keys = _keys(tagger, version, texts)
        stored: dict[bytes, bytes] = {}
        with self.using("read") as connection:
            distinct_keys = list(dict.fromkeys(keys))
            query = "SELECT key, checksum, tokens FROM texts WHERE key IN"
            for key, checksum, blob in rows_of(connection, query, distinct_keys):
                if (
                    not isinstance(blob, bytes)
                    or zlib.crc32(blob) != checksum
                    or len(blob) % _TOKEN_BYTES
                ):
                    raise self.damaged()
                stored[key] = blob
            present = np.array([key in stored for key in keys], np.bool_)
            blobs = [stored[key] for key in keys if key in stored]
            stored_texts = [text for text, key in zip(texts, keys, strict=True) if key in stored]
            cells = np.frombuffer(b"".join(blobs), _CELL).reshape(-1, 3)
            row_offsets = np.cumsum([0, *(len(blob) // _TOKEN_BYTES for blob in blobs)])
            if not _lie_in_order(cells, row_offsets, stored_texts):
                raise self.damaged()
            numbers, tag_ids = np.unique(cells[:, 2], return_inverse=True)
            pairs = self._tag_pairs(connection, numbers.tolist())
        return present, Tokens.from_spans(
            stored_texts,
            row_offsets=row_offsets.astype(np.int32),
            starts=cells[:, 0].astype(np.int32),
            ends=cells[:, 1].astype(np.int32),
            tag_ids=tag_ids.astype(np.int32),
            tag_pairs=pairs,
        )

    def put_many(self, tagger: str, version: str, tokens: Tokens) -> None:
        """Store tagged texts; what is stored for them already is replaced.

        Raises:
            CacheError: the file is damaged, or cannot be written: what was in it is untouched.
        """
        keys = _keys(tagger, version, tokens.texts)
        owner = (tagger, version)
        now = time.time_ns() // 1_000_000
        with self.using("written") as connection, transaction(connection):
            blobs = _blobs(connection, tokens)
            connection.execute("INSERT OR IGNORE INTO taggers (name, version) VALUES (?, ?)", owner)
            query = "SELECT id FROM taggers WHERE name = ? AND version = ?"
            [number] = connection.execute(query, owner).fetchone()
            connection.executemany(
                "INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?, ?)",
                [
                    (key, number, now, zlib.crc32(blob), blob)
                    for key, blob in zip(keys, blobs, strict=True)
                ],
            )
            self._make_room(connection)

    def info(self) -> CacheInfo:
        """What the cache holds."""
        with self.using("read") as connection:
            counted = connection.execute(
                "SELECT name, version, n FROM taggers JOIN (SELECT tagger, COUNT(*) AS n "
                "FROM texts GROUP BY tagger) ON id = tagger ORDER BY name, version"
            ).fetchall()
        size = sum(file.stat().st_size for file in _parts(self.file) if file.exists())
        taggers = {f"{name} ({version})": entries for name, version, entries in counted}
        return CacheInfo(self.file, sum(taggers.values()), size, taggers)

    def clear(self, tagger: str | None = None) -> None:
        """Empty the cache, or forget what the taggers of this name tagged."""
        with self.using("emptied") as connection:
            with transaction(connection):
                if tagger is None:
                    connection.execute("DELETE FROM texts")
                else:
                    connection.execute(
                        "DELETE FROM texts WHERE tagger IN (SELECT id FROM taggers WHERE name = ?)",
                        (tagger,),
                    )
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @classmethod
    def remove(cls, path: Path | None = None) -> Path:
        """Empty a cache in whatever state it is, damaged and foreign ones too; its file's path."""
        file = _folder(path) / FILE_NAME
        if not file.exists():
            return file
        try:
            with cls(path) as cache:
                cache.clear()
        except CacheError:
            try:
                for part in _parts(file):
                    part.unlink(missing_ok=True)
            except OSError as error:
                raise CacheError(
                    f"cannot delete the tag cache {file}: {error.strerror}",
                    help="delete it by hand, or set SEARS_CACHE to a folder of your own",
                ) from error
        return file

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        # Another process opens the file itself.
        return partial(TagCache, max_bytes=self._max_bytes), (self.file.parent,)

    def _make_folder(self, folder: Path) -> None:
        try:
            # What is tagged may be private: a new folder is for this user alone.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(
                f"cannot create the folder of the tag cache, {folder}: {error.strerror}",
                help="set SEARS_CACHE to a folder of your own, or run without it: --no-cache",
            ) from error

    def damaged(self) -> CacheError:
        """The error for a file whose content cannot be right."""
        return CacheError(f"the tag cache {self.path} is damaged", help=CLEAR)

    def refused(self, version: int | None) -> CacheError:
        """The error for a file of another program or version."""
        if version is None:
            return CacheError(f"{self.path} is not a tag cache of sears", help=CLEAR)
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
                help="try again when that process is done, or run without it: --no-cache",
            )
        return CacheError(
            f"the tag cache {self.path} could not be {action}: {error}",
            help="make room, set SEARS_CACHE to a folder of your own, or run without it: "
            "--no-cache",
        )

    def _tag_pairs(
        self, connection: sqlite3.Connection, numbers: list[int]
    ) -> list[tuple[str, str]]:
        query = "SELECT id, coarse, fine FROM tag_pairs WHERE id IN"
        rows = rows_of(connection, query, numbers)
        pairs = {number: (coarse, fine) for number, coarse, fine in rows}
        if len(pairs) < len(numbers):
            raise self.damaged()
        return [pairs[number] for number in numbers]

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Where the file is full, drop the quarter of the texts that was stored longest ago."""
        pages = pragma(connection, "page_count") - pragma(connection, "freelist_count")
        if pages * pragma(connection, "page_size") > self._max_bytes:
            connection.execute(
                "DELETE FROM texts WHERE key IN (SELECT key FROM texts ORDER BY stored "
                "LIMIT (SELECT COUNT(*) / 4 + 1 FROM texts))"
            )


class CachedTagger:
    """A tagger that remembers what it tagged; its tokens are those of the tagger itself."""

    def __init__(self, tagger: Tagger, cache: TagCache) -> None:
        self.tagger = tagger
        self.cache = cache
        self.name, self.version, self.language = tagger.name, tagger.version, tagger.language
        # The output of these is not worth storing.
        self.tokenize, self.split, self.sentences = tagger.tokenize, tagger.split, tagger.sentences

    def tag(self, texts: Sequence[str]) -> Tokens:
        """The tokens of each text with their tags, from the cache if they are there."""
        name, version = self.name, self.version
        present, cached = self.cache.get_many(name, version, texts)
        if present.all():
            return cached
        missing = np.flatnonzero(~present)
        distinct = list(dict.fromkeys(texts[row] for row in missing.tolist()))
        parts: list[Tokens] = []
        for group in text_groups(distinct, characters=_CHARACTERS_A_STEP):
            part = self.tagger.tag(group)
            if list(part.texts) != list(group):
                # Pinned tags, for one: the tokens of another text cannot be stored for this one.
                raise TaggerError(
                    f"the tagger {name} returned other texts than it was asked about",
                    help="use it without a cache",
                )
            self.cache.put_many(name, version, part)
            parts.append(part)
        places = {text: len(cached) + place for place, text in enumerate(distinct)}
        order = np.zeros(len(texts), np.int64)
        order[present] = np.arange(len(cached))
        order[missing] = [places[texts[row]] for row in missing.tolist()]
        return Tokens.concatenate([cached, *parts]).select(order)


def _blobs(connection: sqlite3.Connection, tokens: Tokens) -> list[bytes]:
    """The tokens of each text as they are stored; new pairs of tags get numbers."""
    pairs = tokens.types.pairs
    insert = "INSERT OR IGNORE INTO tag_pairs (coarse, fine) VALUES (?, ?)"
    connection.executemany(insert, pairs)
    rows = connection.execute("SELECT id, coarse, fine FROM tag_pairs")
    numbers = {(coarse, fine): number for number, coarse, fine in rows}
    of_type = np.array([numbers[pair] for pair in pairs], _CELL)[tokens.types.pair_of]
    cells = np.column_stack([tokens.starts, tokens.ends, of_type[tokens.type_ids]])
    packed = cells.astype(_CELL).tobytes()
    cuts = (tokens.row_offsets.astype(np.int64) * _TOKEN_BYTES).tolist()
    return [packed[low:high] for low, high in pairwise(cuts)]


def _lie_in_order(cells: Int32Array, row_offsets: Int64Array, texts: Sequence[str]) -> bool:
    """Whether tokens lie in their texts, one behind the other; kernels rely on it."""
    row = np.repeat(np.arange(len(texts)), np.diff(row_offsets))
    starts, ends = cells[:, 0], cells[:, 1]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    behind = (starts[1:] >= ends[:-1]) | (row[1:] != row[:-1])
    return bool(
        (starts >= 0).all()
        and (starts <= ends).all()
        and (ends <= lengths[row]).all()
        and behind.all()
    )


def _folder(path: Path | None) -> Path:
    if path is not None:
        try:
            return Path(path)
        except TypeError as error:
            raise UsageError(
                f"an object of type {type(path).__name__} is not a folder",
                help="pass the path of the cache folder, or None for the usual one",
            ) from error
    return Path(os.environ.get("SEARS_CACHE") or platformdirs.user_cache_dir("sears"))


def _parts(file: Path) -> list[Path]:
    """The file and what SQLite keeps beside it."""
    return [file.with_name(file.name + suffix) for suffix in PART_SUFFIXES]


def _keys(tagger: str, version: str, texts: Sequence[str]) -> list[bytes]:
    """A hash of tagger and text for each text."""
    seed = blake2b(f"{tagger}\0{version}\0".encode(), digest_size=16)
    keys: list[bytes] = []
    for text in texts:
        digest = seed.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys
