"""Strings and their numbers."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sears_dsl.tagging.fast.vocabulary import Words, code_points, hash_of

strings = st.lists(st.text(st.characters(exclude_categories=[]), max_size=6), max_size=40)


@given(strings)
@example(["", "", "a"])
@example(["\ud800", "\ufffd"])
def test_numbers_follow_the_order_of_appearance(texts: list[str]) -> None:
    words = Words()
    numbers = [words.numbers([text])[0] for text in texts]
    distinct = list(dict.fromkeys(texts))
    assert numbers == [distinct.index(text) for text in texts]
    assert words.texts(range(len(words))) == distinct
    assert words.characters == sum(map(len, distinct))


@given(strings)
def test_arrays_hold_the_code_points_one_string_after_another(texts: list[str]) -> None:
    words = Words(texts)
    for number, text in enumerate(dict.fromkeys(texts)):
        start, end = words.offsets[number : number + 2].tolist()
        assert words.codes[start:end].tolist() == [ord(character) for character in text]


def test_numbers_stay_while_it_grows() -> None:
    words = Words()
    texts = [f"{'x' * (k % 50)}{k}" for k in range(5_000)]
    first = [words.numbers([text])[0] for text in texts]
    assert first == list(range(5_000)) == [words.numbers([text])[0] for text in texts]
    assert words.texts([4_321])[0] == texts[4_321]


def test_strings_with_the_same_hash_are_told_apart() -> None:
    one, other = "soohcjtgg", "hhuhtvqzb"
    hashes = [int(hash_of(code_points(text), 0, len(text))) for text in (one, other)]
    assert hashes[0] == hashes[1]
    words = Words()
    assert [words.numbers([text])[0] for text in (one, other, one, other)] == [0, 1, 0, 1]


def test_strings_are_made_once() -> None:
    words = Words(["is", "red"])
    assert words.texts([1])[0] is words.texts([1])[0]
    words.numbers(["new"])
    assert words.texts([2, 0]) == ["new", "is"]
