"""Draws follow their definition, on every machine and for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.engine.noise.draws import Draw, below, how_many, key, mix, number
from sears_dsl.language.loader import parse

FILM = "It is a good movie ."


def test_the_chain_begins_as_splitmix_does() -> None:
    assert mix(0) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize(
    ("text", "bits"),
    [("", 0xB4B2797457A0A6E4), ("rate", 0xB3F8AECD16CF26DA), (FILM, 0x7FF470D7F571598D)],
)
def test_texts_are_hashed_by_blake2b(text: str, bits: int) -> None:
    assert key(text) == bits


@pytest.mark.parametrize(
    ("draw", "place", "bits"),
    [
        (Draw(0, 0), 0, 0x2A46D75B04B9D189),
        (Draw(0, 0), 8, 0x4C45FC6BE89FAEE4),
        (Draw(1, 0), 8, 0x8C5A84542615CD3A),
        (Draw(0, 1), 8, 0x303A1EADEDC86D5A),
    ],
)
def test_numbers_are_those_of_the_definition(draw: Draw, place: int, bits: int) -> None:
    assert number(draw, "rate", FILM, place) == bits


def test_half_of_a_surrogate_pair_has_a_number() -> None:
    assert key("\ud800") != key("\udfff")


def test_seeds_wrap_around() -> None:
    assert number(Draw(2**64), "rate", FILM) == number(Draw(0), "rate", FILM)


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**32 - 1))
def test_what_is_drawn_below_a_bound_is_below_it(bits: int, bound: int) -> None:
    assert 0 <= below(bits, bound) < bound


@given(st.integers(1, 10**6), st.integers(0, 2000), st.integers(0, 2**64 - 1))
def test_a_share_is_exact_to_less_than_one(share: int, things: int, bits: int) -> None:
    taken = how_many(share, things, bits)
    assert abs(taken - share * things / 10**6) < 1
    assert taken <= things


def test_what_a_rate_takes_a_larger_one_takes_too() -> None:
    texts = [f"A movie, number {number}, and a movie." for number in range(200)]
    small, large = (
        {
            (each.row, edit.start)
            for each in matcher.apply(texts, scope="all")
            for edit in each.edits
        }
        for rate in (10, 40)
        for matcher in [parse(f"rule r: movie -> film\n  rate: {rate}%").compile()]
    )
    assert small < large


def test_the_mean_of_shares_is_the_share() -> None:
    units = [f"sentence number {n}" for n in range(4000)]
    taken = sum(how_many(250_000, 5, number(Draw(), "rate share", unit)) for unit in units)
    assert 0.24 < taken / (5 * len(units)) < 0.26
