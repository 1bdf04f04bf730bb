"""What to think of a repair: a sentence always, and a verdict where something is demanded.

In: a `Repair`, perhaps a `RepairGate`. Out: text, a `RepairVerdict`. Always holds: a demand of
which the rows cannot tell whether it is met is neither passed nor failed, so that few rows never
pass for want of evidence against them; the sentence claims what the 95% intervals allow.

That validation gets no worse is a test of non-inferiority: the upper end of the interval of its
change lies at or below a margin. A change that is not significant would prove nothing, since it
is never significant on few rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sears_dsl.errors import UsageError
from sears_dsl.repair.experiment import Repair
from sears_dsl.repair.measurement import ErrorChange

RepairOutcome: TypeAlias = Literal["passed", "failed", "not judged"]

#: By so much the validation error may grow.
MARGIN = 0.05
_FAILED: RepairOutcome = "failed"
_NOT_JUDGED: RepairOutcome = "not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairGate:
    """What is demanded of a repair.

    Attributes:
        fall: the share by which the error on the sensitivity set falls at least.
        margin: by how much the validation error may grow at most, as a share of the rows.
        support: on fewer rows the fall is not judged.

    Raises:
        UsageError: shares outside [0, 1], or a support below 1.
    """

    fall: float
    margin: float = MARGIN
    support: int = 20

    def __post_init__(self) -> None:
        if not (0 <= self.fall <= 1 and 0 <= self.margin <= 1 and self.support >= 1):
            raise UsageError(
                f"{self} demands what cannot be",
                help="fall and margin lie between 0 and 1, the support is at least 1",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairVerdict:
    """Whether a repair does what is demanded.

    Attributes:
        outcome: ``failed`` where a demand is not met; ``not judged`` where of one the rows cannot
            tell; else ``passed``.
        reasons: for each demand that is not passed, in a sentence; what failed first.
    """

    outcome: RepairOutcome
    reasons: tuple[str, ...]


def judge_repair(repair: Repair, gate: RepairGate) -> RepairVerdict:
    """The verdict, with its reasons."""
    judgements = [
        *_judged_fall(repair, gate),
        *_judged_validation(repair.validation.change, repair, gate),
    ]
    failed = [reason for outcome, reason in judgements if outcome == _FAILED]
    unknown = [reason for outcome, reason in judgements if outcome == _NOT_JUDGED]
    outcome: RepairOutcome = "failed" if failed else "not judged" if unknown else "passed"
    return RepairVerdict(outcome=outcome, reasons=(*failed, *unknown))


def _judged_fall(repair: Repair, gate: RepairGate) -> Iterator[tuple[RepairOutcome, str]]:
    measured = repair.sensitivity
    rows, change = _sensitive_rows(repair), measured.change
    if rows < gate.support:
        yield (
            _NOT_JUDGED,
            f"the error on the sensitivity set rests on {_rows(rows)}, {gate.support} are needed",
        )
    elif change.fall is None or change.interval is None:
        yield _NOT_JUDGED, "no rule flips the model before, so there is no error that could fall"
    elif change.fall < gate.fall:
        yield (
            _FAILED,
            f"the error on the sensitivity set falls by {_percent(change.fall)}, less than "
            f"{_percent(gate.fall)}",
        )
    elif change.interval[1] >= 0:
        yield (
            _NOT_JUDGED,
            f"the error on the sensitivity set falls by {_percent(change.fall)}, but that may be "
            f"chance: {_points(change)}",
        )


def _judged_validation(
    change: ErrorChange, repair: Repair, gate: RepairGate
) -> Iterator[tuple[RepairOutcome, str]]:
    if change.difference is None or change.interval is None:
        yield _NOT_JUDGED, "there is no validation error"
    elif change.difference > gate.margin:
        yield (
            _FAILED,
            f"the validation error grows by {_point(change.difference)} points, more than "
            f"{_point(gate.margin)}",
        )
    elif change.interval[1] > gate.margin:
        yield (
            _NOT_JUDGED,
            f"{repair.held_out_rows:,} held-out rows do not tell whether the validation error "
            f"grows by more than {_point(gate.margin)} points: it may, by "
            f"{_point(change.interval[1])}",
        )


def conclusion(repair: Repair, *, margin: float = MARGIN) -> str:
    """What to think of it, in one sentence.

    Args:
        margin: a growth of the validation error that is none to speak of.
    """
    measured = repair.sensitivity
    before, after, change = measured.original.error, measured.augmented.error, measured.change
    rows = _sensitive_rows(repair)
    if before is None or after is None or change.interval is None:
        return "Nothing can be said: the rules change no held-out row that the model has right."
    if not before and not after:
        return f"There was nothing to repair: no rule flips the model on any of {_rows(rows)}."
    low, high = change.interval
    went = f"the error on the sensitivity set went from {_percent(before)} to {_percent(after)}"
    if high < 0:
        return f"The repair helped: {went}{_beside(repair)}; {_validation(repair, margin)}."
    if low > 0:
        return f"The repair did harm: {went}; {_validation(repair, margin)}."
    about = f"{went}, {_points(change)}"
    few = f"{_rows(rows)} are too few to tell" if low <= -before else "that may be chance"
    return f"No evidence that it helped: {about}; {few}."


def _beside(repair: Repair) -> str:
    """Said where random copies of rows do as much as rewrites."""
    control, after = repair.sensitivity.control, repair.sensitivity.augmented.error
    if control is None or control.error is None or after is None or control.error > after:
        return ""
    return f", but so it did with random copies of rows instead (to {_percent(control.error)})"


def _validation(repair: Repair, margin: float) -> str:
    change = repair.validation.change
    if change.difference is None or change.interval is None:
        return "the validation error is not known"
    low, high = change.interval
    if low > 0:
        return f"but the validation error grew, by {_points(change)}"
    if high <= margin:
        return f"the validation error does not grow by more than {_point(max(high, 0.0))} points"
    return (
        f"{repair.held_out_rows:,} held-out rows do not tell whether the validation error grew, it "
        f"may have by {_point(high)} points"
    )


def _sensitive_rows(repair: Repair) -> float:
    """Rows on which the error on the sensitivity set rests, before or after, where it has fewer."""
    return min(repair.sensitivity.original.rows, repair.sensitivity.augmented.rows)


def _rows(count: float) -> str:
    return "1 row" if count == 1 else f"{count:,.0f} rows"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _point(share: float) -> str:
    return f"{100 * share:.1f}"


def _points(change: ErrorChange) -> str:
    """A difference in points with its interval; it is known to be there."""
    low, high = change.interval or (-1.0, 1.0)
    difference = change.difference or 0.0
    return f"{100 * difference:+.1f} points (95%: {100 * low:+.1f} to {100 * high:+.1f})"
