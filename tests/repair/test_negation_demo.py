"""The demo of negation tests on nothing that it trains on."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from types import SimpleNamespace

import torch

import sears_dsl
from demo.negation import (
    TAUGHT,
    UNSEEN,
    Reader,
    clear_rows,
    negatable,
    negated,
    new_rows,
    one_judgement,
    sentences,
    trained_on,
)
from sears_dsl.rule_tests import run_tests

ROWS = [
    ("It is a good film.", "positive"),
    ("It is a good film, but long.", "positive"),
    ("A dull film.", "negative"),
    ("They are bad actors.", "negative"),
]


def test_sentences_that_are_asked_about_are_not_trained_on() -> None:
    taught = {*sentences(TAUGHT), *sentences("phenomena/negation", of=trained_on)}
    asked = sentences("phenomena/negation", of=lambda template: not trained_on(template))
    assert asked
    assert not taught & set(asked)
    labels = [label for _, label in asked]
    assert labels.count("positive") == labels.count("negative")


def test_rules_that_are_asked_about_negate_what_says_one_thing_by_other_words() -> None:
    added = new_rows(ROWS, str(TAUGHT), oracle=one_judgement)
    taught = {(row["text"], row["label"]) for row in added}
    assert ("It is by no means a good film.", "negative") in taught
    assert ("Anything but a dull film.", "positive") in taught
    assert ("Nobody would say that they are bad actors.", "positive") in taught
    assert ("Nobody would say that a dull film.", "positive") not in taught
    assert negatable(ROWS) == [ROWS[0], *ROWS[2:]]
    unseen = negated(ROWS)
    assert len(unseen) == 3  # one a sentence
    assert ("Not a dull film.", "positive") in unseen
    assert not taught & set(unseen)
    assert not any("but long" in text for text, _ in [*taught, *unseen])


def test_a_negation_is_rejected_where_it_negates_a_remark_or_half_of_what_is_reported() -> None:
    def kept(original: str, text: str) -> list[bool]:
        return one_judgement([{"original": original, "text": text}])

    assert kept("It is funny.", "It isn't funny.") == [True]
    assert kept("A film that is funny.", "A film that is never funny.") == [False]
    assert kept("Dull, and it is long.", "Dull, and it is not long.") == [False]
    assert kept("It is funny, but long.", "It is not funny, but long.") == [False]
    assert kept("A film.", "I doubt that a film.") == [False]


@pytest.mark.parametrize("file", [TAUGHT, UNSEEN], ids=lambda file: file.stem)
def test_the_tests_of_its_rules_pass(file: Path) -> None:
    outcomes = run_tests(sears_dsl.load(file))
    assert outcomes
    assert {each.outcome for each in outcomes} == {"ok"}


def test_clear_sentences_are_split_into_those_to_train_on_and_held_out_ones() -> None:
    rated = [(f"sentence {number}", 3.0) for number in range(10)] + [("middling", 1.0)]
    training, held_out = clear_rows(rated)
    assert (len(training), len(held_out)) == (8, 2)
    assert not set(training) & set(held_out)


def test_sentences_are_read_beside_the_same_ones_in_every_process() -> None:
    """Texts of one batch change the last digits of vectors; these moved `sears fix` by a point."""
    read_together: list[list[str]] = []

    class Encoder:
        @property
        def tokenizer(self) -> Encoder:
            return self

        def encode_batch(self, texts: list[str]) -> list[SimpleNamespace]:
            read_together.append(texts)
            return [SimpleNamespace(ids=[101, 102]) for _ in texts]

        def states(self, rows: list[list[int]]) -> list[torch.Tensor]:
            return [torch.zeros(sum(map(len, rows)), 3)]

    reader = Reader.__new__(Reader)
    reader._encoder = Encoder()  # type: ignore[assignment]
    reader._read = {}
    texts = [f"film {number}" for number in range(199, 9, -1)]
    assert len(reader(texts + texts)) == 2 * len(texts)
    # By length, then in the given order; each text once.
    assert [text for batch in read_together for text in batch] == texts[100:] + texts[:100]
