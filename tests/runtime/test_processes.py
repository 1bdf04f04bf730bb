"""Worker processes: answers in order, errors as they were, deaths told, nobody left behind.

The laws are those of plain processes, and `test_all_of_this_holds_for_forks` has them asked of
forks, in a process of its own: the runner of tests may have threads, and torch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from waiting import is_at_work, wait_until

from sears_dsl.errors import DataError, Diagnostic, ModelError, RuleSyntaxError, SearsError, Span
from sears_dsl.runtime.processes import HARMLESS, Children, Process, can_fork, usable_cores

FORKED = "SEARS_TEST_FORKS" in os.environ
of_forks = pytest.mark.skipif(not FORKED, reason="asked of forks, in another process")


def answering(times: int) -> Callable[[Any], Any]:
    """A worker that multiplies numbers, and fails on words in various ways."""
    return partial(_answer, times)


def _answer(times: int, question: Any) -> Any:
    if question == "fail":
        raise DataError("no such row", help="look again")
    if question == "die":
        os._exit(9)
    if isinstance(question, Path):
        wait_until(question.exists, "the file never came")
    if question == "unsendable":
        raise type("Own", (Exception,), {})("gone")
    if question == "unreadable":
        raise _UnreadableError("here", "there")
    if question == "unreadable answer":
        return _UnreadableError("here", "there")
    if question == "exit":
        sys.exit("no licence for this machine")
    if question == "rules":
        raise RuleSyntaxError([FINDING])
    if question == "value":
        raise ValueError("odd")
    if question == "about":
        sys.stdout.write("said in a worker process\n")
        return os.getpid(), os.getpgid(0), os.getppid()
    return question * times


FINDING = Diagnostic(
    "E201", "`NUON` is not a tag", Span(1, 6, 10), source="What NUON -> Which NOUN"
)


class _UnreadableError(Exception):
    """Can be pickled but not unpickled: it needs two arguments and stores one."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


def exiting() -> Callable[[Any], Any]:
    sys.exit("no model on this machine")


def failing() -> Callable[[Any], Any]:
    raise DataError("no rules", help="write some")


def dying() -> Callable[[Any], Any]:
    os._exit(9)


@pytest.fixture
def process() -> Iterator[Process[Any, Any]]:
    made: Process[Any, Any] = Process(
        partial(answering, 3), answerer=answering(3) if FORKED else None
    )
    yield made
    made.end()


def until_ready(process: Process[Any, Any]) -> None:
    wait_until(lambda: process.has_room, "it never became ready")


def test_questions_are_answered_in_order(process: Process[Any, Any]) -> None:
    futures = [process.ask(number) for number in range(20)]
    assert [future.result(300) for future in futures] == [3 * number for number in range(20)]


def test_it_has_room_for_one_question_more_than_it_works_on(
    process: Process[Any, Any], tmp_path: Path
) -> None:
    until_ready(process)
    process.ask(tmp_path / "go on")
    assert process.has_room
    process.ask(1)
    assert not process.has_room
    (tmp_path / "go on").touch()
    until_ready(process)


def test_an_error_is_the_same_error_and_no_end(process: Process[Any, Any]) -> None:
    failed, unsendable, after = (process.ask(question) for question in ("fail", "unsendable", 2))
    with pytest.raises(DataError, match="no such row") as caught:
        failed.result(300)
    assert caught.value.help == "look again"
    with pytest.raises(SearsError, match="a worker process failed: Own: gone"):
        unsendable.result(300)
    assert after.result(300) == 6


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("unsendable", SearsError, "a worker process failed: Own: gone"),
        ("unreadable", SearsError, "a worker process failed: .*_UnreadableError: here and there"),
        ("unreadable answer", TypeError, "missing 1 required positional argument"),
        ("exit", SearsError, "a worker process failed: SystemExit: no licence for this machine"),
        ("rules", RuleSyntaxError, "`NUON` is not a tag"),
        ("value", ValueError, "odd"),
    ],
)
def test_whatever_is_raised_arrives_with_its_text(
    process: Process[Any, Any], question: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        process.ask(question).result(300)
    if isinstance(caught.value, RuleSyntaxError):
        assert caught.value.diagnostics == (FINDING,)
    if question == "value":
        [note] = caught.value.__notes__
        assert "in _answer" in note, "where it was raised there"
    assert process.ask(2).result(300) == 6


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ("fail", DataError, "no such row"),
        ("rules", RuleSyntaxError, "`NUON` is not a tag"),
        ("value", ModelError, "a process that scores failed: ValueError: odd"),
        ("unreadable", ModelError, "a process that scores failed: .*: here and there"),
        ("exit", ModelError, "a process that scores failed: SystemExit: no licence"),
        ("die", ModelError, "a process that scores died before its work was done"),
    ],
)
def test_children_that_fail_say_why(question: str, kind: type[Exception], message: str) -> None:
    children = Children(partial(answering, 3), jobs=1, error=ModelError, doing="scores")
    assert children.ask([1, 2]) == [3, 6]
    with pytest.raises(kind, match=message):
        children.ask([question])


@pytest.mark.parametrize(("ready", "message"), [(failing, "no rules"), (exiting, "no model on")])
def test_children_that_cannot_start_say_why(ready: Callable[[], Any], message: str) -> None:
    children = Children(ready, jobs=2, error=ModelError, doing="scores")
    with pytest.raises(SearsError, match=message):
        children.ask([1, 2, 3])


def test_a_death_is_reported_for_every_question(process: Process[Any, Any]) -> None:
    until_ready(process)
    futures = [process.ask(question) for question in ("die", 1)]
    for future in futures:
        with pytest.raises(SearsError, match="a worker process died"):
            future.result(300)
    with pytest.raises(SearsError, match="a worker process died"):
        process.ask(1).result(300)


@pytest.mark.parametrize(
    ("ready", "message"), [(failing, "no rules"), (exiting, "no model on"), (dying, "process died")]
)
def test_one_that_cannot_start_says_why(ready: Any, message: str) -> None:
    process: Process[Any, Any] = Process(ready)
    with pytest.raises(SearsError, match=message):
        until_ready(process)
    process.end()


def test_one_that_is_still_starting_is_ended_at_once() -> None:
    process: Process[Any, Any] = Process(partial(time.sleep, 600))
    begin = time.monotonic()
    process.end()
    assert time.monotonic() - begin < 300


def test_what_cannot_be_sent_is_reported_at_once() -> None:
    with pytest.raises(SearsError, match="cannot be sent to another process"):
        Process(lambda: partial(_answer, 1))


def test_a_question_that_cannot_be_sent_leaves_the_others_their_answers(
    process: Process[Any, Any],
) -> None:
    with pytest.raises(SearsError, match="a question cannot be sent to another process"):
        process.ask(lambda: 1)
    assert [process.ask(number).result(60) for number in (1, 2)] == [3, 6]


def test_an_ended_process_leaves_nothing_behind() -> None:
    before = threading.active_count()
    for _ in range(3):
        process: Process[Any, Any] = Process(partial(answering, 1))
        process.ask(1)
        process.end()
    assert threading.active_count() == before


_OF_A_PROCESS = "not children and not script and not cores"


@pytest.mark.skipif(FORKED or sys.platform != "linux", reason="it is there, or cannot be")
def test_all_of_this_holds_for_forks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-k", _OF_A_PROCESS, __file__],
        env={**os.environ, "SEARS_TEST_FORKS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout


@of_forks
def test_a_fork_is_one_and_has_a_group_of_its_own(process: Process[Any, Any]) -> None:
    number, group, parent = process.ask("about").result(300)
    assert number == group
    assert parent == os.getpid() != number


@of_forks
def test_what_is_made_here_answers_in_a_fork_and_need_not_be_sent() -> None:
    process: Process[Any, Any] = Process(partial(failing), answerer=lambda question: question + 1)
    assert process.ask(1).result(300) == 2
    process.end()


@of_forks
def test_a_fork_lets_go_of_files_and_of_other_forks(tmp_path: Path) -> None:
    import fcntl  # Windows has none

    with open(tmp_path / "lock", "ab") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        forks: list[Process[Any, Any]] = [
            Process(answering, answerer=answering(3)) for _ in range(2)
        ]
        assert [fork.ask(1).result(300) for fork in forks] == [3, 3]
    with open(tmp_path / "lock", "ab") as second:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    # The second one no longer holds the first one's pipes, so that one ends with its input.
    (number, _, _), pipe = forks[0].ask("about").result(300), forks[0]._child.stdin
    assert pipe is not None
    pipe.close()
    wait_until(lambda: not is_at_work(number), "it did not end")
    for fork in forks:
        fork.end()


@of_forks
def test_a_signal_in_a_fork_is_not_for_the_handlers_of_its_parent() -> None:
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda received_one, _: received.append(received_one))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        process: Process[Any, Any] = Process(answering, answerer=partial(_answer, 3))
        number, _, _ = process.ask("about").result(300)
        os.kill(number, signal.SIGINT)
        assert process.ask(1).result(300) == 3
        os.kill(number, signal.SIGTERM)
        wait_until(lambda: not is_at_work(number), "it did not end")
        with pytest.raises(SearsError, match="a worker process died"):
            process.ask(1).result(300)
        process.end()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert not received


# The pipes of a fork that nobody received are closed as garbage, and so it ends.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@of_forks
def test_a_signal_while_a_fork_begins_is_answered_when_it_has() -> None:
    begun: list[int] = []
    interrupted = threading.Event()
    interrupted.set()

    def interrupt() -> None:
        if interrupted.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            begun.append(1)

    os.register_at_fork(after_in_parent=interrupt)
    with pytest.raises(KeyboardInterrupt):
        Process(answering, answerer=answering(3))
    interrupted.clear()
    assert begun == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@of_forks
def test_there_is_no_fork_beside_a_thread_that_may_hold_something() -> None:
    over = threading.Event()
    for name, holds_nothing in (("a thread", False), (f"{HARMLESS}reads", True)):
        over.clear()
        thread = threading.Thread(target=over.wait, name=name)
        thread.start()
        assert can_fork() == holds_nothing
        process: Process[Any, Any] = Process(partial(answering, 2), answerer=answering(3))
        assert process.ask(1).result(300) == (3 if holds_nothing else 2)
        process.end()
        over.set()
        thread.join()
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(can_fork()), name=f"{HARMLESS}asks")
    thread.start()
    thread.join()
    assert found == [False]


@of_forks
def test_there_is_no_fork_beside_a_library_that_has_threads_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert can_fork()
    monkeypatch.setitem(sys.modules, "torch", threading)
    assert not can_fork()


@of_forks
def test_what_a_fork_prints_and_what_its_parent_has_yet_to_write_stay_apart(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import atexit, sys\n"
        f"sys.path[:0] = {list(map(str, Path(__file__).parents[:2]))!r}\n"
        "from functools import partial\n"
        "from sears_dsl.runtime.processes import Process, can_fork\n"
        "from test_processes import answering\n"
        "atexit.register(print, 'over')\n"
        "print('begun')\n"
        "process = Process(partial(answering, 2), answerer=answering(3))\n"
        "_ = process.ask('about').result()\n"
        "print(process.ask(1).result())\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "begun\n3\nover\n"
    assert done.stderr == "said in a worker process\n"


def test_children_are_asked_nothing_ahead_of_time(tmp_path: Path) -> None:
    ready = partial(partial, subprocess.call)
    children = Children(ready, jobs=2, error=SearsError, doing="waits")
    answered_before = []

    def questions() -> Iterator[list[str]]:
        for number in range(5):
            answered_before.append(len(list(tmp_path.iterdir())))
            yield ["sh", "-c", f"sleep 0.2; : > '{tmp_path}/{number}'"]

    assert list(children.ask_each(questions())) == [0] * 5
    assert all(before >= number - 1 for number, before in enumerate(answered_before))
    children.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_that_nobody_waited_for_are_no_end_of_later_ones(jobs: int) -> None:
    children = Children(
        partial(partial, subprocess.call), jobs=jobs, error=SearsError, doing="waits"
    )
    early = children.ask_each([["sh", "-c", "sleep 0.2; exit 1"]] * 4)
    assert next(early) == 1
    early.close()
    assert children.ask([["sh", "-c", f"exit {number}"] for number in (5, 6, 7)]) == [5, 6, 7]
    children.close()


def test_children_share_the_cores_whatever_the_caller_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    children = Children(partial(partial, os.getenv), jobs=1, error=SearsError, doing="asks")
    assert children.ask(["OMP_NUM_THREADS", "MKL_NUM_THREADS"]) == ["1", "1"]
    children.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_children_outlive_a_fork_of_the_caller(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "from functools import partial\n"
        "from operator import itemgetter\n"
        "from sears_dsl.errors import SearsError\n"
        "from sears_dsl.runtime.processes import Children\n"
        "children = Children(partial(itemgetter, 1), jobs=1, error=SearsError, doing='is')\n"
        "fork = os.fork()\n"
        "if not fork:\n"
        "    sys.exit()\n"
        "os.waitpid(fork, 0)\n"
        "print(children.ask(['abc']))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "['b']\n", done.stderr


QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("", {}, None),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {"cpu.max": "100000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "1000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "not a number\n"}, None),
        # The limits of every group above apply too.
        ("0::/a/b\n", {"a/cpu.max": "100000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1),
        ("0::/../a\n", {"a/cpu.max": "100000 100000\n"}, 1),
        # Version 1: the path is the host's, and in a container only the root of the tree is there.
        (
            "5:cpu,cpuacct:/docker/0a\n4:memory:/docker/0a\n0::/\n",
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "90000\n",
                "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
        (
            "5:cpuacct,cpu:/\n",
            {f"cpu/{QUOTA}": "-1\n", f"cpu/{PERIOD}": "100000\n"},
            None,
        ),
        (
            "3:cpuset:/\n",
            {"cpuset/cpu.cfs_quota_us": "1\n", "cpuset/cpu.cfs_period_us": "1\n"},
            None,
        ),
    ],
)
def test_cores_are_those_that_a_container_may_use(
    tmp_path: Path, membership: str, files: dict[str, str], cores: int | None
) -> None:
    (tmp_path / "cgroup").write_text(membership)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    free = usable_cores(groups=tmp_path, membership=tmp_path / "nothing")
    assert free == len(os.sched_getaffinity(0))
    counted = usable_cores(groups=tmp_path, membership=tmp_path / "cgroup")
    assert counted == (free if cores is None else min(free, cores))


def test_a_script_without_a_main_guard_can_use_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\n"
        "from operator import itemgetter\n"
        "from sears_dsl.errors import SearsError\n"
        "from sears_dsl.runtime.processes import Children\n"
        "print('once')\n"
        "ready = partial(itemgetter, 1)\n"
        "children = Children(ready, jobs=2, error=SearsError, doing='is')\n"
        "print(children.ask(['abc', 'xyz']))\n"
    )
    # No child imports what lies in the current folder, where its caller did not either.
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "secrets.py").write_text("raise SystemExit('of a stranger')\n")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "strange",
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert (done.stdout, done.stderr) == ("once\n['b', 'y']\n", "")
