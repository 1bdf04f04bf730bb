"""An interrupt at a harmful moment waits, and none is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from sears_dsl.runtime import interrupts
from sears_dsl.runtime.interrupts import Uninterrupted

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture
def received() -> Iterator[list[int]]:
    """The results of signals that raise."""
    numbers: list[int] = []

    def interrupt(number: int, _: object) -> None:
        numbers.append(number)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, interrupt)
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("error", [None, ValueError])
def test_an_interrupt_comes_after_the_block_whatever_ends_it(
    received: list[int], error: type[Exception] | None
) -> None:
    def block() -> None:
        with Uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            before_its_end.extend(received)
            done.append(True)
            if error is not None:
                raise error

    before_its_end: list[int] = []
    done: list[bool] = []
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt):
        block()
    assert (before_its_end, done, received) == ([], [True], [signal.SIGTERM])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_blocks_may_stand_in_each_other_and_in_threads(received: list[int]) -> None:
    def block(within: Callable[[], object]) -> None:
        with Uninterrupted():
            within()

    def within() -> None:
        block(lambda: signal.raise_signal(signal.SIGINT))
        before_its_end.extend(received)
        thread = threading.Thread(target=block, args=[entered.set])
        thread.start()
        thread.join()

    before_its_end: list[int] = []
    entered = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        block(within)
    assert entered.is_set()
    assert (before_its_end, received) == ([], [signal.SIGINT])


def test_who_insists_after_some_seconds_is_heard(
    received: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def block() -> None:
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            before_patience_ends.extend(received)
            monkeypatch.setattr(interrupts, "_PATIENCE", 0.0)
            signal.raise_signal(signal.SIGTERM)
            pytest.fail("it goes on")

    before_patience_ends: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        block()
    assert (before_patience_ends, received) == ([], [signal.SIGTERM])


def test_patience_is_counted_from_the_first_signal_on(
    received: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who insists every three seconds is heard the third time."""

    def block() -> None:
        with Uninterrupted():
            for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
                signal.raise_signal(number)
            pytest.fail("it goes on")

    times = iter([0.0, 3.0, 6.0])
    monkeypatch.setattr(interrupts, "time", SimpleNamespace(monotonic=lambda: next(times)))
    with pytest.raises(KeyboardInterrupt):
        block()
    assert received == [signal.SIGTERM]


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Uninterrupted():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


_KERNEL = """
import signal
from typing import Any, NamedTuple
import numpy as np
from sears_dsl.runtime import kernels

class Pair(NamedTuple):
    first: Any
    second: Any

def mixed(rounds):
    values = np.zeros(4, np.int64)
    for number in range(rounds):
        values[number & 3] ^= number ^ (values[0] << 1)
    return Pair(values, values[1:])

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
for make in (kernels.kernel, kernels.kernel_of_alike):
    kernels._decision.compiled = True
    mix = make(mixed)
    mix.dispatcher()._compile_for_args(1)
    for call in ("first", "second", "third"):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            mix(400_000_000)
        except KeyboardInterrupt:
            print(make.__name__, call, mix(1).second.tolist())
"""


def test_an_interrupt_while_a_kernel_runs_is_one_and_no_crash() -> None:
    """As in a notebook, where Ctrl-C arrives during a kernel whose result consists of arrays."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _KERNEL],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    calls = [f"{kind} {call}" for kind in ("kernel", "kernel_of_alike")
             for call in ("first", "second", "third")]  # fmt: skip
    assert done.stdout.splitlines() == [f"{call} [0, 0, 0]" for call in calls]
