"""A dataset with all of its columns in memory: what augmentation adds rows to.

In: a file or rows in memory. Out: a `Table`. Always holds: all columns are equally long; a key that
a JSON row lacks is null there; values keep their types.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sears_dsl.answers import Comparison
from sears_dsl.data.batches import Batch, ReadOptions, is_missing
from sears_dsl.data.columnar import (
    ArrowValues,
    RecordBatchColumns,
    class_names,
    joined,
    schema_of,
    with_schema,
)
from sears_dsl.data.dataset import default_column, require_column
from sears_dsl.data.labelled import (
    LabelledRows,
    column_sets,
    guards_of_rows,
    label_alternatives,
    text_of,
)
from sears_dsl.data.protection import Guards, Protection
from sears_dsl.data.sources import folder_of_paths, open_rows
from sears_dsl.errors import DataError


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as columns."""

    columns: Mapping[str, Sequence[Any]]  # column name → the values of the rows
    path: str  # as the user named the file; for messages
    format: str  # the name of the format that it was read as
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # column → names of numbers
    schema: Any = None  # the Arrow schema of the columns that were read, if they had one

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def columns_to_write(self) -> Mapping[str, Sequence[Any]]:
        """The columns, which an Arrow file then holds in the types and features they came in."""
        return with_schema(self.columns, self.schema)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names and values, in hex; the file's name and format take no part."""
        hasher = hashlib.sha256()
        for row in (self.columns, *zip(*self.columns.values(), strict=True)):
            line = json.dumps(list(row), ensure_ascii=False, default=repr)
            hasher.update(line.encode("utf-8", "surrogatepass") + b"\n")
        return hasher.hexdigest()

    def texts(self, column: str) -> list[str]:
        """The texts of a column; a row without one has the empty text."""
        values = self.columns[require_column(tuple(self.columns), column, where=self.path)]
        return [
            text_of(value, column, f"{self.path}: row {number}")
            for number, value in enumerate(values, start=1)
        ]

    def labels(self, column: str, *, comparison: Comparison = "exact") -> list[str]:
        """The labels of a column as text: the first of several; empty where a row has none."""
        values = self.columns[require_column(tuple(self.columns), column, where=self.path)]
        place = f"{self.path}: {column} of row"
        return [
            ""
            if value == "" or is_missing(value)
            else label_alternatives(value, f"{place} {number}", comparison=comparison)[0]
            for number, value in enumerate(values, start=1)
        ]

    def with_pictures(self, column: str) -> Table:
        """This table with absolute paths in a column of paths (see `folder_of_paths`)."""
        folder = folder_of_paths(self.path).resolve()
        paths = [str(folder / each) for each in self.texts(column)]
        return replace(self, columns={**self.columns, column: paths})

    def extended(self, rows: Sequence[int], changed: Mapping[str, Sequence[Any]]) -> Table:
        """This table with changed copies of ``rows`` after it; a row may come more than once."""
        columns: dict[str, Sequence[Any]] = {}
        for name, values in self.columns.items():
            if isinstance(values, ArrowValues):
                columns[name] = values.followed_by(changed.get(name, values.at(rows)))
            else:
                columns[name] = [*values, *changed.get(name, [values[row] for row in rows])]
        return replace(self, columns=columns)


def read_table(
    source: object,
    *,
    format_name: str | None = None,
    options: ReadOptions | None = None,
    required: bool = True,
) -> Table:
    """Read rows whole, from a file or from memory, as `open_rows` takes them.

    DataError: there are none, if some are ``required``.
    """
    dataset = open_rows(source, format_name=format_name, options=options)
    first = dataset.first.columns
    batches: Iterable[Batch] = dataset.batches()
    columns: Mapping[str, Sequence[Any]] | None = None
    if isinstance(first, RecordBatchColumns):
        batches = list(batches)
        columns = joined([batch.columns for batch in batches])
    if columns is None:
        columns = _joined_values(batches)
    if required and not any(map(len, columns.values())):
        raise DataError(f"{dataset.path} has no rows", help="give at least one row")
    classes = {name: class_names(first, name) for name in columns}
    return Table(columns, dataset.path, dataset.format_name, classes, schema_of(first))


def _joined_values(batches: Iterable[Batch]) -> dict[str, list[Any]]:
    """The columns of batches, one after another; what a batch lacks is null there."""
    columns: dict[str, list[Any]] = {}
    rows = 0
    for batch in batches:
        for name in batch.columns:
            columns.setdefault(name, [None] * rows)
        for name, values in columns.items():
            values.extend(batch.columns.get(name, [None] * batch.rows))
        rows += batch.rows
    return columns


def guards_of(table: Table, protection: Protection, *, column: str) -> Guards | None:
    """What has to stay in the texts of a column; None where nothing has to."""
    own = protection.of_format(table.format)
    if not own:
        return None
    own.check(tuple(table.columns), column=column, where=table.path)
    rows = tuple({column: text} for text in table.texts(column))
    cells = {name: table.columns[name] for name in own.needed}
    return guards_of_rows(LabelledRows(rows, column, None, table.path), cells, own, column=column)


def text_column(table: Table, *, chosen: str | None, label: str | None) -> str:
    """The column that rules rewrite: the one that is named, or the only one that can be meant.

    Several, ``a,b`` or ``a+b``, come without blanks, and each set of them once.
    """
    if chosen is not None:
        sets = column_sets(chosen, tuple(table.columns))
        for names in sets:
            for name in names:
                require_column(tuple(table.columns), name, where=table.path)
        return ",".join(map("+".join, sets))
    return default_column(Batch(0, len(table), table.columns), where=table.path, label=label)
