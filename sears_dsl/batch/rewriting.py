"""What rules do to one batch of rows: the unit of work, a pure function.

In: a `Batch`, a compiled matcher and a `Plan`. Out: records (mode ``each``: one for every row and
rule that changed it) or changes (mode ``chain``: rule after rule on each row), and a `Tally`.
Always holds: the result depends on the batch alone, not on batches before it or on workers; a
null is passed through; a protected span is never changed; spans that point into a rewritten text
are carried along, or the row is kept, dropped or refused, as the plan says.
Costs the matcher's work; rows without a change cost no object of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

from sears_dsl.batch.tally import Tally
from sears_dsl.engine.matches import Edit, Rewrite
from sears_dsl.errors import DataError, UsageError
from sears_dsl.text.batches import Batch
from sears_dsl.text.dataset import row_ids
from sears_dsl.text.spans import SpanColumn, moved_spans, occurrences, row_spans, value_spans

__all__ = [
    "ChainedText",
    "Changed",
    "Mode",
    "Plan",
    "TextMatcher",
    "Touched",
    "rewrite_chain",
    "rewrite_each",
]

Mode: TypeAlias = Literal["each", "chain"]
Touched: TypeAlias = Literal["keep", "drop", "error"]
Scope: TypeAlias = Literal["first", "all"]
Unit: TypeAlias = Literal["text", "sentence"]
_Spans: TypeAlias = list[tuple[int, int]]


class _CharacterMap(Protocol):
    def map(self, start: int, end: int) -> tuple[int, int] | None: ...


class ChainedText(Protocol):
    """What a matcher's ``chain`` gives for a text."""

    @property
    def text(self) -> str:
        """The text after all rules."""
        ...

    @property
    def steps(self) -> Sequence[tuple[int, Sequence[Edit]]]:
        """The rules that changed it, in order, with their edits."""
        ...

    @property
    def span_map(self) -> _CharacterMap:
        """Where the characters of the original went."""
        ...


class TextMatcher(Protocol):
    """Compiled rules, as far as datasets need them; `engine.matcher.Matcher` is one."""

    @property
    def rule_ids(self) -> Sequence[str]:
        """The ids, in the order of the rules."""
        ...

    def apply(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: Sequence[Sequence[tuple[int, int]]] | None = None,
        unit: Unit = "text",
    ) -> Sequence[Rewrite]:
        """Every rule on every text, by row and then by rule; has ``unrenderable``."""
        ...

    def chain(
        self,
        texts: Sequence[str],
        *,
        scope: Scope = "first",
        protected: Sequence[Sequence[tuple[int, int]]] | None = None,
        unit: Unit = "text",
    ) -> Sequence[ChainedText]:
        """All rules one after another on every text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do with the rows.

    Attributes:
        columns: the text columns to rewrite.
        id_column: the column with the ids of rows; None for row numbers.
        scope: rewrite the ``first`` instance of each rule, or ``all``.
        unit: what a rule sees at once: the ``text`` or a ``sentence``.
        protect: columns whose content must stay intact. One that is rewritten is left alone
            instead. Of texts (or lists of texts), every place where the value occurs in the
            rewritten text is protected; of spans, those spans.
        spans: columns that point into a text and are carried along in chain mode.
        on_touched: a row whose span a rule would touch is kept as it was, dropped, or an error.

    Raises:
        UsageError: every column is protected.
    """

    columns: tuple[str, ...]
    id_column: str | None = None
    scope: Scope = "first"
    unit: Unit = "text"
    protect: tuple[str, ...] = ()
    spans: tuple[SpanColumn, ...] = ()
    on_touched: Touched = "keep"

    def __post_init__(self) -> None:
        if not self.rewritten:
            raise UsageError(
                f"nothing to rewrite: {', '.join(self.columns)} is protected",
                help="name another column with --column",
            )

    @property
    def rewritten(self) -> tuple[str, ...]:
        """The columns that are rewritten and not protected."""
        return tuple(name for name in self.columns if name not in self.protect)

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that is looked at."""
        own = (*self.rewritten, *self.protect, *([self.id_column] if self.id_column else []))
        return tuple(dict.fromkeys([*own, *(name for s in self.spans for name in s.columns)]))


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


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of one column that are there, and the rows of the batch that they stand in."""

    texts: list[str]
    rows: Sequence[int]


def _texts(batch: Batch, column: str) -> _Texts:
    values = batch.columns.get(column, ())
    rows: Sequence[int]
    if set(map(type, values)) == {str}:
        texts, rows = list(values), range(len(values))
    else:
        texts, rows = _present(batch, column, values)
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        _refuse_surrogates(batch, column, texts, rows)
    return _Texts(texts, rows)


def _present(batch: Batch, column: str, values: Sequence[Any]) -> tuple[list[str], Sequence[int]]:
    """The values that are not null, and their rows."""
    texts: list[str] = []
    rows: list[int] = []
    for row, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
            rows.append(row)
        elif value is not None and value == value:  # noqa: PLR0124 - not a number is missing
            raise DataError(
                f"row {batch.row_number(row)}: column {column} holds {value!r:.40}, of type "
                f"{type(value).__name__}, not text",
                help="choose a column of text with --column",
            )
    return texts, rows


def _refuse_surrogates(batch: Batch, column: str, texts: list[str], rows: Sequence[int]) -> None:
    for text, row in zip(texts, rows, strict=True):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"row {batch.row_number(row)}: column {column} holds half of a surrogate pair at "
                f"character {error.start}, which is no text",
                help="the escape \\ud8xx or \\udcxx in its JSON lacks its other half",
            ) from error


def _protected(batch: Batch, plan: Plan, column: str, texts: _Texts) -> list[_Spans] | None:
    """Spans to keep intact in each text, or None where there are no such columns."""
    names = [name for name in plan.protect if name not in plan.columns]
    if not names:
        return None
    found: list[_Spans] = [[] for _ in texts.texts]
    for name in names:
        declared = next((spec for spec in plan.spans if name in spec.columns), None)
        if declared is not None and declared.text_column != column:
            continue
        values = batch.columns.get(name, [None] * batch.rows)
        for at, (text, row) in enumerate(zip(texts.texts, texts.rows, strict=True)):
            try:
                if declared is not None:
                    cells = {part: batch.columns[part][row] for part in declared.columns}
                    found[at] += row_spans(declared, cells)
                else:
                    found[at] += _guarded(text, values[row])
            except DataError as error:
                raise _in_row(batch, row, name, error) from error
    return found


def _guarded(text: str, value: Any) -> _Spans:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or value != value:  # noqa: PLR0124 - not a number is missing
        return []
    if isinstance(value, str):
        return occurrences(text, value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [span for item in value for span in occurrences(text, item)]
    if isinstance(value, (list, dict)):
        return value_spans(value)
    return occurrences(text, str(value))


def _in_row(batch: Batch, row: int, column: str, error: DataError) -> DataError:
    place = f"row {batch.row_number(row)}, column {column}"
    return DataError(f"{place}: {error.message}", help=error.help)


# ---------------------------------------------------------------- mode each


def rewrite_each(matcher: TextMatcher, batch: Batch, plan: Plan) -> tuple[dict[str, Any], Tally]:
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
    rule_ids = matcher.rule_ids
    found: list[tuple[int, int, Rewrite]] = []
    for position, column in enumerate(plan.rewritten):
        texts = _texts(batch, column)
        tally.characters += sum(map(len, texts.texts))
        rewrites = matcher.apply(
            texts.texts,
            scope=plan.scope,
            protected=_protected(batch, plan, column, texts),
            unit=plan.unit,
        )
        found.extend((texts.rows[rewrite.row], position, rewrite) for rewrite in rewrites)
        _count_unrenderable(tally, rule_ids, rewrites)
    if len(plan.rewritten) > 1:
        found.sort(key=lambda item: (item[0], item[1], item[2].rule))
    columns: dict[str, list[Any]] = {
        "id": [ids[row] for row, _, _ in found],
        "rule": [rule_ids[rewrite.rule] for _, _, rewrite in found],
        "column": [plan.rewritten[position] for _, position, _ in found],
        "original": [rewrite.original for _, _, rewrite in found],
        "rewritten": [rewrite.text for _, _, rewrite in found],
        "edits": [[list(edit) for edit in rewrite.edits] for _, _, rewrite in found],
    }
    if len(plan.rewritten) == 1:
        del columns["column"]
    rows_of_rules = {(row, rewrite.rule) for row, _, rewrite in found}
    for _, rule in rows_of_rules:
        tally.of(rule_ids[rule]).rows += 1
    for _, _, rewrite in found:
        tally.of(rule_ids[rewrite.rule]).count(rewrite.original, rewrite.text, rewrite.edits)
    tally.changed = len({row for row, _, _ in found})
    tally.records = len(found)
    return columns, tally


def _count_unrenderable(tally: Tally, rule_ids: Sequence[str], result: object) -> None:
    """Count what a matcher found and could not render: rule position → instances."""
    counts = getattr(result, "unrenderable", None) or {}
    for rule, count in counts.items() if isinstance(counts, Mapping) else enumerate(counts):
        if count:
            tally.of(rule_ids[rule]).unrenderable += int(count)


# ---------------------------------------------------------------- mode chain


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
        _count_unrenderable(tally, matcher.rule_ids, chained)
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


def _shared(batch: Batch, column: str) -> tuple[_Texts, list[Sequence[int]] | None]:
    """The texts of a column, each shared one once, and the rows that have it, if any are shared."""
    texts = _texts(batch, column)
    groups = batch.groups.get(column)
    if groups is None:
        return texts, None
    members: dict[int, list[int]] = {}
    for row in texts.rows:
        members.setdefault(groups[row], []).append(row)
    firsts = [rows[0] for rows in members.values()]
    of_row = dict(zip(texts.rows, texts.texts, strict=True))
    return _Texts([of_row[row] for row in firsts], firsts), list(members.values())


def _protected_together(
    batch: Batch, plan: Plan, column: str, texts: _Texts, members: list[Sequence[int]] | None
) -> list[_Spans] | None:
    """What any of the rows that share a text protects in it."""
    if members is None:
        return _protected(batch, plan, column, texts)
    of_text = dict(zip(texts.rows, texts.texts, strict=True))
    rows = [row for group in members for row in group]
    spread = [of_text[group[0]] for group in members for _ in group]
    spans = _protected(batch, plan, column, _Texts(spread, rows))
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
            raise _in_row(batch, row, "/".join(spec.columns), error) from error
        if isinstance(moved, str):
            return moved
        new |= moved
    return new


def _carry(result: ChainedText, start: int, end: int) -> tuple[int, int] | None:
    return result.span_map.map(start, end)
