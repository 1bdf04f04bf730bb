"""The estimate of likelihood is the trained network's, for each pair by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sears_dsl.errors import DataError
from sears_dsl.judge.estimate import FILE, LikelihoodEstimate, changed_pieces
from sears_dsl.judge.likelihood import LIKELIER, LIKELIHOOD, Nats
from sears_dsl.judge.networks import read_grammar_file
from training.detector import Estimator, set_deep_weights
from training.estimate import _batches, lessons_of, packed

PAIRS = [
    ("The film was very good.", "The film was really good."),
    ("I still like this place.", "I still like these place."),
    ("It tasted like dirt.", "It tasted as dirt."),
    ("A film.", "Such a film."),
    ("Such a film.", "A film."),
    ("", "A film."),
    ("What is it?", "What's it?"),
    ("word " * 400 + "end", "word " * 200 + "term " + "word " * 199 + "end"),
]


@pytest.fixture(scope="module")
def estimate() -> LikelihoodEstimate:
    return LikelihoodEstimate()


def test_it_is_the_network_that_was_trained(estimate: LikelihoodEstimate) -> None:
    """It agrees with the library's layers, over pairs in one batch."""
    network = Estimator().float().eval()
    set_deep_weights(network, read_grammar_file(FILE).arrays)
    nothing = np.zeros(0)
    lessons = lessons_of(PAIRS, [Nats(nothing, nothing, nothing, nothing)] * len(PAIRS))
    with torch.inference_mode():
        expected = network(*packed(lessons, np.arange(len(PAIRS)))).numpy()
    more = expected[:, :1]
    columns = np.maximum(0, np.hstack([more, expected[:, 1:], -more]))
    # The library's fixed matrices have half the precision there, ours are in whole numbers.
    assert estimate.columns(PAIRS) == pytest.approx(columns, abs=0.4, rel=0.05)


@pytest.mark.parametrize("originals", [1, 5, 24, 50])
def test_every_batch_has_rewrites_of_as_many_originals(originals: int) -> None:
    nothing = np.zeros(0)
    pairs = [(f"{at} films", f"{at} {new}") for at in range(originals) for new in ("films!", "a")]
    lessons = lessons_of(pairs, [Nats(nothing, nothing, nothing, nothing)] * len(pairs))
    batches = _batches(lessons, np.random.default_rng(0))
    for _ in range(3):
        some = next(batches)
        assert len({*some.tolist()}) == len(some) == 2 * min(originals, 24)
    with pytest.raises(DataError, match="no rewrites"):
        lessons_of([], [])


def test_a_pair_is_the_same_in_any_company(estimate: LikelihoodEstimate) -> None:
    together = estimate.columns(PAIRS)
    assert together.shape == (len(PAIRS), len((*LIKELIHOOD, *LIKELIER)))
    assert (together >= 0).all()
    other = LikelihoodEstimate()  # remembers no text that was read in company
    for at, pair in enumerate(PAIRS):
        assert (other.columns([pair])[0] == together[at]).all(), pair
    assert (estimate.columns(PAIRS[::-1]) == together[::-1]).all()


def test_what_no_text_says_is_less_likely(estimate: LikelihoodEstimate) -> None:
    pairs = [
        ("I do not like this place.", "I don't like this place."),
        ("I do not like this place.", "I do not like these place."),
        ("I do not like this place.", "I do not like this accordance."),
    ]
    usual, agreeing, strange = estimate.columns(pairs)[:, 0]
    assert usual < agreeing
    assert usual + 3 < strange


@given(st.lists(st.integers(0, 3), min_size=2), st.lists(st.integers(0, 3), min_size=2))
def test_spans_of_what_differs_are_never_empty(original: list[int], rewrite: list[int]) -> None:
    one, other = changed_pieces(original, rewrite)
    for pieces, span in ((original, one), (rewrite, other)):
        assert 0 <= span.start < span.stop <= len(pieces)
    if original != rewrite:
        assert original[: one.start] == rewrite[: one.start] or one.start != other.start


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "likelihood.npz"
    content = bytearray(FILE.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        LikelihoodEstimate(path)
