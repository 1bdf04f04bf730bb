"""The conclusion of a repair, and when it passes a gate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sears_dsl.errors import UsageError
from sears_dsl.repair.experiment import ErrorRow, Repair
from sears_dsl.repair.measurement import Outcomes, change, estimate
from sears_dsl.repair.report import (
    RepairGate,
    conclusion,
    judge_repair,
    measured_rows,
    seeds_cell,
)

HALF = RepairGate(fall=0.5)


def measured(
    before: NDArray[np.bool_], after: NDArray[np.bool_], control: NDArray[np.bool_] | None = None
) -> ErrorRow:
    one, other, third = (
        None if wrong is None else Outcomes(wrong, np.ones_like(wrong), np.arange(wrong.shape[1]))
        for wrong in (before, after, control)
    )
    assert one is not None
    assert other is not None
    return ErrorRow(
        original=estimate(one),
        augmented=estimate(other),
        control=None if third is None else estimate(third),
        change=change(one, other),
        control_change=None if third is None else change(one, third),
    )


def wrong(count: int, rows: int, *, first: int = 0) -> NDArray[np.bool_]:
    """``count`` wrong rows in each of two seeds."""
    places = np.arange(rows)
    return np.tile((places >= first) & (places < first + count), (2, 1))


def repaired(validation: ErrorRow, sensitivity: ErrorRow) -> Repair:
    return Repair(
        validation=validation,
        sensitivity=sensitivity,
        same_rows=sensitivity,
        untouched=sensitivity,
        rewritten=sensitivity,
        rules=(),
        training_rows=100,
        added=10,
        wanted=None,
        held_out_rows=int(validation.original.rows),
        rewritten_rows=1,
        rewrites=1,
        shared=0,
        left_out={},
    )


def same(rows: int) -> ErrorRow:
    return measured(wrong(rows // 10, rows), wrong(rows // 10, rows))


def fell(rows: int = 200) -> ErrorRow:
    return measured(wrong(rows // 4, rows), wrong(rows // 40, rows))


def test_a_repair_that_is_large_and_costs_nothing_passes() -> None:
    done = repaired(same(400), fell())
    verdict = judge_repair(done, HALF)
    assert (verdict.outcome, verdict.reasons) == ("passed", ())
    assert conclusion(done) == (
        "The repair helped: the error on the sensitivity set went from 25.0% to 2.5%; "
        "the validation error grows by at most 0.7 points."
    )


def test_thirty_rows_do_not_pass_for_want_of_evidence_against_them() -> None:
    """Nothing changed, or little: 30 rows cannot rule out that five in a hundred get worse."""
    for validation in (same(30), measured(wrong(3, 30), wrong(2, 30)),
                       measured(wrong(3, 30), wrong(3, 30, first=1))):  # fmt: skip
        verdict = judge_repair(repaired(validation, fell()), HALF)
        assert verdict.outcome == "not judged"
        assert verdict.reasons[0].startswith(
            "30 held-out rows are too few to tell whether the validation error grows by more than "
            "5.0 points"
        )
    # From 10% to 23%: the interval contains 0, but nobody would say that it is no worse.
    worse = judge_repair(repaired(measured(wrong(3, 30), wrong(7, 30)), fell()), HALF)
    assert worse.outcome == "failed"
    assert "grows by 13.3 points, more than the 5.0 allowed" in worse.reasons[0]
    assert judge_repair(repaired(same(30), fell()), RepairGate(fall=0.5, margin=0.1)).outcome == (
        "passed"
    )


def test_what_is_just_demanded_is_met() -> None:
    """In floats 1 - 0.4/0.5 is less than 0.2, and 0.65 - 0.6 more than 0.05."""
    fall = measured(wrong(100, 200), wrong(80, 200))
    grown = measured(wrong(120, 200), wrong(130, 200))
    verdict = judge_repair(repaired(grown, fall), RepairGate(fall=0.2))
    assert verdict.outcome == "not judged"
    assert len(verdict.reasons) == 1  # only that validation may grow by more than the margin


def test_a_fall_has_a_support_and_an_interval() -> None:
    """One flipped rewrite that is repaired is a fall of all there was, and says nothing."""
    one = measured(wrong(1, 19), wrong(0, 19))
    verdict = judge_repair(repaired(same(400), one), HALF)
    assert (verdict.outcome, verdict.reasons) == (
        "not judged", ("the error on the sensitivity set rests on 19 rows; 20 are needed",)
    )  # fmt: skip
    enough = judge_repair(repaired(same(400), measured(wrong(20, 20), wrong(0, 20))), HALF)
    assert enough.outcome == "passed"
    by_chance = judge_repair(repaired(same(400), measured(wrong(1, 40), wrong(0, 40))), HALF)
    assert by_chance.outcome == "not judged"
    assert "went from 1 of 40 to 0 of 40, but this may be chance" in by_chance.reasons[0]
    less = judge_repair(repaired(same(400), measured(wrong(5, 40), wrong(4, 40))), HALF)
    assert less.reasons[0].endswith(
        "went from 5 of 40 to 4 of 40, less than the fall of 50.0% required"
    )
    small = judge_repair(repaired(same(400), measured(wrong(100, 200), wrong(80, 200))), HALF)
    assert (small.outcome, small.reasons) == (
        "failed", ("the error on the sensitivity set falls by 20.0%, less than the 50.0% required",)
    )  # fmt: skip
    nothing = judge_repair(repaired(same(400), same(5)), RepairGate(fall=0))
    assert nothing.outcome == "not judged"
    none = measured(wrong(0, 50), wrong(0, 50))
    assert "no error to reduce" in judge_repair(repaired(same(400), none), HALF).reasons[0]


@pytest.mark.parametrize("rows", [40, 200])
def test_a_validation_error_that_grows_by_the_margin_passes_in_at_most_one_of_forty(
    rows: int,
) -> None:
    draw, repairs = np.random.default_rng(2), fell()
    passed, times = 0, 120
    for _ in range(times):
        before = np.tile(draw.random(rows) < 0.1, (2, 1))
        after = before | np.tile(draw.random(rows) < 0.2 / 0.9, (2, 1))
        passed += judge_repair(
            repaired(measured(before, after), repairs), RepairGate(fall=0.5, margin=0.2)
        ).outcome == "passed"  # fmt: skip
    assert passed <= 0.025 * times + 4


@pytest.mark.parametrize(
    ("sensitivity", "wanted"),
    [(measured(wrong(0, 30), wrong(0, 30)),
      "There was nothing to repair: no rule flips the model on any of 30 rows."),
     (measured(wrong(3, 30), wrong(2, 30)), "No evidence that the repair helped: the error on the "
      "sensitivity set went from 3 of 30 to 2 of 30, -3.3 points (95%: -13.7 to +7.4); 30 rows are "
      "too few to tell."),
     (measured(wrong(100, 200), wrong(150, 200)), "The repair did harm: the error on the "
      "sensitivity set went from 50.0% to 75.0%; the validation error grows by at most "
      "0.7 points."),
     (measured(wrong(100, 200), wrong(50, 200), wrong(40, 200)), "The repair helped: the error on "
      "the sensitivity set went from 50.0% to 25.0%, but random copies of rows did as much (to "
      "20.0%); the validation error grows by at most 0.7 points.")],
)  # fmt: skip
def test_a_repair_is_reported_in_a_sentence(sensitivity: ErrorRow, wanted: str) -> None:
    assert conclusion(repaired(same(400), sensitivity)) == wanted


def test_of_few_rows_there_are_counts_and_no_shares_of_them() -> None:
    """One row of seven is 14%, and a change that mends it 100% less: too bold for one row."""
    few = measured(wrong(1, 7), wrong(0, 7), wrong(2, 7))
    _, (_, before, after, _, fall, control), *_ = measured_rows(repaired(same(400), few))
    assert before.startswith("1 of 7 (")
    assert after.startswith("0 of 7 (")
    assert control.startswith("2 of 7 (")
    assert fall == "1 of 7 → 0 of 7"
    assert seeds_cell(few.original) == "fewer than 10 rows"
    sentence = conclusion(repaired(same(400), few))
    assert "went from 1 of 7 to 0 of 7, -14.3 points" in sentence


def test_where_few_were_wrong_there_is_no_relative_change() -> None:
    """The rows are many, so their rates are shown; nine wrong ones are no base of a share."""
    nine, ten = (measured(wrong(count, 400), wrong(1, 400)) for count in (9, 10))
    _, (_, before, _, _, fall, _), *_ = measured_rows(repaired(same(400), nine))
    assert before.startswith("2.2% (")
    assert fall == "9 of 400 → 1 of 400"
    assert measured_rows(repaired(same(400), ten))[1][4].startswith("90% less (")


def test_random_copies_that_do_just_as_much_are_named() -> None:
    before, after = wrong(50, 200), wrong(5, 200)
    for control, named in ((after, True), (wrong(6, 200), False)):
        done = repaired(same(400), measured(before, after, control))
        assert ("random copies of rows did as much" in conclusion(done)) is named


def test_where_nothing_counts_nothing_is_claimed() -> None:
    flags = np.ones((2, 3), np.bool_)
    nothing = Outcomes(flags, ~flags, np.arange(3))
    empty = ErrorRow(
        original=estimate(nothing), augmented=estimate(nothing), control=None,
        change=change(nothing, nothing), control_change=None,
    )  # fmt: skip
    done = repaired(same(400), empty)
    assert conclusion(done).startswith("Nothing can be said")
    assert judge_repair(done, HALF).outcome == "not judged"


def test_what_cannot_be_demanded_is_refused() -> None:
    with pytest.raises(UsageError, match="has impossible values"):
        RepairGate(fall=1.5)


@pytest.mark.parametrize(
    ("before", "after", "rows", "points", "share"),
    [
        (250, 251, 1_000, "+0.1", "under 1% more"),
        (251, 250, 1_000, "-0.1", "under 1% less"),
        (2_500, 2_501, 10_000, "0.0", "0%"),
        (250, 250, 1_000, "0.0", "0%"),
        (200, 20, 1_000, "-18.0", "90% less"),
        (20, 30, 1_000, "+1.0", "50% more"),
    ],
)
def test_a_change_and_its_share_go_the_same_way(
    before: int, after: int, rows: int, points: str, share: str
) -> None:
    one = measured(wrong(before, rows), wrong(after, rows))
    for _, _, _, difference, fall, _ in measured_rows(repaired(one, one)):
        assert difference.startswith(f"{points} (")
        assert fall.startswith(f"{share} (")
        assert "-0.0" not in difference
