r"""Files as streams of text: compression, encodings, lines and JSON values, never a whole file.

In: a path (or ``-``). Out: text in blocks, in blocks of whole lines, or as JSON values with their
source. Always holds: the blocks of a file joined are its whole text, the byte order mark included;
a line ends at ``\n`` and nowhere else and keeps its end; a damaged file is a `DataError` that names
the place. Costs the memory of one block (1 MiB; of a .zst, what a mebibyte of it unpacks to) and
the longest line. Compressing and decompressing have a thread of their own. At most a few blocks
wait for it or for the caller; its errors are raised in the caller, and it ends with the stream.
"""

from __future__ import annotations

import bz2
import codecs
import difflib
import errno
import gzip
import json
import lzma
import os
import stat
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any, BinaryIO, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import DataError, UsageError

_MOST_WAITING = 4
_MOST_JOINS = 200  # of a hundredth of a second


def read_ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks, drawn by another thread while the caller uses those before them."""
    drawn: Queue[bytes | BaseException | None] = Queue(_MOST_WAITING)
    abandoned = threading.Event()

    def draw() -> None:
        last: BaseException | None = None
        try:
            for block in blocks:
                drawn.put(block)
                if abandoned.is_set():
                    break
        except BaseException as error:  # raised in the thread that waits for blocks
            last = error
        drawn.put(last)

    # No executor: it would wait at its end for a pipe that nobody closes.
    thread = threading.Thread(target=draw, daemon=True, name="sears_dsl draws ahead")
    thread.start()
    try:
        while isinstance(message := drawn.get(), bytes):
            yield message
        if message is not None:
            raise message
    finally:
        abandoned.set()
        for _ in range(_MOST_JOINS):
            with suppress(Empty):
                drawn.get_nowait()
            thread.join(0.01)
            if not thread.is_alive():
                break


@contextmanager
def write_behind(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A write-only stream whose bytes another thread writes to ``stream``.

    When the block ends, all of them are written.
    """
    from concurrent.futures import Future, ThreadPoolExecutor  # noqa: PLC0415 - brings logging

    waiting: deque[Future[int]] = deque()

    def write(content: bytes) -> int:
        if len(waiting) == _MOST_WAITING:
            waiting.popleft().result()
        waiting.append(writer.submit(stream.write, content))
        return len(content)

    with ThreadPoolExecutor(1) as writer:
        yield cast(BinaryIO, SimpleNamespace(write=write))
        for future in waiting:
            future.result()


STANDARD_STREAM = "-"
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_UNPACKERS = dict(zip(COMPRESSIONS, ("gunzip", "bunzip2", "unxz", "unzstd"), strict=True))
_PACKED = dict(zip(COMPRESSIONS, (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd"), strict=True))
_OPENERS: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DECOMPRESSORS: Mapping[str, Any] = {".bz2": bz2.BZ2Decompressor, ".xz": lzma.LZMADecompressor}
_BLOCK = 1 << 20
_PIECE = 1 << 16  # fits the caches of a processor, so that decoding takes half the time
_LINE_FEED = ord("\n")
_JSON_LOOKAHEAD = 16
_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
#: Which file it is, how long, and when it was last changed; None where there is none.
FileState: TypeAlias = tuple[int, int, int] | None
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


def compression_of(path: str) -> str:
    """``.gz``, ``.bz2``, ``.xz``, ``.zst``, or the empty string."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in COMPRESSIONS else ""


def no_such_file(path: str) -> DataError:
    """The error for a file that does not exist, with the nearest name in its folder."""
    folder = Path(path).parent
    names: list[str] = []
    with suppress(OSError):  # a folder that cannot be listed has no names to propose
        names = [each.name for each in folder.iterdir() if each.is_file()]
    near = difflib.get_close_matches(Path(path).name, names, n=1, cutoff=0.7)
    return DataError(
        f"{path} cannot be read: {os.strerror(errno.ENOENT)}",
        help=f"did you mean {folder / near[0]}?" if near else "",
    )


def state_of(path: str | Path) -> FileState:
    """The state of a regular file, which differs if somebody else has written it meanwhile."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def byte_blocks(path: str) -> Iterator[bytes]:
    """The uncompressed bytes of a file, or of standard input, a block at a time."""
    if path == STANDARD_STREAM:
        yield from iter(lambda: sys.stdin.buffer.read(_BLOCK), b"")
        return
    compression = compression_of(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 - `_blocks_of` closes it; opening has its own message
    except FileNotFoundError as error:
        raise no_such_file(path) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    blocks = _blocks_of(file, compression)
    try:
        yield from read_ahead(blocks) if compression else blocks
    except _DAMAGED as error:
        what = f"is damaged or not a {compression} file" if compression else "cannot be read"
        raise DataError(f"{path} {what}: {error}") from error


def _blocks_of(file: BinaryIO, compression: str) -> Iterator[bytes]:
    """The uncompressed blocks of a file, which is closed by the thread that reads it.

    Another one would wait for a pipe that nobody closes.
    """
    with file:
        if compression == ".zst":
            yield from _zstd_blocks(file)
        elif compression in _DECOMPRESSORS:
            yield from _blocks_of_streams(file, _DECOMPRESSORS[compression])
        else:
            stream = _OPENERS[compression](file, "rb") if compression else file
            yield from iter(lambda: stream.read(_BLOCK), b"")


def _blocks_of_streams(file: BinaryIO, decompressor: Any) -> Iterator[bytes]:
    """Decompress stream by stream, with NUL bytes between them, as they pad some files.

    Python's `bz2.open` and `lzma.open` take what is no stream for the end of the file.
    """
    stream = decompressor()
    while data := file.read(_BLOCK):
        while data or not (stream.eof or stream.needs_input):
            if stream.eof:
                data = data.lstrip(b"\0")
                if not data:
                    break
                stream = decompressor()
            if block := stream.decompress(data, _BLOCK):
                yield block
            data = stream.unused_data if stream.eof else b""
    if not stream.eof:
        raise EOFError("the file ends within a compressed stream")


def begins_with_object(path: str) -> bool:
    """Whether the first character of a JSON file is ``{``, in UTF-8 as in UTF-16 and UTF-32."""
    begin = next(byte_blocks(path), b"").translate(None, b"\0\xef\xbb\xbf\xfe\xff \t\r\n")
    return begin.startswith(b"{")


def _zstandard() -> Any:
    try:
        import zstandard  # noqa: PLC0415 - an extra, wanted only for .zst
    except ImportError as error:
        raise DataError(
            ".zst files need the zstandard package", help='pip install "sears-dsl[zstd]"'
        ) from error
    return zstandard


def _zstd_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Decompress frame by frame: the package's reader takes a truncated file for a complete one."""
    zstandard = _zstandard()
    decompressor = zstandard.ZstdDecompressor()
    frame = None
    try:
        while data := file.read(_BLOCK):
            while data:
                frame = frame or decompressor.decompressobj()
                if block := frame.decompress(data):
                    yield block
                data = b""
                if frame.eof:
                    data, frame = frame.unused_data, None
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error
    if frame is not None:
        raise EOFError("the file ends within a compressed frame")


@contextmanager
def compressing_stream(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """A stream into ``file``, compressed as the name of ``path`` says; ``file`` is left open.

    The same content gives the same bytes: no time and no name is written. Another thread does the
    compressing.
    """
    compression = compression_of(path)
    if not compression:
        yield file
        return
    stream: Any
    if compression == ".gz":
        stream = gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0)
    elif compression == ".zst":
        stream = _zstandard().ZstdCompressor().stream_writer(file, closefd=False)
    else:
        stream = _OPENERS[compression](file, "wb")
    with stream, write_behind(stream) as behind:
        yield behind


class TextSource:
    """The text of a file; messages call it by its ``name``.

    ``encoding`` is the codec in use, which for UTF-16 and UTF-32 names the byte order, as the byte
    order mark tells it. The mark itself is the first character of the text.
    """

    def __init__(self, path: str, *, encoding: str = "utf-8", errors: str = "strict") -> None:
        self.name = "standard input" if path == STANDARD_STREAM else path
        self._path = path
        if errors not in ("strict", "replace", "ignore"):
            raise UsageError(
                f"errors={errors!r} is unknown", help="write strict, replace or ignore"
            )
        self._bytes = byte_blocks(path)
        self._errors = errors
        self._first = next(self._bytes, b"")
        self.encoding = _codec(encoding, self._first)
        self._line = 1  # the number of the line after the blocks of lines so far

    def blocks(self) -> Iterator[str]:
        """The text in blocks of about a mebibyte; can be read once, in blocks or in lines."""
        return (text for _, text in self._decoded() if text)

    def line_blocks(self) -> Iterator[tuple[bytes, NDArray[np.int64]]]:
        """The text in UTF-8, in blocks of whole lines, and where each line of a block ends.

        The last line may have no line feed.
        """
        as_it_stands = self.encoding == "utf-8" and self._errors == "strict"
        carried: list[bytes] = []
        for block, text in self._decoded(texts=not as_it_stands):
            content = block if as_it_stands else self._in_utf8(text)
            end = content.rfind(b"\n") + 1
            if end:
                lines = b"".join([*carried, memoryview(content)[:end]])
                ends = line_ends(lines)
                self._line += len(ends)
                yield lines, ends
                carried.clear()
            carried.append(content[end:])
        if last := b"".join(carried):
            yield last, line_ends(last)

    def _in_utf8(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self.name} has half of a surrogate pair, which is not text"
            ) from error

    def _decoded(self, *, texts: bool = True) -> Iterator[tuple[bytes, str]]:
        """The blocks of the file, each with its text; a cut character goes to the next text.

        Without ``texts``, the blocks are checked to be UTF-8; pure ASCII needs no decoder for that.
        """
        decoder = codecs.getincrementaldecoder(self.encoding)(self._errors)
        fed = 0
        line = 1
        for block in chain([self._first], self._bytes, [b""]):
            decoded = []
            for at in range(0, len(block) or 1, _PIECE):
                waiting = len(decoder.getstate()[0])
                piece = block[at : at + _PIECE]
                if not texts and piece and not waiting and piece.isascii():
                    continue
                try:
                    text = decoder.decode(piece, final=not piece)
                except UnicodeDecodeError as error:
                    if not texts:
                        line = self._line + line_feeds(block[:at])
                    raise self._undecodable(error, fed + at, waiting, line) from error
                if texts:
                    decoded.append(text)
                    line += line_feeds(piece) if self.encoding == "utf-8" else text.count("\n")
            fed += len(block)
            yield block, "".join(decoded)

    def _undecodable(
        self, error: UnicodeDecodeError, at: int, waiting: int, line: int
    ) -> DataError:
        """The error for bytes of a piece that begins at ``at``, or ``waiting`` bytes before it."""
        # The mark of UTF-32 begins with that of UTF-16.
        marked = next((n for n, m in _MARKS.items() if self._first.startswith(m)), "")
        if marked and at < len(self._first):
            return DataError(
                f"{self.name} begins with the byte order mark of {marked}", help=_as_utf8(marked)
            )
        packed = next((s for s, m in _PACKED.items() if self._first.startswith(m)), "")
        if packed and self._path == STANDARD_STREAM:
            return DataError(
                f"{self.name} is compressed",
                help=f"pipe it through {_UNPACKERS[packed]}, or name the file",
            )
        if packed:
            return DataError(
                f"{self.name} is compressed, but its name does not show it",
                help=f"rename it so that it ends in {Path(self.name).suffix}{packed}",
            )
        before = bytes(error.object[: error.start]).decode(self.encoding, "ignore")
        return DataError(
            f"{self.name}, line {line + before.count(chr(10))}: byte {at - waiting + error.start} "
            f"of the file is not {self.encoding} text ({error.reason})",
            help=f"{_as_utf8('cp1252')}, and `sears apply --errors replace` replaces such bytes",
        )


def line_feeds(content: bytes) -> int:
    """The number of line feeds; `bytes.count` takes seven times as long."""
    return int(np.count_nonzero(np.frombuffer(content, np.uint8) == _LINE_FEED))


def line_ends(content: bytes) -> NDArray[np.int64]:
    r"""One past the last byte of each line; the last line may have no line feed.

    Example:
        >>> line_ends(b"one\n\ntwo").tolist()
        [4, 5, 8]
    """
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_FEED) + 1
    return ends if content.endswith(b"\n") else np.append(ends, len(content))


def _as_utf8(encoding: str) -> str:
    """Advice for a file in another encoding; commands have an option for it, few functions do."""
    return (
        f"save it as UTF-8 (a spreadsheet: as CSV UTF-8; or iconv -f {encoding} -t utf-8 FILE > NEW"
        f"); the option `--encoding {encoding}` reads rows as they are"
    )


def _codec(encoding: str, first: bytes) -> str:
    try:
        name = codecs.lookup(encoding).name
        "a".encode(name)
    except LookupError as error:
        raise UsageError(
            f"there is no text encoding {encoding!r}", help="name utf-8, latin-1, cp1252, …"
        ) from error
    if name in _MARKS:
        _, big_endian = _MARKS[name]
        return f"{name}-be" if first.startswith(big_endian) else f"{name}-le"
    return name.removesuffix("-sig")


class JsonCursor:
    """A position in JSON text, of which blocks are read as they are needed.

    `cut` gives all text since the last cut, so that the cuts of a file joined are its text.
    """

    def __init__(self, source: TextSource) -> None:
        self.name = source.name
        self._blocks = source.blocks()
        self._text = ""
        self._cut = 0
        self._at = 0
        self._line = 1
        self._decode = json.JSONDecoder().raw_decode

    def _more(self, atleast: int = 1) -> bool:
        """Read on by ``atleast`` characters, or up to the end; False if there are none."""
        pieces = []
        length = 0
        while length < atleast and (block := next(self._blocks, "")):
            pieces.append(block)
            length += len(block)
        self._text = "".join([self._text[self._cut :], *pieces])
        self._at -= self._cut
        self._cut = 0
        return length > 0

    def peek(self) -> str:
        """The next character that is not white space, or the empty string at the end."""
        while True:
            text = self._text
            while self._at < len(text) and text[self._at] in " \t\r\n\ufeff":
                self._at += 1
            if self._at < len(text):
                return text[self._at]
            if not self._more():
                return ""

    def take(self, *characters: str) -> str:
        """Move past the next character, which must be one of these; returns it."""
        present = self.peek()
        if present not in characters or not present:
            expected = " or ".join(f"`{character}`" for character in characters)
            self.fail(f"expected {expected}, found {f'`{present}`' if present else 'end of file'}")
        self._at += 1
        return present

    def value(self) -> Any:
        """Decode the next value and move past it."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                incomplete = error.msg.startswith("Unterminated") or (
                    error.pos >= len(self._text) - _JSON_LOOKAHEAD
                )
                # Doubling the text makes the work linear in the length of the value.
                if incomplete and self._more(len(self._text) - self._at):
                    continue
                self.fail(error.msg, error.pos)
            except (ValueError, RecursionError) as error:
                self.fail(str(error))
            if end == len(self._text) and self._more():
                continue  # a number may go on in the next block
            self._at = end
            return value

    def cut(self) -> str:
        """The text since the last cut."""
        piece = self._text[self._cut : self._at]
        self._line += piece.count("\n")
        self._cut = self._at
        return piece

    def rest(self) -> str:
        """All text that is left; an error if it is more than white space."""
        if character := self.peek():
            self.fail(f"expected end of file, found `{character}`")
        return self.cut()

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise a DataError for the current (or the given) position."""
        at = self._at if position is None else position
        line = self._line + self._text.count("\n", self._cut, at)
        raise DataError(f"{self.name}, line {line}: invalid JSON: {message}")
