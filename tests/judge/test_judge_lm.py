"""The judge with a language model: the laws of the judge, and what it sees besides."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from sears_dsl.judge.judge import Judge
from sears_dsl.judge.likelihood import LIKELIHOOD
from sears_dsl.judge.readings import Reading
from sears_dsl.meaning.scorers import load_scorer, spread_of

pytestmark = pytest.mark.long

GOOD = [
    ("The film was very good.", "The film was really good."),
    ("It is a fun movie.", "It's a fun movie."),
    ("I do not like this place.", "I don't like this place."),
]
BAD = [
    ("It tasted like dirt.", "It tasted as dirt."),
    ("I still like this place.", "I stilln't like this place."),
    ("What does he want?", "What do he want?"),
    ("The food was good.", "The food was bad."),
]


@pytest.fixture(scope="module")
def judge() -> Judge:
    return cast("Judge", load_scorer("judge-lm"))


def test_good_rewrites_pass_and_bad_ones_do_not(judge: Judge) -> None:
    assert judge.name == "judge-lm"
    assert judge.at_least(GOOD, judge.tau).all()
    assert not judge.at_least(BAD, judge.tau).any()


def test_a_text_means_itself(judge: Judge) -> None:
    assert judge.scores([("A film.", "A film."), ("A  film.", "A film.")]).tolist() == [1, 1]


def test_scores_from_a_bound_on_are_the_scores(judge: Judge) -> None:
    pairs = [*GOOD, *BAD, ("A film.", "A film.")]
    scores = judge.scores(pairs)
    for least in (0.02, 0.1, 0.5, 0.8, 0.99):
        expected = np.where(scores >= least, scores, 0.0)
        assert judge.scores_from(pairs, least) == pytest.approx(expected, abs=1e-4)
        assert judge.at_least(pairs, least).tolist() == (scores >= least).tolist()


def test_less_likelihood_never_raises_a_chance(judge: Judge) -> None:
    amounts = np.linspace(0, 30, 200)
    for name in LIKELIHOOD:
        chances = judge.full.chances({name: amounts})
        assert (np.diff(chances) <= 1e-12).all()
    # Reasons that count, not only could.
    assert set(judge.full.names) & set(LIKELIHOOD)


def test_what_is_unlikely_is_a_reason(judge: Judge) -> None:
    names = {reason.name for reason in judge.explain("What does he want?", "What do he want?")}
    assert names & set(LIKELIHOOD)
    assert judge.explain("A film.", "A film.") == []


def test_readings_of_ones_own_count(judge: Judge) -> None:
    refused = [Reading(f"The {noun} was a tale.", f"The {noun} was a yarn.", accepted=False)
               for noun in ("plot", "film", "book", "play")]  # fmt: skip
    own = judge.with_readings(refused)
    pair = [("It is a tale of love.", "It is a yarn of love.")]
    assert own.scores(pair) < judge.scores(pair)
    assert own.identity not in (judge.identity, load_scorer("judge").identity)
    assert spread_of(own) is not None
