"""Folders on disks and in object stores, through Arrow's file systems.

In: a path, or a URI such as ``s3://bucket/reviews``. Out: its files with their sizes and times,
files to read, and places to write. Always holds: a file is written whole or not at all. A file
under a path is worked on where it lies. One under a URI (``file://`` too) is copied to this
machine and its result back, which costs the disk space of both.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.extras import need_arrow
from sears_dsl.runtime.files import parse_json

_BLOCK = 8 << 20
_UNFINISHED = ".sears-new"
# What `save_to_disk` of Hugging Face's datasets writes beside the rows; the first one lies beside
# the folders of several datasets, and names them.
_SEVERAL = "dataset_dict.json"
_NOTES = (_SEVERAL, "dataset_info.json", "state.json")
# The user's part of s3://key:secret@bucket/folder.
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


class FolderFile(NamedTuple):
    """A file of a folder."""

    name: str  # its path in the folder, with ``/``
    size: int  # in bytes
    modified: int  # when it was last changed, in nanoseconds; 0 if unknown


@dataclass(frozen=True)
class Folder:
    """A folder, which need not exist yet.

    Example:
        >>> with tempfile.TemporaryDirectory() as place:
        ...     folder = Folder(place)
        ...     folder.write("a/b.txt", b"It is.")
        ...     [(file.name, file.size) for file in folder.files()], folder.read("c.txt")
        ([('a/b.txt', 6)], None)
    """

    written: str  # as the user named it
    # How other processes find it: by the absolute path, or the URI.
    root: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        root = os.path.abspath(self.written) if self.in_place else self.written
        object.__setattr__(self, "root", root)

    @property
    def in_place(self) -> bool:
        """Whether its files can be opened by their names on this machine."""
        return "://" not in self.written

    def __str__(self) -> str:
        """Its name for messages, without the key that a URI may hold."""
        if self.in_place:
            return self.written.rstrip("/")
        return _CREDENTIALS.sub("", self.written.split("?")[0]).rstrip("/")

    def name_of(self, name: str) -> str:
        """What messages call one of its files."""
        return f"{self}/{name}"

    @cached_property
    def _place(self) -> tuple[Any, str]:
        """The file system, and the folder's path in it."""
        need_arrow()
        systems = import_module("pyarrow.fs")
        if self.in_place:
            return systems.LocalFileSystem(), self.root
        try:
            system, path = systems.FileSystem.from_uri(self.written)
        except ValueError as error:
            raise UsageError(
                f"{self} is not the address of a folder: {_first_line(error)}",
                help="write a path, or a URI that Arrow knows: s3://, gs://, abfs://, hdfs://, "
                "file://",
            ) from error
        except OSError as error:
            raise DataError(
                f"{self} cannot be reached: {_first_line(error)}",
                help="check its name, and the settings of the store on this machine "
                "(AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, …)",
            ) from error
        return system, path.rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"written": self.written, "root": self.root}  # Arrow's file systems stay here

    @contextmanager
    def _naming_errors(self, name: str, doing: str) -> Iterator[None]:
        """Raise errors of a file system as `DataError`, with the name of the file."""
        try:
            yield
        except (OSError, ValueError) as error:
            where = self.name_of(name) if name else str(self)
            raise DataError(f"{where} cannot be {doing}: {_first_line(error)}") from error

    def holds(self, other: Folder) -> bool:
        """Whether another folder is this one, or lies in it."""
        (system, path), (other_system, other_path) = self._place, other._place
        if not system.equals(other_system):
            return False
        if system.type_name == "local":
            path, other_path = os.path.realpath(path), os.path.realpath(other_path)
        return PurePosixPath(other_path).is_relative_to(path)

    def files(self) -> list[FolderFile]:
        """All files in it and in its folders, sorted by name; none if it does not exist."""
        system, path = self._place
        selector = import_module("pyarrow.fs").FileSelector(
            path, recursive=True, allow_not_found=True
        )
        with self._naming_errors("", "listed"):
            infos = system.get_file_info(selector)
        return sorted(
            FolderFile(
                str(PurePosixPath(info.path).relative_to(path)), info.size, info.mtime_ns or 0
            )
            for info in infos
            if info.is_file
        )

    def parts(self) -> list[FolderFile]:
        """The files that hold rows: all but hidden ones and marks of engines (``_SUCCESS``)."""
        parts = [
            file
            for file in self.files()
            if not any(piece[0] in "._" for piece in PurePosixPath(file.name).parts)
            and PurePosixPath(file.name).name not in _NOTES
        ]
        if not parts and self.in_place and not os.path.isdir(self.root):
            raise DataError(f"there is no folder {self}", help="check its name")
        if not parts:
            raise DataError(
                f"{self} has no files", help="name a folder with parquet or JSON lines files"
            )
        return parts

    def require_one_dataset(self) -> None:
        """Refuse a folder in which Hugging Face's datasets saved several, such as train and test.

        Raises:
            DataError: it names the folder of each.
        """
        try:
            names = list(map(str, parse_json(self.read(_SEVERAL) or b"{}")["splits"]))
        except (ValueError, KeyError, TypeError):
            return
        if len(names) > 1:
            raise DataError(
                f"{self} holds several datasets: {', '.join(names)}",
                help=f"name the folder of one of them: {self.name_of(names[0])}",
            )

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None if it does not exist."""
        system, path = self._place
        with self._naming_errors(name, "read"):
            try:
                with system.open_input_stream(f"{path}/{name}") as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def open(self, name: str) -> Any:
        """A file of Arrow, which can be read from any position."""
        system, path = self._place
        with self._naming_errors(name, "read"):
            return system.open_input_file(f"{path}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Give a file this content, entirely or not at all."""
        with self._writing(name) as stream:
            stream.write(content)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Any]:
        system, path = self._place
        target = f"{path}/{name}"
        with self._naming_errors(name, "written"):
            system.create_dir(target.rpartition("/")[0], recursive=True)
            with system.open_output_stream(target + _UNFINISHED) as stream:
                yield stream
            system.move(target + _UNFINISHED, target)

    @contextmanager
    def reading(self, name: str) -> Iterator[str]:
        """The name by which a file can be opened on this machine: its own, or that of a copy."""
        if self.in_place:
            yield str(Path(self.root, name))
            return
        with tempfile.TemporaryDirectory(prefix="sears-") as place:
            copy = Path(place, PurePosixPath(name).name)
            with (
                self._naming_errors(name, "read"),
                self.open(name) as stream,
                copy.open("wb") as file,
            ):
                shutil.copyfileobj(stream, file, _BLOCK)
            yield str(copy)

    @contextmanager
    def making(self, name: str) -> Iterator[str]:
        """Where to write a file on this machine; the end of the block brings it into the folder."""
        if self.in_place:
            path = Path(self.root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            yield str(path)
            return
        with tempfile.TemporaryDirectory(prefix="sears-") as place:
            local_path = Path(place, PurePosixPath(name).name)
            yield str(local_path)
            with local_path.open("rb") as file, self._writing(name) as stream:
                shutil.copyfileobj(file, stream, _BLOCK)


def _first_line(error: BaseException) -> str:
    return _CREDENTIALS.sub("", next(iter(str(error).splitlines()), type(error).__name__))
