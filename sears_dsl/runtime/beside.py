"""Work on a thread of its own beside the work: items drawn ahead, bytes written behind.

In: an iterator, or a stream. Out: the same items, the same bytes in the same order. Always holds: a
few items wait and no more; what the thread raises is raised here; no thread outlives its use. Costs
a thread, which is worth it where its work does not hold the GIL, as compressing does not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import BinaryIO, TypeVar, cast

T = TypeVar("T")

_MOST_WAITING = 4
_MOST_JOINS = 200  # of a hundredth of a second


def drawn_ahead(items: Iterator[T]) -> Iterator[T]:
    """Items, each drawn while those before it are used.

    Example:
        >>> list(drawn_ahead(iter("abc")))
        ['a', 'b', 'c']
    """
    drawn: Queue[tuple[T] | BaseException | None] = Queue(_MOST_WAITING)
    left = threading.Event()

    def draw() -> None:
        last: BaseException | None = None
        try:
            for item in items:
                drawn.put((item,))
                if left.is_set():
                    break
        except BaseException as error:  # raised where it is waited for
            last = error
        drawn.put(last)

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        while isinstance(message := drawn.get(), tuple):
            yield message[0]
        if message is not None:
            raise message
    finally:
        left.set()
        for _ in range(_MOST_JOINS):  # it may wait for a pipe that nobody writes to
            with suppress(Empty):
                drawn.get_nowait()
            thread.join(0.01)
            if not thread.is_alive():
                break


class _Behind:
    """A stream that another thread writes to."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: Queue[bytes | None] = Queue(_MOST_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write_all, daemon=True)
        self._thread.start()

    def write(self, content: bytes, /) -> int:
        """Have it written."""
        self._tell()
        self._waiting.put(content)
        return len(content)

    def end(self) -> None:
        """Wait until all is written."""
        self._waiting.put(None)
        self._thread.join()

    def _tell(self) -> None:
        if self._error is not None:
            raise self._error

    def _write_all(self) -> None:
        while (content := self._waiting.get()) is not None:
            if self._error is None:
                try:
                    self._stream.write(content)
                except BaseException as error:  # raised where more is written, or at the end
                    self._error = error


@contextmanager
def written_behind(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream whose bytes another thread writes to ``stream``; all are written at the end.

    It can be written to and nothing else.

    Example:
        >>> import io
        >>> content = io.BytesIO()
        >>> with written_behind(content) as stream:
        ...     _ = stream.write(b"abc")
        >>> content.getvalue()
        b'abc'
    """
    behind = _Behind(stream)
    try:
        yield cast(BinaryIO, behind)
    finally:
        behind.end()
    behind._tell()
