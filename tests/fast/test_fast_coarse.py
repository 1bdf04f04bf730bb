"""Coarse tags: by table for most words, by context for those that may be two things."""

from __future__ import annotations

import pytest

from sears_dsl.text.fast.coarse import landmarks
from sears_dsl.text.fast.decoding import Perceptron
from sears_dsl.text.fast.weights import load


@pytest.fixture(scope="module")
def tagger() -> Perceptron:
    return Perceptron(load())


def coarse_of(tagger: Perceptron, sentence: str, word: str) -> str:
    words = sentence.split(" ")
    return tagger.tag_texts([words])[0][1][words.index(word)]


@pytest.mark.parametrize(
    ("sentence", "word", "tag"),
    [
        ("I have seen it .", "have", "AUX"),
        ("I have a dog .", "have", "VERB"),
        ("Do you know him ?", "Do", "AUX"),
        ("They do the work .", "do", "VERB"),
        ("It is red .", "is", "AUX"),
        ("He zorbles it .", "zorbles", "VERB"),
        ("Where he lives is nice .", "lives", "VERB"),
        ("We left because of the rain .", "of", "ADP"),
        ("We left after the game .", "after", "ADP"),
        ("We left after it had rained .", "after", "SCONJ"),
        ("This is good .", "This", "PRON"),
        ("This film is good .", "This", "DET"),
        ("I do not know .", "not", "PART"),
        ("I do n't know .", "n't", "PART"),
        ("He wants to go .", "to", "PART"),
        ("He went to London .", "to", "ADP"),
        ("my dog 's tail", "'s", "PART"),
        ("my dog", "my", "PRON"),
    ],
)
def test_a_word_has_the_tag_of_its_place(
    tagger: Perceptron, sentence: str, word: str, tag: str
) -> None:
    assert coarse_of(tagger, sentence, word) == tag


def test_casing_and_apostrophes_make_no_other_word(tagger: Perceptron) -> None:
    plain = tagger.tag_texts([["He", "did", "n't", "do", "it"]])[0][1]
    assert tagger.tag_texts([["He", "did", "n\u2019t", "do", "it"]])[0][1] == plain
    assert coarse_of(tagger, "HE DID NOT DO IT .", "NOT") == "PART"


def test_only_tags_that_the_table_allows_are_given() -> None:
    tables = load().tables
    allowed = tables.coarse_choices
    for group, tag in zip(*allowed.nonzero(), strict=True):
        assert allowed[group, tag] >> int(tables.coarse_of[group, tag]) & 1
        assert int(allowed[group, tag]).bit_count() >= 2
    assert not allowed[0].any()


def test_landmarks_are_verbs_and_stops() -> None:
    assert landmarks(["VBZ", "MD", "NN", ".", "VB", ","]).tolist() == [1, 1, 0, 2, 1, 2, 0]
