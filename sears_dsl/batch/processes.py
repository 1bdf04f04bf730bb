"""A process that works on batches: started apart, given some ahead, ended at once.

In: how to make its matcher, a task, then batches. Out: a future for each. Always holds: batches
are finished in the order in which they are given; an error of the task is raised as it was there,
or has its text where it cannot be brought here; a process that dies is an error, not a wait; one
whose parent dies ends itself; it is started as `runtime.processes` starts them, so the caller's
script needs no guard. Costs a start of a second or two, in which nobody waits for it, and a copy
of batches and parts through a pipe.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, Generic, TypeVar

from sears_dsl.errors import SearsError
from sears_dsl.runtime.processes import Outcome, answer_pipe, close_pipes, start_child

Question = TypeVar("Question")
Answer = TypeVar("Answer")

# Questions that a process has at once: one that it is at, and one so that it need not wait.
_AHEAD = 2
_ALONE = "define them in a module that can be imported, or run with one job"


class Process(Generic[Question, Answer]):
    """A process that answers questions.

    Args:
        ready: makes what answers; it is called there, so what it is made of must be picklable
            and come from modules other than the main one.

    Raises:
        SearsError: it cannot be sent to a process.
    """

    def __init__(self, ready: Callable[[], Callable[[Question], Answer]]) -> None:
        try:
            first = pickle.dumps(ready, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # whatever an object raises that is not to be pickled
            raise SearsError(
                f"the rules cannot be sent to another process: {error}", help=_ALONE
            ) from error
        self._child = start_child(__name__)
        self._started = threading.Event()
        # None ends the thread that waits for answers.
        self._asked: SimpleQueue[Future[Any] | None] = SimpleQueue()
        self._given: list[Future[Answer]] = []
        self._ready: Future[None] = Future()
        self._asked.put(self._ready)
        self._thread = threading.Thread(target=self._converse, args=(first,), daemon=True)
        self._thread.start()

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
        self._send(pickle.dumps(question, pickle.HIGHEST_PROTOCOL))
        return future

    def end(self) -> None:
        """End it, whatever it is at."""
        self._child.kill()
        self._child.wait()
        self._asked.put(None)
        self._thread.join()
        close_pipes(self._child)

    def _send(self, message: bytes) -> None:
        pipe = self._child.stdin
        if pipe is None:
            return
        with suppress(OSError):  # it died, which the futures tell
            pipe.write(message)
            pipe.flush()

    def _converse(self, first: bytes) -> None:
        """Tell it what it is, then fill the futures in the order of their questions."""
        self._send(first)  # takes as long as it starts
        self._started.set()
        while (future := self._asked.get()) is not None:
            try:
                outcome: Outcome = _received(self._child.stdout)
            except Exception:  # it died, at any place of an answer
                future.set_exception(_died())
                continue
            if not outcome.succeeded:
                future.set_exception(outcome.error("a worker process"))
                continue
            try:
                future.set_result(pickle.loads(outcome.content))  # noqa: S301 - see `_received`
            except Exception as error:  # whatever an object raises that cannot be made again
                future.set_exception(error)


def _received(pipe: Any) -> Any:
    return pickle.load(pipe)  # noqa: S301 - written by our own process


def _died() -> SearsError:
    return SearsError(
        "a worker process died; it may have been killed for want of memory",
        help="run with fewer --jobs; finished batches of a file are kept for --resume",
    )


def serve() -> None:
    """Be the process: become ready, then answer until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is told by the parent, once
    with suppress(BrokenPipeError):
        _answer(answer_pipe())
    os._exit(1)  # at once, and without another try to write


def _answer(answers: BinaryIO) -> None:
    questions: SimpleQueue[Any] = SimpleQueue()
    try:
        ready = _received(sys.stdin.buffer)
    except Exception as error:  # whatever an object raises that cannot be made again
        what = f"the rules cannot be made in another process: {error}"
        _tell(answers, Outcome.failure(SearsError(what, help=_ALONE)))
        return
    threading.Thread(target=_read, args=(questions,), daemon=True).start()
    answer: Callable[[Any], Any] = _not_ready
    try:
        answer = ready()
        gc.freeze()  # rules live as long as the process
        _tell(answers, Outcome.of(lambda: None))
    except BrokenPipeError:
        raise
    except BaseException as error:  # told to the parent, who raises it
        _tell(answers, Outcome.failure(error))
    while True:
        _tell(answers, Outcome.of(lambda: answer(questions.get())))


def _read(questions: SimpleQueue[Any]) -> None:
    """Take questions while another is worked on; without a parent there is nothing left to do."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            questions.put(_received(sys.stdin.buffer))
    os._exit(1)


def _tell(answers: BinaryIO, outcome: Outcome) -> None:
    answers.write(pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL))
    answers.flush()


def _not_ready(_: Any) -> Any:
    raise SearsError("a worker process was used before it was ready")
