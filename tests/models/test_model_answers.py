"""When answers are equal, which rows are equal, and what counts as a label."""

from __future__ import annotations

from enum import Enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.small_reader import answer_f1
from sears_dsl.answers import REFUSED, answer_text, answers_equal, is_right, normalized_answer
from sears_dsl.errors import ModelError
from sears_dsl.models.predictor import answers_of, ask_answers, row_key

ROWS = [{"text": "Good."}, {"text": "Bad."}]
TEXTS = st.text(max_size=12)
ROW = st.dictionaries(TEXTS, TEXTS, max_size=3)


@pytest.mark.parametrize(
    ("prediction", "gold", "same"),
    [
        ("The Broncos", "broncos", True),
        ("Denver  Broncos.", "the Denver Broncos", True),
        ("a.m.", "am", True),
        ("theatre", "atre", False),
        ("Broncos", "Denver", False),
        ("10-3", "103", True),  # SQuAD's evaluation drops punctuation without a space
    ],
)
def test_answers_are_compared_as_squad_does(prediction: str, gold: str, same: bool) -> None:
    assert answers_equal(prediction, gold, comparison="squad") is same
    assert answers_equal(prediction, ["nonsense", gold], comparison="squad") is same


@pytest.mark.parametrize(
    ("prediction", "gold", "comparison", "same"),
    [
        (str(0.1 + 0.2), "0", "within:0.3", True),
        ("1.1", "1", "within:10%", True),
        ("-1.1", "-1", "within:10%", True),
        ("9000000000.1", "9000000000", "within:0.1", True),
        ("1700000000000.5", "1700000000000", "within:0.5", True),
        ("1700000001000", "1700000000000", "within:0.5", False),
        ("9000000008", "9000000000", "within:0", False),
        ("0.3000000001", "0", "within:0.3", False),
    ],
)
def test_only_rounding_is_forgiven(
    prediction: str, gold: str, comparison: str, *, same: bool
) -> None:
    assert answers_equal(prediction, gold, comparison=comparison) is same


@pytest.mark.parametrize(
    ("value", "comparison", "text"),
    [
        ("b | a||b", "set", "a|b"),
        (3, "set", "3"),
        ([[5, 6, "B"], [0, 1, "A"], [2, 2, "C"]], "entities",
         '[[0, 1, "A"], [2, 2, "C"], [5, 6, "B"]]'),
        ([{"start": 0, "end": 1, "type": "A"}], "entities", '[[0, 1, "A"]]'),
        ([[2, 1, "A"]], "entities", None),
        (True, "within:1", None),
        ("nan", "within:1", None),
        ("1.0", "exact", "1"),
        ("007.0", "exact", "007.0"),
    ],
)  # fmt: skip
def test_answers_are_written_in_one_way(value: object, comparison: str, text: str | None) -> None:
    assert answer_text(value, comparison) == text


def test_numbers_stay_as_they_are_written() -> None:
    for value in (1, "1.0", 2**53 + 1, "0.50"):
        assert answer_text(value, "within:1") == str(value)


def test_labels_are_compared_exactly() -> None:
    assert answers_equal("1", "1")
    assert not answers_equal("Positive", "positive")
    assert not answers_equal("pos", "positive")


@given(TEXTS)
def test_normalizing_an_answer_again_changes_nothing(text: str) -> None:
    once = normalized_answer(text)
    # Dropping an article cannot create another one, since words keep their bounds.
    assert normalized_answer(once) == once


def test_f1_is_that_of_the_best_answer() -> None:
    assert answer_f1("the red house", ["house", "blue"]) == pytest.approx(2 / 3)
    assert answer_f1("red", "blue") == 0
    assert answer_f1("the", "a") == 1  # nothing is left of both


@given(ROW, ROW)
def test_rows_have_one_key_exactly_where_their_content_is_one(
    first: dict[str, str], second: dict[str, str]
) -> None:
    assert (row_key(first) == row_key(second)) == (first == second)
    assert row_key(dict(reversed(first.items()))) == row_key(first)


def test_a_lone_surrogate_is_a_text_like_any_other() -> None:
    assert row_key({"text": "\ud83d"}) != row_key({"text": "\ud83e"})


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (["pos", "neg"], ["pos", "neg"]),
        (("pos", "neg"), ["pos", "neg"]),
        ([1, 0], ["1", "0"]),
        ([True, False], ["True", "False"]),
        (np.array([1, 0]), ["1", "0"]),
        (np.array(["pos", "neg"]), ["pos", "neg"]),
        (np.array([True, False]), ["True", "False"]),
        ([np.int64(1), np.str_("neg")], ["1", "neg"]),
        (np.array([1.0, 0.0]), ["1", "0"]),
        ((label for label in ["pos", ""]), ["pos", ""]),
    ],
)
def test_what_counts_as_labels(given: object, labels: list[str]) -> None:
    answers = ask_answers("m", ROWS, lambda: given)
    assert [answer.label for answer in answers] == labels


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["pos"], "asked for 2 predictions and returned 1"),
        (["pos"] * 3, "asked for 2 predictions and returned 3"),
        (np.array([[0.1, 0.9], [0.8, 0.2]]), "return the label itself: of probabilities"),
        ([0.9, 0.1], "0.9 (float) as the label of 'Good.'"),
        (np.array([0.5, 0.0]), "numbers with a fraction are not labels"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), "return the label itself: of probabilities"),
        ([[1], [0]], "for several labels per text, use --compare set"),
        (["pos", None], "None (NoneType) as the label of 'Bad.'"),
        ([{"label": "pos"}, {"label": "neg"}], "say where it is with --response-map"),
        ([b"pos", b"neg"], "(bytes) as the label"),
        ("positive", "one string, 'positive', for 2 rows"),
        (None, "nothing (None) for 2 rows"),
        (7, "a value of type int for 2 rows"),
        ({"pos", "neg"}, "a value of type set"),
        ({"Good.": "pos", "Bad.": "neg"}, "a value of type dict"),
        (["pos", "\ud83d"], r"half a character in '\ud83d' as the label of 'Bad.'"),
    ],
)
def test_what_does_not_is_reported_with_its_place(given: object, told: str) -> None:
    with pytest.raises(ModelError) as failure:
        answers_of("demo:predict", ROWS, given)
    assert told in str(failure.value)
    assert "demo:predict" in str(failure.value)
    assert failure.value.help


@pytest.mark.parametrize("comparison", ["exact", "squad", "vqa", "set", "entities", "within:1"])
def test_what_is_refused_is_never_right(comparison: str) -> None:
    """Not even if the model's own answers, which are refusals, count as right."""
    assert not is_right(REFUSED, [REFUSED, "[]"], comparison=comparison)


@pytest.mark.parametrize("table", [np.array([[1, 0], [0, 1]]), np.zeros((2, 3))])
def test_a_table_of_zeros_and_ones_is_no_set_of_labels(table: object) -> None:
    """As sets of the labels 0 and 1 nearly all rows would be equal, and nothing would flip."""
    with pytest.raises(ModelError, match="returned a table of numbers") as failure:
        ask_answers("m", ROWS, lambda: table, comparison="set")
    assert "inverse_transform" in failure.value.help
    named = ask_answers("m", ROWS, lambda: [("a", "b"), ()], comparison="set")
    assert [answer.label for answer in named] == ["a|b", ""]
    names = np.array([["a", "b"], ["c", "d"]])
    for each in (names, names.astype(object)):
        named = ask_answers("m", ROWS, lambda each=each: each, comparison="set")
        assert [answer.label for answer in named] == ["a|b", "c|d"]


def test_where_a_function_raises_it_is_said_how_it_is_called() -> None:
    with pytest.raises(ModelError, match="no attribute 'lower'") as failure:
        ask_answers("m", ROWS, lambda: [text.lower() for text in [["Good.", "Bad."]]])  # type: ignore[attr-defined]
    assert "lambda texts: [f(text) for text in texts]" in failure.value.help


def test_an_error_that_shows_all_that_it_was_given_is_cut() -> None:
    def fail() -> list[str]:
        raise ValueError(f"Expected 2D array, got {'A film. ' * 1000}: reshape your data")

    with pytest.raises(ModelError, match=r"Expected 2D array.* … .*reshape your data") as failure:
        ask_answers("m", ROWS, fail)
    assert len(failure.value.message) < 1000


def test_a_member_of_an_enum_is_the_label_of_its_value() -> None:
    class Label(str, Enum):  # noqa: UP042 - str() gives its name, unlike that of a StrEnum
        GOOD = "good"

    class Number(int, Enum):
        ONE = 1

    assert answer_text(Label.GOOD) == "good"
    assert answer_text(Number.ONE) == "1"
    assert answer_text([Label.GOOD, Number.ONE], "set") == "1|good"
    assert answer_text([(0, 2, Label.GOOD)], "entities") == '[[0, 2, "good"]]'
