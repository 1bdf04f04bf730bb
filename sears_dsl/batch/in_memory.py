"""Rules applied to a dataset in memory: the other half of ``sears.apply``.

In: a dataset (or a path) and a matcher. Out: a dataset of the same kind. Always holds: the same
records and rewrites as `apply_file` gives for the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sears_dsl.batch.mode_chain import rewrite_chain
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
from sears_dsl.batch.workers import IdCheck, with_new_ids
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
    plan: Plan | None = None
    counts = Tally() if tally is None else tally
    ids: IdCheck | None = None
    records: dict[str, list[Any]] = {}
    rows: list[int] = []
    chained = _ChainedDataset(with_originals=with_originals, draws=draws)
    for batch in frame.batches():
        if plan is None or ids is None:
            plan = make_plan(frame.names, batch, chosen, where=_WHERE)
            ids = IdCheck(
                plan, mode=mode, id_column=id_column, with_originals=with_originals, where=_WHERE
            )
        ids.add(batch)
        if mode == "each":
            each = rewrite_each(matcher, repeat_rows(batch, draws, numbered=False), plan)
            batch_tally = each.tally
            rows += (each.rows // draws + batch.first).tolist()
            for name, values in each.columns.items():
                records.setdefault(name, []).extend(values)
        else:
            batch_tally = chained.add(matcher, batch, plan)
        counts.add(batch_tally)
    if mode == "chain":
        return chained.dataset(frame)
    sources = {name: name for name in plan.keep} if plan is not None else {}
    if plan is not None and plan.id_column is not None:
        sources["id"] = plan.id_column
    return frame.records(NewRows(records, rows, sources))


class _ChainedDataset:
    """What mode chain makes of the rows of a dataset, batch by batch."""

    def __init__(self, *, with_originals: bool, draws: int) -> None:
        self._with_originals = with_originals
        self._draws = draws
        self._several = with_originals or draws > 1
        self._changes: dict[int, Mapping[str, Any]] = {}
        self._dropped: set[int] = set()
        # For each copy of a row that comes more than once: the row, its new values, and the draw.
        self._copied: list[tuple[int, Mapping[str, Any], int]] = []
        self._columns: dict[str, list[Any]] = {}
        self._rows = 0

    def add(self, matcher: Matcher, batch: Batch, plan: Plan) -> Tally:
        """Rewrite the rows of the next batch."""
        drawn = repeat_rows(replace(batch, groups={}), self._draws, numbered=True)
        changed = rewrite_chain(matcher, drawn, plan)
        self._rows += batch.rows
        if not self._several:
            first = batch.first
            self._changes.update((first + row, new) for row, new in changed.values.items())
            self._dropped.update(first + row for row in changed.dropped)
            return changed.tally
        values = changed.values
        if self._with_originals:
            values = with_new_ids(batch, values, plan.id_column, as_text=True)
        for row in range(drawn.rows):
            if row not in changed.dropped:
                of_row, draw = divmod(row, self._draws)
                self._copied.append((batch.first + of_row, values.get(row, {}), draw))
        for name, of_batch in batch.columns.items():
            self._columns.setdefault(name, []).extend(of_batch)
        return changed.tally

    def dataset(self, frame: MemoryFrame) -> Any:
        """The rows as a dataset of the kind that they came in."""
        if not self._several:
            return frame.changed(self._changes, self._dropped)
        names = {name: None for _, new, _ in self._copied for name in new}
        changed = {
            name: [new.get(name, self._columns[name][row]) for row, new, _ in self._copied]
            for name in names
        }
        copies = Copies([row for row, _, _ in self._copied], changed, {})
        if self._draws > 1:
            of_copies = [draw for _, _, draw in self._copied]
            copies = copies._replace(added={DRAW: [0] * self._rows + of_copies}, only_new=True)
        return frame.extended(copies)


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
