"""Protected places agree with a naive walk, in time that grows only with the text."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sears_dsl.engine.match.search import mark_protected
from sears_dsl.engine.matches import Edit, Reach, SpanMap
from sears_dsl.engine.sentence_units import spans_inside
from sears_dsl.language.loader import parse
from sears_dsl.tagging.pinned import PinnedTagger

Span = tuple[int, int]


def naive(rows: list[list[Span]], spans: list[list[Span]]) -> tuple[list[int], list[int]]:
    """Token by token and span by span: the covered units, and the closed places."""
    covered: list[int] = []
    closed: list[int] = []
    for tokens, protected in zip(rows, spans, strict=True):
        for number, (start, end) in enumerate(tokens):
            covered.append(any(start < high and low < end for low, high in protected))
            gap = False
            if number + 1 < len(tokens):
                after = tokens[number + 1][0]
                for low, high in protected:
                    shares = end < after and end < high and low < after
                    gap |= shares or (low == high and end <= low <= after)
            covered.append(gap)
        places = [start for start, _ in tokens] + [tokens[-1][1] if tokens else 0]
        closed += [any(low < place < high for low, high in protected) for place in places]
    return covered, closed


@st.composite
def _tokens(draw: st.DrawFn) -> list[Span]:
    bounds = draw(st.lists(st.integers(0, 12), max_size=10, unique=True).map(sorted))
    kept = draw(st.lists(st.booleans(), min_size=len(bounds), max_size=len(bounds)))
    return [pair for pair, keep in zip(pairwise(bounds), kept, strict=False) if keep]


_SPANS = st.lists(st.tuples(st.integers(-2, 15), st.integers(-2, 15)).map(sorted), max_size=4)


@given(st.lists(st.tuples(_tokens(), _SPANS), max_size=4))
def test_protected_places_are_those_of_a_naive_walk(rows: list[tuple[list[Span], list]]) -> None:  # type: ignore[type-arg]
    tokens = [row for row, _ in rows]
    spans = [[(low, high) for low, high in protected] for _, protected in rows]
    flat = np.array([token for row in tokens for token in row], np.int32).reshape(-1, 2)
    marked = mark_protected(
        np.cumsum([0, *map(len, tokens)]).astype(np.int32),
        flat[:, 0],
        flat[:, 1],
        np.cumsum([0, *map(len, spans)]),
        np.array([span for row in spans for span in row], np.int64).reshape(-1, 2),
    )
    covered, closed = naive(tokens, spans)
    assert np.diff(marked.covered).tolist() == covered
    assert marked.closed.tolist() == closed
    assert len(marked.covered) == 2 * len(flat) + 1


def test_many_spans_in_a_long_row_cost_no_more_than_the_row() -> None:
    text = "a movie and the rest " * 10_000
    every_e = [(place, place + 1) for place, letter in enumerate(text) if letter == "e"]
    matcher = parse("a movie -> a film\nand -> or").compile(tagger=PinnedTagger())
    tokens = matcher.tagger.tokenize([text])
    begin = time.process_time()
    found = matcher.find(tokens, scope="all", protected=[every_e])
    assert time.process_time() - begin < 10  # the naive walk takes half an hour of plain Python
    assert np.bincount(found.rules).tolist() == [0, 10_000]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=6), _SPANS)
def test_sentences_have_the_protected_spans_that_reach_into_them(
    cuts: list[tuple[int, int]], spans: list[list[int]]
) -> None:
    sentences: list[Span] = []
    for gap, length in cuts:
        start = (sentences[-1][1] if sentences else 0) + gap % 3
        sentences.append((start, start + length))
    protected = [(low, high) for low, high in spans]
    naive_spans = [
        sorted((low - start, high - start) for low, high in protected if low < end and start < high)
        for start, end in sentences
    ]
    assert [sorted(each) for each in spans_inside(protected, sentences)] == naive_spans


@given(_SPANS, st.tuples(st.integers(-2, 15), st.integers(0, 4)))
def test_an_edit_touches_a_span_as_a_span_map_says(
    spans: list[list[int]], edit: tuple[int, int]
) -> None:
    step = SpanMap([Edit(edit[0], edit[0] + edit[1], "", "")])
    touched = any(low < high and step.touching(low, high) for low, high in spans)
    assert Reach((low, high) for low, high in spans).touches(edit[0], sum(edit)) == touched


_TRIFLES = st.lists(st.sampled_from(["so ", "so, ", "so", "It ", "was ", "good. "]), max_size=7)


@given(_TRIFLES.map("".join), _SPANS)
@example("It is so so good.", [[5, 6]])
@example("a so so b", [[1, 2]])
def test_of_instances_that_meet_protected_text_takes_none_along(
    text: str, spans: list[list[int]]
) -> None:
    matcher = parse("so -> <>").compile(tagger=PinnedTagger())
    protected = [[(low, high) for low, high in spans if low >= 0]]
    first = matcher.apply([text], protected=protected)
    every = matcher.apply([text], protected=protected, scope="all")
    assert len(first) == len(every)
    for one, several in zip(first, every, strict=True):
        assert len(several.text) <= len(one.text)
