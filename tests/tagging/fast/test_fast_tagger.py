"""`FastTagger` as a tagger: its protocol, its rows, its threads."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.engine.match.search import search
from sears_dsl.language.loader import parse
from sears_dsl.tagging.fast.fast_tagger import FastTagger
from sears_dsl.tagging.fast.tokenizer import FastTokenizer
from sears_dsl.tagging.tagger import Tagger, load_tagger
from sears_dsl.tagging.tokens import Token, Tokens

TEXTS = [
    "What color is the tray?",
    "It's a very good movie, isn't it? :) x:) )",
    "",
    "  \n ",
    "“Café” costs 3.5€ at http://example.com/a?b=1 …",
    "WE SAW THE films of U.S. directors",
]


@pytest.fixture(scope="module")
def tagger() -> FastTagger:
    return FastTagger()


def rows(tokens: Tokens) -> list[list[Token]]:
    return [list(tokens.row(row)) for row in range(len(tokens))]


def test_it_is_a_tagger_by_name(tagger: FastTagger) -> None:
    loaded = load_tagger("fast")
    assert isinstance(loaded, FastTagger)
    assert isinstance(loaded, Tagger)
    assert (loaded.name, loaded.language, loaded.version) == ("fast", "en", tagger.version)


def test_tokens_are_the_same_with_and_without_tags(tagger: FastTagger) -> None:
    tagged, plain = tagger.tag(TEXTS), tagger.tokenize(TEXTS)
    assert tagged.tagged
    assert not plain.tagged
    for with_tags, without in zip(rows(tagged), rows(plain), strict=True):
        assert [(t[0], t[3], t[4]) for t in with_tags] == [(t[0], t[3], t[4]) for t in without]
        assert all(coarse and fine for _, coarse, fine, _, _ in with_tags)
        assert all((coarse, fine) == ("", "") for _, coarse, fine, _, _ in without)
    assert len(set(tagged.types)) == len(tagged.types)


def test_words_are_cut_out_of_the_row(tagger: FastTagger) -> None:
    for text, row in zip(TEXTS, rows(tagger.tag(TEXTS)), strict=True):
        assert [word for word, *_ in row] == [text[start:end] for *_, start, end in row]


@given(st.lists(st.sampled_from(TEXTS) | st.text(max_size=40), max_size=8))
@settings(deadline=None, max_examples=40)
def test_a_row_does_not_depend_on_its_company(tagger: FastTagger, texts: list[str]) -> None:
    together = rows(tagger.tag(texts))
    assert together == [rows(FastTagger().tag([text]))[0] for text in texts[:2]] + together[2:]
    assert together[::-1] == rows(tagger.tag(texts[::-1]))


WORDS = ("the", "The", "saw", "saw", "like", "that", "her", '"', "'s", "IS", "run", "3", ",", "n't")


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=40)
def test_tagging_again_what_changed_little_gives_the_same(
    tagger: FastTagger, drawn: list[list[str]], data: st.DataObject
) -> None:
    repeating = FastTagger()
    for _ in range(4):
        texts = [" ".join(words) for words in drawn]
        assert rows(repeating.cut(texts, again=True).tagged()) == rows(tagger.tag(texts))
        for words in filter(None, drawn):
            place = data.draw(st.integers(0, len(words) - 1))
            words[place : place + 1] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))


def test_forgetting_changes_nothing(tagger: FastTagger) -> None:
    forgetful = FastTagger()
    forgetful._tokenizer = FastTokenizer(most_chunks=3)
    for _ in range(3):
        for text in TEXTS:
            assert rows(forgetful.tag([text])) == rows(tagger.tag([text]))
            assert rows(forgetful.tokenize([text])) == rows(tagger.tokenize([text]))


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=9), st.data())
@settings(deadline=None, max_examples=40)
def test_texts_that_are_cut_can_be_taken_in_part_and_later(
    tagger: FastTagger, texts: list[str], data: st.DataObject
) -> None:
    forgetful = FastTagger()
    forgetful._tokenizer = FastTokenizer(most_chunks=3)
    chosen = np.array(sorted(data.draw(st.sets(st.integers(0, len(texts) - 1)))), np.int64)
    cut = forgetful.cut(texts)
    forgetful.tag(TEXTS)  # by now its words have other numbers
    some = [texts[row] for row in chosen.tolist()]
    assert rows(cut.tagged(chosen)) == rows(tagger.tag(some))
    assert rows(cut.tokens(chosen)) == rows(tagger.tokenize(some))
    assert rows(cut.tagged()) == rows(tagger.tag(texts))


def test_types_told_by_numbers_are_those_of_the_rows(tagger: FastTagger) -> None:
    forgetful = FastTagger()
    forgetful._tokenizer = FastTokenizer(most_chunks=3)
    program = parse("it -> x\nNOUN -> y\n[lemma=be] -> z").compile(tagger=tagger).program
    for text in [*TEXTS, "It is.", *TEXTS]:
        for each in (tagger, forgetful):
            for tokens in (each.tag([text, text]), each.cut([text], again=True).tagged()):
                plain = Tokens.from_rows(tokens.texts, rows(tokens))
                assert list(tokens.types) == list(plain.types)
                assert list(copy.copy(tokens.types)) == list(plain.types)
                assert search(program, tokens).tuples() == search(program, plain).tuples()


def test_threads_may_share_one(tagger: FastTagger) -> None:
    shared = FastTagger()
    expected = rows(tagger.tag(TEXTS))
    texts = [f"{text} and {number} more" for number in range(20) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: rows(shared.tag([*TEXTS, *texts])), range(8)))
    assert all(each[: len(TEXTS)] == expected for each in found)
    assert all(each == found[0] for each in found)


def test_rules_without_tags_load_no_weights() -> None:
    tagger = FastTagger()
    matcher = parse("movie -> film\nvery -> <>").compile(tagger=tagger)
    assert matcher.apply(["A very good movie."]).texts == ["A very good film.", "A good movie."]
    assert "_perceptron" not in vars(tagger)
    assert parse("NOUN -> it").compile(tagger=tagger).apply(["A movie."]).texts == ["A it."]
    assert "_perceptron" in vars(tagger)
