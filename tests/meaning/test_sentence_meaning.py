"""Scores of whole sentences: laws, agreement with people, odd input and odd files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sears_dsl.errors import ModelError
from sears_dsl.judge import surface
from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.encoder import NUMBERS
from sears_dsl.judge.evidence import EncodedChanges
from sears_dsl.judge.surface import SURFACE
from sears_dsl.meaning import sentence_meaning
from sears_dsl.meaning.scorers import load_scorer, shipped_numbers
from sears_dsl.meaning.sentence_meaning import (
    FEW,
    OF_SENTENCES,
    SentenceMeaning,
    chances,
    load_sentence_meaning,
    numbers_replaced,
    sentence_columns,
)

SAME = [
    ("This is a good movie.", "This is a good film."),
    ("It's a very sad story.", "It is a very sad story."),
    ("What color is the tray?", "What colour is the tray?"),
    ("A man is playing a guitar.", "A man plays the guitar."),
    ("The boy is sleeping on the couch.", "On the sofa a boy is asleep."),
]
DIFFERENT = [
    ("This is a good movie.", "This is not a good movie."),
    ("This is a good movie.", "This is a good dog."),
    ("The dog chased the cat.", "The cat chased the dog."),
    ("What color is the tray?", "What size is the tray?"),
    ("I liked the plot.", "They hated the plot."),
    (
        "The boy is sleeping on the couch.",
        "Shares fell sharply in early trading in Asia on Monday.",
    ),
]


@pytest.fixture(scope="module")
def scorer() -> SentenceMeaning:
    """The shipped scorer of whole sentences."""
    loaded = load_scorer("meaning")
    assert isinstance(loaded, SentenceMeaning)
    return loaded


def test_sentences_that_people_call_the_same_score_higher(scorer: SentenceMeaning) -> None:
    same, different = scorer.scores(SAME), scorer.scores(DIFFERENT)
    assert same.min() > different.max()
    assert scorer.at_least(SAME, scorer.tau).all()
    assert not scorer.at_least(DIFFERENT, scorer.tau).any()


def test_decisions_are_those_of_the_scores_in_any_company(scorer: SentenceMeaning) -> None:
    pairs = [*SAME, *DIFFERENT, ("Same.", "Same."), ("Same.", " Same. ")]
    scores = scorer.scores(pairs)
    assert (scores[-2:] == 1).all()
    for tau in (0.0, 0.1, 0.5, 0.9, 1.0):
        clear = np.abs(scores - tau) > 1e-4
        assert ((scorer.at_least(pairs, tau) == (scores >= tau)) | ~clear | (scores == 1)).all()
    assert np.allclose([scorer.scores([pair])[0] for pair in pairs], scores, atol=1e-4)


@pytest.mark.parametrize(
    "text", ["", "word", "a " * 3000, "<b>good</b> \U0001f600!", "Isto não é inglês.", "x" * 5000]
)
def test_texts_of_any_kind_are_scored(scorer: SentenceMeaning, text: str) -> None:
    same, other, unlike = scorer.scores([(text, text), (text, f"{text} no"), (text, SAME[3][0])])
    assert same == 1
    assert 0 <= unlike <= 1
    assert 0 <= other < 1


def test_few_and_many_words_have_curves_of_their_own(scorer: SentenceMeaning) -> None:
    columns = {name: np.zeros(2) for name in {*SURFACE, *scorer.few.names, *scorer.many.names}}
    columns["words changed"] = np.array([FEW, FEW + 1.0])
    columns["words moved"] = np.array([3.0, 3.0])
    few, many = chances(scorer.few, scorer.many, columns)
    columns["words moved"] = np.zeros(2)
    assert few < chances(scorer.few, scorer.many, columns)[0]
    assert many == chances(scorer.few, scorer.many, columns)[1]


def test_a_number_for_another_is_worse_than_one_that_is_added(scorer: SentenceMeaning) -> None:
    pairs = [
        ("Two men sit.", "Three men sit."),
        ("Men sit.", "Two men sit."),
        ("On 3 May 2010 12 men sat.", "On 4 May 2011 12 men sat."),
        ("In 2010 and 2011.", "In 2011 and 2010."),
        ("Twenty-one men sit.", "21 men sit."),
    ]
    assert numbers_replaced([changes_of(*pair) for pair in pairs]).tolist() == [1, 0, 2, 0, 0]
    replaced, added = scorer.scores(pairs[:2])
    assert replaced < added


def test_only_changes_of_content_words_count_as_such() -> None:
    changes = [
        changes_of("A man is in the big house.", "The man was in the large house."),
        changes_of("The man is here.", "A man is here."),
        changes_of("The man is here.", "The boy is here."),
    ]
    counts = np.array([len(each) for each in changes])
    assert counts.tolist() == [3, 1, 1]
    numbers = np.ones((5, len(NUMBERS)), np.float32)
    numbers[:, NUMBERS.index("words, layer 6")] = [0.1, 0.2, 0.75, 0.3, 0.5]
    numbers[:, NUMBERS.index("sentence")] = np.cos([0.2, 0.6, 0.4, 0.1, 1.0])
    odds = np.array([-3.0, -2.0, 1.0, -5.0, -1.0])
    replaced = np.array([False, False, True, False, True])
    seen = EncodedChanges(odds, np.zeros(5), counts, replaced, numbers, numbers)
    columns = sentence_columns(changes, seen)
    # Of the first pair big → large; of the second nothing; of the third "another word" says it.
    assert columns["other content"].tolist() == [3, 0, 0]
    assert columns["unlike content"].tolist() == [0.25, 0, 0.5]
    assert np.allclose(columns["sentence as it is"], [0.6, 0.1, 1.0])
    assert set(columns) == set(OF_SENTENCES[1:])


def test_more_evidence_never_raises_a_score(scorer: SentenceMeaning) -> None:
    for curves in (scorer.few, scorer.many):
        for name, taken in zip(curves.names, curves.taken, strict=True):
            assert (np.diff(taken) >= 0).all(), name


def test_the_shipped_numbers_say_where_they_come_from() -> None:
    numbers = shipped_numbers("meaning")
    assert numbers.provenance["command"].startswith("python -m training.judge")
    assert {"STS-B train", "PAWS half 0"} <= set(numbers.provenance["sets"])
    for figures in numbers.provenance["figures"].values():
        assert 0.5 < figures["area"] < 1


def test_a_file_of_another_version_is_refused_with_a_sentence(
    tmp_path: Path, scorer: SentenceMeaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, told in (
        (_with(tmp_path / "1.json", version=99), r"is of version 99.*version 1"),
        (_with(tmp_path / "2.json", sha256="0" * 64), r"judge\.npz does not belong to 2\.json"),
        (tmp_path / "missing.json", "cannot be read"),
    ):
        monkeypatch.setattr(sentence_meaning, "_FILE", file)
        with pytest.raises(ModelError, match=told):
            load_sentence_meaning()
    monkeypatch.undo()
    assert load_sentence_meaning(tau=0.3).tau == 0.3
    assert scorer.identity == load_sentence_meaning().identity
    # Scores are saved under it, and changed lists or tables give another score.
    monkeypatch.setattr(surface, "VERSION", "another")
    assert scorer.identity != load_sentence_meaning().identity


def _with(path: Path, **changed: object) -> Path:
    source = Path(sentence_meaning.__file__).with_name("sentence_meaning.json")
    path.write_text(json.dumps({**json.loads(source.read_text()), **changed}))
    return path
