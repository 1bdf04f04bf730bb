"""Sentences reworded without the words that an answer depends on: planted words are found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sears_dsl as sears
from sears_dsl.cli.commands import sears as commands
from sears_dsl.data.labelled import LabelledRows, read_labelled
from sears_dsl.data.protection import Protection
from sears_dsl.discovery.adversaries import RewordedRow, StrategicSettings, reword, reworded_columns
from sears_dsl.effects.asked_model import require_confidence
from sears_dsl.errors import DataError, UsageError
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.function import CallablePredictor
from sears_dsl.models.predictor import Answer
from sears_dsl.models.vote import VotingPredictor
from sears_dsl.paraphrasing.memory import remembered_paraphrases_without
from sears_dsl.runtime.database import RunJournal
from sears_dsl.tagging.tagger import load_tagger

TEXT = "The old receiver caught it. Thomas led the team. Nobody saw the receiver run."
# The parts of the model's confidence in the right answer.
WEIGHTS = {"receiver": 0.4, "old": 0.2, "saw": 0.1, "Nobody": -0.1}


class Reader:
    """Answers ``Thomas`` while it sees half of the weights, which are its confidence."""

    identity = "reader"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        return [answer.label for answer in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Mapping[str, str]]) -> list[Answer]:
        self.asked += [row["text"] for row in rows]
        return [self._answer(row["text"]) for row in rows]

    def _answer(self, text: str) -> Answer:
        sure = 0.2 + sum(weight for word, weight in WEIGHTS.items() if word in text)
        return Answer("Thomas", sure) if "receiver" in text else Answer("Sanders", 0.5)


class Reworder:
    """Avoids forbidden words as a search does, and otherwise changes a small word."""

    def __init__(self) -> None:
        self.forbidden: dict[str, tuple[str, ...]] = {}

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        return [[f"{sentence[:-1]}!", sentence.replace("the", "that")] for sentence in sentences]

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        self.forbidden |= dict(sentences)
        found = []
        for sentence, words in sentences:
            text = sentence
            for word in words:
                text = re.sub(word, "person", text, flags=re.IGNORECASE)
            found.append([text])
        return found


class Scorer:
    name, identity, tau = "by length", "by length", 0.5

    def scores(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        return np.array([0.3 if "old" in one and "old" not in other else 0.9
                         for one, other in pairs])  # fmt: skip

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> np.ndarray:
        return np.asarray(self.scores(pairs) >= tau)


def rows(**columns: str) -> LabelledRows:
    protection = Protection(("answer",))
    row = {"text": TEXT, "label": "Thomas", "answer": "Thomas", **columns}
    return read_labelled([row], column="text", label="label", protection=protection)


def reworded(
    data: LabelledRows,
    source: object,
    reader: Reader | None = None,
    note: Callable[[str], None] = lambda _: None,
    **settings: object,
) -> list[RewordedRow]:
    with RunJournal(None, task="") as journal:
        return reword(
            data, CachedPredictor(reader or Reader()), paraphraser=source,  # type: ignore[arg-type]
            scorer=Scorer(), tagger=load_tagger(), journal=journal, note=note,
            settings=StrategicSettings(**settings),  # type: ignore[arg-type]
        )  # fmt: skip


def test_the_planted_words_are_found_with_their_weights() -> None:
    reader, source = Reader(), Reworder()
    [found] = reworded(rows(), source, reader, avoid=2)
    # Without any receiver the answer would be Sanders; one of two stays, so no weight is lost.
    assert [(each.word, round(each.weight, 6)) for each in found.words] == [
        ("old", 0.2), ("saw", 0.1),
    ]  # fmt: skip
    assert set(source.forbidden.values()) == {("old", "saw")}
    # The protected word is never left out, and its sentence never reworded.
    assert all("Thomas" in text for text in reader.asked)
    assert not any("Thomas" in sentence for sentence in source.forbidden)


def test_a_word_that_turns_a_right_answer_wrong_weighs_most() -> None:
    text = "Thomas, the old receiver, saw it."
    # The one unit holds what has to stay.
    assert reworded(rows(text=text, answer="it"), Reworder(), avoid=1, unit="text") == []
    data = LabelledRows(({"text": text},), "text", (("Thomas",),), "a.csv")
    [flip] = reworded(data, Reworder(), avoid=1, unit="text")
    # 0.9 sure of the right answer before, 0.5 sure of a wrong one after.
    [word] = flip.words
    assert (word.word, round(word.weight, 6)) == ("receiver", 1.4)
    assert flip.flips
    assert flip.text == "Thomas, the old person, saw it."


def test_wrong_rows_weigh_by_what_makes_the_model_surer_of_them() -> None:
    data = rows(label="Sanders")
    assert reworded(data, Reworder(), avoid=1) == []
    [found] = reworded(data, Reworder(), avoid=1, wrong_rows=True)
    # The other words support the wrong answer: without them the model would be less sure of it.
    [word] = found.words
    assert (word.word, round(word.weight, 6)) == ("Nobody", 0.1)
    assert (found.right_before, found.right_after, found.flips) == (False, False, False)
    table = reworded_columns([found], data)
    assert (table["label"], table["before"]) == (["Sanders"], [found.before])
    assert found.before != "Sanders"


def test_what_loses_the_meaning_stays() -> None:
    [found] = reworded(rows(), Reworder(), avoid=2, tau=0.5)
    assert found.text == (
        "The old receiver caught it. Thomas led the team. Nobody person the receiver run."
    )
    assert found.score == 0.9
    [all_of_it] = reworded(rows(), Reworder(), avoid=2, tau=0.0)
    assert all_of_it.text.startswith("The person receiver caught it.")
    assert all_of_it.score == 0.3


def test_what_was_not_reworded_is_reported_with_the_reason_and_what_would_help() -> None:
    class Silent(Reworder):
        def paraphrase_without(
            self, sentences: Sequence[tuple[str, tuple[str, ...]]]
        ) -> list[list[str]]:
            return [[], *super().paraphrase_without(sentences)[1:]]

    told: list[str] = []
    reworded(rows(), Silent(), note=told.append, avoid=2, tau=0.95)
    assert told == [
        "note: 0 of 2 sentences that may change are reworded; 1 has no paraphrase that changes a "
        "word without an avoided one (a smaller --avoid-important leaves more); 1 has only "
        "paraphrases with S below 0.95 (median 0.9; a lower --tau accepts more, --scorer meaning "
        "is for sentences)"
    ]


def test_a_source_without_constraints_is_filtered() -> None:
    class Plain:
        def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
            return [["The Old one.", "An oldish one.", "A new one."] for _ in sentences]

    with RunJournal(None, task="") as journal:
        for _ in range(2):  # the second time from the journal
            found = remembered_paraphrases_without(
                Plain(), [("That one.", ("old",)), ("That one.", ())], journal
            )
            assert found == [["An oldish one.", "A new one."],
                             ["The Old one.", "An oldish one.", "A new one."]]  # fmt: skip


def test_what_is_asked_without_a_word_is_not_taken_for_a_text_with_a_separator() -> None:
    class Repeating:
        def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
            return [[f"{each}!"] for each in sentences]

    pairs: list[tuple[str, tuple[str, ...]]] = [("a\0b", ()), ("a", ("b",))]
    with RunJournal(None, task="") as journal:
        found = remembered_paraphrases_without(Repeating(), pairs, journal)
    assert found == [["a\0b!"], ["a!"]]


def test_a_model_that_does_not_say_how_sure_it_is_is_reported() -> None:
    class Unsure(Reader):
        def _answer(self, text: str) -> Answer:
            return Answer(super()._answer(text).label)

    with pytest.raises(UsageError, match="gives no confidences"):
        reworded(rows(), Reworder(), Unsure())
    [found] = reworded(rows(), Plain(), Unsure(), avoid=0)
    assert found.words == ()


def test_a_model_that_never_says_is_refused_before_anything_is_loaded_or_asked() -> None:
    def untouched(_: object) -> list[list[str]]:
        raise AssertionError("nothing is reworded or scored")

    untouched.tau = 0.5  # type: ignore[attr-defined] - as scorers have it
    asked: list[str] = []

    def plain(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return ["Thomas"] * len(texts)

    data = [{"text": f"{TEXT} {number}", "label": "Thomas"} for number in range(50)]
    with pytest.raises(UsageError, match="gives no confidences"):
        sears.adversaries(plain, data, text="text", label="label", paraphraser=untouched,
                          scorer=untouched, avoid_important=5)  # fmt: skip
    assert len(asked) == 16, "what a function gives is seen of a few rows"
    vote = CachedPredictor(VotingPredictor([CallablePredictor(plain)] * 2))
    with pytest.raises(UsageError, match="gives no confidences"):
        require_confidence(read_labelled(data, column="text", label="label"), vote)
    assert len(asked) == 16, "votes have no confidence, whoever votes"


def test_rows_of_which_the_model_does_not_say_are_left_out_and_reported() -> None:
    class Sometimes(Reader):
        def _answer(self, text: str) -> Answer:
            answer = super()._answer(text)
            # Without one word the model gives no confidence; for one row never.
            return Answer(answer.label) if "old" not in text or "Rome" in text else answer

    row = {"text": TEXT, "label": "Thomas", "answer": "Thomas"}
    rows_of_both = [row, {**row, "text": f"{TEXT} Rome."}]
    data = read_labelled(rows_of_both, column="text", label="label",
                         protection=Protection(("answer",)))  # fmt: skip
    told: list[str] = []
    [found] = reworded(data, Reworder(), Sometimes(), note=told.append, avoid=2)
    # Not `old`, as it would be if the confidence without it were 0.
    assert [each.word for each in found.words] == ["saw"]
    assert told[0] == "note: 1 row was left out, because the model does not say how sure it is"


class Plain:
    """Changes punctuation first, which is no change of a word."""

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        return [[f"{sentence[:-1]}!", sentence.replace(" the ", " that ")]
                for sentence in sentences]  # fmt: skip


def test_plain_rewording_of_sentences_changes_words() -> None:
    [found] = reworded(rows(), Plain(), avoid=0)
    assert found.text == (
        "The old receiver caught it. Thomas led the team. Nobody saw that receiver run."
    )


@pytest.mark.parametrize("apostrophe", ["'", "’"])
def test_an_important_clitic_stays_out_of_rewordings(apostrophe: str) -> None:
    def reword(sentences: Sequence[str]) -> list[list[str]]:
        with_clitic = [each.replace("movie", "film") for each in sentences]
        return [[each, re.sub("n['’]t", " not", each)] for each in with_clitic]

    found = sears.adversaries(
        lambda texts: [("bad", 0.9) if "n't" in each.replace("’", "'") else ("good", 0.6)
                       for each in texts],
        [(f"It isn{apostrophe}t a movie.", "bad")], avoid_important=1, paraphraser=reword,
        scorer=lambda pairs: [0.9 for _ in pairs], tau=0.5,
    )  # fmt: skip
    assert found.columns["adversary"] == ["It is not a film."]


MODULE = '''\
def predict(texts):
    """Sure of what is good, unless nobody says so."""
    return [("good", 0.9) if "good" in each else ("bad", 0.6) for each in texts]

def plain(texts):
    return [label for label, _ in predict(texts)]

def reword(sentences):
    return [[each.replace("good", "fine"), each.replace("A", "The")] for each in sentences]

def close(pairs):
    return [0.9 for _ in pairs]

close.tau = 0.5
'''


def test_the_command_and_the_function_write_words_and_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("strategic_words.py").write_text(MODULE, "utf-8")
    Path("rows.jsonl").write_text(
        '{"text": "A good film. Rome was there.", "label": "good", "answer": "Rome"}\n'
        '{"text": "A dull film.", "label": "good", "answer": "dull"}\n', "utf-8",
    )  # fmt: skip
    options = ["adversaries", "--data", "rows.jsonl", "--column", "text", "--label", "label",
               "--protect", "answer", "--paraphrases", "strategic_words:reword", "--scorer",
               "strategic_words:close", "--jobs", "1", "-o", "out.jsonl"]  # fmt: skip
    sentence = ["--unit", "sentence", "--avoid-important", "5"]
    model = ["--model", "strategic_words:predict"]
    done = CliRunner().invoke(commands, [*options, *model, *sentence])
    assert done.exit_code == 0, (done.output, done.exception)
    [written] = map(json.loads, Path("out.jsonl").read_text("utf-8").splitlines())
    assert written["adversary"] == "A fine film. Rome was there."
    assert (written["flips"], json.loads(written["words"])) == ("yes", [["good", 1.5]])

    import strategic_words  # type: ignore[import-not-found]

    found = sears.adversaries(
        strategic_words.predict, "rows.jsonl", text="text", label="label", protect=["answer"],
        paraphraser=strategic_words.reword, scorer=strategic_words.close, unit="sentence",
        avoid_important=5,
    )  # fmt: skip
    assert {name: values[0] for name, values in found.columns.items()} == written
    assert (found.rows_flipped, found.right) == (1, 1)

    unsure = CliRunner().invoke(commands, [*options, "--model", "strategic_words:plain", *sentence])
    assert "gives no confidences" in str(unsure.exception)
    unscored = [each if each != "strategic_words:close" else "none" for each in options]
    none = CliRunner().invoke(commands, [*unscored, *model, *sentence])
    assert "nothing would say whether a paraphrase keeps the meaning" in str(none.exception)
    top = CliRunner().invoke(commands, [*options, *model, *sentence, "--top", "2"])
    assert top.exit_code == 2
    assert "--top does not go with --unit sentence" in top.output


def of_paris(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Finds each Paris, and is surer of it in a good text."""
    return [
        (json.dumps([[each.start(), each.end(), "LOC"] for each in re.finditer("Paris", text)]),
         0.9 if "good" in text else 0.5)
        for text in texts
    ]  # fmt: skip


@pytest.mark.parametrize("avoid", [0, 1])
def test_entities_are_compared_where_they_would_stand_in_the_original(avoid: int) -> None:
    text = "A good movie came out. It was seen in Paris."
    [(entities, _)] = of_paris([text])
    result = sears.adversaries(
        of_paris, [{"text": text, "places": entities, "city": "Paris"}], text="text",
        label="places", protect=["city"], comparison="entities", unit="sentence",
        avoid_important=avoid, every=True, scorer=lambda pairs: [1.0 for _ in pairs], tau=0.5,
        paraphraser=lambda texts: [[each.replace("good", "wonderful")] for each in texts],
    )  # fmt: skip
    assert result.columns["adversary"] == ["A wonderful movie came out. It was seen in Paris."]
    assert (result.columns["flips"], result.rows_flipped) == (["no"], 0)
    assert result.columns["prediction"] == [entities]
    # Without *good* the model is as right as with it, and 0.4 less sure.
    assert json.loads(result.columns["words"][0]) == [["good", 0.4]][:avoid]


def of_a_useless_model(*answers: str, every: bool) -> sears.AdversaryResult:
    """Rewordings of rows with these labels, none of which the model gives."""
    return sears.adversaries(
        lambda texts: ["none"] * len(texts),
        [(f"A good movie, number {number}.", label) for number, label in enumerate(answers)],
        unit="sentence", every=every, tau=0.5, scorer=lambda pairs: [1.0 for _ in pairs],
        paraphraser=lambda texts: [[each.replace("movie", "film")] for each in texts],
    )  # fmt: skip


def test_a_model_with_no_row_right_leaves_rows_to_reword_only_with_every() -> None:
    for every in (True, False):
        result = of_a_useless_model("answer 0", "answer 1", "answer 2", every=every)
        assert len(result.columns["row"]) == (3 if every else 0)
        assert (result.right, result.rows_flipped) == (0, 0)


def test_a_model_with_no_row_of_any_class_right_is_reworded_only_with_every() -> None:
    result = of_a_useless_model("good", "good", "good", every=True)
    assert (len(result.columns["row"]), result.right) == (3, 0)
    with pytest.raises(DataError, match="the model gets none of the 3 rows"):
        of_a_useless_model("good", "good", "good", every=False)
