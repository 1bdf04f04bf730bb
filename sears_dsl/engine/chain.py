"""All rules on each row, one after another: what `Matcher.chain` does.

In: a matcher and texts. Out: a `ChainedRow` for every text. Always holds: the result is that of
applying the first rule to the text, the second one to what the first one left, and so on, each
once; protected spans move along and are never changed; a rule whose edits would touch a span that
must stay is left out of that row; a row that no rule changes is the very same string. The rows go
in rounds: all rules at once are matched against all rows that are still going, each row takes its
next rule that fires, and only rows that changed are tagged again. So there are as many rounds as
the most rules that fire in one row, plus one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np

from sears_dsl.engine.compile.program import Program
from sears_dsl.engine.few_matches import FewMatches
from sears_dsl.engine.match.search import Protected, search
from sears_dsl.engine.matches import Edit, Rewrite, Scope
from sears_dsl.engine.rewrite.batch_rendering import Rendering
from sears_dsl.engine.rewrite.pieces import UNDRAWN, Drawing
from sears_dsl.engine.rewrite.span_map import SpanMap, SpanMapChain
from sears_dsl.tagging.tokens import Tokens

Prepare: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[Sequence[int], Tokens]]]
"""Tokenizes, and tags, the texts that a rule may match: their places, and their tokens."""

Step: TypeAlias = tuple[int, tuple[Edit, ...]]
"""The position of a rule and its edits, which are about the text that the step before left."""


@dataclass(frozen=True)
class ChainedRow:
    """A row after all rules.

    Attributes:
        original: the row as given.
        text: the row after the last step; the same object where there is none.
        steps: the rules that changed it, in order, with their edits.
        left_out: rules that would have touched a span that must stay: the position of the rule,
            and that of the first such span among those given.
    """

    original: str
    text: str
    steps: tuple[Step, ...]
    left_out: tuple[tuple[int, int], ...] = ()

    @cached_property
    def span_map(self) -> SpanMapChain:
        """Where spans of the original are in the text."""
        return SpanMapChain([SpanMap(edits) for _, edits in self.steps])


class ChainedRows(Sequence[ChainedRow]):
    """The rows of a batch after all rules.

    Attributes:
        unrenderable: position of a rule → instances that it matched and could not rewrite.
    """

    def __init__(
        self, rows: Sequence[ChainedRow], *, unrenderable: Mapping[int, int] | None = None
    ) -> None:
        self._rows = rows
        self.unrenderable: Counter[int] = Counter(unrenderable or {})

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> ChainedRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ChainedRow]: ...

    def __getitem__(self, index: int | slice) -> ChainedRow | Sequence[ChainedRow]:
        return self._rows[index]

    def __iter__(self) -> Iterator[ChainedRow]:
        return iter(self._rows)

    def __repr__(self) -> str:
        changed = sum(bool(row.steps) for row in self._rows)
        return f"<{len(self)} chained rows, {changed} changed>"


class _Going:
    """A row on its way through the rules."""

    def __init__(
        self,
        text: str,
        protected: Sequence[tuple[int, int]],
        intact: Sequence[tuple[int, int]],
        without: Collection[int],
    ) -> None:
        self.original = text
        self.text = text
        self.protected = protected
        self.intact = intact
        self.without = without
        self.next_rule = 0
        self.steps: list[Step] = []
        self.left_out: list[tuple[int, int]] = []

    def take(self, rewrite: Rewrite) -> bool:
        """Go on with the text that a rule left; False if the rule is left out of this row."""
        if rewrite.rule in self.without:
            return False
        if self.intact or self.protected:
            step = SpanMap(rewrite.edits)
            places: list[tuple[int, int]] = []
            for number, span in enumerate(self.intact):
                place = step.map(*span)
                if place is None:
                    self.left_out.append((rewrite.rule, number))
                    return False
                places.append(place)
            self.intact = places
            moved = (step.map(start, end) for start, end in self.protected)
            self.protected = [span for span in moved if span is not None]
        if not self.steps:
            self.original = rewrite.original
        self.text = rewrite.text
        self.next_rule = rewrite.rule + 1
        self.steps.append((rewrite.rule, rewrite.edits))
        return True


def chain_rows(
    texts: Sequence[str],
    *,
    prepare: Prepare,
    program: Program,
    rendering: Rendering,
    few_matches: FewMatches,
    rules: int,
    scope: Scope,
    protected: Protected | None,
    intact: Protected | None,
    without: Sequence[Collection[int]] | None,
    jobs: int,
    drawing: Drawing = UNDRAWN,
) -> ChainedRows:
    """Apply all rules to each text, one after another; see `Matcher.chain`.

    Args:
        texts: the rows.
        prepare: tokenizes the texts that a rule may match.
        program: the rules, for the search.
        rendering: the rules, for what their matches become.
        few_matches: the same, for few matches.
        scope: rewrite the first instance of a rule in a text, or all.
        protected: for each row spans of characters that stay as they are.
        intact: for each row spans that no edit may touch.
        without: for each row the positions of rules to leave out of it.
        jobs: threads for matching.
    """
    nothing: Sequence[tuple[()]] = [()] * len(texts)
    columns = (texts, protected or nothing, intact or nothing, without or nothing)
    rows = list(map(_Going, *columns))
    unrenderable: Counter[int] = Counter()
    going = rows
    while going:
        going = _round(
            going,
            prepare=prepare,
            program=program,
            rendering=rendering,
            few_matches=few_matches,
            rules=rules,
            scope=scope,
            jobs=jobs,
            unrenderable=unrenderable,
            drawing=drawing,
        )
    chained_rows = [
        ChainedRow(row.original, row.text, tuple(row.steps), tuple(row.left_out)) for row in rows
    ]
    return ChainedRows(chained_rows, unrenderable=unrenderable)


def _round(
    going: Sequence[_Going],
    *,
    prepare: Prepare,
    program: Program,
    rendering: Rendering,
    few_matches: FewMatches,
    rules: int,
    scope: Scope,
    jobs: int,
    unrenderable: Counter[int],
    drawing: Drawing,
) -> list[_Going]:
    """Each row takes its next rule that fires; those that took one go on."""
    changed_rows: list[_Going] = []
    for places, tokens in prepare([row.text for row in going]):
        rows = [going[place] for place in places]
        spans = [row.protected for row in rows]
        protected = spans if any(spans) else None
        matches = search(program, tokens, extent=scope, protected=protected, jobs=jobs, again=True)
        next_rules = np.fromiter((row.next_rule for row in rows), np.int32, len(rows))
        left = matches.select(matches.rules >= next_rules[matches.rows])
        while len(left):
            # The next rule of each row that has not changed yet.
            heads = np.concatenate([[True], left.rows[1:] != left.rows[:-1]])
            is_first = left.rules == left.rules[heads][np.cumsum(heads) - 1]
            firsts = left.select(is_first)
            rewrites = None
            if protected is None:
                rewrites = few_matches.rewrites(tokens, firsts, unrenderable)
            if rewrites is None:
                columns = rendering.rewrites(
                    tokens,
                    firsts,
                    protected=protected,
                    unrenderable=unrenderable,
                    extent=scope,
                    drawing=drawing,
                )
                rewrites = columns.rewrites(0, len(columns))
            changed = [rewrite.row for rewrite in rewrites if rows[rewrite.row].take(rewrite)]
            changed_rows += [rows[row] for row in changed]
            stays = np.ones(len(rows), np.bool_)
            stays[changed] = False
            left = left.select(~is_first & stays[left.rows])
    return [row for row in changed_rows if row.next_rule < rules]
