"""Defaults follow from the number of rows."""

from __future__ import annotations

from typing import Any

import pytest

from sears_dsl.discovery.settings import Budget, Settings, paper_choices
from sears_dsl.errors import UsageError


@pytest.mark.parametrize(("right", "share"), [(99, 0.0), (100, 0.3)])
def test_of_few_rows_none_are_held_out(right: int, share: float) -> None:
    assert Settings().share_held_out(right) == share
    assert Settings(holdout=0.5).share_held_out(right) == 0.5


@pytest.mark.parametrize(
    ("chosen", "searched", "new", "known", "fewest"),
    [
        ({}, 199, 2, 2, 1),
        ({}, 200, 3, 2, 1),
        ({"order": "paper"}, 9, 3, 2, 1),
        ({"minimum_flips": 6}, 9, 6, 6, 6),
    ],
)
def test_how_many_rows_a_rule_has_to_flip(
    chosen: dict[str, Any], searched: int, new: int, known: int, fewest: int
) -> None:
    settings = Settings(**chosen)
    flips = settings.flips(searched), settings.known_flips(searched), settings.fewest_known_flips
    assert flips == (new, known, fewest)


def test_the_papers_order_has_no_limit_of_questions() -> None:
    assert Settings().questions(100) == 2000
    assert Settings(order="paper").questions(100) is None
    assert Settings(order="paper", max_questions=7).questions(100) == 7


def test_a_limit_of_one_question_is_for_a_row() -> None:
    assert Settings(max_questions=1).questions_for_rows == 1
    assert Settings(max_questions=10).questions_for_rows == 5


def test_the_last_stage_has_all_the_time_that_is_left() -> None:
    now = 0.0
    budget = Budget(10.0, lambda: now, order="paper", last="adversaries")
    in_time = budget.stage("adversaries")
    assert in_time()
    now = 9.9
    assert in_time()
    now = 10.0
    assert not in_time()
    assert budget.reached == ["adversaries"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 1.0), ("minimum_frequency", 2), ("minimum_flips", 0), ("budget_seconds", 0)],
)
def test_settings_that_mean_nothing_are_refused(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"--{name.replace('_', '-')} {value} is not valid"):
        Settings(**{name: value})


def test_what_a_person_chose_counts_before_the_paper() -> None:
    assert paper_choices({})["minimum_flips"] == 6
    assert paper_choices({"delta": 0.2})["delta"] == 0.2
    assert "tau" in paper_choices({})
    assert "tau" not in paper_choices({"scorer": "judge"})
    # What the function of Python has as numbers cannot be told from a choice of the same number.
    assert (paper_choices({})["delta"], paper_choices({})["minimum_frequency"]) == (
        Settings().delta, Settings().minimum_frequency,
    )  # fmt: skip
