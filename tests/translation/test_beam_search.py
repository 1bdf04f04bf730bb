"""Beam search against enumeration, with a model whose distribution is a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the search needs the extra `discovery`")
pytest.importorskip("sentencepiece", reason="the search needs the extra `discovery`")

from sears_dsl.paraphrasing.paraphraser import DEAD, ParaphraseGuide, WordDistance  # noqa: E402
from sears_dsl.translation.beam_search import FREE, DecoderInput, Hypothesis, beam_search  # noqa: E402
from sears_dsl.translation.network import DecoderState, Memory, TranslationModel  # noqa: E402

NAMES = ("</s>", "<unk>", "▁a", "▁good", "▁film", "s", "▁Film", "▁not")
LENGTH = 3


class Table(TranslationModel):
    """The next piece depends on the text and on the last piece, by a seeded random table."""

    name = identity = "table"
    end = 0
    device = torch.device("cpu")

    def __init__(self, seed: int, texts: int = 2) -> None:
        generator = torch.Generator().manual_seed(seed)
        size = len(NAMES)
        self._output = 2 * torch.randn(size, texts * (size + 1), generator=generator)
        self._output_bias = torch.zeros(size)
        self._contexts = size + 1

    def source_pieces(self, text: str) -> list[int]:
        return self.target_pieces(text)

    def target_pieces(self, text: str) -> list[int]:
        pieces, rest = [], "".join("▁" + word for word in text.split())
        while rest:
            fits = [n for n, name in enumerate(NAMES) if n > 1 and rest.startswith(name)]
            piece = max(fits, key=lambda n: len(NAMES[n]), default=1)
            rest = rest[len(NAMES[piece]) if piece > 1 else 1 :]
            pieces.append(piece)
        return [*pieces, self.end]

    def text(self, pieces: Sequence[int]) -> str:
        return "".join(NAMES[piece] for piece in pieces if piece > 1).replace("▁", " ").strip()

    def piece_strings(self) -> Sequence[str]:
        return NAMES

    def encode(self, texts: Sequence[str]) -> Memory:
        return Memory((), (), torch.ones(len(texts), 1, 1, 1, dtype=torch.bool))

    def start(self, memory: Memory, rows: Any) -> DecoderState:
        return DecoderState(rows, 0, ())

    def advance(self, memory: Memory, state: DecoderState, last: Any) -> tuple[Any, DecoderState]:
        context = torch.zeros_like(state.rows) if last is None else last + 1
        hidden = torch.zeros(len(state.rows), self._output.shape[1])
        hidden[torch.arange(len(hidden)), state.rows * self._contexts + context] = 1
        return hidden, DecoderState(state.rows, state.position + 1, ())

    def reader(self, texts: int = 2) -> DecoderInput:
        return DecoderInput(self, self.encode([""] * texts), torch.arange(texts))


def every_output(models: Sequence[Table], row: int, written: Sequence[int]) -> list[Hypothesis]:
    """All outputs of up to LENGTH pieces with the mean of the models' probabilities."""
    outputs = [
        pieces
        for length in range(LENGTH + 1)
        for pieces in itertools.product([p for p in written if p > 1], repeat=length)
    ]
    totals = []
    for model in models:
        normal = model._output[list(written)].log_softmax(0).double()
        column = {piece: at for at, piece in enumerate(written)}
        table = normal.tolist()
        base = row * model._contexts
        totals.append(
            [
                sum(
                    table[column[after]][base + before]
                    for before, after in zip(
                        (0, *(p + 1 for p in pieces)), (*pieces, 0), strict=True
                    )
                )
                for pieces in outputs
            ]
        )
    return [
        Hypothesis(pieces, math.log(sum(map(math.exp, each)) / len(each)))
        for pieces, each in zip(outputs, zip(*totals, strict=True), strict=True)
    ]


def best(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda item: -item.log_probability)


def same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    assert {item.pieces for item in found} == {item.pieces for item in expected}
    by_pieces = {item.pieces: item.log_probability for item in expected}
    for item in found:
        assert item.log_probability == pytest.approx(by_pieces[item.pieces], abs=1e-4)
    falling = [item.log_probability for item in found]
    assert falling == sorted(falling, reverse=True)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 999), st.integers(1, 2), st.floats(-9, -2))
def test_a_wide_beam_finds_all_over_the_floor(seed: int, count: int, floor: float) -> None:
    models = [Table(seed + number) for number in range(count)]
    found = beam_search(
        [model.reader() for model in models],
        [FREE, FREE],
        beam=3000,
        floors=[floor, floor - 1],
        lengths=[LENGTH, LENGTH],
    )
    for row, least in enumerate((floor, floor - 1)):
        outputs = every_output(models, row, range(len(NAMES)))
        same(found[row], [item for item in outputs if item.log_probability >= least])


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 999), st.integers(1, 9))
def test_with_a_limit_the_best_are_found(seed: int, limit: int) -> None:
    model = Table(seed)
    found = beam_search(
        [model.reader()],
        [FREE, FREE],
        beam=3000,
        floors=[-math.inf] * 2,
        lengths=[LENGTH] * 2,
        limit=limit,
    )
    for row in range(2):
        same(found[row], best(every_output([model], row, range(len(NAMES))))[:limit])


def test_a_shortlist_is_all_that_is_written_and_sums_to_one() -> None:
    model, written = Table(5), [0, 2, 4, 5]
    found = beam_search(
        [model.reader()],
        [FREE, FREE],
        beam=999,
        floors=[-math.inf] * 2,
        lengths=[LENGTH] * 2,
        pieces=written,
    )
    for row in range(2):
        same(found[row], every_output([model], row, written))


def test_a_narrow_beam_keeps_the_likeliest_prefix() -> None:
    model = Table(3, texts=1)
    [found] = beam_search([model.reader(1)], [FREE], beam=1, floors=[-math.inf], lengths=[2])
    [wide] = beam_search([model.reader(1)], [FREE], beam=99, floors=[-math.inf], lengths=[2])
    assert [len(item.pieces) for item in best(found)] != []
    assert {item.pieces for item in found} < {item.pieces for item in wide}
    for item in found:
        assert item in wide


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("forbidden", [("film", "a good"), ("Films",), ("good", "not a")])
def test_forbidden_phrases_are_left_out(seed: int, forbidden: tuple[str, ...]) -> None:
    model = Table(seed, texts=1)
    [found] = beam_search(
        [model.reader(1)],
        [ParaphraseGuide("a good Film", model, NAMES, maximum=9, forbidden=forbidden)],
        beam=5000,
        floors=[-math.inf],
        lengths=[LENGTH],
    )

    def says(text: str, phrase: str) -> bool:
        return f" {phrase.lower()} " in f" {text.lower()} "

    expected = [
        item
        for item in every_output([model], 0, range(len(NAMES)))
        if not any(says(model.text(item.pieces), phrase) for phrase in forbidden)
    ]
    same(found, expected)


words = st.lists(st.sampled_from(["a", "b", "ab", "c"]), max_size=6)


def levenshtein(one: Sequence[str], other: Sequence[str]) -> int:
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]


@given(words, words, st.integers(0, 4))
def test_the_automaton_is_the_edit_distance(one: list[str], other: list[str], most: int) -> None:
    automaton = WordDistance(one, most)
    state = 0
    for word in other:
        if state != DEAD:
            begun = automaton.changes(state, word[:1])
            assert begun <= most or automaton.follow(state, word) == DEAD
            state = automaton.follow(state, word)
    assert automaton.accepts(state) == (levenshtein(one, other) <= most)


@pytest.mark.parametrize("most", [1, 2])
def test_the_guide_admits_exactly_what_is_near(most: int) -> None:
    model = Table(8, texts=1)
    sentence = "a good film"
    [found] = beam_search(
        [model.reader(1)],
        [ParaphraseGuide(sentence, model, NAMES, maximum=most)],
        beam=5000,
        floors=[-math.inf],
        lengths=[LENGTH],
    )
    expected = [
        item
        for item in every_output([model], 0, range(len(NAMES)))
        for text in ["".join(NAMES[piece] for piece in item.pieces).replace("▁", " ")]
        if text == text.lower() and levenshtein(text.split(), sentence.split()) <= most
    ]
    same(found, expected)


def test_the_way_back_is_offered_however_unlikely() -> None:
    model = Table(2, texts=1)
    sentence = "a good film"
    for piece in (2, 3, 4):
        model._output[piece] -= 6
    [found] = beam_search(
        [model.reader(1)],
        [ParaphraseGuide(sentence, model, NAMES, maximum=2)],
        beam=6,
        floors=[-math.inf],
        lengths=[LENGTH],
    )
    assert tuple(model.target_pieces(sentence)[:-1]) in {item.pieces for item in found}
