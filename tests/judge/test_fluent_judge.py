"""The judge with a language model: the same laws as the judge, and what it sees besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from sears_dsl.errors import ModelError
from sears_dsl.judge.fluent_judge import DOUBT, FluentJudge, doubts, load_fluent_judge
from sears_dsl.judge.language_model import LIKELIHOOD
from sears_dsl.judge.readings import Reading
from sears_dsl.meaning.scorers import load_scorer, spread_of
from sears_dsl.translation.model_files import carried_encoder, carried_language_model

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
def fluent() -> FluentJudge:
    return cast("FluentJudge", load_scorer("judge-lm"))


def test_good_rewrites_pass_and_bad_ones_do_not(fluent: FluentJudge) -> None:
    assert fluent.at_least(GOOD, fluent.tau).all()
    assert not fluent.at_least(BAD, fluent.tau).any()
    assert (fluent.scores(GOOD) >= fluent.tau).all()
    assert (fluent.scores(BAD) < fluent.tau).all()


def test_a_text_means_itself(fluent: FluentJudge) -> None:
    assert fluent.scores([("A film.", "A film."), ("A  film.", "A film.")]).tolist() == [1, 1]


@pytest.mark.parametrize("least", [0.02, 0.1, 0.5, 0.8, 0.99])
def test_scores_from_a_bound_on_are_the_scores(fluent: FluentJudge, least: float) -> None:
    pairs = [*GOOD, *BAD, ("A film.", "A film.")]
    scores, some = fluent.scores(pairs), fluent.scores_from(pairs, least)
    assert some == pytest.approx(np.where(scores >= least, scores, 0.0), abs=1e-4)
    assert fluent.at_least(pairs, least).tolist() == (scores >= least).tolist()


def test_less_likelihood_never_raises_a_chance(fluent: FluentJudge) -> None:
    amounts = np.linspace(0, 30, 200)
    for name in (DOUBT, *LIKELIHOOD):
        columns = {each: np.full(200, 2.0) for each in (DOUBT, *LIKELIHOOD)}
        chances = fluent.curves.chances({**columns, name: amounts})
        assert (np.diff(chances) <= 1e-12).all()


def test_doubts_fall_with_the_chance() -> None:
    assert doubts(np.array([0.0, 0.5, 1.0])).tolist() == pytest.approx([35.63, 8.0, 0.0], abs=0.01)


def test_reasons_are_those_of_both(fluent: FluentJudge) -> None:
    original, rewrite = BAD[2]
    names = {reason.name for reason in fluent.explain(original, rewrite)}
    assert names & set(LIKELIHOOD)
    assert {reason.name for reason in fluent.judge.explain(original, rewrite)} < names
    assert fluent.explain("A film.", "A film.") == []


def test_readings_of_ones_own_count(fluent: FluentJudge) -> None:
    refused = [Reading(f"The {noun} was ok.", f"The {noun} was okay.", accepted=False)
               for noun in ("food", "film", "place", "trip")]  # fmt: skip
    own = fluent.with_readings(refused)
    pair = [("The wine was ok.", "The wine was okay.")]
    assert own.scores(pair) < fluent.scores(pair)
    assert own.identity != fluent.identity
    assert spread_of(own) is not None


def test_numbers_of_another_judge_are_refused(tmp_path: Path, fluent: FluentJudge) -> None:
    shipped = Path(__file__).parents[2] / "sears_dsl" / "judge" / "judge_lm.json"
    entry = json.loads(shipped.read_text())
    assert entry["sha256"] == fluent.judge.numbers
    other = tmp_path / "judge_lm.json"
    other.write_text(json.dumps({**entry, "sha256": "0" * 64}))
    with pytest.raises(ModelError, match="another judge") as caught:
        load_fluent_judge(carried_encoder(), carried_language_model(), numbers=other)
    assert "training.fluent_judge" in caught.value.help
