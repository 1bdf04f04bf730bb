"""Differences of two texts: applied to one they give the other, and they are small."""

from __future__ import annotations

import time
from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.judge.changes import CHANGES, Change, changes_of, words_of

_WORDS = "the film is n't isn't cannot I'm It’s 3.5 ?! well-known ha 映画"
_TEXTS = st.one_of(
    st.text(st.sampled_from("ab \n.'’N!tsé😀"), max_size=30),
    st.lists(st.sampled_from(_WORDS.split())).map(" ".join),
)


def _written(original: str, rewrite: str) -> str:
    """The changes applied to the original, by characters alone."""
    pieces, place = [], 0
    for change in changes_of(original, rewrite):
        pieces += [original[place : change.start], rewrite[change.first : change.last]]
        place = change.end
    return "".join([*pieces, original[place:]])


def _dense(text: str) -> str:
    return "".join(text.replace("’", "'").split())


@given(_TEXTS, _TEXTS)
def test_the_changes_make_the_rewrite_of_the_original(original: str, rewrite: str) -> None:
    assert _dense(_written(original, rewrite)) == _dense(rewrite)


@given(_TEXTS)
def test_equal_texts_have_no_changes(text: str) -> None:
    assert changes_of(text, text) == ()
    assert changes_of(text, text.replace("'", "’").replace(" ", "  ")) == ()


@given(_TEXTS, _TEXTS)
def test_changes_are_in_order_and_in_bounds(original: str, rewrite: str) -> None:
    changes = changes_of(original, rewrite)
    assert len(changes) <= CHANGES
    end, last = 0, 0
    for number, change in enumerate(changes):
        assert end <= change.start <= change.end <= len(original)
        assert last <= change.first <= change.last <= len(rewrite)
        assert change.old != change.new
        assert _dense(original[change.start : change.end]) == "".join(change.old)
        assert _dense(rewrite[change.first : change.last]) == "".join(change.new)
        assert bool(change.old) == (change.start < change.end)
        assert number == 0 or _dense(original[end : change.start]), "touching changes are one"
        end, last = change.end, change.last


@given(_TEXTS, _TEXTS)
def test_no_more_changes_than_another_alignment(original: str, rewrite: str) -> None:
    """Ours is a shortest alignment: difflib's leaves out at least as many words."""
    left, right = ([word.text for word in words_of(text)] for text in (original, rewrite))
    same = sum(
        block.size for block in SequenceMatcher(None, left, right, False).get_matching_blocks()
    )
    changes = changes_of(original, rewrite)
    if len(changes) < CHANGES:
        assert sum(len(change.old) for change in changes) <= len(left) - same


@given(_TEXTS)
def test_words_are_the_text_without_its_spaces(text: str) -> None:
    words = words_of(text)
    assert "".join(word.text for word in words) == _dense(text).replace("ʼ", "'")
    assert all(before.end <= after.start for before, after in pairwise(words))


@pytest.mark.parametrize(
    ("original", "rewrite", "old", "new"),
    [
        ("I don't know.", "I do not know.", "n't", "not"),
        ("I DON’T know.", "I DO NOT know.", "N'T", "NOT"),
        ("I cannot go.", "I can not go.", None, None),
        ("We can't go.", "We cannot go.", "ca n't", "can not"),
        ("It's fun.", "It is fun.", "'s", "is"),
        ("It 's fun .", "It is fun .", "'s", "is"),
        ("It's fun.", "It’s fun.", None, None),
        ("I am still here.", "I am stilln't here.", "", "n't"),
        ("A film", "A fun film", "", "fun"),
        ("A fun film", "A film", "fun", ""),
        ("The end", "the end", "The", "the"),
        ("A well-known man", "A well known man", "-", ""),
        ("Fun!", "Fun!!", "!", "!!"),
        ("At 10:30, 3.5 of 1,000", "At 10:45, 3.5 of 1,000", "10:30", "10:45"),
        ("the U.S. army", "the U.K. army", "U.S.", "U.K."),
    ],
)
def test_words_are_cut_as_the_taggers_cut_them(
    original: str, rewrite: str, old: str | None, new: str | None
) -> None:
    changes = changes_of(original, rewrite)
    if old is None or new is None:
        assert changes == ()
    else:
        assert [(" ".join(change.old), " ".join(change.new)) for change in changes] == [(old, new)]


def test_an_insertion_stands_where_the_next_word_begins() -> None:
    assert changes_of("A film.", "A fun film.") == (Change((), ("fun",), 2, 2, 2, 5),)
    assert changes_of("Fun", "Fun !") == (Change((), ("!",), 3, 3, 4, 5),)


def test_many_changes_become_a_handful() -> None:
    original = " ".join(f"the film {number}" for number in range(40))
    changes = changes_of(original, original.replace("film", "movie"))
    assert len(changes) == CHANGES
    assert sum(change.old.count("film") for change in changes) == 40


def test_long_texts_take_no_long_time() -> None:
    """A thousand words in the worst cases for an alignment: all alike, or none in place."""
    text = " ".join(f"word{number % 97} the" for number in range(500))
    worst = [(text, text + " film"), ("ha " * 1000, "ha " * 900), (text, text[::-1])]
    start = time.process_time()
    for original, rewrite in worst:
        for _ in range(10):
            changes_of(original, rewrite)
    assert time.process_time() - start < 5
