"""How many rewrites become new rows, and how the rules share them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import UsageError
from sears_dsl.repair.augmentation import Amount, choose

rules_of_rewrites = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), max_size=40
)
wanted = st.none() | st.integers(0, 50)


@given(rules_of_rewrites, wanted, st.booleans(), st.integers(0, 9))
def test_as_many_as_wanted_or_all_and_none_twice(
    rules: list[list[int]], most: int | None, balanced: bool, seed: int
) -> None:
    chosen = choose(rules, limit=most, balanced=balanced, seed=seed)
    assert len(chosen) == (len(rules) if most is None else min(most, len(rules)))
    assert len({rewrite for rewrite, _ in chosen}) == len(chosen)
    assert all(rule in rules[rewrite] for rewrite, rule in chosen)
    assert chosen == choose(rules, limit=most, balanced=balanced, seed=seed)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 60))
def test_balanced_rules_differ_by_one_unless_one_has_no_more(rules: list[int], most: int) -> None:
    there = Counter(rules)
    chosen = Counter(rule for _, rule in choose([[rule] for rule in rules], limit=most))
    for rule, count in there.items():
        for other in there:
            assert chosen[rule] >= chosen[other] - 1 or chosen[rule] == count


@given(st.integers(0, 2**64))
def test_rules_that_write_the_same_texts_share_them(seed: int) -> None:
    chosen = Counter(rule for _, rule in choose([(0, 1, 2)] * 9, limit=None, seed=seed))
    assert chosen == {0: 3, 1: 3, 2: 3}
    # The one text of a rule is not taken by a rule that has others.
    chosen = Counter(rule for _, rule in choose([(0, 1), (1,), (1,), (1,)], limit=2, seed=seed))
    assert chosen == {0: 1, 1: 1}


def test_a_small_share_of_few_rows_is_one_row_and_not_none() -> None:
    assert Amount.parse("1%").of(20) == 1


def test_another_seed_chooses_others() -> None:
    rules = [[0]] * 100
    samples = {tuple(choose(rules, limit=10, seed=seed)) for seed in range(-2, 3)}
    assert len(samples) == 5


def test_without_balance_a_common_rule_stays_common() -> None:
    rules = [[0]] * 900 + [[1]] * 100
    chosen = Counter(rule for _, rule in choose(rules, limit=200, balanced=False))
    assert chosen[0] > 150


@pytest.mark.parametrize(
    ("written", "of_1000"),
    [("20%", 200), ("100%", 1000), ("0.5x", 500), ("2x", 2000), ("7", 7), ("all", None)],
)
def test_amounts(written: str, of_1000: int | None) -> None:
    assert Amount.parse(written).of(1000) == of_1000


@pytest.mark.parametrize(
    "written", ["", "0", "0%", "-3", "some", "3.5", "20 %", "x2", "1e3", "nan"]
)
def test_what_is_no_amount_is_refused_with_the_forms_that_are(written: str) -> None:
    with pytest.raises(UsageError) as told:
        Amount.parse(written)
    assert "20%" in told.value.help
