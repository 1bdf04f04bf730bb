"""Datasets in memory: lists, pandas, Hugging Face datasets, Arrow tables.

In: the user's data. Out: a `MemoryFrame`, which gives batches and makes results of the same kind.
Always holds: the user's data is not changed; row order, index, types and other columns stay. Cells
of batches are plain Python, with None for a missing one, whatever holds them. Types of pandas,
pyarrow and datasets are recognized without importing these packages, other tables by the Arrow
stream of columns that they offer. Costs the columns that are looked at, as Python values, a batch
at a time.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from sears_dsl.data import columnar
from sears_dsl.data.batches import DRAW, Batch, Changes, is_missing
from sears_dsl.data.columnar import require_pyarrow
from sears_dsl.errors import DataError

_ROWS = 10_000
# Cells of these types are plain as they are.
_PLAIN = frozenset((str, int, bool, type(None)))


class NewRows(NamedTuple):
    """New rows."""

    columns: Mapping[str, list[Any]]  # the values
    rows: Sequence[int]  # for each the row of the dataset that it comes from
    sources: Mapping[str, str]  # new column → the column of the dataset whose values it holds


class Copies(NamedTuple):
    """Copies of rows, for the end of a dataset."""

    rows: Sequence[int]  # which rows are copied, in order; a row may be copied more than once
    changed: Mapping[Any, Sequence[Any]]  # column → the values of the copies, where they differ
    added: Mapping[str, Sequence[Any]]  # new column → the values of all rows, the old ones first
    only_new: bool = False  # whether the old rows are left out


class MemoryFrame(ABC):
    """A dataset in memory."""

    names: tuple[str, ...]  # its columns; a list of texts has the one column ``text``

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows, at least one batch."""

    @abstractmethod
    def records(self, records: NewRows) -> Any:
        """New rows as a dataset of this kind."""

    @abstractmethod
    def changed(self, changes: Changes, dropped: AbstractSet[int]) -> Any:
        """The dataset with changed values, and without the dropped rows."""

    @abstractmethod
    def extended(self, copies: Copies) -> Any:
        """The dataset and, after its rows, copies of some of them."""


def memory_frame(data: object, *, names: Sequence[str] = ("text",)) -> MemoryFrame:
    """The frame for a dataset, by its type; a DataError if it is not a dataset.

    Arrays of numpy, generators and other iterables of rows are read as lists; tables that offer
    Arrow's stream of columns (polars, for one) as tables of Arrow. A list of no rows has the
    columns ``names``.

    Example:
        >>> memory_frame(["It is."]).names
        ('text',)
    """
    if isinstance(data, (list, tuple)):
        return _Rows(data, names)
    for package, name, frame in (
        ("pandas", "DataFrame", _PandasFrame),
        ("pandas", "Series", _PandasSeries),
        ("pyarrow", "Table", _ArrowTable),
        ("pyarrow", "RecordBatch", _ArrowBatch),
        ("datasets", "Dataset", _HuggingFace),
    ):
        if package in sys.modules and isinstance(data, getattr(sys.modules[package], name)):
            return frame(data)
    datasets = sys.modules.get("datasets")
    if datasets is not None and isinstance(
        data, (datasets.DatasetDict, datasets.IterableDatasetDict)
    ):
        raise DataError(
            f"a {type(data).__name__} holds several datasets: {', '.join(data)}",
            help=f"pass one of them: data[{next(iter(data), '…')!r}]; or use data.map",
        )
    if datasets is not None and isinstance(data, datasets.IterableDataset):
        raise DataError(
            "an IterableDataset is a stream that may never end",
            help="pass some of its rows, list(data.take(1000)), or use data.map with a matcher: "
            "ruleset.compile().chain(texts)",
        )
    if hasattr(data, "__arrow_c_stream__"):
        return _Streamed(data)
    numpy_array = hasattr(data, "tolist") and hasattr(data, "ndim")
    if numpy_array and getattr(data, "ndim", 0) == 1:
        return memory_frame(data.tolist())  # type: ignore[attr-defined]
    if isinstance(data, Iterable) and not numpy_array and not isinstance(data, (Mapping, bytes)):
        return memory_frame(list(data))
    advice = "pass a path, a list of texts or dictionaries, a pandas or polars DataFrame, a "
    advice += "datasets.Dataset or a pyarrow Table"
    if isinstance(data, Mapping):
        advice = "pass columns as pandas.DataFrame(data), and a single row in a list: [data]"
    elif numpy_array:
        advice = "pass an array of one dimension: data.ravel()"
    elif hasattr(data, "collect"):
        advice = "collect it first: data.collect()"
    raise DataError(f"an object of type {type(data).__name__} is not a dataset", help=advice)


class _Rows(MemoryFrame):
    """A list of texts or of dictionaries."""

    def __init__(self, rows: Sequence[Any], names: Sequence[str]) -> None:
        self._rows = rows
        self._texts = all(row is None or isinstance(row, str) for row in rows)
        if self._texts:
            self.names = ("text",) if rows else tuple(names)
            return
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, Mapping):
                raise DataError(
                    f"row {number} is of type {type(row).__name__}",
                    help="the rows of a list are all texts, all pairs, or all dictionaries",
                )
        self.names = tuple(dict.fromkeys(name for row in rows for name in row))
        other = next((name for name in self.names if not isinstance(name, str)), None)
        if other is not None:
            number = next(number for number, row in enumerate(rows, start=1) if other in row)
            raise DataError(
                f"row {number} has the key {other!r}, which is not text",
                help="keys are names of columns: [{str(key): row[key] for key in row} for row in "
                "data]",
            )

    def batches(self) -> Iterator[Batch]:
        for first in range(0, max(1, len(self._rows)), _ROWS):
            rows = self._rows[first : first + _ROWS]
            if self._texts and rows:
                yield Batch(first, len(rows), {"text": rows})
            else:
                columns = {name: _cells([row.get(name) for row in rows]) for name in self.names}
                yield Batch(first, len(rows), columns)

    def records(self, records: NewRows) -> list[dict[str, Any]]:
        values = zip(*records.columns.values(), strict=True)
        return [dict(zip(records.columns, row, strict=True)) for row in values]

    def changed(self, changes: Changes, dropped: AbstractSet[int]) -> list[Any]:
        rows = list(self._rows)
        for row, new in changes.items():
            rows[row] = new["text"] if self._texts else {**rows[row], **new}
        return [row for number, row in enumerate(rows) if number not in dropped]

    def extended(self, copies: Copies) -> list[dict[str, Any]]:
        old = [{"text": row} if self._texts else dict(row) for row in self._rows]
        whole = old + [dict(old[row]) for row in copies.rows]
        for name, values in copies.changed.items():
            for place, value in enumerate(values, start=len(old)):
                whole[place][name] = value
        for name, values in copies.added.items():
            for row, value in zip(whole, values, strict=True):
                row[name] = value
        return whole[len(old) :] if copies.only_new else whole


class _PandasFrame(MemoryFrame):
    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = tuple(map(str, frame.columns))
        repeated = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if repeated is not None:
            raise DataError(
                f"two columns of the data frame have the same name, {repeated}",
                help="rename one of them; a number as a name is the same as its digits",
            )
        self._labels = dict(zip(self.names, frame.columns, strict=True))

    def batches(self) -> Iterator[Batch]:
        for first in range(0, max(1, len(self._frame)), _ROWS):
            part = self._frame.iloc[first : first + _ROWS]
            columns = {name: _values_of(part[label]) for name, label in self._labels.items()}
            yield Batch(first, len(part), columns)

    def records(self, records: NewRows) -> Any:
        pandas = sys.modules["pandas"]
        index = self._frame.index.take(records.rows)
        # `reset_index` makes a column of each level that has a name.
        names = [None if name in records.columns else name for name in index.names]
        frame = pandas.DataFrame(dict(records.columns), index=index.set_names(names))
        if "id" in index.names and "id" not in records.sources:
            frame["id"] = index.get_level_values("id")
        for name, source in records.sources.items():
            old = self._frame[self._labels[source]].take(records.rows)
            new = zip(records.columns[name], old, strict=True)
            # A cell that no rule moved stays as it is: an array, a missing value of its kind.
            values = [cell if _cell(cell) == value else value for value, cell in new]
            frame[name] = _typed(values, frame.index, old.dtype, name)
        return frame

    def changed(self, changes: Changes, dropped: AbstractSet[int]) -> Any:
        frame = self._frame.copy()
        for name in dict.fromkeys(name for new in changes.values() for name in new):
            label = self._labels[name]
            new = {row: values[name] for row, values in changes.items() if name in values}
            frame[label] = _series(frame[label], new)
        if not dropped:
            return frame
        return frame.iloc[[row for row in range(len(frame)) if row not in dropped]]

    def extended(self, copies: Copies) -> Any:
        """Copies keep the index of their rows; an index that only counts rows goes on counting."""
        pandas = sys.modules["pandas"]
        frame = self._frame
        whole = pandas.concat([frame, frame.iloc[list(copies.rows)]])
        # An index with a name holds more than numbers of rows: pandas also makes consecutive ids a
        # RangeIndex. Draws of a row are that row again, not rows after the others.
        counts = type(frame.index) is pandas.RangeIndex and frame.index.name is None
        if counts and DRAW not in copies.added:
            step = frame.index.step
            stop = frame.index.start + step * len(whole)
            whole.index = pandas.RangeIndex(frame.index.start, stop, step)
        for name, values in copies.changed.items():
            label = self._labels[name]
            whole[label] = _series(whole[label], dict(enumerate(values, start=len(frame))))
        for name, values in copies.added.items():
            whole[name] = pandas.Series(list(values), index=whole.index)
        return whole.iloc[len(frame) :] if copies.only_new else whole


class _PandasSeries(_PandasFrame):
    def __init__(self, series: Any) -> None:
        super().__init__(series.to_frame("text"))
        self._name = series.name

    def changed(self, changes: Changes, dropped: AbstractSet[int]) -> Any:
        return super().changed(changes, dropped)["text"].rename(self._name)


def _values_of(series: Any) -> list[Any]:
    """The values of a series, with None for missing ones, whatever its type."""
    values: list[Any] = series.tolist()
    for place in np.flatnonzero(series.isna()).tolist():
        values[place] = None
    return _cells(values)


def _cells(values: list[Any]) -> list[Any]:
    """Values as plain Python, with None for missing ones."""
    return values if set(map(type, values)) <= _PLAIN else list(map(_cell, values))


def _cell(value: Any) -> Any:
    """A value of numpy as plain Python, its members too; None for a missing value of any kind."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return list(map(_cell, value))
    if isinstance(value, Mapping):
        return {key: _cell(member) for key, member in value.items()}
    # The missing values of pandas are equal to nothing, and NA is neither true nor false.
    return None if is_missing(value) or type(value).__name__ in ("NAType", "NaTType") else value


def _series(series: Any, new: Mapping[int, Any]) -> Any:
    """The series with those new values that are not missing; new categories are added."""
    pandas = sys.modules["pandas"]
    values = series.tolist()
    for row, value in new.items():
        values[row] = values[row] if is_missing(value) else value
    if isinstance(series.dtype, pandas.CategoricalDtype):
        categories = list(series.cat.categories)
        added = dict.fromkeys(value for value in new.values() if not is_missing(value))
        categories += [value for value in added if value not in set(categories)]
        dtype: Any = pandas.CategoricalDtype(categories, ordered=series.cat.ordered)
    else:
        dtype = series.dtype
    return _typed(values, series.index, dtype, series.name)


def _typed(values: list[Any], index: Any, dtype: Any, name: Any) -> Any:
    """A series of a type; a DataError if that type cannot hold the values."""
    try:
        return sys.modules["pandas"].Series(values, index=index, dtype=dtype, name=name)
    except (TypeError, ValueError, OverflowError) as error:
        raise columnar.type_error(name, dtype, error) from error


class _ArrowTable(MemoryFrame):
    def __init__(self, table: Any) -> None:
        self._table = table
        self.names = tuple(table.column_names)

    def batches(self) -> Iterator[Batch]:
        first = 0
        for part in self._parts():
            yield Batch(first, part.num_rows, columnar.RecordBatchColumns(part), part)
            first += part.num_rows

    def _parts(self) -> list[Any]:
        table = self._table
        with suppress(require_pyarrow().ArrowInvalid):  # more categories than their type can number
            table = table.combine_chunks()
        return table.to_batches(max_chunksize=_ROWS) or [columnar.empty_batch(table.schema)]

    def result(self, table: Any) -> Any:
        """An Arrow table as data of the kind that the user gave."""
        return table

    def records(self, records: NewRows) -> Any:
        return self.result(self._records(records))

    def _records(self, records: NewRows) -> Any:
        arrow = require_pyarrow()
        arrays = {}
        for name, values in records.columns.items():
            if name == "edits":
                edits = (edit for of_row in values for edit in of_row)
                starts, ends, olds, news = zip(*edits, strict=True) if any(values) else [()] * 4
                flat = (np.array(starts, np.int64), np.array(ends, np.int64), olds, news)
                fields = dict(zip(("start", "end", "old", "new"), flat, strict=True))
                offsets = np.cumsum([0, *map(len, values)]).tolist()
                arrays[name] = columnar.object_lists(offsets, fields)
            else:
                kind = arrow.int64() if name == DRAW else arrow.string()
                if name in records.sources:
                    source = columnar.column_of(self._table, records.sources[name])
                    kind = source.type
                    old = columnar.ArrowValues(source).at(records.rows)
                    if list(old) == values:  # not moved, as spans are
                        arrays[name] = old.array
                        continue
                arrays[name] = arrow.array(values, kind)
        return arrow.table(arrays)

    def changed(self, changes: Changes, dropped: AbstractSet[int]) -> Any:
        arrow = require_pyarrow()
        parts = []
        first = 0
        for part in self._parts():
            rows = range(first, first + part.num_rows)
            inside = {row - first: changes[row] for row in rows if row in changes}
            gone = {row - first for row in rows if row in dropped}
            if inside or gone:
                part = columnar.changed_record_batch(part, inside, gone)  # noqa: PLW2901
            parts.append(part)
            first = rows.stop
        schema = self._table.schema
        if all(part.schema == schema for part in parts):
            return self.result(arrow.Table.from_batches(parts, schema=schema))
        # A part that got more categories than their type can number has a wider type.
        tables = [arrow.Table.from_batches([part]) for part in parts]
        return self.result(arrow.concat_tables(tables, promote_options="permissive"))

    def extended(self, copies: Copies) -> Any:
        arrow = require_pyarrow()
        new = columnar.take_rows(self._table, copies.rows)
        for name, values in copies.changed.items():
            place = new.schema.get_field_index(name)
            field = new.schema.field(place)
            new = new.set_column(place, field, columnar.array_of_type(values, field.type, name))
        whole = arrow.concat_tables([self._table, new])
        for name, values in copies.added.items():
            kind = arrow.int64() if name == DRAW else arrow.string()
            whole = whole.append_column(name, arrow.array(values, kind))
        return self.result(whole.slice(len(self._table)) if copies.only_new else whole)


class _ArrowBatch(_ArrowTable):
    def __init__(self, record_batch: Any) -> None:
        super().__init__(require_pyarrow().Table.from_batches([record_batch]))

    def result(self, table: Any) -> Any:
        """A table as one record batch, whose types of categories may be wider."""
        arrow = require_pyarrow()
        arrays = [columnar.ArrowValues(column).array for column in table.columns]
        if any(isinstance(array, arrow.ChunkedArray) for array in arrays):
            raise DataError(
                "the result is larger than a record batch can be",
                help="pass a table: pyarrow.Table.from_batches([data])",
            )
        kinds = zip(table.schema, arrays, strict=True)
        fields = [field.with_type(array.type) for field, array in kinds]
        schema = arrow.schema(fields, table.schema.metadata)
        return arrow.RecordBatch.from_arrays(arrays, schema=schema)


class _Streamed(_ArrowTable):
    """A table that offers Arrow's stream of columns; results for polars are polars frames again."""

    def __init__(self, data: Any) -> None:
        arrow = require_pyarrow()
        try:
            super().__init__(columnar.with_plain_categories(arrow.table(data)))
        except (TypeError, arrow.ArrowException) as error:  # a stream of other things than rows
            raise DataError(
                f"an object of type {type(data).__name__} has no columns",
                help="pass it as a list: data.to_list()",
            ) from error
        name = type(data).__module__.partition(".")[0]
        self._back = getattr(sys.modules[name], "from_arrow", None)
        self._types = getattr(data, "schema", {})

    def result(self, table: Any) -> Any:
        if not self._back:
            return table
        # Polars notes the categories of an Enum on its field, and reads all others as null.
        fields = [
            each.remove_metadata() if columnar.has_categories(each.type) else each
            for each in table.schema
        ]
        arrow = require_pyarrow()
        frame = self._back(arrow.Table.from_arrays(table.columns, schema=arrow.schema(fields)))
        for field in fields:
            if columnar.has_categories(field.type) and field.name in self._types:
                frame = frame.with_columns(self._categories(frame[field.name]))
        return frame

    def _categories(self, values: Any) -> Any:
        """A column of categories in the type that it came in."""
        dtype = self._types[values.name]
        try:
            return values.cast(dtype)
        except sys.modules["polars"].exceptions.PolarsError as error:
            raise columnar.type_error(values.name, dtype, error) from error


class _HuggingFace(_ArrowTable):
    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset.with_format("arrow")[:])
        self._dataset = dataset

    def records(self, records: NewRows) -> Any:
        datasets = sys.modules["datasets"]
        table = self._records(records)
        features = datasets.Dataset(table).features
        for name, source in records.sources.items():
            features[name] = self._dataset.features[source]
        table = table.replace_schema_metadata(None)
        return datasets.Dataset(table, info=datasets.DatasetInfo(features=features))

    def result(self, table: Any) -> Any:
        datasets = sys.modules["datasets"]
        new = [name for name in table.column_names if name not in self.names]
        added = {name: datasets.Value(str(table.schema.field(name).type)) for name in new}
        features = datasets.Features({**self._dataset.features, **added})
        info = datasets.DatasetInfo(description=self._dataset.info.description, features=features)
        if added:
            table = table.replace_schema_metadata(None)
        return datasets.Dataset(table, info=info, split=self._dataset.split)
