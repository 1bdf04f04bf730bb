"""The model is asked in rounds: no question twice, none beyond the limit, honest rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sears_dsl as sears
from sears_dsl.answers import REFUSED
from sears_dsl.data.labelled import LabelledRows
from sears_dsl.effects.applications import apply_candidates
from sears_dsl.effects.asked_model import Questions, try_model
from sears_dsl.effects.flips import RightRows, ask_in_rounds
from sears_dsl.effects.lots import together
from sears_dsl.errors import DataError
from sears_dsl.language.loader import parse
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import RowsRefused
from sears_dsl.tagging.pinned import PinnedTagger

TAGGER = PinnedTagger()
RULES = parse("movie -> film\na -> one\nlong -> lengthy\na movie -> one movie").rules
TEXTS = [f"a {kind} movie {number}" for number in range(40) for kind in ("long", "short")]


@dataclass
class Model:
    """Fails on some words; remembers what it was asked."""

    fails: tuple[str, ...] = ("film",)
    asked: list[str] = field(default_factory=list)
    identity: str = "model"

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        self.asked += [row["text"] for row in rows]
        return ["0" if any(word in row["text"] for word in self.fails) else "1" for row in rows]


def right_rows(model: Model, most: int | None = None) -> RightRows:
    data = LabelledRows(tuple({"text": text} for text in TEXTS), "text", None, "a.csv")
    return RightRows(data, model, questions=Questions(most))


def test_without_a_limit_what_can_flip_enough_is_asked_about_completely() -> None:
    model = Model()
    right = right_rows(model)
    done = apply_candidates(RULES, TAGGER.tag(TEXTS), tagger=TAGGER)
    answers = ask_in_rounds(done, right, right.ask_in_time, minimum_flips=3)
    assert answers.complete.all()
    assert not answers.cut
    assert done.count(answers.flips).tolist() == [80, 0, 0, 0]
    assert len(model.asked) == len(set(model.asked))
    assert right.questions.asked == len(model.asked)
    # The first rule flips just as many.
    just = ask_in_rounds(done, right, right.ask_in_time, minimum_flips=80)
    assert just.complete.tolist()[:3] == [True, False, False]


def test_a_refusal_and_a_text_not_asked_about_are_no_flips() -> None:
    right = right_rows(Model())
    assert right.flips([0, 1, 2, 3], ["0", "1", REFUSED, None]).tolist() == [True, *[False] * 3]


def test_at_most_a_tenth_of_the_rows_stays_together() -> None:
    for sharing, groups in ((4, 37), (5, 40)):
        rows = [("same" if row < sharing else f"a {row}", f"b {row}") for row in range(40)]
        assert len(set(together(rows))) == groups


def test_a_limit_within_a_limit_allows_no_more_than_either() -> None:
    questions = Questions(10)
    questions.count(["a", "b"])
    with questions.at_most(3):
        with questions.at_most(5):
            assert questions.left == 3
        questions.count("cdefg")
        assert (questions.left, questions.admitted(["a", "h"])) == (0, [True, False])
    assert questions.left == 3


@given(most=st.integers(80, 300), minimum=st.integers(1, 5), seed=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_no_limit_is_exceeded_and_the_rows_that_count_are_a_beginning_of_one_order(
    most: int, minimum: int, seed: int
) -> None:
    model = Model(fails=("film", "7"))
    right = right_rows(model, most)
    done = apply_candidates(RULES, TAGGER.tag(TEXTS), tagger=TAGGER)
    answers = ask_in_rounds(done, right, right.ask_in_time, minimum_flips=minimum, seed=seed)
    assert len(set(model.asked)) == len(model.asked) == right.questions.asked <= most
    everything = right_rows(Model(fails=("film", "7")))
    whole = ask_in_rounds(
        done, everything, everything.ask_in_time, minimum_flips=minimum, seed=seed
    )
    counted = answers.counted
    asked = set(model.asked)
    for application in np.flatnonzero(counted).tolist():
        rewrite = int(done.rewrites[application])
        assert done.texts[rewrite] in asked
        assert answers.flips[rewrite] == whole.flips[rewrite]
    if most >= len(TEXTS) + len(done.texts):
        assert not answers.cut, "280 questions are enough for all"


def test_a_rule_that_cannot_flip_enough_any_more_is_left() -> None:
    model = Model(fails=())
    right = right_rows(model)
    before = len(model.asked)
    done = apply_candidates(RULES[2:3], TAGGER.tag(TEXTS), tagger=TAGGER)
    answers = ask_in_rounds(done, right, right.ask_in_time, minimum_flips=38)
    assert len(model.asked) - before == 4, "of 40 rows 37 can flip at most after four"
    assert not answers.cut


def test_a_rule_that_flips_more_rarely_than_a_paraphrase_is_left() -> None:
    model = Model(fails=("film 3",))
    right = right_rows(model)
    done = apply_candidates(RULES[:1], TAGGER.tag(TEXTS), tagger=TAGGER)
    before = len(model.asked)
    ask_in_rounds(done, right, right.ask_in_time, minimum_flips=1, base_rate=0.6)
    assert len(model.asked) - before < len(TEXTS)


def test_a_rule_that_flips_as_often_as_wanted_is_asked_about_no_further() -> None:
    model = Model(fails=("film",))
    right = right_rows(model)
    done = apply_candidates(RULES[:1], TAGGER.tag(TEXTS), tagger=TAGGER)
    before = len(model.asked)
    answers = ask_in_rounds(done, right, right.ask_in_time, minimum_flips=3, until=3)
    assert len(model.asked) - before == answers.flips.sum() == 4


@pytest.mark.parametrize("most", [1, 5, 40])
def test_of_the_rows_themselves_no_more_are_asked_about_either(most: int) -> None:
    model = Model()
    right = right_rows(model, most)
    assert right.asked == len(model.asked) == most
    assert right.questions.left == 0
    assert right.ask_in_time([0], ["another text"]) == [None]


def test_a_question_that_was_asked_is_free() -> None:
    right = RightRows(
        LabelledRows(({"text": "a"},), "text", None, "a.csv"),
        CallablePredictor(lambda texts: ["1" for _ in texts]),
        questions=Questions(2),
    )
    assert right.ask_in_time([0, 0], ["b", "b"]) == ["1", "1"]
    assert right.ask_in_time([0, 0, 0], ["b", "c", "a"]) == ["1", None, "1"]


def test_of_a_few_rows_that_are_all_wrong_their_number_is_reported_once() -> None:
    with pytest.raises(DataError, match="none of the 4 rows"):
        sears.discover(
            lambda texts: ["bad"] * len(texts), [("A fun film.", "good")] * 4,
            paraphraser=lambda texts: [[] for _ in texts],
        )  # fmt: skip


def test_labels_that_are_all_swapped_are_not_reported_as_other_names() -> None:
    swapped = {"bad day": "no", "good day": "yes"}
    rows = tuple({"text": text} for text in swapped)
    data = LabelledRows(rows, "text", (("yes",), ("no",)), "a.csv")
    predictor = CallablePredictor(lambda texts: [swapped[text] for text in texts], identity="m")
    with pytest.raises(DataError, match="none of the 2 rows") as caught:
        RightRows(data, predictor)
    assert "does the model swap them" in caught.value.help
    assert "do they mean the same" not in caught.value.help


class Tired(Model):
    """Answers to a text once and refuses it from then on."""

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        if any(row["text"] in self.asked for row in rows):
            raise RowsRefused("asked before", help="")
        return super().predict(rows)


def test_a_model_that_refuses_what_it_has_answered_ends_no_run() -> None:
    data = LabelledRows(tuple({"text": text} for text in TEXTS), "text", None, "a.csv")
    (warning,) = try_model(data, CachedPredictor(Tired(), on_error="skip"))
    assert warning.startswith("the model changes its answer to 4 of 4 rows when asked again")
