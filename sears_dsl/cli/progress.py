"""How far a command is, told on standard error: one printer for all commands that take long.

In: a stage, how many of how many are done. Out: on a terminal a bar for each stage; elsewhere a
line when a stage begins and one every ten seconds, with counts, the time of the stage so far and
the time that it is likely to take yet. Always holds: the lines go on while a model works and tells
nothing; nothing is written after the end of the block. Costs a thread that sleeps.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import click

from sears_dsl.cli.console import console

__all__ = ["ShowStage", "stages"]

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
        told = f"{self.name}:{counts} {_clock(seconds)}"
        if self.total is not None and self.before < self.done < self.total:
            left = seconds * (self.total - self.done) / (self.done - self.before)
            told += f", about {_clock(left)} left"
        return told


@contextmanager
def stages(*, shown: bool, every: float = EVERY) -> Iterator[ShowStage]:
    """What to call with the progress of a command.

    Args:
        shown: whether anything is written at all.
        every: seconds between two lines where there is no terminal.

    Example:
        >>> with stages(shown=False) as show:
        ...     show("asking the model", 0, 200)
    """
    if not shown:
        yield lambda _stage, _done, _total: None
    elif sys.stderr.isatty():
        with _bars() as show:
            yield show
    else:
        with _lines(every) as show:
            yield show


@contextmanager
def _lines(every: float) -> Iterator[ShowStage]:
    begun: dict[str, _Stage] = {}
    current: list[str] = []
    over = threading.Event()

    def show(name: str, done: int, total: int | None) -> None:
        if name in begun:
            begun[name] = replace(begun[name], done=done, total=total)
        else:
            counts = "" if total is None else f" ({total:,})"
            click.echo(f"{name}{counts}", err=True)
            begun[name] = _Stage(name, done, total, done)
        current[:] = [name]

    def go_on() -> None:
        while not over.wait(every):
            for name in current:
                click.echo(str(begun[name]), err=True)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        over.set()
        thread.join()


@contextmanager
def _bars() -> Iterator[ShowStage]:
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
    bar = Progress(*layout, console=console(stderr=True))
    tasks: dict[str, Any] = {}

    def show(name: str, done: int, total: int | None) -> None:
        bar.start()  # not before: bars are drawn over a question that is asked first
        if name not in tasks:
            for task in bar.tasks:
                # A stage that tells nothing but its beginning is over when the next begins.
                if not task.completed:
                    bar.update(task.id, total=task.total or 1, completed=task.total or 1)
                bar.stop_task(task.id)
            tasks[name] = bar.add_task(name, total=total)
        bar.update(tasks[name], completed=done, total=total)

    try:
        yield show
    finally:
        bar.stop()


def _clock(seconds: float) -> str:
    """``0:07``, ``12:30``, ``2:05:00``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
