"""Several draws of noise: what each does, the mean and the worst, and rows that hold in most."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import call

import sears_dsl as sears

RULES = "set NEW = fine | nice | fun\nrule drawn: good -> @NEW\nrule fixed: movie -> film\n"
ROWS = [(f"a good movie no {number}", "positive") for number in range(40)]


def predict(texts: Sequence[str]) -> list[str]:
    """Does not know `fun`."""
    return ["negative" if " fun " in text else "positive" for text in texts]


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_rows_are_locally_robust_by_what_all_draws_write(draws: int) -> None:
    rules = sears.parse(RULES)
    found = sears.audit(predict, ROWS, rules, scorer=None, tolerance="50%", draws=draws)
    assert found.robustness is not None
    [record] = [each for each in found.robustness.records if each.name == "drawn"]
    matcher = rules.compile()
    texts = [text for text, _ in ROWS]
    wrong = np.zeros((draws, len(ROWS)), np.bool_)
    for draw in range(draws):
        for rewrite in matcher.apply(texts, draw=draw):
            if rewrite.rule == 0:
                wrong[draw, rewrite.row] = " fun " in rewrite.text
    assert (record.rows, record.rewrites) == (40, 40 * draws)
    assert record.after == pytest.approx(1 - wrong.mean())
    assert record.local.count == int((wrong.mean(axis=0) <= 0.5).sum())
    # What does not draw is the same in every draw, and counts once.
    [fixed] = [each for each in found.robustness.records if each.name == "fixed"]
    assert fixed.rewrites == 40
    if draws == 1:
        assert found.document.drawn == ()
        return
    [drawn] = found.document.drawn
    rates = wrong.mean(axis=1)
    assert drawn.rates == pytest.approx(rates.tolist())
    assert (drawn.mean, drawn.worst) == (pytest.approx(rates.mean()), rates.max())
    assert drawn.any_draw.count == int(wrong.any(axis=0).sum())


def test_the_command_says_mean_and_worst(tmp_path: Path) -> None:
    (tmp_path / "rules.sear").write_text(RULES)
    (tmp_path / "no_fun.py").write_text(
        "def predict(texts):\n"
        '    return ["negative" if " fun " in text else "positive" for text in texts]\n'
    )
    lines = "".join(f"{text},{label}\n" for text, label in ROWS)
    (tmp_path / "rows.csv").write_text(f"text,label\n{lines}")
    done = call(
        "audit", "rules.sear", "--model", "no_fun:predict", "--data", "rows.csv", "--label",
        "label", "--scorer", "none", "--draws", "3", "-o", "audit", folder=tmp_path,
    )  # fmt: skip
    [drawn] = json.loads((tmp_path / "audit" / "audit.json").read_text())["drawn"]
    assert f"drawn over 3 draws: fails {100 * drawn['mean']:.1f}% of the rows" in done.stderr
    assert "## Over 3 draws" in (tmp_path / "audit" / "audit.md").read_text()
    assert "<h2>Over 3 draws</h2>" in (tmp_path / "audit" / "audit.html").read_text()
