"""Coarse tags are those of spaCy's small model for the same words and fine tags."""

from __future__ import annotations

import numpy as np
import pytest

from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import folded_case, kinds_of_characters, load, spelling_key
from training.coarse import COARSE, coarse_table, ruler_answers
from training.tagger import FINE, MODEL
from training.treebank import tag_words


@pytest.fixture(scope="module")
def tagger() -> Perceptron:
    return Perceptron(load())


def coarse_of(tagger: Perceptron, sentence: str, word: str) -> str:
    words = sentence.split(" ")
    return tag_words(tagger, [words])[0][1][words.index(word)]


@pytest.mark.parametrize(
    ("sentence", "word", "tag"),
    [
        ("I have seen it .", "have", "AUX"),
        ("I have a dog .", "have", "AUX"),
        ("Do you know him ?", "Do", "AUX"),
        ("He did it .", "did", "AUX"),
        ("It is red .", "is", "AUX"),
        ("He zorbles it .", "zorbles", "VERB"),
        ("Where is he ?", "Where", "SCONJ"),
        ("I know that he lives .", "that", "SCONJ"),
        ("We left because it rained .", "because", "SCONJ"),
        ("We left after the game .", "after", "ADP"),
        ("This film is good .", "This", "DET"),
        ("I do not know .", "not", "PART"),
        ("I do n't know .", "n't", "PART"),
        ("He wants to go .", "to", "PART"),
        ("my dog 's tail", "'s", "PART"),
        ("my dog", "my", "PRON"),
        ("I saw something .", "something", "PRON"),
    ],
)
def test_a_word_has_the_tag_of_its_place(
    tagger: Perceptron, sentence: str, word: str, tag: str
) -> None:
    assert coarse_of(tagger, sentence, word) == tag


def test_casing_makes_no_other_word(tagger: Perceptron) -> None:
    assert coarse_of(tagger, "HE DID NOT DO IT .", "NOT") == "PART"
    assert coarse_of(tagger, "SOMETHING IS WRONG .", "SOMETHING") == "PRON"


def test_every_word_and_fine_tag_has_the_answer_of_the_attribute_ruler(
    tagger: Perceptron,
) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.tokens import Doc

    named = ruler_answers(FINE, model=MODEL).keys() - {""}
    cased = {change(word) for word in named for change in (str.title, str.upper)}
    others = {"any2", "\u2019s", "it\u2019s", "house", "1990", "Über", "日本", "...", "n´t"}
    words = sorted(named | cased | others)
    nlp = spacy.load(MODEL, exclude=["parser", "ner", "lemmatizer"])
    ruler = nlp.get_pipe("attribute_ruler")

    tables = load().tables
    kinds, folded = kinds_of_characters(), folded_case()
    group_of = dict(zip(tables.coarse_keys.tolist(), tables.coarse_groups.tolist(), strict=True))
    for word in words:
        codes = np.array([ord(character) for character in word], np.uint32)
        group = group_of.get(int(spelling_key(codes, 0, len(codes), kinds, folded)), 0)
        doc = ruler(Doc(nlp.vocab, [word] * len(FINE), tags=list(FINE)))
        found = [COARSE[tag] for tag in tables.scores.coarse_of[group].tolist()]
        assert found == [token.pos_ for token in doc], word

    fine, coarse = tag_words(tagger, [words])[0]
    assert coarse == [token.pos_ for token in ruler(Doc(nlp.vocab, words, tags=fine))]


def test_words_with_the_same_answers_share_a_group() -> None:
    plain, own = (0,) * 48, (1,) * 48
    table = coarse_table({"": plain, "he": plain, "is": own, "was": own, "so": (2,) * 48})
    assert table.table.tolist() == [list(plain), list(own), [2] * 48]
    assert sorted(table.groups.tolist()) == [1, 1, 2]
    assert table.keys.tolist() == sorted(set(table.keys.tolist()))
