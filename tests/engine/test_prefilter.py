"""Which rows need tokens or tags, decided from their text."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.engine.compile.prefilter import NOTHING, TAGS, TOKENS, Prefilter
from sears_dsl.engine.compile.program import build_program
from sears_dsl.engine.matcher import compile_rules
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Element, Literal, Options, Rule, Text
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tagger import CuttingTagger, load_tagger

TAGGER = PinnedTagger()
known_tagger = cache(load_tagger)


def tiers(written: str, *rows: str) -> list[int]:
    ruleset = parse(written)
    program, _ = build_program([(ruleset.rules, ruleset)], TAGGER.split)
    prefilter = Prefilter(program, [False] * len(ruleset.rules))
    found: list[int] = prefilter.tiers(rows).tolist()
    assert [prefilter.tier(row) for row in rows] == found
    return found


def test_a_row_is_prepared_as_far_as_its_words_ask_for() -> None:
    written = "movie -> film\nWhat NOUN -> Which NOUN"
    rows = ["It is.", "a MOVIE", "What movie", "movies", ""]
    assert tiers(written, *rows) == [NOTHING, TOKENS, TAGS, TOKENS, NOTHING]


@pytest.mark.parametrize(
    ("written", "least"),
    [
        ("NOUN -> x", TAGS),
        ("_ _ -> $2 $1", TOKENS),
        ("/a+/ -> x", TOKENS),
        ("!movie -> x", TOKENS),
        ("lemma=be -> x", TAGS),
        ("movie -> x", NOTHING),
        ("movie? NOUN -> x", TAGS),
        ("(movie|film) NOUN -> x", NOTHING),
        ("(movie|NOUN) VERB -> x", TAGS),
        ("set S = movie | /fil./\n@S -> x", TOKENS),
        ("[tag=NN & text=movie] -> x", NOTHING),
        ("x -> y / movie __", NOTHING),
        ("<unit> -> $0 again", TOKENS),
    ],
)
def test_rules_without_a_word_of_their_own_need_every_row(written: str, least: int) -> None:
    assert tiers(written, "nothing of the kind") == [least]


@pytest.mark.parametrize(
    ("literal", "row"),
    [
        ("ΣΑΣ", "σας"),
        ("σας", "ΣΑΣΗ"),
        ("σασ", "ΣΑΣ"),
        ("İ", "xİy"),
        ("i̇", "İ"),
        ("ß", "Straße"),
        ("É", "é"),
        ("e\u0301", "E\u0301"),
    ],
)
def test_casing_hides_no_word(literal: str, row: str) -> None:
    rule = Rule((Element(Literal(literal)),), (Text("x"),))
    scope = Ruleset((rule,), options=Options(case="ignore"))
    program, _ = build_program([((rule,), scope)], lambda word: (word,))
    prefilter = Prefilter(program, [False])
    found = prefilter.tiers(["a", row, "İ b", row + "\n"]).tolist()
    assert prefilter.tier(row) == found[1]
    assert found[1] == found[3] == TOKENS
    assert found[0] == NOTHING


LETTERS = st.text(st.sampled_from("aAσςΣİıIi̇ßẞéE\u0301ŉǰ\ud800"), max_size=3)


@settings(deadline=None)
@given(LETTERS, st.lists(LETTERS, min_size=3, max_size=3), st.booleans())
def test_a_row_that_contains_a_matching_token_is_never_left_out(
    word: str, parts: list[str], ignore: bool
) -> None:
    before, token, after = parts
    matches = token.lower() == word.lower() if ignore else token == word
    rule = Rule((Element(Literal(word, quoted=True, ignore_case=ignore)),), (Text("x"),))
    program, _ = build_program([((rule,), Ruleset((rule,)))], lambda text: (text,))
    prefilter = Prefilter(program, [False])
    tier = prefilter.tiers([before + token + after])[0]
    assert tier == TOKENS or not matches
    assert prefilter.tier(before + token + after) == tier


def test_inflections_need_tags_where_their_words_are() -> None:
    matcher = compile_rules([parse("movie -> film.as($1)")], tagger=TAGGER)
    assert matcher.needs_tags
    [(rows, tokens)] = matcher.prepare(["a movie", "none"])
    assert rows == [0]
    assert tokens.tagged


@pytest.mark.parametrize(
    ("written", "reads"),
    [
        ("x:_ really z:_ -> $x $z", True),
        ("movie really 's -> $1 $3", True),
        ("_ really (so|'s|is) -> $1 $3", True),
        ("set S = is | 's\n_ really @S -> $1 $3", True),
        ("x:_ really? so? z:_ -> $x $3 $z", True),
        ("a:_ really b:(so? z:_) -> $a $z", True),
        ("really z:_ -> $x $z / x:_ __", True),
        # No clitic can be copied.
        ("_ really on -> $1 $3", False),
        ("_ really (so|is) -> $1 $3", False),
        ("set S = is | was\n_ really @S -> $1 $3", False),
        # Before it stands what stood there before, or no copy.
        ("x:_ y:_ -> so $x $y", False),
        ("x:_ y:so? z:_ really -> $x $y $z", False),
        ("x:_ really -> $x", False),
        ("x:_ really z:_ -> $x so $z", False),
        ("x:_ really z:_ -> $x.upper $z", False),
        ("x:_ really y:so? z:_ -> $x $y.upper $z", True),
    ],
)
def test_rules_that_may_move_a_clitic_to_another_word_need_tags(written: str, reads: bool) -> None:
    assert compile_rules([parse(written)], tagger=TAGGER).needs_tags == reads


def test_whole_units_that_are_written_behind_another_copy_need_tags() -> None:
    [(_, tokens)] = compile_rules([parse("<unit> -> $0 $0")], tagger=TAGGER).prepare(["a movie"])
    assert tokens.tagged


def test_rows_of_literal_rules_are_not_tagged() -> None:
    matcher = compile_rules([parse("movie -> film\nWhat NOUN -> x")], tagger=TAGGER)
    prepared = [(rows, tokens.tagged) for rows, tokens in matcher.prepare(["movie", "x", "What"])]
    assert prepared == [([0], False), ([2], True)]


WORDS = ["is", "this", "can", "cannot", "don't", "not", "(not)", "it's", "isn't.", ":)", "x:)", ")"]
GAPS = [" ", "  ", "\u00a0", "\n", "\t "]


@pytest.mark.parametrize("name", ["fast", "spacy"])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)))))
def test_no_row_is_lost(name: str, rows: list[list[tuple[str, str]]]) -> None:
    if name == "spacy":
        pytest.importorskip("spacy", reason="spaCy is not installed")
    texts = ["".join(word + gap for word, gap in row) for row in rows]
    ruleset = parse('is -> was\nnot -> never\ncan not -> could not\n":)" -> x\nn\'t -> not')
    matcher = compile_rules([ruleset], tagger=known_tagger(name))
    fast = [(r.rule, r.row, r.text) for r in matcher.apply(texts)]
    slow = [(r.rule, r.row, r.text) for r in matcher.apply(texts, prefilter=False)]
    assert fast == slow


def test_rows_are_chosen_by_their_tokens_where_the_tagger_is_quick() -> None:
    tagger = load_tagger("fast")
    assert isinstance(tagger, CuttingTagger)
    ruleset = parse("is -> was\nnot NOUN -> no NOUN\nφιλος -> x\nn't -> not")
    program, _ = build_program([(ruleset.rules, ruleset)], tagger.split)
    prefilter = Prefilter(program, [False] * 4)
    rows = [
        "this island",
        "it is.",
        "IS it?",
        "cannot",
        "notable (not)",
        "İ is",
        "",
        "ΦΙΛΟΣ",
        "\ud800",
        "I CAN'T",
    ]
    expected = [NOTHING, TOKENS, TOKENS, TAGS, TAGS, TOKENS, NOTHING, TOKENS, NOTHING, TOKENS]
    assert prefilter.tiers(rows, cut=tagger.cut(rows)).tolist() == expected
    # Again, with all words known, and in another order.
    assert prefilter.tiers(rows[::-1], cut=tagger.cut(rows[::-1])).tolist() == expected[::-1]
