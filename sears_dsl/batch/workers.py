"""Runs batches through processes: in order, few at a time, and with an error if a process dies.

In: batches, and a recipe for the matcher. Out: for each batch its part of the output and its
tally, in the order of the batches. Always holds: the bytes are the same for any number of
processes; at most four batches a process are held; a recipe can be pickled, and recipes of equal
identity make matchers that do the same. Costs next to nothing if processes are forks of this one,
which start with the compiled rules and all that these have learnt. Otherwise each process compiles
the rules, while this one works on the first batches.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias

from sears_dsl.batch.mode_chain import rewrite_chain
from sears_dsl.batch.mode_each import rewrite_each
from sears_dsl.batch.plan import Mode, Plan, Tally, repeat_rows
from sears_dsl.data.batches import Batch, Format, Frame, columns_named, encoded
from sears_dsl.data.columnar import Columnar, schema_of, untyped_columns, with_schema
from sears_dsl.data.csv_rows import Delimited
from sears_dsl.data.dataset import Dataset, IdLedger, format_named, row_ids
from sears_dsl.defaults import DEFAULT_TAGGER
from sears_dsl.engine.compile.requirements import noise_identity, sources_for
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.noise.sources import NO_SOURCES, Sources
from sears_dsl.engine.noise.vectors import load_vectors
from sears_dsl.errors import DataError, SearsError
from sears_dsl.language.loader import with_imports
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.runtime.kernels import undecided
from sears_dsl.runtime.processes import Process, can_fork, usable_cores
from sears_dsl.tagging.tagger import identity_of, load_tagger, needs_cache

#: What is appended to the id of a row that is written a second time.
ADDED = "~rewritten"
# At most so many batches a process, finished or not, wait for those before them.
_MOST_WAITING = 4

# The time until a process is ready: a run that has lasted so long may well last as long again.
_START_SECONDS = 2.0
# A fork is ready at once, but learns words anew: so much work has to be left. The first moments do
# not tell how much it is: their rows are slower than those after them, since most words are new.
_WORTH_A_FORK = 1.0
_FIRST_MOMENTS = 0.1

#: What becomes of a batch: its part of the output, and the counts.
Finished: TypeAlias = tuple[bytes, Tally]


class MatcherRecipe(Protocol):
    """How to make the matcher; goes to other processes, so it must be picklable."""

    def build(self) -> Matcher:
        """Compile the rules; called once in each process, except forks of one that has them."""

    def identity(self) -> Mapping[str, str]:
        """What decides what the matcher does (rules, tagger, versions), to compare two runs."""


@dataclass(frozen=True, slots=True)
class RulesetRecipe:
    """Rulesets to compile, with the tagger to compile them for.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> recipe = RulesetRecipe((parse("What NOUN -> Which NOUN"),), tagger="pinned")
        >>> sorted(recipe.identity())
        ['rules', 'tagger']
    """

    rulesets: tuple[Ruleset, ...]  # applied in this order
    tagger: str = DEFAULT_TAGGER  # a name that `load_tagger` knows
    cached: bool = False  # whether tagged texts are kept on disk, where that saves time
    seed: int = 0  # of what rules draw
    # A name or a file, for rules that look neighbours up; None: what they name.
    vectors: str | None = None

    def build(self) -> Matcher:
        """Compile the rules."""
        cache = None
        if self.cached and needs_cache(self.tagger):
            from sears_dsl.tagging.cache import TagCache  # noqa: PLC0415 - brings sqlite

            cache = TagCache(None)
        tagger = load_tagger(self.tagger, cache=cache)
        return compile_rules(self.rulesets, tagger=tagger, sources=self.sources(), seed=self.seed)

    def sources(self) -> Sources:
        """The vectors that are named; rules may name others themselves."""
        if self.vectors is None:
            return NO_SOURCES
        return Sources(vectors=load_vectors(self.vectors))

    def identity(self) -> Mapping[str, str]:
        """A hash of all rules, sets and options, and the tagger with its version.

        If rules write noise, also what decides it (see `noise_identity`).
        """
        named = {
            "rules": rules_digest(self.rulesets),
            "tagger": identity_of(load_tagger(self.tagger)),
        }
        scoped = [(rule, ruleset) for ruleset in self.rulesets for rule in ruleset.rules]
        sources, _ = sources_for(scoped, self.sources())
        return named | noise_identity(scoped, sources, seed=self.seed)


def rules_digest(rulesets: Sequence[Ruleset]) -> str:
    """A hash of all rules, sets and options, in hex; comments and blank lines do not count.

    Example:
        >>> from sears_dsl.language.loader import parse
        >>> len(rules_digest([parse("movie -> film")]))
        32
    """
    digest = blake2b(digest_size=16)
    for ruleset in with_imports(rulesets):
        text = replace(ruleset, layout=(), trailing=()).format()
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTask:
    """What is done to every batch."""

    mode: Mode  # ``each`` or ``chain``
    plan: Plan  # which columns, and how
    output_format: str  # the name of the format to write
    encoding: str  # of the text that is written
    patched: bool  # rows are written back into the format that they were read from
    # The columns that every row must have, if the output begins with their names; else empty.
    names: tuple[str, ...] = ()
    # The original rows come before these, which get other ids (see `with_new_ids`).
    with_originals: bool = False

    @classmethod
    def over(
        cls, dataset: Dataset, plan: Plan, form: Format, *, mode: Mode, with_originals: bool
    ) -> BatchTask:
        """The task of writing a dataset in some format, as its batches come."""
        alike = form.name == dataset.format.name or (form.binary and dataset.format.binary)
        # Rows that come several times are written anew: as it was read, a row may end so that none
        # can follow it, and text has no place for another column.
        once = not with_originals and plan.draws == 1
        patched = mode == "chain" and alike and (once or form.binary or form.name == "squad")
        headed = mode == "chain" and not patched and isinstance(form, Delimited)
        return cls(
            mode=mode,
            plan=plan,
            output_format=form.name,
            encoding=dataset.encoding if patched else "utf-8",
            patched=patched,
            names=plan.written(dataset.names, mode=mode) if headed else (),
            with_originals=with_originals,
        )

    def frame(self, dataset: Dataset) -> Frame:
        """What stands around the parts of all batches."""
        names = self.plan.written(dataset.names, mode=self.mode)
        around = (lambda: dataset.around) if self.patched else None
        untyped = untyped_columns(dataset.first.columns) & set(self.plan.keep)
        return Frame(names, self.encoding, around, untyped)

    def original(self, batch: Batch) -> bytes:
        """The part of one batch as it was."""
        return self._written(batch, {}, frozenset(), batch.rows)

    def _written(
        self,
        batch: Batch,
        values: Mapping[int, Mapping[str, Any]],
        dropped: frozenset[int],
        rows: int,
    ) -> bytes:
        """The part of a batch with its changes; ``rows`` are left of it."""
        form = format_named(self.output_format)
        if self.patched:
            return form.patch(batch, values, dropped, self.encoding)
        if not rows and not form.binary:
            return b""
        columns = with_changes(batch, values, dropped)
        if self.names:
            columns = _under_header(columns, self.names, batch, rows)
        return form.encode(columns, self.encoding)

    def run(self, matcher: Matcher, batch: Batch) -> Finished:
        """Make the part of one batch."""
        form = format_named(self.output_format)
        if self.mode == "each":
            plan = self.plan.of_batch(batch)
            if isinstance(form, Delimited):
                _require_among(self.plan.keep, plan.keep, batch)
            if isinstance(form, Columnar):
                names = [*plan.keep, plan.id_column or ""]
                batch = replace(batch, columns=form.typed(batch.columns, names))
            # Other columns of the same name, such as "rule", mean something else in records.
            schema = schema_of(columns_named(batch.columns, plan.keep))
            batch = repeat_rows(batch, plan.draws, numbered=False)
            records = rewrite_each(matcher, batch, plan)
            # A part without rows still tells the types of its columns.
            written = records.tally.records or form.binary
            columns = with_schema(records.columns, schema)
            part = form.encode(columns, self.encoding) if written else b""
            return part, records.tally
        if not self.patched:
            batch = replace(batch, groups={})  # each row is written with a text of its own
        batch = repeat_rows(batch, self.plan.draws, numbered=True)
        changed = rewrite_chain(matcher, batch, self.plan)
        values, written = changed.values, changed.tally.records
        if self.with_originals:
            values = with_new_ids(batch, values, self.plan.id_column, as_text=not form.binary)
            changed.tally.records += batch.rows
        part = self._written(batch, values, changed.dropped, written)
        if self.with_originals and form.name == "squad":
            part = _after_others(part, self.encoding)
        return part, changed.tally

    def lighten(self, batch: Batch) -> Batch:
        """The batch without what this task does not need, to send to another process."""
        if self.patched:
            return batch
        columns = batch.columns
        if self.mode == "each":
            columns = columns_named(columns, self.plan.of_batch(batch).needed)
        return replace(batch, columns=columns, source=None)


def with_new_ids(
    batch: Batch, values: Mapping[int, Mapping[str, Any]], id_column: str | None, *, as_text: bool
) -> dict[int, dict[str, Any]]:
    """The changes (row → column → new value), with `ADDED` appended to the id of every row.

    Ids that are numbers become text if ``as_text``; otherwise they are an error.
    """
    new = {row: dict(of_row) for row, of_row in values.items()}
    if id_column is None:
        return new
    for row, name in enumerate(batch.columns[id_column]):
        if not (as_text or isinstance(name, str)):
            raise DataError(
                f"row {batch.row_number(row)}: the id {name!r} is a number, so the rewritten row "
                "cannot get an id of its own with ~rewritten added",
                help="write csv or jsonl",
            )
        new.setdefault(row, {})[id_column] = f"{name}{ADDED}"
    return new


def with_distinct_ids(
    batches: Iterable[Batch],
    plan: Plan,
    *,
    mode: Mode,
    id_column: str | None,
    with_originals: bool,
    where: str,
) -> Iterator[Batch]:
    """The batches as they come, with a look at their ids if the output relies on them.

    So it does if the caller named their column (``id_column``), for records, and for copies
    (``with_originals``), which have ids of their own. DataError: two rows have the same id, or a
    row has none.
    """
    needed = mode == "each" or with_originals or id_column is not None
    ledger = IdLedger(where)
    for batch in batches:
        if needed and plan.id_column is not None:
            names = row_ids(batch, plan.id_column, where=where)
            ledger.add(names, first=batch.first)
            if with_originals:
                ledger.add([name + ADDED for name in names], first=batch.first)
        yield batch


def _after_others(part: bytes, encoding: str) -> bytes:
    """Articles with a comma before them, which follow others: the first of a file has none."""
    text = part.decode(encoding)
    follows = not text or text.lstrip().startswith(",")
    return part if follows else encoded(f",{text}", encoding)


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


def _under_header(
    columns: dict[str, list[Any]], names: Sequence[str], batch: Batch, rows: int
) -> dict[str, list[Any]]:
    """The columns that the header has: objects of JSON may lack a key; one more is an error."""
    _require_among(names, columns, batch)
    return {name: columns.get(name, [None] * rows) for name in names}


def _require_among(names: Sequence[str], present: Iterable[str], batch: Batch) -> None:
    """Refuse a column of a batch that the header, which is written already, does not name."""
    for name in present:
        if name not in names:
            values = batch.columns[name]
            row = next((row for row, value in enumerate(values) if value is not None), 0)
            raise DataError(
                f"row {batch.row_number(row)} has a column {name!r} that the first rows lack",
                help="write jsonl, or give every row the same keys",
            )


def _ready(recipe: MatcherRecipe, task: BatchTask) -> Callable[[Batch], Finished]:
    """The function with which a worker process answers; compiles the rules."""
    return partial(task.run, recipe.build())


@dataclass(slots=True)
class _Pace:
    """How fast one process works alone, in seconds of the processor, which others do not slow."""

    expected_rows: int | None
    _marks: list[tuple[int, float]] = field(default_factory=list)  # rows done, and when

    def reach(self, rows: int) -> None:
        """Note that so many rows are done now."""
        self._marks.append((rows, time.process_time()))

    def seconds_left(self) -> float:
        """About how much work is left; a run of unknown length may well last as long again."""
        if len(self._marks) < 3:
            return 0.0
        # From the second batch on: the first one also reads compiled code.
        (_, began), (before, since), (rows, now) = self._marks[1], *self._marks[-2:]
        alone = now - began
        if alone < _FIRST_MOMENTS:
            return 0.0
        if self.expected_rows is None:
            return alone
        return (now - since) / (rows - before) * (self.expected_rows - rows)


class Crew:
    """``jobs`` processes, this one among them, which work on batches.

    None: as many as cores; then this one works alone for as long as another one takes to be ready,
    or, if the others are forks, unless enough work is left of ``expected_rows``.
    """

    def __init__(
        self,
        recipe: MatcherRecipe,
        task: BatchTask,
        *,
        jobs: int | None,
        expected_rows: int | None = None,
    ) -> None:
        self._recipe, self._task = recipe, task
        self._jobs = usable_cores() if jobs is None else jobs
        self._start_others_at = time.monotonic() + _START_SECONDS if jobs is None else -math.inf
        self._pace = _Pace(expected_rows) if jobs is None else None
        self._others: list[Process[Batch, Finished]] = []

    def start(self, matcher: Matcher | None = None) -> None:
        """Start the other processes, if it is time, without waiting until they are ready.

        Forks start with the matcher, so without one they cannot be started yet.
        """
        if self._others or self._jobs == 1:
            return
        if can_fork():
            # Forks need not read the kernels that this process has read before.
            if matcher is None or undecided():
                return
            if self._pace is not None and self._pace.seconds_left() < _WORTH_A_FORK:
                return
        elif time.monotonic() < self._start_others_at:
            return
        ready = partial(_ready, self._recipe, self._task)
        answerer = None if matcher is None else partial(self._task.run, matcher)
        for _ in range(self._jobs - 1):  # one by one: an interrupt must not lose any
            self._others.append(Process(ready, answerer=answerer))

    def work_on(self, batches: Iterable[Batch], matcher: Matcher) -> Iterator[Finished]:
        """Do the task on batches, in their order.

        This process reads, and works on a batch itself whenever no other one has room for it; those
        that are still starting have none. SearsError: a process died; or what reading or the task
        raised, for the first such batch.
        """
        task = self._task
        waiting: deque[Future[Finished]] = deque()
        unread: SearsError | None = None
        reading = iter(batches)
        while True:
            try:
                batch = next(reading, None)
            except SearsError as error:  # waits for the batches before it
                unread = error
                break
            if batch is None:
                break
            if self._pace is not None:
                self._pace.reach(batch.first)
            if batch.first:  # one batch is not worth a process
                self.start(matcher)
            other = next((one for one in self._others if one.has_room), None)
            if other is not None:
                waiting.append(other.ask(task.lighten(batch)))
            else:
                waiting.append(_done_here(task, matcher, batch))
            while waiting and (waiting[0].done() or len(waiting) > _MOST_WAITING * self._jobs):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if unread is not None:
            raise unread

    def close(self) -> None:
        """End the other processes, whatever they are at."""
        for other in self._others:
            other.end()
        self._others = []


def _done_here(task: BatchTask, matcher: Matcher, batch: Batch) -> Future[Finished]:
    """The outcome of a batch that this process does; an error waits for the batches before it."""
    future: Future[Finished] = Future()
    try:
        future.set_result(task.run(matcher, batch))
    except SearsError as error:
        future.set_exception(error)
    return future
