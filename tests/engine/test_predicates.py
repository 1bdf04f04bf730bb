"""Which tokens satisfy which tests."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import re2  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from sears_dsl.engine.compile.predicates import PatternError, Predicates, Regexes, Satisfied
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Element, Group, Literal, Options, Rule, Test
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tokens import Tokens, TokenType, TokenTypes

TYPES = [
    TokenType("Movies", "NOUN", "NNS"),
    TokenType("movie", "NOUN", "NN"),
    TokenType("is", "AUX", "VBZ"),
    TokenType("Where", "SCONJ", "WRB"),
    TokenType("$", "SYM", "$"),
    TokenType("b\ud800", "X", "FW"),
]


def split(word: str) -> tuple[str, ...]:
    return ("do", "n't") if word == "don't" else (word,)


def held(table: Satisfied, number: int) -> NDArray[np.int32]:
    """The predicates that one type satisfies."""
    group = table.group_of[number]
    return table.ids[table.offsets[group] : table.offsets[group + 1]]


def satisfying(written: str, *, header: str = "") -> set[str]:
    """The texts of the types that pass the first element of a rule."""
    ruleset = parse(f"{header}\n{written} -> other")
    body = ruleset.rules[0].antecedent[0].body
    assert not isinstance(body, Group)
    table = Predicates()
    number = table.of_test(body, ruleset, split)  # type: ignore[arg-type]
    found = table.satisfied(TokenTypes.of(TYPES))
    texts = {kind.text for place, kind in enumerate(TYPES) if number in held(found, place)}
    assert texts == {kind.text for kind in TYPES if table.test(number)(kind)}
    simple_ids = table.find_simple(TYPES)
    offsets, ids = table.decided(simple_ids, np.arange(len(table), dtype=np.int32))
    one_by_one = [set(ids[offsets[place] : offsets[place + 1]]) for place in range(len(TYPES))]
    assert one_by_one == [set(held(found, place)) for place in range(len(TYPES))]
    return texts


ALL = {kind.text for kind in TYPES}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("movie", {"movie"}),
        ("movies", {"Movies"}),
        ("Movies", {"Movies"}),
        ("Movie", set()),
        ('"movies"', set()),
        ('"movies"i', {"Movies"}),
        ("NOUN", {"Movies", "movie"}),
        ("NN", {"movie"}),
        ("SYM", {"$"}),
        ("[tag=SYM]", set()),
        ("lemma=movie", {"Movies", "movie"}),
        ("lemma=be", {"is"}),
        ("[lemma=movie & tag!=NN]", {"Movies"}),
        ("[text=movie & lower!=movie]", set()),
        ("/[mM]ov.*/", {"Movies", "movie"}),
        ("/mov/", set()),
        ("/MOVIE/i", {"movie"}),
        ("_", ALL),
        ("!NOUN", ALL - {"Movies", "movie"}),
        ("!/.*/", {"b\ud800"}),
        ("!(NOUN|is)", ALL - {"Movies", "movie", "is"}),
    ],
)
def test_a_test_holds_for_these_tokens(written: str, expected: set[str]) -> None:
    assert satisfying(written) == expected


@pytest.mark.parametrize(
    ("case", "literal", "expected"),
    [
        ("smart", "movies", {"Movies"}),
        ("exact", "movies", set()),
        ("ignore", "MOVIES", {"Movies"}),
        ("exact", "Movies", {"Movies"}),
    ],
)
def test_the_case_option_decides_for_literals(case: str, literal: str, expected: set[str]) -> None:
    table = Predicates()
    ruleset = Ruleset((), options=Options(case=case))  # type: ignore[arg-type]
    number = table.of_test(Literal(literal), ruleset, split)
    assert {kind.text for kind in TYPES if table.test(number)(kind)} == expected


def test_the_tagset_of_the_paper_takes_the_coarse_tag_from_the_fine_one() -> None:
    assert satisfying("VERB", header="option tagset = sears2018") == {"is"}
    assert satisfying("ADV", header="option tagset = sears2018") == {"Where"}
    assert satisfying("ADV") == set()


def test_a_set_is_one_predicate_with_all_kinds_of_members() -> None:
    header = 'set S = movie | "Where" | SYM | /i./\nset T = @S | NNS'
    assert satisfying("@S", header=header) == {"movie", "Where", "$", "is"}
    assert satisfying("!@T", header=header) == {"b\ud800"}


def test_what_means_the_same_has_one_id() -> None:
    table = Predicates()
    scope = Ruleset(())
    same: list[Test] = [Literal("movie"), Literal("movie", quoted=True, ignore_case=True)]
    assert len({table.of_test(test, scope, split) for test in same}) == 1
    noun, verb = table.of_tag("NOUN", "ud2"), table.of_tag("VERB", "ud2")
    assert table.any_of([noun, verb]) == table.any_of([verb, noun, noun])
    assert table.any_of([table.any_of([noun, verb]), noun]) == table.any_of([noun, verb])
    assert table.any_of([noun]) == noun == table.negation(table.negation(noun))


def test_symbols_choose_what_is_reported() -> None:
    table = Predicates()
    noun = table.of_tag("NOUN", "ud2")
    either = table.any_of([noun, table.of_tag("AUX", "ud2")])
    symbols = [-1] * len(table)
    symbols[either] = 7
    found = table.satisfied(TokenTypes.of(TYPES), symbols=np.array(symbols, np.int32))
    assert [held(found, place).tolist() for place in range(len(TYPES))] == [
        [7],
        [7],
        [7],
        [],
        [],
        [],
    ]
    # Other symbols are not those of before.
    assert set(held(table.satisfied(TokenTypes.of(TYPES)), 0)) == {noun, either}


@pytest.mark.parametrize("written", ["!don't", "[text=a & lower=a]"])
def test_only_words_of_one_token_can_be_one_test(written: str) -> None:
    ruleset = parse(f"{written} NOUN -> NOUN")
    rule: Rule = ruleset.rules[0]
    element: Element = rule.antecedent[0]
    table = Predicates()
    if "don't" in written:
        with pytest.raises(PatternError, match="2 tokens"):
            table.of_test(element.body, ruleset, split)  # type: ignore[arg-type]
    else:
        assert table.of_test(element.body, ruleset, split) >= 0  # type: ignore[arg-type]


def test_many_types_are_decided_in_blocks() -> None:
    table = Predicates()
    odd = table.intern(("regex", "[0-9]*[13579]", False))
    number = table.intern(("regex", "[0-9]+", False))
    words = [table.intern(("text", str(k))) for k in range(9_000)]
    types = [TokenType(str(k), "NUM", "CD") for k in range(10_000)]
    found = table.satisfied(TokenTypes.of(types))
    assert [len(held(found, k)) for k in (0, 1, 4097, 9_998, 9_999)] == [2, 3, 3, 1, 2]
    assert set(held(found, 8193)) == {odd, number, words[8193]}


@pytest.mark.parametrize("asked", [1, 40])
def test_words_looked_up_either_way_satisfy_the_same(asked: int) -> None:
    table = Predicates()
    for word in ["film", "b\ud800", "a", *map(str, range(asked))]:
        table.intern(("text", word))
    table.intern(("lower", "a"))
    table.intern(("coarse", "NOUN", "ud2"))
    text = " ".join(["a", "A", "film", "b\ud800", *map(str, range(100))])
    starts = [0, *(place + 1 for place, mark in enumerate(text) if mark == " ")]
    tokens = Tokens.from_spans(
        [text],
        row_offsets=np.array([0, len(starts)], np.int32),
        starts=np.array(starts, np.int32),
        ends=np.array([*(start - 1 for start in starts[1:]), len(text)], np.int32),
        tag_ids=np.arange(len(starts), dtype=np.int32) % 2,
        tag_pairs=[("NOUN", "NN"), ("X", "FW")],
    )
    by_words, by_types = (
        table.satisfied(types) for types in (tokens.types, TokenTypes.of(tokens.types))
    )
    assert (4 * (asked + 3) < len(tokens.types.place_of)) == (asked == 1)
    for number in range(len(tokens.types)):
        assert held(by_words, number).tolist() == held(by_types, number).tolist()
    some = tokens.types.take(np.array([3, 0, 50]))
    assert list(some) == [tokens.types[place] for place in (3, 0, 50)]


def test_types_that_no_test_tells_apart_are_one_group() -> None:
    table = Predicates()
    noun = table.of_tag("NOUN", "ud2")
    capital = table.intern(("regex", "[A-Z].*", False))
    words = ("Movie", "movie", "Film", "film", "x")
    types = [TokenType(word, "NOUN" if word != "x" else "X", "NN") for word in words]
    found = table.satisfied(TokenTypes.of(types))
    assert found.group_of.tolist() == [0, 1, 0, 1, 2]
    assert held(found, 2).tolist() == [noun, capital]


def test_regexes_say_together_what_each_says_alone() -> None:
    patterns = [r"\w.*", "[a-z]{2,}", "a|ab", "", "(?s).*", r"\d+(,\d{3})*", "İ", "k"]
    texts = ["ab", "a", "12,000", "12,00", "\ud800", "a\nb", "İ", "i̇", "K", "\u212a", "é", "-"]
    table = Regexes()
    for pattern in patterns:
        for ignore_case in (False, True):
            table.add(pattern, ignore_case=ignore_case)
    found = table.match_table([*texts, *texts])
    for number, (pattern, ignore_case) in enumerate(product(patterns, (False, True))):
        options = re2.Options()
        options.case_sensitive = not ignore_case
        alone = re2.compile(pattern, options)
        for place, text in enumerate(texts):
            expected = text != "\ud800" and alone.fullmatch(text) is not None
            assert found[place, number] == found[len(texts) + place, number] == expected


def test_regexes_that_are_too_large_together_are_asked_one_by_one() -> None:
    table = Regexes()
    for number in range(30):
        table.add(rf"(?:\pL{{0,20}}){{0,9}}{number}", ignore_case=False)
    assert not table._set()
    found = table.match_table(["7", "ab3", "ab"])
    assert [np.flatnonzero(row).tolist() for row in found] == [[7], [3], []]
