"""Work in several processes: plain children that answer questions over pipes.

In: how a child is made ready (a function of the package and its arguments), then questions. Out:
their answers, in order. Always holds: a child is a plain Python process that never imports the
caller's main module (a script needs no ``if __name__ == "__main__"``); it ends when its input ends,
so also when the caller is killed, at the latest after the question that it is at; Ctrl-C at a
terminal does not reach it, so that the caller alone tells of it and ends it; a child that
dies is an error, not a wait; what it raises is raised here, as itself if it is an error of ours,
with its text in any case; linear algebra has one thread in each, since they share the cores.
Costs a start of some seconds, what a child loads, and a copy of questions and answers.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from sears_dsl.errors import SearsError

Child: TypeAlias = "subprocess.Popen[bytes]"

Answer: TypeAlias = Callable[[Any], Any]
"""What a child does with a question."""

_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)


def usable_cores(
    *, groups: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> int:
    """How many cores this process may keep busy, at least 1: how many processes are worth it.

    That is less than the machine has where the process is bound to some of them, or where it is in
    a container with a quota, which no other count of Python's sees.

    Args:
        groups: where Linux shows its control groups, of either version.
        membership: where it says in which of them this process is.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    try:
        lines = membership.read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # another system than Linux
        lines = []
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        # All kinds of groups are in one tree (version 2), or those for the processor in one of
        # many. In a container the path may be the host's; then only the root is there.
        if controllers and "cpu" not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for name in (controllers, "cpu") if controllers else ("", "unified"):
            for depth in range(len(parts) + 1):
                quota = _quota(Path(groups, name, *parts[:depth]))
                if quota is not None:
                    cores = min(cores, math.ceil(quota))
    return max(1, cores)


def _quota(group: Path) -> float | None:
    """To how many cores' time a control group is held, if it is."""
    files = [("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    for names in files:
        with suppress(OSError, ValueError):  # not there, or without a limit: "max 100000"
            quota, period = map(int, " ".join((group / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                return quota / period
    return None


def start_child(module: str, *arguments: str) -> Child:
    """A plain Python process that runs ``serve`` of a module, with pipes for its input and output.

    Args:
        module: its name; importable with this process's ``sys.path``.
        arguments: its ``sys.argv`` from 1.
    """
    environment = {**os.environ, **_ONE_THREAD}
    environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    command = [sys.executable, "-P", "-c", f"from {module} import serve; serve()", *arguments]
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        process_group=0,  # it could not even ignore an interrupt while Python starts
    )


def answer_pipe() -> BinaryIO:
    """In a child: where its answers go; whatever prints does not come between them."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def close_pipes(child: Child) -> None:
    """Close this side of the pipes of a child that has ended."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):  # questions that were not yet written, to nobody
                pipe.close()


class Outcome(NamedTuple):
    """What came of a question, as it leaves a process: it can be read whatever is in it.

    Attributes:
        succeeded: whether there is an answer.
        content: the answer or the error, pickled; empty for an error that cannot be.
        text: of an error, with its kind.
    """

    succeeded: bool
    content: bytes
    text: str = ""

    @classmethod
    def of(cls, work: Callable[[], Any]) -> Outcome:
        """Do some work; whatever it raises, an exit too, is its outcome."""
        try:
            return cls(True, pickle.dumps(work(), pickle.HIGHEST_PROTOCOL))
        except BaseException as error:
            return cls.failure(error)

    @classmethod
    def failure(cls, error: BaseException) -> Outcome:
        """An error as an outcome."""
        text = type(error).__name__
        with suppress(Exception):  # whatever an object raises that cannot be shown
            text = f"{text}: {error}"
        if not isinstance(error, SearsError):
            trace = "".join(traceback.format_exception(error))
            error.add_note(f"It was raised in another process:\n{trace}")
        content = b""
        # Whatever an object raises that is not to be pickled, or not to be made again.
        with suppress(Exception):
            pickled = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            if type(pickle.loads(pickled)) is type(error):  # noqa: S301 - written a line before
                content = pickled
        return cls(False, content if isinstance(error, Exception) else b"", text)

    def error(self, doing: str, kind: type[SearsError] = SearsError) -> Exception:
        """The error: itself, or where that cannot be one that has its kind and its text.

        Args:
            doing: what the process does, for the message: "a worker process".
            kind: of the error that stands in its place.
        """
        if self.content:
            with suppress(Exception):  # whatever an object raises that cannot be made again
                error: Exception = pickle.loads(self.content)  # noqa: S301 - of our own process
                return error
        return kind(f"{doing} failed: {self.text}", help="see whether one job works")


class Children:
    """Processes that answer; they end with this object or this process.

    Args:
        ready: ``package.module:function``, called once in each child with the arguments; what it
            gives back answers the questions.
        arguments: values that can be pickled.
        jobs: how many processes.
        error: raised where a child fails or dies.
        doing: what the children do, for its message: "tags".

    Example:
        >>> children = Children("operator:itemgetter", (1,), jobs=2, error=SearsError, doing="is")
        >>> children.ask(["abc", "xyz"])
        ['b', 'y']
        >>> children.close()
    """

    def __init__(
        self,
        ready: str,
        arguments: Sequence[Any],
        *,
        jobs: int,
        error: type[SearsError],
        doing: str,
    ) -> None:
        self._error = error
        self._doing = doing
        self._children: list[Child] = []
        self._end = weakref.finalize(self, _end, self._children, os.getpid())
        self._idle: SimpleQueue[Child] = SimpleQueue()
        for _ in range(jobs):
            child = start_child(__name__, ready)
            self._children.append(child)
            with self._told_apart():
                _send(child, tuple(arguments))
            self._idle.put(child)

    def ask(self, questions: Sequence[Any]) -> list[Any]:
        """The answer to each question.

        Raises:
            SearsError: of the kind that was given; a child failed or died. All are ended then.
        """
        return list(self.ask_each(questions))

    def ask_each(self, questions: Iterable[Any]) -> Iterator[Any]:
        """The answers in the order of the questions, of which each is drawn when a process is free.

        Raises:
            SearsError: as `ask`.
        """
        drawn = iter(questions)
        pending: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(len(self._children)) as threads:
            try:
                while True:
                    # None is drawn ahead: whoever gives questions may look at the clock at each.
                    free = len(self._children) - sum(not each.done() for each in pending)
                    pending.extend(threads.submit(self._ask, each) for each in islice(drawn, free))
                    if not pending:
                        return
                    if pending[0].done():
                        yield pending.popleft().result()
                    else:
                        busy = [each for each in pending if not each.done()]
                        wait(busy, return_when=FIRST_COMPLETED)
            except GeneratorExit:
                for future in pending:
                    future.cancel()
                raise
            except BaseException:
                # An interrupt too: threads that wait for an answer get an end of file instead.
                for future in pending:
                    future.cancel()
                self.close()
                raise

    def close(self) -> None:
        """End the processes; what they are doing is dropped."""
        self._end()

    def _ask(self, question: Any) -> Any:
        child = self._idle.get()
        try:
            with self._told_apart():
                _send(child, question)
                outcome = _receive(child)
        finally:
            self._idle.put(child)
        if outcome.succeeded:
            return pickle.loads(outcome.content)  # noqa: S301 - written by our own process
        doing = f"a process that {self._doing}"
        error = outcome.error(doing, self._error)
        if isinstance(error, SearsError):
            raise error
        raise self._error(
            f"{doing} failed: {outcome.text}", help="see whether one job works"
        ) from error

    def _told_apart(self) -> _Ended:
        return _Ended(self._error, self._doing)


class _Ended:
    """Turns what a broken pipe raises into the error that says so."""

    def __init__(self, error: type[SearsError], doing: str) -> None:
        self._error = error
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (OSError, EOFError, ValueError, pickle.UnpicklingError)):
            raise self._error(
                f"a process that {self._doing} ended before its work was done",
                help="most often memory is lacking: give fewer jobs",
            ) from error


def serve() -> None:
    """Be a child: answer what comes in until nothing more comes."""
    # An interrupt is the caller's business, which then closes the pipes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = answer_pipe()
    module, name = sys.argv[1].split(":")
    with suppress(EOFError, BrokenPipeError):  # the caller is done, or gone
        arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the caller
        answer: Answer
        failure: Outcome | None = None
        try:
            answer = getattr(import_module(module), name)(*arguments)
        except BaseException as error:  # told to the caller, who raises it
            failure = Outcome.failure(error)
        while True:
            question = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the caller
            outcome = failure or Outcome.of(partial(answer, question))
            answers.write(pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL))
            answers.flush()


def _send(child: Child, message: Any) -> None:
    if child.stdin is None:
        raise EOFError
    child.stdin.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    child.stdin.flush()


def _receive(child: Child) -> Outcome:
    if child.stdout is None:
        raise EOFError
    outcome: Outcome = pickle.load(child.stdout)  # noqa: S301 - written by our own process
    return outcome


def _end(children: list[Child], process: int) -> None:
    """End the children in the process that started them, and nowhere else."""
    if process != os.getpid():
        return
    for child in children:
        child.kill()
    for child in children:
        child.wait()
        close_pipes(child)
