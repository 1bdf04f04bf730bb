"""Tables whose lines end with an example: beside the cells where there is room, below where not.

In: cells and examples, the width of the screen. Out: lines. Always holds: no line is wider than the
screen, but where its numbers alone are; columns stand below each other; of a long first cell the
end is left out before anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sears_dsl.cli.screen.console import excerpt
from sears_dsl.engine.matches import Edit

if TYPE_CHECKING:
    from rich.text import Text

RewrittenExample: TypeAlias = tuple[str, str, str]
"""A text, what became of it, and what is said after it."""

_GAP = 2
# What an example takes at least, and at most, beside its line; what a first cell keeps.
_LEAST_ROOM, _MOST_ROOM, _LEAST_FIRST = 40, 90, 20


def table_lines(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    examples: Sequence[RewrittenExample | None],
    *,
    width: int,
    right: Collection[int] = (),
) -> Iterator[Text]:
    """The lines of a table, heads first.

    Args:
        heads: of the columns, without that of the examples.
        rows: cells; those that lack at the end are empty.
        examples: of each row.
        width: of the screen.
        right: columns that end below each other.

    Example:
        >>> rows, examples = [["film -> movie", "9"]], [("A film.", "A movie.", "  + → -")]
        >>> for line in table_lines(["rule", "flips"], rows, examples, width=80, right=[1]):
        ...     print(line)
        rule           flips  example
        film -> movie      9  A [-film-]{+movie+}.  + → -
        >>> for line in table_lines(["rule", "flips"], rows, examples, width=40):
        ...     print(line)
        rule           flips
        film -> movie  9
          A [-film-]{+movie+}.  + → -
    """
    from rich.cells import cell_len
    from rich.text import Text

    cells = [[*row, *[""] * (len(heads) - len(row))] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    spare = width - sum(widths) - _GAP * (len(widths) - 1)
    if spare < 0:
        widths[0] = max(_LEAST_FIRST, widths[0] + spare)
    beside = any(examples) and spare - _GAP >= _LEAST_ROOM
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
        text = line(row)
        if beside and example:
            text.append(" " * _GAP).append_text(shown(example))
        text.rstrip()
        yield text
        if example and not beside:
            yield Text(" " * _GAP).append_text(shown(example))
