"""What results of functions share: a data frame, a table for notebooks, a plot, a sentence.

In: columns. Out: a pandas DataFrame, HTML, axes of matplotlib. Always holds: everything that comes
from rules, rows and models is escaped in HTML; pandas and matplotlib are imported when they are
asked for.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.runtime.extras import need_frames, need_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from sears_dsl.language.ruleset import Ruleset

_MOST_ROWS = 50
_LONGEST_CELL = 400
_LONGEST_NAME = 60
# Notebooks set text to the right otherwise.
_LEFT = '<td style="text-align:left">'


class Result(ABC):
    """Something that was found out, row by row."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Column → the value of each row."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What was found out, in a sentence or two."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary}>"

    def to_frame(self) -> DataFrame:
        """The rows as a pandas DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        need_frames()
        import pandas

        return pandas.DataFrame(dict(self.columns))

    @property
    def shown_columns(self) -> Mapping[str, Sequence[Any]]:
        """What of the columns a notebook shows, as a person reads it."""
        return self.columns

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        return html_table(self.shown_columns, caption=self.summary)


class RulesetsResult(Result):
    """A result about the rules of some rulesets."""

    rulesets: tuple[Ruleset, ...]

    @property
    def ruleset(self) -> Ruleset:
        """The rules in one ruleset.

        Raises:
            UsageError: several rulesets that cannot stand in one; see `rulesets`.
        """
        return reduce(add, self.rulesets)


class TableResult(Result):
    """A result that is its rows, and written as such."""

    def save(self, path: str | Path) -> None:
        """Write the rows as a file: csv, tsv, jsonl, parquet or arrow, by its name.

        Raises:
            UsageError: the name tells no format.
            DataError: the file cannot be written.
        """
        from sears_dsl.data.dataset import format_of, write_columns

        write_columns(self.columns, Path(path), format_of(str(path), reading=False))


def html_table(columns: Mapping[str, Sequence[Any]], *, caption: str) -> str:
    """Columns as an HTML table; of many rows the first ones.

    Args:
        columns: column → the value of each row; text is escaped, `Markup` is not.
        caption: what stands above.

    Example:
        >>> html_table({"rule": ["<b> -> c"]}, caption="1 rule").count("&lt;b&gt; -&gt; c")
        1
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'{_LEFT}{_cell(value)}</td>' for value in row)}</tr>"
        for row in rows[:_MOST_ROWS]
    )
    left = len(rows) - _MOST_ROWS
    tail = f"<p>and {left:,} more rows; to_frame() has all of them</p>" if left > 0 else ""
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{tail}"
    )


class Markup(str):
    """HTML that stands in a table as it is."""

    __slots__ = ()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Markup):
        return value
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + "…")


def drawn_name(name: str) -> str:
    r"""A rule as the name of a bar: cut where it is long, and no formula.

    Example:
        >>> drawn_name("$1 -> $1.VBD")
        '\\$1 -> \\$1.VBD'
    """
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


class Bars:
    """Shares with their intervals, a bar each.

    Args:
        names: of the bars.
        shares: their lengths, from 0 to 1.
        intervals: of each the low and the high end.
        title: what the shares are.
    """

    def __init__(
        self,
        names: Sequence[str],
        shares: Sequence[float],
        intervals: Sequence[tuple[float, float]],
        *,
        title: str,
    ) -> None:
        self._names, self._shares, self._intervals = names, shares, intervals
        self._title = title

    def draw(self, axes: Axes | None) -> Axes:
        """Draw them, the first one on top.

        Args:
            axes: where; None for a new figure.

        Raises:
            UsageError: matplotlib is not installed.
        """
        need_plots()
        if axes is None:
            from matplotlib import pyplot

            height = max(1.5, 0.4 * len(self._names) + 1)
            axes = pyplot.subplots(figsize=(8, height), layout="constrained")[1]
        percent = [100 * share for share in self._shares]
        errors = [
            [100 * max(0.0, share - low) for share, (low, _) in self._pairs()],
            [100 * max(0.0, high - share) for share, (_, high) in self._pairs()],
        ]
        places = range(len(self._names))
        axes.barh(places, percent, xerr=errors, capsize=3)
        axes.set_yticks(places, list(map(drawn_name, self._names)))
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("per cent")
        axes.set_title(self._title)
        return axes

    def _pairs(self) -> list[tuple[float, tuple[float, float]]]:
        return list(zip(self._shares, self._intervals, strict=True))
