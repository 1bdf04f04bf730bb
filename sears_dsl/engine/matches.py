"""What the engine returns: instances of rules in rows, their edits, and where spans move.

In: plain values. Always holds: the `Edit`s of a row are in bounds, ordered and disjoint, and
`Rewrite.text` equals the original outside them. Positions in a `Binding` are token positions
within the row; positions in an `Edit` are characters of the original row. A span that shares no
character with an edit, and into which nothing is inserted, maps to the same characters
(`SpanMap`). Costs one slice for each edit, and a binary search for each span.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import index
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.errors import UsageError, counted
from sears_dsl.runtime.array_types import Int32Array


class TokenRange(NamedTuple):
    """Tokens ``start`` up to, not including, ``end`` of a row."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Binding:
    """How one instance of a rule's antecedent lies on the tokens of a row."""

    start: int  # first token of the replaced span (for an insertion: the token it goes before)
    end: int  # one past its last token; equal to start for an insertion
    # For each element of the antecedent as written, the tokens that it matched (empty range where
    # an optional element matched none); ``$1`` is elements[0].
    elements: tuple[TokenRange, ...]
    # The tokens matched by each named element; names in context are there too. A name that took no
    # part in the instance has an empty range.
    names: Mapping[str, TokenRange] = field(default_factory=dict)
    # Token positions that bare tags of the antecedent matched, per tag name, in order.
    tags: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Edit(NamedTuple):
    """One replacement: characters start:end of the original row become ``new``."""

    start: int
    end: int
    old: str
    new: str


class Rewrite(NamedTuple):
    """A row rewritten by one rule.

    Attributes:
        rule: position of the rule among the compiled rules.
        row: position of the row in the batch.
        original: the row as given.
        text: the row after the edits.
        edits: one under scope ``first``, one or more under ``all``.
    """

    rule: int
    row: int
    original: str
    text: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Instances found in a batch, as parallel int32 arrays sorted by (row, rule, start).

    Attributes:
        rules: position of the rule among the compiled rules.
        rows: row in the batch.
        starts: first token of the replaced span, counted within the row.
        ends: one past its last token.
        variants: which flat variant of the rule matched; it tells how elements were bound.
    """

    rules: Int32Array
    rows: Int32Array
    starts: Int32Array
    ends: Int32Array
    variants: Int32Array

    def __len__(self) -> int:
        return len(self.rules)

    def select(self, chosen: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Matches:
        """Some of the instances, by their places or by a flag for each."""
        columns = (self.rules, self.rows, self.starts, self.ends, self.variants)
        return Matches(*(column[chosen] for column in columns))

    def tuples(self) -> Sequence[tuple[int, int, int, int]]:
        """(rule, row, start, end) of every instance, for tests and small results."""
        columns = (self.rules, self.rows, self.starts, self.ends)
        return list(zip(*(column.tolist() for column in columns), strict=True))


Instance: TypeAlias = tuple[int, int, int, int]
"""One instance in a row: its rule, start, end and variant, as in `Matches`."""

Scope: TypeAlias = Literal["first", "all"]
"""Rewrite the ``first`` instance of a rule in a unit, or ``all`` that do not overlap."""


Unit: TypeAlias = Literal["text", "sentence"]
"""What a rule sees at once: the whole row, or one sentence of it."""


# ---------------------------------------------------------------- where spans go


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text after the edits, ordered and disjoint; without edits the very same object.

    Example:
        >>> apply_edits("a bad movie", [Edit(2, 5, "bad", "good")])
        'a good movie'
    """
    if not edits:
        return text
    if len(edits) == 1:
        start, end, _, new = edits[0]
        return f"{text[:start]}{new}{text[end:]}"
    pieces: list[str] = []
    place = 0
    for start, end, _, new in edits:
        pieces.append(text[place:start])
        pieces.append(new)
        place = end
    pieces.append(text[place:])
    return "".join(pieces)


class SpanMap:
    """Where the spans of a text are after its edits.

    Args:
        edits: ordered and disjoint, offsets in characters of the original.

    Example:
        >>> moved = SpanMap([Edit(2, 5, "bad", "really good")])
        >>> moved.map(6, 11), moved.map(0, 1), moved.map(4, 11)
        ((14, 19), (0, 1), None)
    """

    __slots__ = ("_ends", "_shifts", "edits")

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = tuple(edits)
        self._ends = [edit.end for edit in self.edits]
        lengths = (len(edit.new) - (edit.end - edit.start) for edit in self.edits)
        self._shifts = [0, *accumulate(lengths)]

    def map(self, start: int, end: int) -> tuple[int, int] | None:
        """The new place of characters start:end, or None where an edit touches them.

        Text that is inserted at the edge of a span stays outside of it.
        """
        if self.touching(start, end) is not None:
            return None
        shift = self._shifts[self._edits_before(start, end)]
        return start + shift, end + shift

    def touching(self, start: int, end: int) -> Edit | None:
        """The first edit that shares a character with the span or inserts strictly inside it."""
        following = self._edits_before(start, end)
        if following < len(self.edits) and self.edits[following].start < end:
            return self.edits[following]
        return None

    def _edits_before(self, start: int, end: int) -> int:
        """How many edits end before the span begins.

        An insertion at the start of a span comes before it; at an empty span it comes after.
        """
        if start < end:
            return bisect_right(self._ends, start)
        count = bisect_left(self._ends, start)
        while count < len(self.edits) and self.edits[count].start < self._ends[count] == start:
            count += 1
        return count


class Reach:
    """The spans of a text, to test whether edits touch one; no edit touches an empty span.

    Example:
        >>> spans = Reach([(6, 9), (0, 20), (24, 24)])
        >>> [spans.touches(*edit) for edit in [(20, 26), (19, 24), (0, 0), (1, 1)]]
        [False, True, False, True]
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(span for span in spans if span[0] < span[1])
        self._starts = [start for start, _ in ordered]
        # For each span, the farthest end among it and those that begin before it.
        self._ends = list(accumulate((end for _, end in ordered), max))

    def touches(self, start: int, end: int) -> bool:
        """Whether an edit shares a character with a span, or inserts strictly inside one."""
        before = bisect_left(self._starts, end)
        return before > 0 and start < self._ends[before - 1]


class SpanMapChain:
    """Span maps one after another: each maps spans of the text that the one before it left.

    Example:
        >>> first = SpanMap([Edit(0, 1, "A", "An awfully")])
        >>> second = SpanMap([Edit(0, 10, "An awfully", "The")])
        >>> SpanMapChain([first, second]).map(2, 5)
        (4, 7)
    """

    __slots__ = ("maps",)

    def __init__(self, maps: Sequence[SpanMap]) -> None:
        self.maps = tuple(maps)

    def map(self, start: int, end: int) -> tuple[int, int] | None:
        """The place of the span after all edits, or None where one of them touches it."""
        place: tuple[int, int] | None = (start, end)
        for step in self.maps:
            if place is None:
                return None
            place = step.map(*place)
        return place

    def touching(self, start: int, end: int) -> Edit | None:
        """The first edit that touches the span, in offsets of the text that it edits."""
        for step in self.maps:
            place = step.map(start, end)
            if place is None:
                return step.touching(start, end)
            start, end = place
        return None


def checked_texts(
    texts: Sequence[str], scope: str, protected: Sequence[Sequence[tuple[int, int]]] | None
) -> Sequence[str]:
    """The texts as a sequence; raises `UsageError` for texts, scopes or spans of the wrong kind.

    Example:
        >>> checked_texts("one text", "first", None)
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: a string is not a list of texts
          = help: give a list: [text]
    """
    if hasattr(type(texts), "tolist"):  # pandas would look a column up by its index
        texts = texts.tolist()  # type: ignore[attr-defined]
    container = type(texts)
    if isinstance(texts, str):
        raise UsageError("a string is not a list of texts", help="give a list: [text]")
    if not (hasattr(container, "__getitem__") and hasattr(container, "__len__")) or hasattr(
        container, "items"
    ):
        raise UsageError(
            f"an object of type {container.__name__} is not a list of texts",
            help="give a list, such as list(texts); sears.apply(data, rules) takes datasets",
        )
    for kind in set(map(type, texts)):
        if not issubclass(kind, str):
            row = next(row for row, text in enumerate(texts) if type(text) is kind)
            raise UsageError(
                f"an object of type {kind.__name__} is not text, at position {row} of the list",
                help="remove such rows; sears.apply(data, rules) takes datasets and reports what "
                "is wrong with a row",
            )
    if scope not in ("first", "all"):
        raise UsageError(f"there is no scope {scope!r}", help="choose first or all")
    check_spans(protected, len(texts), name="protected")
    return texts


def check_rows(values: object, rows: int, *, name: str) -> None:
    """Raise `UsageError`, which names the argument, unless it is None or has one entry a row."""
    if values is None or (isinstance(values, Sequence) and len(values) == rows):
        return
    about = f"{name}={values!r:.60} is not valid"
    if isinstance(values, Sequence):
        about = (
            f"{name} is about {counted(len(values), 'row')}, but there are {counted(rows, 'row')}"
        )
    raise UsageError(about, help="give a list with a sequence for every row; it may be empty")


def check_spans(spans: Sequence[Sequence[tuple[int, int]]] | None, rows: int, *, name: str) -> None:
    """Raise `UsageError`, which names the argument, unless every row has a sequence of spans.

    Example:
        >>> check_spans([[(0, 4)], [(3, 1)]], 2, name="protected")
        Traceback (most recent call last):
        sears_dsl.errors.UsageError: protected[1]=[(3, 1)] is not valid
          = help: give spans (start, end) in characters of the text, with 0 <= start <= end
    """
    check_rows(spans, rows, name=name)
    for row, of_row in enumerate(() if spans is None else spans):
        if not _are_spans(of_row):
            raise UsageError(
                f"{name}[{row}]={of_row!r:.60} is not valid",
                help="give spans (start, end) in characters of the text, with 0 <= start <= end",
            )


def _are_spans(values: Iterable[tuple[int, int]]) -> bool:
    try:
        for start, end in values:
            if not 0 <= index(start) <= index(end):
                return False
    except (TypeError, ValueError):  # no pairs, or not of whole numbers
        return False
    return True


def check_positions(
    positions: Sequence[Collection[int]] | None, rows: int, *, rules: int, name: str
) -> None:
    """Raise `UsageError`, which names the argument, unless every row has positions of rules."""
    check_rows(positions, rows, name=name)
    known = range(rules)
    for row, of_row in enumerate(() if positions is None else positions):
        if not (isinstance(of_row, Collection) and all(each in known for each in of_row)):
            raise UsageError(
                f"{name}[{row}]={of_row!r:.60} is not valid",
                help=f"give positions of rules, numbers from 0 to {rules - 1}"
                if rules
                else "there are no rules, so give none",
            )
