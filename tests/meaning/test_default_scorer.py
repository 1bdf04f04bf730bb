"""The scorer that discovery asks by default: shown, calibrated, and followed by the search."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sears_dsl.cli.commands import sears
from sears_dsl.defaults import DEFAULT_SCORER, SCORER_NAMES
from sears_dsl.errors import UsageError
from sears_dsl.meaning.scorers import load_scorer, search_tau, shipped, unfitted
from sears_dsl.paraphrasing.team import Recipe, load_team

pytestmark = pytest.mark.long

PAIRS = [
    ("Good movie!", "Good film!", 1),
    ("Good movie!", "Good movies!", 0),
    ("It is a fun film.", "It is a dull film.", 0),
    ("It is a fun film.", "It's a fun film.", 1),
]


@pytest.fixture
def judged(tmp_path: Path) -> str:
    path = tmp_path / "judged.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("original", "rewrite", "label"), *PAIRS])
    return str(path)


def test_score_shows_what_discovery_asks(tmp_path: Path) -> None:
    pairs = [("The food was very good.", "The food was really good."), *(p[:2] for p in PAIRS[1:])]
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("original", "rewrite"), *pairs])
    done = CliRunner().invoke(sears, ["score", str(path), "--default-tau"])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["equivalent"] for row in rows] == ["1", "0", "0", "1"]
    scores = load_scorer(DEFAULT_SCORER).scores(pairs)
    assert [float(row["score"]) for row in rows] == pytest.approx(scores, abs=1e-5)


def test_calibrate_fits_a_threshold_above_a_floor_that_it_names(judged: str) -> None:
    done = CliRunner().invoke(sears, ["calibrate", judged, "--scorer", "strict", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["floor"] == shipped("pivot").tau
    assert found["pairs_that_reach_it"] == 3
    assert found["shipped_tau"] == shipped("strict").tau
    assert found["precision"]["value"] == found["recall"]["value"] == 1
    asked = ["calibrate", judged, "--scorer", "strict", "--floor", "1e-30", "--json"]
    loose = json.loads(CliRunner().invoke(sears, asked).stdout)
    assert loose["pairs_that_reach_it"] == 4
    printed = CliRunner().invoke(sears, ["calibrate", judged, "--scorer", "strict"]).stdout
    assert "3 of 4 pairs reach the floor" in printed


def test_a_floor_is_of_the_scorer_strict_alone() -> None:
    with pytest.raises(UsageError, match="pivot has no floor"):
        load_scorer("pivot", floor=0.1)


@pytest.mark.parametrize(
    "command", ["discover", "adversaries", "audit", "vet", "score", "calibrate"]
)
def test_all_commands_know_all_scorers(command: str) -> None:
    shown = CliRunner().invoke(sears, [command, "--help"], terminal_width=200).output
    for name in SCORER_NAMES:
        assert name in shown


def test_the_search_goes_as_far_as_the_run_asks() -> None:
    assert search_tau(load_scorer("pivot")) == shipped("pivot").tau
    assert search_tau(load_scorer("pivot", tau=1e-6)) == 1e-6
    assert search_tau(load_scorer("strict", floor=1e-3)) == 1e-3
    assert search_tau(load_scorer("strict", tau=0.2)) == shipped("pivot").tau
    assert search_tau(load_scorer("minilm")) == shipped("pivot").tau


def test_a_smaller_tau_finds_more_paraphrases() -> None:
    found = {}
    for tau in (1e-2, 1e-6):
        team = load_team(Recipe(scorer="pivot", tau=tau, beam=8))
        assert (team.tau, team.search.tau) == (tau, tau)
        [paraphrases] = team.paraphrase(["It is a good movie ."])
        found[tau] = {each.text for each in paraphrases}
    assert found[1e-2] < found[1e-6]


def test_numbers_that_were_fitted_with_other_models_are_said_to_be() -> None:
    own = load_team(Recipe(scorer="pivot", beam=4)).pivots
    other = ("opus-mt-en-fr-0123456789abcdef", "opus-mt-fr-en-0123456789abcdef")
    for name in SCORER_NAMES:
        assert unfitted(name, own) == ""
        assert ("sears calibrate" in unfitted(name, other)) == (name not in ("judge", "minilm"))
    assert unfitted("pivot", other, tau=0.001) == "", "no shipped number is asked"
    assert unfitted("strict", other, tau=0.5) != "", "its weights and floor are"
