"""Rules applied to a file: the request, the checks before any work, and the run.

In: a request (rules with a tagger, paths, what to do). Out: a file and a report. Always holds:
options that do not go together are refused before a row is worked on; the output is the same for
any number of processes, and for an interrupted run that was resumed; the old output stays until the
new one is complete; in chain mode into the same format, everything but the rewritten values is
written as it stood. Costs a look at the first batch and at the first mebibyte of the input, then
memory for a few batches of about a mebibyte each, whatever the size of the file; parquet and Arrow
files with the originals beside the rewrites are put together in memory.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from sears_dsl import __version__
from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.plan import (
    Mode,
    RowChoices,
    RuleTally,
    Tally,
    make_plan,
    require_no_draw,
    require_together,
)
from sears_dsl.batch.workers import BatchTask, Crew, Finished, MatcherRecipe, with_distinct_ids
from sears_dsl.data.batches import Batch, Format, ReadOptions
from sears_dsl.data.dataset import Dataset, default_column, is_stream
from sears_dsl.data.squad import SQUAD_SPANS
from sears_dsl.data.streams import STANDARD_STREAM, compressing_stream
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import DataError, UsageError
from sears_dsl.runtime.files import are_same

# New objects between two garbage collections; by default some hundreds.
_NEW_OBJECTS = 70_000
# A file of so many bytes is worth a second process from the beginning: some seconds of work.
_LARGE = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest(RowChoices):
    """All that decides what `apply_file` does; UsageError: options that do not go together."""

    recipe: MatcherRecipe  # makes the compiled rules
    input: str  # a file, or ``-`` for standard input
    output: str  # a file, or ``-`` for standard output
    # ``each``: a record for every row and rule that changed it. ``chain``: each row once, all rules
    # applied to it in order.
    mode: Mode = "each"
    format: str | None = None  # of the input; None: by its name, plain text for ``-``
    # Of the output; None: by its name; for ``-`` the input's in chain mode, JSON lines in each.
    output_format: str | None = None
    # Encoding, header, limit and the size of batches.
    reading: ReadOptions = field(default_factory=ReadOptions)
    # Processes that work; None: as many as cores, once the run has taken so long that they are
    # worth starting.
    jobs: int | None = 1
    resume: bool = False  # go on with an interrupted run of the same request
    # Mode chain: the rows as they were come first, then all rows once more as the rules leave them,
    # with ``~rewritten`` appended to their ids.
    with_originals: bool = False

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise UsageError(f"--jobs {self.jobs} is not valid", help="it has to be 1 or more")
        if self.reading.limit is not None and self.reading.limit < 0:
            raise UsageError(f"--limit {self.reading.limit} is not valid", help="use 0 or more")
        require_together(
            self.mode, keep=self.keep, draws=self.draws, with_originals=self.with_originals
        )
        if self.with_originals and self.input == STANDARD_STREAM:
            raise UsageError(
                "the originals are read twice, which no stream can be", help="name a file"
            )


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

    UsageError: paths that do not go together, or a resumed run that differs. CompileError,
    TaggerError: the rules cannot be compiled or run.
    """
    started = time.monotonic()
    _check_paths(request)
    dataset = Dataset(request.input, format_name=request.format, options=request.reading)
    squad_spans = SQUAD_SPANS if dataset.format.name == "squad" else ()
    chosen = replace(request, spans=(*request.spans, *squad_spans))
    plan = make_plan(dataset.names, dataset.first, chosen, where=dataset.where)
    chained = request.mode == "chain"
    if request.draws > 1 and chained:
        require_no_draw(dataset.names)
    form = dataset.format_to_write(
        request.output, request.output_format, chained=chained, draws=request.draws
    )
    task = BatchTask.over(
        dataset, plan, form, mode=request.mode, with_originals=request.with_originals
    )
    expected = dataset.expected_rows
    with closing(Crew(request.recipe, task, jobs=request.jobs, expected_rows=expected)) as crew:
        if request.input != STANDARD_STREAM and os.path.getsize(request.input) > _LARGE:
            crew.start()
        matcher = request.recipe.build()
        run = _FilePass(request, dataset, task, form, crew, matcher, progress, started)
        with collecting_little():
            return run.written()


def _check_paths(request: ApplyRequest) -> None:
    """Refuse paths that do not go together, before anything is read."""
    reads, writes = request.input, request.output
    if request.resume and (reads == STANDARD_STREAM or is_stream(writes)):
        raise UsageError(
            "a run between standard streams cannot be resumed", help="name files for both"
        )
    if STANDARD_STREAM in (reads, writes):
        return
    if writes and os.path.isdir(os.path.realpath(writes)):
        raise DataError(f"{writes} is a folder", help="name a file")
    if are_same(reads, writes):
        raise UsageError(
            f"{writes} is the input itself", help="write another file, and rename it afterwards"
        )


@contextmanager
def collecting_little() -> Iterator[None]:
    """Keep the objects that exist now, above all the compiled rules, out of garbage collections.

    A batch makes thousands of lists, for which Python would look through all objects again and
    again. None of the lists is in a cycle, so collections run a hundred times less often than
    usual. If the caller has frozen objects already, no others are: `gc.unfreeze` would thaw both.
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


@dataclass(slots=True)
class _FilePass:
    """One pass over the batches, with its counts."""

    request: ApplyRequest
    dataset: Dataset
    task: BatchTask
    form: Format
    crew: Crew
    matcher: Matcher
    progress: Callable[[ApplyProgress], object] | None
    started: float
    tally: Tally = field(default_factory=Tally)

    def written(self) -> ApplyReport:
        """Write the output, whole or as it comes, and say what was done."""
        if is_stream(self.request.output):
            stopped = not self._to_stream()
            if not stopped:
                self.dataset.check_unchanged()
            return self._report(stopped=stopped)
        output, resume = self.request.output, self.request.resume
        frame = self.task.frame(self.dataset)
        with PartialOutput(Path(output), self._manifest(), resume=resume) as partial:
            first = partial.finished
            for number in range(first):
                self.tally.add(Tally.from_json(partial.counts(number)))
            for number, (part, tally) in enumerate(self._parts(first), start=first):
                partial.put(number, tally.to_json(), part)

            def write(file: BinaryIO) -> None:
                parts = partial.parts()  # can be gone through twice, which a chain cannot
                if self.task.with_originals:
                    parts = chain(self._originals(), parts)
                with compressing_stream(file, output) as stream:
                    self.form.assemble(parts, stream, frame)
                self.dataset.check_unchanged()

            partial.complete(write)
            return self._report(note=partial.note)

    def _to_stream(self) -> bool:
        """Write parts as they come; False if the reader went away."""
        path = self.request.output
        parts = chain(self._originals(), (part for part, _ in self._parts(0)))
        form, frame = self.form, self.task.frame(self.dataset)
        try:
            if path == STANDARD_STREAM:
                form.assemble(_flushed(parts, sys.stdout.buffer), sys.stdout.buffer, frame)
                sys.stdout.buffer.flush()
            else:
                with open(path, "wb") as file:
                    form.assemble(parts, file, frame)
        except BrokenPipeError:
            _leave_stream(path)
            return False
        except OSError as error:
            _leave_stream(path)
            where = "standard output" if path == STANDARD_STREAM else path
            raise DataError(f"cannot write {where}: {error.strerror}") from error
        return True

    def _manifest(self) -> dict[str, Any]:
        """What has to be the same for a run to be resumed; the number of jobs does not."""
        request, task = self.request, self.task
        manifest: dict[str, Any] = {"sears": __version__}
        if request.input == STANDARD_STREAM:
            manifest["input"] = STANDARD_STREAM
        else:
            status = os.stat(request.input)
            with open(request.input, "rb") as file:
                begin = blake2b(file.read(1 << 20), digest_size=16).hexdigest()
            manifest |= {
                "input": os.path.abspath(request.input),
                "input size": status.st_size,
                "input time": status.st_mtime_ns,
                "input beginning": begin,
            }
        manifest |= {name: str(value) for name, value in request.recipe.identity().items()}
        ids = "\n".join(self.matcher.rule_ids)  # these depend on the names of the files, too
        manifest["rule ids"] = blake2b(ids.encode(), digest_size=16).hexdigest()
        manifest |= {"format": self.dataset.format.name, "output format": task.output_format}
        manifest |= {"originals": task.with_originals}
        manifest |= {"mode": task.mode, **asdict(task.plan), **asdict(request.reading)}
        return manifest

    def _originals(self) -> Iterator[bytes]:
        """The rows as they were, if they are wanted too; for this they are read once more."""
        if self.task.with_originals:
            again = Dataset(
                self.request.input, format_name=self.request.format, options=self.request.reading
            )
            yield from map(self.task.original, again.batches())

    def _parts(self, finished: int) -> Iterator[Finished]:
        """The parts after the finished ones, each with its tally."""
        batches = self.crew.work_on(self._unfinished(finished), self.matcher)
        for number, (part, tally) in enumerate(batches, start=finished + 1):
            yield part, tally
            self.tally.add(tally)
            if self.progress is not None:
                seconds = time.monotonic() - self.started
                self.progress(ApplyProgress(self.tally.rows, self.tally.changed, number, seconds))

    def _unfinished(self, finished: int) -> Iterator[Batch]:
        """The batches that are not finished; the ids of all rows are read and compared."""
        batches = with_distinct_ids(
            map(self._with_text_column, self.dataset.batches()),
            self.task.plan,
            mode=self.task.mode,
            id_column=self.request.id_column,
            with_originals=self.task.with_originals,
            where=self.dataset.path,
        )
        return islice(batches, finished, None)

    def _with_text_column(self, batch: Batch) -> Batch:
        """The batch; refused if none is chosen and its text may be in one that first rows lack."""
        if self.request.columns or batch.columns.keys() <= set(self.dataset.names):
            return batch
        where = f"{self.dataset.path}, row {batch.row_number(0)} and those after it"
        usual, [rewritten] = default_column(batch, where=where), self.task.plan.columns
        if usual != rewritten:
            raise DataError(
                f"{where}: the text may be in column {usual}, which the first rows lack, but "
                f"{rewritten} was rewritten so far",
                help="name the text column with --column",
            )
        return batch

    def _report(self, *, note: str = "", stopped: bool = False) -> ApplyReport:
        """What was done, with every rule of the matcher."""
        rules = {rule: self.tally.rules.get(rule, RuleTally()) for rule in self.matcher.rule_ids}
        return ApplyReport(self.tally, rules, time.monotonic() - self.started, note, stopped)


def _leave_stream(path: str) -> None:
    """Point standard output to nowhere, so that the interpreter's last flush cannot fail again."""
    if path == STANDARD_STREAM:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _flushed(parts: Iterable[bytes], file: BinaryIO) -> Iterator[bytes]:
    """The parts; what was written of one is flushed before the next is waited for."""
    for part in parts:
        yield part
        file.flush()
