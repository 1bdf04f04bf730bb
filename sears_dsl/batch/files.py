"""A ruleset over a dataset: what ``sears apply`` and ``sears.apply`` do.

In: a request (rules, a file, what to do) or a dataset in memory. Out: a file and a report, or a
dataset of the same kind. Always holds: the same output for any number of processes, whether or not
the run was interrupted and resumed; the old output stays until the new one is complete; in chain
mode into the same format, everything but the rewritten values is written as it stood.
Costs memory for a few batches of about a mebibyte each, whatever the size of the file.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from sears_dsl import __version__
from sears_dsl.batch.partial import PartialOutput
from sears_dsl.batch.rewriting import Mode, Plan, Scope, TextMatcher, Touched, Unit
from sears_dsl.batch.tally import RuleTally, Tally
from sears_dsl.batch.workers import MatcherRecipe, Task, finished_batches
from sears_dsl.errors import DataError, UsageError
from sears_dsl.text.batches import Batch, Format, Frame, ReadOptions
from sears_dsl.text.dataset import (
    Dataset,
    IdLedger,
    default_column,
    format_named,
    format_of,
    require_column,
    row_ids,
)
from sears_dsl.text.spans import SpanColumn
from sears_dsl.text.squad import SQUAD_SPANS
from sears_dsl.text.streams import STANDARD_STREAM, compressed

__all__ = ["ApplyReport", "ApplyRequest", "Progress", "apply_file"]

_RECORD_COLUMNS = ("id", "rule", "column", "original", "rewritten", "edits")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """Everything that decides what `apply_file` does.

    Attributes:
        recipe: makes the compiled rules.
        input: a file, or ``-`` for standard input.
        output: a file, or ``-`` for standard output.
        mode: ``each``: a record for every row and rule that changed it. ``chain``: each row once,
            all rules applied to it in order.
        columns: the text columns to rewrite; empty for the one that can be meant.
        protect: columns whose content must stay intact (see `rewriting.Plan`).
        spans: columns that point into a text, carried along in chain mode.
        on_touched: rows whose span a rule would touch are kept as they were, dropped or an error.
        scope: the ``first`` instance of each rule, or ``all``.
        unit: what a rule sees at once: the ``text`` or a ``sentence``.
        id_column: the column of ids; without, ``id`` where there is one, else row numbers.
        format: of the input; without, by its name, and plain text for ``-``.
        output_format: of the output; without, by its name; for ``-`` the input's in chain mode,
            JSON lines in each.
        reading: encoding, header, limit and the size of batches.
        jobs: processes that work.
        resume: go on with an interrupted run of the same request.
    """

    recipe: MatcherRecipe
    input: str
    output: str
    mode: Mode = "each"
    columns: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    spans: tuple[SpanColumn, ...] = ()
    on_touched: Touched = "keep"
    scope: Scope = "first"
    unit: Unit = "text"
    id_column: str | None = None
    format: str | None = None
    output_format: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    jobs: int = 1
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is; given after every batch.

    Attributes:
        rows: rows done, those of an interrupted run included.
        changed: rows that at least one rule changed.
        batches: batches done.
        seconds: since the start of this run.
    """

    rows: int
    changed: int
    batches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a run did.

    Attributes:
        tally: rows, characters, records, rows kept or dropped and why.
        rules: every rule in order, with what it did; those that did nothing too.
        seconds: the time that this run took.
        note: what became of an interrupted run before this one; empty if there was none.
        stopped: the reader of standard output went away before the end.
    """

    tally: Tally
    rules: dict[str, RuleTally]
    seconds: float
    note: str = ""
    stopped: bool = False

    @property
    def silent(self) -> tuple[str, ...]:
        """The rules that changed nothing."""
        return tuple(rule for rule, tally in self.rules.items() if not tally.rows)

    @property
    def characters_per_second(self) -> float:
        """Characters of text looked at, each second of this run."""
        return self.tally.characters / self.seconds if self.seconds else 0.0


def apply_file(
    request: ApplyRequest, *, progress: Callable[[Progress], object] | None = None
) -> ApplyReport:
    r"""Apply rules to a file.

    Args:
        request: what to do.
        progress: called after every batch.

    Raises:
        DataError: the file cannot be read, a column is missing, a value is no text, the output
            cannot be written.
        UsageError: options that do not go together; a resumed run that differs.
        CompileError, TaggerError: the rules cannot be compiled or run.
        SearsError: a worker process died.

    Example:
        >>> import tempfile
        >>> from sears_dsl.batch.rewriting import TextMatcher
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
    _check_paths(request)
    matcher = request.recipe.build()
    dataset = Dataset(request.input, format_name=request.format, options=request.reading)
    plan = _plan(request, dataset)
    form = _output_format(request, dataset)
    patched = request.mode == "chain" and form.name == dataset.format.name
    task = Task(
        mode=request.mode,
        plan=plan,
        output_format=form.name,
        encoding=dataset.encoding if patched else "utf-8",
        patched=patched,
    )
    frame = Frame(
        _output_names(request.mode, plan, dataset),
        task.encoding,
        (lambda: dataset.around) if patched else None,
    )
    run = _Run(
        request, matcher=matcher, dataset=dataset, task=task, progress=progress, started=started
    )
    if _is_stream(request.output):
        return run.report(stopped=not _write_stream(request, form, frame, run.parts(0)))
    manifest = _manifest(request, task, dataset)
    with PartialOutput(Path(request.output), manifest, resume=request.resume) as partial:
        for number in range(partial.finished):
            run.tally.add(Tally.from_json(partial.counts(number)))
        for number, part in enumerate(run.parts(partial.finished), start=partial.finished):
            partial.put(number, run.latest.to_json(), part)

        def write(file: BinaryIO) -> None:
            with compressed(file, request.output) as stream:
                form.assemble(partial.parts(), stream, frame)

        partial.complete(write)
        return run.report(note=partial.note)


class _Run:
    """One pass over the batches, with its counts."""

    def __init__(
        self,
        request: ApplyRequest,
        *,
        matcher: TextMatcher,
        dataset: Dataset,
        task: Task,
        progress: Callable[[Progress], object] | None,
        started: float,
    ) -> None:
        self._request = request
        self._matcher = matcher
        self._dataset = dataset
        self._task = task
        self._progress = progress
        self._started = started
        self.tally = Tally()
        self.latest = Tally()

    def parts(self, finished: int) -> Iterator[bytes]:
        """The parts after the finished ones; ``latest`` is the tally of the part just given."""
        batches = finished_batches(
            self._unfinished(finished),
            self._task,
            recipe=self._request.recipe,
            matcher=lambda: self._matcher,
            jobs=self._request.jobs,
        )
        for number, (part, tally) in enumerate(batches, start=finished + 1):
            self.latest = tally
            yield part
            self.tally.add(tally)
            if self._progress is not None:
                seconds = time.monotonic() - self._started
                self._progress(Progress(self.tally.rows, self.tally.changed, number, seconds))

    def _unfinished(self, finished: int) -> Iterator[Batch]:
        """All rows are read and their ids compared, but finished batches are not worked on."""
        plan = self._task.plan
        checked = plan.id_column is not None and (
            self._task.mode == "each" or self._request.id_column is not None
        )
        ledger = IdLedger(self._dataset.path)
        for number, batch in enumerate(self._dataset.batches()):
            if checked:
                ledger.add(row_ids(batch, plan.id_column), first=batch.first)
            if number >= finished:
                yield batch

    def report(self, *, note: str = "", stopped: bool = False) -> ApplyReport:
        """What was done, with every rule of the matcher."""
        rules = {rule: self.tally.rules.get(rule, RuleTally()) for rule in self._matcher.rule_ids}
        return ApplyReport(self.tally, rules, time.monotonic() - self._started, note, stopped)


# ---------------------------------------------------------------- what is asked for


def _check_paths(request: ApplyRequest) -> None:
    if request.jobs < 1:
        raise UsageError(f"{request.jobs} jobs cannot work", help="--jobs is 1 or more")
    if request.reading.limit is not None and request.reading.limit < 0:
        raise UsageError(f"a limit of {request.reading.limit} rows", help="--limit is 0 or more")
    reads, writes = request.input, request.output
    if request.resume and (reads == STANDARD_STREAM or _is_stream(writes)):
        raise UsageError(
            "a run between standard streams cannot be resumed", help="name files for both"
        )
    if STANDARD_STREAM in (reads, writes):
        return
    if os.path.isdir(writes):
        raise DataError(f"{writes} is a folder", help="name a file")
    if os.path.exists(writes) and os.path.exists(reads) and os.path.samefile(reads, writes):
        raise UsageError(
            f"{writes} is the input itself", help="write another file and rename it afterwards"
        )


def _is_stream(path: str) -> bool:
    """Standard output, a device or a pipe: whatever cannot be replaced as a whole."""
    if path == STANDARD_STREAM:
        return True
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def _plan(request: ApplyRequest, dataset: Dataset) -> Plan:
    names, first, where = dataset.names, dataset.first, dataset.path
    nothing = not first.rows and not names
    columns = request.columns
    if not columns:
        columns = ("text",) if nothing else (default_column(first, where=where),)
    spans = request.spans
    if dataset.format.name == "squad":
        spans = (*spans, *(spec for spec in SQUAD_SPANS if spec not in spans))
    id_column = request.id_column or ("id" if "id" in names else None)
    plan = Plan(
        columns=columns,
        id_column=id_column,
        scope=request.scope,
        unit=request.unit,
        protect=request.protect,
        spans=spans,
        on_touched=request.on_touched,
    )
    if not nothing:
        pointed = (spec.text_column for spec in spans)
        for name in dict.fromkeys([*columns, *plan.needed, *pointed]):
            require_column(names, name, where=where)
    return plan


def _output_format(request: ApplyRequest, dataset: Dataset) -> Format:
    path, explicit = request.output, request.output_format
    if explicit is None and _is_stream(path):
        chained = request.mode == "chain" and not dataset.format.binary
        explicit = dataset.format.name if chained else "jsonl"
    form = format_of(path, explicit, reading=False)
    squad = dataset.format.name == "squad"
    if squad and request.mode == "chain" and explicit is None and form.name == "json":
        form = format_named("squad")
    if form.binary and _is_stream(path):
        raise UsageError(
            f"{form.name} cannot be written to a stream", help="name a file with --output"
        )
    if form.name == "squad" and not (squad and request.mode == "chain"):
        raise UsageError(
            "a SQuAD file can be written only from a SQuAD file in chain mode",
            help="write jsonl",
        )
    if request.mode == "chain" and form.name == "txt" and len(dataset.names) > 1:
        raise UsageError(
            f"plain text holds one column, not {', '.join(dataset.names)}",
            help="write csv, tsv or jsonl",
        )
    return form


def _output_names(mode: Mode, plan: Plan, dataset: Dataset) -> tuple[str, ...]:
    if mode == "chain":
        return dataset.names
    several = len(plan.rewritten) > 1
    return tuple(name for name in _RECORD_COLUMNS if several or name != "column")


def _manifest(request: ApplyRequest, task: Task, dataset: Dataset) -> dict[str, Any]:
    """What has to be the same for a run to be resumed; the number of jobs does not."""
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
    manifest |= {"format": dataset.format.name, "output format": task.output_format}
    manifest |= {"mode": task.mode, **asdict(task.plan), **asdict(request.reading)}
    return manifest


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
        if request.output == STANDARD_STREAM:
            # The interpreter flushes standard output when it ends, which must not fail again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        return False
    except OSError as error:
        raise DataError(f"{request.output} could not be written: {error.strerror}") from error
    return True


def _flushed(parts: Iterable[bytes], file: BinaryIO) -> Iterator[bytes]:
    """The parts, with what was written of one flushed before the next is waited for."""
    for part in parts:
        yield part
        file.flush()
