"""Tags written in the text, and a tagger for tests that needs no installation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.tagging.pinned import PinnedTagger, parse_pinned
from sears_dsl.tagging.tagger import Tagger
from sears_dsl.tagging.tokens import Token

COARSE = ["ADJ", "AUX", "CCONJ", "CONJ", "NOUN", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "X"]
FINE = ["NN", "VBZ", "PRP$", "WP$", "-LRB-", "``", "''", ".", ",", ":", "$", "#", "HYPH"]

words = st.text(st.characters(exclude_categories=["Z", "Cc", "Cs"]), min_size=1, max_size=6).filter(
    lambda word: len(word.split()) == 1
)
pinned_words = st.tuples(words, st.sampled_from(COARSE), st.sampled_from(FINE))


@given(st.lists(pinned_words, min_size=1, max_size=6))
def test_words_and_tags_come_back_as_written(row: list[tuple[str, str, str]]) -> None:
    parsed = parse_pinned("  ".join("/".join(word) for word in row))
    assert parsed is not None
    text, tokens = parsed
    assert text == " ".join(word for word, _, _ in row)
    assert [(token.text, token.coarse, token.fine) for token in tokens] == row
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_unpinned_words_beside_pinned_ones_have_no_tags() -> None:
    assert parse_pinned("What/PRON/WP color/NOUN/NN ?") == (
        "What color ?",
        [
            Token("What", "PRON", "WP", 0, 4),
            Token("color", "NOUN", "NN", 5, 10),
            Token("?", "", "", 11, 12),
        ],
    )


def test_a_slash_in_a_word_belongs_to_the_word() -> None:
    assert parse_pinned("and/or/CCONJ/CC") == ("and/or", [Token("and/or", "CCONJ", "CC", 0, 6)])


@pytest.mark.parametrize(
    "text", ["", "What color?", "either/or", "a/b/c", "color/NUON/NN", "/NOUN/NN", "color/NOUN"]
)
def test_a_text_without_pins_is_none(text: str) -> None:
    assert parse_pinned(text) is None


def test_the_pinned_tagger_is_a_tagger() -> None:
    assert isinstance(PinnedTagger(), Tagger)


def test_plain_texts_are_looked_up_word_by_word() -> None:
    tagger = PinnedTagger({"is": ("AUX", "VBZ"), "It": ("PRON", "PRP")})
    (row,) = (tagger.tag(["It isn't,  IS it?"]).row(0),)
    assert [token[:3] for token in row] == [
        ("It", "PRON", "PRP"),
        ("is", "AUX", "VBZ"),
        ("n't", "", ""),
        (",", "", ""),
        ("IS", "AUX", "VBZ"),
        ("it", "", ""),
        ("?", "", ""),
    ]


def test_tokenizing_cuts_where_tagging_does_and_gives_no_tags() -> None:
    tagger = PinnedTagger({"red": ("ADJ", "JJ")})
    texts = ["It/PRON/PRP is red", "a well-known red one."]
    tagged, bare = tagger.tag(texts), tagger.tokenize(texts)
    assert list(bare.texts) == ["It is red", "a well-known red one."] == list(tagged.texts)
    for row in range(2):
        assert [token[3:] for token in bare.row(row)] == [token[3:] for token in tagged.row(row)]
        assert not any(token.coarse or token.fine for token in bare.row(row))
    assert tagged.tagged
    assert not bare.tagged


@given(st.text(max_size=40))
def test_offsets_point_at_the_words_and_only_white_space_is_left_out(text: str) -> None:
    row = PinnedTagger().tag([text]).row(0)
    if parse_pinned(text) is None:
        assert [text[token.start : token.end] for token in row] == [token.text for token in row]
        assert "".join(token.text for token in row) == "".join(text.split())


def test_words_of_rules_are_split() -> None:
    assert PinnedTagger().split("What's") == ("What", "'s")
    assert PinnedTagger().split("don't") == ("do", "n't")


def test_sentences_end_after_their_last_mark() -> None:
    text = "Is it red?! It is. "
    (spans,) = PinnedTagger().sentences([text])
    assert [text[start:end] for start, end in spans] == ["Is it red?!", "It is."]
    assert PinnedTagger().sentences([""]) == [[]]


def test_another_dictionary_is_another_version() -> None:
    assert PinnedTagger().version != PinnedTagger({"a": ("DET", "DT")}).version
