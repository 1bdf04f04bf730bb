"""What a batch of rows became: a sequence of `Rewrite`s, and what could not be rendered.

In: rewrites sorted by row and rule. Out: a sequence that notebooks show with every change marked.
Always holds: a rewrite differs from its original; every edit is in bounds.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from sears_dsl.engine.matches import Edit, Rewrite

__all__ = ["Rewrites"]

# Rows that a notebook shows before it only counts them.
_MOST_SHOWN = 50


class Rewrites(Sequence[Rewrite]):
    """Rewritten rows, by row and then by rule.

    Attributes:
        rule_ids: the ids of the rules that were applied.
        unrenderable: position of a rule → instances that it matched and could not rewrite, since
            a word has no inflection there or more than one.

    Example:
        >>> from sears_dsl.engine.matches import Edit
        >>> done = Rewrite(0, 0, "a movie", "a film", (Edit(2, 7, "movie", "film"),))
        >>> rewrites = Rewrites([done], rule_ids=["film"])
        >>> len(rewrites), rewrites[0].text
        (1, 'a film')
    """

    def __init__(
        self,
        rewrites: Sequence[Rewrite],
        *,
        rule_ids: Sequence[str] = (),
        unrenderable: Mapping[int, int] | None = None,
    ) -> None:
        self._rewrites = rewrites
        self.rule_ids = rule_ids
        self.unrenderable: Counter[int] = Counter(unrenderable or {})

    def __len__(self) -> int:
        return len(self._rewrites)

    @overload
    def __getitem__(self, index: int) -> Rewrite: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rewrite]: ...

    def __getitem__(self, index: int | slice) -> Rewrite | Sequence[Rewrite]:
        return self._rewrites[index]

    def __iter__(self) -> Iterator[Rewrite]:
        return iter(self._rewrites)

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites, {sum(self.unrenderable.values())} not renderable>"

    def _repr_html_(self) -> str:
        """A table for notebooks, what was taken out and put in marked."""
        rows = "".join(
            f"<tr><td>{rewrite.row}</td><td>{html.escape(self._name(rewrite.rule))}</td>"
            f"<td>{marked(rewrite.original, rewrite.edits)}</td></tr>"
            for rewrite in self._rewrites[:_MOST_SHOWN]
        )
        more = len(self) - _MOST_SHOWN
        tail = f"<p>and {more:,} more</p>" if more > 0 else ""
        head = "<tr><th>row</th><th>rule</th><th>change</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>{tail}"

    def _name(self, rule: int) -> str:
        return self.rule_ids[rule] if rule < len(self.rule_ids) else str(rule)


def marked(original: str, edits: Sequence[Edit]) -> str:
    """The row as HTML with ``<del>`` and ``<ins>`` around what changed.

    Example:
        >>> marked("a < movie", [Edit(4, 9, "movie", "film")])
        'a &lt; <del>movie</del><ins>film</ins>'
    """
    parts = []
    position = 0
    for edit in edits:
        parts.append(html.escape(original[position : edit.start]))
        parts.append(f"<del>{html.escape(edit.old)}</del>" if edit.old else "")
        parts.append(f"<ins>{html.escape(edit.new)}</ins>" if edit.new else "")
        position = edit.end
    parts.append(html.escape(original[position:]))
    return "".join(parts)
