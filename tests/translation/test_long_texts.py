"""Texts too long for the models: reworded by the sentence, scored around the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.typing import NDArray

from sears_dsl.data.labelled import LabelledRows
from sears_dsl.discovery.algorithm import discover
from sears_dsl.discovery.settings import Settings
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.models.function import CallablePredictor
from sears_dsl.paraphrasing.paraphraser import Paraphraser
from sears_dsl.paraphrasing.team import Recipe, Team
from sears_dsl.tagging.pinned import PinnedTagger
from sears_dsl.translation.long_texts import differing_parts
from sears_dsl.translation.pivots import load_pivots

pytestmark = pytest.mark.long

FILLER = "We went there on a Monday.  The weather was mild, and the street was quiet. " * 15
SENTENCES = st.lists(
    st.sampled_from(["It is fun.", "Why not?", "a b c", 'He said: "No!"', "\n\n", " ", "x" * 9]),
    max_size=40,
).map(" ".join)


@examples(deadline=None)
@given(SENTENCES, SENTENCES, st.sampled_from(["", "a film", "A film. Two", "."]),
       st.sampled_from(["", "a movie", "One. A", "!"]))  # fmt: skip
def test_what_is_left_out_is_the_same_on_both_sides(
    before: str, after: str, old: str, new: str
) -> None:
    original, rewrite = before + old + after, before + new + after
    [(one, other)] = differing_parts([(original, rewrite)])
    candidates = [at for at in range(len(original) + 1) if original.startswith(one, at)]
    assert any(original[:at] + other + original[at + len(one) :] == rewrite for at in candidates)
    assert differing_parts([(one, other)]) == [(one, other)]


def test_a_sentence_without_end_is_cut_to_the_words_around_the_change() -> None:
    words = [f"w{number}" for number in range(1000)]
    changed = [*words[:600], "new", *words[601:]]
    [(one, other)] = differing_parts([(" ".join(words), " ".join(changed))])
    assert len(one.split()) == len(other.split()) == 151
    assert "w600" in one.split()
    assert "new" in other.split()


@pytest.mark.parametrize("name", ["minilm", "pivot", "meaning"])
def test_a_change_at_the_end_of_a_long_text_is_seen(name: str) -> None:
    scorer = load_scorer(name)
    pairs = [
        ("The food was good.", "The food was bad."),
        ("The food was good.", "The meal was good."),
    ]
    long = [(FILLER + one, FILLER + other) for one, other in pairs]
    assert scorer.scores(long).tolist() == pytest.approx(scorer.scores(pairs).tolist(), abs=1e-3)
    assert scorer.scores(long)[0] < 1
    assert (scorer.at_least(long, scorer.tau) == scorer.at_least(pairs, scorer.tau)).all()


@pytest.mark.parametrize("space", ["\t", "\n", "\u00a0"])
def test_words_are_counted_whatever_is_between_them(space: str) -> None:
    shared = space.join(f"w{number}" for number in range(400))
    [(one, other)] = differing_parts([(f"{shared}{space}film", f"{shared}{space}movie")])
    assert len(one.split()) < 100
    assert (one.split()[-1], other.split()[-1]) == ("film", "movie")


def test_a_long_text_is_reworded_sentence_by_sentence_and_kept_elsewhere() -> None:
    paraphraser = Paraphraser(load_pivots(), beam=6)
    text = f"  {FILLER}It is a good movie!\n"
    assert not paraphraser.searchable(text)
    [found] = paraphraser.paraphrase([text])
    [alone] = paraphraser.paraphrase(["It is a good movie!"])
    texts = [each.text for each in found]
    assert f"  {FILLER}It's a good movie!\n" in texts
    assert any("Monday" in each.text for each in alone) is False
    assert len(texts) == len(set(texts)) <= paraphraser.bounds.paraphrases
    assert [each.log_score for each in found] == sorted(
        (each.log_score for each in found), reverse=True
    )
    for each in texts:
        [(one, _)] = differing_parts([(text, each)])
        assert len(one) < 120, "one sentence changes"


def test_texts_with_a_sentence_that_is_too_long_are_known() -> None:
    team = Team(Recipe(scorer="pivot", beam=4))
    endless = " ".join(["and it went on"] * 40)
    texts = [FILLER, endless, f"Good. {endless}", "Good."]
    assert team.too_long(texts) == [False, True, True, False]


class Reworded(NamedTuple):
    text: str


@dataclass
class Short:
    """Rewords texts of few words."""

    def paraphrase(self, sentences: Sequence[str]) -> list[list[Reworded]]:
        return [
            [Reworded(text.replace("movie", "film"))] if len(text) < 20 else []
            for text in sentences
        ]

    def too_long(self, sentences: Sequence[str]) -> list[bool]:
        return [len(text) >= 20 for text in sentences]


class Same:
    name = identity = "same"
    tau = 0.5

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        return np.ones(len(pairs))

    def at_least(self, pairs: Sequence[tuple[str, str]], tau: float) -> NDArray[np.bool_]:
        return np.ones(len(pairs), np.bool_)


def test_rows_that_are_too_long_are_counted() -> None:
    texts = [f"A movie {number}." for number in range(6)] + ["A movie that is far too long."] * 3
    found = discover(
        LabelledRows(tuple({"text": text} for text in texts), "text", None, "rows.csv"),
        CallablePredictor(lambda rows: ["film" in row for row in rows]),
        paraphraser=Short(),
        scorer=Same(),
        tagger=PinnedTagger(),
        settings=Settings(),
    )
    assert found.funnel.too_long == 3
