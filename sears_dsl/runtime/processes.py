"""Work in several processes: children that answer questions over pipes.

In: a function that makes a child ready, then questions. Out: a future for each question to a
`Process`, or answers in order from several `Children`. Always holds: a child never imports the
caller's main module, so a script needs no ``if __name__ == "__main__"``. It ends when its input
ends, which is also when the caller is killed. Ctrl-C at a terminal does not reach it; the caller
alone reports it and ends the child. A child that dies is an error and never a hang. What a child
raises is raised here as it was there, or as an error with its text if it cannot be pickled.

A child is a plain Python process, whose linear algebra uses one thread, since children share the
cores. It starts within some seconds, during which nobody waits, and loads what it needs. If the
function that answers is here already and this process `can_fork`, a child is a fork instead, which
costs some hundredths of a second: it has all that is here, and shares its memory until one of the
two writes there. All children cost a copy of questions and answers.
"""

from __future__ import annotations

import gc
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from time import sleep
from typing import Any, BinaryIO, Generic, NamedTuple, NoReturn, TypeVar

from sears_dsl.errors import SearsError
from sears_dsl.runtime.files import take_lock
from sears_dsl.runtime.interrupts import Uninterrupted

Question = TypeVar("Question")
Answer = TypeVar("Answer")

# Questions that a process has at once: one that it works on, and one so that it need not wait.
_AHEAD = 2
_PICKLING_HELP = "define them in a module that can be imported, or run with one job"

#: The names of threads that hold nothing which a fork would wait for begin like this.
HARMLESS = "sears_dsl "
# Libraries that would wait in a fork for their own threads, which it does not have.
_THREADED = ("torch", "tensorflow", "jax")
# What this process has open, by descriptor.
_DESCRIPTORS = "/proc/self/fd"

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
    """How many cores this process may keep busy, at least 1; more processes are not worth it.

    That is less than the machine has if the process is bound to some cores, or is in a container
    with a quota. Python's own counts do not see a quota; Linux shows it among the control
    ``groups`` of either version, where ``membership`` says to which groups this process belongs.
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
        # All kinds of groups are in one tree (version 2), or those for the processor are in one of
        # several (version 1). In a container the path may be the host's; then only the root exists.
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
    """How many cores' time a control group may use; None if it has no quota."""
    files = [("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    for names in files:
        with suppress(OSError, ValueError):  # not there, or without a limit: "max 100000"
            quota, period = map(int, " ".join((group / name).read_text() for name in names).split())
            if quota > 0 and period > 0:
                return quota / period
    return None


def can_fork() -> bool:
    """Whether a fork of this process would be able to work.

    A fork has the thread that forked and no other. Locks that others held stay locked there for
    ever, so the only other threads may be those that wait for pipes and files, and the one that
    draws a progress bar. Threads of NumPy's linear algebra and of Arrow take care of forks
    themselves. On macOS the system's own libraries do not survive a fork.
    """
    harmless = {thread.ident for thread in threading.enumerate() if _is_harmless(thread)}
    return (
        sys.platform == "linux"
        and os.path.isdir(_DESCRIPTORS)
        and sys._current_frames().keys() <= harmless
        and not any(name in sys.modules for name in _THREADED)
    )


def _is_harmless(thread: threading.Thread) -> bool:
    return (
        thread is threading.main_thread() is threading.current_thread()
        or thread.name.startswith(HARMLESS)
        or type(thread).__module__.startswith("rich.")
    )


class _Outcome(NamedTuple):
    """What came of a question, as it leaves a process; it can be unpickled whatever it holds."""

    succeeded: bool  # whether there is an answer
    content: bytes  # the answer or the error, pickled; empty for an error that cannot be
    text: str = ""  # of an error, with its kind

    @classmethod
    def of(cls, work: Callable[[], Any]) -> _Outcome:
        """Do some work; whatever it raises, even an exit, is its outcome."""
        try:
            return cls(True, pickle.dumps(work(), pickle.HIGHEST_PROTOCOL))
        except BaseException as error:
            return cls.failure(error)

    @classmethod
    def failure(cls, error: BaseException) -> _Outcome:
        text = type(error).__name__
        with suppress(Exception):  # an object that cannot be shown may raise anything
            text = f"{text}: {error}"
        if not isinstance(error, SearsError):
            trace = "".join(traceback.format_exception(error))
            error.add_note(f"It was raised in another process:\n{trace}")
        content = b""
        # An object that cannot be pickled, or made again, may raise anything.
        with suppress(Exception):
            pickled = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            if type(pickle.loads(pickled)) is type(error):  # noqa: S301 - written a line before
                content = pickled
        return cls(False, content if isinstance(error, Exception) else b"", text)

    def error(self, process: str, kind: type[SearsError]) -> Exception:
        """The error itself, or one of this ``kind`` with its text if it cannot be unpickled."""
        if self.content:
            with suppress(Exception):  # an object that cannot be made again may raise anything
                error: Exception = pickle.loads(self.content)  # noqa: S301 - of our own process
                return error
        return kind(f"{process} failed: {self.text}", help="try with one job")


class Process(Generic[Question, Answer]):
    """A process that answers questions, in their order.

    It calls ``ready``, which returns the function that answers. So ``ready`` must be picklable and
    come from a module other than the main one. If there is an ``answerer`` and this process can
    fork, a fork answers with that instead. An ``error`` is raised if the process dies, or if what
    it raised cannot be unpickled here.
    """

    def __init__(
        self,
        ready: Callable[[], Callable[[Question], Answer]],
        *,
        answerer: Callable[[Question], Answer] | None = None,
        error: type[SearsError] = SearsError,
        name: str = "a worker process",
    ) -> None:
        first = _pickled(ready, "the work")
        self._error = error
        self._name = name
        self._child: subprocess.Popen[bytes] | _Fork
        try:
            if answerer is not None and can_fork():
                first, self._child = b"", _Fork(answerer)
            else:
                self._child = _start_child()
        except OSError as reason:
            raise error(
                f"{name} could not be started: {reason.strerror or reason}",
                help="run with fewer jobs",
            ) from reason
        self._started = threading.Event()
        self._ended = False
        # None ends the thread that waits for answers.
        self._queue: SimpleQueue[Future[Any] | None] = SimpleQueue()
        self._futures: list[Future[Answer]] = []
        self._ready: Future[None] = Future()
        self._queue.put(self._ready)
        self._thread = threading.Thread(
            target=self._converse, args=(first,), daemon=True, name=f"{HARMLESS}waits for answers"
        )
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether it can answer; what kept it from becoming ready is raised."""
        if not self._ready.done():
            return False
        self._ready.result()
        return True

    @property
    def has_room(self) -> bool:
        """Whether it is ready and has little enough to do to be given more."""
        return self.is_ready and len(self.waiting) < _AHEAD

    @property
    def waiting(self) -> Sequence[Future[Answer]]:
        """The answers to the questions that it was given and has not answered."""
        self._futures = [future for future in self._futures if not future.done()]
        return self._futures

    def ask(self, question: Question) -> Future[Answer]:
        """Give it a question; the future has the answer, or the error.

        Raises:
            SearsError: the question cannot be pickled; the process goes on with the others.
        """
        message = _pickled(question, "a question")
        future: Future[Answer] = Future()
        if self._ended:
            future.set_exception(self._died())
            return future
        self._futures.append(future)
        self._queue.put(future)
        self._started.wait()
        self._send(message)
        return future

    def end(self) -> None:
        """End it, whatever it is doing."""
        if self._ended:
            return
        self._ended = True
        self._child.kill()
        self._child.wait()
        self._queue.put(None)
        self._thread.join()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):  # questions that nobody is left to read
                    pipe.close()

    def _send(self, message: bytes) -> None:
        pipe = self._child.stdin
        if pipe is None:
            return
        with suppress(OSError):  # it died, which the futures report
            pipe.write(message)
            pipe.flush()

    def _converse(self, first: bytes) -> None:
        """Send it its first message, then fill the futures in the order of their questions."""
        self._send(first)  # may take as long as the process takes to start
        self._started.set()
        while (future := self._queue.get()) is not None:
            try:
                outcome: _Outcome = _receive(self._child.stdout)
            except Exception:  # it died, perhaps in the middle of an answer
                future.set_exception(self._died())
                continue
            if not outcome.succeeded:
                future.set_exception(outcome.error(self._name, self._error))
                continue
            try:
                future.set_result(pickle.loads(outcome.content))  # noqa: S301 - see `_receive`
            except Exception as error:  # an object that cannot be made again may raise anything
                future.set_exception(error)

    def _died(self) -> SearsError:
        return self._error(
            f"{self._name} died before its work was done, most likely for lack of memory",
            help="run with fewer jobs; if the command has --resume, that continues the run",
        )


class Children:
    """Processes that answer questions; they end with this object or this process.

    Each calls ``ready`` once, as a `Process` does, and what that returns answers the questions. The
    error for one that fails or dies says what they were ``doing``: "tags".

    Example:
        >>> from operator import itemgetter
        >>> children = Children(partial(itemgetter, 1), jobs=2, error=SearsError, doing="is")
        >>> children.ask(["abc", "xyz"])
        ['b', 'y']
        >>> children.close()
    """

    def __init__(
        self,
        ready: Callable[[], Callable[[Any], Any]],
        *,
        jobs: int,
        error: type[SearsError],
        doing: str,
    ) -> None:
        self._error = error
        self._name = f"a process that {doing}"
        self._children: list[Process[Any, Any]] = []
        self._end = weakref.finalize(self, _end, self._children, os.getpid())
        for _ in range(jobs):  # one by one: an interrupt must not lose any
            self._children.append(Process(ready, error=error, name=self._name))

    @property
    def ready(self) -> bool:
        """Whether all of them can answer; what kept one from becoming ready is raised."""
        return all(child.is_ready for child in self._children)

    def ask(self, questions: Sequence[Any]) -> list[Any]:
        """The answer to each question; if a child fails or dies, all are ended."""
        return list(self.ask_each(questions))

    def ask_each(self, questions: Iterable[Any]) -> Iterator[Any]:
        """The answers in the order of the questions, each drawn when a process is free."""
        pending: deque[Future[Any]] = deque()
        try:
            drawn = iter(questions)
            while True:
                # No question is drawn ahead, since the caller may look at the clock for each.
                free = [child for child in self._children if not child.waiting]
                pending.extend(child.ask(each) for child, each in zip(free, drawn, strict=False))
                if free and not pending:
                    return
                if pending and pending[0].done():
                    yield self._answer(pending.popleft())
                else:
                    # Also for answers that an earlier caller did not wait for.
                    busy = [each for child in self._children for each in child.waiting]
                    wait(busy, return_when=FIRST_COMPLETED)
        except GeneratorExit:
            raise
        except BaseException:
            self.close()  # an interrupt too
            raise

    def close(self) -> None:
        """End the processes; what they are doing is dropped."""
        self._end()

    def _answer(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except SearsError:
            raise
        except Exception as error:  # whatever was raised there
            raise self._error(
                f"{self._name} failed: {type(error).__name__}: {error}", help="try with one job"
            ) from error


class Compiler:
    """A process that compiles the kernels that most runs call into a folder that can be written.

    Of all processes that want code in a folder, one compiles and the others wait for it. If it ends
    too early, another one goes on from there, since each kernel is kept as soon as it is compiled.
    It ends with the process that started it. Costs a core for the minute that it takes.
    """

    def __init__(self, folder: Path) -> None:
        self._process = Children(
            partial(compile_in_child, folder), jobs=1, error=SearsError,
            doing="compiles the inner loops",
        )  # fmt: skip

    def is_done(self, *, wait: bool) -> bool:
        """Whether everything is compiled; if so, the process has been ended.

        It is also done if it died or could not compile; whoever compiles then learns why.
        """
        try:
            if wait:
                self._process.ask([None])
            if not self._process.ready:
                return False
        except SearsError:
            pass
        self._process.close()
        return True


def compile_in_child(folder: Path) -> Callable[[None], None]:
    """In the child: compile the kernels that most runs call, once nobody else is compiling them.

    The kernels for very many rules are left to runs that need them, so that no others have to wait.
    """
    while (lock_file := take_lock(folder / "compiling.lock")) is None:
        sleep(0.1)
    with lock_file:
        import_module("sears_dsl.engine.warming").compile_usual()
    return lambda question: question  # an answer says that everything is compiled


def _end(children: list[Process[Any, Any]], process: int) -> None:
    """End the children in the process that started them, and nowhere else."""
    if process == os.getpid():
        for child in children:
            child.end()


def _start_child() -> subprocess.Popen[bytes]:
    """A plain Python process that runs `serve`, with pipes for its input and output."""
    environment = {**os.environ, **_ONE_THREAD}
    environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-P", "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        process_group=0,  # while Python starts, the child cannot even ignore an interrupt
    )


class _Fork:
    """A fork of this process with pipes, and with what is used here of a `subprocess.Popen`."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        # Python drops what a signal handler raises while a fork is being prepared. Raised after
        # that, it would leave a fork that nobody knows, and the fork would handle the signal again.
        # Blocking signals does not help if other threads take them, such as those of NumPy's linear
        # algebra.
        with Uninterrupted(signal.valid_signals()) as block:
            asked, asking = os.pipe()
            answered, answering = os.pipe()
            try:
                # Python warns of all threads that it sees, even of those that `can_fork` allows.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    self._process = os.fork()
                if not self._process:
                    _run_fork(asked, answering, answer, block.handlers)
            except OSError:
                os.close(asking)
                os.close(answered)
                raise
            finally:
                os.close(asked)
                os.close(answering)
            self.stdin: BinaryIO = open(asking, "wb")  # noqa: SIM115 - whoever ends it closes them
            self.stdout: BinaryIO = open(answered, "rb")  # noqa: SIM115

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)

    def wait(self) -> None:
        with suppress(ChildProcessError):  # the caller's program waited for all children
            os.waitpid(self._process, 0)


def _run_fork(
    asked: int, answering: int, answer: Callable[[Any], Any], handled: Iterable[int]
) -> NoReturn:
    """In the fork: let go of all that is the parent's, then answer until the parent is gone."""
    try:
        gc.freeze()  # nothing of the parent's is finalized here
        os.setpgid(0, 0)
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # Let go of the pipes of other children, which would not end with the parent, and of files
        # that it has locked. Their numbers stay taken, since inherited objects still hold them.
        nowhere = os.open(os.devnull, os.O_RDWR)
        for name in os.listdir(_DESCRIPTORS):
            if int(name) not in (2, asked, answering, nowhere):
                os.dup2(nowhere, int(name))
        # What is printed, or what the parent has yet to write, must not get between the answers.
        os.dup2(2, 1)
        sys.stdout = sys.stderr = open(  # noqa: SIM115 - as long as the process
            2, "w", buffering=1, errors="backslashreplace", closefd=False
        )
        with suppress(BrokenPipeError), open(asked, "rb") as questions:
            _answer_all(questions, open(answering, "wb"), lambda: answer)  # noqa: SIM115
    finally:
        os._exit(1)


def _pickled(content: object, what: str) -> bytes:
    try:
        return pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    except Exception as reason:  # an object that cannot be pickled may raise anything
        raise SearsError(
            f"{what} cannot be sent to another process: {reason}", help=_PICKLING_HELP
        ) from reason


def _receive(pipe: Any) -> Any:
    return pickle.load(pipe)  # noqa: S301 - written by our own process


def _tell(answers: BinaryIO, outcome: _Outcome) -> None:
    answers.write(pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL))
    answers.flush()


def serve() -> None:
    """In a plain child: become ready, then answer until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports Ctrl-C, once
    # What is printed must not get between the answers.
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(BrokenPipeError):
        try:
            ready = _receive(questions)
        except Exception as error:  # an object that cannot be made again may raise anything
            what = f"the work cannot be made in another process: {error}"
            _tell(answers, _Outcome.failure(SearsError(what, help=_PICKLING_HELP)))
        else:
            _answer_all(questions, answers, ready)
    os._exit(1)  # at once, and without another try to write


def _answer_all(
    questions: BinaryIO, answers: BinaryIO, ready: Callable[[], Callable[[Any], Any]]
) -> NoReturn:
    """Answer questions; if ``ready`` fails, say so, at once and to each question."""
    waiting: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(questions, waiting), daemon=True).start()
    answer: Callable[[Any], Any] | None = None
    try:
        answer = ready()
        gc.freeze()  # what answers lives as long as the process
        readiness = _Outcome.of(lambda: None)
    except BaseException as error:  # told to the parent, who raises it
        readiness = _Outcome.failure(error)
    _tell(answers, readiness)
    while True:
        question = waiting.get()
        _tell(answers, readiness if answer is None else _Outcome.of(partial(answer, question)))


def _read(questions: BinaryIO, waiting: SimpleQueue[Any]) -> NoReturn:
    """Take questions while another is worked on; end the process when the parent is gone."""
    with suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            waiting.put(_receive(questions))
    os._exit(1)
