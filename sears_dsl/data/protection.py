"""What has to stay intact in a text: protected values, and spans that follow the text.

In: the columns that a person names, and the rows. Out: a `Guard` for each text, and `Guards` for a
table. Always holds: this module alone says which characters of a text no rule may change, for
files, frames, audits and training; a row with a span that is not where the row says is protected as
a whole, since nobody knows what the span means; a value that its text lacks protects nothing, and
is counted. Costs a look at each value, and a search of each text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from sears_dsl.data import span_columns
from sears_dsl.data.batches import is_missing
from sears_dsl.data.dataset import require_column
from sears_dsl.data.span_columns import SpanColumn, occurrences
from sears_dsl.data.squad import SQUAD_SPANS
from sears_dsl.errors import DataError, UsageError, counted

#: Places in a text: start, and one past the end, in characters.
Spans: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Guard:
    """What has to stay in one text.

    Example:
        >>> guard = Guard("It is red.", protected=[(6, 9)])
        >>> guard.stays_in("Red it is, red."), guard.stays_in("It is rose.")
        (True, False)
    """

    text: str
    protected: Spans = ()  # places in which no rule may change a character
    carried: Spans = ()  # places that follow the text; a rewrite that touches one does not count
    absent: str = ""  # which protected value the text does not contain; empty where it contains all
    misplaced: str = ""  # which span is not where the row says; empty where all are
    # Where two columns meet, if the text stands in several: protected, and all alike.
    borders: Spans = ()

    def stays_in(self, text: str) -> bool:
        """Whether a rewording that no rule made has all that must stay, as often as the text.

        Never for a row with a misplaced span, since nobody knows what must stay in it. A text of
        several columns has to have as many parts.
        """
        if self.misplaced or len(self._places_of_border(text)) != len(self.borders):
            return False
        places = {*self.protected, *self.carried}
        words = Counter(self.text[start:end] for start, end in places if start < end)
        return all(len(occurrences(text, word)) >= count for word, count in words.items())

    def keeps_apart(self, text: str, carry: span_columns.CharacterMap) -> bool:
        r"""Whether a rewrite can be taken apart into its columns, at the borders and nowhere else.

        ``carry`` says where the characters of the text went.

        Example:
            >>> guard = Guard("a\n\nb", protected=[(1, 3)], borders=[(1, 3)])
            >>> guard.keeps_apart("a c\n\nb", lambda start, end: (start + 2, end + 2))
            True
            >>> guard.keeps_apart("a\n\n\nb", lambda start, end: (start + 1, end + 1))
            False
        """
        return self._places_of_border(text) == [carry(*border) for border in self.borders]

    def _places_of_border(self, text: str) -> list[tuple[int, int] | None]:
        """Where a text is taken apart into its columns."""
        if not self.borders:
            return []
        between = re.escape(self.text[slice(*self.borders[0])])
        return [each.span() for each in re.finditer(between, text)]


@dataclass(frozen=True, slots=True)
class Protection:
    """Which columns say what has to stay intact.

    Example:
        >>> protection = Protection(("answer",))
        >>> text = "It is red, very red."
        >>> protection.guard_of_columns({"answer": "red"}, column="text", text=text).protected
        [(6, 9), (16, 19)]
        >>> text = "It is blue."
        >>> protection.guard_of_columns({"answer": "red"}, column="text", text=text).absent
        "'red' is not in the text"
    """

    # Columns of values. A text, or each text of a list, is protected wherever it occurs in the text
    # that rules rewrite; spans are protected as such.
    columns: tuple[str, ...] = ()
    # Columns that point into a text and are carried along to the rewritten text.
    spans: tuple[SpanColumn, ...] = ()

    @classmethod
    def parse(cls, columns: Iterable[str], spans: Iterable[str]) -> Protection:
        """What a person wrote: names of columns, and spans as `SpanColumn.parse` takes them."""
        return cls(tuple(dict.fromkeys(columns)), tuple(map(SpanColumn.parse, spans)))

    def __bool__(self) -> bool:
        return bool(self.columns or self.spans)

    @property
    def needed(self) -> tuple[str, ...]:
        """Every column that has to be read."""
        names = (name for spec in self.spans for name in spec.columns)
        return tuple(dict.fromkeys([*self.columns, *names]))

    def of_format(self, format_name: str) -> Protection:
        """The same with the columns that point into a text in every file of a format (SQuAD)."""
        if format_name != "squad":
            return self
        squad_spans = (spec for spec in SQUAD_SPANS if spec not in self.spans)
        return Protection(self.columns, (*self.spans, *squad_spans))

    def check(
        self, names: Sequence[str], *, column: str, also: Sequence[str] = (), where: str
    ) -> None:
        """Raise an error for a column that does not exist or cannot be used so."""
        for name in (*self.needed, *(spec.text_column for spec in self.spans)):
            require_column(names, name, where=where)
        if column in self.columns:
            raise UsageError(
                f"nothing to rewrite: {column} is protected",
                help="name another column with --column",
            )
        pointing = [spec for spec in self.spans if spec.text_column == column]
        places = [name for spec in pointing for name in spec.columns if name in also]
        if places:
            raise UsageError(
                f"--also {places[0]}: it holds positions in {column}, which is rewritten",
                help="give the model the text of the answer instead of its position",
            )

    def guard_of_columns(self, cells: Mapping[str, Any], *, column: str, text: str) -> Guard:
        """What the protected columns protect in one text; a value of unknown form is a `DataError`.

        A misplaced span in a column of ``spans`` is reported where it is carried along.
        """
        spans: list[tuple[int, int]] = []
        absent = misplaced = ""
        for name in self.columns:
            declared = next((spec for spec in self.spans if name in spec.columns), None)
            try:
                if declared is None:
                    places, lacking, wrong = _protected_by(cells[name], name, text)
                    absent, misplaced = absent or lacking, misplaced or wrong
                    spans += places
                elif declared.text_column == column:
                    spans += span_columns.placed_spans(declared, cells, text)[0]
            except DataError as error:
                raise error.at(f"column {name}: ") from error
        if misplaced:  # nobody knows what such a span means
            spans = [(0, len(text))]
        return Guard(text, spans, (), absent, misplaced)

    def guard(self, cells: Mapping[str, Any], *, column: str, text: str) -> Guard:
        """All that has to stay in one text; a row with a misplaced span stays as a whole."""
        guard = self.guard_of_columns(cells, column=column, text=text)
        carried: list[tuple[int, int]] = []
        misplaced = guard.misplaced
        for spec in self.spans:
            if spec.text_column == column:
                try:
                    standing, nowhere, wrong = span_columns.placed_spans(spec, cells, text)
                except DataError as error:
                    raise error.at(f"column {'/'.join(spec.columns)}: ") from error
                carried += standing
                misplaced = misplaced or wrong or nowhere
        if misplaced:
            return Guard(text, [(0, len(text))], (), guard.absent, misplaced)
        return replace(guard, carried=carried)


def _protected_by(value: Any, column: str, text: str) -> tuple[Spans, str, str]:
    """The places that one value protects, which part the text lacks, and which is misplaced."""
    if is_missing(value):
        return (), "", ""
    are_texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if isinstance(value, list | dict) and not are_texts:
        return span_columns.placed_spans(SpanColumn("", column), {column: value}, text)
    places: list[tuple[int, int]] = []
    lacking: list[str] = []
    for each in value if isinstance(value, list) else [str(value)]:
        matches = occurrences(text, each)
        places += matches
        if each and not matches:
            lacking.append(each)
    return places, f"{lacking[0]!r} is not in the text" if lacking else "", ""


@dataclass(frozen=True, eq=False)
class Guards:
    """What has to stay in the texts of some rows.

    Example:
        >>> guards = Guards(Protection(("answer",)), "text", [Guard("It is red.", [(6, 9)])], [{}])
        >>> guards.protected, guards.notes
        ([[(6, 9)]], ())
    """

    protection: Protection  # which columns say so
    column: str  # the column of the texts
    rows: Sequence[Guard]  # for each row what has to stay
    # For each row its values of the columns that are `Protection.needed`
    cells: Sequence[Mapping[str, Any]] = field(repr=False)
    # For each row its number in the file, from 1, where a row may come again; None: all come once.
    numbers: Sequence[int] | None = None

    @cached_property
    def protected(self) -> list[Spans]:
        """For each row the places in which no rule may change a character."""
        return [guard.protected for guard in self.rows]

    @property
    def points(self) -> bool:
        """Whether a column points into the texts and has to be moved with them."""
        return any(spec.text_column == self.column for spec in self.protection.spans)

    def part(self, places: Sequence[int]) -> Guards:
        """The guards of some rows, in the order given, with their numbers."""
        return replace(
            self,
            rows=[self.rows[place] for place in places],
            cells=[self.cells[place] for place in places],
            numbers=list(map(self._number, places)),
        )

    def _number(self, place: int) -> int:
        return place + 1 if self.numbers is None else self.numbers[place]

    def moved(self, row: int, carry: span_columns.CharacterMap) -> dict[str, Any]:
        """The new values of a row's span columns; ``carry`` says where its characters went."""
        new: dict[str, Any] = {}
        for spec in self.protection.spans:
            if spec.text_column == self.column:
                moved = span_columns.moved_spans(spec, self.cells[row], self.rows[row].text, carry)
                if isinstance(moved, str):
                    raise DataError(f"row {self._number(row)}: {moved}")
                new |= moved
        return new

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences for a person about values and spans that are not in their texts."""
        notes = []
        for kind, consequence in (
            ("absent", "a protected value that is not in the text"),
            (
                "misplaced",
                "a span that is not at its position, so no rule rewrites the text that it is for",
            ),
        ):
            problems: dict[int, str] = {}
            for place, guard in enumerate(self.rows):
                if why := getattr(guard, kind):
                    problems.setdefault(self._number(place), why)
            if problems:
                number, why = next(iter(problems.items()))
                rows = counted(len(problems), "row has", "rows have")
                notes.append(f"{rows} {consequence}: row {number}, {why}")
        return tuple(notes)
