"""``sears.compare``: audits of the same rows side by side, two of them or a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sears_dsl.api.auditing import AnyAudit, audit_document, named_audits
from sears_dsl.api.given import in_python
from sears_dsl.api.results import Result, drawn_name
from sears_dsl.runtime.extras import need_audit, need_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.auditing.comparison import ComparisonDocument, RuleComparison
    from sears_dsl.auditing.grid import GridDocument, GridRule


class ComparisonResult(Result):
    """Two audits of the same rows side by side.

    Attributes:
        document: all that was counted.
    """

    def __init__(self, document: ComparisonDocument) -> None:
        self.document = document

    @property
    def rules(self) -> tuple[RuleComparison, ...]:
        """Each rule with what changed."""
        return self.document.rules

    @property
    def worse(self) -> bool:
        """Whether the second is clearly worse (p < 0.05, Holm)."""
        return bool(self.document.worse)

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row a rule; rows are those that both models have right."""
        rules = self.rules
        pairs = [each.failures for each in rules]
        return {
            "id": [each.id for each in rules],
            "rule": [each.rule for each in rules],
            "outcome": [each.outcome for each in rules],
            "rows": [each.rows for each in pairs],
            "before": [each.first_rate for each in pairs],
            "after": [each.second_rate for each in pairs],
            "low": [each.low for each in pairs],
            "high": [each.high for each in pairs],
            "p_value": [each.adjusted_p_value for each in pairs],
        }

    @property
    def summary(self) -> str:
        """How many rules are better and worse, and what became of accuracy."""
        return "; ".join(self.document.summary)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The failure rate of each rule that was compared, before and after.

        Args:
            axes: where to draw; None for a new figure.

        Raises:
            UsageError: matplotlib is not installed.
        """
        need_plots()
        compared = [each for each in self.rules if each.failures.rows]
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
        places = range(len(compared))
        for name, rates in (
            ("before", [each.failures.first_rate for each in compared]),
            ("after", [each.failures.second_rate for each in compared]),
        ):
            axes.plot([100 * (rate or 0.0) for rate in rates], places, "o", label=name)
        axes.set_yticks(places, [drawn_name(each.rule) for each in compared])
        axes.invert_yaxis()
        axes.set_xlabel("per cent of the rows on which the model fails a rule")
        axes.legend()
        return axes

    def save(self, folder: str | Path) -> None:
        """Write what `sears compare -o` writes: comparison.html, comparison.md, comparison.json.

        Raises:
            DataError: a file cannot be written.
        """
        from sears_dsl.auditing.reports.files import write_comparison_files

        write_comparison_files(self.document, Path(folder))


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
                told = "–" if rates[row][column] is None else f"{value:.1f}"
                axes.text(column, row, told, ha="center", va="center",
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


@overload
def compare(before: AnyAudit, after: AnyAudit) -> ComparisonResult: ...
@overload
def compare(
    before: AnyAudit, after: AnyAudit, third: AnyAudit, /, *more: AnyAudit
) -> GridResult: ...
def compare(before: AnyAudit, after: AnyAudit, *more: AnyAudit) -> ComparisonResult | GridResult:
    """Set audits of the same rows side by side: models, or versions of one.

    What `sears compare` does: each rule is compared on the rows that both models have right, by
    McNemar's exact test. With more audits all are held against the first.

    Args:
        before: an audit, the folder that `sears audit` wrote, or the audit.json in it.
        after: likewise.
        more: likewise, for a grid of models and rules. There audits are called by their folders,
            or by their number, such as ``audit 2``, where not all are folders.

    Returns:
        Of two audits a comparison; of more a grid.

    Raises:
        UsageError: audits that cannot be compared, or something else than audits.
        DataError: a file that is no audit.

    Example:
        >>> import sears_dsl as sears
        >>> rows = [(f"This movie is number {number}.", "good") for number in range(30)]
        >>> def audit(predict):
        ...     return sears.audit(predict, rows, sears.parse("movie -> film"), scorer=None)
        >>> brittle = audit(lambda texts: ["bad" if "film" in text else "good" for text in texts])
        >>> robust = audit(lambda texts: ["good" for _ in texts])
        >>> sears.compare(brittle, robust).columns["outcome"]
        ['better']
        >>> sears.compare(brittle, robust, brittle).columns["outcome"]
        [None, 'better', 'no evidence']
    """
    need_audit()
    from sears_dsl.auditing.comparison import compare as compare_documents
    from sears_dsl.auditing.grid import grid

    with in_python():
        if more:
            return GridResult(grid(named_audits([before, after, *more])))
        return ComparisonResult(compare_documents(audit_document(before), audit_document(after)))
