"""Mode each: a record for every row and rule that changed it.

In: a batch, a compiled matcher and a plan. Out: columns of records, and a `Tally`. Always holds:
records are in the order of rows, columns, rules; what the columns stand for is made when they are
written, each id, original and rule name once however many records share it. Costs arrays, and for
each record its new text and its edits as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sears_dsl.batch.rewriting import (
    Plan,
    TextMatcher,
    count_unrenderable,
    present_texts,
    protected_spans,
)
from sears_dsl.batch.tally import Example, Tally
from sears_dsl.engine.matches import Rewrite
from sears_dsl.engine.rewrites import RewriteColumns, Rewrites
from sears_dsl.text.batches import Batch
from sears_dsl.text.cells import JsonColumn, Repeated
from sears_dsl.text.dataset import row_ids
from sears_dsl.text.formats import json_text
from sears_dsl.text.tokens import dense

__all__ = ["EditColumn", "rewrite_each"]


def rewrite_each(
    matcher: TextMatcher, batch: Batch, plan: Plan
) -> tuple[dict[str, Sequence[Any]], Tally]:
    """One record for every row and rule that changed it.

    Returns:
        Columns ``id``, ``rule``, ``column`` (where several are rewritten), ``original``,
        ``rewritten`` and ``edits`` (lists of [start, end, old, new]), in the order of rows,
        columns, rules; and the counts.

    Raises:
        DataError: a value that is no text, a row without an id.
    """
    tally = Tally(rows=batch.rows)
    ids = row_ids(batch, plan.id_column)
    parts: list[RewriteColumns] = []
    for column in plan.rewritten:
        texts = present_texts(batch, column)
        tally.characters += sum(map(len, texts.texts))
        rewrites = matcher.apply(
            texts.texts,
            scope=plan.scope,
            protected=protected_spans(batch, plan, column, texts),
            unit=plan.unit,
        )
        count_unrenderable(tally, matcher.rule_ids, rewrites)
        part = _as_columns(rewrites)
        parts.append(replace(part, rows=np.asarray(texts.rows, np.int32)[part.rows]))
    found = RewriteColumns.merged(parts)
    _count(tally, found, matcher.rule_ids)
    rows, row_of = _runs(found.rows)
    rules, rule_of = dense(found.rules.astype(np.int64), len(matcher.rule_ids))
    columns: dict[str, Sequence[Any]] = {
        "id": Repeated([ids[row] for row in rows.tolist()], row_of.tolist()),
        "rule": Repeated([matcher.rule_ids[rule] for rule in rules.tolist()], rule_of.tolist()),
    }
    texts_of = row_of
    if len(plan.rewritten) > 1:
        places = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
        places = places[order]
        columns["column"] = Repeated(plan.rewritten, places.tolist())
        _, texts_of = _runs(row_of * np.int64(len(parts)) + places)
    examples = np.flatnonzero(np.diff(texts_of, prepend=-1))
    originals = [found.originals[example] for example in examples.tolist()]
    columns["original"] = Repeated(originals, texts_of.tolist())
    columns["rewritten"] = found.texts()
    columns["edits"] = EditColumn(found)
    return columns, tally


def _as_columns(rewrites: Sequence[Rewrite]) -> RewriteColumns:
    return rewrites.columns if isinstance(rewrites, Rewrites) else RewriteColumns.of(rewrites)


def _runs(values: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distinct values of a column that never falls, and for each row the place of its own."""
    begins = np.diff(values, prepend=-1) != 0
    return values[begins], np.cumsum(begins) - 1


def _count(tally: Tally, found: RewriteColumns, rule_ids: Sequence[str]) -> None:
    """Count rows and edits of every rule that did something, and keep its first rewrites."""
    tally.records = len(found)
    if not len(found):
        return
    tally.changed = int(np.count_nonzero(np.diff(found.rows, prepend=-1)))
    rules = found.rules.astype(np.int64)
    # A rule that rewrites two columns of a row changes one row.
    pairs = np.unique(found.rows * np.int64(len(rule_ids)) + rules)
    rows = np.bincount(pairs % len(rule_ids))
    edits = np.bincount(rules, weights=np.diff(found.edit_offsets))
    for rule in np.flatnonzero(rows).tolist():
        counts = tally.of(rule_ids[rule])
        counts.rows, counts.edits = int(rows[rule]), int(edits[rule])
    order = np.argsort(rules, kind="stable")
    begins = np.flatnonzero(np.diff(rules[order], prepend=-1))
    # Two of each rule: the first, and the one after it where that is of the same rule.
    seconds = begins[np.diff(begins, append=len(order)) > 1] + 1
    chosen = order[np.concatenate([begins, seconds])]
    for rewrite in found.select(chosen.astype(np.int32)).rewrites(0, len(chosen)):
        example = Example(rewrite.original, rewrite.text, rewrite.edits)
        tally.of(rule_ids[rewrite.rule]).examples.append(example)


class EditColumn(JsonColumn):
    """The edits of rewrites, each as a list of [start, end, old, new].

    Example:
        >>> from sears_dsl.engine.matches import Edit
        >>> done = Rewrite(0, 0, "a movie", "a film", (Edit(2, 7, "movie", "film"),))
        >>> column = EditColumn(RewriteColumns.of([done]))
        >>> column.json_texts(), column[0]
        (['[[2, 7, "movie", "film"]]'], [[2, 7, 'movie', 'film']])
    """

    def __init__(self, columns: RewriteColumns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return list(self)[index]
        place = range(len(self))[index]
        [rewrite] = self._columns.rewrites(place, place + 1)
        return list(map(list, rewrite.edits))

    def __iter__(self) -> Iterator[Any]:
        for rewrite in self._columns.rewrites(0, len(self)) if len(self) else ():
            yield list(map(list, rewrite.edits))

    def json_texts(self) -> list[str]:
        """Each list of edits as JSON."""
        columns = self._columns
        counts = np.diff(columns.edit_offsets)
        places = np.repeat(np.arange(len(columns)), counts)
        originals = map(columns.originals.__getitem__, places.tolist())
        starts, ends = columns.edit_starts.tolist(), columns.edit_ends.tolist()
        news = list(map(json_text, columns.new_texts))
        olds = [text[a:b] for text, a, b in zip(originals, starts, ends, strict=True)]
        written = {old: json_text(old) for old in set(olds)}
        edits = [
            f"[{start}, {end}, {written[old]}, {news[new]}]"
            for start, end, old, new in zip(
                starts, ends, olds, columns.new_ids.tolist(), strict=True
            )
        ]
        if len(edits) == len(columns):
            return [f"[{edit}]" for edit in edits]
        bounds = pairwise(columns.edit_offsets.tolist())
        return ["[" + ", ".join(edits[first:last]) + "]" for first, last in bounds]
