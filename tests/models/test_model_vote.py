"""Models that vote, on labels and on the words of answers, and the notation of a vote."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chat_endpoint import Reply, chat_endpoint
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.answers import REFUSED, answers_equal, each_answer, each_equal, is_right
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.loading import load_predictor
from sears_dsl.models.vote import VotingPredictor, common_words, most_frequent

WORDS = st.lists(st.sampled_from(["a", "A", "b", "c"]), max_size=6).map(" ".join)

# Rows of Table 3 of the paper: the answers of three models to one question each.
TABLE_3 = (
    ("Orientalism", "behaviourism identities", "The discourse of Orientalism"),
    ("behaviourism identities", "The discourse of Orientalism", "Orientalism"),
    ("The discourse of Orientalism", "Orientalism", "behaviourism identities"),
)


@pytest.mark.parametrize("answers", TABLE_3)
def test_table_3_of_the_paper(answers: tuple[str, ...]) -> None:
    assert common_words(answers) == "Orientalism"


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        (("a b", "b c", "c a"), "a b c"),
        (("x x y", "x x", "x"), "x x"),
        (("one", "two", "three"), ""),
        (("a b", "b c"), "b"),
    ],
)
def test_known_votes(answers: tuple[str, ...], left: str) -> None:
    assert common_words(answers) == left


@given(st.lists(WORDS, min_size=3, max_size=3))
def test_a_word_stays_as_often_as_two_of_three_have_it(answers: list[str]) -> None:
    counts = [Counter(answer.lower().split()) for answer in answers]
    left = Counter(common_words(answers).lower().split())
    for word in ("a", "b", "c"):
        assert left[word] == sorted(each[word] for each in counts)[1]


@given(WORDS, st.integers(2, 5))
def test_models_of_one_mind_say_what_they_say(answer: str, models: int) -> None:
    assert common_words([answer] * models) == answer
    assert most_frequent([answer] * models) == answer


def test_of_labels_with_as_many_votes_the_first_model_decides() -> None:
    models = [CallablePredictor(lambda texts, own=own: [own] * len(texts)) for own in "xyzy"]
    rows = [{"text": "One."}]
    assert VotingPredictor(models).predict(rows) == ["y"]
    assert VotingPredictor(models[:3]).predict(rows) == ["x"]


def test_models_together_get_as_many_rows_as_the_one_that_wants_most() -> None:
    def batch_size(*sizes: int | None) -> int | None:
        models: list[Any] = [SimpleNamespace(batch_size=size, identity="m") for size in sizes]
        return VotingPredictor(models).batch_size

    assert [batch_size(1, 200), batch_size(1, 1), batch_size(1, None)] == [200, 64, None]


def test_a_number_has_the_votes_of_all_ways_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"one": "2", "two": "1", "three": "'1.0'", "four": "3.50", "five": "'3.5'"}
    (tmp_path / "numbers_voted.py").write_text(
        "".join(
            f"def {name}(texts): return [{own}] * len(texts)\n" for name, own in answers.items()
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for names, most in (("one two three", "1"), ("one three two", "1.0"), ("one five four", "3.5")):
        spec = "vote:" + ",".join(f"numbers_voted:{name}" for name in names.split())
        model = load_predictor(spec, comparison="within:0.1")
        assert model.predict([{"text": "How many?"}]) == [most]


def test_a_vote_is_written_as_a_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "voters.py").write_text(
        "def one(texts): return ['the red car'] * len(texts)\n"
        "def two(texts): return ['a red car'] * len(texts)\n"
        "def three(texts): return ['a red bus'] * len(texts)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = "vote:voters:one, voters:two, voters:three"
    rows = [{"text": "Which?"}]
    assert load_predictor(spec, comparison="squad").predict(rows) == ["red car a"]
    assert load_predictor(spec).predict(rows) == ["the red car"]
    identity = load_predictor(spec, comparison="squad").identity
    assert "voters:one" in identity
    assert identity != load_predictor(spec).identity


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("vote:builtins:sorted", "name at least two models"),
        ("vote:builtins:sorted,", "name at least two models"),
        ("vote:builtins:sorted,vote:builtins:sorted,builtins:max", "a vote cannot vote"),
        ("every:builtins:sorted,every:builtins:max,builtins:max", "a vote cannot vote"),
    ],
)
def test_what_cannot_vote_is_reported(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_predictor(spec)


def test_models_together_are_right_where_each_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pair.py").write_text(
        "def one(texts):\n    return ['bad' if 'film' in t else 'good' for t in texts]\n"
        "def two(texts):\n    return ['bad' if 'play' in t else 'good' for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    model = load_predictor("every:pair:one,pair:two")
    rows = [{"text": text} for text in ("a movie", "a film", "a play", "a film, a play")]
    assert model.predict(rows) == [
        "good", '(the models say ["bad", "good"])', '(the models say ["good", "bad"])', "bad",
    ]  # fmt: skip
    assert model.identity.startswith("every:(pair:one")
    assert model.models == ("pair:one", "pair:two")
    assert load_predictor("vote:pair:one,pair:two").models == ()
    given = {"a": lambda texts: texts, "b": lambda texts: texts[::-1]}
    assert load_predictor(given).models == ("a", "b")
    both = load_predictor(given).predict([{"text": '("|'}, {"text": "y"}])
    assert [each_answer(each, 2) for each in both] == [('("|', "y"), ("y", '("|')]
    sys.modules.pop("pair", None)


def test_endpoints_files_and_functions_answer_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "short.py").write_text(
        "def predict(texts):\n    return ['bad' if 'film' in t else 'good' for t in texts]\n"
    )
    rows = [{"text": text} for text in ("a movie", "a film", "a play")]
    with chat_endpoint() as endpoint:
        endpoint.answer = lambda number, prompt: (
            Reply({"error": "too many"}, 429, headers={"Retry-After": "0"}) if number == 2
            else "I cannot say" if "play" in prompt else "good"
        )  # fmt: skip
        endpoint.file(tmp_path, labels=["good", "bad"])
        spec = "every:short:predict,llm:chat.json,file:said.jsonl"
        told: list[str] = []
        model = load_predictor(spec, on_error="skip", connections=1, announce=told.append)
        with pytest.raises(ModelError, match="3 rows need predictions"):
            model.predict(rows)
        inputs = (tmp_path / "said.inputs.jsonl").read_text().splitlines()
        asked = [json.loads(line) for line in inputs]
        (tmp_path / "said.jsonl").write_text(
            "".join(json.dumps({"id": row["id"], "prediction": "good"}) + "\n" for row in asked)
        )
        assert model.predict(rows) == [
            "good",
            '(the models say ["bad", "good", "good"])',
            REFUSED,
        ]
        # No model is asked twice because another one was not ready.
        assert len(endpoint.requests) == 4
        assert "3 questions" in told[0]
        assert any("refused 1 text" in remark for remark in model.remarks)
        # A model that refuses a row has no vote.
        voted = load_predictor(spec.replace("every", "vote"), on_error="skip")
        assert voted.predict(rows) == ["good"] * 3
    with pytest.raises(UsageError, match="takes no request map"):
        load_predictor(spec, request_map="{}")
    with pytest.raises(UsageError, match="has its own beside it"):
        load_predictor(spec, inputs=tmp_path / "in.jsonl")


ANSWERS: dict[str, st.SearchStrategy[str]] = {
    "exact": st.sampled_from(["good", "bad", '(the models say ["good"])', "(the models say 3)"]),
    "squad": st.sampled_from(["a cat", "the cat", "cats", "(the models say", ""]),
    "within:0.5": st.sampled_from(["0.4", "0.6", "1", "1.4", "1.8"]),
    "within:10%": st.sampled_from(["95", "100", "105", "111"]),
    "set": st.sampled_from(["a", "a|b", "b|a", ""]),
    "entities": st.sampled_from(['[[0, 2, "LOC"]]', '[[0,2,"LOC"]]', "[]"]),
}


@given(st.data(), st.sampled_from(list(ANSWERS)), st.integers(2, 4))
def test_models_together_are_right_where_each_of_them_is_by_itself(
    data: st.DataObject, comparison: str, count: int
) -> None:
    said = data.draw(st.lists(ANSWERS[comparison], min_size=count, max_size=count))
    labels = data.draw(st.lists(ANSWERS[comparison], max_size=3))
    models = [
        CallablePredictor(lambda texts, own=own: [own] * len(texts), comparison=comparison)
        for own in said
    ]
    (together,) = VotingPredictor(models, comparison=comparison, alike=True).predict([{"text": ""}])
    alone = [is_right(each, labels, comparison=comparison) for each in said]
    assert is_right(together, labels, comparison=comparison) is all(alone)
    assert each_equal(together, labels, count, comparison=comparison) == alone
    answered = [each.predict([{"text": ""}])[0] for each in models]
    assert each_answer(together, count) == tuple(answered)


def test_each_model_is_compared_with_what_it_said_of_the_untouched_row() -> None:
    assert each_equal(
        '(the models say ["1", "5"])', '(the models say ["1.4", "3"])', 2, comparison="within:0.5"
    ) == [True, False]
    assert each_equal("good", '(the models say ["good", "bad"])', 2) == [True, False]
    assert answers_equal("1.2", '(the models say ["1", "1.4"])', comparison="within:0.5")


@pytest.mark.parametrize("label", ['(the models say ["a"]x', "(the models say " + "[" * 100_000])
def test_a_label_that_only_begins_like_several_answers_is_one(label: str) -> None:
    assert each_answer(label, 1) == (label,)
