"""The scan by bits agrees with the walk along the trie; the planes that it reads."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.engine.compile.program import Program, build_program
from sears_dsl.engine.compile.token_classes import PlaneMemory
from sears_dsl.engine.match.search import (
    _EXTENTS,
    _protection,
    find_instances,
    find_instances_by_bits,
    search,
)
from sears_dsl.language.loader import parse
from sears_dsl.language.rule import Element, Literal, Rule, Tag, Text
from sears_dsl.language.ruleset import Ruleset
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger({"movie": ("NOUN", "NN"), "good": ("ADJ", "JJ"), "is": ("AUX", "VBZ")})
WORDS = ("good", "movie", "is", "a", "x", "?")
# Contexts, anchors, options, negations, insertions at either end of a row, long variants.
WRITTEN = (
    "good movie -> x",
    "NOUN -> x",
    "movie? is a{0,3} -> x",
    "<s> good -> x",
    "movie </s> -> x",
    "<s> a </s> -> x",
    "<> -> x / __ </s>",
    "<> -> x / <s> __",
    "<> -> x / a __ movie",
    "<> -> x / is __ ADJ",
    "!is (NOUN|a) -> x",
    "_ _ _ ? -> x",
    "ADJ -> x / a? __ NOUN",
    "is a good movie is a good movie -> x",
    "(good|movie x)? a -> x",
)


def program_of(*written: str) -> Program:
    ruleset = parse("\n".join(written))
    program, problems = build_program([(ruleset.rules, ruleset)], TAGGER.split)
    assert not problems
    return program


def by_both(
    program: Program,
    texts: list[str],
    extent: str,
    protected: list[list[tuple[int, int]]] | None = None,
) -> list[list[list[int]]]:
    """The instances by bits, and by the trie."""
    tokens = TAGGER.tag(texts)
    classes, memory = program.classes.of(tokens.types)
    rows = (0, len(tokens), _EXTENTS[extent], tokens.row_offsets, tokens.type_ids)  # type: ignore[index]
    places = _protection(tokens, tokens.row_offsets, protected)
    assert program.planes is not None
    planes = memory.of(classes, program.planes)
    bits = find_instances_by_bits(
        *rows, classes.of_type, program.planes, planes, program.rules.patterns, places
    )
    trie = find_instances(*rows, classes, program.rules, places)
    return [bits.tolist(), trie.tolist()]


@given(
    st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=8, unique=True),
    st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=4),
    st.sampled_from(("first", "all", "every")),
    st.data(),
)
def test_bits_find_what_the_trie_finds(
    written: list[str], texts: list[str], extent: str, data: st.DataObject
) -> None:
    program = program_of(*written)
    place = st.integers(0, 20)
    span = st.tuples(place, place).map(lambda ends: (min(ends), max(ends)))
    protected = data.draw(
        st.none() | st.lists(st.lists(span, max_size=1), min_size=len(texts), max_size=len(texts))
    )
    bits, trie = by_both(program, texts, extent, protected)
    assert bits == trie


def test_more_hits_than_there_was_room_for_are_all_there() -> None:
    program = program_of(*(f"{' '.join(['_'] * k)} -> x" for k in range(1, 40)), "a -> y")
    texts = [" ".join(["a"] * 60), "", "a b", " ".join(["b"] * 50)]
    for extent in ("first", "all", "every"):
        bits, trie = by_both(program, texts, extent)
        assert bits == trie
    assert len(by_both(program, texts, "every")[0][0]) > 2_000


@pytest.mark.parametrize("negations", [0, 80])
def test_paths_that_end_beside_others_that_go_on(negations: int) -> None:
    words = ("good", "movie", "a", "x", "?")
    ngrams = [pair for first in words for pair in ((first,), (first, "movie"), (first, "a", "x"))]
    written = [" ".join(ngram) + " -> y" for ngram in ngrams]
    written += [f"a good {third} -> y" for third in (*words, "good x", *range(10))]
    # Every token satisfies many of these.
    written += [f"!w{k} {words[k % 5]} -> y" for k in range(negations)]
    program = program_of(*written, "<s> good -> y", "NOUN movie -> y / a __")
    texts = [" ".join(random.Random(k).choices(words, k=12)) for k in range(300)]
    bits, trie = by_both(program, texts, "first")
    assert bits == trie
    assert len(bits[0]) > 1000


@pytest.mark.parametrize(("dense", "at_once"), [(0, 1 << 20), (64, 1 << 20), (64, 1)])
def test_hundreds_of_rules_and_classes_that_come_batch_after_batch(
    dense: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sears_dsl.engine.compile.token_classes._MOST_DENSE", dense)
    monkeypatch.setattr("sears_dsl.engine.compile.token_classes._MOST_AT_ONCE", at_once)
    draw = random.Random(0)
    words = [f"w{k}" for k in range(60)]
    elements = [Element(Literal(word, quoted=True)) for word in words] + [
        Element(Tag(name)) for name in ("NOUN", "ADJ", "X")
    ]
    antecedents = {tuple(draw.choices(elements, k=draw.randint(1, 4))) for _ in range(300)}
    rules = [Rule(antecedent, (Text("x"),)) for antecedent in antecedents]
    program, _ = build_program([(rules, Ruleset(()))], TAGGER.split)
    for _ in range(3):
        some = [*draw.sample(words, 20), "movie", "good", "unknown"]
        texts = [" ".join(draw.choices(some, k=draw.randint(0, 12))) for _ in range(15)]
        bits, trie = by_both(program, texts, "first")
        assert bits == trie
    assert program.planes is not None
    classes, memory = program.classes.of(TAGGER.tag(["movie w1"]).types)
    planes = memory.of(classes, program.planes)
    assert planes is not None
    words = len(program.planes.depths) if dense else 0
    assert planes.firsts.shape == planes.nexts.shape == (len(planes.bits), words)


def test_a_class_has_the_bits_of_what_it_satisfies() -> None:
    program = program_of("good movie -> x", "good -> x", "NOUN a </s> -> x", "movie -> x")
    tokens = TAGGER.tag(["good movie a x"])
    classes, _ = program.classes.of(tokens.types)
    planes = program.planes
    assert planes is not None
    of_class = PlaneMemory().of(classes, planes)
    assert of_class is not None

    def cell(token: int, place: int) -> int:
        """The bits of a token, or of the end, at a later place than the first."""
        number = 0 if token < 0 else classes.of_type[tokens.type_ids[token]] + 1
        at = int(planes.bases[0]) + place - 1
        return int(of_class.pool[of_class.blocks[number, at >> 3], at & 7])

    patterns = (planes.codes >> 37).tolist()
    bit = [1 << patterns.index(pattern) for pattern in program.rules.patterns.pattern_of.tolist()]
    shorter = bit[1] | bit[3]
    assert cell(1, 1) == shorter | bit[0]
    assert cell(2, 1) == shorter | bit[2]
    assert cell(-1, 2) == shorter | bit[0] | bit[2]
    assert cell(-1, 1) == shorter
    begins = [
        sum(map(int, of_class.masks[low:high])) for low, high in pairwise(of_class.offsets.tolist())
    ]
    first = classes.of_type[tokens.type_ids]
    assert begins[first[0] + 1] == bit[0] | bit[1]
    assert begins[first[1] + 1] == bit[2] | bit[3]
    assert begins[0] == begins[first[3] + 1] == 0
    assert of_class.firsts[:, 0].tolist() == begins
    assert of_class.nexts[:, 0].tolist() == [cell(token, 1) for token in (-1, 0, 1, 2, 3)]


@pytest.mark.parametrize("extent", ["first", "all", "every"])
def test_threads_write_what_one_writes(extent: str) -> None:
    program = program_of(*WRITTEN)
    draw = random.Random(1)
    tokens = TAGGER.tag([" ".join(draw.choices(WORDS, k=12)) for _ in range(3_000)])
    by_trie = replace(program, planes=None)
    one = search(by_trie, tokens, extent=extent)  # type: ignore[arg-type]
    for each in (program, by_trie):
        several = search(each, tokens, extent=extent, jobs=3)  # type: ignore[arg-type]
        assert np.array_equal(one.rules, several.rules)
        assert one.tuples() == several.tuples()
        assert np.array_equal(one.variants, several.variants)


def test_a_class_begins_a_word_of_bits_once_in_whatever_order_its_tests_come() -> None:
    program = program_of(*(f"{test} w{k} -> x" for k in range(90) for test in ("movie", "NOUN")))
    classes, _ = program.classes.of(TAGGER.tag(["movie good w1 w2"]).types)
    assert program.planes is not None
    symbols = classes.symbols.copy()
    for begin, end in pairwise(classes.offsets.tolist()):
        symbols[begin:end] = symbols[begin:end][::-1]
    planes = [
        PlaneMemory().of(each, program.planes)
        for each in (classes, classes._replace(symbols=symbols))
    ]
    for of_class in planes:
        assert of_class is not None
        for begin, end in pairwise(of_class.offsets.tolist()):
            words = of_class.words[begin:end].tolist()
            assert words == sorted(set(words))
    assert planes[0] is not None
    assert planes[1] is not None
    assert planes[0].masks.tolist() == planes[1].masks.tolist()
