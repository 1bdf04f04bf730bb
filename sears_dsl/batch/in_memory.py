"""Rules applied to a dataset in memory: the other half of ``sears.apply``.

In: a dataset (or a path) and a matcher. Out: a dataset of the same kind. Always holds: the same
records and rewrites as `apply_file` gives for the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from sears_dsl.batch.mode_chain import ChangedRows, rewrite_chain
from sears_dsl.batch.mode_each import rewrite_each
from sears_dsl.batch.plan import (
    Mode,
    Plan,
    RowChoices,
    Tally,
    TextShare,
    Touched,
    make_plan,
    repeat_rows,
    require_together,
)
from sears_dsl.batch.workers import with_distinct_ids, with_new_ids
from sears_dsl.data.batches import DRAW, Batch
from sears_dsl.data.dataset import format_of
from sears_dsl.data.frames import Copies, MemoryFrame, NewRows
from sears_dsl.data.sources import frame_of
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.data.squad import SQUAD_SPANS
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import UsageError

_WHERE = "the dataset"


def apply_to(
    dataset: object,
    matcher: Matcher,
    *,
    column: str | Sequence[str] | None = None,
    mode: Mode = "each",
    protect: Sequence[str] = (),
    spans: Sequence[SpanColumn] = (),
    on_touched: Touched = "keep",
    keep: str | Sequence[str] = (),
    scope: Scope = "first",
    unit: Unit | None = None,
    id_column: str | None = None,
    share: TextShare = TextShare(),  # noqa: B008 - a frozen value
    with_originals: bool = False,
    draws: int = 1,
    tally: Tally | None = None,
) -> Any:
    """Apply compiled rules to a dataset.

    Arguments mean what they do in an `ApplyRequest`. Files, arrays and generators are read as
    lists; a table may be any that Arrow can read. The result is of the kind given (a list for a
    path; a DataFrame for records of a Series). Records of a DataFrame or Series have the index of
    their rows; an index called id gives their ids. ``edits`` is a list of [start, end, old, new],
    and in Arrow tables of objects with these names. With several draws, a list of texts gives
    dictionaries.
    """
    keep = _names("keep", keep)
    require_together(mode, keep=keep, draws=draws, with_originals=with_originals)
    frame = frame_of(dataset)
    squad_spans: tuple[SpanColumn, ...] = ()
    if isinstance(dataset, str | os.PathLike) and format_of(os.fspath(dataset)).name == "squad":
        squad_spans = SQUAD_SPANS
    chosen = RowChoices(
        columns=_names("column", column),
        id_column=id_column,
        scope=scope,
        unit=unit,
        protect=_names("protect", protect),
        spans=(*spans, *squad_spans),
        on_touched=on_touched,
        keep=keep,
        share=share,
        draws=draws,
    )
    batches = frame.batches()
    first = next(batches)
    plan = make_plan(frame.names, first, chosen, where=_WHERE)
    checked = with_distinct_ids(
        chain([first], batches), plan, mode=mode, id_column=id_column,
        with_originals=with_originals, where=_WHERE,
    )  # fmt: skip
    work = _InMemory(matcher, plan, frame, Tally() if tally is None else tally)
    if mode == "each":
        return work.records(checked)
    if with_originals or draws > 1:
        return work.with_copies(checked, with_originals=with_originals)
    return work.changed(checked)


@dataclass(frozen=True, slots=True)
class _InMemory:
    """Rules on their way through the batches of a dataset."""

    matcher: Matcher
    plan: Plan
    frame: MemoryFrame
    tally: Tally

    def records(self, batches: Iterable[Batch]) -> Any:
        """What mode each makes of the rows."""
        plan = self.plan
        columns: dict[str, list[Any]] = {}
        rows: list[int] = []
        for batch in batches:
            each = rewrite_each(self.matcher, repeat_rows(batch, plan.draws, numbered=False), plan)
            self.tally.add(each.tally)
            rows += (each.rows // plan.draws + batch.first).tolist()
            for name, values in each.columns.items():
                columns.setdefault(name, []).extend(values)
        sources = {name: name for name in plan.keep}
        if plan.id_column is not None:
            sources["id"] = plan.id_column
        return self.frame.records(NewRows(columns, rows, sources))

    def changed(self, batches: Iterable[Batch]) -> Any:
        """What mode chain makes of the rows."""
        changes: dict[int, Mapping[str, Any]] = {}
        dropped: set[int] = set()
        for batch in batches:
            done = self._chained(batch)
            changes.update((batch.first + row, new) for row, new in done.values.items())
            dropped.update(batch.first + row for row in done.dropped)
        return self.frame.changed(changes, dropped)

    def with_copies(self, batches: Iterable[Batch], *, with_originals: bool) -> Any:
        """The rows and behind them what mode chain makes of them; several draws stand alone."""
        plan, total = self.plan, 0
        # For each copy of a row: the row, its new values, and the draw.
        copied: list[tuple[int, Mapping[str, Any], int]] = []
        columns: dict[str, list[Any]] = {}
        for batch in batches:
            drawn = repeat_rows(batch, plan.draws, numbered=True)
            done = self._chained(drawn)
            values = done.values
            if with_originals:
                values = with_new_ids(batch, values, plan.id_column, as_text=True)
            for row in range(drawn.rows):
                if row not in done.dropped:
                    of_row, draw = divmod(row, plan.draws)
                    copied.append((batch.first + of_row, values.get(row, {}), draw))
            for name, of_batch in batch.columns.items():
                columns.setdefault(name, []).extend(of_batch)
            total += batch.rows
        names = {name: None for _, new, _ in copied for name in new}
        changed = {
            name: [new.get(name, columns[name][row]) for row, new, _ in copied] for name in names
        }
        copies = Copies([row for row, _, _ in copied], changed, {})
        if plan.draws > 1:
            draws = [0] * total + [draw for _, _, draw in copied]
            copies = copies._replace(added={DRAW: draws}, only_new=True)
        return self.frame.extended(copies)

    def _chained(self, batch: Batch) -> ChangedRows:
        done = rewrite_chain(self.matcher, replace(batch, groups={}), self.plan)
        self.tally.add(done.tally)
        return done


def _names(option: str, value: object) -> tuple[str, ...]:
    """Names of columns; a number stands for the column whose name it is in a table."""
    if value is None:
        return ()
    several = isinstance(value, (list, tuple, set, frozenset))
    names = tuple(value) if several else (value,)  # type: ignore[arg-type]
    for name in names:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise UsageError(
                f"{option} is {value!r:.60}, which does not name columns",
                help=f"name columns by strings: {option}=['text']",
            )
    return tuple(map(str, names))
