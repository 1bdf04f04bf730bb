"""The perceptron gives the tags of its simple twin; a row's tags depend on that row alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_perceptron import PlainPerceptron

from sears_dsl.runtime import kernels
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import load
from training.treebank import tag_words

WEIGHTS = load()
SENTENCES = [
    "What color is the tray ?",
    "I do n't think that it 's worth $ 3.50 , though .",
    "THIS FILM IS GREAT ! ! !",
    '" Well - made , " he said ( twice ) , " but too long . "',
    "The 1990s saw iPhones , e-mails and Mr. O'Neill 's state-of-the-art re-runs .",
    "i ca n’t even :) http://a.example/x lol",
    "Überall naïve Ærøskøbing café 日本 Привет мир ΑΒΓ ٣ ⅷ ß İ",
]
COMMON = sorted({word for sentence in SENTENCES for word in sentence.split(" ")})
ROWS = st.lists(st.lists(st.sampled_from(COMMON) | st.text(max_size=8), max_size=10), max_size=6)


class Listed:
    """Distinct words that grow."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def add(self, rows: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
        words = [self.numbers.setdefault(word, len(self.numbers)) for row in rows for word in row]
        return np.cumsum([0, *map(len, rows)]).astype(np.int32), np.array(words, np.int32)

    @property
    def codes(self) -> np.ndarray:
        encoded = "".join(self.numbers).encode("utf-32-le", "surrogatepass")
        room = np.zeros(7, np.uint32)  # as an array that has room at its end
        return np.concatenate([np.frombuffer(encoded, np.uint32), room])

    @property
    def offsets(self) -> np.ndarray:
        return np.cumsum([0, *map(len, self.numbers), 0, 0]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.numbers)


@pytest.fixture(scope="module")
def twin() -> PlainPerceptron:
    return PlainPerceptron(WEIGHTS)


@pytest.fixture(scope="module")
def tagger() -> Perceptron:
    return Perceptron(WEIGHTS)


def test_sentences_have_the_tags_that_a_reader_gives_them(tagger: Perceptron) -> None:
    (fine, coarse), *_ = tag_words(tagger, [sentence.split(" ") for sentence in SENTENCES])
    assert fine == ["WDT", "NN", "VBZ", "DT", "NN", "."]
    assert coarse[1:] == ["NOUN", "AUX", "DET", "NOUN", "PUNCT"]


@given(ROWS)
@settings(deadline=None)
def test_tags_are_those_of_the_simple_twin(
    twin: PlainPerceptron, tagger: Perceptron, rows: list[list[str]]
) -> None:
    assert tag_words(tagger, rows) == twin.tag(rows)


def test_the_twin_agrees_on_sentences_in_every_casing(
    twin: PlainPerceptron, tagger: Perceptron
) -> None:
    rows = [sentence.split(" ") for sentence in SENTENCES]
    rows += [[change(word) for word in row] for row in rows for change in (str.lower, str.upper)]
    rows.append([word for row in rows for word in row])
    assert tag_words(tagger, rows) == twin.tag(rows)


@given(ROWS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_a_row_is_tagged_alike_in_any_company(
    tagger: Perceptron, rows: list[list[str]], chance: random.Random
) -> None:
    alone = [tag_words(tagger, [row])[0] for row in rows]
    order = list(range(len(rows)))
    chance.shuffle(order)
    together = tag_words(tagger, [rows[place] for place in order])
    assert together == [alone[place] for place in order]


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_words_may_lie_apart_or_be_of_another_type(
    tagger: Perceptron, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    monkeypatch.setattr(kernels._decision, "compiled", compiled)
    words = Listed()
    offsets, numbers = words.add([sentence.split(" ") for sentence in SENTENCES])
    wanted = [tags.tolist() for tags in tagger.tag(offsets, numbers, words)]
    for change in (lambda array: np.repeat(array, 3)[::3], lambda array: array.astype(np.int64)):
        for again in (False, True, True):
            tags = tagger.tag(change(offsets), change(numbers), words, again=again)
            assert [each.tolist() for each in tags] == wanted


def test_words_may_grow_and_be_replaced(tagger: Perceptron) -> None:
    rows = [sentence.split(" ") for sentence in SENTENCES]
    expected = [tag_words(tagger, [row])[0][0] for row in rows]
    words = Listed()
    for wanted, row in zip(expected, rows, strict=True):
        fine, coarse = tagger.tag(*words.add([row]), words)
        assert [tagger.fine[tag] for tag in fine] == wanted
        assert len(coarse) == len(row)
    other = Listed()
    other.add([["other", "words", "come", "first"]])
    for wanted, row in zip(expected, rows, strict=True):
        fine, _ = tagger.tag(*other.add([row]), other)
        assert [tagger.fine[tag] for tag in fine] == wanted


def test_many_words_at_once_and_no_words_at_all(tagger: Perceptron) -> None:
    assert tag_words(tagger, []) == []
    assert tag_words(tagger, [[], []]) == [([], []), ([], [])]
    row = [f"word{number}" for number in range(3000)]
    assert len(tag_words(tagger, [row])[0][0]) == 3000


def test_compiled_and_plain_agree() -> None:
    program = """
import sys
from sears_dsl.runtime import kernels
from sears_dsl.tagging.fast.fast_tagger import Perceptron
from sears_dsl.tagging.fast.weights import load
from training.treebank import tag_words
rows = [line.split(" ") for line in sys.stdin.read().split("\\n")]
sys.stdout.reconfigure(encoding="utf-8")
print(tag_words(Perceptron(load()), rows))
print("numba" in sys.modules, file=sys.stderr)
"""
    import os
    import subprocess
    import sys

    outputs = {}
    for mode in ("never", "always"):
        done = subprocess.run(
            [sys.executable, "-X", "utf8", "-W", "error", "-c", program],
            input="\n".join(SENTENCES),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            env=os.environ | {"SEARS_COMPILE": mode},
            cwd=Path(__file__).parents[3],
        )
        outputs[mode] = done.stdout
        assert done.stderr.strip() == str(mode == "always")
    assert outputs["never"] == outputs["always"]
