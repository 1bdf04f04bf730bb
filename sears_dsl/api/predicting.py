"""``sears.predict_errors``: what predicts that a model fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sears_dsl.api.arguments import in_python, names_of, names_of_columns, read_once
from sears_dsl.api.auditing import AnyAudit, named_audits
from sears_dsl.api.results import Result, drawn_name
from sears_dsl.runtime.extras import need_audit, need_learning, need_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sears_dsl.auditing.failures.document import ErrorsDocument, FeatureRecord


class ErrorsResult(Result):
    """What predicts that a model fails.

    Attributes:
        document: all that was learned.
    """

    def __init__(self, document: ErrorsDocument) -> None:
        self.document = document

    @property
    def features(self) -> tuple[FeatureRecord, ...]:
        """What is known of the answers, worth most first."""
        return self.document.features

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row a feature; importance is what micro F1 loses where it is shuffled."""
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
        """How well errors are told, and by what."""
        return self.document.conclusion

    def plot(self, axes: Axes | None = None) -> Axes:
        """The importance of each feature with its 95% interval.

        Args:
            axes: where to draw; None for a new figure.

        Raises:
            UsageError: matplotlib is not installed.
        """
        need_plots()
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
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
        axes.set_yticks(places, [drawn_name(each.name) for each in self.features])
        axes.invert_yaxis()
        axes.set_xlabel("micro F1 lost where a feature is shuffled, points")
        return axes

    def save(self, folder: str | Path) -> None:
        """Write what `sears errors -o` writes: errors.html, errors.md, errors.json.

        Raises:
            DataError: a file cannot be written.
        """
        from sears_dsl.auditing.reports.files import write_errors_files

        write_errors_files(self.document, Path(folder))


def predict_errors(
    audits: AnyAudit | Sequence[AnyAudit] | Mapping[str, AnyAudit],
    data: object = None,
    *,
    features: Sequence[str] = (),
    seed: int = 0,
) -> ErrorsResult:
    """Learn what predicts that a model fails, and how well it does.

    What `sears errors` does, with its defaults.

    Args:
        audits: an audit, the folder that `sears audit` wrote, several of these of the same rows,
            or a mapping from names to them.
        data: the rows that were audited; None where nothing is to be known of their texts.
        features: further features: columns of the data, or what is computed of them, such as
            ``agreement(answers)``.
        seed: of the folds and of what is shuffled.

    Raises:
        UsageError: audits of other rows, too few answers or only one kind of them, or scikit-learn
            is not installed.
        DataError: a file that is no audit, or rows that were not audited.

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
    need_audit()
    need_learning()
    from sears_dsl.auditing.failures.prediction import predict_errors as predict

    features = names_of(features)
    names_of_columns(features=features)
    with in_python():
        return ErrorsResult(
            predict(named_audits(audits), data=read_once(data), features=features, seed=seed)
        )
