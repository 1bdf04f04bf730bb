"""Files are written whole or not at all, through links, and never over somebody else's work."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sears_dsl.errors import DataError
from sears_dsl.runtime import files
from sears_dsl.runtime.files import write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.sear", tmp_path / "link.sear"
    link.symlink_to(target)
    for content in (b"one", b"two"):  # the target is not there at first
        write_atomically(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert names(tmp_path) == ["elsewhere", "link.sear"]
    assert names(tmp_path / "elsewhere") == ["real.sear"]


@pytest.mark.skipif(os.name == "nt", reason="modes are those of Unix")
def test_modes_are_those_of_the_file_or_of_the_umask(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"1")
    old.chmod(0o600)
    before = os.umask(0o027)
    try:
        write_atomically(old, b"2")
        write_atomically(new, b"2")
    finally:
        os.umask(before)
    assert old.stat().st_mode & 0o777 == 0o600
    assert new.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="modes are those of Unix")
def test_the_new_content_of_a_private_file_is_private_from_the_first_byte_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    path.chmod(0o600)
    modes: list[set[int]] = []
    monkeypatch.setattr(
        os, "fsync",
        lambda _: modes.append({each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}),
    )  # fmt: skip
    write_atomically(path, b"2")
    assert modes[0] == {0o600}


def test_what_cannot_be_replaced_is_written_or_refused(tmp_path: Path) -> None:
    device = Path(os.devnull)
    write_atomically(device, b"x")
    assert not device.is_file()
    with pytest.raises(DataError, match="is a folder"):
        write_atomically(tmp_path, b"x")
    with pytest.raises(DataError, match="No such file or directory"):
        write_atomically(tmp_path / "no" / "a", b"x")
    assert names(tmp_path) == []


def test_what_somebody_else_wrote_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.sear"
    path.write_bytes(b"theirs")
    with pytest.raises(DataError, match="another process changed"):
        write_atomically(path, b"ours", replacing=b"before")
    assert path.read_bytes() == b"theirs"
    write_atomically(path, b"ours", replacing=b"theirs")
    assert path.read_bytes() == b"ours"
    assert names(tmp_path) == ["a.sear"]
    path.unlink()
    with pytest.raises(DataError, match="another process changed"):
        write_atomically(path, b"ours", replacing=b"theirs")
    assert names(tmp_path) == []


def test_a_file_system_that_takes_no_file_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only file system refuses to remove even a file that does not exist."""

    def refuse(path: Path, **_: bool) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(DataError, match="No such file or directory"):
        write_atomically(tmp_path / "no" / "a", b"x")


@pytest.mark.parametrize("place", ["open", "fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted_open(*arguments: Any, **options: Any) -> None:
        open(*arguments, **options).close()
        raise KeyboardInterrupt

    path = tmp_path / "a.sear"
    path.write_bytes(b"old")
    if place == "open":
        monkeypatch.setattr(files, "open", interrupted_open, raising=False)
    else:
        monkeypatch.setattr(os, place, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.sear"]
