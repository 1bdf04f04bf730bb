"""Language models behind a real local server that speaks the protocol and misbehaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_endpoint import ChatEndpoint, Reply, chat_endpoint, completion
from command_line import call
from numpy.typing import NDArray

from sears_dsl.answers import REFUSED
from sears_dsl.errors import ModelError, UsageError
from sears_dsl.models.http.language_model import LanguageModel, PromptSettings
from sears_dsl.models.loading import load_predictor
from sears_dsl.paraphrasing.plugins import as_paraphraser, as_scorer
from sears_dsl.paraphrasing.prompted import SecondOpinion

ROWS = [{"text": "A fun film."}, {"text": "A dull film."}]


@pytest.fixture
def endpoint() -> Iterator[ChatEndpoint]:
    with chat_endpoint() as endpoint:
        yield endpoint


def by_words(number: int, prompt: str) -> str:
    return "**Negative.**" if "dull" in prompt or "film" in prompt else "The answer is: positive"


# ---------------------------------------------------------------- the model under test


def test_each_row_is_a_prompt_at_temperature_0(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda _, prompt: "Negative." if "dull" in prompt else "POSITIVE"
    settings = endpoint.settings(system="You read reviews.", parameters={"seed": 7})
    told: list[str] = []
    model = load_predictor(f"llm:{settings}", announce=told.append, connections=1)
    assert model.predict([*ROWS, ROWS[0]]) == ["positive", "negative", "positive"]
    assert endpoint.paths == ["/v1/chat/completions"] * 2
    assert endpoint.requests[0] == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "You read reviews."},
            {"role": "user", "content": "Positive or negative? One word.\n\nA fun film."},
        ],
        "temperature": 0,
        "max_tokens": 64,
        "seed": 7,
    }
    assert "Authorization" not in endpoint.headers[0]
    assert len(told) == 1
    assert ": 2 questions, about " in told[0]
    assert "128 received; the settings name no price" in told[0]


def test_what_it_costs_is_reported_before_and_after(endpoint: ChatEndpoint) -> None:
    settings = endpoint.settings(price={"input": 1000, "output": 5000, "currency": "EUR"})
    told: list[str] = []
    model = load_predictor(f"llm:{settings}", announce=told.append)
    model.predict(ROWS)
    place = f"small at {endpoint.address}/chat/completions"
    assert told == [
        f"{place}: 2 questions, about 30 tokens sent and at most 128 received: about 0.67 EUR "
        "at most"
    ]
    assert model.remarks == [
        f"{place} was asked 2 questions: 40 tokens sent and 4 received, 0.06 EUR"
    ]
    model.predict([{"text": "One more."}])
    assert len(told) == 1, "only a round that is larger than all before it is announced"


@pytest.mark.parametrize(
    ("answer", "label"),
    [("positive", "positive"), (' "Negative". ', "negative"), ("**Positive**", "positive"),
     ("The label is positive.", "positive"), ("It is not positive.", None),
     ("positive or negative", None), ("POS", None), ("", None), ("🙂", None),
     ("I think it's unpositive", None),
     ("<think>\nNot negative, so positive.\n</think>\n\nPositive", "positive"),
     ("Positive or negative?</think>negative", "negative"), ("<think>Positive, I", None)],
)  # fmt: skip
def test_an_answer_is_a_label_or_refuses_the_row(
    endpoint: ChatEndpoint, answer: str, label: str | None
) -> None:
    endpoint.answer = lambda *_: answer
    spec = f"llm:{endpoint.settings()}"
    if label is not None:
        assert load_predictor(spec).predict(ROWS[:1]) == [label]
        return
    with pytest.raises(ModelError, match="names none or several of the labels"):
        load_predictor(spec).predict(ROWS[:1])
    model = load_predictor(spec, on_error="skip")
    assert model.predict(ROWS) == [REFUSED, REFUSED]
    assert "the model refused 2 texts, left out and not counted as flips" in model.remarks


POLAR = {"positive": "1", "negative": "0"}
TOXIC = {"toxic": "1", "not toxic": "0"}
STARS = {each: each for each in "12345"}
YES_NO = {"yes": "1", "no": "0"}
LETTERS = {"(A)": "a", "(B)": "b", "yes!": "y", " no": "n"}


def test_a_key_ends_before_its_line_break_and_is_never_shown(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answer = lambda *_: f"positive, says {endpoint.headers[-1]['Authorization']}"
    spec = f"llm:{endpoint.settings(key='$env.OWN_KEY', labels=[])}"
    monkeypatch.setenv("OWN_KEY", "abc12\r\n")
    assert load_predictor(spec).predict(ROWS[:1]) == ["positive, says Bearer …"]
    assert endpoint.headers[0]["Authorization"] == "Bearer abc12"
    for key in ("sk-top\nsecret", "sk-töp"):
        monkeypatch.setenv("OWN_KEY", key)
        with pytest.raises(UsageError, match="the header 'Authorization' cannot be sent") as caught:
            load_predictor(spec)
        assert "sk-" not in str(caught.value)
    monkeypatch.setenv("OWN_KEY", "\n")
    with pytest.raises(UsageError, match="OWN_KEY, which is empty"):
        load_predictor(spec)


@pytest.mark.parametrize(
    ("labels", "answer", "label"),
    [(POLAR, "It isn’t positive.", None), (POLAR, "It isn't positive.", None),
     (POLAR, "I cannot call this positive.", None), (POLAR, "This is hardly positive.", None),
     (POLAR, "No, positive is wrong.", None), (POLAR, "non-negative", None),
     (POLAR, "A negative‑leaning text", None), (POLAR, "positive - it praises", "1"),
     (POLAR, "Label:positive", "1"), (POLAR, "It’s positive.", "1"),
     (TOXIC, "The text is not toxic.", "0"), (TOXIC, "Answer: Not toxic", "0"),
     (TOXIC, "The text is toxic.", "1"), (TOXIC, "The text isn’t toxic.", None),
     (TOXIC, "It is not not toxic.", None), (TOXIC, "not toxic, or toxic", None),
     ({"don’t know": "?", "no": "0"}, "I don't know.", "?"),
     ({"don't know": "?", "no": "0"}, "The answer is no.", "0"),
     ({"negative": "0", "non-negative": "1"}, "It is non-negative.", "1"),
     (STARS, "Rating: 4", "4"), (STARS, "Rating: 4.7", None), (STARS, "-1", None),
     (STARS, "I give it 4/10", None), ({"-1": "-1", "1": "1"}, "The score is -1.", "-1"),
     ({"Yes": "1", "YES": "1", "no": "0"}, "yes", "1"),
     (POLAR, "Positive, without a doubt.", "1"), (POLAR, "Positive, not a dull moment.", "1"),
     (POLAR, "The sentiment is positive; nothing else.", "1"),
     (POLAR, "I have no doubt: positive", "1"), (POLAR, "Without a doubt, positive", "1"),
     (POLAR, "It is not dull. Positive.", "1"), (POLAR, "Sentiment:-positive", "1"),
     (POLAR, "1.positive", "1"), (POLAR, "2) positive", "1"), (POLAR, "Label: positive/1", "1"),
     (POLAR, "Positive is not what I would say.", None), (POLAR, "Positive? No.", None),
     (POLAR, "It is not, as some say, positive.", None), (STARS, "Score:-4", None),
     (STARS, "4/5", None), (STARS, "1.5", None),
     (YES_NO, "No. There is none.", "0"), (YES_NO, "No, there is no sign of it.", "0"),
     (YES_NO, "Yes, nothing is missing.", "1"), (YES_NO, "There is nothing: no", "0"),
     (LETTERS, "(A)", "a"), (LETTERS, "(b).", "b"), (LETTERS, "**(A)**", "a"),
     (LETTERS, "Answer: (A)", "a"), (LETTERS, "Yes!", "y"), (LETTERS, "A", None),
     (LETTERS, "(A) or (B)", None), (LETTERS, "No.", "n")],
)  # fmt: skip
def test_an_answer_names_the_label_that_stands_in_it_whole_and_undenied(
    labels: dict[str, str], answer: str, label: str | None
) -> None:
    settings = PromptSettings(address="http://host/v1", model="m", prompt="$text", labels=labels)
    assert settings.label(answer) == label


def test_words_of_answers_stand_for_labels_and_rows_have_columns(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda _, prompt: "Yes" if prompt == "Is He $text in It?$" else "no"
    settings = endpoint.settings(
        prompt="Is $column.who in $column.what?$$", labels={"Yes": "1", "No": "0"}
    )
    rows = [{"who": "He $text", "what": "It"}, {"who": "She", "what": "It"}]
    assert load_predictor(f"llm:{settings}").predict(rows) == ["1", "0"]
    with pytest.raises(ModelError, match=r"asks for \$column.who, but the rows have text"):
        load_predictor(f"llm:{settings}").predict(ROWS)


FAULTS = {
    "nonsense": (Reply("<html>Sign in</html>", kind="text/html"), "did not answer with JSON"),
    "nothing": (Reply(""), "did not answer with JSON: ''"),
    "broken JSON": (Reply('{"choices": [{"mess'), "did not answer with JSON"),
    "an error within": (Reply({"error": {"message": "quota"}}), "answered with an error: .*quota"),
    "no choice": (Reply(completion("x", choices=[])), "returned no text at"),
    "two choices": (
        Reply(completion("x", choices=[{"message": {"content": "positive"}}] * 2)),
        "returned 2 answers to one question",
    ),
    "no text": (Reply(completion(None)), "returned no text at"),
    "a list": (Reply([1, 2]), "returned no text at"),
    "a thinker": (
        Reply(completion("", choices=[{"message": {"content": ""}, "finish_reason": "length"}])),
        "used up its 64 tokens without an answer",
    ),
    "one that thinks aloud": (
        Reply(
            completion(
                "", choices=[{"message": {"content": "<think>It"}, "finish_reason": "length"}]
            )
        ),
        "used up its 64 tokens without an answer",
    ),
    "a filter": (
        Reply(completion("", choices=[{"message": {}, "finish_reason": "content_filter"}])),
        "refused to answer",
    ),
    "unauthorized": (Reply({"error": "key top-secret-key?"}, status=401), "answered 401 .*key …"),
    "the key": (Reply(completion("I know top-secret-key.")), "answered 'I know ….'"),
    "the key in escapes": (
        Reply('{"error": {"message": "\\u0074op-secret-key is not known"}}'),
        "an error: .*… is not",
    ),
    "the key as a name": (Reply({"error": {"top-secret-key": 1}}), "answered with an error: .*…"),
    "too much": (Reply(" " * (17 << 20)), "answered with more than 16 MiB"),
    "another address": (
        Reply("", status=302, headers={"Location": "http://127.0.0.1:1/"}),
        "answered 302",
    ),
    "unknown model": (Reply({"error": "no model"}, status=400), "answered 400 .*no model"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_endpoint_that_misbehaves_is_reported_without_the_key(
    endpoint: ChatEndpoint, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply, told = FAULTS[fault]
    monkeypatch.setenv("SMALL_KEY", "top-secret-key")
    endpoint.answer = lambda *_: reply
    model = load_predictor(f"llm:{endpoint.settings(key='$env.SMALL_KEY')}")
    with pytest.raises(ModelError, match=told) as caught:
        model.predict(ROWS[:1])
    assert endpoint.headers[0]["Authorization"] == "Bearer top-secret-key"
    assert "top-secret" not in caught.value.render() + model.identity + "".join(model.remarks)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("$env.SMALL_KEY", "the key in SMALL_KEY is right"),
        ("", 'name it in the settings: key = "$env.NAME"'),
    ],
)
def test_where_a_key_is_wanted_it_is_said_how_it_is_given(
    endpoint: ChatEndpoint, key: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_KEY", "top-secret-key")
    endpoint.answer = lambda *_: Reply("no", status=401)
    model = load_predictor(f"llm:{endpoint.settings(**({'key': key} if key else {}))}")
    with pytest.raises(ModelError, match="answered 401") as caught:
        model.predict(ROWS[:1])
    assert advice in caught.value.help


def test_what_may_pass_is_asked_again(endpoint: ChatEndpoint) -> None:
    faults = {
        1: Reply("slow down", status=429, headers={"Retry-After": "7"}),
        2: Reply("later", status=503),
        3: Reply("", hangs_up=True),
        4: Reply(completion("positive"), seconds=2.0),
        5: Reply(completion("positive"), drips=0.05),
    }
    endpoint.answer = lambda number, _: faults.get(number, "positive")
    pauses: list[float] = []
    settings = PromptSettings.read(endpoint.settings())
    model = LanguageModel(settings, timeout=1.0, retries=5, pause=pauses.append)
    assert model.predict(ROWS[:1]) == ["positive"]
    assert len(pauses) == 5
    assert pauses[0] == 7.0
    assert "requests repeated: 5" in model.remarks[-1]
    endpoint.answer = lambda *_: Reply("slow", status=429, headers={"Retry-After": "86400"})
    with pytest.raises(ModelError, match="answered 429"):
        LanguageModel(settings, retries=1, pause=pauses.append).predict(ROWS[:1])
    assert pauses[-1] == 30.0
    endpoint.answer = lambda *_: faults[1]
    with pytest.raises(ModelError, match=r"answered 429 .*slow down.*\(asked 6 times\)") as caught:
        model.predict(ROWS[:1])
    assert "it limits requests" in caught.value.render()
    assert "--connections 1" in caught.value.render()
    assert "(connections, retries)" in caught.value.render()


@pytest.mark.parametrize(
    "usage",
    [{"prompt_tokens": -5, "completion_tokens": "many"},
     {"prompt_tokens": 1, "completion_tokens": 10**400}],
)  # fmt: skip
def test_a_liar_is_believed_in_nothing_that_can_be_seen(
    endpoint: ChatEndpoint, usage: dict[str, object]
) -> None:
    endpoint.answer = lambda *_: Reply(
        completion("positive", model="another", usage=usage), kind="image/png"
    )
    model = load_predictor(f"llm:{endpoint.settings()}")
    assert model.predict(ROWS[:1]) == ["positive"]
    place = f"small at {endpoint.address}/chat/completions"
    assert model.remarks == [
        f"{place} was asked 1 question; the endpoint gave no token counts for 1 of them",
        f"{place}: the endpoint says that another answered",
    ]


def test_neither_keys_nor_halves_of_characters_are_given_on(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without labels an answer is kept and shown as it is."""
    monkeypatch.setenv("SMALL_KEY", "top-secret-key")
    endpoint.answer = lambda *_: Reply(
        completion("a \ud800 top-secret-key", model="small top-secret-key")
    )
    file = endpoint.file(tmp_path, labels=None, key="$env.SMALL_KEY", cache="kept.db")
    model = load_predictor(f"llm:{file}")
    assert model.predict(ROWS[:1]) == ["a ? …"]
    assert b"top-secret" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert "top-secret" not in "".join(model.remarks)


def test_answers_are_kept_from_run_to_run(endpoint: ChatEndpoint, tmp_path: Path) -> None:
    endpoint.answer = lambda number, _: "what?" if number == 1 else "positive"
    spec = f"llm:{endpoint.file(tmp_path, cache='answers.sqlite3')}"
    with pytest.raises(ModelError, match="what"):
        load_predictor(spec).predict(ROWS[:1])
    for _ in range(2):  # an answer that was no label was not kept
        model = load_predictor(spec)
        assert model.predict(ROWS[:1]) == ["positive"]
    assert len(endpoint.requests) == 2
    assert "was asked 0 questions (1 more were in " in model.remarks[0]
    assert (tmp_path / "answers.sqlite3").exists(), "it lies beside the settings"
    # The same answer is reused when its words stand for other labels.
    other = f"llm:{endpoint.file(tmp_path, cache='answers.sqlite3', labels={'Positive': '1'})}"
    assert load_predictor(other).predict(ROWS[:1]) == ["1"]
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"key": "top-secret-key"}, "hold the key itself"),
     ({"key": "$env.NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE, which is not set"),
     ({"address": None}, "needs an address"), ({"prompt": "Good?"}, "no placeholder for the row"),
     ({"prompt": None}, "no text in prompt"), ({"address": "ftp://host/v1"}, "is not an address"),
     ({"address": "http://me:top-secret@host/v1"}, "has a password in it"),
     ({"labels": [1, 0]}, "labels of a language model have to be strings"),
     ({"labels": {"Yes": "1", "YES": "2"}}, "the labels 'Yes' and 'YES' .* are one word"),
     ({"price": {"input": -1, "output": 2}}, "is not a price"),
     ({"price": {"input": True, "output": 2}}, "is not a price"),
     ({"timeout": True}, "needs a finite time-out above 0, 0 or more retries and 1 or more conn"),
     ({"cache": "../answers"}, "not a file name"), ({"color": "red"}, "'color'"),
     ({"parameters": {"stream": True}}, "beside model and messages"),
     ({"parameters": {"temperature": float("nan")}}, "parameters .* cannot be sent as JSON")],
)  # fmt: skip
def test_settings_that_cannot_be_are_reported(
    endpoint: ChatEndpoint, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        load_predictor(f"llm:{endpoint.settings(**changes)}")
    assert "top-secret" not in caught.value.render()
    assert not endpoint.requests


def test_a_date_among_the_parameters_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "chat.toml"
    path.write_text(
        'address = "http://localhost"\nmodel = "m"\nprompt = "$text"\n'
        "[parameters]\nday = 2020-01-01\n"
    )
    with pytest.raises(UsageError, match="date is not JSON") as caught:
        load_predictor(f"llm:{path}")
    assert "finite numbers" in caught.value.help


def test_settings_say_how_long_an_answer_may_be_and_where_it_comes_from() -> None:
    def settings(**changes: Any) -> PromptSettings:
        usual = {"address": "http://host/v1", "model": "small", "prompt": "$text"}
        return PromptSettings(**{**usual, **changes})

    limited = settings(parameters={"max_completion_tokens": 9})
    assert "max_tokens" not in limited.body(ROWS[0])
    assert "at most 18 received" in LanguageModel(limited).forecast(ROWS)
    for address in ("http://host/v1/", "http://host/v1/chat/completions"):
        assert settings(address=address).url == "http://host/v1/chat/completions"
    assert settings(address="http://host/v1?a=b").url == "http://host/v1/chat/completions?a=b"
    two = {"text": "A film.", "title": "It"}
    assert settings().prompt_for(two) == "A film."
    with pytest.raises(ModelError, match=r"asks for \$text, but the rows have title, about"):
        settings().prompt_for({"title": "It", "about": "A film."})
    ways = [{}, {"system": "Read."}, {"prompt": "Is it? $text"}, {"parameters": {"seed": 1}},
            {"labels": {"a": "1"}}, {"model": "large"}]  # fmt: skip
    assert len({LanguageModel(settings(**way)).identity for way in ways}) == len(ways)


def test_a_version_of_the_model_is_no_other_model(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda *_: Reply(completion("positive", model="small-2024-07-18"))
    model = load_predictor(f"llm:{endpoint.settings()}")
    model.predict(ROWS)
    assert len(model.remarks) == 1


@pytest.mark.parametrize(("option", "most"), [(None, 1), (3, 3)])
def test_settings_say_how_many_questions_go_side_by_side(
    endpoint: ChatEndpoint, option: int | None, most: int
) -> None:
    """Answers take a while, during which others could arrive."""
    lock, open_now, most_open = threading.Lock(), 0, 0

    def slowly(_number: int, _prompt: str) -> str:
        nonlocal open_now, most_open
        with lock:
            open_now += 1
            most_open = max(most_open, open_now)
        time.sleep(0.05)
        with lock:
            open_now -= 1
        return "positive"

    endpoint.answer = slowly
    settings = endpoint.settings(connections=1)
    model = load_predictor(f"llm:{settings}", connections=option)
    model.predict([{"text": f"Film {number}."} for number in range(6)])
    assert most_open <= most
    assert most == 1 or most_open > 1


def test_options_of_other_models_are_refused(endpoint: ChatEndpoint) -> None:
    with pytest.raises(UsageError, match="takes no request map"):
        load_predictor(f"llm:{endpoint.settings()}", request_map="{}")


# ---------------------------------------------------------------- paraphrases


def test_it_rewords_sentences(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda _, prompt: (
        'Here are ten:\n\n1. A fun movie.\n2) "An amusing film."\n- A fun film.\n* A fun movie.\n'
        if prompt.endswith("A fun film.")
        else ""
    )
    source = as_paraphraser(f"llm:{endpoint.settings(prompt=None, labels=None)}")
    assert source.paraphrase([row["text"] for row in ROWS]) == [
        ["A fun movie.", "An amusing film."],
        [],
    ]
    assert endpoint.requests[0]["max_tokens"] == 1024
    assert any("1 without a usable answer: not reworded" in told for told in source.remarks)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="has labels, but paraphrases are sentences"):
        as_paraphraser(f"llm:{endpoint.settings()}")


# ---------------------------------------------------------------- second opinions


class Strict:
    """A judge that accepts rewrites with a movie in them."""

    name, identity, tau = "strict", "strict-1", 0.5

    def scores(self, pairs: list[tuple[str, str]]) -> NDArray[np.float64]:
        return np.array([0.9 if "movie" in rewrite else 0.1 for _, rewrite in pairs])

    def at_least(self, pairs: list[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return self.scores(pairs) >= tau


PAIRS = [("A fun film.", "A fun movie."), ("A fun film.", "A dull movie."), ("A film.", "Fish.")]


def test_a_second_opinion_is_asked_for_where_the_judge_passes(endpoint: ChatEndpoint) -> None:
    endpoint.answer = lambda _, prompt: "No." if "dull" in prompt else "Yes."
    given = endpoint.settings(prompt=None, labels=None)
    scorer = SecondOpinion(given, tau=0.5, first=Strict)
    assert scorer.scores(PAIRS).tolist() == [0.9, 0.0, 0.1]
    assert scorer.at_least(PAIRS, 0.5).tolist() == [True, False, False]
    assert len(endpoint.requests) == 2
    assert "Rewrite: A fun movie." in endpoint.requests[0]["messages"][0]["content"] + str(
        endpoint.requests[1]
    )
    assert scorer.identity.startswith("strict-1, then small at ")


@pytest.mark.parametrize(("answer", "accepted"), [("yes", 2), ("Perhaps!", 0), ("", 0)])
def test_a_liar_accepts_nothing_that_the_judge_rejects(
    endpoint: ChatEndpoint, answer: str, accepted: int
) -> None:
    endpoint.answer = lambda *_: answer
    scorer = SecondOpinion(endpoint.settings(prompt=None, labels=None), tau=0.5, first=Strict)
    assert scorer.at_least(PAIRS, 0.5).sum() == accepted
    told = " ".join(scorer.remarks)
    assert ("2 without a usable answer: rejected" in told) == (accepted == 0)


def test_what_a_second_opinion_costs_is_reported_before_and_after(endpoint: ChatEndpoint) -> None:
    """Before the search the maximum, before each round the actual cost, and at the end the sum."""
    endpoint.answer = lambda *_: "yes"
    given = endpoint.settings(prompt=None, labels=None, price={"input": 1000, "output": 0})
    scorer, told = SecondOpinion(given, tau=0.5, first=Strict), list[str]()
    scorer.announce = told.append
    place = f"small at {endpoint.address}/chat/completions"
    assert f"second opinion: {place}: 90 questions, about " in scorer.forecast(["One.", "Two."])
    assert not endpoint.requests
    scorer.scores(PAIRS * 3)
    assert [each.partition(", about")[0] for each in told] == [
        f"second opinion: {place}: 2 questions"
    ]
    assert scorer.remarks[0] == (
        f"{place} was asked 2 questions: 40 tokens sent and 4 received, 0.04 USD"
    )


@pytest.mark.parametrize(
    ("reply", "timeout", "told"),
    [(Reply("<html>Sign in</html>", kind="text/html"), 1, "did not answer with JSON"),
     (Reply("slow", status=429, headers={"Retry-After": "0"}), 1, "answered 429 .*asked 2 times"),
     (Reply("", seconds=1.0), 0.5, "did not answer within 0.5 seconds .asked 2 times")],
    ids=["nonsense", "429", "silence"],
)  # fmt: skip
def test_an_endpoint_that_fails_a_part_ends_the_run_and_says_why(
    endpoint: ChatEndpoint,
    reply: Reply,
    timeout: float,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A paraphraser and a second opinion wait and retry according to their settings."""
    monkeypatch.setattr("sears_dsl.models.http.posting._FIRST_PAUSE", 0.01)
    given = endpoint.settings(prompt=None, labels=None, timeout=timeout, retries=1)
    endpoint.answer = lambda *_: reply
    with pytest.raises(ModelError, match=told):
        as_paraphraser(f"llm:{given}").paraphrase(["A fun film."])
    with pytest.raises(ModelError, match=told):
        SecondOpinion(given, tau=0.5, first=Strict).scores(PAIRS[:1])
    endpoint.requests.clear()
    endpoint.answer = lambda number, _: reply if number == 1 else "A fun movie."
    if "with JSON" not in told:  # temporary failures are tried again
        source = as_paraphraser(f"llm:{given}")
        assert source.paraphrase(["A fun film."]) == [["A fun movie."]]
        assert "requests repeated: 1" in source.remarks[-1]  # type: ignore[attr-defined]


def test_settings_of_another_role_are_reported(endpoint: ChatEndpoint) -> None:
    with pytest.raises(UsageError, match="other labels than yes and no"):
        as_scorer(f"llm:{endpoint.settings()}")


# ---------------------------------------------------------------- commands


def test_an_audit_of_a_language_model(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_KEY", "top-secret-key")
    endpoint.answer = lambda _, prompt: "negative" if "movie" in prompt else "positive"
    endpoint.file(
        tmp_path, key="$env.SMALL_KEY", price={"input": 1, "output": 1}, cache="answers.sqlite3"
    )
    (tmp_path / "a.sear").write_text("film -> movie\n")
    rows = [{"text": f"Fun film number {number}.", "label": "positive"} for number in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    done = call(
        "audit", "a.sear", "--model", "llm:chat.json", "--data", "rows.jsonl", "--column", "text",
        "--label", "label", "--scorer", "none", "--max-flip-rate", "5%", folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert ": 30 questions, about " in done.stderr
    assert "USD at most" in done.stderr
    assert "was asked 60 questions: 1,200 tokens sent and 120 received, 0.0013 USD" in done.stderr
    document = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert document["model"].startswith("small at http://127.0.0.1:")
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"top-secret" in content for content in written)
    assert "top-secret" not in done.stdout + done.stderr


PARTS = """\
def predict(texts):
    return ["bad" if "movie" in text else "good" for text in texts]

def same(pairs):
    return [1.0 for _ in pairs]
"""


def test_a_search_says_what_a_paraphraser_will_cost_before_it_asks(
    endpoint: ChatEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompted_parts.py").write_text(PARTS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = [{"text": f"Fun film number {number}.", "label": "good"} for number in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    endpoint.answer = lambda _, prompt: prompt.splitlines()[-1].replace("film", "movie")
    endpoint.file(tmp_path, prompt=None, labels=None, price={"input": 1, "output": 1})
    arguments = (
        "discover", "--model", "prompted_parts:predict", "--data", "rows.jsonl", "--label", "label",
        "--scorer", "prompted_parts:same", "--tau", ".5", "--no-known", "-o", "found.sear",
    )  # fmt: skip
    (tmp_path / "same.csv").write_text("original,paraphrase\nFun film number 1.,Fun.\n")
    assert call(*arguments, "--paraphrases", "same.csv", folder=tmp_path).returncode == 0
    assert not endpoint.requests, "nothing is sent by a command that does not name the file"
    done = call(*arguments, "--paraphrases", "llm:chat.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "film -> movie" in (tmp_path / "found.sear").read_text("utf-8")
    before, ahead, after = done.stderr.partition("the search will take about ")
    place = f"small at {endpoint.address}/chat/completions"
    assert place not in before
    assert f"\n  rewording: {place}: 30 questions, about " in ahead + after
    assert f"{place} was asked 30 questions: 600 tokens sent and 60 received" in after
    assert len(endpoint.requests) == 30
    assert all(
        asked["messages"][0]["content"].startswith("Write ten") for asked in endpoint.requests
    )
