"""What the API's results share: a data frame, a table for notebooks, a plot, a summary.

In: columns. Out: a pandas DataFrame, HTML, matplotlib axes. Always holds: text from rules, rows and
models is escaped in HTML. Notebooks show what the commands show: rates with intervals, and examples
cut around the change. `to_frame` has all numbers, one per column. pandas and matplotlib are
imported when they are needed.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.errors import UsageError, counted, listed, shortened
from sears_dsl.language.printer import rule_called
from sears_dsl.runtime.extras import need_frames, need_plots
from sears_dsl.runtime.files import make_folder
from sears_dsl.statistics import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from sears_dsl.auditing.comparison import ComparisonDocument
    from sears_dsl.auditing.document import RuleRecord
    from sears_dsl.auditing.failures import ErrorsDocument
    from sears_dsl.auditing.grids import GridDocument
    from sears_dsl.discovery.result.found_rules import FoundRule
    from sears_dsl.language.ruleset import Ruleset

_MOST_ROWS = 50
_LONGEST_CELL = 401
_LONGEST_NAME = 60
_LONGEST_LABEL = 40
# Columns whose intervals are called low and high.
_RATES = ("rate", "importance")
# Cells up to this length are not broken into lines.
_SHORT_CELL = 24
_MOST_NAMED = 5
_BAR, _INTERVAL = "#9ecae1", "#333333"
_OF_FILES = (".html", ".htm", ".json", ".md", ".xml", ".csv", ".pdf")
# Notebooks would align text to the right.
_LEFT = "text-align:left"


class Result(ABC):
    """A result of the API, row by row.

    Most have ``plot``, which draws on the given matplotlib axes or on a new figure (`UsageError` if
    matplotlib is not installed), and ``save``, which makes missing folders (`DataError` if a file
    cannot be written).
    """

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Column → the value of each row."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The result in a sentence or two."""

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
        """The columns that a notebook shows: a rule by its name, a rate with its interval."""
        return format_columns(self.columns)

    @property
    def shown_below(self) -> str:
        """The text below a notebook's table; empty if the table has all rows."""
        return ""

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        table = html_table(self.shown_columns, caption=self.summary)
        below = self.shown_below
        return table + (f"<p>{html.escape(below)}</p>" if below else "")


class RulesetsResult(Result):
    """A result about the rules of some rulesets."""

    rulesets: tuple[Ruleset, ...]

    @property
    def ruleset(self) -> Ruleset:
        """The rules in one ruleset.

        Raises:
            UsageError: the rulesets cannot be combined; see `rulesets`.
        """
        return reduce(add, self.rulesets)


def file_to_write(path: object, called: str = "file") -> Path:
    """Return the path of a file, or of a folder, to save a result in; `UsageError` for no path."""
    if path == "":
        raise UsageError(f"the name of the {called} is empty", help=f"name a {called}")
    if not isinstance(path, str | Path):
        raise UsageError(
            f"an object of type {type(path).__name__} is not a {called}",
            help="pass its path: save('audit')" if called == "folder" else "pass its path",
        )
    return Path(path)


def folder_to_write(folder: object) -> Path:
    """Return the folder in which to save a result of several files.

    Raises:
        UsageError: it is no path, or the name of a single file.

    Example:
        >>> folder_to_write("audit").name
        'audit'
    """
    path = file_to_write(folder, "folder")
    if path.suffix.lower() in _OF_FILES and not path.is_dir():
        raise UsageError(
            f"{path} names a file, but several are written",
            help=f"pass a folder: save({str(path.with_suffix(''))!r})",
        )
    return path


class DocumentResult(Result):
    """A result that is a document: `save` writes it as a page, as Markdown and as JSON."""

    document: ComparisonDocument | GridDocument | ErrorsDocument

    def save(self, folder: str | Path) -> None:
        """Write what the command writes with ``-o``: NAME.html, NAME.md and NAME.json.

        NAME is ``comparison`` as for `sears compare`, or ``errors`` as for `sears errors`.
        """
        from sears_dsl.auditing.reports.files import write_files

        write_files(self.document, folder_to_write(folder))


class TableResult(Result):
    """A result that consists of its rows, and is saved as a table."""

    def save(self, path: str | Path) -> None:
        """Write the rows as a file: csv, tsv, jsonl, parquet or arrow, by its name.

        Raises:
            UsageError: the name tells no format.
            DataError: the file cannot be written.
        """
        from sears_dsl.data.dataset import format_of, write_columns

        file = file_to_write(path)
        form = format_of(str(file), reading=False)
        make_folder(file.parent)
        write_columns(self.columns, file, form)


def html_table(columns: Mapping[str, Sequence[Any]], *, caption: str) -> str:
    """Return the first rows of columns as an HTML table; text is escaped, `Markup` is not.

    Example:
        >>> html_table({"rule": ["<b> -> c"]}, caption="1 rule").count("&lt;b&gt; -&gt; c")
        1
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f'<th style="{_LEFT}">{html.escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_MOST_ROWS])
    left = len(rows) - _MOST_ROWS
    tail = f"<p>and {left:,} more rows; to_frame() has all of them</p>" if left > 0 else ""
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{tail}"
    )


class Markup(str):
    """HTML that `html_table` does not escape."""

    __slots__ = ()


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
    style = _LEFT if len(text) > _SHORT_CELL else f"{_LEFT};white-space:nowrap"
    if not isinstance(value, Markup):
        text = html.escape(shortened(text, _LONGEST_CELL))
    return f'<td style="{style}">{text}</td>'


def format_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Return columns for people: a rule by its name, a share and its interval in one cell.

    Example:
        >>> format_columns({"error": [0.1], "error_low": [0.05], "error_high": [0.19]})
        {'error (95%)': ['10% (5.0%–19%)']}
    """
    rest, shown = dict(columns), dict[str, Sequence[Any]]()
    for name in columns:
        ends = ("low", "high") if name in _RATES else (f"{name}_low", f"{name}_high")
        if name == "rule" and "id" in shown:
            shown[name] = list(map(rule_called, rest[name], shown.pop("id")))
        elif rest.keys() >= {*ends}:
            shown[f"{name} (95%)"] = list(map(shown_rate, rest[name], *map(rest.pop, ends)))
        elif name in rest:
            shown[name] = rest[name]
    return shown


def bar_label(name: str, rule_id: str = "") -> str:
    r"""Return a rule, or another name, as the label of a bar, which is not read as a formula.

    Example:
        >>> bar_label("$1 -> $1.VBD")
        '\\$1 -> \\$1.VBD'
    """
    if rule_id and len(name) > _LONGEST_LABEL:
        name = rule_called(name, rule_id)
    return short_name(name).replace("$", r"\$")


def short_name(name: str) -> str:
    """Return the name of a rule; of a long one the id, or else the beginning."""
    if len(name) > _LONGEST_NAME and " … (" in name:
        return name.rpartition(" … (")[2].removesuffix(")")
    return shortened(name, _LONGEST_NAME)


def omission_note(names: Sequence[str], verb: tuple[str, str]) -> str:
    """Return a sentence about the rules that a table leaves out; empty if there are none.

    Example:
        >>> omission_note(["a -> b"], ("rule changes no row", "rules change no row"))
        '1 rule changes no row: a -> b. to_frame() has all rules.'
    """
    if not names:
        return ""
    named = listed([short_name(name) for name in names], _MOST_NAMED)
    return f"{counted(len(names), *verb)}: {named}. to_frame() has all rules."


def new_axes(axes: Axes | None, *, lines: int) -> Axes:
    """Return the given axes, or those of a new figure with room for ``lines`` names."""
    need_plots()
    if axes is not None:
        return axes
    from matplotlib import pyplot

    size = (8, max(1.5, 0.3 * lines + 1))
    drawn: Axes = pyplot.subplots(layout="constrained", figsize=size)[1]
    return drawn


def draw_bars(
    axes: Axes | None,
    labels: Sequence[str],
    shares: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    *,
    title: str,
) -> Axes:
    """Draw a bar for each share from 0 to 1, with its interval, the first one on top."""
    axes = new_axes(axes, lines=len(labels))
    pairs = list(zip(shares, intervals, strict=True))
    errors = [
        [100 * max(0.0, share - low) for share, (low, _) in pairs],
        [100 * max(0.0, high - share) for share, (_, high) in pairs],
    ]
    places = range(len(labels))
    spread = errors if any(map(any, errors)) else None
    axes.barh(places, [100 * share for share in shares], xerr=spread, height=0.6, color=_BAR,
              error_kw={"ecolor": _INTERVAL, "elinewidth": 1, "capsize": 2})  # fmt: skip
    axes.set_xlim(0, min(100, 105 * max((high for _, high in intervals), default=0) or 100))
    return name_lines(axes, labels, f"{title}, per cent")


def name_lines(axes: Axes, labels: Sequence[str], title: str) -> Axes:
    """Name the lines of a plot, the first one on top, and its axis."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)
    # Long labels leave little room below the axes alone.
    axes.set_xlabel(title, loc="right")
    return axes


# Characters to keep around the change in an example.
_AROUND = 50


def first_example(rule: FoundRule | RuleRecord) -> Markup:
    """The first example of a rule with its change marked; empty if there is none."""
    if not rule.examples:
        return Markup()
    return marked_example(rule.examples[0].original, rule.examples[0].rewritten)


def marked_example(original: str, rewritten: str) -> Markup:
    """Return a text with its change marked, cut to the words around the change.

    Example:
        >>> marked_example("A <b> movie.", "A <b> film.")
        'A &lt;b&gt; <del>movie</del><ins>film</ins>.'
    """
    from sears_dsl.engine.matches import Edit
    from sears_dsl.engine.rewrite.rewrites import common_ends, marked_html

    first, last = common_ends(original, rewritten)
    start = original.rfind(" ", 0, max(0, first - _AROUND)) + 1
    stop = original.find(" ", len(original) - last + _AROUND)
    cut = 0 if stop < 0 else len(original) - stop
    old, new = original[start : len(original) - cut], rewritten[start : len(rewritten) - cut]
    text = marked_html(old, [Edit(0, len(old), old, new)])
    return Markup(f"{'…' if start else ''}{text}{'…' if cut else ''}")


def shown_rate(rate: float | None, low: float | None, high: float | None) -> str:
    """A share with its interval, in per cent.

    Example:
        >>> shown_rate(0.15, 0.09, 0.24)
        '15% (9.0%–24%)'
        >>> shown_rate(-0.004, -0.0064, -0.0021)
        '-0.4% (-0.6%–-0.2%)'
    """
    if rate is None or low is None or high is None:
        return ""
    return f"{_signed(rate)} ({_signed(low)}–{_signed(high)})"


def _signed(share: float) -> str:
    shown = percent(abs(share))
    return f"-{shown}" if share < 0 else shown
