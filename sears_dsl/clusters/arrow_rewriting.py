"""Rules as a function of Arrow batches, for engines that bring the batches themselves.

In: batches of Arrow, as Spark's ``mapInArrow`` and Ray's ``map_batches`` give them. Out: batches of
records (mode each) or of the same columns (mode chain), always of one schema. Always holds: the
same functions as `apply_file`, so the same rows; a batch does not depend on those before it; the
rules are compiled once in a process, however often the function is sent there. Costs the matcher's
work, and a copy of the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from sears_dsl.batch.plan import Mode, Plan, carried_columns
from sears_dsl.batch.workers import BatchTask, MatcherRecipe
from sears_dsl.data.batches import Batch
from sears_dsl.data.columnar import RecordBatchColumns, require_pyarrow
from sears_dsl.engine.matcher import Matcher
from sears_dsl.errors import UsageError

_ROWS = 10_000
# The matcher that the last function compiled here; engines send the function with every task.
_COMPILED: dict[str, Matcher] = {}


class ArrowRewriter:
    """Rules as a function of Arrow batches; can be pickled.

    Args:
        mode: ``each``: a record for every row and rule that changed it; ``chain``: every row once,
            all rules applied to it in order.
        plan: which columns, and how; ``id_column`` is needed in mode each, since a batch does not
            know which rows stand before it.
        keep: other columns that the records carry; ``all`` for all of them.
    """

    def __init__(
        self, recipe: MatcherRecipe, *, mode: Mode, plan: Plan, keep: tuple[str, ...] = ()
    ) -> None:
        self._recipe = recipe
        self._mode: Mode = mode
        self._plan = plan
        self._keep = keep
        self._key = str(sorted(recipe.identity().items()))

    def schema(self, schema: Any) -> Any:
        """The schema of what comes out, for an engine that wants to know it beforehand."""
        arrow = require_pyarrow()
        plan = self._plan_for(schema)
        if self._mode == "chain":
            return schema
        text = arrow.string()
        edit = [("start", arrow.int64()), ("end", arrow.int64()), ("old", text), ("new", text)]
        several = [("column", text)] if len(plan.rewritten_columns) > 1 else []
        return arrow.schema(
            [
                ("id", schema.field(plan.id_column).type),
                ("rule", text),
                *several,
                ("original", text),
                ("rewritten", text),
                ("edits", arrow.list_(arrow.struct(edit))),
                *((name, schema.field(name).type) for name in plan.keep),
            ]
        )

    def __call__(self, table: Any) -> Any:
        """What becomes of a table or a record batch, as a table."""
        arrow = require_pyarrow()
        if not isinstance(table, arrow.Table | arrow.RecordBatch):
            raise UsageError(
                f"an object of type {type(table).__name__} is not a table of Arrow",
                help="make it one: pyarrow.table(data); or sears.apply takes it as it is",
            )
        batches = table.to_batches() if isinstance(table, arrow.Table) else [table]
        return arrow.Table.from_batches(self.batches(batches), schema=self.schema(table.schema))

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """What becomes of record batches, one after another."""
        arrow = require_pyarrow()
        for record_batch in batches:
            schema = self.schema(record_batch.schema)
            task = BatchTask(
                mode=self._mode,
                plan=self._plan_for(record_batch.schema),
                output_format="arrow",
                encoding="utf-8",
                patched=self._mode == "chain",
            )
            for first in range(0, record_batch.num_rows, _ROWS):
                columns = RecordBatchColumns(record_batch.slice(first, _ROWS))
                rows = columns.record_batch.num_rows
                part, _ = task.run(self._matcher(), Batch(first, rows, columns, columns))
                table = arrow.ipc.open_stream(part).read_all()
                # A batch without records does not tell the types of its columns.
                yield from table.cast(schema).to_batches()

    def _matcher(self) -> Matcher:
        if self._key not in _COMPILED:
            _COMPILED.clear()
            _COMPILED[self._key] = self._recipe.build()
        return _COMPILED[self._key]

    def _plan_for(self, schema: Any) -> Plan:
        plan = self._plan
        ids = plan.id_column or ("id" if "id" in schema.names else None)
        if ids is None and self._mode == "each":
            raise UsageError(
                "with mode each, records need ids, because a batch does not know its place",
                help="name a column: id_column='…'",
            )
        names = carried_columns(self._keep, schema.names, plan.columns, ids)
        whole = replace(plan, id_column=ids, keep=names)
        whole.require_columns(schema.names, where="the batch")
        return whole
