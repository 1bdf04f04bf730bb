"""How far a command is, told on standard error: one printer for all commands that take long.

Always holds: the lines go on while a model works and tells nothing; what a command prints in
between (`Stages.aside`) is not drawn over; nothing is written after the end of the block. Costs a
thread that sleeps.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sears_dsl.cli.screen.console import console

if TYPE_CHECKING:
    from rich.progress import Progress

ShowStage: TypeAlias = Callable[[str, int, int | None], None]
"""Called with a stage, how many are done and how many there are; None where nobody knows."""

EVERY = 10.0


@dataclass(frozen=True, slots=True)
class _Stage:
    """A stage at some moment; ``before`` is what was done when it began."""

    name: str
    done: int
    total: int | None
    before: int
    began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        counts = "" if self.total is None else f" {self.done:,} of {self.total:,},"
        text = f"{self.name}:{counts} {_clock(seconds)}"
        if self.total is not None and self.before < self.done < self.total:
            left = seconds * (self.total - self.done) / (self.done - self.before)
            text += f", about {_clock(left)} left"
        return text


class Stages:
    """What to call with the progress of a command; this one shows nothing."""

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Show how many of a stage are done; `total` is None where nobody knows."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A block that prints, or asks, and is not drawn over."""
        yield

    def close(self) -> None:
        """Show nothing more."""


@contextmanager
def stages(*, shown: bool, every: float = EVERY) -> Iterator[Stages]:
    """What to call with the progress of a command; without a terminal, lines every some seconds."""
    if not shown:
        show = Stages()
    elif sys.stderr.isatty():
        show = _StageBars()
    else:
        show = _Lines(every)
    try:
        yield show
    finally:
        show.close()


class _Lines(Stages):
    """A line when a stage begins, and one now and then."""

    def __init__(self, every: float) -> None:
        self._begun: dict[str, _Stage] = {}
        self._current = ""
        self._every = every
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if name in self._begun:
            self._begun[name] = replace(self._begun[name], done=done, total=total)
        else:
            counts = "" if total is None else f" ({total:,})"
            click.echo(f"{name}{counts}", err=True)
            self._begun[name] = _Stage(name, done, total, done)
        self._current = name

    def _go_on(self) -> None:
        while not self._over.wait(self._every):
            with self._writing:
                if self._current:
                    click.echo(str(self._begun[self._current]), err=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        with self._writing:
            yield

    def close(self) -> None:
        self._over.set()
        self._thread.join()


class _StageBars(Stages):
    """A bar for each stage."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        # Not before: bars are drawn over a question that is asked first.
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=total)
        for task in self._bar.tasks:
            if task.id == self._tasks[name]:
                # Stages take turns where one asks another; the clock of the one that runs runs.
                task.stop_time = None
            elif task.stop_time is None:
                # A stage that tells nothing but its beginning is over when another goes on.
                if not task.completed:
                    self._bar.update(task.id, total=task.total or 1, completed=task.total or 1)
                self._bar.stop_task(task.id)
        self._bar.update(self._tasks[name], completed=done, total=total)

    @contextmanager
    def aside(self) -> Iterator[None]:
        # What was drawn stays above what is printed; bars of later stages come below it.
        self.close()
        yield

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._tasks = None, {}


def _new_bar() -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    layout = (
        TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    return Progress(*layout, console=console(stderr=True))


def _clock(seconds: float) -> str:
    """``0:07``, ``12:30``, ``2:05:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
