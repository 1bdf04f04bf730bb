"""The scorer that discovery uses by default is shown, calibrated, and followed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from sears_dsl.cli.commands import sears
from sears_dsl.defaults import DEFAULT_SCORER, SCORER_NAMES
from sears_dsl.errors import UsageError, readable
from sears_dsl.meaning.scorers import fit_warning, load_scorer, shipped_numbers, spread_of
from sears_dsl.paraphrasing.plugins import as_scorer
from sears_dsl.paraphrasing.team import Recipe, Team

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


@pytest.mark.parametrize(
    ("original", "rewrite", "options", "told"),
    [
        ("A comida estava fria.", "A comida estava gelada.", (), True),
        ("A comida estava fria.", "A comida estava gelada.", ("--scorer", "pivot"), True),
        (
            "A comida estava fria.",
            "A comida estava gelada.",
            ("--scorer", "pivot", "--pivot", "pt-en"),
            False,
        ),
        (*PAIRS[0][:2], (), False),
    ],
)
def test_score_tells_of_rows_that_are_not_english(
    original: str, rewrite: str, options: tuple[str, ...], told: bool, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(f'original,rewrite\n"{original}","{rewrite}"\n', "utf-8")
    done = CliRunner().invoke(sears, ["score", str(path), *options])
    note = (
        "1 of the first 1 rows do not look like English; scores are not calibrated for them; "
        "Portuguese is scored with --scorer pivot --pivot pt-en"
    )
    assert done.stderr.splitlines() == [f"note: {path}: {note}"] * told
    assert "note" not in done.stdout


@pytest.mark.parametrize(("former", "instead"), [("strict", "judge"), ("combined", "meaning")])
def test_of_a_scorer_that_there_was_it_is_said_which_one_to_choose(
    judged: str, former: str, instead: str
) -> None:
    for command in ("calibrate", "score"):
        done = CliRunner().invoke(sears, [command, judged, "--scorer", former])
        assert isinstance(done.exception, UsageError)
        assert f"there is no scorer '{former}' any more" in str(done.exception)
        assert f"choose {instead}" in str(done.exception.help)
    with pytest.raises(UsageError, match="any more"):
        load_scorer(former)


def test_the_scorer_without_a_name_is_the_default() -> None:
    assert load_scorer().name == DEFAULT_SCORER


@pytest.mark.parametrize("name", ["judge", "meaning", "pivot", "minilm"])
def test_a_loaded_scorer_with_another_tau_is_the_one_of_that_name_and_tau(name: str) -> None:
    loaded = load_scorer(name)
    chosen, named = as_scorer(loaded, tau=0.25), as_scorer(name, tau=0.25)
    assert (chosen.tau, chosen.identity) == (named.tau, named.identity) == (0.25, loaded.identity)
    assert loaded.tau == shipped_numbers(name).tau
    pairs = [pair[:2] for pair in PAIRS]
    assert chosen.scores(pairs).tolist() == named.scores(pairs).tolist()
    spreads, expected = spread_of(chosen), spread_of(named)
    assert (spreads is None) == (expected is None) == (name != "judge")
    if spreads is not None and expected is not None:
        assert spreads(pairs).tolist() == expected(pairs).tolist()


def test_shipped_numbers_say_where_they_come_from() -> None:
    for name in SCORER_NAMES:
        numbers = shipped_numbers(name)
        assert 0 < numbers.tau < 1
        assert numbers.provenance["date"]
        assert numbers.provenance["command"].startswith("python -m ")
    for name in ("pivot", "minilm"):
        assert (
            shipped_numbers(name).provenance["criterion"] == "minimum entropy of the induced splits"
        )
        for each in shipped_numbers(name).provenance["sets"]:
            assert 0 < each["equivalent"] < each["pairs"]
            assert len(each["sha256"]) == 64
    with pytest.raises(UsageError, match="no scorer 'bleu'"):
        shipped_numbers("bleu")


@pytest.mark.parametrize(
    "command", ["discover", "adversaries", "audit", "vet", "score", "calibrate"]
)
def test_all_commands_know_all_scorers(command: str) -> None:
    shown = CliRunner().invoke(sears, [command, "--help"], terminal_width=200).output
    for name in SCORER_NAMES:
        assert name in shown


@pytest.mark.parametrize("name", ["judge", "meaning", "pivot", "minilm"])
def test_half_a_character_is_read_as_a_replacement_character(name: str) -> None:
    scorer = load_scorer(name)
    pairs = [("A \ud83d good film.", "A \ud83d fine film."), ("A good film.", "A \ud83d film.")]
    replaced = [(readable(original), readable(rewrite)) for original, rewrite in pairs]
    assert scorer.scores(pairs).tolist() == scorer.scores(replaced).tolist()
    assert scorer.at_least(pairs, 0.5).tolist() == scorer.at_least(replaced, 0.5).tolist()


def test_the_search_goes_as_far_as_the_run_asks() -> None:
    own = shipped_numbers("pivot").tau
    for scorer, chosen, tau in (("pivot", None, own), ("pivot", 1e-6, 1e-6), ("minilm", 0.5, own)):
        search = Team(Recipe(scorer=scorer, tau=chosen)).loaded.search
        assert search is not None
        assert search.tau == tau


def test_a_smaller_tau_finds_more_paraphrases() -> None:
    found = {}
    for tau in (1e-2, 1e-6):
        team = Team(Recipe(scorer="pivot", tau=tau, beam=8))
        assert (team.tau, team.loaded.search.tau) == (tau, tau)
        [paraphrases] = team.paraphrase(["It is a good movie ."])
        found[tau] = {each.text for each in paraphrases}
    assert found[1e-2] < found[1e-6]


def test_numbers_that_were_fitted_with_other_models_are_said_to_be() -> None:
    own = Team(Recipe(scorer="pivot", beam=4)).loaded.pivots
    other = ("opus-mt-en-fr-0123456789abcdef", "opus-mt-fr-en-0123456789abcdef")
    for name in SCORER_NAMES:
        assert fit_warning(name, own) == ""
        assert ("sears calibrate" in fit_warning(name, other)) == (name == "pivot")
    assert fit_warning("pivot", other, tau=0.001) == "", "no shipped number is asked"
