"""Semantic robustness agrees with its definition, written as loops over rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.auditing.accuracies import (
    SemanticRobustness,
    chance_corrected,
    constant_answer,
    gap_interval,
    is_invariant,
    is_robust,
    mean_of_groups,
    semantic_robustness,
    sentence_robustness,
)
from sears_dsl.statistics import share_of

Answers = list[tuple[bool, list[bool]]]
"""For each row whether it is right, and whether each of its rewrites is."""

beds = st.lists(st.tuples(st.booleans(), st.lists(st.booleans(), max_size=4)), max_size=12)
taus = st.integers(0, 100).map(lambda each: each / 100)


def found(bed: Answers, *, seed: int = 0) -> SemanticRobustness:
    pairs = [(row, good) for row, (_, after) in enumerate(bed) for good in after]
    return semantic_robustness(
        [right for right, _ in bed],
        [row for row, _ in pairs],
        [good for _, good in pairs],
        seed=seed,
    )


# ---------------------------------------------------------------- the definition


def naive(bed: Answers) -> tuple[Fraction, Fraction, list[Fraction]]:
    """The accuracy before and after, and for each row the tolerance that it needs."""
    part = [(right, after) for right, after in bed if after]
    before = Fraction(sum(right for right, _ in part), len(part))
    accuracies = [Fraction(sum(after), len(after)) for _, after in part]
    return before, sum(accuracies, Fraction(0)) / len(part), [before - q for q in accuracies]


@settings(deadline=None)
@given(beds)
def test_rates_are_those_of_the_definition(bed: Answers) -> None:
    here = found(bed)
    if not any(after for _, after in bed):
        assert (here.rows, here.gap, here.smallest_tau, here.curve) == (0, None, None, ())
        return
    before, after, needed = naive(bed)
    assert (here.before, here.after) == (float(before), float(after))
    assert here.gap == float(after - before)
    assert here.smallest_tau == float(max(Fraction(0), before - after))
    assert here.smallest_tau_everywhere == float(max(Fraction(0), *needed))
    assert -1 <= here.low <= here.gap <= here.high <= 1


@settings(deadline=None)
@given(beds, taus)
def test_a_row_is_locally_robust_where_its_rewrites_do_as_well_as_p_less_tau(
    bed: Answers, tau: float
) -> None:
    if any(after for _, after in bed):
        needed = naive(bed)[2]
        least = sum(each <= Fraction(str(tau)) for each in needed)
        assert found(bed).local(tau).count == least
        assert found(bed).local(tau).total == len(needed)


@settings(deadline=None)
@given(beds, taus, taus)
def test_a_larger_tolerance_holds_where_a_smaller_one_does(
    bed: Answers, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    here = found(bed)
    for holds in (is_robust, is_invariant):
        assert holds(here, high) or not holds(here, low)
    assert here.local(low).count <= here.local(high).count


@settings(deadline=None)
@given(beds, taus)
def test_proof_asks_for_more_than_the_rate_and_the_rate_for_more_than_evidence(
    bed: Answers, tau: float
) -> None:
    here = found(bed)
    for holds in (is_robust, is_invariant):
        by_proof, by_rate, by_evidence = (
            holds(here, tau, judge_by=kind) for kind in ("proof", "rate", "evidence")
        )
        assert by_proof <= by_rate <= by_evidence
    assert is_invariant(here, tau) <= is_robust(here, tau)


@settings(deadline=None)
@given(beds)
def test_it_is_robust_at_its_smallest_tolerance_and_at_none_below(bed: Answers) -> None:
    here = found(bed)
    if here.smallest_tau is not None:
        assert is_robust(here, here.smallest_tau)
        assert here.smallest_tau == 0 or not is_robust(here, here.smallest_tau * (1 - 1e-9))


@settings(deadline=None)
@given(beds, st.integers(2, 4))
def test_a_row_counts_once_however_often_it_is_rewritten(bed: Answers, times: int) -> None:
    here, more = found(bed), found([(right, after * times) for right, after in bed])
    assert (here.before, here.after, here.gap, here.curve) == (
        more.before, more.after, more.gap, more.curve
    )  # fmt: skip
    assert (here.low, here.high) == (more.low, more.high)
    assert more.rewrites == times * here.rewrites


# ---------------------------------------------------------------- planted behaviour


def test_thirty_wrong_rewrites_of_two_hundred_are_a_gap_of_fifteen_per_cent() -> None:
    here = found([(True, [place >= 30]) for place in range(200)])
    assert (here.before, here.after, here.gap, here.smallest_tau) == (1.0, 0.85, -0.15, 0.15)
    assert [is_robust(here, tau) for tau in (0.2, 0.15, 0.1)] == [True, True, False]
    assert is_robust(here, 0.1, judge_by="evidence") == (here.high >= -0.1)
    assert -0.21 < here.low < -0.15 < here.high < -0.09


@pytest.mark.parametrize(
    ("draws", "local"),
    # Half of the rows are right in all draws, the others in all but one.
    [(1, {0.0: 10, 0.5: 10, 1.0: 20}), (2, {0.0: 10, 0.4: 10, 0.5: 20}),
     (5, {0.0: 10, 0.19: 10, 0.2: 20})],
)  # fmt: skip
def test_local_shares_are_those_that_were_built_in(draws: int, local: dict[float, int]) -> None:
    bed = [(True, [True] * (draws - 1) + [place < 10]) for place in range(20)]
    here = found(bed)
    assert {tau: here.local(tau).count for tau in local} == local
    assert here.smallest_tau_everywhere == 1 / draws


def test_a_model_that_is_better_on_rewrites_is_robust_and_not_invariant() -> None:
    here = found([(place < 10, [True]) for place in range(20)])
    assert here.gap == 0.5
    assert here.smallest_tau == 0
    assert is_robust(here, 0.0)
    assert not is_invariant(here, 0.4)
    assert is_invariant(here, 0.5)


def test_evidence_and_proof_look_at_both_sides_of_the_interval() -> None:
    worse = found([(True, [place >= 12]) for place in range(40)])
    assert worse.high < -0.1
    assert not is_robust(worse, 0.1, judge_by="evidence")
    better = found([(place >= 12, [True]) for place in range(40)])
    assert better.low > 0.1
    assert is_robust(better, 0.1, judge_by="proof")
    assert not is_invariant(better, 0.1, judge_by="evidence")


# ---------------------------------------------------------------- the interval


def test_the_interval_is_that_of_rows_drawn_one_by_one() -> None:
    differences = [-1.0] * 9 + [-0.5] * 6 + [0.0] * 40 + [1.0] * 3
    values, times = np.unique(differences, return_counts=True)
    quick = gap_interval(values, times)
    urn = [*differences, -1.0, 1.0]  # two rows are added
    draw = np.random.default_rng(1)
    means = [float(np.mean(draw.choice(urn, len(urn)))) for _ in range(4_000)]
    assert quick == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.02)


def test_the_interval_covers_the_true_gap_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(2)
    times, covered = 300, 0
    for _ in range(times):
        values, count = np.unique(draw.choice([-1.0, 0.0, 1.0], 60, p=[0.2, 0.75, 0.05]),
                                  return_counts=True)  # fmt: skip
        low, high = gap_interval(values, count)
        covered += low <= -0.15 <= high
    assert 0.9 <= covered / times <= 0.99


def test_rows_without_a_failure_prove_only_as_much_as_there_are() -> None:
    few, many = (found([(True, [True])] * count) for count in (20, 400))
    assert few.low < -0.05 < many.low
    assert not is_robust(few, 0.05, judge_by="proof")
    assert is_robust(many, 0.05, judge_by="proof")
    assert gap_interval([], []) == (-1.0, 1.0)


@pytest.mark.parametrize(("rows", "rate"), [(20, 0.1), (40, 0.05), (200, 0.01), (1_000, 0.002)])
def test_a_fall_that_most_samples_hardly_show_is_not_ruled_out(rows: int, rate: float) -> None:
    """One in seven or eight samples of such rows has no failure."""
    low, high = gap_interval([0.0], [rows])
    assert low <= -rate < rate <= high


@settings(deadline=None, max_examples=20)
@given(beds)
def test_the_same_seed_gives_the_same_interval(bed: Answers) -> None:
    assert found(bed) == found(bed)


def test_another_seed_draws_other_rows() -> None:
    bed = [(True, [True] * (row % 5) + [False] * (row % 7 + 1)) for row in range(60)]
    assert len({found(bed, seed=seed).low for seed in range(-2, 3)}) > 1


def test_against_perfection_sentences_have_the_interval_of_their_share() -> None:
    right = [True] * 15 + [False] * 5
    here, share = sentence_robustness(right), share_of(15, 20)
    assert (here.before, here.gap) == (1, -0.25)
    assert (here.low, here.high) == (share.low - 1, share.high - 1)
    assert sentence_robustness(right, (0, 0)).gap is None


# ---------------------------------------------------------------- groups, chance, constant answers

# Six templates with 27, 81, 243, 81, 27 and 9 sentences, 108 of them positive.
SIZES = (27, 81, 243, 81, 27, 9)
GROUP = np.repeat(np.arange(6), SIZES)
POSITIVE = np.isin(GROUP, [0, 3])


def test_the_mean_over_templates_says_what_the_largest_template_hides() -> None:
    right = np.isin(GROUP, [2, 4, 5])
    assert right.sum() == 279
    assert right.mean() == pytest.approx(0.5962, abs=5e-5)
    assert mean_of_groups(right, GROUP) == 0.5


def test_a_constant_answer_has_the_score_of_its_label() -> None:
    best = constant_answer(
        [~POSITIVE, POSITIVE], ["negative", "positive"], np.arange(len(GROUP)), GROUP
    )
    assert best is not None
    assert best.answer == "negative"
    assert best.rate == pytest.approx(0.7692, abs=5e-5)
    assert best.mean == pytest.approx(0.6667, abs=5e-5)


@settings(deadline=None)
@given(beds)
def test_no_constant_answer_beats_the_best(bed: Answers) -> None:
    rows = [row for row, (_, after) in enumerate(bed) for _ in after]
    good = np.array([each for _, after in bed for each in after], np.bool_)
    best = constant_answer([good, ~good], ["yes", "no"], rows, [0] * len(rows))
    if not rows:
        assert best is None
        return
    after = found(bed).after
    assert best is not None
    assert after is not None
    assert best.rate == pytest.approx(max(after, 1 - after))
    assert best.answer == ("yes" if after >= 0.5 else "no")


@settings(deadline=None)
@given(st.floats(0, 1), st.integers(2, 9))
def test_a_guess_is_worth_nothing_and_perfection_one(rate: float, labels: int) -> None:
    assert chance_corrected(1 / labels, labels) == pytest.approx(0)
    assert chance_corrected(1.0, labels) == 1
    higher, lower = chance_corrected(1.0, labels), chance_corrected(rate, labels)
    assert higher is not None
    assert lower is not None
    assert lower <= higher
    assert chance_corrected(rate, 1) is None


@pytest.mark.parametrize(
    "wrong",
    [lambda: semantic_robustness([True], [0, 0], [True]),
     lambda: semantic_robustness([True], [1], [True]),
     lambda: mean_of_groups([True], [-1])],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_reported(wrong: Callable[[], object]) -> None:
    with pytest.raises((ValueError, IndexError)):
        wrong()
