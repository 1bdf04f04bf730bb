"""What rules may do to a batch of rows: the plan, and the texts and spans that it speaks of.

In: a `Batch` and a `Plan`. Out: the texts of its columns, and what is protected in them;
`mode_each` and `mode_chain` do the work, as pure functions. Always holds: their result depends on
the batch alone, not on batches before it or on workers; a null is passed through; a protected span
is never changed. Costs a look at every value of the columns in question.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from sears_dsl.batch.tally import Tally
from sears_dsl.data.batches import Batch
from sears_dsl.data.span_columns import (
    SpanColumn,
    moved_spans,
    occurrences,
    row_spans,
    standing_spans,
    value_spans,
)
from sears_dsl.engine.matches import Edit, Rewrite, Scope, Unit
from sears_dsl.errors import DataError, UsageError

Mode: TypeAlias = Literal["each", "chain"]
Touched: TypeAlias = Literal["keep", "drop", "error"]
Spans: TypeAlias = list[tuple[int, int]]


class CharacterPlaces(Protocol):
    """Where the characters of a text went."""

    def map(self, start: int, end: int) -> tuple[int, int] | None:
        """The new place of a span; None if it was touched."""
        ...


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
    def left_out(self) -> Sequence[tuple[int, int]]:
        """Rules that would have touched an intact span, each with the number of that span."""
        ...

    @property
    def span_map(self) -> CharacterPlaces:
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
        intact: Sequence[Sequence[tuple[int, int]]] | None = None,
        without: Sequence[Collection[int]] | None = None,
        unit: Unit = "text",
    ) -> Sequence[ChainedText]:
        """All rules one after another on every text.

        A rule that would touch an intact span is left out of that text; so are those of `without`.
        """
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
        spans: columns that point into a text and are carried along to the rewritten text.
        on_touched: where a rule would touch a span. ``keep``: the rule is left out of that row, in
            every column; ``drop``: the row is dropped; ``error``: it is an error. In mode each the
            rewrite is not written, under keep and drop alike.
        keep: other columns that records of mode each carry.

    Names that are given twice count once.

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
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("columns", "protect", "spans", "keep"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
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
        ids = (self.id_column,) if self.id_column else ()
        own = (*self.rewritten, *self.protect, *ids, *self.keep)
        return tuple(dict.fromkeys([*own, *(name for s in self.spans for name in s.columns)]))


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one column that are there, and the rows of the batch that they stand in."""

    texts: list[str]
    rows: Sequence[int]


def present_texts(batch: Batch, column: str) -> Texts:
    """The texts of a column, nulls left out.

    Raises:
        DataError: a value that is no text, or half of a surrogate pair.
    """
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
    return Texts(texts, rows)


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


def protected_spans(batch: Batch, plan: Plan, column: str, texts: Texts) -> list[Spans] | None:
    """Spans to keep intact in each text, or None where there are no such columns.

    Raises:
        DataError: a value that is no span.
    """
    names = [name for name in plan.protect if name not in plan.columns]
    if not names:
        return None
    found: list[Spans] = [[] for _ in texts.texts]
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
                raise in_row(batch, row, name, error) from error
    return found


def _guarded(text: str, value: Any) -> Spans:
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


def spans_of(
    batch: Batch, specs: Sequence[SpanColumn], row: int, text: str
) -> list[tuple[int, int]] | str:
    """The spans of one row in its text, or which of them does not stand where it says.

    Raises:
        DataError: a value that is no span.
    """
    spans: list[tuple[int, int]] = []
    for spec in specs:
        cells = {name: batch.columns[name][row] for name in spec.columns}
        try:
            standing = standing_spans(spec, cells, text)
        except DataError as error:
            raise in_row(batch, row, "/".join(spec.columns), error) from error
        if isinstance(standing, str):
            return standing
        spans += standing
    return spans


def moved_values(
    batch: Batch, row: int, text: str, span_map: CharacterPlaces, specs: Sequence[SpanColumn]
) -> dict[str, Any] | str:
    """The new values of the span columns of one row, or which span was touched or misplaced."""
    new: dict[str, Any] = {}
    for spec in specs:
        cells = {name: batch.columns[name][row] for name in spec.columns}
        try:
            moved = moved_spans(spec, cells, text, span_map.map)
        except DataError as error:
            raise in_row(batch, row, "/".join(spec.columns), error) from error
        if isinstance(moved, str):
            return moved
        new |= moved
    return new


def row_name(batch: Batch, row: int, id_column: str | None) -> str:
    """What an error calls a row: its number, and its id where it has one, as the summary says."""
    number = f"row {batch.row_number(row)}"
    return number if id_column is None else f"{number} (id {batch.columns[id_column][row]})"


def in_row(batch: Batch, row: int, column: str, error: DataError) -> DataError:
    """The error, with its place before the message."""
    place = f"row {batch.row_number(row)}, column {column}"
    return DataError(f"{place}: {error.message}", help=error.help)


def count_texts(tally: Tally, matcher: TextMatcher, batch: Batch, texts: Sequence[str]) -> None:
    """Count the texts of a column, and those in which rules may miss characters in parts."""
    tally.characters += sum(map(len, texts))
    tally.missing += batch.rows - len(texts)
    if getattr(matcher, "composed", False):
        tally.decomposed += sum(not unicodedata.is_normalized("NFC", text) for text in texts)


def count_unrenderable(tally: Tally, rule_ids: Sequence[str], result: object) -> None:
    """Count what a matcher found and could not render: rule position → instances."""
    counts = getattr(result, "unrenderable", None) or {}
    for rule, count in counts.items() if isinstance(counts, Mapping) else enumerate(counts):
        if count:
            tally.of(rule_ids[rule]).unrenderable += int(count)
