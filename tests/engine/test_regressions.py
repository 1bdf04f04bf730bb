"""Defects known from other tools, on raw text through the real tokenizer and tagger.

The same defects on tokens of known tags are in `tests/engine/suite/regressions.toml`.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import SpanMap
from sears_dsl.errors import TaggerError
from sears_dsl.language.loader import parse
from sears_dsl.tagging.tagger import Tagger, load_tagger


@lru_cache(maxsize=1)
def tagger() -> Tagger:
    loaded = load_tagger("spacy")
    loaded.tokenize(["Is it there?"])
    return loaded


@pytest.fixture(autouse=True)
def _needs_spacy() -> None:
    try:
        tagger()
    except TaggerError as error:
        pytest.skip(f"the spaCy tagger is not installed: {error.message}")


@lru_cache(maxsize=32)
def matcher(rules: str) -> Matcher:
    return compile_rules([parse(rules)], tagger=tagger())


def once(rules: str, text: str) -> str:
    """The text after the only rule, or the text itself."""
    return next((rewrite.text for rewrite in matcher(rules).apply([text])), text)


ODD = [
    "192.168.0.1",
    "v3.11.2-rc1",
    "U. S.",
    "U.S.A.",
    "3. 5%",
    "$1,000.00",
    "don ' t",
    "don't",
    "and/or",
    "rock 'n' roll",
    "the boys '",
    "a@b.de",
    "http://a.b/c?d=e&f",
    ":-)",
    "😀👍🏽",
    "👩‍👩‍👧‍👦",
    "e\u0301te\u0301",
    "שלום",
    "مرحبا",
    "a\u00a0b",
    "\r\n",
    "\t",
    "  ",
    "\u200b",
    "\x00",
    "(so)",
    '" quoted "',
    "...",
    "Ⅻ",
    "ﬁ",
]


@pytest.mark.parametrize("odd", ODD)
def test_text_beside_the_span_is_never_touched(odd: str) -> None:
    text = f"{odd} zebra {odd}  zebra\n{odd}"
    assert once("zebra -> lion", text) == f"{odd} lion {odd}  zebra\n{odd}"
    [rewrite] = matcher("zebra -> lion").apply([text], scope="all")
    assert rewrite.text == text.replace("zebra", "lion")


@pytest.mark.parametrize("odd", ["", " ", "\n", "\t \r\n", "\x00", "\u200b", *ODD])
def test_rows_without_an_instance_give_no_rewrite(odd: str) -> None:
    assert not matcher("zebra -> lion").apply([odd])
    [row] = matcher("zebra -> lion").chain([odd])
    assert row.text is odd


def test_a_match_that_begins_again_within_a_failed_one_is_found() -> None:
    assert once("very good -> fine", "It is very very good.") == "It is very fine."


def test_a_clitic_is_attached_and_a_word_in_its_place_is_not() -> None:
    assert once("WP is -> WP's", "What is it?") == "What's it?"
    assert once("n't -> not", "They don't know.") == "They do not know."


def test_new_text_is_not_rewritten_again() -> None:
    assert once("? -> ??", "Is it?") == "Is it??"
    [rewrite] = matcher("so -> so so").apply(["so so"], scope="all")
    assert rewrite.text == "so so so so"


def test_answer_offsets_survive_edits_before_them() -> None:
    text = "The movie, says the movie critic, was made in 1999."
    [rewrite] = matcher("movie -> motion picture").apply([text], scope="all")
    start = text.index("1999")
    moved = SpanMap(rewrite.edits).map(start, start + 4)
    assert moved is not None
    assert rewrite.text[slice(*moved)] == "1999"
    assert SpanMap(rewrite.edits).map(0, 9) is None


def test_a_deletion_leaves_no_hole() -> None:
    assert once("really -> <>", "It was really, really good.") == "It was, really good."
    assert once("really -> <>", "Really good.") == "Good."
    assert once("really -> <>", 'It was ("really" good).') == 'It was ("" good).'


def test_rows_do_not_depend_on_their_neighbours() -> None:
    rows = ["What color is it?", "", "What is it?", "What color is it?"]
    rules = "What NOUN -> Which NOUN\nWP is -> WP's"
    together = [(r.row, r.rule, r.text) for r in matcher(rules).apply(rows)]
    alone = [
        (row, r.rule, r.text) for row, text in enumerate(rows) for r in matcher(rules).apply([text])
    ]
    assert together == alone
    assert [text for _, _, text in together] == [
        "Which color is it?",
        "What's it?",
        "Which color is it?",
    ]
