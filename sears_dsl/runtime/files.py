r"""Files: read as nothing but data, written whole, locked by one process; the folders of runs.

Reading gives bytes, or what JSON says. Only a regular file is read, since a pipe would wait for
ever and a device would never end, and no more of it than a bound. JSON that is nested too deeply is
an error like JSON that does not close. Nothing that a document names is imported, called or opened.
A private folder leads nowhere else. Errors say what is wrong; callers add what to do about it.

Writing makes a file beside the path, syncs and renames it, so the path has its old content or the
whole new one. A symbolic link stays, and its target is written. An existing file keeps its mode; a
new one has that of the user's umask. What cannot be replaced (a device, a pipe) is written in
place. The file gets a new inode, so other hard links keep the old content, and it belongs to
whoever writes it. Costs a sync of file and folder.

No `lock` outlives a killed process: the system releases it when its holder ends in any way.
`Closing` is the base of whatever else holds a file, a database or processes.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import secrets
import stat
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Self

from sears_dsl.errors import DataError, ModelError, SearsError

MOST_BYTES = 256 * 1024 * 1024
"""The largest document that is read; those of a hundred thousand rules stay far below."""

_PACKAGE = Path(__file__).resolve().parents[1]
_BINARY = getattr(os, "O_BINARY", 0)
_MARK = "mark"
_KEY_BYTES = 32


def read_document(path: Path, *, most: int = MOST_BYTES) -> bytes:
    r"""The content of a regular file of at most ``most`` bytes.

    Raises OSError if it does not exist, is not a regular file, is too large or cannot be read. The
    ``strerror`` of the error is written for people.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    # O_NONBLOCK: a pipe that nobody writes to opens at once, and is then refused.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20:,} MiB", str(path))
    return content


def parse_json(content: bytes | str) -> Any:
    """The value that JSON stands for; ValueError if it is not valid or nested too deeply.

    Example:
        >>> parse_json('{"a": 1}')
        {'a': 1}
        >>> parse_json("[" * 100_000)
        Traceback (most recent call last):
        ...
        ValueError: it is nested too deeply
    """
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:  # points to the last line if the text ends too early
        end = len(error.doc.rstrip())
        raise json.JSONDecodeError(error.msg, error.doc, min(error.pos, end)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_numbers_file(path: Path, *, version: int, advice: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes and the content of a JSON file of numbers that comes with the package.

    Raises `ModelError` if it cannot be read, or is of another version than the code.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.json")
        ...     _ = path.write_text('{"version": 2, "tau": 0.5}')
        ...     read_numbers_file(path, version=2, advice="install it again")[1]["tau"]
        0.5
    """
    try:
        content = path.read_bytes()
        entry = parse_json(content.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}", help=advice) from error
    stated = entry.get("version") if isinstance(entry, dict) else None
    if stated != version:
        raise ModelError(
            f"{path} is of version {stated}, but this package reads version {version}", help=advice
        )
    return content, entry


def make_private_folder(folder: Path) -> None:
    """Make the folder in which a run keeps files until it is done, or take one that exists.

    A new one is for this user alone. One that exists may have come along with other people's files,
    so it must lead nowhere else: whatever is written or removed lies in it. Raises OSError if it
    cannot be made, is or holds a link, holds a pipe or the like, or is another account's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    within = list(folder.iterdir())
    if any(each.is_symlink() for each in (folder, *within)):
        raise OSError(
            errno.ELOOP, "it is or holds a link to another place; remove that", str(folder)
        )
    for each in within:
        with suppress(FileNotFoundError):  # removed by a run that is just ending
            mode = each.stat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise OSError(
                    errno.EINVAL, "it holds something that is no file and no folder", str(folder)
                )
    # Where all can write, such as in /tmp, another account may have made it beforehand.
    if os.name != "nt" and folder.stat().st_uid not in (os.geteuid(), folder.parent.stat().st_uid):
        raise OSError(errno.EPERM, "it belongs to another account", str(folder))


def mark(folder: Path) -> None:
    """Mark a folder as made by this user, so that `is_marked` knows it again.

    If the user has no place for a key, the folder stays without a mark.
    """
    key = _key(make=True)
    if key is not None:
        (folder / _MARK).write_text(_signed(folder, key), "ascii")


def is_marked(folder: Path) -> bool:
    """Whether `mark` was called for this folder, in this place, by this user.

    Nobody else can write such a mark: it takes a key that lies among the user's own files.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     is_marked(Path(place))
        False
    """
    key = _key(make=False)
    try:
        signature = read_document(folder / _MARK, most=1_000)
    except OSError:
        return False
    return key is not None and hmac.compare_digest(signature, _signed(folder, key).encode())


def _signed(folder: Path, key: bytes) -> str:
    return hmac.new(key, os.fsencode(folder.resolve()), "sha256").hexdigest()


def _key(*, make: bool) -> bytes | None:
    """The user's key; None if there is none, or none can be made."""
    import platformdirs  # noqa: PLC0415 - only for runs that keep models

    path = Path(platformdirs.user_data_dir("sears")) / "key"
    with suppress(OSError):
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
            with (
                suppress(FileExistsError),
                open(path, "xb", opener=partial(os.open, mode=0o600)) as file,
            ):
                file.write(os.urandom(_KEY_BYTES))
        key = read_document(path, most=1_000)
        return key if len(key) >= _KEY_BYTES else None
    return None


def make_folder(folder: Path) -> None:
    """Make a folder for output; `DataError` if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot create {folder}: {error.strerror}", help="choose another place"
        ) from error


def is_private(folder: Path, home: Path) -> bool:
    """Whether everyone who can put files into the folder could change its home as well."""
    if os.name == "nt":
        return True
    place = folder.resolve()
    # The folder above, which a person may have named, is trusted unless all can write there.
    owners = {0, os.geteuid(), home.stat().st_uid}
    if not place.parent.stat().st_mode & stat.S_IWOTH:
        owners.add(place.parent.stat().st_uid)
    return place.stat().st_uid in owners and open_to_all(place) is None


def open_to_all(folder: Path) -> Path | None:
    """The folder if everyone may write there, or one above it in which everyone may replace it."""
    place = folder.resolve()
    if place.stat().st_mode & stat.S_IWOTH:
        return place
    replaceable = (
        parent
        for parent in place.parents
        if parent.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH
    )
    return next(replaceable, None)


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it does not exist."""
    probe = folder / f"probe-{os.urandom(8).hex()}"
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


def resource_folder(name: str) -> Path:
    """The folder ``grammar`` or ``rulesets`` of this installation.

    In a wheel they lie inside the package, in a checkout (editable installs too) beside it.
    """
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise SearsError(
        f"this installation of sears-dsl has no folder `{name}`",
        help="reinstall it: pip install --force-reinstall sears-dsl",
    )


def names_folder(path: str) -> bool:
    """Whether a path is that of a folder, or a URI, which always stands for one.

    Example:
        >>> names_folder("s3://bucket/reviews"), names_folder("no-such-file.csv")
        (True, False)
    """
    return "://" in path or os.path.isdir(path)


def write_atomically(path: Path, content: bytes, *, replacing: bytes | None = None) -> None:
    """Give ``path``, or the target of a link, this content, entirely or not at all.

    Raises `DataError` if ``replacing`` is given and is not what the file holds now.
    """
    temporary = None
    try:
        status = path.stat() if path.exists() else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            path.write_bytes(content)
            return
        place = Path(os.path.realpath(path))
        # Nobody can guess this name and put a link there. The copy of an existing file is private
        # until it has its mode: what was private is so from the first byte on.
        temporary = place.with_name(f".{secrets.token_hex(8)}.sears-new")
        rights = 0o666 if status is None else 0o600
        with open(temporary, "xb", opener=partial(os.open, mode=rights)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            os.chmod(temporary, stat.S_IMODE(status.st_mode))
        if replacing is not None and not (place.is_file() and place.read_bytes() == replacing):
            raise DataError(
                f"another process changed {path} in the meantime; it is left as it is",
                help="run the command again",
            )
        os.replace(temporary, place)
        sync_folder(place.parent)
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder", help="name a file") from error
    except OSError as error:
        advice = "make room or choose another place; an earlier file there is unchanged"
        if isinstance(error, FileNotFoundError):
            advice = f"make the folder first: mkdir -p {path.parent}"
        raise DataError(f"cannot write {path}: {error.strerror}", help=advice) from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # most often it was renamed, or could not be made
                temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable; Windows has no way to ask for it."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Take the lock of an open file; False if another process has it."""
    try:
        locking: Any = import_module("fcntl")
    except ImportError:
        return True
    try:
        locking.flock(descriptor, locking.LOCK_EX | locking.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


def take_lock(path: Path) -> BinaryIO | None:
    """The file that holds the lock of a path until it is closed; None if another process has it.

    Raises FileNotFoundError if the last holder has just removed it; a second try will do.
    """
    file = open(path, "ab")  # noqa: SIM115 - the caller closes it
    try:
        if lock(file.fileno()):
            if not os.path.samestat(path.stat(), os.fstat(file.fileno())):
                raise FileNotFoundError(errno.ENOENT, "it was removed", str(path))
            return file
    except BaseException:
        file.close()
        raise
    file.close()
    return None


class Closing:
    """Base of classes that are closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Release what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: Whether a user's word names a file, a folder, or either that can be seen. For what the system
#: refuses, such as a name that is too long, these are False, while the methods of `Path` raise.
is_file, is_folder, is_there = os.path.isfile, os.path.isdir, os.path.exists


def are_same(one: str | Path, other: str | Path) -> bool:
    """Whether two paths lead to one file, even through a folder that does not exist: `gone/..`."""
    places = [os.path.realpath(each) for each in (one, other)]
    return all(map(is_there, places)) and os.path.samefile(*places)
