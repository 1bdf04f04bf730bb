"""Texts with characters that a vocabulary does not have."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.translation.alphabet import Alphabet

ASCII = Alphabet(str.isascii)


@given(st.text())
def test_a_spelled_text_is_readable_and_spelled_the_same_again(text: str) -> None:
    spelled = ASCII.spelled(text)
    assert spelled.isascii()
    assert ASCII.spelled(spelled) == spelled
    assert ASCII.unreadable(spelled) == ""
    assert ASCII.keeps_in_place(text, text)


@given(st.text(string.printable))
def test_a_readable_text_stays(text: str) -> None:
    assert ASCII.spelled(text) == text
    assert Alphabet().spelled(text) == text


@pytest.mark.parametrize(
    ("text", "spelled", "unreadable"),
    [
        ("an 👩\u200d🚀 lands ❤\ufe0f", "an * lands *", "👩🚀❤"),
        ("extra\u00adordinary\ufeff", "extraordinary", ""),
        ("Straße, Œuvre, ﬁne, x², cafe\u0301", "Strasse, OEuvre, fine, x2, cafe", ""),
        ("½ iPhone™", "x iPhone*", "½™"),
        ("a¨b 東京タワー", "a*b x", "¨東京タワー"),
    ],
)
def test_characters_are_spelled(text: str, spelled: str, unreadable: str) -> None:
    assert (ASCII.spelled(text), ASCII.unreadable(text)) == (spelled, unreadable)


def test_a_vocabulary_without_capitals_or_stars_has_other_spellings() -> None:
    small = Alphabet(lambda each: each in "abcdefghij .")
    assert small.spelled("A bad 💩 ÄCE xx!") == "a bad . ace a."


def test_a_vocabulary_may_have_no_placeholder() -> None:
    bare = Alphabet(lambda each: each in "abc ")
    assert bare.spelled("a 😍 b") == "a  b"
    assert bare.keeps_in_place("a 😍 b", "a 😍 b c")
    assert not bare.keeps_in_place("a 😍 b", "a b")


@pytest.mark.parametrize(
    ("rewrite", "kept"),
    [
        ("this 😍 film", True),
        ("that 😍 movie", True),
        ("that 😍 film", False),
        ("this movie 😍", False),
        ("this😍 movie", False),
        ("this movie", False),
        ("this 😍 movie *", False),
        ("this 😍 x movie", False),
    ],
)
def test_what_is_unreadable_is_in_its_place(rewrite: str, *, kept: bool) -> None:
    assert ASCII.keeps_in_place("this 😍 movie", rewrite) == kept
