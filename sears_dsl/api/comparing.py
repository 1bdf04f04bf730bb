"""``sears.compare``: audits side by side; ``sears.predict_errors``: what predicts errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from sears_dsl.api.arguments import in_python, names_of, names_of_columns, read_once, whole_numbers
from sears_dsl.api.auditing import AnyAudit, GridResult, audit_document, named_audits
from sears_dsl.api.results import DocumentResult, bar_label, name_lines, new_axes, omission_note
from sears_dsl.language.printer import rule_called
from sears_dsl.runtime.extras import need_learning

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.auditing.comparison import ComparisonDocument, RuleComparison
    from sears_dsl.auditing.failures import ErrorsDocument, FeatureRecord


@dataclass(eq=False, repr=False)
class ComparisonResult(DocumentResult):
    """Two audits of the same rows side by side; ``document`` has all counts."""

    document: ComparisonDocument

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
        """One row per rule, counted on the texts that both models have right."""
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
    def shown_columns(self) -> Mapping[str, Sequence[Any]]:
        """The rules that were compared."""
        compared = [each for each in self.rules if each.outcome != "not compared"]
        pairs = [each.failures for each in compared]
        return {
            "rule": [rule_called(each.rule, each.id) for each in compared],
            "outcome": [each.outcome for each in compared],
            "rows": [each.rows for each in pairs],
            "before → after": [each.in_percent for each in pairs],
            "points (95%)": [each.in_points for each in pairs],
            "p (Holm)": [each.adjusted_p_value for each in pairs],
        }

    @property
    def shown_below(self) -> str:
        """The rules that were not compared, some of them by name."""
        missing = [each for each in self.rules if each.outcome == "not compared"]
        names = [rule_called(each.rule, each.id) for each in missing]
        return omission_note(names, ("rule is not compared", "rules are not compared"))

    @property
    def summary(self) -> str:
        """How many rules are better and worse, and how accuracy changed."""
        return "; ".join(self.document.summary)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The failure rate of each rule that was compared, before and after."""
        compared = [each for each in self.rules if each.failures.rows]
        axes = new_axes(axes, lines=len(compared) + 1)
        before = [100 * (each.failures.first_rate or 0.0) for each in compared]
        after = [100 * (each.failures.second_rate or 0.0) for each in compared]
        places = range(len(compared))
        axes.hlines(places, before, after, color="#bbbbbb", zorder=0)
        axes.plot(before, places, "o", markerfacecolor="white", label="before")
        axes.plot(after, places, "o", color="C0", label="after")
        if not any((*before, *after)):
            # Around nothing but zeros there would be rates below zero.
            axes.set_xlim(0, 100)
        axes.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
        labels = [bar_label(each.rule, each.id) for each in compared]
        return name_lines(axes, labels, "rows on which the model fails a rule, per cent")


@overload
def compare(before: AnyAudit, after: AnyAudit) -> ComparisonResult: ...
@overload
def compare(
    before: AnyAudit, after: AnyAudit, third: AnyAudit, /, *more: AnyAudit
) -> GridResult: ...
def compare(before: AnyAudit, after: AnyAudit, *more: AnyAudit) -> ComparisonResult | GridResult:
    """Compare audits of the same rows: of several models, or of versions of one.

    As in `sears compare`, each rule is compared by McNemar's exact test on the rows that both
    models have right. With more than two audits, each is compared with the first.

    Args:
        before: an audit, the folder that `sears audit` wrote, or the audit.json in it.
        after: likewise.
        more: likewise, for a grid of models and rules. There audits are named by their folders,
            or by their number, such as ``audit 2``, if not all are folders.

    Returns:
        A comparison of two audits; a grid of more.

    Raises:
        UsageError: audits that cannot be compared, or arguments that are not audits.
        DataError: a file that is not an audit.

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
    from sears_dsl.auditing.comparison import compare as compare_documents
    from sears_dsl.auditing.grids import grid

    with in_python():
        if more:
            return GridResult(grid(named_audits([before, after, *more])))
        return ComparisonResult(compare_documents(audit_document(before), audit_document(after)))


@dataclass(eq=False, repr=False)
class ErrorsResult(DocumentResult):
    """What predicts that a model fails; ``document`` has all that was learned."""

    document: ErrorsDocument

    @property
    def features(self) -> tuple[FeatureRecord, ...]:
        """The features of the answers, the most important first."""
        return self.document.features

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per feature; its importance is what micro F1 loses if it is shuffled."""
        features = self.features
        return {
            "feature": [each.name for each in features],
            "kind": [each.kind for each in features],
            "known": [each.known for each in features],
            "importance": [each.importance.mean for each in features],
            "low": [each.importance.low for each in features],
            "high": [each.importance.high for each in features],
        }

    @property
    def summary(self) -> str:
        """How well errors are predicted, and by which features."""
        return self.document.conclusion

    def plot(self, axes: Axes | None = None) -> Axes:
        """The importance of each feature with its 95% interval."""
        axes = new_axes(axes, lines=len(self.features))
        places = range(len(self.features))
        worth = [each.importance for each in self.features]
        axes.errorbar(
            [100 * each.mean for each in worth],
            places,
            xerr=[
                [100 * (each.mean - each.low) for each in worth],
                [100 * (each.high - each.mean) for each in worth],
            ],
            fmt="o",
        )
        labels = [bar_label(each.name) for each in self.features]
        return name_lines(axes, labels, "micro F1 lost where a feature is shuffled, points")


def predict_errors(
    audits: AnyAudit | Sequence[AnyAudit] | Mapping[str, AnyAudit],
    data: object = None,
    *,
    features: Sequence[str] = (),
    seed: int = 0,
) -> ErrorsResult:
    """Learn what predicts that a model fails, and how well it does.

    Does what `sears errors` does, with the same defaults.

    Args:
        audits: an audit, the folder that `sears audit` wrote, several of these of the same rows,
            or a mapping from names to them.
        data: the rows that were audited; None to use nothing of their texts.
        features: further features: columns of the data, or values computed from them, such as
            ``agreement(answers)``.
        seed: of the folds and of the shuffling.

    Raises:
        UsageError: audits of other rows, too few answers or only one kind of them, or scikit-learn
            is not installed.
        DataError: a file that is not an audit, or rows that were not audited.

    Example:
        >>> import sears_dsl as sears
        >>> rows = [(f"A movie, {number} of {number % 3}.", "good") for number in range(120)]
        >>> def predict(texts):
        ...     return ["bad" if "film" in text and "of 0" in text else "good" for text in texts]
        >>> audited = sears.audit(predict, rows, sears.parse("movie -> film"), scorer=None)
        >>> result = sears.predict_errors(audited)
        >>> result.document.wrong.count, result.document.wrong.total
        (40, 240)
    """
    need_learning()
    from sears_dsl.auditing.failures import predict_errors as predict

    features = names_of(features)
    names_of_columns(features=features)
    whole_numbers(None, seed=seed)
    with in_python():
        return ErrorsResult(
            predict(named_audits(audits), data=read_once(data), features=features, seed=seed)
        )
