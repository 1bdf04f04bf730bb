"""A process that works on batches: started apart, given some ahead, ended at once.

In: how to make its matcher, a task, then batches. Out: a future for each. Always holds: batches
are finished in the order in which they are given; an error of the task is raised as it was there;
a process that dies is an error, not a wait; one whose parent dies ends itself. Costs a start of a
second or two, in which nobody waits for it, and a copy of batches and parts through a pipe.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from sears_dsl.errors import SearsError

__all__ = ["Process"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")

# Questions that a process has at once: one that it is at, and one so that it need not wait.
_AHEAD = 2


class Process(Generic[Question, Answer]):
    """A process that answers questions.

    Args:
        ready: makes what answers; it is called there, and must be picklable.
    """

    def __init__(self, ready: Callable[[], Callable[[Question], Answer]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        there.close()
        self._started = threading.Event()
        self._asked: SimpleQueue[Future[Any]] = SimpleQueue()
        self._given: list[Future[Answer]] = []
        self._ready: Future[None] = Future()
        self._asked.put(self._ready)
        threading.Thread(target=self._converse, args=(ready,), daemon=True).start()

    @property
    def has_room(self) -> bool:
        """Whether it is ready, and has so little to do that it can be given more.

        Raises:
            SearsError: what kept it from becoming ready.
        """
        if not self._ready.done():
            return False
        self._ready.result()
        self._given = [future for future in self._given if not future.done()]
        return len(self._given) < _AHEAD

    def ask(self, question: Question) -> Future[Answer]:
        """Give it a question; the future has the answer, or the error."""
        future: Future[Answer] = Future()
        self._given.append(future)
        self._asked.put(future)
        self._started.wait()
        self._send(question)
        return future

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.join()

    def _send(self, message: object) -> None:
        with suppress(OSError):  # it died, which the futures tell
            self._pipe.send(message)

    def _converse(self, ready: object) -> None:
        """Tell it what it is, then fill the futures in the order of their questions."""
        self._send(ready)  # takes as long as it starts
        self._started.set()
        while True:
            future = self._asked.get()
            try:
                answer, error = self._pipe.recv()
            except (EOFError, OSError):
                answer, error = None, _died()
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)


def _died() -> SearsError:
    return SearsError(
        "a worker process died; it may have been killed for want of memory",
        help="run with fewer --jobs; finished batches of a file are kept for --resume",
    )


def _serve(pipe: Any) -> None:
    """Be the process: become ready, then answer until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is told by the parent, once
    questions: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(pipe, questions), daemon=True).start()
    answer: Callable[[Any], Any] = _not_ready
    try:
        answer = questions.get()()
        gc.freeze()  # rules live as long as the process
        pipe.send((None, None))
    except Exception as error:  # told to the parent, who raises it
        _tell(pipe, error)
    while True:
        try:
            pipe.send((answer(questions.get()), None))
        except Exception as error:  # told to the parent, who raises it
            _tell(pipe, error)


def _read(pipe: Any, questions: SimpleQueue[Any]) -> None:
    """Take questions while another is worked on; without a parent there is nothing left to do."""
    try:
        while True:
            questions.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(1)


def _tell(pipe: Any, error: Exception) -> None:
    try:
        pipe.send((None, error))
    except Exception:  # an error of a kind that cannot be sent
        pipe.send((None, SearsError(f"a worker process failed: {type(error).__name__}: {error}")))


def _not_ready(_: Any) -> Any:
    raise SearsError("a worker process was used before it was ready")
