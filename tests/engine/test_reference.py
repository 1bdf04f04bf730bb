"""The naive matcher: bindings, order, protection; and the engine agrees with it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from strategies import rules

from sears_dsl.engine.matcher import compile_rules
from sears_dsl.engine.matches import Binding, TokenRange
from sears_dsl.engine.reference import candidates, find, is_protected
from sears_dsl.engine.rewrite.renderer import Renderer, render_untouching
from sears_dsl.errors import CompileError, RuleSyntaxError
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import (
    Element,
    Literal,
    Negation,
    Options,
    Regex,
    Rule,
    SetDefinition,
    Tag,
    Text,
)
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.tagging.tokens import Token, Tokens

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


# ---------------------------------------------------------------- the law

VOCABULARY = ("movie", "Movie", "MOVIE", "film", "What", "don't", "color", "colour", "10", "?", ",")
TAGS = (("NOUN", "NN"), ("NOUN", "NNS"), ("VERB", "VBZ"), ("AUX", "VBZ"), ("PRON", "WP"), ("", ""))
USED_TAGS = ("NOUN", "VERB", "NN", "NNS", "VBZ", "PRON")
SETS = (
    SetDefinition("WH", (Literal("What"), Tag("NOUN"), Regex("co.*r"))),
    SetDefinition("nouns", (Tag("NN"), Tag("NNS"), Literal("movie"))),
)


@st.composite
def tokenized(draw: st.DrawFn) -> tuple[str, list[Token]]:
    """A text of few words, each with tags of its own, and any spacing."""
    text = draw(st.sampled_from(("", " ", "\n")))
    row: list[Token] = []
    for _ in range(draw(st.integers(0, 8))):
        word = draw(st.sampled_from(VOCABULARY))
        for part in TAGGER.split(word):
            row.append(Token(part, *draw(st.sampled_from(TAGS)), len(text), len(text) + len(part)))
            text += part
        text += draw(st.sampled_from((" ", " ", "  ", "", "\r\n")))
    return text, row


@st.composite
def spans_in(draw: st.DrawFn, text: str) -> list[tuple[int, int]]:
    place = st.integers(0, len(text))
    drawn = draw(st.lists(st.tuples(place, place), max_size=2))
    return [(min(pair), max(pair)) for pair in drawn]


OPTIONS = st.builds(
    Options,
    case=st.sampled_from(("smart", "exact", "ignore")),
    tagset=st.sampled_from(("ud2", "sears2018")),
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), options=OPTIONS, extent=st.sampled_from(("first", "all")))
def test_the_compiled_engine_gives_what_the_reference_gives(
    data: st.DataObject, options: Options, extent: str
) -> None:
    names = ("WH", "nouns")
    drawn = rules(words=VOCABULARY, tags=USED_TAGS, sets=names, depth=2, options=options)
    written = data.draw(st.lists(drawn, min_size=1, max_size=4))
    ruleset = Ruleset(tuple(written), options=options, sets=SETS)
    rows = data.draw(st.lists(tokenized(), min_size=1, max_size=4))
    protected = [data.draw(spans_in(text)) for text, _ in rows]
    try:
        matcher = compile_rules([ruleset], tagger=TAGGER)
    except RuleSyntaxError:
        reject()  # only the tokenizer reveals a negated word of several tokens
    tokens = Tokens.from_rows([text for text, _ in rows], [row for _, row in rows])
    matches = matcher.find(tokens, scope=extent, protected=protected)  # type: ignore[arg-type]
    given_by_engine = [
        (row, rule, _comparable(matcher.binding(tokens, matches, index)))
        for index, (rule, row, _, _) in enumerate(matches.tuples())
    ]
    given_by_reference = [
        (row, rule, _comparable(binding))
        for row, (_, words) in enumerate(rows)
        for rule, tree in enumerate(ruleset.rules)
        for binding in find(
            tree,
            ruleset,
            words,
            split=TAGGER.split,
            extent=extent,  # type: ignore[arg-type]
            protected=protected[row],
        )
    ]
    assert given_by_engine == given_by_reference
    _render_everything(ruleset, rows, given_by_reference)


def _comparable(binding: Binding) -> tuple[object, ...]:
    """The binding; empty ranges are equal wherever they lie."""
    elements = tuple(place if place.start < place.end else None for place in binding.elements)
    names = {name: p if p.start < p.end else None for name, p in binding.names.items()}
    return binding.start, binding.end, elements, names, dict(binding.tags)


def _render_everything(
    ruleset: Ruleset,
    rows: Sequence[tuple[str, list[Token]]],
    expected: Sequence[tuple[int, int, tuple[object, ...]]],
) -> None:
    """Every instance can be rendered: no rule that the check admits makes that fail."""
    for number, (text, words) in enumerate(rows):
        for rule, tree in enumerate(ruleset.rules):
            count = sum((row, r) == (number, rule) for row, r, _ in expected)
            bindings = find(tree, ruleset, words, split=TAGGER.split, extent="all")
            edits, missing = render_untouching(Renderer(tree, ruleset), text, words, bindings)
            # Neighbouring instances that are deleted make one edit together.
            assert min(count, 1) <= len(edits) + len(missing) <= len(bindings)
            place = 0
            for edit in edits:
                assert place <= edit.start <= edit.end <= len(text)
                assert text[edit.start : edit.end] == edit.old != edit.new
                place = edit.end
