"""``sears.compare``: audits of the same rows side by side, two of them or a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sears_dsl.api.arguments import in_python
from sears_dsl.api.auditing import AnyAudit, audit_document, named_audits
from sears_dsl.api.grids import GridResult
from sears_dsl.api.results import Result, drawn_name
from sears_dsl.runtime.extras import need_audit, need_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.auditing.comparison import ComparisonDocument, RuleComparison


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
