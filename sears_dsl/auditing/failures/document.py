"""What predicts that a model fails, as one JSON document.

In: what was learned from audits. Out: `ErrorsDocument`, checked field by field. Always holds: the
page and the Markdown are made of it alone; no date and no path is in it, so that the same audits
and the same seed write the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sears_dsl.auditing.shares import Share
from sears_dsl.discovery.result.manifest import DataIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class OverFolds:
    """A number of each fold.

    Attributes:
        mean: their mean.
        deviation: their standard deviation.
        low: lower end of the 95% interval of the mean (Nadeau and Bengio).
        high: its upper end.
        folds: the numbers.
    """

    mean: float
    deviation: float
    low: float
    high: float
    folds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartErrors:
    """The answers of which a feature says the same, or nearly.

    Attributes:
        value: which part.
        wrong: wrong answers of them.
    """

    value: str
    wrong: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRecord:
    """Something that is known of each answer, and what it is worth.

    Attributes:
        name: such as ``rule`` or ``words(context)``.
        kind: whether its values are numbers or names.
        known: for how many answers it is known.
        importance: micro F1 that is lost where its values are shuffled among the judged answers.
        parts: wrong answers by its values, at most twelve.
    """

    name: str
    kind: Literal["number", "category"]
    known: int
    importance: OverFolds
    parts: tuple[PartErrors, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditName:
    """An audit that was learned from.

    Attributes:
        name: by which it is told from the others.
        model: that was audited.
        answers: of it.
        wrong: wrong ones of them.
    """

    name: str
    model: str
    answers: int
    wrong: Share


class ErrorsDocument(BaseModel):
    """Everything about what predicts that a model fails; features are those worth most first."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal["sears-errors"] = "sears-errors"
    version: Literal[1] = 1
    audits: tuple[AuditName, ...]
    data: DataIdentity
    with_data: bool
    wrong: Share
    seed: int
    majority: Literal["right", "wrong"]
    majority_f1: OverFolds
    f1: OverFolds
    over_majority: OverFolds
    features: tuple[FeatureRecord, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]

    @property
    def foretold(self) -> bool:
        """Whether errors are told better than by the majority class, beyond chance."""
        return self.over_majority.low > 0

    @property
    def conclusion(self) -> str:
        """What to think of it, in a sentence."""
        points = 100 * self.over_majority.mean
        scores = (
            f"micro F1 {self.f1.mean:.3f} against {self.majority_f1.mean:.3f} of always saying "
            f"“{self.majority}” ({points:+.1f} points, {100 * self.over_majority.low:+.1f} to "
            f"{100 * self.over_majority.high:+.1f})"
        )
        if not self.foretold:
            return f"Nothing that is known of an answer says whether it is wrong: {scores}."
        telling = [each.name for each in self.features if each.importance.low > 0][:3]
        by = f", most by {', '.join(telling)}" if telling else ""
        return f"Wrong answers can be foreseen{by}: {scores}."
