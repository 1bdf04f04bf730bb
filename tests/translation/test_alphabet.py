"""Texts with characters that a vocabulary does not have."""

import string

from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.translation.alphabet import Alphabet


@given(st.text())
def test_a_spelled_text_is_readable_and_spelled_the_same_again(text: str) -> None:
    alphabet = Alphabet(str.isascii)
    spelled = alphabet.spelled(text)
    assert spelled.isascii()
    assert alphabet.spelled(spelled) == spelled
    assert alphabet.unreadable(spelled) == ""


@given(st.text(string.printable))
def test_a_readable_text_stays(text: str) -> None:
    assert Alphabet(str.isascii).spelled(text) == text
    assert Alphabet().spelled(text) == text


def test_joined_emoji_are_one_placeholder() -> None:
    joined = Alphabet(lambda each: each.isascii() or each == "\u200d")
    assert joined.spelled("an 👩\u200d🚀 lands") == "an * lands"
    assert joined.unreadable("an 👩\u200d🚀 lands") == "👩\u200d🚀"


def test_an_alphabet_can_be_limited_to_another() -> None:
    alphabet = Alphabet(str.isascii)
    assert alphabet.spelled("a #tag") == "a #tag"
    alphabet.limit_to(Alphabet(lambda each: each != "#"))
    assert alphabet.spelled("a #tag") == "a *tag"
