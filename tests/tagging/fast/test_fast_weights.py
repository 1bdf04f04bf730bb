"""A file of weights is read whole and checked, or refused with a reason."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sears_dsl.errors import TaggerError
from sears_dsl.tagging.fast.weights import FEATURES, FORMAT, SHIPPED, StoredWeights, load
from training.weight_files import save


def small(**changes: Any) -> StoredWeights:
    """Weights with two hashed rows and one for the pair of tags (0, 0)."""
    from sears_dsl.tagging.fast.weights import CASING_PAIRS, CASING_TRIPLES, TAGS

    fixed = 4 * 4 + 4 * 4 + (TAGS + 1) ** 2 + 2 * (TAGS + 1) + CASING_PAIRS + CASING_TRIPLES
    sizes = np.zeros(2 + fixed, np.uint8)
    sizes[[0, 1, 2 + 32]] = (2, 1, 1)
    stored = StoredWeights(
        about={"fine": [str(tag) for tag in range(TAGS)], "coarse": ["X"], "licence": "none"},
        lexicon_keys=np.array([5, 2**31 - 1], np.uint32),
        lexicon_contexts=np.array([3, 3], np.uint16),
        lexicon_certain=np.array([255, 7], np.uint8),
        context_classes=np.arange(4, dtype=np.uint16),
        row_keys=np.array([10, 2**31 - 1], np.uint32),
        row_sizes=sizes,
        entry_tags=np.array([1, 40, 2, 3], np.uint8),
        entry_weights=np.array([-127, 127, 5, -6], np.int8),
        coarse_keys=np.array([], np.uint32),
        coarse_groups=np.array([], np.uint8),
        coarse_of=np.zeros((1, TAGS), np.uint8),
    )
    return replace(stored, **changes)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    digest = save(small(), path)
    weights = load(path)
    assert weights.digest == digest
    assert digest[:12] in weights.version
    tables = weights.tables
    assert tables.lexicon_keys.tolist() == [5, 2**31 - 1]
    held = [int(slot) for slot in tables.scores.slots if slot >= 0]
    assert [slot >> 32 for slot in held] == [10, 2**31 - 1]
    entries = tables.scores.entries.tolist()
    assert [[(e % 64, e // 64) for e in entries[s >> 6 & 0x3FFFFFF :][: s & 63]] for s in held] == [
        [(1, -127), (40, 127)],
        [(2, 5)],
    ]
    assert tables.scores.tags_before[0].tolist() == [0, 0, 0, -6] + [0] * 44


def test_the_same_weights_are_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.npz", tmp_path / "b.npz"
    save(small(), first)
    later = time.time() + 10_000  # a zip file may hold the time at which it was written
    monkeypatch.setattr(time, "time", lambda: later)
    save(small(), second)
    assert first.read_bytes() == second.read_bytes()


def test_another_weight_is_another_version(tmp_path: Path) -> None:
    save(small(), tmp_path / "a.npz")
    save(small(entry_weights=np.array([-127, 127, 5, -7], np.int8)), tmp_path / "b.npz")
    assert load(tmp_path / "a.npz").version != load(tmp_path / "b.npz").version


def test_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    save(small(about={"format": FORMAT + 1}), path)
    with pytest.raises(TaggerError, match=f"format {FORMAT + 1}, but this version .* {FORMAT}"):
        load(path)


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    save(small(about={"features": FEATURES + 1}), path)
    wanted = rf"small\.npz has weights for features of version {FEATURES + 1}, .* {FEATURES}"
    with pytest.raises(TaggerError, match=wanted) as caught:
        load(path)
    assert "training.tagger" in caught.value.help


def test_another_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, something=np.zeros(3))
    with pytest.raises(TaggerError, match=r"other\.npz is damaged or not a file") as caught:
        load(path)
    assert "training.tagger" in caught.value.help


@pytest.mark.parametrize("keep", [0, 10, 1000, 100_000])
def test_half_a_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "half.npz"
    path.write_bytes(SHIPPED.read_bytes()[:keep])
    with pytest.raises(TaggerError, match=r"half\.npz"):
        load(path)


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_flipped_byte_is_refused(tmp_path: Path, place: float) -> None:
    path = tmp_path / "flipped.npz"
    content = bytearray(SHIPPED.read_bytes())
    content[int(len(content) * place)] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(TaggerError, match=r"flipped\.npz"):
        load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaggerError, match=r"absent\.npz"):
        load(tmp_path / "absent.npz")


def test_the_shipped_file_is_small_and_says_what_it_is_made_of() -> None:
    assert SHIPPED.stat().st_size <= 5_000_000
    about = load().about
    assert about["licence"] == "CC BY-SA 4.0"
    assert set(about["files"]) == {"ewt", "books", "reviews", "squad"}
    assert all(len(file["sha256"]) == 64 for file in about["files"].values())
    assert isinstance(about["seed"], int)


def test_a_file_is_read_once_as_long_as_it_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    save(small(), path)
    first = load(path)
    assert load(path) is first
    assert save(small(entry_weights=np.array([-127, 127, 5, -7], np.int8)), path) != first.digest
    assert load(path).digest != first.digest
    assert load() is load(SHIPPED)
