"""Mode each: a record for every row and rule that changed it.

In: a batch, a compiled matcher and a plan. Out: columns of records, and a `Tally`. Always holds: a
rewrite that touches a span is not written, and spans that are kept point into the rewritten text;
records are in the order of rows, columns, rules; an id, original or rule name is stored once,
however many records share it, and the edits become JSON when they are written. Costs arrays, and
for each record its new text and its edits as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sears_dsl.batch.guarding import require_all_intact, touched_error
from sears_dsl.batch.plan import (
    Plan,
    ProtectedTexts,
    Tally,
    TallyExample,
    Texts,
    count_texts,
    count_unrenderable,
    draws_of,
    moved_values,
    present_texts,
    protected_spans,
    row_name,
    spans_of,
)
from sears_dsl.data.batches import DRAW, Batch, JsonColumn, Repeated, json_text
from sears_dsl.data.columnar import ArrowValues
from sears_dsl.data.dataset import row_ids
from sears_dsl.data.span_columns import SpanColumn
from sears_dsl.engine.matcher import Matcher
from sears_dsl.engine.matches import SpanMap
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.tagging.tokens import distinct_codes


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """What mode each gives for a batch."""

    # ``id``, ``draw`` (where there are several), ``rule``, ``column`` (where several are
    # rewritten), ``original``, ``rewritten``, ``edits`` (lists of [start, end, old, new]), and the
    # columns that are kept; in the order of rows, draws, columns, rules.
    columns: dict[str, Sequence[Any]]
    rows: Int32Array  # for each record the row of the batch
    tally: Tally  # the counts


def rewrite_each(matcher: Matcher, batch: Batch, plan: Plan) -> Records:
    """One record for every row and rule that changed it.

    DataError: a value that is not text; a span that is touched, with ``on_touched`` error.
    """
    tally = Tally(rows=batch.rows // batch.copies)
    parts: list[RewriteColumns] = []
    spans = _Spans(batch, plan, matcher.rule_ids)
    columns: list[tuple[str, Texts, ProtectedTexts]] = []
    for column in plan.rewritten_columns:
        texts = present_texts(batch, column)
        missing = batch.rows - len(texts.texts)
        texts = texts.of_share(plan.share)
        count_texts(tally, matcher, texts.texts, missing=missing, copies=batch.copies)
        protected = protected_spans(batch, plan, column, texts)
        spans.look_at(column, texts, protected)
        columns.append((column, texts, protected))
    # A span that is misplaced in one column keeps all columns of its row as they are.
    for column, texts, protected in columns:
        drawn: list[RewriteColumns] = []
        for draw, among in draws_of(batch, texts.rows):
            of_draw, intact = texts, protected.spans
            if batch.copies > 1:
                of_draw = texts.at(among)
                intact = intact and [intact[place] for place in among]
            of_texts = matcher.apply(
                of_draw.texts, scope=plan.scope, protected=intact, unit=plan.unit, draw=draw
            )
            if intact is not None:
                require_all_intact(of_texts, intact, matcher.rule_ids)
            count_unrenderable(tally, matcher.rule_ids, of_texts.unrenderable)
            part = of_texts.columns
            drawn.append(replace(part, rows=np.asarray(of_draw.rows, np.int32)[part.rows]))
        parts.append(spans.carried(column, RewriteColumns.merged(drawn)))
    rewrites = RewriteColumns.merged(parts)
    _count(tally, rewrites, matcher.rule_ids)
    spans.count(tally)
    of_records = _columns_of_records(
        batch, plan, matcher.rule_ids, rewrites, parts=parts, spans=spans
    )
    return Records(of_records, rewrites.rows, tally)


def _columns_of_records(
    batch: Batch,
    plan: Plan,
    rule_ids: Sequence[str],
    rewrites: RewriteColumns,
    *,
    parts: Sequence[RewriteColumns],
    spans: _Spans,
) -> dict[str, Sequence[Any]]:
    """The columns of the records; ``rewrites`` are the ``parts`` of all rewritten columns."""
    rows, row_of = _runs(rewrites.rows)
    rules, rule_of = distinct_codes(rewrites.rules.astype(np.int64), len(rule_ids))
    columns: dict[str, Sequence[Any]] = {
        "id": _values_of_records(batch, plan.id_column, rows, row_of),
        **({DRAW: (rewrites.rows % batch.copies).tolist()} if batch.copies > 1 else {}),
        "rule": Repeated([rule_ids[rule] for rule in rules.tolist()], rule_of.tolist()),
    }
    texts_of = row_of
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
    if len(plan.rewritten_columns) > 1:
        places = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
        columns["column"] = Repeated(plan.rewritten_columns, places.tolist())
        _, texts_of = _runs(row_of * np.int64(len(parts)) + places)
    examples = np.flatnonzero(np.diff(texts_of, prepend=-1))
    originals = [rewrites.originals[example] for example in examples.tolist()]
    columns["original"] = Repeated(originals, texts_of.tolist())
    columns["rewritten"] = rewrites.texts()
    columns["edits"] = EditColumn(rewrites)
    for name in plan.keep:
        if name in spans.columns:
            values = [new.get(name) for new in spans.moved]
            columns[name] = [values[place] for place in order.tolist()]
        else:
            columns[name] = _values_of_records(batch, name, rows, row_of)
    return columns


def _values_of_records(
    batch: Batch, name: str | None, rows: NDArray[Any], row_of: NDArray[Any]
) -> Sequence[Any]:
    """The value of a column for each record, or the row number; Arrow's columns keep their type."""
    if name is None:
        return Repeated([str(batch.row_number(row)) for row in rows.tolist()], row_of.tolist())
    values = batch.columns.get(name, [None] * batch.rows)
    if isinstance(values, ArrowValues):
        return values.at(rows[row_of])
    return Repeated([values[row] for row in rows.tolist()], row_of.tolist())


class _Spans:
    """Carries spans along with the rewrites of a batch, and leaves out rewrites that touch one.

    ``columns`` are the columns of spans that are kept. ``moved`` has their values for each rewrite
    that is not left out, in the order of `carried`.
    """

    def __init__(self, batch: Batch, plan: Plan, rule_ids: Sequence[str]) -> None:
        self._batch = batch
        self._plan = plan
        self._rule_ids = rule_ids
        self.misplaced: dict[int, str] = {}
        self.absent: dict[int, str] = {}
        self._left_out: dict[tuple[int, int], str] = {}
        names = (name for spec in plan.spans for name in spec.columns if name in plan.keep)
        self.columns = frozenset(names)
        self.moved: list[Mapping[str, Any]] = []

    def _specs(self, column: str) -> list[SpanColumn]:
        return [spec for spec in self._plan.spans if spec.text_column == column]

    def look_at(self, column: str, texts: Texts, protected: ProtectedTexts) -> None:
        """Note what is not where the rows say, before any rewrite is carried."""
        self.absent |= protected.absent
        self.misplaced |= protected.misplaced
        specs = self._specs(column)
        for text, row in zip(texts.texts, texts.rows, strict=True) if specs else ():
            spans = spans_of(self._batch, specs, row, text)
            if isinstance(spans, str):
                self.misplaced[row] = spans

    def carried(self, column: str, part: RewriteColumns) -> RewriteColumns:
        """The rewrites of a column that touch no span, in rows without a misplaced one."""
        specs = self._specs(column)
        refuses = self._plan.on_touched == "error"
        if self.misplaced and not (specs and refuses):
            standing = ~np.isin(part.rows, list(self.misplaced))
            part = part.select(np.flatnonzero(standing).astype(np.int32))
        if not specs:
            if self.columns:
                self.moved += map(self._values, part.rows.tolist())
            return part
        untouching: list[int] = []
        for place, rewrite in enumerate(part):
            row = rewrite.row
            new = moved_values(self._batch, row, rewrite.original, SpanMap(rewrite.edits), specs)
            if not isinstance(new, str):
                untouching.append(place)
                if self.columns:
                    self.moved.append({**self._values(row), **new})
                continue
            why = f"{new} by rule {self._rule_ids[rewrite.rule]}"
            if refuses:
                name = row_name(self._batch, row, self._plan.id_column)
                raise touched_error(name, why, misplaced=self.misplaced.get(row))
            self._left_out.setdefault((row, rewrite.rule), why)
        return part.select(np.array(untouching, np.int32))

    def _values(self, row: int) -> dict[str, Any]:
        return {name: self._batch.value(name, row) for name in self.columns}

    def count(self, tally: Tally) -> None:
        """Count what was left out, and why."""
        touched: dict[int, str] = {}
        for (row, rule), why in sorted(self._left_out.items()):
            tally.of(self._rule_ids[rule]).left_out += 1
            touched.setdefault(row, why)
        if touched or self.misplaced or self.absent:
            ids = row_ids(self._batch, self._plan.id_column)
            tally.give_reasons(touched, self.misplaced, self.absent, ids, self._batch.copies)


def _runs(values: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct values of an ascending column, and for each row the place of its value."""
    begins = np.diff(values, prepend=-1) != 0
    return values[begins], np.cumsum(begins) - 1


def _count(tally: Tally, rewrites: RewriteColumns, rule_ids: Sequence[str]) -> None:
    """Count rows and edits of every rule that did something, and keep its first rewrites."""
    tally.records = len(rewrites)
    if not len(rewrites):
        return
    tally.changed = int(np.count_nonzero(np.diff(rewrites.rows, prepend=-1)))
    rules = rewrites.rules.astype(np.int64)
    # A rule that rewrites two columns of a row changes one row.
    pairs = np.unique(rewrites.rows * np.int64(len(rule_ids)) + rules)
    rows = np.bincount(pairs % len(rule_ids))
    edits = np.bincount(rules, weights=np.diff(rewrites.edit_offsets))
    for rule in np.flatnonzero(rows).tolist():
        counts = tally.of(rule_ids[rule])
        counts.rows, counts.edits = int(rows[rule]), int(edits[rule])
    order = np.argsort(rules, kind="stable")
    begins = np.flatnonzero(np.diff(rules[order], prepend=-1))
    # Two of each rule: the first, and the next one if it is of the same rule.
    seconds = begins[np.diff(begins, append=len(order)) > 1] + 1
    chosen = order[np.concatenate([begins, seconds])]
    for rewrite in rewrites.select(chosen.astype(np.int32)):
        example = TallyExample(rewrite.original, rewrite.text, rewrite.edits)
        tally.of(rule_ids[rewrite.rule]).examples.append(example)


class EditColumn(JsonColumn):
    """The edits of rewrites, each as a list of [start, end, old, new].

    Example:
        >>> from sears_dsl.engine.matches import Edit, Rewrite
        >>> rewrite = Rewrite(0, 0, "a movie", "a film", (Edit(2, 7, "movie", "film"),))
        >>> column = EditColumn(RewriteColumns.of([rewrite]))
        >>> column.json_texts(), column[0]
        (['[[2, 7, "movie", "film"]]'], [[2, 7, 'movie', 'film']])
    """

    def __init__(self, columns: RewriteColumns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        return list(map(list, self._columns[index].edits))

    def __iter__(self) -> Iterator[Any]:
        return (list(map(list, edits)) for edits in self._columns.edits())

    def objects(self) -> tuple[Sequence[int], Mapping[str, Any]]:
        """Offsets of the edits of each rewrite; their starts, ends, old and new texts."""
        columns = self._columns
        fields = {
            "start": columns.edit_starts.astype(np.int64),
            "end": columns.edit_ends.astype(np.int64),
            "old": columns.old_texts(),
            "new": list(map(columns.new_texts.__getitem__, columns.new_ids.tolist())),
        }
        return columns.edit_offsets.tolist(), fields

    def json_texts(self) -> list[str]:
        """Each list of edits as JSON."""
        columns = self._columns
        starts, ends, olds = columns.edit_starts, columns.edit_ends, columns.old_texts()
        news = list(map(json_text, columns.new_texts))
        written = {old: json_text(old) for old in set(olds)}
        edits = [
            f"[{start}, {end}, {written[old]}, {news[new]}]"
            for start, end, old, new in zip(
                starts.tolist(), ends.tolist(), olds, columns.new_ids.tolist(), strict=True
            )
        ]
        if len(edits) == len(columns):
            return [f"[{edit}]" for edit in edits]
        bounds = pairwise(columns.edit_offsets.tolist())
        return ["[" + ", ".join(edits[first:last]) + "]" for first, last in bounds]
