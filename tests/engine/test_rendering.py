"""Matches that look alike share new texts; each is as it would be alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import LAW
from test_laws import TAGGER, TAGS, WORDS, _compilable, rulesets, texts

from sears_dsl.engine.arrays import number_sequences
from sears_dsl.engine.matcher import Matcher, compile_rules
from sears_dsl.engine.matches import Binding, Edit, Rewrite, Scope, apply_edits
from sears_dsl.engine.reference import find
from sears_dsl.engine.rewrite.placing import begins_sentence
from sears_dsl.engine.rewrite.renderer import Renderer, render_untouching
from sears_dsl.engine.rewrite.rewrites import Rewrites
from sears_dsl.engine.rewrite.windows import _begin_sentences, characters_of
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Element, Literal, Options, Rule, Tag, TagCopy, Text
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.tokens import Tokens

# A few rows are rendered one by one, many by arrays.
rows = st.builds(
    lambda some, times: some * times, st.lists(texts, max_size=5), st.sampled_from((2, 9))
)


@st.composite
def mined(draw: st.DrawFn) -> Ruleset:
    """Rules like mined ones: words and tags, copied by tag or written, with exact case."""
    words = st.sampled_from((*WORDS, "n't", "do", "'s"))
    tags = st.sampled_from((*TAGS, "DET", "PUNCT", "AUX"))
    elements = st.one_of(
        words.map(lambda word: Element(Literal(word, quoted=True))),
        tags.map(lambda tag: Element(Tag(tag))),
    )
    found = []
    for _ in range(draw(st.integers(1, 6))):
        antecedent = tuple(draw(st.lists(elements, min_size=1, max_size=3)))
        waiting = Counter(each.body.name for each in antecedent if isinstance(each.body, Tag))
        consequent: list[Text | TagCopy] = []
        for _ in range(draw(st.integers(0, 4))):
            glued = draw(st.integers(0, 5)) == 0
            left = sorted(tag for tag, count in waiting.items() if count)
            copies: bool = draw(st.booleans())
            if left and copies:
                tag = draw(st.sampled_from(left))
                waiting[tag] -= 1
                consequent.append(TagCopy(tag, glued=glued))
            else:
                consequent.append(Text(draw(words), quoted=True, glued=glued))
        found.append(Rule(antecedent, tuple(consequent)))
    return Ruleset(tuple(found), options=Options(case="exact"))


def _one_by_one(
    part: Ruleset, tokens: Tokens, scope: Scope
) -> tuple[list[Rewrite], dict[int, int]]:
    """Every match found by the reference and rendered by itself."""
    instances = {
        (row, number): find(rule, part, tokens.row(row), split=TAGGER.split, extent=scope)
        for row in range(len(tokens.texts))
        for number, rule in enumerate(part.rules)
    }
    return _rendered(part, tokens, instances)


def _rendered(
    part: Ruleset, tokens: Tokens, instances: Mapping[tuple[int, int], Sequence[Binding]]
) -> tuple[list[Rewrite], dict[int, int]]:
    """The instances of each row and rule, rendered by themselves."""
    done = []
    unrenderable: Counter[int] = Counter()
    renderers = [Renderer(rule, part) for rule in part.rules]
    for (row, number), bindings in instances.items():
        text = tokens.texts[row]
        edits, missing = render_untouching(renderers[number], text, tokens.row(row), bindings)
        unrenderable[number] += sum(each.is_counted for each in missing)
        if edits:
            done.append(Rewrite(number, row, text, apply_edits(text, edits), tuple(edits)))
    return done, {number: count for number, count in unrenderable.items() if count}


@LAW
@given(st.one_of(rulesets(), mined()), rows, st.sampled_from(("first", "all")))
def test_shared_rendering_is_rendering_one_by_one(
    part: Ruleset, rows: list[str], scope: Scope
) -> None:
    part = _compilable(part)
    matcher = compile_rules([part], tagger=TAGGER)
    before = TAGGER.tag(rows[1::2])  # another batch, whose new texts are remembered
    matcher.rewrites(before, matcher.find(before))
    tokens = TAGGER.tag(rows)
    done = matcher.rewrites(tokens, matcher.find(tokens, scope=scope))
    expected, unrenderable = _one_by_one(part, tokens, scope)
    assert list(done) == expected
    assert done.unrenderable == unrenderable
    assert (done.texts, done.originals) == (
        [each.text for each in expected],
        [each.original for each in expected],
    )
    assert list(zip(done.rows.tolist(), done.rules.tolist(), strict=True)) == [
        (each.row, each.rule) for each in expected
    ]
    distinct = done.distinct()
    pairs = list(zip(distinct.rows.tolist(), distinct.texts, strict=True))
    assert [pairs[number] for number in distinct.ids.tolist()] == [
        (each.row, each.text) for each in expected
    ]
    assert len(set(pairs)) == len(pairs)


def _applied(*written: str, rows: Sequence[str], scope: Scope = "first") -> Rewrites:
    matcher: Matcher = compile_rules([parse(text) for text in written], tagger=TAGGER)
    return matcher.apply(rows, scope=scope)


def test_what_is_copied_differs_where_the_gap_does() -> None:
    gaps = ("a movie film", "a  movie film", "a\tmovie film", "a \u00a0 movie film")
    rules = "option case = exact\nDET NOUN film -> DET NOUN was"
    done = _applied(rules, rows=[*gaps, *gaps])
    expected = [text.replace("film", "was") for text in gaps]
    assert done.texts == [*expected, *expected]


def test_what_other_batches_left_is_told_apart_as_within_one() -> None:
    rules = "DET NOUN -> $2 or $1\n!good film -> so $1\n[lemma=be] NOUN -> was $2"
    rows = ["a movie", "A movie", "a  movie", "It is. a movie", '"a movie"', "a film", "is film"]
    matcher = compile_rules([parse(rules)], tagger=TAGGER)
    for row in [*rows, *rows[::-1]]:
        many = [row] * 60  # enough to be rendered by arrays
        assert list(matcher.apply(many)) == list(_applied(rules, rows=many))


def test_a_clitic_has_a_word_that_bears_it_and_is_in_capitals_as_that_is() -> None:
    """Where one word is stressed, or a title has capitals, nobody writes `It'S`, `DoN't`."""
    rows = ["it IS", "so it IS", "IT IS", "IT is", "It IS", "it is", "I IS", "NASA is", "so I AM",
            "they do NOT", "DO NOT", "DO not", "Do Not", "so they do NOT", "so they DO NOT",
            "so they do not", "so it seldom not", "so it looks not"]  # fmt: skip
    after = ["IT'S", "it's", "I'S", "NASA's", "so I'M", "DON'T", "Don't", "so they DON'T",
             "so they don't"]  # fmt: skip
    rules = "is -> 's\nam -> 'm\nnot -> n't"
    for many in (1, 30):
        for some in (rows, rows[::-1]):
            done = _applied(rules, rows=some * many).texts
            assert sorted(done) == sorted(after * many)


def test_kept_punctuation_touches_what_it_touched() -> None:
    rules = 'option case = exact\nNOUN "," is -> x "," y\nNOUN "," NOUN -> NOUN "," x'
    gaps = [(left, right) for left in ("", " ") for right in ("", " ")]
    rows = [f"movie{left},{right}{word}" for left, right in gaps for word in ("is", "film")]
    matcher = compile_rules([parse(rules)], tagger=TAGGER)
    tokens = TAGGER.tag(rows)
    assert len(tokens.starts) == 3 * len(rows)
    done = matcher.rewrites(tokens, matcher.find(tokens))
    to_x = [text.replace("film", "x") for text in rows]
    assert done.texts == [
        text.replace("movie", "x").replace("is", "y") if text.endswith("is") else text
        for text in to_x
    ]


@pytest.mark.parametrize(
    "words", [(",", ".", '"', "'s", "film"), (",", "(", '"', "n't", "is"), ("-", ":", "'s", "not")]
)
def test_a_mark_beside_a_word_is_written_as_it_is_one_by_one(words: tuple[str, ...]) -> None:
    """Every pair of these words, one of which becomes another, touching and apart."""
    elements = {word: Element(Literal(word, quoted=True)) for word in words}
    rules = [
        Rule((elements[one], elements[two]), tuple(Text(word, quoted=True) for word in written))
        for one, two, new in product(words, repeat=3)
        for written in ((one, new), (new, two))
    ]
    part = Ruleset(tuple(rules), options=Options(case="exact"))
    rows = [
        f"{before}{one}{gap}{two}{after}"
        for one, two in product(words, repeat=2)
        for before, gap, after in product(("it", "it. ", "it "), ("", " "), (" is", ",", ""))
    ]
    matcher = compile_rules([part], tagger=TAGGER)
    tokens = TAGGER.tag(rows)
    matches = matcher.find(tokens)
    done = matcher.rewrites(tokens, matches)
    instances = {
        (row, rule): [matcher.binding(tokens, matches, index)]
        for index, (rule, row, *_) in enumerate(matches.tuples())
    }
    assert (list(done), done.unrenderable) == _rendered(part, tokens, instances)
    assert len(done) > 1_000


def test_what_touches_the_token_before_is_told_apart() -> None:
    rules = "option case = exact\nn't -> not\n's NOUN -> is NOUN"
    done = _applied(rules, rows=["I don't", "I do n't", "it's movie", "it 's movie"])
    assert done.texts == ["I do not", "I do not", "it is movie", "it is movie"]


def test_edits_that_meet_see_each_other() -> None:
    rules = parse('option case = exact\n. -> is\nnot -> ","\nfilm -> "."')
    tokens = TAGGER.tag(["it..", "it . .", "it not not", "film film", "filmfilm not.not", "a film"])
    matcher = compile_rules([rules], tagger=TAGGER)
    done = matcher.rewrites(tokens, matcher.find(tokens, scope="all"))
    assert (list(done), done.unrenderable) == _one_by_one(rules, tokens, "all")


def test_each_place_of_a_row_is_edited_alike_but_deletions_see_their_neighbours() -> None:
    done = _applied("a -> <>", rows=["a b a, (a c) a", "a"], scope="all")
    assert done.texts == ["b, (c)", ""]


def test_a_row_without_tokens_may_get_an_insertion() -> None:
    assert _applied("<> -> So / <s> __", rows=["", "It is"]).texts == ["So", "So it is"]


def test_an_insertion_behind_the_last_token_of_a_batch_stands_beside_copied_words() -> None:
    rules = "option case = exact\nthe NOUN -> a NOUN\n<> -> really / __ </s>"
    done = _applied(rules, rows=["the movie"] * 30)
    assert done.texts == ["a movie", "the movie really"] * 30


def test_nothing_found_is_an_empty_sequence() -> None:
    done = _applied("movie -> film", rows=["none", ""])
    assert (len(done), list(done), done.texts, done[:2]) == (0, [], [], [])
    assert done.distinct().texts == []


def test_rewrites_are_a_sequence() -> None:
    done = _applied("movie -> film\na -> the", rows=["a movie"] * 3)
    everything = list(done)
    assert [done[place] for place in range(6)] == everything
    assert done[-1] == everything[-1]
    assert (done[1:4], done[::-2]) == (everything[1:4], everything[::-2])
    assert done[1].edits == (Edit(0, 1, "a", "the"),)
    with pytest.raises(IndexError):
        done[6]


def test_rows_of_both_tiers_come_in_their_order() -> None:
    """Rows that need tags are rendered apart from rows that do not."""
    done = _applied("movie -> film\nWhat NOUN -> x", rows=["movie", "What movie", "movie"])
    assert [(each.row, each.rule, each.text) for each in done] == [
        (0, 0, "film"),
        (1, 0, "What film"),
        (1, 1, "x"),
        (2, 0, "film"),
    ]


def test_distinct_rewrites_differ_in_their_text() -> None:
    """Two edits may produce the same text."""
    done = _applied("a movie -> a film\nmovie -> film\na -> the", rows=["a movie", "a movie"])
    distinct = done.distinct()
    assert distinct.ids.tolist() == [0, 0, 1, 2, 2, 3]
    assert distinct.rows.tolist() == [0, 0, 1, 1]
    assert distinct.texts == ["a film", "the movie"] * 2


def test_objects_become_columns_and_objects_again() -> None:
    done = _applied("movie -> film\na -> the", rows=["a movie, a movie"], scope="all")
    assert list(Rewrites(list(done))) == list(done)


def test_sequences_have_one_number_if_they_are_equal() -> None:
    values = np.array([1, 2, 1, 2, 2, 1, 1], np.int32)
    numbers, examples = number_sequences(values, np.array([0, 2, 4, 6, 6, 7], np.int64))
    assert (numbers.tolist(), examples.tolist()) == ([0, 0, 1, 2, 3], [0, 2, 3, 4])


def test_half_of_a_surrogate_pair_is_a_character() -> None:
    points, offsets = characters_of(["a\ud800", "😀"])
    assert (points.tolist(), offsets.tolist()) == ([97, 0xD800, 0x1F600], [0, 2, 3])


def test_the_kernels_know_where_sentences_begin_and_what_white_space_is() -> None:
    befores = [f".{chr(point)}" for point in range(0x3100)]
    sides = product(("?", "…", ",", "x", ""), ("", ")", "”"), ("", " ", "  "), ("", "(“"))
    befores += map("".join, sides)
    flags = _begin_sentences(
        np.arange(len(befores), dtype=np.int32),
        np.array(list(map(len, befores)), np.int32),
        characters_of([f"{before}x" for before in befores]),
    )
    assert flags.tolist() == [begins_sentence(f"{each}x", len(each)) for each in befores]
