"""A ruleset over a dataset: what ``sears apply`` and ``sears.apply`` do.

In: a request (rules, a file, what to do) or a dataset in memory. Out: a file and a report, or a
dataset of the same kind. Always holds: the same output for any number of processes, whether or not
the run was interrupted and resumed; the old output stays until the new one is complete; in chain
mode into the same format, everything but the rewritten values is written as it stood.
Costs memory for a few batches of about a mebibyte each, whatever the size of the file.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.plan import RuleTally, Tally
from sears_dsl.batch.requests import (
    ApplyRequest,
    check_paths,
    is_stream,
    manifest_of,
    output_format,
    output_names,
    plan_of,
)
from sears_dsl.batch.workers import ADDED, BatchTask, Crew
from sears_dsl.data.batches import Batch, Format, Frame
from sears_dsl.data.dataset import Dataset, IdLedger, row_ids
from sears_dsl.data.streams import STANDARD_STREAM, compressed
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError
from sears_dsl.runtime.files import FileState, state_of

# New objects between two collections; Python's own number is some hundreds.
_NEW_OBJECTS = 70_000
# Bytes of a file that are worth a second process from the beginning: some seconds of work.
_LARGE = 16 << 20
# Formats whose rows stand under the names of their columns.
_WITH_HEADER = ("csv", "tsv")


@dataclass(frozen=True, slots=True)
class ApplyProgress:
    """How far a run is; given after every batch."""

    rows: int  # rows done, those of an interrupted run included
    changed: int  # rows that at least one rule changed
    batches: int  # batches done
    seconds: float  # since the start of this run


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a run did."""

    tally: Tally  # rows, characters, records, rows kept or dropped and why
    rules: dict[str, RuleTally]  # every rule in order, with what it did; those that did nothing too
    seconds: float  # the time that this run took
    note: str = ""  # what became of an interrupted run before this one; empty if there was none
    stopped: bool = False  # the reader of standard output went away before the end

    @property
    def silent(self) -> tuple[str, ...]:
        """The rules that changed nothing."""
        return tuple(rule for rule, tally in self.rules.items() if not tally.rows)


def apply_file(
    request: ApplyRequest, *, progress: Callable[[ApplyProgress], object] | None = None
) -> ApplyReport:
    r"""Apply rules to a file.

    Raises:
        UsageError: options that do not go together; a resumed run that differs.
        CompileError, TaggerError: the rules cannot be compiled or run.

    Example:
        >>> import tempfile
        >>> class Nothing:
        ...     rule_ids = ("r-0",)
        ...     def apply(self, texts, **options): return []
        >>> class Recipe:
        ...     def build(self): return Nothing()
        ...     def identity(self): return {"rules": "none"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source, output = Path(folder, "a.txt"), Path(folder, "b.csv")
        ...     _ = source.write_text("It is.")
        ...     report = apply_file(
        ...         ApplyRequest(recipe=Recipe(), input=str(source), output=str(output)))
        ...     report.tally.rows, report.silent, output.read_text()
        (1, ('r-0',), 'id,rule,original,rewritten,edits\n')
    """
    started = time.monotonic()
    check_paths(request)
    before = _input_state(request.input)
    dataset = Dataset(request.input, format_name=request.format, options=request.reading)
    plan = plan_of(request, dataset)
    form = output_format(request, dataset)
    alike = form.name == dataset.format.name or (form.binary and dataset.format.binary)
    # Several times the rows are written anew: what one row ends with, the next one may not begin
    # after, and text has no place for another column.
    once = not request.with_originals and request.draws == 1
    patched = request.mode == "chain" and alike and (once or form.binary or form.name == "squad")
    names = output_names(request.mode, plan, dataset)
    with_header = request.mode == "chain" and not patched and form.name in _WITH_HEADER
    task = BatchTask(
        mode=request.mode,
        plan=plan,
        output_format=form.name,
        encoding=dataset.encoding if patched else "utf-8",
        patched=patched,
        names=names if with_header else (),
        with_originals=request.with_originals,
    )
    frame = Frame(names, task.encoding, (lambda: dataset.around) if patched else None)
    with closing(Crew(request.recipe, task, jobs=request.jobs)) as crew:
        if request.input != STANDARD_STREAM and os.path.getsize(request.input) > _LARGE:
            crew.start()
        matcher = request.recipe.build()
        run = _FilePass(request, dataset, task, crew, matcher, progress, started, before)
        with collecting_little():
            return _written(run, form, frame)


def _input_state(path: str) -> FileState:
    """What tells whether the input changed while it was read; pipes always do."""
    return state_of(path) if os.path.isfile(path) else None


@contextmanager
def collecting_little() -> Iterator[None]:
    """Leave what is there now, the compiled rules above all, out of garbage collections.

    A batch makes thousands of lists, which would have all of it looked through again and again;
    none of them is in a circle, so that this is done a hundred times less often than usual.
    Whoever has frozen something before keeps that: it could not be told apart when it is thawed.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *usual[1:])
    frozen = not gc.get_freeze_count()
    if frozen:
        gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        if frozen:
            gc.unfreeze()


def _written(run: _FilePass, form: Format, frame: Frame) -> ApplyReport:
    request = run.request
    if is_stream(request.output):
        stopped = not _write_stream(request, form, frame, chain(run.originals(), run.parts(0)))
        if not stopped:
            run.check_input()
        return run.report(stopped=stopped)
    manifest = manifest_of(request, run.task, run.dataset)
    with PartialOutput(Path(request.output), manifest, resume=request.resume) as partial:
        for number in range(partial.finished):
            run.tally.add(Tally.from_json(partial.counts(number)))
        for number, part in enumerate(run.parts(partial.finished), start=partial.finished):
            partial.put(number, run.latest.to_json(), part)

        def write(file: BinaryIO) -> None:
            parts = partial.parts()  # can be gone through twice, which a chain cannot
            if run.task.with_originals:
                parts = chain(run.originals(), parts)
            with compressed(file, request.output) as stream:
                form.assemble(parts, stream, frame)
            run.check_input()

        partial.complete(write)
        return run.report(note=partial.note)


@dataclass(slots=True)
class _FilePass:
    """One pass over the batches, with its counts."""

    request: ApplyRequest
    dataset: Dataset
    task: BatchTask
    crew: Crew
    matcher: Matcher
    progress: Callable[[ApplyProgress], object] | None
    started: float
    before: FileState
    tally: Tally = field(default_factory=Tally)
    latest: Tally = field(default_factory=Tally)

    def originals(self) -> Iterator[bytes]:
        """The rows as they were, where they are wanted too; they are read once more."""
        if self.task.with_originals:
            again = Dataset(
                self.request.input, format_name=self.request.format, options=self.request.reading
            )
            yield from map(self.task.original, again.batches())

    def parts(self, finished: int) -> Iterator[bytes]:
        """The parts after the finished ones; ``latest`` is the tally of the part just given."""
        batches = self.crew.finished(self._unfinished(finished), self.matcher)
        for number, (part, tally) in enumerate(batches, start=finished + 1):
            self.latest = tally
            yield part
            self.tally.add(tally)
            if self.progress is not None:
                seconds = time.monotonic() - self.started
                self.progress(ApplyProgress(self.tally.rows, self.tally.changed, number, seconds))

    def _unfinished(self, finished: int) -> Iterator[Batch]:
        """All rows are read and their ids compared, but finished batches are not worked on."""
        plan = self.task.plan
        checked = plan.id_column is not None and (
            self.task.mode == "each"
            or self.task.with_originals
            or self.request.id_column is not None
        )
        ledger = IdLedger(self.dataset.path)
        for number, batch in enumerate(self.dataset.batches()):
            if checked:
                names = row_ids(batch, plan.id_column)
                ledger.add(names, first=batch.first)
                if self.task.with_originals:
                    ledger.add([name + ADDED for name in names], first=batch.first)
            if number >= finished:
                yield batch

    def check_input(self) -> None:
        """Refuse to give out what was read of a file that somebody was writing."""
        if _input_state(self.request.input) != self.before:
            raise DataError(
                f"{self.request.input} changed while it was read",
                help="run the command again when nobody writes that file any more",
            )

    def report(self, *, note: str = "", stopped: bool = False) -> ApplyReport:
        """What was done, with every rule of the matcher."""
        rules = {rule: self.tally.rules.get(rule, RuleTally()) for rule in self.matcher.rule_ids}
        return ApplyReport(self.tally, rules, time.monotonic() - self.started, note, stopped)


def _write_stream(
    request: ApplyRequest, form: Format, frame: Frame, parts: Iterable[bytes]
) -> bool:
    """Write parts as they come; False if the reader went away."""
    try:
        if request.output == STANDARD_STREAM:
            form.assemble(_flushed(parts, sys.stdout.buffer), sys.stdout.buffer, frame)
            sys.stdout.buffer.flush()
        else:
            with open(request.output, "wb") as file:
                form.assemble(parts, file, frame)
    except BrokenPipeError:
        _leave_stream(request.output)
        return False
    except OSError as error:
        _leave_stream(request.output)
        where = "standard output" if request.output == STANDARD_STREAM else request.output
        raise DataError(f"{where} could not be written: {error.strerror}") from error
    return True


def _leave_stream(path: str) -> None:
    """The interpreter flushes standard output when it ends, which must not fail again."""
    if path == STANDARD_STREAM:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _flushed(parts: Iterable[bytes], file: BinaryIO) -> Iterator[bytes]:
    """The parts, with what was written of one flushed before the next is waited for."""
    for part in parts:
        yield part
        file.flush()
