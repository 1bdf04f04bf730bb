"""Agreement of reviewers, compared with trusted packages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from sears_dsl.vetting.merging import choice_kappa, cohen_kappa, fleiss_kappa

CATEGORIES = ["keep", "reject", "unsure"]
RATINGS = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from(CATEGORIES), min_size=raters, max_size=raters),
        min_size=1,
        max_size=40,
    )
)


@settings(max_examples=60, deadline=None)
@given(RATINGS)
def test_cohen_is_that_of_scikit_learn(ratings: list[list[str]]) -> None:
    first, second = [each[0] for each in ratings], [each[1] for each in ratings]
    found = cohen_kappa(first, second)
    assert found.items == len(ratings)
    if len({*first, *second}) == 1:
        assert found.value is None
        assert found.observed == 1
    else:
        assert found.value == pytest.approx(cohen_kappa_score(first, second))


def _table(ratings: list[list[str]]) -> np.ndarray:
    return np.array([[CATEGORIES.index(category) for category in each] for each in ratings])


@settings(max_examples=60, deadline=None)
@given(RATINGS)
def test_fleiss_and_the_interval_are_those_of_statsmodels(ratings: list[list[str]]) -> None:
    inter_rater = pytest.importorskip(
        "statsmodels.stats.inter_rater", reason="statsmodels is not installed"
    )
    found = fleiss_kappa(ratings)
    if len({category for each in ratings for category in each}) == 1:
        assert found.value is None
        return
    counts, _ = inter_rater.aggregate_raters(_table(ratings), n_cat=3)
    assert found.value == pytest.approx(inter_rater.fleiss_kappa(counts))
    pairs = [each[:2] for each in ratings]
    cohen = cohen_kappa([each[0] for each in pairs], [each[1] for each in pairs])
    if cohen.value is None:
        return
    square, _ = inter_rater.to_table(_table(pairs), bins=3)
    with np.errstate(all="ignore"):  # its test of zero agreement divides by zero
        theirs = inter_rater.cohens_kappa(square)
    if cohen.interval is None:
        assert not theirs.std_kappa > 1e-6
    else:
        expected = (max(-1.0, theirs.kappa_low), min(1.0, theirs.kappa_upp))
        assert cohen.interval == pytest.approx(expected, abs=1e-6)


def test_an_interval_stays_within_what_kappa_can_be() -> None:
    kappa = cohen_kappa(["keep", "keep", "reject"], ["keep", "reject", "keep"])
    assert kappa.interval is not None
    assert kappa.interval[0] == -1


def test_who_gives_one_category_proves_nothing() -> None:
    """The error of κ is 0 here, but for rounding."""
    kappa = cohen_kappa(["keep"] * 5, ["keep"] * 4 + ["reject"])
    assert kappa.value == pytest.approx(0)
    assert kappa.interval is None


def test_nothing_judged_is_not_agreement() -> None:
    assert cohen_kappa([], []).value is None
    assert fleiss_kappa([]).value is None


@pytest.mark.parametrize("most", [1, 3, 5])
@pytest.mark.parametrize("raters", [2, 3])
def test_blind_choices_agree_as_chance_has_it(raters: int, most: int) -> None:
    """Each sentence has adversaries of its own; only their number determines chance."""
    draw = np.random.default_rng(7)
    found = []
    for _ in range(200):
        shown = draw.integers(1, most + 1, 60)
        choices = [
            ["" if pick == 0 else f"{item}-{pick}" for pick in draw.integers(0, count + 1, raters)]
            for item, count in enumerate(shown.tolist())
        ]
        kappa = choice_kappa(choices, (shown + 1).tolist())
        assert kappa.value is not None
        found.append(kappa.value)
        assert (kappa.interval is None) == (raters > 2)
    assert np.mean(found) == pytest.approx(0, abs=0.02)


def test_choices_that_are_all_alike_are_worth_as_many_as_there_are() -> None:
    few, many = (choice_kappa([["a", "a"]] * count, [6] * count) for count in (3, 60))
    assert few.value == many.value == 1
    assert few.interval is not None
    assert many.interval is not None
    assert few.interval[0] < 0.4
    assert many.interval[0] > 0.9
    assert choice_kappa([], []).value is None
