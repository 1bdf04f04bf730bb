"""All rules on each row, one after another: what `Matcher.chain` does.

In: a program and texts. Out: a `ChainedRow` for every text. Always holds: the result is that of
applying the first rule to the text, the second one to what the first one left, and so on, each
once; protected spans move along and are never changed; a rule whose edits would touch a span that
must stay is left out of that row; a row that no rule changes is the very same string. Rows go in
rounds: each round tags only the rows that the round before changed, matches all rules against them,
and lets each row take its next rule that fires. So there are as many rounds as the most rules that
fire in one row, plus one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np

from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.few_matches import FewMatches
from sears_dsl.engine.match.search import Protected, search
from sears_dsl.engine.matches import Edit, Rewrite, Scope, SpanMap, SpanMapChain
from sears_dsl.engine.rewrite.batch_rendering import Rendering
from sears_dsl.engine.rewrite.pieces import Drawing
from sears_dsl.engine.rewrite.rewrites import RewriteColumns
from sears_dsl.errors import counted
from sears_dsl.runtime.array_types import Int32Array
from sears_dsl.tagging.tokens import Tokens

Prepare: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[Sequence[int], Tokens]]]
"""Tokenizes, and tags, the texts that a rule may match; gives their places and their tokens."""

Step: TypeAlias = tuple[int, tuple[Edit, ...]]
"""The position of a rule and its edits, which are about the text that the step before left."""


@dataclass(frozen=True)
class ChainedRow:
    """A row after all rules."""

    original: str  # the row as given
    text: str  # the row after the last step; the same object where there is none
    steps: tuple[Step, ...]  # the rules that changed it, in order, with their edits
    # Rules that would have touched a span that must stay: the position of the rule, and that of the
    # first such span among those given.
    left_out: tuple[tuple[int, int], ...] = ()

    @cached_property
    def span_map(self) -> SpanMapChain:
        """Where spans of the original are in the text."""
        return SpanMapChain([SpanMap(edits) for _, edits in self.steps])


class ChainedRows(Sequence[ChainedRow]):
    """The rows of a batch after all rules; they are created when one of them is first read.

    Attributes:
        texts: each row after its last step; reading these creates no rows.
        unrenderable: position of a rule → instances that it matched and could not rewrite.
    """

    def __init__(
        self,
        texts: Sequence[str],
        make_rows: Callable[[], Sequence[ChainedRow]],
        *,
        unrenderable: Mapping[int, int] | None = None,
    ) -> None:
        self.texts = texts
        self._make_rows = make_rows
        self.unrenderable: Counter[int] = Counter(unrenderable or {})

    @cached_property
    def _rows(self) -> Sequence[ChainedRow]:
        return self._make_rows()

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> ChainedRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ChainedRow]: ...

    def __getitem__(self, index: int | slice) -> ChainedRow | Sequence[ChainedRow]:
        return self._rows[index]

    def __iter__(self) -> Iterator[ChainedRow]:
        return iter(self._rows)

    def __repr__(self) -> str:
        changed = sum(bool(row.steps) for row in self)
        return f"<{counted(len(self), 'chained row')}, {changed} changed>"


class _Underway:
    """Rows on their way through the rules."""

    def __init__(
        self,
        texts: Sequence[str],
        protected: Protected | None,
        intact: Protected | None,
        without: Sequence[Collection[int]] | None,
    ) -> None:
        self.texts = list(texts)  # each as the last rule left it
        self.next_rules = np.zeros(len(texts), np.int32)  # the first rule that each may still take
        # For each row the spans that stay as they are, in its text as it is now.
        self.protected = list(protected) if protected is not None and any(protected) else None
        self._originals = tuple(texts)  # rows are created later, when the caller may reuse its list
        self._intact = list(intact) if intact is not None and any(intact) else None
        self._without = without if without is not None and any(without) else None
        self._is_bound = any((self.protected, self._intact, self._without))
        self._taken: list[RewriteColumns] = []
        self._left_out: dict[int, list[tuple[int, int]]] = {}

    def take(self, rewrites: RewriteColumns) -> Int32Array:
        """Take the rewrites, at most one for each row; return the rows that took theirs."""
        if self._is_bound:
            passed = map(self._passes, rewrites)
            rewrites = rewrites.select(np.flatnonzero(list(passed)).astype(np.int32))
        texts = self.texts
        for row, text in zip(rewrites.rows.tolist(), rewrites.each_text(), strict=True):
            texts[row] = text
        self.next_rules[rewrites.rows] = rewrites.rules + 1
        self._taken.append(rewrites)
        return rewrites.rows

    def _passes(self, rewrite: Rewrite) -> bool:
        """Move the spans of a row along; False, moving none, if the rule is left out of the row."""
        row = rewrite.row
        if self._without is not None and rewrite.rule in self._without[row]:
            return False
        step = SpanMap(rewrite.edits)
        if self._intact is not None:
            places: list[tuple[int, int]] = []
            for number, span in enumerate(self._intact[row]):
                place = step.map(*span)
                if place is None:
                    self._left_out.setdefault(row, []).append((rewrite.rule, number))
                    return False
                places.append(place)
            self._intact[row] = places
        if self.protected is not None:
            moved = (step.map(start, end) for start, end in self.protected[row])
            self.protected[row] = [span for span in moved if span is not None]
        return True

    def rows(self) -> list[ChainedRow]:
        """The rows with what was done to them."""
        originals = list(self._originals)
        steps: list[list[Step]] = [[] for _ in originals]
        for part in self._taken:
            columns = (part.rows.tolist(), part.rules.tolist(), part.originals, part.edits())
            for row, rule, original, edits in zip(*columns, strict=True):
                if not steps[row]:
                    originals[row] = original
                steps[row].append((rule, edits))
        return [
            ChainedRow(original, text, tuple(of_row), tuple(self._left_out.get(row, ())))
            for row, (original, text, of_row) in enumerate(
                zip(originals, self.texts, steps, strict=True)
            )
        ]


def chain_rows(
    texts: Sequence[str],
    *,
    prepare: Prepare,
    program: Program,
    rendering: Rendering,
    few_matches: FewMatches,
    scope: Scope,
    protected: Protected | None,
    intact: Protected | None,
    without: Sequence[Collection[int]] | None,
    jobs: int,
    drawing: Drawing,
) -> ChainedRows:
    """Apply all rules to each text, one after another; see `Matcher.chain`.

    ``prepare`` tokenizes the texts that a rule may match; no edit may touch what is ``intact``.
    """
    underway = _Underway(texts, protected, intact, without)
    unrenderable: Counter[int] = Counter()
    rules = len(program.rules.patterns.pattern_of)
    going = np.arange(len(texts), dtype=np.int32)
    while len(going):
        # Each row takes its next rule that fires.
        has_changed = np.zeros(len(texts), np.bool_)
        for places, tokens in prepare(list(map(underway.texts.__getitem__, going.tolist()))):
            rows = going[places]
            inside: list[Sequence[tuple[int, int]]] | None = None
            if underway.protected is not None:
                inside = list(map(underway.protected.__getitem__, rows.tolist()))
                inside = inside if any(inside) else None
            matches = search(program, tokens, extent=scope, protected=inside, jobs=jobs)
            left = matches.select(matches.rules >= underway.next_rules[rows][matches.rows])
            while len(left):
                # The next rule of each row that has not changed yet.
                heads = np.concatenate([[True], left.rows[1:] != left.rows[:-1]])
                is_first = left.rules == left.rules[heads][np.cumsum(heads) - 1]
                firsts = left.select(is_first)
                few = None if inside else few_matches.rewrites(tokens, firsts, unrenderable)
                if few is not None:
                    rewrites = RewriteColumns.of(few)
                else:
                    rewrites = rendering.rewrites(
                        tokens, firsts, protected=inside, unrenderable=unrenderable,
                        extent=scope, drawing=drawing,
                    )  # fmt: skip
                has_changed[underway.take(replace(rewrites, rows=rows[rewrites.rows]))] = True
                left = left.select(~is_first & ~has_changed[rows[left.rows]])
        going = np.flatnonzero(has_changed).astype(np.int32)
        going = going[underway.next_rules[going] < rules]
    return ChainedRows(underway.texts, underway.rows, unrenderable=unrenderable)
