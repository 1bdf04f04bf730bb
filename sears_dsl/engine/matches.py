"""What engines give: instances of rules in rows, the edits they make, and where spans go.

In: nothing but values. Always holds: `Edit`s of a row are in bounds, ordered and disjoint;
`Rewrite.text` equals the original outside them. Positions in a `Binding` are token positions
within the row, positions in an `Edit` are characters of the original row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sears_dsl.runtime.array_types import Int32Array


class TokenRange(NamedTuple):
    """Tokens ``start`` up to, not including, ``end`` of a row."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Binding:
    """How one instance of a rule's antecedent lies on the tokens of a row.

    Attributes:
        start: first token of the replaced span (for an insertion: the token it goes before).
        end: one past its last token; equal to start for an insertion.
        elements: for each element of the antecedent as written, the tokens that it matched
            (empty range where an optional element matched none); ``$1`` is elements[0].
        names: the tokens matched by each named element; names in context are there too.
            A name that took no part in the instance has an empty range.
        tags: token positions that bare tags of the antecedent matched, per tag name, in order.
    """

    start: int
    end: int
    elements: tuple[TokenRange, ...]
    names: Mapping[str, TokenRange] = field(default_factory=dict)
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

    def select(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> Matches:
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
