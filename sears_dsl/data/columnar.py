"""Parquet and Arrow files (the only readers and writers that need pyarrow).

In: a path. Out: `Batch`es whose source is an Arrow record batch, and parts in Arrow's stream form.
Always holds: a changed row keeps the types of its columns and all other values; columns become
Python values only where they are asked for. Costs a row group of the file at a time.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from math import ceil
from typing import Any, BinaryIO

import numpy as np

from sears_dsl.data import batches
from sears_dsl.data.batches import Batch, Changes
from sears_dsl.data.streams import STANDARD_STREAM
from sears_dsl.errors import DataError, UsageError, shortened

_MIXED = "write jsonl, or convert the values of the column to one type"
_TEXTS = ("string", "large_string", "string_view")
# Of a type, so much is shown: an Enum has all of its values in its name.
_SHOWN = 60


def require_pyarrow() -> Any:
    """The pyarrow package."""
    try:
        import_module("pyarrow.parquet")  # sets the attribute of the package, as does ipc
        import_module("pyarrow.ipc")
        return import_module("pyarrow")
    except ImportError as error:
        raise DataError(
            "parquet and arrow files need the pyarrow package",
            help='pip install "sears-dsl[arrow]"',
        ) from error


class ArrowValues(Sequence[Any]):
    """The values of an Arrow array, which become Python values when they are first looked at.

    A time that no Python type can hold, with nanoseconds or after the year 9999, is text there.
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    @cached_property
    def array(self) -> Any:
        """The values as one array."""
        arrow = require_pyarrow()
        if not isinstance(self._array, arrow.ChunkedArray):
            return self._array
        try:
            return self._array.combine_chunks()
        except arrow.ArrowInvalid:  # more categories than their type can number
            return arrow.array(list(self), self._array.type)

    @cached_property
    def _values(self) -> list[Any]:
        # Values of this type are cut to microseconds without notice.
        if self._array.type != require_pyarrow().time64("ns"):
            with suppress(ValueError, OverflowError):
                values: list[Any] = self._array.to_pylist()
                return values
        return list(map(_python_value, self._array))

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: int | slice) -> Any:
        return ArrowValues(self.array[index]) if isinstance(index, slice) else self._values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    @property
    def are_texts(self) -> bool:
        """Whether the type is that of texts, or of categories that are texts."""
        kind = self._array.type
        kind = kind.value_type if has_categories(kind) else kind
        return str(getattr(kind, "storage_type", kind)) in _TEXTS

    def at(self, places: Sequence[int]) -> ArrowValues:
        """The values at some places, of the same type."""
        return ArrowValues(take_rows(self.array, places))

    def followed_by(self, values: Sequence[Any]) -> Sequence[Any]:
        """These values and others; of the same type, if the others fit into it."""
        arrow = require_pyarrow()
        kind = self._array.type
        try:
            others = values.array if isinstance(values, ArrowValues) else arrow.array(values, kind)
            return ArrowValues(arrow.chunked_array([self.array, others], kind))
        except (arrow.ArrowException, TypeError, ValueError, OverflowError):
            return [*self, *values]


def _python_value(scalar: Any) -> Any:
    """A value; a time that no Python type can hold is text."""
    arrow = require_pyarrow()
    kind = scalar.type
    problem: Exception | None = None
    try:
        value = scalar.as_py()
        if kind != arrow.time64("ns") or arrow.scalar(value, kind) == scalar:
            return value
    except (ValueError, OverflowError) as error:
        problem = error
    if arrow.types.is_duration(kind):
        return f"{scalar.value} {kind.unit}"
    if arrow.types.is_temporal(kind):
        # Arrow has no text for years past 32767; with a time zone, -32768 follows without notice.
        here = scalar.cast(arrow.timestamp(kind.unit)) if arrow.types.is_timestamp(kind) else scalar
        with suppress(arrow.ArrowInvalid):
            if not here.cast(arrow.string()).as_py().startswith("<"):
                return scalar.cast(arrow.string()).as_py()
    raise DataError(
        f"a value of type {kind} is none that Python has: {problem or scalar.value}",
        help="leave that column out, or convert it",
    ) from problem


def take_rows(values: Any, places: Sequence[int]) -> Any:
    """Some rows of an array, a record batch or a table, as often as they are named."""
    arrow = require_pyarrow()
    try:
        return values.take(arrow.array(places, arrow.int64()))
    except arrow.ArrowNotImplementedError:
        # Views of strings, as polars gives them, are not taken; slices of them can be put together.
        if isinstance(values, arrow.RecordBatch):
            columns = [take_rows(column, places) for column in values.columns]
            return arrow.RecordBatch.from_arrays(columns, schema=values.schema)
        slices = [values.slice(place, 1) for place in places] or [values.slice(0, 0)]
        if isinstance(values, arrow.Table):
            return arrow.concat_tables(slices).combine_chunks()
        return arrow.concat_arrays(slices)


def type_error(column: str, kind: object, error: Exception) -> DataError:
    """The error for new values that the type of their column cannot hold."""
    return DataError(
        f"column {column} is of type {shortened(str(kind), _SHOWN)}, which cannot hold the new "
        f"values: {error}",
        help="give the column another type first, such as text",
    )


def array_of_type(values: Sequence[Any], kind: Any, column: str) -> Any:
    """New values of a column as an array of its type; a DataError if that cannot hold them."""
    arrow = require_pyarrow()
    try:
        return arrow.array(values, kind)
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise type_error(column, kind, error) from error


def has_categories(kind: Any) -> bool:
    """Whether a type of Arrow is that of categories: a dictionary of them, and their numbers."""
    return bool(require_pyarrow().types.is_dictionary(kind))


def with_plain_categories(table: Any, *, views: bool = False) -> Any:
    """A table without null among its categories, which Arrow cannot write.

    Unless ``views``, categories that are views of texts become texts: parquet lacks such views,
    and Arrow can hardly work on them.
    """
    arrow = require_pyarrow()
    for at, field in enumerate(table.schema):
        kind = field.type
        if not has_categories(kind):
            continue
        if not views and kind.value_type == arrow.string_view():
            kind = arrow.dictionary(kind.index_type, arrow.string(), kind.ordered)
        chunks = [_of_categories(each, kind) for each in table.column(at).chunks]
        table = table.set_column(at, field.with_type(kind), arrow.chunked_array(chunks, kind))
    return table


def _of_categories(array: Any, kind: Any) -> Any:
    """An array as one of a type of categories, none of which is null."""
    arrow = require_pyarrow()
    if array.type == kind and not array.dictionary.null_count:
        return array
    valid = np.array(array.dictionary.is_valid())
    numbers = arrow.array(np.cumsum(valid) - 1, kind.index_type, mask=~valid).take(array.indices)
    values = take_rows(array.dictionary.cast(kind.value_type), np.flatnonzero(valid).tolist())
    return arrow.DictionaryArray.from_arrays(numbers, values, ordered=kind.ordered)


def column_of(table: Any, name: str) -> Any:
    """A column of a table or a record batch; a `DataError` if two have its name."""
    if table.schema.get_field_index(name) < 0:
        raise DataError(f"two columns are named {name!r}", help="rename one: table.rename_columns")
    return table.column(name)


def empty_batch(schema: Any) -> Any:
    """A record batch of no rows."""
    return require_pyarrow().RecordBatch.from_pylist([], schema=schema)


class RecordBatchColumns(batches.LazyColumns):
    """The columns of a record batch; a pickle of them holds the record batch alone."""

    def __init__(self, record_batch: Any) -> None:
        super().__init__(record_batch.schema.names)
        self.record_batch = record_batch

    def _values(self, name: str) -> ArrowValues:
        return ArrowValues(column_of(self.record_batch, name))

    def named(self, names: Sequence[str]) -> RecordBatchColumns:
        """Some of the columns."""
        return RecordBatchColumns(self.record_batch.select(names))

    def at(self, places: Sequence[int], added: Mapping[str, Any]) -> RecordBatchColumns:
        """The rows at some places, with the columns of numbers ``added`` after their own."""
        arrow = require_pyarrow()
        rows = take_rows(self.record_batch, places)
        schema = rows.schema
        arrays = list(rows.columns)
        for name, numbers in added.items():
            schema = schema.append(arrow.field(name, arrow.int64()))
            arrays.append(arrow.array(numbers, arrow.int64()))
        return RecordBatchColumns(arrow.RecordBatch.from_arrays(arrays, schema=schema))

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrow's stream form holds the rows of a slice alone; its pickle also those around it.
        return _unpickled, (_part(self.record_batch),)


class ColumnsOfSchema(dict[str, Sequence[Any]]):
    """Columns as Python values, with the Arrow schema that these or some of them were read in."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], schema: Any) -> None:
        super().__init__(columns)
        self.schema = schema


def schema_of(columns: Mapping[str, Sequence[Any]]) -> Any:
    """The Arrow schema that columns were read in; None if they come from elsewhere."""
    if isinstance(columns, RecordBatchColumns):
        return columns.record_batch.schema
    return columns.schema if isinstance(columns, ColumnsOfSchema) else None


def with_schema(columns: Mapping[str, Sequence[Any]], schema: Any) -> Mapping[str, Sequence[Any]]:
    """The columns, which Columnar then writes in the types and features that a schema has."""
    return columns if schema is None else ColumnsOfSchema(columns, schema)


_FEATURES = b"huggingface"  # the key of a schema under which datasets notes its features


def _features_of(schema: Any) -> Mapping[str, Any]:
    """What Hugging Face's datasets noted of the columns of a schema, such as names of classes."""
    try:
        features = json.loads(schema.metadata[_FEATURES])["info"]["features"]
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return features if isinstance(features, dict) else {}


def _metadata_of(schema: Any, fields: Sequence[Any]) -> dict[bytes, Any]:
    """What of the notes of a schema holds for other rows with these fields.

    Features stay with their columns, and the others where all columns stay in their places.
    """
    metadata: dict[bytes, Any] = {}
    if schema is not None and schema.names == [each.name for each in fields[: len(schema)]]:
        metadata |= schema.metadata or {}
        metadata.pop(_FEATURES, None)
    types = {each.name: each.type for each in schema or ()}
    same_type = {each.name for each in fields if each.type == types.get(each.name)}
    features = {name: each for name, each in _features_of(schema).items() if name in same_type}
    if features:
        metadata[_FEATURES] = json.dumps({"info": {"features": features}})
    return metadata


def untyped_columns(columns: Mapping[str, Sequence[Any]]) -> frozenset[str]:
    """The columns that were read in a schema as columns of nulls."""
    return frozenset(
        each.name for each in schema_of(columns) or () if each.type == require_pyarrow().null()
    )


def joined(parts: Sequence[Mapping[str, Sequence[Any]]]) -> Mapping[str, ArrowValues] | None:
    """The columns of record batches, one after another; None where their schemas differ."""
    record_batches = [each.record_batch for each in parts if isinstance(each, RecordBatchColumns)]
    if len(record_batches) < len(parts) or not parts:
        return None
    schema = record_batches[0].schema
    if not all(schema.equals(each.schema) for each in record_batches):
        return None
    table = require_pyarrow().Table.from_batches(record_batches)
    return {name: ArrowValues(column_of(table, name)) for name in schema.names}


def class_names(columns: Mapping[str, Sequence[Any]], column: str) -> tuple[str, ...]:
    """The names of classes that a column numbers, if Hugging Face's datasets noted them."""
    try:
        feature = _features_of(schema_of(columns))[column]
        # A list of classes, for several labels a row, holds their feature.
        return tuple(map(str, feature.get("feature", feature)["names"]))
    except (KeyError, TypeError, AttributeError):
        return ()


def _unpickled(part: bytes) -> RecordBatchColumns:
    [record_batch] = require_pyarrow().ipc.open_stream(part)
    return RecordBatchColumns(record_batch)


def changed_record_batch(record_batch: Any, changes: Changes, dropped: AbstractSet[int]) -> Any:
    """A record batch with some values replaced and some rows left out, types kept."""
    arrow = require_pyarrow()
    columns, schema = list(record_batch.columns), record_batch.schema
    for name in dict.fromkeys(name for new in changes.values() for name in new):
        at = schema.get_field_index(name)
        values = columns[at].to_pylist()
        for row, new in changes.items():
            if name in new:
                values[row] = new[name]
        # Of more categories than their type can number, it is a wider type.
        array = array_of_type(values, schema.field(at).type, name)
        if arrow.types.is_nested(array.type):  # Python has cut nanoseconds in the other rows
            rewritten = arrow.array([name in changes.get(row, ()) for row in range(len(values))])
            array = import_module("pyarrow.compute").if_else(rewritten, array, columns[at])
        columns[at] = array
        schema = schema.set(at, schema.field(at).with_type(columns[at].type))
    changed = arrow.RecordBatch.from_arrays(columns, schema=schema)
    if dropped:
        rows = [row for row in range(changed.num_rows) if row not in dropped]
        changed = take_rows(changed, rows)
    return changed


class Columnar:
    """Parquet (``parquet``) or Arrow IPC, file or stream form (``arrow``, ``feather``)."""

    binary = True

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, path: str, options: batches.ReadOptions) -> _ColumnarReader:
        """Open a file."""
        return _ColumnarReader(path, options, self.name)

    def encode(self, columns: Mapping[str, Sequence[Any]], encoding: str) -> bytes:
        """New rows; columns that were read in a schema stay of its types and features."""
        if not columns:
            return b""
        arrow = require_pyarrow()
        schema = schema_of(columns)
        known = {each.name: each for each in schema or ()}
        fields, arrays = [], []
        for name, column in columns.items():
            field = known.get(name)
            kind = None if field is None else field.type
            array = self._array(arrow, name, column, kind=kind)
            if field is None or kind != array.type or (array.null_count and not field.nullable):
                field = arrow.field(name, array.type)
            fields.append(field)
            arrays.append(array)
        metadata = _metadata_of(schema, fields)
        return _part(arrow.RecordBatch.from_arrays(arrays, schema=arrow.schema(fields, metadata)))

    def typed(
        self, columns: Mapping[str, Sequence[Any]], names: Iterable[str]
    ) -> Mapping[str, Sequence[Any]]:
        """The columns, those with these names as Arrow values, typed by all of their values."""
        if isinstance(columns, RecordBatchColumns):
            return columns
        arrow = require_pyarrow()
        present = (name for name in names if name in columns)
        typed = {name: ArrowValues(self._array(arrow, name, columns[name])) for name in present}
        return {**columns, **typed}

    def _array(self, arrow: Any, name: str, column: Sequence[Any], *, kind: Any = None) -> Any:
        """A column as an array: of the type ``kind`` if the values fit into it."""
        if isinstance(column, ArrowValues):
            return column.array
        if isinstance(column, batches.JsonColumn):
            objects = column.objects()
            if objects is None:
                return arrow.array(column.json_texts(), arrow.string())
            return object_lists(*objects)
        if isinstance(column, batches.Repeated):
            return take_rows(self._array(arrow, name, column.values, kind=kind), column.places)
        if kind is not None:
            # A new value may not fit: an id that follows the largest one of its type.
            with suppress(arrow.ArrowException, TypeError, ValueError, OverflowError):
                return arrow.array(column, kind)
        try:
            return arrow.array(column)
        except UnicodeEncodeError as error:
            raise DataError(
                f"column {name} has half of a character, U+{ord(error.object[error.start]):04X}, "
                f"which {self.name} cannot hold",
                help="write json or jsonl, or fix the text",
            ) from error
        except (arrow.ArrowException, OverflowError) as error:
            raise DataError(
                f"{self.name} wants one type in a column, and {name} has more: {error}", help=_MIXED
            ) from error

    def patch(
        self, batch: Batch, changes: Changes, dropped: AbstractSet[int], encoding: str
    ) -> bytes:
        """The rows of a batch with some changed and some left out."""
        record_batch = batch.source.record_batch
        if changes or dropped:
            record_batch = changed_record_batch(record_batch, changes, dropped)
        return _part(record_batch)

    def assemble(self, parts: Iterable[bytes], output: BinaryIO, frame: batches.Frame) -> None:
        """Write one file of all parts; a column whose type differs between parts is widened.

        In a file of new rows, a column without any value holds text, unless it was read untyped.
        An Arrow file has all categories of a column in each of its batches.
        """
        arrow = require_pyarrow()
        views = self.name != "parquet"
        if isinstance(parts, Iterator):  # they are gone through twice
            parts = list(parts)
        try:
            schemas = [arrow.ipc.open_stream(part).schema for part in parts if part]
            schemas = schemas or [arrow.schema([(name, arrow.null()) for name in frame.names])]
            schema = arrow.unify_schemas(schemas, promote_options="permissive")
            for at, field in enumerate(schema if frame.around is None else ()):
                if field.type == arrow.null() and field.name not in frame.untyped:
                    schema = schema.set(at, field.with_type(arrow.string()))
            if views:
                categories = _categories(parts, schema)
                for name, array in categories.items():
                    at = schema.get_field_index(name)
                    schema = schema.set(at, schema.field(at).with_type(array.type))
                writer = arrow.ipc.new_file(output, schema)
            else:
                categories = {}
                schema = with_plain_categories(schema.empty_table()).schema
                writer = arrow.parquet.ParquetWriter(output, schema)
            with writer:
                for part in filter(None, parts):
                    # Objects of JSON may lack a key, or have their keys in another order.
                    table = _table(part, views=views)
                    if table.schema.names != schema.names:
                        both = (schema.empty_table(), table)
                        table = arrow.concat_tables(both, promote_options="permissive")
                    writer.write_table(_with_categories(table.cast(schema), categories))
        except arrow.ArrowException as error:
            raise DataError(
                f"the rows do not fit into one {self.name} file: {error}", help=_MIXED
            ) from error


def _categories(parts: Iterable[bytes], schema: Any) -> dict[str, Any]:
    """For each column of categories an array of no rows that has all of those in the parts."""
    arrow = require_pyarrow()
    values = {
        each.name: arrow.array([], each.type.value_type)
        for each in schema
        if has_categories(each.type)
    }
    for part in parts if values else ():
        table = _table(part, views=True) if part else schema.empty_table()
        for name in values.keys() & set(table.schema.names):
            for chunk in table[name].cast(schema.field(name).type).chunks:
                values[name] = arrow.concat_arrays([values[name], chunk.dictionary]).unique()
    arrays = {}
    for name, all_values in values.items():
        kind = schema.field(name).type
        # Arrow wants a type that can hold how many categories there are.
        bits = kind.index_type.bit_width - arrow.types.is_signed_integer(kind.index_type)
        numbers = kind.index_type if len(all_values) < 1 << bits else arrow.int32()
        none = arrow.array([], numbers)
        arrays[name] = arrow.DictionaryArray.from_arrays(none, all_values, ordered=kind.ordered)
    return arrays


def _with_categories(table: Any, categories: Mapping[str, Any]) -> Any:
    """A table whose columns of categories have all of them, in the same order."""
    arrow = require_pyarrow()
    for name, array in categories.items():
        at = table.schema.get_field_index(name)
        chunks = arrow.chunked_array([array, *table[name].chunks], array.type)
        column = arrow.chunked_array(chunks.unify_dictionaries().chunks[1:], array.type)
        table = table.set_column(at, table.schema.field(at), column)
    return table


def object_lists(offsets: Sequence[int], fields: Mapping[str, Any]) -> Any:
    """Lists of objects, as `JsonColumn.objects` gives them, as an array of lists of structs."""
    arrow = require_pyarrow()
    values = [
        arrow.array(column)
        if isinstance(column, np.ndarray)
        else arrow.array(column, arrow.string())
        for column in fields.values()
    ]
    flat = arrow.StructArray.from_arrays(values, names=list(fields))
    return arrow.ListArray.from_arrays(arrow.array(offsets, arrow.int32()), flat)


def _table(part: bytes, *, views: bool) -> Any:
    return with_plain_categories(require_pyarrow().ipc.open_stream(part).read_all(), views=views)


def _part(record_batch: Any) -> bytes:
    arrow = require_pyarrow()
    content = io.BytesIO()
    with arrow.ipc.new_stream(content, record_batch.schema) as writer:
        writer.write_batch(record_batch)
    return content.getvalue()


def open_columnar(file: Any, form: str, *, rows: int) -> tuple[Any, Iterator[Any]]:
    """The schema of an open file, and its record batches, of at most ``rows`` rows in parquet.

    A file in neither of the two forms of Arrow, or in another format, raises Arrow's errors.
    """
    arrow = require_pyarrow()
    if form == "parquet":
        parquet = arrow.parquet.ParquetFile(file)
        return parquet.schema_arrow, parquet.iter_batches(batch_size=rows)
    try:
        reader = arrow.ipc.open_file(file)
    except arrow.ArrowInvalid:
        file.seek(0)
        stream = arrow.ipc.open_stream(file)
        return stream.schema, iter(stream)
    numbers = range(reader.num_record_batches)
    return reader.schema, (reader.get_batch(number) for number in numbers)


class _ColumnarReader(batches.Reader):
    def __init__(self, path: str, options: batches.ReadOptions, form: str) -> None:
        if path == STANDARD_STREAM:
            raise UsageError(
                f"{form} cannot be read from standard input", help="name a file instead"
            )
        self._path = path
        self._options = options
        self._form = form

    def batches(self) -> Iterator[Batch]:
        """The rows, in batches within the bounds of the options."""
        arrow = require_pyarrow()
        options = self._options
        first = number = 0
        try:
            with open(self._path, "rb") as file:
                schema, record_batches = open_columnar(file, self._form, rows=options.rows)
                for name in schema.names:
                    if schema.get_field_index(name) < 0:
                        raise DataError(f"{self._path}: two columns are named {name!r}")
                for record_batch in record_batches:
                    if options.limit is not None:
                        record_batch = record_batch.slice(0, options.limit - first)  # noqa: PLW2901
                    for piece in self._bounded(record_batch, number):
                        columns = RecordBatchColumns(piece)
                        yield Batch(first, piece.num_rows, columns, columns)
                        first += piece.num_rows
                        number += 1
                    if first == options.limit:
                        break
        except (OSError, arrow.ArrowException) as error:
            raise DataError(f"{self._path} cannot be read as {self._form}: {error}") from error
        if not first:
            columns = RecordBatchColumns(empty_batch(schema))
            yield Batch(0, 0, columns, columns)

    def _bounded(self, record_batch: Any, number: int) -> Iterator[Any]:
        """The pieces of a record batch within the bounds; the first makes batch ``number``."""
        rows = record_batch.num_rows
        mean = record_batch.nbytes / max(1, rows)
        at = 0
        while at < rows:
            most, characters = self._options.bounds(number)
            rest = rows - at
            pieces = max(-(-rest // most), ceil(rest * mean / (4 * characters)), 1)
            most = -(-rest // pieces)
            yield record_batch.slice(at, most)
            at += most
            number += 1
