"""Agreement of reviewers, against the packages that people trust."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from sears_dsl.errors import UsageError
from sears_dsl.vetting.agreement import cohen_kappa, fleiss_kappa

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


def test_nothing_judged_is_not_agreement() -> None:
    assert cohen_kappa([], []).value is None
    assert fleiss_kappa([]).value is None


def test_counts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="one reviewer judged 1 items and the other 2"):
        cohen_kappa(["keep"], ["keep", "reject"])
    with pytest.raises(UsageError, match="different numbers"):
        fleiss_kappa([["keep", "keep"], ["keep"]])
