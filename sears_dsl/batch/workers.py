"""Batches through processes: in order, bounded, and with an error where one dies.

In: batches, and a recipe for the matcher. Out: for each batch its part of the output and its
tally, in the order of the batches. Always holds: the same bytes for any number of processes; at
most two batches a process are on their way; a process whose parent dies ends itself.
Costs one compilation of the rules in each process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from sears_dsl.batch.rewriting import Mode, Plan, TextMatcher, rewrite_chain, rewrite_each
from sears_dsl.batch.tally import Tally
from sears_dsl.errors import SearsError
from sears_dsl.text.batches import Batch
from sears_dsl.text.dataset import format_named

__all__ = ["MatcherRecipe", "Task", "finished_batches", "with_changes"]

#: What becomes of a batch: its part of the output, and the counts.
Finished: TypeAlias = tuple[bytes, Tally]


class MatcherRecipe(Protocol):
    """How to make the matcher; goes to other processes, so it must be picklable."""

    def build(self) -> TextMatcher:
        """Compile the rules; called once in each process."""
        ...

    def identity(self) -> Mapping[str, str]:
        """What decides what the matcher does (rules, tagger, versions), to compare two runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is done to every batch.

    Attributes:
        mode: ``each`` or ``chain``.
        plan: which columns, and how.
        output_format: the name of the format to write.
        encoding: of the text that is written.
        patched: rows are written back into the format that they were read from.
    """

    mode: Mode
    plan: Plan
    output_format: str
    encoding: str
    patched: bool

    def run(self, matcher: TextMatcher, batch: Batch) -> Finished:
        """Make the part of one batch."""
        form = format_named(self.output_format)
        if self.mode == "each":
            records, tally = rewrite_each(matcher, batch, self.plan)
            return form.encode(records, self.encoding) if tally.records else b"", tally
        changed = rewrite_chain(matcher, batch, self.plan)
        if self.patched:
            part = form.patch(batch, changed.values, changed.dropped, self.encoding)
        elif changed.tally.records:
            part = form.encode(with_changes(batch, changed.values, changed.dropped), self.encoding)
        else:
            part = b""
        return part, changed.tally

    def lighten(self, batch: Batch) -> Batch:
        """The batch without what this task does not need."""
        return batch if self.patched else replace(batch, source=None)


def with_changes(
    batch: Batch, values: Mapping[int, Mapping[str, Any]], dropped: frozenset[int]
) -> dict[str, list[Any]]:
    """All columns of a batch with new values in place and dropped rows left out."""
    columns = {name: list(column) for name, column in batch.columns.items()}
    for row, new in values.items():
        for name, value in new.items():
            columns[name][row] = value
    if dropped:
        for name, column in columns.items():
            columns[name] = [value for row, value in enumerate(column) if row not in dropped]
    return columns


class _Worker:
    """The state of a worker process: its task and, from the first batch on, its matcher."""

    current: _Worker | None = None

    def __init__(self, recipe: MatcherRecipe, task: Task) -> None:
        self._recipe = recipe
        self._task = task
        self._matcher: TextMatcher | None = None

    def run(self, batch: Batch) -> Finished:
        if self._matcher is None:
            self._matcher = self._recipe.build()
        return self._task.run(self._matcher, batch)


def _start_worker(recipe: MatcherRecipe, task: Task) -> None:
    _Worker.current = _Worker(recipe, task)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is told by the parent, once
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_in_worker(batch: Batch) -> Finished:
    if _Worker.current is None:
        raise SearsError("a worker process was used before it was started")
    return _Worker.current.run(batch)


def finished_batches(
    batches: Iterable[Batch],
    task: Task,
    *,
    recipe: MatcherRecipe,
    matcher: Callable[[], TextMatcher],
    jobs: int,
) -> Iterator[Finished]:
    """Run a task on batches, in this process (one job) or in several.

    Args:
        batches: taken one by one, as there is room.
        task: what to do.
        recipe: makes the matchers of worker processes.
        matcher: gives the matcher of this process.
        jobs: how many processes work.

    Raises:
        SearsError: a worker process died; or whatever the task raised, for the first such batch.
    """
    if jobs == 1:
        for batch in batches:
            yield task.run(matcher(), batch)
        return
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(recipe, task),
    )
    waiting: deque[Future[Finished]] = deque()
    try:
        for batch in batches:
            waiting.append(pool.submit(_run_in_worker, task.lighten(batch)))
            if len(waiting) >= 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise SearsError(
            "a worker process died; it may have been killed for want of memory",
            help="run with fewer --jobs; finished batches of a file are kept for --resume",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
