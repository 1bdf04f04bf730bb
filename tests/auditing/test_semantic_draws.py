"""Several draws of noise: each result, the mean and the worst, and rows that mostly hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import call

import sears_dsl as sears
from sears_dsl.auditing.gates import JudgeBy
from sears_dsl.auditing.grids import grid
from sears_dsl.auditing.reports.markdown import audit_markdown
from sears_dsl.auditing.reports.page import audit_page
from sears_dsl.statistics import percent

RULES = "set NEW = fine | nice | fun\nrule drawn: good -> @NEW\nrule fixed: movie -> film\n"
ROWS = [(f"a good movie no {number}", "positive") for number in range(40)]


def predict(texts: Sequence[str]) -> list[str]:
    """Does not know `fun`."""
    return ["negative" if " fun " in text else "positive" for text in texts]


RATED = "rule loud: /[a-z]+/ -> $1.upper\n  rate: 50%\nrule fixed: movie -> film\n"


def no_capitals(texts: Sequence[str]) -> list[str]:
    """Reads no word in capitals."""
    return ["positive" if text.islower() else "negative" for text in texts]


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
    # Rules that do not draw are the same in every draw, and count once.
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


def test_a_rule_that_another_draw_would_fail_is_named() -> None:
    """Limits judge the first draw; without a message five draws would look like five tests."""
    rules = sears.parse(RULES)
    five = sears.audit(predict, ROWS, rules, scorer=None, draws=5, seed=1).document
    [drawn] = five.drawn
    first, *_ = drawn.rates
    assert first is not None
    assert drawn.worst is not None
    assert first < drawn.worst
    told = (
        "1 rule passes in the first draw but would fail in another: "
        f"{drawn.id} ({percent(drawn.worst)})"
    )
    judged: list[tuple[float, JudgeBy, bool]] = [
        (first, "rate", True), (drawn.worst, "rate", False), (0.4, "evidence", False),
        (0.25, "evidence", True),
    ]  # fmt: skip
    for limit, judge_by, named in judged:
        found = sears.audit(
            predict, ROWS, rules, scorer=None, draws=5, seed=1, gates=[f"{drawn.id}={limit}"],
            judge_by=judge_by,
        )  # fmt: skip
        assert any(told in note for note in found.document.notes) is named


def test_a_comparison_says_which_draws_are_compared() -> None:
    rules = sears.parse(RULES)
    one, three = (sears.audit(predict, ROWS, rules, scorer=None, draws=draws) for draws in (1, 3))
    said = "draws of noise per audit: 1, 3; only the first draw of each is compared"
    both = sears.compare(one, three).document
    assert said in both.summary
    assert all(each.failures.only_first == each.failures.only_second == 0 for each in both.rules)
    assert said in grid({"one": one.document, "three": three.document}).summary
    assert not any("draws" in line for line in sears.compare(one, one).document.summary)


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
    assert f"drawn over 3 draws: fails on {100 * drawn['mean']:.1f}% of the rows" in done.stderr
    assert "## Over 3 draws" in (tmp_path / "audit" / "audit.md").read_text()
    assert "<h2>Over 3 draws</h2>" in (tmp_path / "audit" / "audit.html").read_text()


def test_accuracy_over_rates_is_of_all_rows_and_counted_again(tmp_path: Path) -> None:
    rules = sears.parse(RATED)
    found = sears.audit(no_capitals, ROWS, rules, scorer=None, rates="15%,5%, 100%")
    [curve] = found.document.rates
    assert [point.rate for point in curve.points] == [0, 0.05, 0.15, 1]
    texts = [text for text, _ in ROWS]
    for point in curve.points:
        changed = 0
        if point.rate:
            again = sears.parse(RATED.replace("rate: 50%", f"rate: {100 * point.rate:g}%"))
            changed = sum(rewrite.rule == 0 for rewrite in again.compile().apply(texts))
        # The model fails on what the rule changes, and on nothing else.
        assert (point.changed, point.accuracy.count) == (changed, 40 - changed)
    assert 0 < curve.points[1].changed < curve.points[2].changed < curve.points[3].changed == 40
    found.save(tmp_path)
    page, markdown = ((tmp_path / f"audit.{name}").read_text() for name in ("html", "md"))
    there = 100 * (40 - curve.points[2].changed) / 40
    assert f"{there:.3g}% at 15%" in page
    assert f"{there:.1f}%" in markdown
    assert "## Accuracy by rate of noise" in markdown
    assert sears.audit(no_capitals, ROWS, rules, scorer=None).document.rates == ()


def test_the_seed_of_an_audit_decides_its_noise_and_is_reported() -> None:
    rules = sears.parse(RATED)
    texts = [text for text, _ in ROWS]
    seen = []
    for seed in (0, 3):
        found = sears.audit(no_capitals, ROWS, rules, scorer=None, seed=seed, rates="25%").document
        loud = next(rule for rule in found.rules if rule.id == "loud")
        done = rules.compile().apply(texts, seed=seed)
        written = {one.row + 1: one.text for one in done if one.rule == 0}
        assert [int(row) for row in loud.rows.split()] == sorted(written)
        assert all(written[each.row] == each.rewritten for each in loud.examples)
        assert found.noise["seed"] == str(seed)
        assert found.noise["lookalikes"].startswith("unicode-")
        told = f"Noise: seed {seed}, lookalikes {found.noise['lookalikes']}."
        assert told in audit_page(found)
        assert told in audit_markdown(found)
        seen.append(tuple(each.rewritten for each in loud.examples))
    assert seen[0] != seen[1]
    one, other = (sears.audit(no_capitals, ROWS, rules, scorer=None, seed=seed) for seed in (0, 3))
    with pytest.raises(sears.UsageError, match="the first audit was made with noise"):
        sears.compare(one, other)
    fixed = sears.audit(no_capitals, ROWS, sears.parse("movie -> film"), scorer=None)
    assert fixed.document.noise == {}


def test_rates_that_mean_nothing_are_refused() -> None:
    with pytest.raises(sears.UsageError, match="'0%' is not a rate of noise"):
        sears.audit(no_capitals, ROWS, sears.parse(RATED), scorer=None, rates="5%,0%")
    fixed = sears.parse("movie -> film")
    with pytest.raises(sears.UsageError, match="no rule draws at random"):
        sears.audit(no_capitals, ROWS, fixed, scorer=None, rates=["5%"])


def test_a_rule_that_changes_nothing_in_the_first_draw_counts_by_the_others() -> None:
    rules = sears.parse("rule quiet: movie -> film\n  rate: 10%\n")
    rows = [("A movie.", "good"), ("The movie.", "good"), ("A movie indeed.", "good")]
    found = sears.audit(
        lambda texts: ["bad" if "film" in text else "good" for text in texts], rows, rules,
        scorer=None, gates=["robust:all=0%"], draws=5, seed=1, min_support=1,
    )  # fmt: skip
    assert found.rules[0].changed == 0
    assert found.robustness is not None
    assert [(each.about, each.rows, each.after) for each in found.robustness.records] == [
        ("all rules", 2, 0.0), ("rule", 2, 0.0),
    ]  # fmt: skip
    assert found.verdict.outcome == "failed"
