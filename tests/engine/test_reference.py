"""The naive matcher: bindings, order, protection; `test_laws` compares the engine with it."""

from __future__ import annotations

import pytest

from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.engine.reference import candidates, find, is_protected
from sears_dsl.errors import CompileError
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import (
    Element,
    Literal,
    Negation,
    Regex,
    Rule,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Token

TAGGER = PinnedTagger(
    {
        "the": ("DET", "DT"),
        "big": ("ADJ", "JJ"),
        "red": ("ADJ", "JJ"),
        "dog": ("NOUN", "NN"),
        "dogs": ("NOUN", "NNS"),
        "is": ("AUX", "VBZ"),
    }
)


def found(rule: str, text: str, **options: object) -> list[Binding]:
    ruleset = parse(rule)
    row = TAGGER.tag([text]).row(0)
    return find(ruleset.rules[0], ruleset, row, split=TAGGER.split, **options)  # type: ignore[arg-type]


def test_a_binding_says_where_elements_names_and_tags_lie() -> None:
    [binding] = found("the x:(ADJ{0,2} y:NOUN) z:ADJ? is -> $x", "so the big red dog is")
    assert (binding.start, binding.end) == (1, 6)
    assert binding.elements == (
        TokenRange(1, 2),
        TokenRange(2, 5),
        TokenRange(5, 5),
        TokenRange(5, 6),
    )
    assert binding.names == {"x": TokenRange(2, 5), "y": TokenRange(4, 5), "z": TokenRange(5, 5)}
    assert binding.tags == {"ADJ": (2, 3), "NOUN": (4,)}


def test_names_of_contexts_are_bound_and_their_tags_are_not() -> None:
    [binding] = found("dog -> $x $y / x:ADJ __ y:AUX", "big dog is")
    assert binding.elements == (TokenRange(1, 2),)
    assert binding.names == {"x": TokenRange(0, 1), "y": TokenRange(2, 3)}
    assert binding.tags == {}


def test_a_name_that_took_no_part_has_an_empty_range() -> None:
    [binding] = found("(a:dog|b:dogs) is -> $a $b it", "dogs is")
    assert binding.names["a"].start == binding.names["a"].end
    assert binding.names["b"] == TokenRange(0, 1)


def test_an_insertion_is_an_empty_span_before_a_token() -> None:
    [binding] = found("<> -> also / dog __ is", "the dog is")
    assert (binding.start, binding.end, binding.elements) == (2, 2, ())


def test_all_takes_instances_from_left_to_right_without_overlap() -> None:
    places = [(b.start, b.end) for b in found("_ dog? -> x", "big dog dog red", extent="all")]
    assert places == [(0, 2), (2, 3), (3, 4)]


def test_candidates_come_in_the_order_of_preference() -> None:
    ruleset = parse("(big dog|big) dog? -> x")
    row = TAGGER.tag(["big dog dog"]).row(0)
    ends = [b.end for b in candidates(ruleset.rules[0], ruleset, row, split=TAGGER.split)]
    assert ends == [3, 2, 2, 1]


@pytest.mark.parametrize(
    ("protected", "expected"),
    [
        ([(4, 6)], True),
        ([(0, 5)], False),
        ([(0, 4), (10, 12)], True),
        ([(7, 8)], True),  # the gap inside of the span
        ([(11, 20)], False),
        ([(6, 6)], True),  # a place strictly inside
        ([(5, 5), (11, 11)], False),
    ],
)
def test_protection_is_about_the_characters_of_the_span(
    protected: list[tuple[int, int]], expected: bool
) -> None:
    row = [Token("a", "", "", 1, 3), Token("b", "", "", 5, 7), Token("c", "", "", 8, 11)]
    binding = Binding(1, 3, (TokenRange(1, 2), TokenRange(2, 3)))
    assert is_protected(binding, row, protected) is expected


def test_a_pattern_that_re2_does_not_know_is_an_error_with_the_pattern() -> None:
    rule = Rule((Element(Regex("(?=a)")),), (Text("x"),))
    row = [Token("a", "", "", 0, 1)]
    with pytest.raises(CompileError, match=r"\(\?=a\)"):
        find(rule, Ruleset((rule,)), row, split=TAGGER.split)


def test_half_a_surrogate_pair_matches_no_pattern_and_its_own_literal() -> None:
    row = [Token("\ud83d", "", "", 0, 1)]
    anything = Rule((Element(Regex(".*")),), (Text("x"),))
    itself = Rule((Element(Literal("\ud83d")),), (Text("x"),))
    assert find(anything, Ruleset((anything,)), row, split=lambda word: (word,)) == []
    assert len(find(itself, Ruleset((itself,)), row, split=lambda word: (word,))) == 1


def test_a_word_of_several_tokens_cannot_be_negated() -> None:
    rule = Rule((Element(Negation(Literal("don't"))),), (Text("x"),))
    with pytest.raises(CompileError, match="several tokens"):
        find(rule, Ruleset((rule,)), TAGGER.tag(["so"]).row(0), split=TAGGER.split)
