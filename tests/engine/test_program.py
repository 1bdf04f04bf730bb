"""Rules as arrays: what they share, and how plain and written-out rules are compiled."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sears_dsl.engine.arrays import CodeTable
from sears_dsl.engine.compile import token_classes
from sears_dsl.engine.compile.predicates import PatternError, Predicates
from sears_dsl.engine.compile.program import Program, build_program, expand
from sears_dsl.engine.compile.token_classes import TokenClasses
from sears_dsl.engine.match.search import search
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import (
    Anchor,
    Element,
    Literal,
    Options,
    Reference,
    Rule,
    Tag,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger({"movie": ("NOUN", "NN"), "good": ("ADJ", "JJ")})


def build(*written: str) -> Program:
    rulesets = [parse(text) for text in written]
    program, problems = build_program(
        [(ruleset.rules, ruleset) for ruleset in rulesets], TAGGER.split
    )
    assert not problems
    return program


def sequences(written: str) -> list[list[str]]:
    """The variants of one rule, each test as its attribute's value."""
    ruleset = parse(written)
    table = Predicates()
    variants = expand(ruleset.rules[0], ruleset, table, TAGGER.split)
    return [[str(table.keys[test][1]) for test in variant.tests] for variant in variants]


@pytest.mark.parametrize(
    ("antecedent", "expected"),
    [
        ("a b", [["a", "b"]]),
        ("a? b", [["a", "b"], ["b"]]),
        ("b a{1,3}", [["b", "a", "a", "a"], ["b", "a", "a"], ["b", "a"]]),
        ("(a b|c) d", [["a", "b", "d"], ["c", "d"]]),
        ("(a b|c)? d", [["a", "b", "d"], ["c", "d"], ["d"]]),
        ('"don\'t"', [["do", "n't"]]),
        ("(a?|a) b", [["a", "b"], ["b"]]),
    ],
)
def test_a_rule_is_written_out_in_the_order_of_preference(
    antecedent: str, expected: list[list[str]]
) -> None:
    assert sequences(f"{antecedent} -> x") == expected


def test_left_context_decides_before_the_span_does() -> None:
    assert sequences("b? c -> x / a? __ d") == [
        ["a", "b", "c", "d"],
        ["a", "c", "d"],
        ["b", "c", "d"],
        ["c", "d"],
    ]


def test_choices_of_single_tests_cost_no_variants() -> None:
    words = " | ".join(f"w{k}" for k in range(200))
    assert len(sequences(f"set S = {words}\n@S{{0,3}} (NOUN|VERB|a){{1,2}} -> x")) == 8


def test_too_many_variants_are_refused() -> None:
    ruleset = Ruleset(())
    rule = Rule(tuple(Element(Tag("NOUN"), 0, 1) for _ in range(7)), (Text("x"),))
    with pytest.raises(PatternError, match="more than 64") as refused:
        expand(rule, ruleset, Predicates(), TAGGER.split)
    assert refused.value.code == "E304"


def test_an_anchor_behind_a_token_makes_a_variant_impossible() -> None:
    start, end, noun = Element(Anchor("start")), Element(Anchor("end")), Element(Tag("NOUN"), 0, 1)
    rule = Rule((noun, start, Element(Literal("movie"))), (Text("x"),), right=(end, noun))
    variants = expand(rule, Ruleset(()), Predicates(), TAGGER.split)
    assert [(len(each.tests), each.anchors) for each in variants] == [(1, 3)]


def test_rules_with_one_antecedent_are_matched_once() -> None:
    program = build(
        "movie -> film\nmovie -> flick\nb movie -> x", "option case = ignore\nMovie -> y"
    )
    assert program.rules.patterns.pattern_of.tolist() == [0, 0, 1, 0]
    assert len(program.sequences) == 2
    program = build("movie? is -> x / a __\nb -> x\nmovie? is -> y / a __\nmovie? is -> x / b __")
    assert program.rules.patterns.pattern_of.tolist() == [1, 0, 1, 2]
    assert len(program.sequences) == 5


def test_paths_share_their_beginnings() -> None:
    program = build("a b c -> x\na b d -> x\na -> x")
    assert len(program.rules.masks) == 3  # the root, a, a b; the last steps are edges only
    assert program.rules.deepest == 3


def test_options_keep_rules_apart() -> None:
    program = build("VERB -> x", "option tagset = sears2018\nVERB -> x", "VERB -> y")
    assert program.rules.patterns.pattern_of.tolist() == [0, 1, 0]


def test_equal_elements_need_not_be_one_object() -> None:
    rules = [Rule((Element(Literal("movie")), Element(Tag("NOUN"))), (Text(w),)) for w in "ab"]
    program, _ = build_program([(rules, Ruleset((), options=Options()))], TAGGER.split)
    assert program.rules.patterns.pattern_of.tolist() == [0, 0]


def test_parts_of_rulesets_are_told_apart_though_they_share_objects() -> None:
    noun, movie = Element(Tag("NOUN")), Element(Literal("movie"))
    plain = Rule((movie, noun), (Text("x"), Text("y")))
    calling = Rule((noun,), (Reference(1),), left=(movie,))
    rulesets = [((plain, calling), Ruleset(())), ((), Ruleset(())), ((plain,), Ruleset(()))]
    parts = build_program(rulesets, TAGGER.split)[0].parts
    assert (parts.scope_of.tolist(), parts.bare.tolist()) == ([0, 0, 2], [True, False, True])
    assert parts.elements.numbers.tolist() == [0, 1, 1, 2, 3]
    assert parts.elements.offsets.tolist() == [0, 2, 3, 5]
    assert parts.elements.distinct == [movie, noun, movie, noun]
    assert parts.element_scope_of.tolist() == [0, 0, 2, 2]
    assert parts.pieces.of(np.array([2, 1])).numbers.tolist() == [3, 4, 2]
    assert parts.calling == [1]


def test_every_problem_is_reported_with_its_rule() -> None:
    bad = Rule((), (Text("x"),))
    good = Rule((Element(Tag("NOUN")),), (Text("x"),))
    _, problems = build_program([([bad, good, bad], Ruleset(()))], TAGGER.split)
    assert [(rule, problem.code) for rule, problem in problems] == [(0, "E302"), (2, "E302")]


def test_no_rules_and_no_rows_are_fine() -> None:
    empty = build("")
    tokens = TAGGER.tag(["good movie", ""])
    assert len(search(empty, tokens)) == 0
    assert len(search(build("movie -> film"), TAGGER.tag([]))) == 0


def test_ten_thousand_rules_are_told_apart() -> None:
    elements = [Element(Literal(f"w{k}", quoted=True)) for k in range(100)]
    rules = [Rule((first, second), (Text("x"),)) for first in elements for second in elements]
    program, _ = build_program([(rules, Ruleset(()))], TAGGER.split)
    assert len(program.rules.masks) == 101
    row = "w0 w99 w0 w0 w50"
    matches = search(program, TAGGER.tokenize([row]))
    assert [(rule, start) for rule, _, start, _ in matches.tuples()] == [
        (0, 2),
        (50, 3),
        (99, 0),
        (9900, 1),
    ]


def test_blocks_and_threads_do_not_change_the_result() -> None:
    program = build("movie -> film\nNOUN good -> x\n_ _ -> $1 $2 x")
    tokens = TAGGER.tag(["good movie good"] * 60_000)
    one = search(program, tokens, extent="all")
    two = search(program, tokens, extent="all", jobs=2)
    assert len(one) == 180_000
    for column in ("rules", "rows", "starts", "ends", "variants"):
        assert np.array_equal(getattr(one, column), getattr(two, column))


@pytest.mark.parametrize("most_types", [2, 4, 1_000])
@pytest.mark.parametrize(
    "written",
    [
        "good movie -> x\n!is (NOUN|a) -> y\n/m.*/ !movie -> z\n[lemma=be] -> u",
        "option case = exact\ngood movie -> x\nNOUN a -> y\nADJ -> z",
    ],
)
def test_what_was_learnt_of_other_batches_changes_no_instance(
    written: str, most_types: int
) -> None:
    program = build(written)
    rules = (program.predicates, program.symbols, program.rules)
    texts = ["a good movie", "is a movie good", "x y z", "", "movies a ?", "was it a film"]
    drawn = random.Random(0)
    remembering = replace(program, classes=TokenClasses(*rules, most_types=most_types))
    for _ in range(20):
        tokens = TAGGER.tag(drawn.choices(texts, k=2))
        alone = replace(program, classes=TokenClasses(*rules))
        for extent in ("first", "all"):
            found = search(remembering, tokens, extent=extent)
            assert found.tuples() == search(alone, tokens, extent=extent).tuples()


def test_a_batch_that_fits_alone_has_bits_after_other_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [f"w{number}" for number in range(600)]
    program = build("\n".join(f'"{word}" -> z' for word in words))
    batches = [TAGGER.tag([word]).types for word in (" ".join(words[:250]), " ".join(words[250:]))]
    monkeypatch.setattr(token_classes, "_MOST_WORDS", 4_000)
    fitting = TokenClasses(program.predicates, program.symbols, program.rules)
    assert [fitting.of(types)[0].holds.shape[1] for types in batches] == [10, 10]
    monkeypatch.setattr(token_classes, "_MOST_WORDS", 1_000)
    small = TokenClasses(program.predicates, program.symbols, program.rules)
    assert [small.of(types)[0].holds.shape[1] for types in batches] == [0, 0]


def test_classes_that_are_described_later_are_those_that_are_described_at_once() -> None:
    program = build("good movie -> x\n!is (NOUN|a) -> y\n/m.*/ !movie -> z\nADJ -> u")
    later, once = (
        TokenClasses(program.predicates, program.symbols, program.rules) for _ in range(2)
    )
    for text in ("a good movie", "x is", "a movie ?", "what m good"):
        types = TAGGER.tag([text]).types
        plain, _ = later.of(types, described=False)
        described, _ = once.of(types)
        assert [column.tolist() for column in plain[:3]] == [
            column.tolist() for column in described[:3]
        ]
        if text != "x is":
            described_later, _ = later.of(types)
            for column, other in zip(described_later, described, strict=True):
                assert column.tolist() == other.tolist()


def test_numbers_of_many_codes_are_those_of_a_dictionary() -> None:
    drawn = random.Random(0)
    table = CodeTable()
    numbers: dict[int, int] = {}
    for _ in range(40):
        asked = [drawn.choice((1, 864, 1 << 40)) * drawn.randrange(2_000) for _ in range(100)]
        assert table.find(np.array(asked)).tolist() == [numbers.get(code, -1) for code in asked]
        new = [code for code in dict.fromkeys(asked) if code not in numbers]
        numbers |= {code: len(numbers) + place for place, code in enumerate(new)}
        table.put(np.array(new), np.array([numbers[code] for code in new], np.int32))
