"""A table on the screen in which a rewritten text stands beside each line, or below it.

In: cells, an example or None for each row, and the width of the screen. Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sears_dsl.cli.screen.console import excerpt
from sears_dsl.engine.matches import Edit

if TYPE_CHECKING:
    from rich.text import Text

RewrittenExample: TypeAlias = tuple[str, str, str]
"""A text, its rewrite, and what is printed after it."""

_GAP = 2
# The least and the most width of an example beside its line, and of the first column.
_LEAST_ROOM, _MOST_ROOM, _LEAST_FIRST, _MOST_FIRST = 40, 90, 20, 40


def table_lines(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    examples: Sequence[RewrittenExample | None],
    *,
    width: int,
    right: Collection[int] = (),
) -> Iterator[Text]:
    """Yield the lines of a table, heads first; cells missing at the end of a row are empty.

    A first cell that is too long for its column is not cut: the others stand on the next line.
    """
    from rich.cells import cell_len
    from rich.text import Text

    cells = [[*row, *[""] * (len(heads) - len(row))] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    widths[0] = max(size for row in (heads, *cells) if (size := cell_len(row[0])) <= _MOST_FIRST)
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    if spare < 0:
        widths[0] = max(_LEAST_FIRST, widths[0] + spare)
    behind = max((cell_len(each[2]) for each in examples if each), default=0)
    beside = any(examples) and spare - _GAP - behind >= _LEAST_ROOM
    room = min(_MOST_ROOM, spare - _GAP) if beside else width - _GAP

    def line(row: Sequence[str]) -> Text:
        text = Text()
        for place, (cell, size) in enumerate(zip(row, widths, strict=True)):
            part = Text(cell)
            part.truncate(size, overflow="ellipsis")
            part.align("right" if place in right else "left", size)
            text.append(" " * _GAP if place else "").append_text(part)
        return text

    def shown(example: RewrittenExample) -> Text:
        original, rewritten, after = example
        change = [Edit(0, len(original), original, rewritten)]
        text = excerpt(original, change, width=max(1, room - cell_len(after)))
        return text.append(after, style="dim")

    head = line(heads)
    if beside:
        head.append(" " * _GAP + "example")
    head.rstrip()
    yield head
    for row, example in zip(cells, examples, strict=True):
        is_long = cell_len(row[0]) > widths[0]
        if is_long:
            yield Text(row[0])
        text = line(["", *row[1:]] if is_long else row)
        if beside and example:
            text.append(" " * _GAP).append_text(shown(example))
        text.rstrip()
        yield text
        if example and not beside:
            yield Text(" " * _GAP).append_text(shown(example))
