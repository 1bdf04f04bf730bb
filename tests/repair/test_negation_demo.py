"""What the demo of negation asks about took no part in what it trains on."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import sears_dsl
from demo.negation import TAUGHT, UNSEEN, clear_rows, negated, new_rows, sentences, trained_on
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
    taught = {(row["text"], row["label"]) for row in new_rows(ROWS, str(TAUGHT))}
    assert taught == {
        ("It is not a good film.", "negative"),
        ("It is hardly a good film.", "negative"),
        ("Hardly a dull film.", "positive"),
        ("Anything but a dull film.", "positive"),
        ("Nobody would say that it is a good film.", "negative"),
        ("Nobody would say that it is a good film, but long.", "negative"),
        ("Nobody would say that they are bad actors.", "positive"),
    }
    unseen = set(negated(ROWS))
    assert ("Not a dull film.", "positive") in unseen
    assert ("They are not bad actors.", "positive") in unseen
    assert ("It is never a good film.", "negative") in unseen
    assert not taught & unseen
    assert not any("but" in text for text, _ in unseen)


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
