"""Shares and amounts: printed ones are read back, and invalid ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.language.rule import Noise
from sears_dsl.language.words import WHOLE, print_function, print_share, read_places, read_share


@given(st.integers(min_value=1, max_value=WHOLE))
def test_a_printed_share_is_read_back(share: int) -> None:
    assert read_share(print_share(share)) == share


@pytest.mark.parametrize(
    ("share", "text"), [(250_000, "25%"), (5_000, "0.5%"), (1, "0.0001%"), (WHOLE, "100%")]
)
def test_a_share_is_printed_without_zeros_behind_it(share: int, text: str) -> None:
    assert print_share(share) == text


@pytest.mark.parametrize("text", ["101%", "0%", "25", "0.00001%", "-1%", ""])
def test_what_is_no_share_is_none(text: str) -> None:
    assert read_share(text) is None


@pytest.mark.parametrize(
    ("text", "places"), [("3", 3), ("9" * 10, None), ("0", None), ("2.5", None), ("", None)]
)
def test_places_are_counted_from_one(text: str, places: int | None) -> None:
    assert read_places(text) == places


def test_one_place_is_not_printed() -> None:
    functions = ("cap", Noise("swap", 2), Noise("key"), Noise("typo", share=100_000))
    assert [print_function(each) for each in functions] == ["cap", "swap(2)", "key", "typo(10%)"]
