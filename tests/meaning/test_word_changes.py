"""Order and negation: what embeddings hardly see, found without a model."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.meaning.word_changes import exchanged_words, negation_differs, word_count

NAMES = ["Anna", "Bert", "Carl", "Dora", "Emil"]


@given(st.permutations(NAMES))
def test_every_pair_in_the_other_order_counts_once(order: list[str]) -> None:
    expected = sum(order.index(one) > order.index(other) for one, other in combinations(NAMES, 2))
    assert exchanged_words(" met ".join(NAMES), " met ".join(order)) >= expected
    assert exchanged_words(" and ".join(NAMES), " and ".join(order)) == expected


@given(st.lists(st.sampled_from([*NAMES, "the", "not", ",", "don't"])))
def test_a_text_differs_from_itself_in_nothing(words: list[str]) -> None:
    text = " ".join(words)
    assert exchanged_words(text, text) == 0
    assert exchanged_words(text, text.upper()) == 0
    assert not negation_differs(text, text)


WORDS = st.lists(st.sampled_from([*NAMES, "no", "the", "never", "can't"])).map(" ".join)


@given(WORDS, WORDS)
def test_directions_agree_on_negation(one: str, other: str) -> None:
    assert negation_differs(one, other) == negation_differs(other, one)


@given(st.permutations(NAMES), st.permutations(NAMES))
def test_directions_agree_on_order(one: list[str], other: list[str]) -> None:
    assert exchanged_words(" ".join(one), " ".join(other)) == exchanged_words(
        " ".join(other), " ".join(one)
    )


def test_function_words_may_move() -> None:
    assert exchanged_words("He gave her up.", "He gave up her.") == 0
    assert exchanged_words("Only dogs bark.", "Dogs only bark.") == 0


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("It isn't so.", "It is not so.", False),
        ("It isn’t so.", "It isn't so.", False),
        ("I can not go.", "I cannot go.", False),
        ("It is so.", "It is not so.", True),
        ("All went.", "None went.", True),
        ("With salt.", "Without salt.", True),
        ("A knot.", "A nought.", False),
    ],
)
def test_negations(one: str, other: str, differs: bool) -> None:
    assert negation_differs(one, other) is differs


def test_words_are_counted_without_punctuation() -> None:
    assert word_count("Well, it isn't  fun!") == 5
    assert word_count("") == 0
