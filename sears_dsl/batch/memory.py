"""Rules applied to a dataset in memory: the other half of ``sears.apply``.

In: a dataset (or a path) and a matcher. Out: a dataset of the same kind. Always holds: the same
records and rewrites as `apply_file` gives for the same rows. Costs the records, in memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sears_dsl.batch.mode_chain import rewrite_chain
from sears_dsl.batch.mode_each import rewrite_each
from sears_dsl.batch.plan import Mode, Plan, TextMatcher, Touched
from sears_dsl.batch.requests import kept_columns
from sears_dsl.batch.share import TextShare
from sears_dsl.batch.tally import Tally
from sears_dsl.batch.workers import renamed
from sears_dsl.data.batches import Batch
from sears_dsl.data.dataset import Dataset, IdLedger, default_column, require_column, row_ids
from sears_dsl.data.frames import Copies, MemoryFrame, NewRows, memory_frame
from sears_dsl.data.sources import frame_of
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.data.squad import SQUAD_SPANS
from sears_dsl.engine.matches import Scope, Unit
from sears_dsl.errors import UsageError

_WHERE = "the dataset"


def apply_to(
    dataset: object,
    matcher: TextMatcher,
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
    tally: Tally | None = None,
) -> Any:
    """Apply compiled rules to a dataset.

    Args:
        dataset: list of texts or of dictionaries, pandas DataFrame or Series, datasets.Dataset,
            pyarrow Table or RecordBatch, any other table that Arrow can read, or the path of a
            file. Files, arrays and generators are read as lists.
        matcher: compiled rules.
        column: the text column or columns; None for the one that can be meant.
        mode: ``each`` gives a record (id, rule, column where there are several, original,
            rewritten, edits) for every row and rule that changed it; ``chain`` gives the dataset
            with all rules applied in order.
        protect: columns whose content must stay intact (see `plan.Plan`).
        spans: columns that point into a text, carried along to the rewritten one.
        on_touched: what is done where a rule would touch a span (see `plan.Plan`).
        keep: other columns that the records of mode each carry; ``all`` for all of them.
        scope: the ``first`` instance of each rule, or ``all``.
        unit: what a rule sees at once; None: what the rules ask for, else the ``text``.
        id_column: the column of ids; None for ``id`` where there is one, else row numbers from 1.
        share: which texts are rewritten; the others stay as they are.
        with_originals: mode chain: the rows as they were come first, then all rows once more as the
            rules leave them, with `ADDED` to their ids.
        tally: is added the counts of what was done.

    Returns:
        A dataset of the kind given (a list for a path; records of a Series are a DataFrame).
        Records of a DataFrame or Series stand under the index of their rows. ``edits`` is a list
        of [start, end, old, new], in tables of Arrow of objects with these names.

    Raises:
        DataError: a column that does not exist, a value that is no text, ids that are not
            distinct.
        UsageError: every column is protected; a column to keep has the name of one of the records'.

    Example:
        >>> from sears_dsl.engine.matches import Edit, Rewrite
        >>> class Film:
        ...     rule_ids = ("film",)
        ...     def apply(self, texts, **options):
        ...         return [Rewrite(0, row, text, text.replace("movie", "film"),
        ...                         (Edit(2, 7, "movie", "film"),))
        ...                 for row, text in enumerate(texts) if text.startswith("a movie")]
        >>> [record["rewritten"] for record in apply_to(["a movie", "it"], Film())]
        ['a film']
    """
    in_file = isinstance(dataset, (str, os.PathLike))
    frame = frame_of(dataset) if in_file else memory_frame(dataset)
    wanted = _names("column", column)
    kept = _names("keep", keep)
    protected = _names("protect", protect)
    plan: Plan | None = None
    counts = Tally() if tally is None else tally
    ledger = IdLedger(_WHERE)
    records: dict[str, list[Any]] = {}
    rows: list[int] = []
    changes: dict[int, Mapping[str, Any]] = {}
    dropped: set[int] = set()
    copied: list[tuple[int, Mapping[str, Any]]] = []
    columns_of: dict[str, list[Any]] = {}
    for batch in frame.batches():
        if plan is None:
            columns = wanted or _default(frame, batch)
            ids = id_column or ("id" if "id" in frame.names else None)
            if kept and mode == "chain":
                raise UsageError("mode chain keeps every column", help="leave out keep")
            plan = Plan(
                columns=columns,
                id_column=ids,
                keep=kept_columns(kept, frame.names, columns, ids),
                scope=scope,
                unit=unit,
                protect=protected,
                spans=(*spans, *_format_spans(dataset)),
                on_touched=on_touched,
                share=share,
            )
            _require(frame, batch, plan)
        if mode == "each":
            if plan.id_column is not None:
                ledger.add(row_ids(batch, plan.id_column), first=batch.first)
            each = rewrite_each(matcher, batch, plan)
            done = each.tally
            rows += (each.rows + batch.first).tolist()
            for name, values in each.columns.items():
                records.setdefault(name, []).extend(values)
        elif mode == "chain":
            changed = rewrite_chain(matcher, replace(batch, groups={}), plan)
            done = changed.tally
            if with_originals:
                new = renamed(batch, changed.values, plan.id_column, as_text=True)
                copied += [
                    (batch.first + row, new.get(row, {}))
                    for row in range(batch.rows)
                    if row not in changed.dropped
                ]
            changes.update((batch.first + row, new) for row, new in changed.values.items())
            dropped.update(batch.first + row for row in changed.dropped)
        else:
            raise UsageError(f"there is no mode {mode!r}", help="write each or chain")
        if with_originals:
            for name, of_batch in batch.columns.items():
                columns_of.setdefault(name, []).extend(of_batch)
        counts.add(done)
    if with_originals and mode != "chain":
        raise UsageError(
            "mode each writes the original beside each rewritten text",
            help="leave out --with-originals, or --mode chain",
        )
    if with_originals:
        return frame.extended(_copies(copied, columns_of))
    if mode == "chain":
        return frame.rewritten(changes, dropped)
    sources = {name: name for name in plan.keep} if plan is not None else {}
    if plan is not None and plan.id_column is not None:
        sources["id"] = plan.id_column
    return frame.records(NewRows(records, rows, sources))


def _copies(
    copied: Sequence[tuple[int, Mapping[str, Any]]], columns: Mapping[str, Sequence[Any]]
) -> Copies:
    """Rows once more, with what is new in them."""
    names = {name: None for _, new in copied for name in new}
    changed = {name: [new.get(name, columns[name][row]) for row, new in copied] for name in names}
    return Copies([row for row, _ in copied], changed, {})


def _names(option: str, given: object) -> tuple[str, ...]:
    """Names of columns; a number stands for the column that a table calls by it.

    Raises:
        UsageError: anything else.
    """
    if given is None:
        return ()
    several = isinstance(given, (list, tuple, set, frozenset))
    names = tuple(given) if several else (given,)  # type: ignore[arg-type]
    for name in names:
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise UsageError(
                f"{option} is {given!r:.60}, which names no column",
                help=f"name columns as texts: {option}=['text']",
            )
    return tuple(map(str, names))


def _format_spans(dataset: object) -> Sequence[SpanColumn]:
    """The columns that point into a text in files of a format."""
    if not isinstance(dataset, (str, os.PathLike)):
        return ()
    return SQUAD_SPANS if Dataset(os.fspath(dataset)).format.name == "squad" else ()


def _default(frame: MemoryFrame, batch: Batch) -> tuple[str, ...]:
    return (default_column(batch, where=_WHERE),) if frame.names else ("text",)


def _require(frame: MemoryFrame, batch: Batch, plan: Plan) -> None:
    if not batch.rows and not frame.names:
        return
    pointed = (spec.text_column for spec in plan.spans)
    for name in dict.fromkeys([*plan.columns, *plan.needed, *pointed]):
        require_column(frame.names, name, where=_WHERE)
