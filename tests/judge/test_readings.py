"""Readings of a change of words count in other texts, and so does a lack of readings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from benchmarks.judged_rewrites import FILE, READ, read_judged_rewrites
from benchmarks.record import DATA
from sears_dsl.errors import ModelError
from sears_dsl.judge import readings as shipped
from sears_dsl.judge.changes import changes_of
from sears_dsl.judge.readings import (
    Effect,
    Reading,
    Readings,
    change_name,
    conditional_odds,
    load_readings,
)
from sears_dsl.meaning.scorers import load_scorer
from sears_dsl.runtime.array_types import Floats
from training import later_readings, weight_files
from training.readings import Model, Read, fit, placed, posteriors

NONE = Readings(1.0, 0.0, 1.5, {})
MOVIE = changes_of("A movie.", "A film.")
PLAY = changes_of("A play.", "A game.")


def read(odds: float, accepted: list[bool], changes: list[int]) -> Read:
    """Readings of changes that the judge rates equally."""
    names = [str(each) for each in range(max(changes) + 1)]
    return Read(
        np.full(len(accepted), odds), np.array(accepted), np.array(changes), names,
        np.ones(len(names)),
    )  # fmt: skip


def test_readers_who_accept_raise_the_chance_and_those_who_refuse_lower_it() -> None:
    model = Model(slope=1.0, shift=0.0, spread=1.5)
    accepted, refused = [True] * 8, [False] * 8
    mean, spread = posteriors(read(0.0, accepted + refused, [0] * 8 + [1] * 8), model)
    assert mean[0] > 1 > -1 > mean[1]
    assert mean[0] == pytest.approx(-mean[1], abs=1e-6)
    assert (spread < model.spread).all()
    readings = Readings(
        1.0, 0.0, 1.5, {"movie -> film": Effect(8, 8, float(mean[0]), float(spread[0]))}
    )
    accepted_elsewhere, unread = readings.chances(
        np.array([0.6, 0.6]), *readings.effects_of([MOVIE, PLAY])
    )
    assert accepted_elsewhere > 0.8
    assert unread == pytest.approx(NONE.chances(np.array([0.6]), *NONE.effects_of([PLAY]))[0])


def test_readings_of_ones_own_count_as_those_of_the_fit() -> None:
    evident = np.array([0.4, 0.7, 0.5])
    ours = [Reading("A movie.", "A film.", yes) for yes in (True, True, False)]
    fitted = Read(
        np.log(evident / (1 - evident)), np.array([True, True, False]), np.zeros(3, np.int64),
        ["movie -> film"], np.ones(1),
    )  # fmt: skip
    [mean], [spread] = posteriors(fitted, Model(1.0, 0.0, 1.5))
    found = NONE.with_readings(ours, evident)
    effect = found.effects["movie -> film"]
    assert (effect.readings, effect.accepted) == (3, 2)
    assert (effect.mean, effect.spread) == (pytest.approx(mean), pytest.approx(spread))
    # Readings give the same in turn as together, except for the shape of the curve.
    one = NONE.with_readings(ours[:1], evident[:1]).with_readings(ours[1:], evident[1:])
    assert one.effects["movie -> film"].mean == pytest.approx(mean, abs=0.05)
    assert len({NONE.digest, found.digest, one.digest}) == 3


def test_readers_who_refuse_a_change_in_one_sense_lower_the_chance_there() -> None:
    generator = np.random.default_rng(2)
    film, camera = np.eye(6, dtype=np.float32)[:2]
    noise = generator.normal(0, 0.2, (40, 6)).astype(np.float32)
    senses = np.repeat([film, camera], 20, axis=0) + noise
    senses /= np.linalg.norm(senses, axis=1, keepdims=True)
    accepted = np.repeat([True, False], 20)
    effect = placed(np.zeros(40), accepted, senses, 1.5)
    assert effect.direction @ film > 1 > -1 > effect.direction @ camera
    assert abs(effect.mean) < 0.5
    assert effect.most == pytest.approx((effect.mean + senses @ effect.direction).max(), abs=1e-3)

    def against(numbers: Floats) -> float:
        odds = numbers[0] + senses @ numbers[1:]
        lost = np.logaddexp(0, np.where(accepted, -odds, odds)).sum()
        return float(lost + numbers[0] ** 2 / (2 * 1.5**2) + (numbers[1:] ** 2).sum() / 16)

    best = minimize(against, np.zeros(7)).x
    assert effect.mean == pytest.approx(best[0], abs=1e-3)
    assert effect.direction == pytest.approx(best[1:], abs=1e-3)


@given(
    mean=st.floats(-4, 4),
    most=st.floats(-4, 4),
    direction=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    vector=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
@settings(deadline=None)
def test_no_place_has_a_greater_effect_than_the_best_that_was_read(
    mean: float, most: float, direction: list[float], vector: list[float]
) -> None:
    effect = Effect(9, 5, mean, 0.5, most, np.array(direction, np.float32))
    center = np.zeros(3, np.float32)
    readings = Readings(1.0, 0.0, 1.5, {"movie -> film": effect}, center=center)
    [here], [spread] = readings.effects_of([MOVIE], np.array([vector], np.float32))
    [bound], [same] = readings.bounds_of([MOVIE])
    assert here <= bound
    assert here <= most or here == mean
    assert spread == same == 0.5


def test_of_several_changes_the_one_counts_that_readers_accept_least_in_its_place() -> None:
    movie = Effect(9, 6, 0.5, 0.4, 2.0, np.array([3.0, -3.0], np.float32))
    effects = {"movie -> film": movie, "play -> game": Effect(9, 5, 0.0, 0.6)}
    readings = Readings(1.0, 0.0, 1.5, effects, center=np.zeros(2, np.float32))
    both = changes_of("A movie or play.", "A film or game.")
    film, camera = np.eye(2, dtype=np.float32)
    vectors = np.stack([film, film, camera, film])
    here, there = readings.effects_of([both, both], vectors)[0].tolist()
    assert (here, there) == (0.0, -2.5)
    bounds, spreads = readings.bounds_of([both, both])
    assert bounds.tolist() == [0.0, 0.0]
    assert spreads.tolist() == readings.effects_of([both, both], vectors)[1].tolist()


def test_directions_are_read_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (weight_files, shipped):
        monkeypatch.setattr(module, "SENSES", tmp_path / "senses.npz")
    directions = {
        "b -> c": np.array([0.5, -2.0, 1.0], np.float32), "a -> é": np.zeros(3, np.float32),
    }  # fmt: skip
    digest = weight_files.write_senses(np.array([1.0, 0.0, 2.0], np.float32), directions)
    assert digest == weight_files.write_senses(np.array([1.0, 0.0, 2.0], np.float32), directions)
    entry = {"version": shipped.VERSION, "slope": 1, "shift": 0, "spread": 2, "senses": digest,
             "effects": {"b -> c": [5, 4, 0.3, 0.5, 1.5], "x -> y": [1, 1, 0.2, 1.9]}}  # fmt: skip
    (tmp_path / "readings.json").write_text(json.dumps(entry), "utf-8")
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "module.py"))
    readings = load_readings.__wrapped__()
    effect = readings.effects["b -> c"]
    assert effect.direction == pytest.approx(directions["b -> c"], abs=2 / 254)
    assert (effect.mean, effect.most) == (0.3, 1.5)
    assert readings.effects["x -> y"].direction is None
    assert readings.center == pytest.approx([1.0, 0.0, 2.0])


def test_whoever_is_interrupted_between_readings_and_senses_can_count_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (weight_files, shipped):
        monkeypatch.setattr(module, "SENSES", tmp_path / "senses.npz")
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "module.py"))
    file, center = tmp_path / "readings.json", np.zeros(2, np.float32)
    entry = {"version": shipped.VERSION, "slope": 1, "shift": 0, "spread": 2,
             "effects": {"b -> c": [5, 4, 0.3, 0.5, 1.5]}}  # fmt: skip
    write = later_readings.write_senses

    def interrupted(*senses: Any) -> str:
        write(*senses)
        raise KeyboardInterrupt

    for at in (1.0, 2.0):
        senses = center, {"b -> c": np.array([at, 0.0], np.float32)}
        later_readings.write_readings(file, dict(entry), senses)
        direction = load_readings.__wrapped__().effects["b -> c"].direction
        assert direction == pytest.approx(senses[1]["b -> c"])
        other = center, {"b -> c": np.array([at + 0.5, 0.0], np.float32)}
        with monkeypatch.context() as patch:
            patch.setattr(later_readings, "write_senses", interrupted)
            with pytest.raises(KeyboardInterrupt):
                later_readings.write_readings(file, dict(entry), other)
        assert not load_readings.__wrapped__().effects


def test_readings_of_ones_own_move_a_change_in_all_places_alike() -> None:
    film, camera = np.eye(3, dtype=np.float32)[:2]
    effect = Effect(9, 6, 0.0, 1.0, 1.0, np.array([1.0, -1.0, 0.0], np.float32))
    center = np.zeros(3, np.float32)
    readings = Readings(1.0, 0.0, 1.5, {"movie -> film": effect}, center=center)
    refused = [Reading("A movie.", "A film.", False)] * 4
    ours = readings.with_readings(refused, np.full(4, 0.5), np.stack([camera] * 4))
    shipped, later = (
        each.effects_of([MOVIE, MOVIE], np.stack([film, camera]))[0] for each in (readings, ours)
    )
    assert (later < shipped).all()
    assert shipped[0] - later[0] == pytest.approx(shipped[1] - later[1], abs=1e-6)
    # Where refusals were to be expected, they say less than elsewhere.
    surprised = readings.with_readings(refused, np.full(4, 0.5), np.stack([film] * 4))
    assert surprised.effects["movie -> film"].mean < ours.effects["movie -> film"].mean


def test_a_rewrite_of_several_changes_says_nothing_of_any() -> None:
    both = Reading("A movie with a plot.", "A film with a story.", False)
    twice = Reading("A movie is a movie.", "A film is a film.", True)
    assert set(NONE.with_readings([both, twice], np.array([0.5, 0.5])).effects) == {"movie -> film"}


def test_the_more_readings_the_surer() -> None:
    model = Model(slope=1.0, shift=0.0, spread=1.5)
    _, few = posteriors(read(0.0, [True, False], [0, 0]), model)
    _, many = posteriors(read(0.0, [True, False] * 20, [0] * 40), model)
    assert many[0] < few[0] < model.spread


def test_posteriors_are_those_of_a_simulation() -> None:
    generator = np.random.default_rng(0)
    draws = generator.normal(0, 1.2, 200_000)
    chances = 1 / (1 + np.exp(-(0.5 + draws)))
    agreeing = draws[(generator.random((5, len(draws))) < chances).sum(0) == 4]
    mean, spread = posteriors(
        read(0.5, [True] * 4 + [False], [0] * 5), Model(slope=1.0, shift=0.0, spread=1.2)
    )
    assert mean[0] == pytest.approx(agreeing.mean(), abs=0.03)
    assert spread[0] == pytest.approx(agreeing.std(), abs=0.03)


def test_the_spread_of_changes_is_found_again() -> None:
    generator = np.random.default_rng(1)
    changes = np.repeat(np.arange(400), 8)
    odds = generator.normal(0, 1.5, len(changes))
    u = generator.normal(0, 1.4, 400)
    accepted = generator.random(len(changes)) < 1 / (1 + np.exp(-(odds - 0.5 + u[changes])))
    model = fit(Read(odds, accepted, changes, [str(n) for n in range(400)], np.ones(400)))
    assert model.spread == pytest.approx(1.4, abs=0.2)
    assert model.shift == pytest.approx(-0.5, abs=0.2)
    assert model.slope == pytest.approx(1.0, abs=0.12)


@given(
    evident=st.floats(1e-6, 1 - 1e-6),
    tau=st.floats(0.01, 0.99),
    mean=st.floats(-4, 4),
    spread=st.floats(0, 3),
    slope=st.floats(0.3, 2),
)
@settings(deadline=None)
def test_the_least_chance_by_the_evidence_decides_as_the_chance_does(
    evident: float, tau: float, mean: float, spread: float, slope: float
) -> None:
    readings = Readings(slope, -0.3, 1.0, {"movie -> film": Effect(3, 2, mean, spread)})
    effects = readings.effects_of([MOVIE])
    chance = readings.chances(np.array([evident]), *effects)[0]
    least = readings.least(tau, *effects)[0]
    assert (chance >= tau) == (evident >= least) or abs(chance - tau) < 1e-9


@given(chance=st.floats(0.02, 0.98), spread=st.floats(0, 2.5))
@settings(deadline=None)
def test_a_chance_is_the_mean_over_what_is_shared(chance: float, spread: float) -> None:
    odds = conditional_odds(np.array([chance]), spread)
    u = spread * np.linspace(-4, 4, 4001)
    weights = np.exp(-(np.linspace(-4, 4, 4001) ** 2) / 2)
    mean = (weights / (1 + np.exp(-(odds + u)))).sum() / weights.sum()
    assert mean == pytest.approx(chance, abs=0.02)


def test_of_several_changes_the_one_counts_that_readers_accept_least() -> None:
    effects = {"movie -> film": Effect(9, 9, 2.0, 0.5), "play -> game": Effect(9, 0, -2.0, 0.6)}
    readings = Readings(1.0, 0.0, 1.5, effects)
    both = changes_of("A movie or play.", "A film or game.")
    mean, spread = readings.effects_of([both])
    assert (mean[0], spread[0]) == (-2.0, 0.6)


def test_names_of_changes_have_no_casing_and_no_place() -> None:
    pairs = [("Movie night!", "Film night!"), ("One movie.", "One film.")]
    assert {change_name(changes_of(*pair)[0]) for pair in pairs} == {"movie -> film"}


@pytest.mark.parametrize(
    ("original", "rewrite", "name"),
    [
        ("It is dull.", "Quite frankly, it is dull.", "-> quite frankly ,"),
        ("the film is dull", "quite frankly, the film is dull", "-> quite frankly ,"),
        ("Anyway, it is dull.", "It is dull.", "anyway , ->"),
        ("i said so", "I said so", "i -> I"),
        ("I said so", "i said so", "I -> i"),
        ("It was so, so dull.", "It was so dull.", ", so ->"),
    ],
)
def test_what_both_sides_begin_or_end_on_is_no_part_of_a_change(
    original: str, rewrite: str, name: str
) -> None:
    assert change_name(changes_of(original, rewrite)[0]) == name


def test_readings_of_a_remark_count_in_lower_case_and_before_other_words() -> None:
    read = [Reading(f"The {word} is dull.", f"To me, the {word} is dull.", True) for word in "abc"]
    ours = NONE.with_readings(read, np.full(3, 0.5))
    mean, spread = ours.effects_of([changes_of("it is dull .", "to me , it is dull .")])
    assert mean[0] > 0.5
    assert spread[0] < NONE.spread


def test_a_word_in_capitals_is_not_read_as_one_that_loses_them() -> None:
    read = [Reading(f"Then i {verb}.", f"Then I {verb}.", True) for verb in ("ran", "ate", "sat")]
    for readings in (load_readings(), NONE.with_readings(read, np.full(3, 0.5))):
        (up, down), _ = readings.effects_of(
            changes_of(*pair) for pair in (("So i go.", "So I go."), ("So I go.", "So i go."))
        )
        assert up > 0.5 > down


def test_readers_of_film_reviews_do_not_speak_for_cameras() -> None:
    judge = load_scorer("judge")
    pairs = [
        ("The film is great fun.", "The movie is great fun."),
        ("A film about a boy and his dog.", "A movie about a boy and his dog."),
        ("This camera takes 35mm film.", "This camera takes 35mm movie."),
        ("A thin film of oil covered it.", "A thin movie of oil covered it."),
    ]
    one, other, camera, oil = judge.scores(pairs).tolist()
    assert min(one, other) > 0.9
    assert max(camera, oil) < 0.4


def test_senses_that_belong_to_other_readings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "SENSES", tmp_path / "senses.npz")
    with pytest.raises(ModelError, match=r"senses\.npz cannot be read"):
        load_readings.__wrapped__()
    (tmp_path / "senses.npz").write_bytes(b"something else")
    with pytest.raises(ModelError, match=r"senses\.npz does not belong to the readings") as refusal:
        load_readings.__wrapped__()
    assert "reinstall" in refusal.value.help


def test_the_shipped_readings_are_possible() -> None:
    readings = load_readings()
    assert readings.slope > 0
    assert readings.spread > 0
    effects = readings.effects.values()
    assert effects
    assert all(0 <= each.accepted <= each.readings for each in effects)
    assert all(0 < each.spread <= readings.spread + 1e-3 for each in effects)


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not beside this checkout")
def test_the_shipped_readings_hold_what_the_files_of_readings_say() -> None:
    """They hold more: what the authors of shipped rules read."""
    verdicts: dict[tuple[str, str], list[bool]] = {}
    for one in (*read_judged_rewrites(FILE), *read_judged_rewrites(READ)):
        verdicts.setdefault((one.original, one.rewrite), []).append(one.accepted)
    accepted, rejected = Counter[str](), Counter[str]()
    for pair, of_pair in verdicts.items():
        changes = changes_of(*pair)
        if len(changes) == 1:
            counts = accepted if sum(of_pair) >= len(of_pair) / 2 else rejected
            counts[change_name(changes[0])] += 1
    assert len(accepted | rejected) > 1_000
    effects = load_readings().effects
    for change in accepted | rejected:
        effect = effects[change]
        assert effect.accepted >= accepted[change], change
        assert effect.readings - effect.accepted >= rejected[change], change
