"""The tokenizer that looks chunks up cuts exactly as the tokenizer that it learns from."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sears_dsl.tagging.spacy.chunk_tokenizer import ChunkTokenizer
from sears_dsl.tagging.tokens import Int32Array, Tokens

WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
# What cutters of words stumble over: emoticons, clitics, units, addresses, marks of every kind.
PIECES = r"""
    a B 7 . , : ; ) ( - ' ’ " ? ! / $ % … — _ * ^ = > < é ß 語 🎉
    :) :( ;-) (: :)) :-)) (^_^) ._. o.O 8) xD <3 \o/ :] ='(
    don't it's 's n't can't gonna Let's I'm we've rock'n'roll 'em y'all John's dogs'
    U.S. e.g. Dr. Mr. a.m. 10am 5p.m. 3.50 $5 10% 1,000 km² #tag @me
    http://a.b/c?d=1&e=2, www.x.org a@b.com file.txt 192.168.0.1 -- ... -LRB- and/or
""".split()  # noqa: SIM905 - a list of them is harder to read
INVISIBLE = ["\u200b", "\u0301", "\ufffd", "\x00", "\ud800"]
rows = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.sampled_from(INVISIBLE),
        st.sampled_from(WHITE_SPACE),
        st.just(" "),
        st.characters(exclude_categories=[]),
    ),
    max_size=12,
).map("".join)


def places(tokens: Tokens, row: int) -> list[tuple[str, int, int]]:
    return [(token.text, token.start, token.end) for token in tokens.row(row)]


# ------------------------------------------------------------- with a small cutter of our own


def cut_words(text: str) -> tuple[Int32Array, Int32Array]:
    """Words and single marks, and then smileys joined, unless a bracket follows after a space."""
    found = [match.span() for match in re.finditer(r":\)(?! \))|\w+|[^\w\s]", text)]
    starts, ends = np.array(found, np.int32).reshape(-1, 2).T
    return starts, ends


def cut_before_joining(text: str) -> tuple[Int32Array, Int32Array]:
    found = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    starts, ends = np.array(found, np.int32).reshape(-1, 2).T
    return starts, ends


small_rows = st.lists(
    st.text(st.sampled_from(["a", "b", ":", ")", " ", "\n", "\u3000", "\x1c", "é", "🎉"])),
    max_size=8,
)


@given(small_rows)
@example([":)", "a:) )", ""])
@example([])
def test_it_cuts_as_the_tokenizer_does_row_by_row(texts: list[str]) -> None:
    check_all = ChunkTokenizer(cut_words, cut_before_joining=cut_before_joining)
    check_smileys = ChunkTokenizer(
        cut_words, cut_before_joining=cut_before_joining, joined_words={":)"}
    )
    for tokenizer in (check_all, check_all, check_smileys, check_smileys):  # learn, look up
        tokens = tokenizer.tokenize(texts)
        assert list(tokens.texts) == texts
        for row, text in enumerate(texts):
            starts, ends = (column.tolist() for column in cut_words(text))
            wanted = [(text[a:b], a, b) for a, b in zip(starts, ends, strict=True)]
            assert places(tokens, row) == wanted


@given(small_rows)
def test_types_are_distinct_and_all_used(texts: list[str]) -> None:
    tokens = ChunkTokenizer(cut_words).tokenize(texts)
    assert len(set(tokens.types)) == len(tokens.types)
    assert sorted(set(tokens.type_ids.tolist())) == list(range(len(tokens.types)))
    assert not tokens.tagged


def test_what_was_seen_is_not_cut_again() -> None:
    given_texts: list[str] = []

    def cut(text: str) -> tuple[Int32Array, Int32Array]:
        given_texts.append(text)
        return cut_words(text)

    tokenizer = ChunkTokenizer(cut)
    tokenizer.tokenize(["is it red", "it is"])
    tokenizer.tokenize(["red it is", "it is blue"])
    assert given_texts == ["is\nit\nred", "blue"]


def test_forgetting_changes_nothing() -> None:
    texts = [f"word{k} word{k + 1}." for k in range(200)]
    forgetful = ChunkTokenizer(cut_words, most_chunks=10)
    one_by_one = [places(forgetful.tokenize([text]), 0) for text in texts]
    together = ChunkTokenizer(cut_words).tokenize(texts)
    assert one_by_one == [places(together, row) for row in range(len(texts))]


def test_a_failure_while_learning_leaves_nothing_half_known() -> None:
    fail = True

    def cut(text: str) -> tuple[Int32Array, Int32Array]:
        if fail:
            raise MemoryError
        return cut_words(text)

    tokenizer = ChunkTokenizer(cut)
    with pytest.raises(MemoryError):
        tokenizer.tokenize(["is it"])
    fail = False
    assert places(tokenizer.tokenize(["is it"]), 0) == [("is", 0, 2), ("it", 3, 5)]


def test_many_rows_are_taken_in_blocks() -> None:
    texts = ["It is red. " * 10_000, "", "x"] * 12
    tokens = ChunkTokenizer(cut_words).tokenize(texts)
    assert np.diff(tokens.row_offsets).tolist() == [40_000, 0, 1] * 12
    assert places(tokens, 35) == [("x", 0, 1)]
