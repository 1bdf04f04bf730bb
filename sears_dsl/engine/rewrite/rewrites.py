"""What a batch of rows became: a sequence of `Rewrite`s, and what could not be rendered.

In: rewrites sorted by row and rule, as columns. Out: a sequence that makes its members when they
are looked at, and that notebooks show with every change marked. Always holds: a rewrite differs
from its original; every edit is in bounds. Costs nothing by itself.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from sears_dsl.engine.matches import Edit, Rewrite
from sears_dsl.engine.rewrite.columns import DistinctRewrites, RewriteColumns
from sears_dsl.engine.rewrite.shown_edits import pieces
from sears_dsl.runtime.array_types import Int32Array

# Rows that a notebook shows before it only counts them.
_MOST_SHOWN = 50
# Rewrites that an iteration makes at once.
_AT_ONCE = 4096


class Rewrites(Sequence[Rewrite]):
    """Rewritten rows, by row and then by rule.

    Index or iterate for `Rewrite`s, which are made then; counting, and asking for one column,
    makes none.

    Args:
        rewrites: objects, or columns.
        rule_ids: the ids of the rules that were applied, or what gives them: ids of mined rules
            have to be printed first, and few callers want them.
        unrenderable: see below.

    Attributes:
        unrenderable: position of a rule → instances that it matched and could not rewrite, since
            a word has no inflection there or more than one.

    Example:
        >>> from sears_dsl.engine.matches import Edit
        >>> done = Rewrite(0, 0, "a movie", "a film", (Edit(2, 7, "movie", "film"),))
        >>> rewrites = Rewrites([done], rule_ids=["film"])
        >>> len(rewrites), rewrites[0].text, rewrites.texts, rewrites.rows
        (1, 'a film', ['a film'], array([0], dtype=int32))
    """

    def __init__(
        self,
        rewrites: Sequence[Rewrite] | RewriteColumns,
        *,
        rule_ids: Sequence[str] | Callable[[], Sequence[str]] = (),
        unrenderable: Mapping[int, int] | None = None,
    ) -> None:
        self._source = rewrites
        self._rule_ids = rule_ids
        self.unrenderable: Counter[int] = Counter(unrenderable or {})

    @cached_property
    def columns(self) -> RewriteColumns:
        """The places of all edits, as arrays."""
        source = self._source
        return source if isinstance(source, RewriteColumns) else RewriteColumns.of(source)

    @cached_property
    def rule_ids(self) -> Sequence[str]:
        """The ids of the rules that were applied."""
        return self._rule_ids() if callable(self._rule_ids) else self._rule_ids

    @property
    def rules(self) -> Int32Array:
        """The position of the rule of each rewrite, int32."""
        return self.columns.rules

    @property
    def rows(self) -> Int32Array:
        """The row of each rewrite, int32; it never falls."""
        return self.columns.rows

    @property
    def originals(self) -> Sequence[str]:
        """The row of each rewrite as it was given."""
        return self.columns.originals

    @cached_property
    def texts(self) -> list[str]:
        """The rewritten text of each; what is edited alike in a row is one string."""
        return self.columns.texts()

    def distinct(self) -> DistinctRewrites:
        """Each distinct pair of row and text once, and which of them each rewrite is."""
        return self.columns.distinct()

    def __len__(self) -> int:
        return len(self._source)

    @overload
    def __getitem__(self, index: int) -> Rewrite: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rewrite]: ...

    def __getitem__(self, index: int | slice) -> Rewrite | Sequence[Rewrite]:
        if not isinstance(self._source, RewriteColumns):
            return list(self._source[index]) if isinstance(index, slice) else self._source[index]
        chosen = range(len(self))[index]
        if isinstance(chosen, int):
            return self.columns.rewrites(chosen, chosen + 1)[0]
        if chosen.step == 1:
            return self.columns.rewrites(chosen.start, max(chosen.start, chosen.stop))
        return [self[place] for place in chosen]

    def __iter__(self) -> Iterator[Rewrite]:
        if not isinstance(self._source, RewriteColumns):
            yield from self._source
            return
        for low in range(0, len(self), _AT_ONCE):
            yield from self.columns.rewrites(low, min(low + _AT_ONCE, len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites, {sum(self.unrenderable.values())} not renderable>"

    def _repr_html_(self) -> str:
        """A table for notebooks, what was taken out and put in marked."""
        rows = "".join(
            f"<tr><td>{rewrite.row}</td><td>{html.escape(self._name(rewrite.rule))}</td>"
            f"<td>{marked(rewrite.original, rewrite.edits)}</td></tr>"
            for rewrite in self[:_MOST_SHOWN]
        )
        more = len(self) - _MOST_SHOWN
        tail = f"<p>and {more:,} more</p>" if more > 0 else ""
        head = "<tr><th>row</th><th>rule</th><th>change</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{tail}"

    def _name(self, rule: int) -> str:
        return self.rule_ids[rule] if rule < len(self.rule_ids) else str(rule)


def marked(original: str, edits: Sequence[Edit]) -> str:
    """The row as HTML with ``<del>`` and ``<ins>`` around what changed, look-alikes told.

    Example:
        >>> marked("a < movie", [Edit(4, 9, "movie", "film")])
        'a &lt; <del>movie</del><ins>film</ins>'
    """
    marks = {"same": "{}", "old": "<del>{}</del>", "new": "<ins>{}</ins>",
             "note": " <small>{}</small>"}  # fmt: skip
    return "".join(marks[kind].format(html.escape(text)) for kind, text in pieces(original, edits))
