"""Audits of several models side by side as a result: of `sears.compare` and `sears.audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.api.results import Result, drawn_name
from sears_dsl.runtime.extras import need_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.auditing.grid import GridDocument, GridRule


class GridResult(Result):
    """Three audits of the same rows and more, each held against the first.

    Attributes:
        document: all that was counted.
    """

    def __init__(self, document: GridDocument) -> None:
        self.document = document

    @property
    def rules(self) -> tuple[GridRule, ...]:
        """Each rule with a cell a model."""
        return self.document.rules

    @property
    def worse(self) -> bool:
        """Whether any is clearly worse than the first (p < 0.05, Holm over the grid)."""
        return self.document.worse

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row a rule and model; rates are of the rows on which the audit tested the rule."""
        names = [each.name for each in self.document.models]
        cells = [
            (rule, name, cell, cell.failures, cell.against_first)
            for rule in self.rules
            for name, cell in zip(names, rule.cells, strict=True)
        ]
        return {
            "id": [rule.id for rule, *_ in cells],
            "rule": [rule.rule for rule, *_ in cells],
            "audit": [name for _, name, *_ in cells],
            "rate": [share and share.rate for *_, share, _ in cells],
            "low": [share and share.low for *_, share, _ in cells],
            "high": [share and share.high for *_, share, _ in cells],
            "outcome": [contrast and contrast.outcome for *_, contrast in cells],
            "p_value": [contrast and contrast.paired.adjusted_p_value for *_, contrast in cells],
        }

    @property
    def summary(self) -> str:
        """Of each model after the first how many rules are better and worse."""
        return "; ".join(self.document.summary)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The failure rate of each rule on each model, as a heat map.

        Args:
            axes: where to draw; None for a new figure.

        Raises:
            UsageError: matplotlib is not installed.
        """
        need_plots()
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
        shares = [[cell.failures for cell in each.cells] for each in self.rules]
        rates = [[None if share is None else share.rate for share in of] for of in shares]
        percent = [[float("nan") if rate is None else 100 * rate for rate in of] for of in rates]
        axes.imshow(percent, cmap="Reds", vmin=0, vmax=100, aspect="auto")
        for row, of_rule in enumerate(percent):
            for column, value in enumerate(of_rule):
                # What is not known is said, and light on dark as dark on light can be read.
                label = "–" if rates[row][column] is None else f"{value:.1f}"
                axes.text(column, row, label, ha="center", va="center",
                          color="white" if value > 60 else "black")  # fmt: skip
        axes.set_xticks(range(len(self.document.models)),
                        [drawn_name(each.name) for each in self.document.models])  # fmt: skip
        axes.set_yticks(range(len(self.rules)), [drawn_name(each.rule) for each in self.rules])
        axes.set_title("per cent of the rows on which a model fails a rule")
        return axes

    def save(self, folder: str | Path) -> None:
        """Write what `sears compare -o` writes: comparison.html, comparison.md, comparison.json.

        Raises:
            DataError: a file cannot be written.
        """
        from sears_dsl.auditing.reports.files import write_grid_files

        write_grid_files(self.document, Path(folder))
