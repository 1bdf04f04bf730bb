"""Mode chain: each row once, with rule after rule applied to it.

In: a batch, a compiled matcher and a plan. Out: the values that changed, and a `Tally`. Always
holds: spans that point into a rewritten text are carried along, or the row is kept as it was,
dropped or refused, as the plan says; rows that share a text are rewritten alike or not at all.
Costs the matcher's work; rows without a change cost no object of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sears_dsl.batch.rewriting import (
    ChainedText,
    Plan,
    Spans,
    TextMatcher,
    Texts,
    count_unrenderable,
    in_row,
    present_texts,
    protected_spans,
)
from sears_dsl.batch.tally import Tally
from sears_dsl.engine.matches import Edit
from sears_dsl.errors import DataError
from sears_dsl.text.batches import Batch
from sears_dsl.text.dataset import row_ids
from sears_dsl.text.spans import SpanColumn, moved_spans

__all__ = ["Changed", "rewrite_chain"]


@dataclass(frozen=True, slots=True)
class Changed:
    """What chain mode does to a batch.

    Attributes:
        values: row → column → new value; rows without a change are absent.
        dropped: rows to leave out.
        tally: the counts.
    """

    values: Mapping[int, Mapping[str, Any]]
    dropped: frozenset[int]
    tally: Tally


def rewrite_chain(matcher: TextMatcher, batch: Batch, plan: Plan) -> Changed:
    """Each row once, all rules applied to it in order.

    Raises:
        DataError: a value that is no text; with ``on_touched`` error, a span that was touched.
    """
    tally = Tally(rows=batch.rows)
    values: dict[int, dict[str, Any]] = {}
    dropped: dict[int, str] = {}
    kept: dict[int, str] = {}
    rows_of_rules: set[tuple[int, int]] = set()
    for column in plan.rewritten:
        texts, members = _shared(batch, column)
        tally.characters += sum(map(len, texts.texts))
        protected = _protected_together(batch, plan, column, texts, members)
        chained = matcher.chain(texts.texts, scope=plan.scope, protected=protected, unit=plan.unit)
        count_unrenderable(tally, matcher.rule_ids, chained)
        specs = [spec for spec in plan.spans if spec.text_column == column]
        for at, result in enumerate(chained):
            text = texts.texts[at]
            if not result.steps or result.text == text:
                continue
            rows: Sequence[int] = (texts.rows[at],) if members is None else members[at]
            moved = {row: _moved(batch, row, text, result, specs) for row in rows} if specs else {}
            touched = {row: why for row, why in moved.items() if isinstance(why, str)}
            if touched and plan.on_touched == "error":
                row, why = next(iter(touched.items()))
                raise DataError(
                    f"row {batch.row_number(row)}: {why} by rule "
                    f"{matcher.rule_ids[result.steps[0][0]]} or one after it",
                    help="--protect the column, or choose --on-touched keep or drop",
                )
            if touched and plan.on_touched == "keep":
                kept |= {
                    row: touched.get(row, "its text is shared with such a row") for row in rows
                }
                continue
            dropped |= touched
            left = [row for row in rows if row not in touched]
            for row in left:
                new = moved.get(row, {})
                values.setdefault(row, {}).update({column: result.text, **_mapping(new)})
            before = text
            for rule, edits in result.steps if left else ():
                rows_of_rules |= {(row, rule) for row in left}
                after = _edited(before, edits)
                tally.of(matcher.rule_ids[rule]).count(before, after, edits)
                before = after
    for _, rule in rows_of_rules:
        tally.of(matcher.rule_ids[rule]).rows += 1
    for row in dropped:
        values.pop(row, None)
    tally.changed = len(values)
    tally.records = batch.rows - len(dropped)
    if reasons := kept | dropped:
        tally.give_reasons(reasons, row_ids(batch, plan.id_column))
    return Changed(values, frozenset(dropped), tally)


def _edited(text: str, edits: Sequence[Edit]) -> str:
    pieces = []
    at = 0
    for edit in edits:
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def _mapping(new: dict[str, Any] | str) -> dict[str, Any]:
    return {} if isinstance(new, str) else new


def _shared(batch: Batch, column: str) -> tuple[Texts, list[Sequence[int]] | None]:
    """The texts of a column, each shared one once, and the rows that have it, if any are shared."""
    texts = present_texts(batch, column)
    groups = batch.groups.get(column)
    if groups is None:
        return texts, None
    members: dict[int, list[int]] = {}
    for row in texts.rows:
        members.setdefault(groups[row], []).append(row)
    firsts = [rows[0] for rows in members.values()]
    of_row = dict(zip(texts.rows, texts.texts, strict=True))
    return Texts([of_row[row] for row in firsts], firsts), list(members.values())


def _protected_together(
    batch: Batch, plan: Plan, column: str, texts: Texts, members: list[Sequence[int]] | None
) -> list[Spans] | None:
    """What any of the rows that share a text protects in it."""
    if members is None:
        return protected_spans(batch, plan, column, texts)
    of_text = dict(zip(texts.rows, texts.texts, strict=True))
    rows = [row for group in members for row in group]
    spread = [of_text[group[0]] for group in members for _ in group]
    spans = protected_spans(batch, plan, column, Texts(spread, rows))
    if spans is None:
        return None
    of_row = dict(zip(rows, spans, strict=True))
    return [sorted({span for row in group for span in of_row[row]}) for group in members]


def _moved(
    batch: Batch, row: int, text: str, result: ChainedText, specs: Sequence[SpanColumn]
) -> dict[str, Any] | str:
    new: dict[str, Any] = {}
    for spec in specs:
        cells = {name: batch.columns[name][row] for name in spec.columns}
        try:
            moved = moved_spans(spec, cells, text, partial(_carry, result))
        except DataError as error:
            raise in_row(batch, row, "/".join(spec.columns), error) from error
        if isinstance(moved, str):
            return moved
        new |= moved
    return new


def _carry(result: ChainedText, start: int, end: int) -> tuple[int, int] | None:
    return result.span_map.map(start, end)
