r"""Decisions on disk, in an append-only file with one JSON object a line.

In: entries. Out: the same entries, even after kill -9. An entry is on the disk before `append`
returns. A last line that a killed process left torn is dropped; any other damage is an error that
names its line. Entries are numbered from 1 without gaps, so that a bad merge is noticed. A journal
belongs to one version of one ruleset, and one process at a time writes it. Costs one fsync an
entry.

The first line names the format, the ruleset and the reviewer:

    {"format": "sears-vetting", "version": 1, "ruleset": {"path": …, "sha256": …}, …}
    {"n": 1, "time": "2026-11-21T17:30:00Z", "reviewer": "ana", "ruleset": "5c4e…", "kind": …}
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from sears_dsl.errors import DataError, UsageError
from sears_dsl.language.loader import with_imports
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.files import Closing, lock, parse_json, read_document

FORMAT = "sears-vetting"
VERSION = 1
# Hex digits of the ruleset's hash that each entry carries; the header has all of them.
_SHORT = 12
# Others may write to a journal, and its values go into rule files, so their form is checked.
REVIEWER = re.compile(r"[\w-][\w.-]{0,63}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
# How many characters of a refused value an error shows.
_SHOWN = 40
# What every journal begins with.
_BEGINNING = json.dumps({"format": FORMAT}).removesuffix("}").encode()

Clock: TypeAlias = Callable[[], datetime]
_NOW: Clock = partial(datetime.now, UTC)


def ruleset_digest(ruleset: Ruleset) -> str:
    """The SHA-256, in hex, of what a ruleset says; comments and blank lines do not count.

    The options and sets of imported files count too, their rules do not.
    """
    digest = hashlib.sha256()
    for each in with_imports([ruleset]):
        content = each if each is ruleset else replace(each, rules=(), name=None, version=None)
        text = replace(content, layout=(), trailing=()).format()
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a journal; `ruleset` is the path of its file, as the reviewer named it."""

    ruleset: str
    sha256: str
    reviewer: str
    began: str


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line after the first, which says whose decisions they are, and about which ruleset.

    Times are in UTC, ``2026-11-21T17:30:00Z``. `sears_dsl.vetting.decisions` lists the kinds.
    """

    number: int
    time: str
    kind: str
    content: Mapping[str, Any]


class Journal(Closing):
    """A journal that this process alone writes; `entries` has all its entries.

    `torn` is the torn last line that was cut off, and `new` says whether this object began the
    file. A journal that is damaged, of another reviewer or about another version of the ruleset is
    refused.
    """

    def __init__(self, path: Path, *, ruleset: Ruleset, reviewer: str, now: Clock = _NOW) -> None:
        self.path = path
        self.reviewer = reviewer
        self._now = now
        self._sha256 = ruleset_digest(ruleset)
        self.new = False
        try:
            # Checked before it is opened, since reading a pipe would wait for a writer.
            if path.exists() and not path.is_file():
                raise OSError(errno.EINVAL, "it is not a regular file")
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise DataError(
                f"the journal {path} could not be opened: {error.strerror}",
                help="choose another place with --journal FILE",
            ) from error
        try:
            # Locked until it is closed; the system releases the lock if this process is killed. On
            # a system without such locks entries stay whole, since each line is one write.
            if not lock(self._descriptor):
                raise UsageError(
                    f"another `sears vet` is writing the journal {path}",
                    help="use its page, stop it (in Python, page.close() does), or decide under "
                    "another name: --reviewer NAME",
                )
            self.torn = ""
            self.new = self._is_new()
            if self.new:
                self.torn = self._mend()
                about = {"path": ruleset.path, "sha256": self._sha256}
                first = {"format": FORMAT, "version": VERSION, "ruleset": about}
                self._write(first | {"reviewer": reviewer, "began": _stamp(now())})
            header, self.entries = read_journal(path)
            check_ruleset(header, path, self._sha256, ruleset.path)
            if header.reviewer != reviewer:
                raise DataError(
                    f"the journal {path} holds the decisions of {header.reviewer}, "
                    f"not of {reviewer}",
                    help="each reviewer has a journal; `sears vetted` merges them",
                )
            # Mended only now, so that a file that is refused stays as it is.
            self.torn = self.torn or self._mend()
        except BaseException:
            if self.new:
                with suppress(OSError):
                    path.unlink()
            os.close(self._descriptor)
            raise

    @property
    def untouched(self) -> bool:
        """Whether the file at `path` is ours, and as we left it."""
        try:
            on_disk = os.stat(self.path)
        except OSError:
            return False
        ours = os.fstat(self._descriptor)
        return (on_disk.st_ino, on_disk.st_size) == (ours.st_ino, self._size)

    def append(self, kind: str, content: Mapping[str, Any]) -> JournalEntry:
        """Add an entry; it is on the disk when this returns."""
        about = {
            "time": _stamp(self._now()),
            "reviewer": self.reviewer,
            "ruleset": self._sha256[:_SHORT],
            "kind": kind,
        }
        entry = JournalEntry(len(self.entries) + 1, about["time"], kind, dict(content))
        if not self.untouched:
            raise DataError(
                f"the journal {self.path} was changed or moved by another program",
                help="nothing more is written to it; start `sears vet` again to continue from what "
                "the file holds now",
            )
        self._write({"n": entry.number, **about, **content})
        self.entries.append(entry)
        return entry

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_new(self) -> bool:
        """Whether the file is empty or holds only the beginning of a journal's first line."""
        data = self.path.read_bytes()
        return b"\n" not in data and (data.startswith(_BEGINNING) or _BEGINNING.startswith(data))

    def _mend(self) -> str:
        """Cut off an unfinished last line, and return it."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._descriptor, whole)
            os.fsync(self._descriptor)
        self._size = whole
        return content[whole:].decode("utf-8", "replace")

    def _write(self, line: Mapping[str, Any]) -> None:
        content = (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
        try:
            written = os.write(self._descriptor, content)
            if written < len(content):
                raise OSError(errno.ENOSPC, "only part of the line was written")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, self._size)
            raise DataError(
                f"the journal {self.path} could not be written: {error.strerror}",
                help="free some space; this decision was not saved, all earlier ones are",
            ) from error
        self._size += len(content)


def read_journal(path: Path) -> tuple[Header, list[JournalEntry]]:
    """Read a journal; a torn last line is ignored and stays in the file."""
    try:
        content = read_document(path)
    except OSError as error:
        raise DataError(f"the journal {path} could not be read: {error.strerror}") from error
    lines = content.split(b"\n")[:-1]
    if not lines:
        fault = "has no complete line" if content else "is empty"
        raise DataError(
            f"{path} {fault}, so it is not a journal of sears vet",
            help="remove it, or name another file",
        )
    header = _header(_object(lines[0], path, 1), path)
    entries = []
    for number, line in enumerate(lines[1:], 1):
        entries.append(_entry(_object(line, path, number + 1), path, number, header))
    return header, entries


def check_ruleset(header: Header, path: Path, sha256: str, ruleset: str) -> None:
    """Refuse a journal about another ruleset than this one."""
    if header.sha256 != sha256:
        raise DataError(
            f"the journal {path} is about another version of the rules: {header.ruleset} "
            f"had hash {header.sha256[:_SHORT]}, and {ruleset} now has hash {sha256[:_SHORT]}",
            help="the rules have changed since they were judged: restore the file that was judged, "
            "or start a new journal with --journal FILE",
        )


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = parse_json(line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise _damaged(path, number, "it is not JSON") from error
    if not isinstance(value, dict):
        raise _damaged(path, number, "it is not a JSON object")
    return value


def _damaged(path: Path, number: int, why: str) -> DataError:
    if number == 1:
        return DataError(
            f"{path} is not a journal of sears vet: {why}",
            help="name a file that `sears vet` wrote",
        )
    return DataError(
        f"{path}: line {number} of the journal is damaged: {why}",
        help="restore the file as `sears vet` wrote it (each line is one decision)",
    )


def _header(line: Mapping[str, Any], path: Path) -> Header:
    if line.get("format") != FORMAT:
        raise _damaged(path, 1, f"it does not begin with the format {FORMAT}")
    if line.get("version") != VERSION:
        raise DataError(
            f"{path} has version {line.get('version')}; this sears reads version {VERSION}",
            help="use the version of sears that wrote it",
        )
    about = line["ruleset"] if isinstance(line.get("ruleset"), dict) else {}
    fields: list[Any] = [
        about.get("path"),
        about.get("sha256"),
        line.get("reviewer"),
        line.get("began"),
    ]
    if not all(isinstance(each, str) for each in fields):
        raise _damaged(path, 1, "ruleset, reviewer or began is missing")
    header = Header(*fields)
    for name, value, form in (
        ("ruleset.sha256", header.sha256, _SHA256),
        ("reviewer", header.reviewer, REVIEWER),
        ("began", header.began, _TIME),
    ):
        if not form.fullmatch(value):
            raise _damaged(path, 1, f"{name} is {value[:_SHOWN]!r}")
    return header


def _entry(line: dict[str, Any], path: Path, number: int, header: Header) -> JournalEntry:
    fields = [line.pop(name, None) for name in ("time", "reviewer", "ruleset", "kind")]
    place = line.pop("n", None)
    if place != number:
        raise _damaged(path, number + 1, f"entry {number} should be here: lines are lost or mixed")
    if not all(isinstance(each, str) for each in fields):
        raise _damaged(path, number + 1, "time, reviewer, ruleset or kind is missing")
    time, reviewer, ruleset, kind = fields
    if not _TIME.fullmatch(time):
        raise _damaged(path, number + 1, f"its time is {time[:_SHOWN]!r}")
    if reviewer != header.reviewer or ruleset != header.sha256[:_SHORT]:
        raise _damaged(path, number + 1, "its reviewer or ruleset is not that of the first line")
    return JournalEntry(number, time, kind, line)
