"""Output of a run that can be killed at any time and resumed: finished batches are kept beside it.

In: the parts of a file, in order. Out: the file, or ``OUTPUT.sears-partial/`` with the parts that
are finished. Always holds: OUTPUT is what it was before, or complete; a part that is resumed is
whole, as its checksum shows (so that no part has to wait for the disk); parts are resumed only for
the same job, as the manifest shows; two processes never work on one output. Costs a second copy of
the output on disk until it is complete.

    OUTPUT.sears-partial/
        manifest.json      what the job is: input, rules, options, versions
        lock               held by the process at work
        00000000.part      a line of JSON (size and checksum of what follows, the batch's counts),
                           then the bytes of the batch
        output             the file while it is put together
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from sears_dsl.data.streams import state_of
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.files import (
    is_folder,
    make_private_folder,
    parse_json,
    read_document,
    sync_folder,
    take_lock,
)

_FOLDER = ".sears-partial"
# All files of such a folder but the lock.
_OURS = re.compile(r"manifest\.json(\.new)?|\d+\.part(\.new)?|output")
# A process that ends may remove the folder while another one opens it; a second try will do.
_ATTEMPTS = 100


class PartialOutput:
    """The folder of an unfinished output; a context manager that lets go of its lock.

    With ``resume`` and the same manifest (flat and JSON-able), ``finished`` is how many parts are
    there at the start and need not be made again; without, all of them are removed. The ``note``
    says what happened to them.

    DataError: the folder of the output is missing or not writable, the disk is full, or another
    process is writing this output. UsageError: a job to resume is not the one that was interrupted.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     path = Path(place, "out.txt")
        ...     with PartialOutput(path, {"rules": "1"}, resume=False) as partial:
        ...         partial.put(0, {"rows": 1}, b"It is.")
        ...         partial.complete(lambda file: file.writelines(partial.parts()))
        ...     path.read_bytes()
        b'It is.'
    """

    def __init__(self, output: Path, manifest: Mapping[str, Any], *, resume: bool) -> None:
        self.output = Path(os.path.realpath(output))
        self.folder = _folder_beside(self.output)
        self.finished = 0
        self.note = ""
        self._count = 0
        if not is_folder(self.output.parent):
            raise DataError(
                f"{output} cannot be written: there is no folder {self.output.parent}",
                help=f"make it first: mkdir -p {self.output.parent}",
            )
        self._before = state_of(self.output)
        self._claim()
        try:
            self._begin(dict(manifest), resume=resume)
        except BaseException:
            self._count = self._whole_parts()  # an interrupt may come before they are counted
            self.__exit__()
            raise

    def __enter__(self) -> PartialOutput:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._lock.closed:
            return
        if self._count:
            self._lock.close()
        else:  # nothing worth resuming
            self._remove()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            advice = "make room, or choose another place"
            if self._count:
                advice = (
                    "make room, then run the same command with --resume; finished batches are "
                    f"kept in {self.folder}"
                )
            raise DataError(
                f"cannot write {self.output}: {error.strerror or error}", help=advice
            ) from error

    def _claim(self) -> None:
        """Lock the folder; the system lets go of it when this process ends in any way."""
        for attempts_left in reversed(range(_ATTEMPTS)):
            with self._writing():
                try:
                    make_private_folder(self.folder)
                    held = take_lock(self.folder / "lock")
                except (FileExistsError, FileNotFoundError):
                    # This also happens while another process removes the folder.
                    if not attempts_left:
                        raise
                    continue
            if held is None:
                break
            self._lock = held
            return
        raise DataError(f"another process is writing {self.output}", help="wait for it, or stop it")

    def _remove(self) -> None:
        """Remove the folder, its lock last: whoever comes next finds all of it or nothing."""
        with suppress(OSError):
            self._empty()
            if os.name == "nt":  # no open file can be removed there
                self._lock.close()
            (self.folder / "lock").unlink()
            self.folder.rmdir()
        self._lock.close()

    def _empty(self) -> None:
        """Remove all files of the folder but the lock."""
        for leftover in self.folder.iterdir():
            if _OURS.fullmatch(leftover.name):
                leftover.unlink()

    def _begin(self, manifest: dict[str, Any], *, resume: bool) -> None:
        path = self.folder / "manifest.json"
        manifest = json.loads(json.dumps(manifest))
        before = None
        with self._writing():
            if path.exists():
                with suppress(ValueError):
                    before = parse_json(read_document(path))
        # Parts that only go away need not be read.
        count = self._whole_parts() if resume else len(list(self.folder.glob("*.part")))
        if resume and isinstance(before, dict):
            check_same_run(self.folder, before, manifest)
            self.finished = self._count = count
            self.note = f"resumed after {count} finished batches"
            return
        if resume:
            self.note = "nothing to resume; started from the beginning"
        elif count:
            self.note = (
                f"discarded {count} finished batches of an interrupted run; --resume would use them"
            )
        with self._writing():
            self._empty()
            self._put_file(path.name, [json.dumps(manifest, indent=1).encode()])

    def _whole_parts(self) -> int:
        """How many whole parts there are without a gap; a machine that stops may tear one."""
        count = 0
        while _is_whole(_part_path(self.folder, count)):
            count += 1
        return count

    def _put_file(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file of the folder, entirely or not at all, even if this process is killed."""
        temporary = self.folder / f"{name}.new"
        with open(temporary, "wb") as file:
            file.writelines(pieces)
        os.replace(temporary, self.folder / name)

    def put(self, number: int, counts: Mapping[str, Any], part: bytes) -> None:
        """Keep a finished part, under its position among the parts, from 0."""
        with self._writing():
            head = {"bytes": len(part), "crc32": zlib.crc32(part), "counts": counts}
            line = json.dumps(head).encode() + b"\n"
            self._put_file(_part_path(self.folder, number).name, [line, part])
        self._count = number + 1

    def counts(self, number: int) -> Any:
        """The counts that were put with a part."""
        with open(_part_path(self.folder, number), "rb") as file:
            return json.loads(file.readline())["counts"]

    def parts(self) -> Iterable[bytes]:
        """All parts in order, one in memory at a time; can be gone through again."""
        return _PartContents([_part_path(self.folder, number) for number in range(self._count)])

    def complete(self, write: Callable[[BinaryIO], object]) -> None:
        """Put the output together by ``write``, give it its place and remove the folder.

        A full disk, or an output that somebody else wrote meanwhile, is a `DataError`, and the
        parts are kept. If ``write`` raises one, they cannot make a file, and are removed.
        """
        joined = self.folder / "output"
        with self._writing():
            with open(joined, "wb") as file:
                try:
                    write(file)
                except DataError:
                    self._count = 0
                    raise
                file.flush()
                os.fsync(file.fileno())
            if state_of(self.output) not in (None, self._before):
                raise DataError(
                    f"another process wrote {self.output} in the meantime; it is left as it is",
                    help="move it away, then run the same command with --resume; finished batches "
                    f"are kept in {self.folder}",
                )
            if self.output.exists():
                os.chmod(joined, self.output.stat().st_mode & 0o7777)
            os.replace(joined, self.output)
            sync_folder(self.output.parent)
        self._remove()


def kept_parts(output: str) -> Path | None:
    """The folder that an interrupted run has left, if a part of its output is finished.

    Example:
        >>> kept_parts("out.csv") is None
        True
    """
    folder = _folder_beside(Path(os.path.realpath(output)))
    return folder if _part_path(folder, 0).is_file() else None


def _folder_beside(output: Path) -> Path:
    return output.with_name(output.name + _FOLDER)


def _part_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08}.part"


def check_same_run(
    output: object,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    advice: str = "leave out --resume to start from the beginning",
) -> None:
    """Refuse to go on with a run as a different one; the `UsageError` says what differs."""
    differing = [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]
    if differing:
        raise UsageError(
            f"the interrupted run of {output} had other settings: {'; '.join(differing)}",
            help=advice,
        )


class _PartContents(Iterable[bytes]):
    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[bytes]:
        for path in self._paths:
            with open(path, "rb") as file:
                file.readline()
                yield file.read()


def _is_whole(path: Path) -> bool:
    """Whether a part is there, with the bytes that were put."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        line, part = file.readline(), file.read()
    try:
        head = parse_json(line)
    except ValueError:
        return False
    expected = {"bytes": len(part), "crc32": zlib.crc32(part)}
    return (
        isinstance(head, dict)
        and all(head.get(name) == value for name, value in expected.items())
        and isinstance(head.get("counts"), dict)
    )
